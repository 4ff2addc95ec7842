"""The page of numbers: one mark-up and one script for a benchmark, a comparison and a reconciliation.

What a page holds is data (`sheets`) and the parts that show it; what there is nothing of is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pippin.evaluation.convention import AXES, changes_text
from pippin.evaluation.tools import TOOLS
from pippin.report.page import SCRIPTS, embedded, facts_of, render

_NAV = {
    "board": ("leaderboard", "Leaderboard"), "tools": ("tools", "Tools"), "reconcile": ("tools", "Tools"),
    "figures": ("figures", "Figures"), "queries": ("queries", "Queries"),
    "audit": ("audit", "Data"), "provenance": ("provenance", "Provenance"),
}  # fmt: skip


def numbers_page(
    brand: str, title: str, data: dict[str, Any], facts: Sequence[str], parts: Collection[str], finding: str = "",
    **more: Any,
) -> str:  # fmt: skip
    """A page of numbers with these parts: board, tools, reconcile, figures, queries."""
    data["conventions_of"] = {name: tool_record(name, data["tool"]) for name in data["tools"]}
    shown = [*parts, *(["audit"] if more.get("audit") else []), "provenance"]
    nav = list(dict.fromkeys(_NAV[part] for part in shown if part in _NAV))
    given = {"audit": [], "failures": [], "provenance": None, "without_script": "", "extra": "", **more}
    return render(
        "app.html", brand=brand, title=title, finding=finding, facts=facts_of(*facts), nav=nav, parts=parts,
        first=nav[0][0], first_words=f"the {nav[0][1].lower()}", noun=data["noun"], data=embedded(data),
        scripts=SCRIPTS, **given,
    )  # fmt: skip


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> count(1, "query", "queries"), count(1200, "tool")
    ('1 query', '1,200 tools')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tool_record(name: str, first: str) -> dict[str, Any]:
    """A tool's convention, choice by choice: the axis, its value, what it decides, whether it differs from `first`."""
    if name not in TOOLS:
        return {"title": "values as given", "version": "", "source": name, "axes": [], "traps": [], "variants": []}
    tool = TOOLS[name]
    axes_here, other = vars(tool.convention), vars(TOOLS[first].convention if first in TOOLS else tool.convention)
    axes = [
        (name, axis.text(axes_here[name]), axis.decides, axes_here[name] != other[name]) for name, axis in AXES.items()
    ]
    variants = [f"{variant.why} ({changes_text(variant.changes)})" for variant in tool.variants]
    return {"title": tool.title, "version": tool.version, "source": tool.source, "axes": axes, "traps": tool.traps,
            "variants": variants}  # fmt: skip
