"""The `pippin bench` command."""

from __future__ import annotations

import argparse
import shlex

import pippin
from pippin.cli.options import add_option, add_options, command_line, connect_dask, print_warning
from pippin.cli.output import print_message, write_result

HELP = """Train and evaluate rankers on data sets in folds, and store all results.

Run the same command again to continue after Ctrl-C, a crash or a failed cell: finished cells are not computed again. A
plan.toml sets the same values as the options (see docs/bench.md); options override it. The data set `stdlib` is built
from the documentation of this Python."""
EXAMPLES = (
    "pippin bench all.txt --ranker ranksvm,best-feature --folds 3 --quick --out results",
    "pippin bench mine --quick -r regression --convention official,yahoo --tool official,letor4 -m NDCG@10,MAP",
    "pippin bench plan.toml --out results --set lambdamart.rounds=30",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="folders with folds, files with features or "
                        "collections (NAME=PATH renames a data set), or one plan.toml")  # fmt: skip
    add_option(parser, "out", metavar="RESULTS", default="results")
    grid = parser.add_argument_group("the grid")
    add_option(grid, "ranker", "or all (default: all)")
    add_option(grid, "convention", "several are compared (default: official)")
    add_option(grid, "tool", "(default: classic)")
    add_option(grid, "measure", "(default: NDCG@1 … 10, P@1 … 10, MAP, MRR, ERR@10)")
    add_option(grid, "folds", "of a plain file or a collection (default: 5)")
    add_option(grid, "sample", "(default: 1000)")
    grid.add_argument("--vali", metavar="SHARE", type=float, help="share of the training queries to validate on, such "
                      "as 0.25, if a folder lacks a validation part")  # fmt: skip
    add_option(grid, "select", "(default: MAP)")
    add_option(grid, "seeds", "(default: 1)")
    grid.add_argument("--models", metavar="DIR", help="folder of models of other programs to compare with")
    add_options(grid, "set", "quick")
    execution = parser.add_argument_group("execution")
    add_options(execution, "jobs")
    add_option(execution, "memory", "for all cells together; a cell that exceeds it fails")
    add_options(execution, "dask")
    execution.add_argument("--allow-leak", action="store_true", help="allow test queries in the training part")
    execution.add_argument("--allow-one-fold", action="store_true", help="allow a data set with one fold")
    execution.add_argument("--no-check", action="store_true", help="skip the check of a published data set's counts")
    add_options(execution, "quiet", format="table")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark and print a summary; status 1 if a cell failed."""
    from pippin.reports.leaderboard import summary_table

    try:
        with connect_dask(options.dask, options.jobs, options.memory) as executor:
            result = pippin.bench(
                options.data, options.output, ranker=options.ranker, convention=options.convention, tool=options.tool,
                measure=options.measure, select=options.select, folds=options.folds, sample=options.sample,
                vali=options.vali, seeds=options.seeds, quick=options.quick, parameters=options.set,
                imports=options.imports, models=options.models, jobs=options.jobs, memory=options.memory,
                executor=executor, allow_leak=options.allow_leak, allow_one_fold=options.allow_one_fold,
                check=not options.no_check, command=command_line(), verbose=not options.quiet,
            )  # fmt: skip
    except KeyboardInterrupt:
        print_warning(f"finished cells are in {options.output}; run the same command again to continue")
        raise
    write_result(options.format, "-", lambda: [summary_table(result)], result.to_dict)
    for line in result.failures():
        print_warning(line)
    if options.format == "table" and not options.quiet:
        results = shlex.quote(str(result.results.path))
        more = f"For all tables: pippin leaderboard {results}. For a page: pippin report {results} -o page.html"
        print_message(more, stderr=True)
    return 1 if result.failed else 0
