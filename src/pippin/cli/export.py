"""`pippin export`: a model as another engine reads it, with a certificate of what the engine's scoring changes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pippin.cli.options import flag, old
from pippin.cli.output import say, write
from pippin.errors import ConventionError, DataError
from pippin.tables import FORMATS, Table

if TYPE_CHECKING:
    from pippin.deploy.exporting import Exported

HELP = """Write a model as another engine reads it, and certify what the engine's scoring changes.

Without a model, the targets are listed with how their engines score. Beside FILE stands FILE.parity.json: documents of
--check, or of the training set as the model keeps them, scored by the target's own engine where it is installed,
otherwise computed in its precision, against Pippin's own scores. What an engine cannot represent is refused."""
EXAMPLES = (
    "pippin export",
    "pippin export model.json --to c -o ranker.h",
    "pippin export model.json --to solr -o solr.json --check test.txt --option missing=direction",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a file that `pippin train` or another library wrote")
    flag(parser, "to", "a target that `pippin export` lists", metavar="TARGET")
    flag(parser, "out", metavar="FILE")
    parser.add_argument("--check", metavar="DATA", help="the labelled data that the certificate is made with "
                        "(default: 1,000 documents of the training set)")  # fmt: skip
    parser.add_argument("--mapping", metavar="FILE", help="JSON that says how the engine calls and computes features; "
                        "`pippin features --to ENGINE` writes one")  # fmt: skip
    parser.add_argument("--name", metavar="NAME", help="what the model is called in the engine (default: after FILE)")
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="a choice that the target "
                        "offers")  # fmt: skip
    flag(parser, "format", choices=FORMATS, default="table")
    old(parser, "--features", "--mapping")


def run(options: argparse.Namespace) -> int:
    """Export, and say what that changed."""
    if options.model is None:
        write(options.format, "-", lambda: [listing()], records)
        return 0
    for name in ("to", "output"):
        if getattr(options, name) is None:
            raise DataError(_WANTED[name])
    from pippin.bench.training_sample import training_sample
    from pippin.deploy.exporting import export

    check = training_sample(options.model) if options.check is None else options.check
    exported = export(
        options.model, options.to, options.output, check=check, features=options.mapping, name=options.name,
        options=dict(_pair(text) for text in options.option),
    )  # fmt: skip
    if options.format != "table":
        write(options.format, "-", lambda: [table(exported)], exported.certificate.record)
        return 0
    say(f"{' '.join(exported.files)}\n{exported.certificate.sentence()}")
    for note in exported.certificate.notes:
        say(f"  {note}")
    return 0


_WANTED = {
    "to": "name the target with --to; `pippin export` lists them",
    "output": "name the file to write with -o FILE",
}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConventionError(f"--option takes NAME=VALUE, not {text!r}")
    return name, value


def records() -> list[dict[str, Any]]:
    """The targets as JSON holds them."""
    from pippin.deploy.target import targets

    return [
        {"name": one.name, "title": one.title, "takes": list(one.kinds), "scoring": one.words(), "source": one.source,
         "checked_by": one.checked_by(),
         "options": {name: {"choices": [c for c in o.choices if c], "help": o.help} for name, o in one.options.items()}}
        for _, one in sorted(targets().known.items())
    ]  # fmt: skip


def listing() -> Table:
    """A row per target."""
    rows = [
        [str(one["name"]), str(one["title"]), ", ".join(one["takes"]), str(one["scoring"]), str(one["checked_by"]),
         "; ".join(f"{name}={'|'.join(o['choices'])}" for name, o in one["options"].items())]
        for one in records()
    ]  # fmt: skip
    return Table(["target", "what it is", "takes", "how it scores", "checked by", "options"], rows, names=6)


def table(exported: Exported) -> Table:
    """The certificate as one row."""
    one = exported.certificate
    rows = [[one.target, one.checked_by, f"{one.largest_difference:.3g}", str(one.sides), str(one.reordered),
             f"{one.ndcg['before']:.6f}", f"{one.ndcg['after']:.6f}"]]  # fmt: skip
    heads = ["target", "checked by", "largest difference", "change sides", "queries reordered", "NDCG@10", "after"]
    return Table(heads, rows, names=2, notes=one.notes)
