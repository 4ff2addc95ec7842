"""`pippin tools`: the evaluation tools side by side, or all about one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from pippin.cli.options import Former, printing
from pippin.cli.output import write
from pippin.evaluation.convention import AXES, changes_text
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.tools import GROUPS, TOOLS, Tool, chosen, is_one, named
from pippin.report.tools import choices, own_choices
from pippin.tables import Facts, Heading, Part, Remarks, Table

HELP = """List the evaluation tools side by side, or tell all about one.

They stand in groups: classic (the default), libraries, retrieval, recommenders, engines. The name of a group, or all,
stands for its tools wherever a tool is asked for."""
EXAMPLES = (
    "pippin tools retrieval",
    "pippin tools letor4",
    "pippin tools all --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", metavar="TOOL", nargs="?", default="classic",
                        help="all about this one, or a group of them, or all (default: %(default)s)")  # fmt: skip
    parser.add_argument("--group", action=Former, called="the name alone", help=argparse.SUPPRESS)
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Print the list or one tool."""
    asked = options.group or options.tool
    if is_one(asked):
        tool = TOOLS[asked]
        write(options.format, options.output, lambda: describe(tool), lambda: record(tool), lambda: choices(tool))
    else:
        tools = chosen(asked)
        records = [record(tool) for tool in tools] if options.format == "json" else None
        write(options.format, options.output, lambda: [overview(tools)], lambda: records)
    return 0


def overview(tools: Sequence[Tool]) -> Table:
    """One row a tool, one column an axis; below, which other groups there are."""
    shown = [name for name, axis in AXES.items() if axis.heading]
    rows = []
    for tool in tools:
        values = {name: AXES[name].text(getattr(tool.convention, name)) for name in shown}
        top = tool.convention.top_label
        values["gain"] += f" ≤{top}" if top is not None else ""
        values["relevant_at"] = f"≥{values['relevant_at']}"
        rows.append([tool.name, tool.version, *values.values()])
    heads = ["tool", "version", *(AXES[name].heading for name in shown)]
    others = [group for group in GROUPS if group not in {tool.group for tool in tools}]
    notes = [f"{group}, {GROUPS[group]}: {', '.join(tool.name for tool in named(group))}" for group in others]
    if others:
        notes.append(f"`pippin tools {others[0]}` shows such a group, `pippin tools {tools[-1].name}` all about one.")
    return Table(heads, rows, names=len(heads), notes=notes)


def describe(tool: Tool) -> list[Part]:
    """Each choice, the source, the version, the known traps."""
    facts = [("group", tool.group), ("version", tool.version), ("source", tool.source),
             ("measures", ", ".join(tool.prints))]  # fmt: skip
    parts: list[Part] = [Heading(f"{tool.name} — {tool.title}"), Facts(facts)]
    own = own_choices(tool)
    for title, names in (("Other than the definition", own), ("As the definition", set(AXES) - own)):
        parts += [Heading(title, ""), choices(tool, names)] if names else []
    departures = [f"{', '.join(d['measures'])}: {d['changes']} ({d['why']})" for d in departures_of(tool)]
    for title, lines in (("Departures", departures), ("Traps", tool.traps), ("Not expressible", tool.inexpressible)):
        if lines:
            parts += [Heading(title, ""), Remarks(lines)]
    return parts


def departures_of(tool: Tool) -> list[dict[str, Any]]:
    """Where the tool departs from its own rules: for which measures, how, and why."""
    return [
        {"measures": _where(variant.applies), "changes": changes_text(variant.changes), "why": variant.why}
        for variant in tool.variants
    ]


def record(tool: Tool) -> dict[str, Any]:
    """All about a tool as JSON holds it."""
    return {
        "name": tool.name, "group": tool.group, "title": tool.title, "version": tool.version, "source": tool.source,
        "measures": list(tool.prints), "convention": tool.convention.as_dict(), "departures": departures_of(tool),
        "traps": list(tool.traps), "inexpressible": list(tool.inexpressible),
    }  # fmt: skip


def _where(applies: Any) -> list[str]:
    """Measures that a departure applies to, found by asking it."""
    measures = []
    for kind in KINDS:
        exp2 = (("gain", "exp2"),)
        for measure in (
            Measure(kind),
            Measure(kind, 10),
            Measure(kind, None, (), exp2),
            Measure(kind, 10, (), exp2),
        ):
            if applies(measure):
                measures.append(
                    kind if measure.cutoff is None and not measure.overrides else measure.text.replace("@10", "@k")
                )
                break
    return measures
