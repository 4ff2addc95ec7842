"""`pippin study`: rankers trained and evaluated under several tools, and which published conclusions hold."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from pippin.cli.evaluate import chosen_tools
from pippin.cli.options import Several, flag, form_flag, old, shared
from pippin.cli.output import write, write_text

HELP = """Train rankers under several tools' conventions, evaluate them under all, and say which conclusions hold.

The conclusions are those of Busa-Fekete et al. (2012). What is in the results is not computed again, so the same
command goes on after an interruption. `pippin study research DATA …` tries the directions of docs/research.md instead:
feature selection, reduction, transfer and others, each against its baseline."""
EXAMPLES = (
    "pippin study mine --quick --ranker adarank --convention ranklib,yahoo",
    "pippin study mine --quick -r adarank --convention ranklib,yahoo --format markdown --report study.md",
)

RANKERS = ["adarank", "lambdamart", "coordinate-ascent", "ranknet"]
CONVENTIONS = ["official", "ranklib", "yahoo", "letor4"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="folders with folds, or files with features "
                        "(NAME=PATH calls one otherwise); `research` first: the study of directions")  # fmt: skip
    flag(parser, "out", "a folder of results apart from those of `bench`", metavar="RESULTS", default="study-results")
    flag(parser, "convention", "the first is the base; yahoo and ranklib differ in empty queries alone",
         default=CONVENTIONS)  # fmt: skip
    flag(parser, "tool", "those whose numbers are shown", default=["classic"])
    shared(parser, ranker=RANKERS, seeds=1)
    shared(parser, "quick", "jobs", "memory", "quiet")
    flag(parser, "sample", "for research", default=100)
    parser.add_argument("--only", metavar="NAME", action=Several, help="for research: these directions alone")
    flag(parser, "dense", "for research: its direction `extraction`")
    form_flag(parser, "report", "html")
    flag(parser, "report", default="-")
    parser.add_argument("--draw", metavar="FOLDER", help="draw the two figures of the paper there, as SVG and PNG")
    for former, now in {"--output": "--out", "--train-tools": "--convention", "--eval-tools": "--tool",
                        "--rankers": "--ranker", "--form": "--format", "--figures": "--draw"}.items():  # fmt: skip
        old(parser, former, now)


def run(options: argparse.Namespace) -> int:
    """Compute what is missing, and say what came out; status 1 where a cell failed."""
    if options.data[0] == "research":
        from pippin.cli.research import run as run_research

        return run_research(options)
    trained = [tool.name for tool in chosen_tools(options.convention)]
    shown = [tool.name for tool in chosen_tools(options.tool)]
    from pippin.bench.study import run_study, study
    from pippin.machine import parse_size

    outcome = run_study(
        options.data, options.output, rankers=options.ranker, conventions=trained, tools=shown, seeds=options.seeds,
        quick=options.quick, jobs=options.jobs, memory=None if options.memory is None else parse_size(options.memory),
        verbose=not options.quiet, command=shlex.join(["pippin", *sys.argv[1:]]),
    )  # fmt: skip
    names = list(dict.fromkeys(task.data for task in outcome.tasks))
    studies = [study(outcome.results, name, conventions=trained, tools=shown) for name in names]
    from pippin.report import study as report

    if options.format == "html":
        from pippin.report.study_page import study_page

        write_text(study_page(studies), options.report, "html")
    else:
        write(options.format, options.report, lambda: [part for s in studies for part in report.parts(s)],
              lambda: [report.record(s) for s in studies], lambda: report.csv_table(studies))  # fmt: skip
    if options.draw is not None:
        from pippin.report.export import write_study_figures

        write_study_figures(studies, Path(options.draw))
    return outcome.status
