"""`pippin study research`: every direction of research on the same data sets, as tables."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from pippin.cli.output import say, write, write_text
from pippin.errors import DataError

STDLIB = "stdlib"  # what is studied where no data are named: the collection that Pippin carries


def run(options: argparse.Namespace) -> int:
    """Compute what is missing, and print the tables, or fill the places of a page with them."""
    from pippin.bench.research import research
    from pippin.report import research as report

    if options.format == "html":
        raise DataError("research is written as tables; `pippin report RESULTS` makes the page of the same results")
    made = research(
        options.data[1:] or [STDLIB], options.output, only=options.only or (), sample=options.sample,
        dense=options.dense, quick=options.quick, jobs=options.jobs, verbose=not options.quiet,
        command=shlex.join(["pippin", *sys.argv[1:]]),
    )  # fmt: skip
    page = Path(options.report)
    if options.report != "-" and page.is_file():
        write_text(report.filled(page.read_text(encoding="utf-8"), made, options.report), options.report)
        say(f"{options.report}: {', '.join(direction.name for direction, _ in made)}")
    else:
        write(options.format, options.report, lambda: report.parts(made), lambda: report.records(made))
    return 0
