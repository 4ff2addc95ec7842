"""Tables and figures of a benchmark for a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pippin.benchmarks.leaderboard import (
    LETOR_MEASURES,
    Leaderboard,
    LeaderboardKey,
    WinCount,
    agreement,
    tool_means,
    winning_numbers,
)
from pippin.benchmarks.published import PublishedValue, match_published
from pippin.benchmarks.studies.training_conventions import Study
from pippin.benchmarks.tables import training_convention
from pippin.display.tables import Heading, Renderable, render_all
from pippin.reports import leaderboard as report
from pippin.reports import specs
from pippin.reports.benchmark_data import BenchmarkData, costs_of, importance_of
from pippin.reports.figures import write_figure
from pippin.reports.page_arrays import Names
from pippin.reports.specs import Spec
from pippin.reports.training_conventions import study_figures
from pippin.storage.files import atomic_write

Boards = Mapping[LeaderboardKey, Leaderboard]
T = TypeVar("T")
FORMS = {"markdown": "md", "latex": "tex"}


def write_tables(
    benchmark: BenchmarkData, folder: Path, published: Sequence[PublishedValue] = (), convention: str | None = None
) -> list[Path]:
    """Write the tables of data sets, the winning numbers and the published values; return the paths."""
    names, all_boards = benchmark.names, benchmark.boards(resolve_convention(benchmark, convention))
    measures = [m for m in LETOR_MEASURES if m in names.measures] or list(names.measures)
    boards = {key: b for key, b in all_boards.items() if key.tool == names.tool and key.measure in measures}
    by_tool = {key: b for key, b in all_boards.items() if key.measure == main_measure(names)}
    paths = []
    for name, parts in unique(_tables(names, boards, by_tool, published)):
        for form, ending in FORMS.items():
            paths.append(folder / f"{name}.{ending}")
            _write(paths[-1], render_all(parts, form) + "\n")
    tables = {"leaderboards": report.csv_table(all_boards, per_fold=True)}
    if published:
        tables["published"] = report.published_csv(match_published(boards, published, names.tool))
    for name, table in tables.items():
        paths.append(folder / f"{name}.csv")
        _write(paths[-1], table.render("csv") + "\n")
    return paths


def resolve_convention(benchmark: BenchmarkData, requested: str | None) -> str:
    """Return the training convention of tables and figures."""
    return training_convention(benchmark.results.means(), benchmark.results.failures(), requested)


def unique(items: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """Yield items under unique names, also if a file system ignores case: the second `x` becomes `x-2`.

    >>> [name for name, _ in unique([("a-b", 1), ("A-b", 2), ("a-b-2", 3)])]
    ['a-b', 'A-b-2', 'a-b-2-2']
    """
    used: set[str] = set()
    for name, item in items:
        unique_name, number = name, 1
        while unique_name.casefold() in used:
            number += 1
            unique_name = f"{name}-{number}"
        used.add(unique_name.casefold())
        yield unique_name, item


def _tables(
    names: Names, boards: Boards, by_tool: Boards, published: Sequence[PublishedValue]
) -> Iterator[tuple[str, list[Renderable]]]:
    """Yield file names and the tables in each file."""
    main = main_measure(names)
    for data in names.data:
        tables: list[Renderable] = [Heading(data), *report.letor_tables(boards, data, names.tool)]
        tables.append(report.board_table(by_tool[LeaderboardKey(data, names.tool, main)], per_fold=True))
        comparison = agreement([board for place, board in by_tool.items() if place.data == data])
        if comparison is not None and len(comparison.boards) > 1:
            tables.append(report.tools_table(comparison))
        yield file_name(data), tables
    if len(names.data) > 1:
        yield "winning", [report.winning_table(winning_numbers(tool_means(boards, names.tool)))]
    for data, table in report.published_tables(match_published(boards, published, names.tool), names.tool):
        yield f"published-{file_name(data)}", [Heading(data), table]


def main_measure(names: Names) -> str:
    """Return the measure of tables with one measure."""
    return "NDCG@10" if "NDCG@10" in names.measures else names.measures[0]


def file_name(text: str) -> str:
    """Return a file name that every file system allows.

    >>> file_name("MQ2008/a b")
    'MQ2008-a-b'
    """
    return re.sub(r"[^\w.-]+", "-", text)[:80].strip("-.") or "data"


def write_figures(
    benchmark: BenchmarkData, folder: Path, kinds: Sequence[str], convention: str | None = None
) -> Iterator[list[Path]]:
    """Draw every figure of the page under the first tool; yield the files of each."""
    for name, spec in unique(paper_figures(benchmark, convention)):
        yield write_figure(folder, name, spec, kinds)


def paper_figures(benchmark: BenchmarkData, convention: str | None = None) -> Iterator[tuple[str, Spec]]:
    """Yield the file name and specification of every figure."""
    results, names, convention = benchmark.results, benchmark.names, resolve_convention(benchmark, convention)
    main = main_measure(names)
    family = [m for m in names.measures if m.partition("@")[0] == main.partition("@")[0]]
    boards = {place: board for place, board in benchmark.boards(convention).items() if place.measure in family}
    for data in names.data:
        measure_keys = {m: LeaderboardKey(data, names.tool, m) for m in family}
        by_measure = {m: boards[key] for m, key in measure_keys.items() if key in boards}
        tool_keys = {t: LeaderboardKey(data, t, main) for t in names.tools}
        by_tool = {t: boards[key] for t, key in tool_keys.items() if key in boards}
        file, rankers = file_name(data), names.rankers
        yield f"{file}-curves", specs.lines_by_cutoff(_curve_rows(by_measure), rankers, main.partition("@")[0])
        yield f"{file}-tools", specs.lines_by_tool(_tool_rows(by_tool), rankers, names.tools, "mean", main)
        yield f"{file}-ranks", specs.lines_by_tool(_tool_rows(by_tool), rankers, names.tools, "rank", "rank")
        yield f"{file}-agreement", specs.agreement_of(_agreement_rows(list(by_tool.values())), names.tools)
        board = by_measure[main]
        costs = costs_of(results, data, convention)
        yield f"{file}-time", specs.time_and_quality(_time_rows(board, costs), rankers, main)
        tops = importance_of(results, data, convention)
        best = next((s.ranker for s in board.standings if s.ranker in tops), None)
        if best is not None:
            yield f"{file}-importance-{file_name(best)}", specs.importance(tops[best])
    if len(names.data) > 1:
        wins = _winning_rows(winning_numbers(tool_means(boards, names.tool)))
        yield "winning", specs.lines_by_cutoff(wins, names.rankers, "winning number", "wins")


def _cutoff(measure: str) -> int:
    return int(measure.partition("@")[2] or 0)


def _curve_rows(boards: Mapping[str, Leaderboard]) -> list[dict[str, Any]]:
    return [
        {"name": s.ranker, "cutoff": _cutoff(m), "mean": s.mean} for m, board in boards.items() for s in board.standings
    ]


def _tool_rows(boards: Mapping[str, Leaderboard]) -> list[dict[str, Any]]:
    return [
        {"name": s.ranker, "tool": tool, "mean": s.mean, "rank": rank}
        for tool, board in boards.items()
        for rank, s in enumerate(board.standings, 1)
    ]


def _agreement_rows(boards: Sequence[Leaderboard]) -> list[dict[str, Any]]:
    comparison = agreement(boards)
    if comparison is None:
        return []
    names = [board.name for board in comparison.boards]
    tau = comparison.agreement("tau_b")
    return [
        {"row": a, "column": b, "tau_b": tau[i][j]}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if not math.isnan(tau[i][j])  # undefined for a leaderboard of ties only
    ]


def _time_rows(board: Leaderboard, costs: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    return [
        {"name": s.ranker, "seconds": costs[s.ranker]["select_seconds"], "mean": s.mean}
        for s in board.standings
        if s.ranker in costs
    ]


def _winning_rows(winnings: Sequence[WinCount]) -> list[dict[str, Any]]:
    return [{"name": w.ranker, "cutoff": _cutoff(w.measure), "wins": w.wins} for w in winnings if w.pairs]


def write_study_figures(studies: Sequence[Study], folder: Path) -> list[Path]:
    """Draw the figures of studies; return the paths."""
    paths: list[Path] = []
    figures = ((f"{file_name(s.data)}-{name}", spec) for s in studies for name, spec in study_figures(s).items())
    for name, spec in unique(figures):
        paths += write_figure(folder, name, spec, ("svg", "png"))
    return paths


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as out:
        out.write(content.encode())
