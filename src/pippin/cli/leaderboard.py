"""`pippin leaderboard`: what results say, on the terminal or as tables for a paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pippin.cli.compare import testing
from pippin.cli.options import flag, old, only, printing, shared
from pippin.cli.output import say, write
from pippin.errors import DataError
from pippin.evaluation.compare import Comparison, TestPlan
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.significance import TESTS
from pippin.evaluation.tools import TOOLS
from pippin.tables import Heading, Part, Prose, Remarks

if TYPE_CHECKING:
    from pippin.bench.ceilings import Ceiling
    from pippin.bench.leaderboard import BoardKey, Leaderboard
    from pippin.bench.published import Beside
    from pippin.bench.store import Results

    Boards: TypeAlias = Mapping[BoardKey, Leaderboard]

HELP = """Show the leaderboards of benchmark results.

LETOR's tables, one measure in full, what other tools would say, winning numbers over several data sets, and what is
missing. --per-query prints the values behind a measure instead."""
EXAMPLES = (
    "pippin leaderboard results",
    "pippin leaderboard results --measure MAP --per-fold --format latex",
    "pippin leaderboard results --tool letor4 --format json --out boards.json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="RESULTS", help="the folder that `pippin bench` wrote")
    flag(parser, "data", "these sets only (default: all)")
    flag(parser, "tool", "whose numbers; the first is compared with the others", default=["official"])
    flag(parser, "measure", "those shown in full, and under every tool", default=["NDCG@10"])
    flag(parser, "convention", "here one (default: official)")
    shared(parser, "published", "per_query")
    parser.add_argument("--per-fold", action="store_true", help="with a column per fold")
    parser.add_argument("--watch", action="store_true", help="show them again each time that a running bench has "
                        "finished a cell, until it ends")  # fmt: skip
    testing(parser)
    printing(parser)
    old(parser, "--form", "--format")


def run(options: argparse.Namespace) -> int:
    """Show."""
    TESTS[options.test], CORRECTIONS[options.correct]  # an unknown name is found before anything is read
    from pippin.bench.store import Results

    if options.watch:
        return run_watching(options)
    show(Results.open(options.results), options)
    return 0


def run_watching(options: argparse.Namespace) -> int:
    """Show the leaderboards again each time that a cell was finished, until all are there."""
    from pippin.bench.watching import watch

    if options.output != "-" or options.format != "table":
        raise DataError("--watch shows tables on the terminal; leave out --out and --format")
    for results in watch(options.results):
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[H")
        done, left = len(results.cells), len(results.missing())
        if done:
            show(results, options)
        say(f"{done} of {done + left} cells are there" + (", Ctrl-C ends" if left else ""))
        sys.stdout.flush()
    return 0


def show(results: Results, options: argparse.Namespace) -> None:
    """Print everything, or the values per query."""
    from pippin.report import leaderboard as report

    gathered = gather(results, options)
    chosen = {key: board for key, board in gathered.boards.items() if key.measure in options.measure}
    if options.per_query:
        write(options.format, options.output, lambda: [report.values_table(b) for b in chosen.values()],
              lambda: [report.record(b, per_query=True) for b in chosen.values()],
              lambda: report.values_csv(chosen))  # fmt: skip
        return
    csv = (
        report.csv_table(gathered.boards, options.per_fold)
        if not gathered.beside
        else report.published_csv(gathered.beside)
    )
    write(
        options.format, options.output, lambda: parts(gathered, options), lambda: record(gathered, options), lambda: csv
    )


@dataclass(frozen=True)
class Gathered:
    """What the results say: boards under the tools asked for, those of all tools, and published values beside them."""

    boards: Boards
    others: Boards
    beside: Sequence[Beside]
    ceilings: Mapping[str, Ceiling]  # of data sets that hold a sample


def gather(tables: Results, options: argparse.Namespace) -> Gathered:
    """The leaderboards that are shown."""
    from pippin.bench.leaderboard import LETOR_MEASURES, leaderboards
    from pippin.bench.published import beside, read_published

    published = None if options.published is None else read_published(options.published)
    stored = tables.means().names("measure")
    measures = [m for m in dict.fromkeys([*LETOR_MEASURES, *options.measure]) if m in stored or m in options.measure]
    known = set(tables.means().names("tool"))
    every = [tool for tool in TOOLS if tool in known]
    wanted = list(dict.fromkeys(tool for name in options.tool for tool in (every if name == "all" else [name])))
    given: dict[str, Any] = {
        "data": options.data, "convention": only(options.convention, "--convention"),
        "plan": TestPlan(options.test, options.correct, alpha=options.alpha),
    }  # fmt: skip
    boards = leaderboards(tables, tools=wanted, measures=measures, **given)
    if not boards:
        raise DataError(f"{', '.join(wanted)} computes none of the measures of these results")
    beside_ours = [b for tool in wanted for b in beside(boards, published, tool)] if published is not None else []
    if published is not None and not beside_ours:
        raise DataError("none of the published data sets and measures is among the results", options.published)
    every = list(dict.fromkeys([*wanted, *every]))
    others = leaderboards(tables, tools=every, measures=options.measure, **given)
    return Gathered(boards, others, beside_ours, tables.ceilings())


def parts(gathered: Gathered, options: argparse.Namespace) -> list[Part]:
    """Everything, data set by data set."""
    from pippin.bench.ceilings import MEASURE
    from pippin.bench.leaderboard import BoardKey, datasets_of
    from pippin.bench.winning_numbers import means_of, winning_numbers
    from pippin.report import leaderboard as report

    shown: list[Part] = []
    tools = list(dict.fromkeys(key.tool for key in gathered.boards))
    for data in datasets_of(gathered.boards):
        shown.append(Heading(data))
        for tool in tools:
            shown += report.letor_tables(gathered.boards, data, tool)
            boards = (gathered.boards.get(BoardKey(data, tool, measure)) for measure in options.measure)
            shown += [report.board_table(board, options.per_fold) for board in boards if board is not None]
        if data in gathered.ceilings:
            shown += report.ceiling_parts(
                gathered.ceilings[data], gathered.boards.get(BoardKey(data, tools[0], MEASURE))
            )
        for compared in agreements(gathered, data):
            shown += [Prose(compared.sentence()), report.tools_table(compared)]
    if len({key.data for key in gathered.boards}) > 1:
        shown.append(Heading("Over all data sets"))
        shown += [report.winning_table(winning_numbers(means_of(gathered.boards, tool))) for tool in tools]
    for data, table in report.published_tables(gathered.beside, ", ".join(tools)):
        shown += [Heading(f"{data}: beside the published values"), table]
    missing = report.gap_notes([*gathered.boards.values(), *gathered.others.values()])
    return [*shown, Heading("Missing"), Remarks(missing)] if missing else shown


def agreements(gathered: Gathered, data: str) -> list[Comparison]:
    """What every tool of the results says of one data set, measure by measure, the chosen tool first."""
    from pippin.bench.leaderboard import agreement

    boards = [board for key, board in gathered.others.items() if key.data == data]
    measures = dict.fromkeys(board.measure for board in boards)
    compared = [agreement([board for board in boards if board.measure == measure]) for measure in measures]
    return [one for one in compared if one is not None and len(one.boards) > 1]


def record(gathered: Gathered, options: argparse.Namespace) -> dict[str, Any]:
    """Everything as JSON holds it."""
    from pippin.bench.ceilings import MEASURE
    from pippin.bench.leaderboard import BoardKey, datasets_of
    from pippin.bench.winning_numbers import means_of, winning_numbers
    from pippin.report import leaderboard as report

    data = list(datasets_of(gathered.boards))
    tools = dict.fromkeys(key.tool for key in gathered.boards)
    return {
        "boards": [report.record(board) for board in gathered.boards.values()],
        "tools": [
            {"data": name, "measure": compared.measure, "against": compared.first.name, "verdict": compared.sentence(),
             "tools": report.tools_record(compared)}
            for name in data for compared in agreements(gathered, name)
        ],
        "winning": [{"tool": tool, **asdict(one)} for tool in tools
                    for one in winning_numbers(means_of(gathered.boards, tool))] if len(data) > 1 else [],
        "published": [{**asdict(b.published), "ours": b.ours, "difference": b.difference} for b in gathered.beside],
        "ceilings": [
            ceiling.record(gathered.boards.get(BoardKey(name, next(iter(tools)), MEASURE)))
            for name, ceiling in gathered.ceilings.items() if name in data
        ],
        "missing": report.gap_notes([*gathered.boards.values(), *gathered.others.values()]),
    }  # fmt: skip
