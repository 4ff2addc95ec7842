"""The page of a reconciliation: one ranking, many tools, and why each gives another number than the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from pippin.evaluation.convention import AXES
from pippin.evaluation.tools import TOOLS
from pippin.report.compare_page import GIVEN, NOTHING
from pippin.report.explained import CARRIERS
from pippin.report.numbers import count, numbers_page
from pippin.report.packing import pack, pack_texts
from pippin.report.page import html_table
from pippin.report.sheets import Names, common

if TYPE_CHECKING:
    from pippin.evaluation.reconcile import Reconciliation

RUN = "this ranking"


def reconcile_page(reconciliations: Sequence[Reconciliation], facts: Sequence[str]) -> str:
    """The whole page as one text."""
    from pippin.report.reconcile import table

    measures = tuple(dict.fromkeys(r.measure for r in reconciliations))
    source = reconciliations[0].source.name
    targets = sorted(
        {r.target.name for r in reconciliations}, key=lambda name: list(TOOLS).index(name) if name in TOOLS else 0
    )
    most = max(reconciliations, key=lambda r: abs(r.difference))
    names = Names(("",), (source, *targets), measures, (RUN,), (GIVEN,))
    data = {
        "noun": "ranking", **common(names), "tool": source, "explain": most.target.name,
        "data": ["the data"], "alpha": 0.05, "overall": {},
        "notes": [], "without_lists": "", "panels": {GIVEN: {"the data": _panel(names, reconciliations)}},
    }  # fmt: skip
    tables = [[r for r in reconciliations if r.measure == measure] for measure in measures]
    all_parts = "".join(f"<h3>All parts of {Markup.escape(several[0].measure)}</h3>"
                        f"{html_table(table(several), f'All parts of {several[0].measure}')}"
                        for several in tables)  # fmt: skip
    return numbers_page(
        "Pippin reconciliation", f"Why do the tools disagree about {' and '.join(measures)}?", data,
        [count(len(names.tools), "evaluation tool"), *facts], ("reconcile",), finding=most.sentence(),
        extra=Markup(all_parts),
    )  # fmt: skip


def _panel(names: Names, reconciliations: Sequence[Reconciliation]) -> dict[str, Any]:
    means = np.full((len(names.tools), len(names.measures), 1), np.nan)
    told: dict[str, Any] = {m: {RUN: {"ways": [-1] * len(names.tools), "found": []}} for m in names.measures}
    number = {query: i for i, query in enumerate(reconciliations[0].query_ids)}
    findings = [[f"{tool} gives no {measure} here." for tool in names.tools] for measure in names.measures]
    for r in reconciliations:
        m, t = names.measures.index(r.measure), names.tools.index(r.target.name)
        means[0, m, 0], means[t, m, 0] = r.before, r.after
        findings[m][t] = r.sentence()
        by_tool = told[r.measure][RUN]
        by_tool["ways"][t] = len(by_tool["found"])
        by_tool["found"].append([
            (s.axis, s.value, s.fact, [(number[q], v) for q, v in r.carriers(s, CARRIERS)]) for s in r.shares
        ])  # fmt: skip
    axes = {name: axis.words for name, axis in AXES.items()}
    return {**NOTHING, "queries": list(reconciliations[0].query_ids), "means": pack(means), "findings": findings,
            "reconcile": pack_texts({"axes": axes, "measures": told})}  # fmt: skip
