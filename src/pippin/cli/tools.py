"""`pippin tools`: the evaluation tools side by side, or all about one."""

from __future__ import annotations

import argparse
from typing import Any

from pippin.evaluation.convention import AXES
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.tools import TOOLS, Tool
from pippin.tables import Table

HELP = "List the evaluation tools side by side, or tell all about one."

_SHOWN = {
    "gain": "gain", "discount": "discount", "ideal": "ideal", "short": "short list", "short_precision": "P@k short",
    "empty": "empty", "queries": "queries", "ties": "ties", "precision": "scores", "relevant_at": "relevant",
}  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", nargs="?", help="all about this one")
    parser.add_argument("-f", "--format", choices=("table", "markdown", "latex", "csv"), default="table")


def run(options: argparse.Namespace) -> int:
    """Print the list or one tool."""
    print(describe(TOOLS[options.tool]) if options.tool else overview(options.format))
    return 0


def show(value: Any) -> str:
    """A value of an axis as a table shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "skip" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def overview(form: str) -> str:
    """One row a tool, one column an axis."""
    rows = []
    for tool in TOOLS.values():
        values = [show(getattr(tool.convention, axis)) for axis in _SHOWN]
        top = tool.convention.top_label
        values[0] += f" ≤{top}" if top is not None else ""
        values[-1] = f"≥{values[-1]}"
        rows.append([tool.name, tool.version, *values])
    return Table(["tool", "version", *_SHOWN.values()], rows, names=12).render(form)


def describe(tool: Tool) -> str:
    """Each choice, the source, the version, the known traps."""
    lines = [f"{tool.name} — {tool.title}", f"version  {tool.version}", f"source   {tool.source}",
             f"measures {', '.join(tool.prints)}", ""]  # fmt: skip
    choices = []
    for axis, (_, meaning) in AXES.items():
        value = getattr(tool.convention, axis)
        choices.append([axis, "none" if axis == "top_label" and value is None else show(value), meaning])
    lines.append(Table(["choice", "value", "what it decides"], choices, names=3).render())
    departures = [
        f"- {', '.join(_where(variant.applies))}: {', '.join(f'{a}={show(v)}' for a, v in variant.changes.items())} "
        f"({variant.why})"
        for variant in tool.variants
    ]
    if departures:
        lines += ["", "Departures:", *departures]
    if tool.traps:
        lines += ["", "Traps:", *(f"- {trap}" for trap in tool.traps)]
    return "\n".join(lines)


def _where(applies: Any) -> list[str]:
    """Measures that a departure applies to, found by asking it."""
    found = []
    for kind in KINDS:
        exp2 = (("gain", "exp2"),)
        for measure in (
            Measure(kind),
            Measure(kind, 10),
            Measure(kind, None, (), exp2),
            Measure(kind, 10, (), exp2),
        ):
            if applies(measure):
                found.append(
                    kind if measure.cutoff is None and not measure.overrides else measure.text.replace("@10", "@k")
                )
                break
    return found
