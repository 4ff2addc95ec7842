"""`pippin tools`: the evaluation tools side by side, or all about one."""

from __future__ import annotations

import argparse
from typing import Any

from pippin.evaluation.convention import AXES, changes_text
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.tools import TOOLS, Tool
from pippin.tables import Table

HELP = "List the evaluation tools side by side, or tell all about one."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", nargs="?", help="all about this one")
    parser.add_argument("-f", "--format", choices=("table", "markdown", "latex", "csv"), default="table")


def run(options: argparse.Namespace) -> int:
    """Print the list or one tool."""
    print(describe(TOOLS[options.tool]) if options.tool else overview(options.format))
    return 0


def overview(form: str) -> str:
    """One row a tool, one column an axis."""
    shown = [name for name, axis in AXES.items() if axis.heading]
    rows = []
    for tool in TOOLS.values():
        values = {name: AXES[name].text(getattr(tool.convention, name)) for name in shown}
        top = tool.convention.top_label
        values["gain"] += f" ≤{top}" if top is not None else ""
        values["relevant_at"] = f"≥{values['relevant_at']}"
        rows.append([tool.name, tool.version, *values.values()])
    heads = ["tool", "version", *(AXES[name].heading for name in shown)]
    return Table(heads, rows, names=len(heads)).render(form)


def describe(tool: Tool) -> str:
    """Each choice, the source, the version, the known traps."""
    lines = [f"{tool.name} — {tool.title}", f"version  {tool.version}", f"source   {tool.source}",
             f"measures {', '.join(tool.prints)}", ""]  # fmt: skip
    choices = [[name, axis.text(getattr(tool.convention, name)), axis.decides] for name, axis in AXES.items()]
    lines.append(Table(["choice", "value", "what it decides"], choices, names=3).render())
    departures = [
        f"- {', '.join(_where(variant.applies))}: {changes_text(variant.changes)} ({variant.why})"
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
