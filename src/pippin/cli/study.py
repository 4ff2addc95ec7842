"""`pippin study`: rankers trained and evaluated under several tools, and which published conclusions hold."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from pippin.cli.evaluate import chosen_tools
from pippin.cli.output import write_text

HELP = """Train rankers under several tools' conventions, evaluate them under all, and say which conclusions of
Busa-Fekete et al. (2012) hold on the data.

  pippin study MQ2008 --train-tools official,ranklib,yahoo,letor4 --eval-tools all
  pippin study MQ2008 --quick --form markdown -o study-results --report study.md

What is in the results is not computed again, so the same command goes on after an interruption."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="folders with folds, or files with features "
                        "(NAME=PATH calls one otherwise)")  # fmt: skip
    parser.add_argument("-o", "--output", default="study-results", metavar="RESULTS", help="the folder of results, "
                        "apart from those of `bench` (default: study-results)")  # fmt: skip
    parser.add_argument("--train-tools", default="official,ranklib,yahoo,letor4", metavar="T,U", help="whose measures "
                        "training looks at; the first is the base (default: official,ranklib,yahoo,letor4; yahoo and "
                        "ranklib differ in empty queries alone)")  # fmt: skip
    parser.add_argument("--eval-tools", default="all", metavar="T,U", help="whose numbers are shown (default: all)")
    parser.add_argument("--rankers", default="adarank,lambdamart,coordinate-ascent,ranknet", metavar="A,B",
                        help="(default: adarank,lambdamart,coordinate-ascent,ranknet)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="how many (default: 1)")
    parser.add_argument("--quick", action="store_true", help="small grids and few rounds, for a first look")
    parser.add_argument("--jobs", type=int, metavar="N", help="cells at a time (default: one per core)")
    parser.add_argument("--memory", metavar="SIZE", help="for all of them together, such as 8G")
    parser.add_argument("--form", choices=("table", "markdown", "json", "csv"), default="table")
    parser.add_argument("--report", default="-", metavar="FILE", help="write the study here instead of to the terminal")
    parser.add_argument("--figures", metavar="FOLDER", help="draw the two figures of the paper there, as SVG and PNG")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Compute what is missing, and say what came out; status 1 where a cell failed."""
    trained = [tool.name for tool in chosen_tools([options.train_tools])]
    shown = [tool.name for tool in chosen_tools([options.eval_tools])]
    from pippin.bench.study import run_study, study
    from pippin.machine import parse_size

    outcome = run_study(
        options.data, options.output, rankers=options.rankers.split(","), conventions=trained, seeds=options.seeds,
        quick=options.quick, jobs=options.jobs, memory=None if options.memory is None else parse_size(options.memory),
        verbose=not options.quiet, command=shlex.join(["pippin", *sys.argv[1:]]),
    )  # fmt: skip
    names = list(dict.fromkeys(task.data for task in outcome.tasks))
    studies = [study(outcome.results, name, conventions=trained, tools=shown) for name in names]
    from pippin.report import study as report

    if options.form == "json":
        written = json.dumps([report.record(s) for s in studies], indent=1)
    elif options.form == "csv":
        written = report.csv_table(studies).render("csv")
    else:
        written = "\n\n\n".join(report.text(s, options.form) for s in studies)
    write_text(written, options.report)
    if options.figures is not None:
        from pippin.report.export import write_study_figures

        for made in studies:
            write_study_figures(made, Path(options.figures))
    return outcome.status
