"""Tables and figures of a benchmark for a paper: LaTeX, Markdown, CSV; SVG, PDF, PNG.

Tables are those that `pippin leaderboard` prints, figures those of the page, drawn without a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pippin.bench.leaderboard import LETOR_MEASURES, BoardKey, Leaderboard, agreement
from pippin.bench.published import Published, beside
from pippin.bench.study import Study
from pippin.bench.tables import training_convention
from pippin.bench.winning_numbers import Winning, means_of, winning_numbers
from pippin.files import atomic_write
from pippin.report import bench_figures as figures
from pippin.report import leaderboard as report
from pippin.report.bench_data import Gathered, costs_of, importance_of
from pippin.report.drawing_process import DrawingProcess, write_drawings
from pippin.report.sheets import Names
from pippin.report.study import study_figures
from pippin.tables import Heading, Part, together

Boards = Mapping[BoardKey, Leaderboard]
T = TypeVar("T")
FORMS = {"markdown": "md", "latex": "tex"}


def write_tables(
    gathered: Gathered, folder: Path, published: Sequence[Published] = (), convention: str | None = None
) -> list[Path]:
    """Write every data set's tables, the winning numbers and the published values; the files' paths."""
    names, whole = gathered.names, gathered.boards(trained(gathered, convention))
    measures = [m for m in LETOR_MEASURES if m in names.measures] or list(names.measures)
    boards = {p: b for p, b in whole.items() if p.tool == names.tool and p.measure in measures}
    every = {p: b for p, b in whole.items() if p.measure == main_measure(names)}
    written = []
    for name, parts in unique(_tables(names, boards, every, published)):
        for form, ending in FORMS.items():
            written.append(folder / f"{name}.{ending}")
            _write(written[-1], together(parts, form) + "\n")
    tables = {"leaderboards": report.csv_table(whole, per_fold=True)}
    if published:
        tables["published"] = report.published_csv(beside(boards, published, names.tool))
    for name, table in tables.items():
        written.append(folder / f"{name}.csv")
        _write(written[-1], table.render("csv") + "\n")
    return written


def trained(gathered: Gathered, wanted: str | None) -> str:
    """The training convention of tables and figures."""
    return training_convention(gathered.results.means(), gathered.results.failures(), wanted)


def unique(named: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """The same with names that differ, also where a file system does not tell A from a: the second `x` is `x-2`.

    >>> [name for name, _ in unique([("a-b", 1), ("A-b", 2), ("a-b-2", 3)])]
    ['a-b', 'A-b-2', 'a-b-2-2']
    """
    taken: set[str] = set()
    for name, thing in named:
        unused, number = name, 1
        while unused.casefold() in taken:
            number += 1
            unused = f"{name}-{number}"
        taken.add(unused.casefold())
        yield unused, thing


def _tables(
    names: Names, boards: Boards, every: Boards, published: Sequence[Published]
) -> Iterator[tuple[str, list[Part]]]:
    """File name → what stands in it, under its own name."""
    main = main_measure(names)
    for data in names.data:
        tables: list[Part] = [Heading(data), *report.letor_tables(boards, data, names.tool)]
        tables.append(report.board_table(every[BoardKey(data, names.tool, main)], per_fold=True))
        compared = agreement([board for place, board in every.items() if place.data == data])
        if compared is not None and len(compared.boards) > 1:
            tables.append(report.tools_table(compared))
        yield file_name(data), tables
    if len(names.data) > 1:
        yield "winning", [report.winning_table(winning_numbers(means_of(boards, names.tool)))]
    for data, table in report.published_tables(beside(boards, published, names.tool), names.tool):
        yield f"published-{file_name(data)}", [Heading(data), table]


def main_measure(names: Names) -> str:
    """The measure that stands for all."""
    return "NDCG@10" if "NDCG@10" in names.measures else names.measures[0]


def file_name(text: str) -> str:
    """A name that every file system takes.

    >>> file_name("MQ2008/a b")
    'MQ2008-a-b'
    """
    return re.sub(r"[^\w.-]+", "-", text)[:80].strip("-.") or "data"


@contextmanager
def figures_begun(
    gathered: Gathered, folder: Path, kinds: Sequence[str], convention: str | None = None
) -> Iterator[DrawingProcess]:
    """Every figure of the page under the first tool, drawn in each of the kinds by another process while this one goes
    on; `finish` waits for it.
    """
    with DrawingProcess(folder, kinds) as drawing:
        drawing.begin(list(unique(paper_figures(gathered, convention))))
        yield drawing


def paper_figures(gathered: Gathered, convention: str | None = None) -> Iterator[tuple[str, figures.Spec]]:
    """File name → figure with its rows."""
    results, names, convention = gathered.results, gathered.names, trained(gathered, convention)
    main = main_measure(names)
    lined = [m for m in names.measures if m.partition("@")[0] == main.partition("@")[0]]
    boards = {place: board for place, board in gathered.boards(convention).items() if place.measure in lined}
    for data in names.data:
        here = {place: board for place, board in boards.items() if place.data == data}
        by_measure = {m: here[place] for m in lined if (place := BoardKey(data, names.tool, m)) in here}
        by_tool = {t: here[place] for t in names.tools if (place := BoardKey(data, t, main)) in here}
        file, rankers = file_name(data), names.rankers
        yield f"{file}-curves", figures.curves(_curve_rows(by_measure), rankers, main.partition("@")[0])
        yield f"{file}-tools", figures.across(_tool_rows(by_tool), rankers, names.tools, "mean", main)
        yield f"{file}-places", figures.across(_tool_rows(by_tool), rankers, names.tools, "place", "place")
        yield f"{file}-agreement", figures.agreement(_agreement_rows(list(by_tool.values())), names.tools)
        board = by_measure[main]
        costs = costs_of(results, data, convention)
        yield f"{file}-time", figures.time_and_quality(_time_rows(board, costs), rankers, main)
        tops = importance_of(results, data, convention)
        best = next((s.ranker for s in board.standings if s.ranker in tops), None)
        if best is not None:
            rows = [{"feature": feature, "share": share} for feature, share in tops[best]]
            yield f"{file}-importance-{file_name(best)}", figures.importance(rows)
    if len(names.data) > 1:
        wins = _winning_rows(winning_numbers(means_of(boards, names.tool)))
        yield "winning", figures.curves(wins, names.rankers, "winning number", "wins")


def _cutoff(measure: str) -> int:
    return int(measure.partition("@")[2] or 0)


def _curve_rows(boards: Mapping[str, Leaderboard]) -> list[dict[str, Any]]:
    return [
        {"ranker": s.ranker, "cutoff": _cutoff(m), "measure": m, "mean": s.mean}
        for m, board in boards.items()
        for s in board.standings
    ]


def _tool_rows(boards: Mapping[str, Leaderboard]) -> list[dict[str, Any]]:
    return [
        {"ranker": s.ranker, "tool": tool, "mean": s.mean, "place": place}
        for tool, board in boards.items()
        for place, s in enumerate(board.standings, 1)
    ]


def _agreement_rows(boards: Sequence[Leaderboard]) -> list[dict[str, Any]]:
    compared = agreement(boards)
    if compared is None:
        return []
    names = [board.name for board in compared.boards]
    tau, tau_ap = (compared.agreement(c) for c in ("tau_b", "tau_ap_b"))
    return [
        {"row": a, "column": b, "tau_b": tau[i][j], "tau_ap_b": tau_ap[i][j]}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if tau[i][j] == tau[i][j]  # two leaderboards of ties have no correlation
    ]


def _time_rows(board: Leaderboard, costs: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    return [
        {"ranker": s.ranker, "seconds": costs[s.ranker]["select_seconds"], "mean": s.mean,
         "memory": costs[s.ranker]["peak_bytes"]}
        for s in board.standings if s.ranker in costs
    ]  # fmt: skip


def _winning_rows(winnings: Sequence[Winning]) -> list[dict[str, Any]]:
    return [
        {"ranker": w.ranker, "cutoff": _cutoff(w.measure), "measure": w.measure, "wins": w.wins}
        for w in winnings
        if w.pairs
    ]


def write_study_figures(studies: Sequence[Study], folder: Path) -> list[Path]:
    """Draw the figures of studies; the files written."""
    written: list[Path] = []
    named = ((f"{file_name(s.data)}-{name}", spec) for s in studies for name, spec in study_figures(s).items())
    for name, spec in unique(named):
        paths = {kind: folder / f"{name}.{kind}" for kind in ("svg", "png")}
        write_drawings(paths, spec)
        written += paths.values()
    return written


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as out:
        out.write(content.encode())
