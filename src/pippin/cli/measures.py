"""`pippin measures`: the measures, or all about one."""

from __future__ import annotations

import argparse

from pippin.evaluation.convention import AXES
from pippin.evaluation.measures import KINDS
from pippin.evaluation.notation import parse
from pippin.evaluation.tools import TOOLS
from pippin.tables import Table

HELP = "List the measures, or tell all about one (`pippin measures ERR@10`)."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("measure", nargs="?", help="all about this one")
    parser.add_argument("-f", "--format", choices=("table", "markdown", "latex", "csv"), default="table")


def run(options: argparse.Namespace) -> int:
    """Print the list or one measure."""
    if options.measure:
        print(describe(options.measure))
        return 0
    rows = [[k.name, k.cutoff, ", ".join(k.aliases), k.meaning, k.formula] for k in KINDS.values()]
    print(Table(["measure", "cutoff", "also", "what it is", "formula"], rows, names=5).render(options.format))
    return 0


def describe(text: str) -> str:
    """What a measure is, its notation, and which choices of a convention change it."""
    measure = parse(text)
    kind = KINDS[measure.kind]
    lines = [
        f"{measure.text} — {kind.meaning}",
        f"formula    {kind.formula}",
        f"source     {kind.source}",
        f"notations  {', '.join((kind.name, *kind.aliases))}",
        f"cutoff     {kind.cutoff}",
        f"values     from {kind.range[0]:g} to {kind.range[1]:g}",
        f"over queries  {kind.aggregate}",
        f"ties=expected {'exact, in closed form' if kind.expected else 'not known in closed form'}",
    ]
    if kind.parameters:
        lines.append("parameters " + ", ".join(f"{k}={v:g}" for k, v in kind.parameters.items()))
    rows = [[name, axis.decides] for name, axis in AXES.items() if kind.hears(name)]
    lines += ["", Table(["changed by", "what that decides"], rows, names=2).render()]
    tools = [t.name for t in TOOLS.values() if kind.name in t.prints]
    lines += ["", f"tools that give it: {', '.join(tools) or 'none'}"]
    return "\n".join(lines)
