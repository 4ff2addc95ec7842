"""`pippin measures`: the measures, or all about one."""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.options import printing
from pippin.cli.output import write
from pippin.evaluation.convention import AXES
from pippin.evaluation.measures import KINDS, Kind
from pippin.evaluation.notation import parse
from pippin.evaluation.tools import TOOLS
from pippin.tables import Facts, Heading, Part, Table

HELP = "List the measures, or tell all about one."
EXAMPLES = ("pippin measures", "pippin measures ERR@10", "pippin measures --format json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("measure", metavar="MEASURE", nargs="?", help="all about this one")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Print the list or one measure."""
    if options.measure is None:
        write(options.format, options.output, lambda: [overview()], lambda: [record(kind) for kind in KINDS.values()])
        return 0
    # A name of the list is known as it stands, also where an evaluation would have to say a cutoff.
    known = options.measure in KINDS
    text, kind = (options.measure, KINDS[options.measure]) if known else _asked(options.measure)
    write(options.format, options.output, lambda: describe(text, kind),
          lambda: {"text": text, **record(kind)}, lambda: changed_by(kind))  # fmt: skip
    return 0


def _asked(text: str) -> tuple[str, Kind]:
    """A measure in any notation, as it is written here, and its kind."""
    measure = parse(text)
    return measure.text, KINDS[measure.kind]


def overview() -> Table:
    """One row a measure."""
    rows = [[k.name, k.cutoff, ", ".join(k.aliases), k.meaning, k.formula] for k in KINDS.values()]
    return Table(["measure", "cutoff", "also", "what it is", "formula"], rows, names=5)


def describe(text: str, kind: Kind) -> list[Part]:
    """What a measure is, its notation, and which choices of a convention change it."""
    facts = [
        ("formula", kind.formula), ("source", kind.source), ("notations", ", ".join((kind.name, *kind.aliases))),
        ("cutoff", kind.cutoff),
        ("values", f"from {kind.range[0]:g} to {kind.range[1]:g}"), ("over queries", kind.aggregate),
        ("ties=expected", "exact, in closed form" if kind.expected else "not known in closed form"),
    ]  # fmt: skip
    if kind.parameters:
        facts.append(("parameters", ", ".join(f"{k}={v:g}" for k, v in kind.parameters.items())))
    facts.append(("tools that give it", ", ".join(_tools(kind)) or "none"))
    return [Heading(f"{text} — {kind.meaning}"), Facts(facts), changed_by(kind)]


def changed_by(kind: Kind) -> Table:
    """The choices of a convention that change the measure."""
    rows = [[name, axis.decides] for name, axis in AXES.items() if kind.hears(name)]
    return Table(["changed by", "what that decides"], rows, names=2)


def _tools(kind: Kind) -> list[str]:
    return [tool.name for tool in TOOLS.values() if kind.name in tool.prints]


def record(kind: Kind) -> dict[str, Any]:
    """All about a measure as JSON holds it."""
    return {
        "name": kind.name, "aliases": list(kind.aliases), "meaning": kind.meaning, "formula": kind.formula,
        "source": kind.source, "cutoff": kind.cutoff, "range": list(kind.range),
        "aggregate": kind.aggregate, "expected": bool(kind.expected),
        "parameters": dict(kind.parameters), "changed_by": [name for name in AXES if kind.hears(name)],
        "tools": _tools(kind),
    }  # fmt: skip
