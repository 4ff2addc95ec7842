"""The `pippin study` command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pippin
from pippin.cli.options import (
    CommaList,
    add_format_option,
    add_option,
    add_options,
    command_line,
    require_single,
)
from pippin.cli.output import print_message, write_result, write_text
from pippin.errors import DataError
from pippin.reports import studies as report
from pippin.reports import training_conventions as conventions_report
from pippin.reports.paper import write_study_figures

HELP = """Study features, training queries, training conventions or research directions on your data.

feature-curve trains on fewer and fewer features and names the smallest set that is not significantly worse.
learning-curve trains on fewer queries and says when trees overtake linear rankers.
conventions trains under several tools' conventions, evaluates under all, and says which conclusions of Busa-Fekete et
al. (2012) hold.
research tries the directions of docs/research.md (reduction, transfer and others), each against its baseline.

Every point is a cell of a benchmark in RESULTS, so the same command continues after an interruption."""
EXAMPLES = (
    "pippin study conventions mine --quick --ranker adarank --convention ranklib,yahoo",
    "pippin study feature-curve mine --step gas -r regression --sizes 1,2 --quick --format html --report path.html",
    "pippin study learning-curve mine --ranker regression --ranker mart --sizes 3,6 --seeds 1 --quick",
)
# Study → its defaults; an option with another name does not apply to it.
DEFAULTS: dict[str, dict[str, Any]] = {
    "feature-curve": {"step": "gas", "ranker": ["ranksvm"], "sizes": None, "measure": ["NDCG@10"], "folds": 5,
                      "sample": 1000},
    "learning-curve": {"ranker": ["ranksvm", "lambdamart"], "sizes": None, "measure": ["NDCG@10"], "seeds": 3,
                       "folds": 5, "sample": 1000},
    "conventions": {"ranker": None, "convention": ["official", "ranklib", "yahoo", "letor4"], "tool": ["classic"],
                    "seeds": 1, "memory": None, "draw": None},
    "research": {"only": (), "sample": 100, "dense": None},
}  # fmt: skip
DEFAULT_COLLECTION = "stdlib"  # the collection that research uses if no data are named


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("study", metavar="STUDY", choices=DEFAULTS, help=", ".join(DEFAULTS))
    parser.add_argument("data", metavar="DATA", nargs="*", help="folders with folds, files with features or "
                        "collections (NAME=PATH renames a data set)")  # fmt: skip
    add_option(parser, "out", "a folder of results (default: STUDY-results)", metavar="RESULTS")
    add_option(parser, "ranker", "one for feature-curve")
    add_options(parser, "quick", "jobs", "quiet")
    add_format_option(parser, "report", "html")
    add_option(parser, "report", default="-")
    curves = parser.add_argument_group("feature-curve and learning-curve")
    curves.add_argument("--step", metavar="STEP", help="feature-curve: step that selects or reduces "
                        "features: gas, elimination, forward, l1, permutation, pca … (default: gas)")  # fmt: skip
    add_option(curves, "sizes", "of features (default: 1,2,3,5,8,13,21,34) or queries (5,10,20,40,80,160,320)")
    add_option(curves, "measure", "here one (default: NDCG@10)")
    add_option(curves, "folds", "of a plain file or a collection (default: 5)")
    add_option(curves, "sample", "(default: 1000; for research 100)")
    add_option(curves, "seeds", "samples of queries per size (default: 3; for conventions 1)")
    conventions = parser.add_argument_group("conventions")
    add_option(conventions, "convention", "the first is the base (default: official,ranklib,yahoo,letor4)")
    add_option(conventions, "tool", "tools to evaluate under (default: classic)")
    add_option(conventions, "memory", "for all cells together; a cell that exceeds it fails")
    conventions.add_argument("--draw", metavar="FOLDER", help="write the two figures of the paper as SVG and PNG")
    research = parser.add_argument_group("research")
    research.add_argument("--only", metavar="NAME", action=CommaList, help="run only these directions")
    add_option(research, "dense", "for the direction `extraction`")


def run(options: argparse.Namespace) -> int:
    """Compute the missing cells and show the study; status 1 if a cell failed."""
    defaults = DEFAULTS[options.study]
    for name in {key for study in DEFAULTS.values() for key in study}:
        if name not in defaults and getattr(options, name) is not None:
            raise DataError(f"--{name} does not apply to `pippin study {options.study}`")
    values = {name: default if getattr(options, name) is None else getattr(options, name)
              for name, default in defaults.items()}  # fmt: skip
    if not options.data and options.study != "research":
        raise DataError(f"`pippin study {options.study}` needs DATA")
    out = options.output or f"{options.study}-results"
    common = {"quick": options.quick, "jobs": options.jobs, "verbose": not options.quiet, "command": command_line()}
    return {
        "feature-curve": run_feature_curve, "learning-curve": run_learning_curve, "conventions": run_conventions,
        "research": run_research,
    }[options.study](options, out, {**values, **common})  # fmt: skip


def run_feature_curve(options: argparse.Namespace, out: str, values: dict[str, Any]) -> int:
    """Train on fewer and fewer features."""
    for name in ("ranker", "measure"):
        values[name] = str(require_single(values[name], f"--{name}"))
    curves = pippin.studies.feature_curve(options.data, out, **with_sizes(values))
    if options.format == "html":
        write_text(report.selection_page(curves), options.report, "html")
    else:
        write_result(options.format, options.report, lambda: [report.selection_table(curve) for curve in curves],
                     lambda: [report.selection_record(curve) for curve in curves])  # fmt: skip
    return 0


def run_learning_curve(options: argparse.Namespace, out: str, values: dict[str, Any]) -> int:
    """Train on fewer queries."""
    values |= {"rankers": values.pop("ranker"), "measure": str(require_single(values["measure"], "--measure"))}
    curves = pippin.studies.learning_curves(options.data, out, **with_sizes(values))
    if options.format == "html":
        write_text(report.learning_page(curves), options.report, "html")
    else:
        write_result(options.format, options.report, lambda: [report.learning_table(curve) for curve in curves],
                     lambda: [report.learning_record(curve) for curve in curves])  # fmt: skip
    return 0


def run_conventions(options: argparse.Namespace, out: str, values: dict[str, Any]) -> int:
    """Train and evaluate under several tools' conventions."""
    folder = values.pop("draw")
    values |= {f"{name}s": values.pop(name) for name in ("ranker", "convention", "tool")}
    studies, failed = pippin.studies.compare_conventions(options.data, out, **values)
    if options.format == "html":
        write_text(conventions_report.study_page(studies), options.report, "html")
    else:
        write_result(options.format, options.report,
                     lambda: [part for study in studies for part in conventions_report.parts(study)],
                     lambda: [conventions_report.record(study) for study in studies],
                     lambda: conventions_report.csv_table(studies))  # fmt: skip
    if folder is not None:
        write_study_figures(studies, Path(folder))
    return 1 if failed else 0


def run_research(options: argparse.Namespace, out: str, values: dict[str, Any]) -> int:
    """Try research directions; print the tables, or fill the placeholders of an existing page with them."""
    if options.format == "html":
        raise DataError("research writes no HTML page: use `pippin report RESULTS` on the same results")
    directions = pippin.studies.research(options.data or [DEFAULT_COLLECTION], out, **values)
    page = Path(options.report)
    if options.report != "-" and page.is_file():
        content = report.fill_placeholders(page.read_text(encoding="utf-8"), directions, options.report)
        write_text(content, options.report)
        print_message(f"{options.report}: {', '.join(direction.name for direction, _ in directions)}")
    else:
        write_result(options.format, options.report, lambda: report.parts(directions),
                     lambda: report.records(directions))  # fmt: skip
    return 0


def with_sizes(values: dict[str, Any]) -> dict[str, Any]:
    """Parse `sizes`; without it, the study uses its default.

    >>> with_sizes({"sizes": "1, 5"}), with_sizes({"sizes": None})
    ({'sizes': (1, 5)}, {})
    """
    text = values.pop("sizes")
    if text is None:
        return values
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise DataError(f"invalid --sizes {text!r}: expected positive integers joined by commas")
    return {**values, "sizes": tuple(map(int, parts))}
