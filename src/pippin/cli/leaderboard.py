"""`pippin leaderboard`: what results say, on the terminal or as tables for a paper."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pippin.cli.output import write_text
from pippin.errors import DataError
from pippin.evaluation.compare import TestPlan
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.significance import TESTS
from pippin.evaluation.tools import TOOLS

if TYPE_CHECKING:
    from pippin.bench.leaderboard import BoardKey, Leaderboard
    from pippin.bench.published import Beside
    from pippin.bench.tables import CellTables

    Boards: TypeAlias = Mapping[BoardKey, Leaderboard]

HELP = """Show the leaderboards of benchmark results: LETOR's tables, one measure in full, what other tools
would say, winning numbers over several data sets, and what is missing.

  pippin leaderboard RESULTS
  pippin leaderboard RESULTS --data OHSUMED --tool letor3 --published letor3_tables.csv
  pippin leaderboard RESULTS --measure MAP --per-fold --form latex"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="RESULTS", help="the folder that `pippin bench` wrote")
    parser.add_argument("--data", metavar="D", help="one data set only, or several joined by commas")
    parser.add_argument("-t", "--tool", default="official", metavar="T", help="whose numbers (default: official)")
    parser.add_argument("-m", "--measure", default="NDCG@10", metavar="M", help="shown in full, and under every tool "
                        "(default: NDCG@10)")  # fmt: skip
    parser.add_argument("--convention", metavar="T", help="of rankers trained under this tool (default: official)")
    parser.add_argument("--form", choices=("table", "markdown", "latex", "csv"), default="table")
    parser.add_argument("--published", metavar="FILE", help="CSV with dataset, ranker, measure, value to set beside")
    parser.add_argument("--per-fold", action="store_true", help="with a column per fold")
    parser.add_argument("--test", default="t", help=f"one of {', '.join(TESTS)} (default: t)")
    parser.add_argument("--correct", default="holm", help=f"one of {', '.join(CORRECTIONS)} (default: holm)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(default: 0.05)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write here instead of to the terminal")


def run(options: argparse.Namespace) -> int:
    """Show."""
    TESTS[options.test], CORRECTIONS[options.correct]  # an unknown name is found before anything is read
    from pippin.bench.store import Results

    write_text(render(Results.open(options.results), options), options.output)
    return 0


def render(tables: CellTables, options: argparse.Namespace) -> str:
    """Everything asked for in the form asked for."""
    from pippin.bench.leaderboard import LETOR_MEASURES, leaderboards
    from pippin.bench.published import beside, read_published
    from pippin.report import leaderboard as report

    published = None if options.published is None else read_published(options.published)
    stored = list(dict.fromkeys(tables.means()["measure"]))
    measures = [m for m in dict.fromkeys([*LETOR_MEASURES, options.measure]) if m in stored or m == options.measure]
    plan = TestPlan(options.test, options.correct, alpha=options.alpha)
    names = options.data.split(",") if options.data else None
    boards = leaderboards(
        tables, data=names, tools=[options.tool], measures=measures, convention=options.convention, plan=plan
    )
    if not boards:
        raise DataError(f"{options.tool} computes none of the measures of these results")
    beside_ours = [] if published is None else beside(boards, published, options.tool)
    if published is not None and not beside_ours:
        raise DataError("none of the published data sets and measures is among the results", options.published)
    if options.form == "csv":
        csv = report.published_csv(beside_ours) if published else report.csv_table(boards, options.per_fold)
        return csv.render("csv")
    known = set(tables.means()["tool"])
    tools = [options.tool, *(tool for tool in TOOLS if tool in known and tool != options.tool)]
    others = leaderboards(
        tables, data=names, tools=tools, measures=[options.measure], convention=options.convention, plan=plan
    )
    return _text(boards, others, beside_ours, options)


def _text(boards: Boards, others: Boards, beside_ours: Sequence[Beside], options: argparse.Namespace) -> str:
    from pippin.bench.leaderboard import BoardKey, datasets_of
    from pippin.bench.winning_numbers import means_of, winning_numbers
    from pippin.report import leaderboard as report

    form, parts = options.form, []
    for data in datasets_of(boards):
        parts.append(heading(data, form))
        parts += [table.render(form) for table in report.letor_tables(boards, data, options.tool)]
        board = boards.get(BoardKey(data, options.tool, options.measure))
        if board is not None:
            parts.append(report.board_table(board, options.per_fold).render(form))
        parts += _other_tools([b for place, b in others.items() if place.data == data], form)
    if len({place.data for place in boards}) > 1:
        parts.append(heading("Over all data sets", form))
        parts.append(report.winning_table(winning_numbers(means_of(boards, options.tool))).render(form))
    for data, table in report.published_tables(beside_ours, options.tool):
        parts += [heading(f"{data}: beside the published values", form), table.render(form)]
    missing = report.gap_notes([*boards.values(), *others.values()])
    if missing:
        prefix = {"latex": "% ", "markdown": "- "}.get(form, "")
        parts += [heading("Missing", form), "\n".join(prefix + line for line in missing)]
    return "\n\n".join(parts)


def _other_tools(boards: Sequence[Leaderboard], form: str) -> list[str]:
    """What every tool of the results says of one data set and measure, the chosen one first."""
    from pippin.bench.leaderboard import agreement
    from pippin.report import leaderboard as report

    found = agreement(boards)
    if found is None or len(found.boards) < 2:
        return []
    return [("% " if form == "latex" else "") + found.sentence(), report.tools_table(found).render(form)]


def heading(text: str, form: str) -> str:
    """A heading in the form."""
    return {"markdown": f"## {text}", "latex": f"% {text}"}.get(form, f"{text}\n{'═' * len(text)}")
