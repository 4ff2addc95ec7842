"""`pippin datasets`: the data sets that are recognised and checked, and the forms of collections, or all about one."""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.options import printing
from pippin.cli.output import write
from pippin.data.sources import SOURCES, Count, Source
from pippin.tables import Facts, Heading, Part, Table

HELP = "List the data sets that are known by their files, and the forms of collections, or tell all about one."
EXAMPLES = ("pippin datasets", "pippin datasets mq2008", "pippin datasets --format json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="DATASET", nargs="?", help="all about this one")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Print the lists or one data set."""
    form, output = options.format, options.output
    if options.name is None:
        write(form, output, overview, records)
    else:
        source = SOURCES[options.name]
        write(form, output, lambda: describe(source), lambda: record(source), lambda: counts(source))
    return 0


def overview() -> list[Part]:
    """One row a data set, then one row a form that `pippin build` reads."""
    from pippin.collection.readers import READERS

    rows = [
        [s.name, s.title, _said(s.features), _labels(s), str(len(s.folds)), *map(_said, s.total)]
        for s in SOURCES.values()
    ]
    known = Table(["data set", "title", "features", "labels", "folds", "queries", "documents"], rows, names=2)
    forms = Table(["collection", "how it looks"], [[name, READERS[name].looks] for name in READERS], names=2)
    return [known, forms]


def records() -> dict[str, Any]:
    """Both lists as JSON holds them."""
    from pippin.collection.readers import READERS

    return {
        "datasets": [record(source) for source in SOURCES.values()],
        "collections": [{"name": name, "looks": READERS[name].looks} for name in READERS],
    }


def describe(source: Source) -> list[Part]:
    """What a data set is, where its files stand, and how much each part must hold."""
    files = "; ".join(f"{part}: {' or '.join(names)}" for part, names in source.parts.items())
    facts = [
        ("from", source.origin), ("features", _said(source.features)), ("labels", _labels(source)),
        ("folders", ", ".join(source.folds) if any(source.folds) else "one"), ("files", files),
        ("also called", ", ".join(source.aliases) or "–"),
    ]  # fmt: skip
    return [Heading(f"{source.name} — {source.title}"), Facts(facts), counts(source)]


def counts(source: Source) -> Table:
    """The declared queries and documents of every part; – where they are not known for certain."""
    rows = [
        [fold or "–", part, *map(_said, source.count(fold, part))] for fold in source.folds for part in source.parts
    ]
    return Table(["fold", "part", "queries", "documents"], rows, names=2)


def record(source: Source) -> dict[str, Any]:
    """All about a data set as JSON holds it."""

    def pair(count: Count) -> dict[str, int | None]:
        return count._asdict()

    return {
        "name": source.name, "title": source.title, "origin": source.origin, "features": source.features,
        "labels": list(source.labels), "folds": list(source.folds), "aliases": list(source.aliases),
        "files": {part: list(names) for part, names in source.parts.items()}, "total": pair(source.total),
        "counts": [
            {"fold": fold, "part": part, **pair(source.count(fold, part))}
            for fold in source.folds for part in source.parts
        ],
    }  # fmt: skip


def _said(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _labels(source: Source) -> str:
    return f"{min(source.labels)} … {max(source.labels)}" if source.labels else "–"
