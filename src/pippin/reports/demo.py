"""Data that every machine has: `pippin.demo` benchmarks all rankers, `pippin.synthetic` shows how tools disagree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.benchmarks.bench import bench
from pippin.benchmarks.leaderboard import datasets_of, leaderboards, tool_means, winning_numbers
from pippin.benchmarks.runner import BenchResult
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor, write_scores
from pippin.data.synthetic import make_dataset, make_scores
from pippin.display.tables import Heading, Paragraph, Renderable, Table, format_number
from pippin.evaluation.evaluate import check_measures
from pippin.evaluation.evaluation import evaluate_tool
from pippin.evaluation.tools import tools_in_group
from pippin.reports.leaderboard import Boards, gap_notes, letor_tables, record, winning_table
from pippin.reports.report import report

ABOUT = ("Python's own standard library as pages to search, in three tasks: find the home page of a module (HP), a "
         "page by its name (NP), all pages on a topic (TD); 64 features, 5 folds.")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo computed: benchmark results, leaderboards and the page."""

    result: BenchResult
    boards: Boards
    page: Path

    def to_dict(self) -> dict[str, Any]:
        """Return folder, page and leaderboards as JSON holds them."""
        boards = [record(board) for board in self.boards.values()]
        return {"results": str(self.result.results.path), "page": str(self.page), "boards": boards}

    def parts(self) -> list[Renderable]:
        """Return the leaderboards as tables, and where the page is."""
        parts: list[Renderable] = []
        for data in datasets_of(self.boards):
            tables = letor_tables(self.boards, data, "official")
            parts += [Heading(data), tables[0]]
        parts += [Paragraph(note) for note in tables[-1].notes if len(tables) > 1]
        parts += [Heading("Over all three"), winning_table(winning_numbers(tool_means(self.boards, "official")))]
        parts += [Paragraph(note) for note in gap_notes(self.boards.values())]
        folder = self.result.results.path
        return [*parts, Paragraph(f"The page: {self.page}"),
                Paragraph(f"The same in full: pippin leaderboard {folder}; pippin report {folder}")]  # fmt: skip


def demo(
    out: str | os.PathLike[str] = "pippin-demo",
    *,
    sample: int = 60,
    ranker: str | Sequence[str] = "all",
    full: bool = False,
    jobs: int | None = None,
    verbose: bool = False,
) -> Demo:
    """Benchmark rankers on three data sets built from the documentation of Python's standard library.

    Parameters
    ----------
    out : path, default "pippin-demo"
        Folder of the results and the page, new or to continue.
    sample : int, default 60
        Documents per query.
    ranker : str or sequence of str, default "all"
        Rankers to train.
    full : bool, default False
        Use whole grids and all rounds, which takes an hour.
    jobs : int, default one per core
        Number of parallel jobs.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    Demo
        The benchmark's result, its leaderboards and the path of the page.

    Examples
    --------
    >>> demonstration = demo("pippin-demo", ranker=["best-feature", "regression"])  # doctest: +SKIP
    >>> demonstration.page.name  # doctest: +SKIP
    'index.html'
    """
    result = bench("stdlib", out, sample=sample, ranker=ranker, quick=not full, jobs=jobs, command="pippin demo",
                   verbose=verbose)  # fmt: skip
    title = "The rankers on Python's standard library"
    (page,) = report(result.results, Path(out) / "report", page=True, title=title, verbose=verbose)
    return Demo(result, leaderboards(result.results), page.resolve())


@dataclass(frozen=True, eq=False)
class SyntheticEvaluation:
    """A synthetic data set, and the means of two scorers under every tool: a record per tool and measure."""

    data: Dataset
    counts: dict[str, int]
    results: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the data set, its counts and the results as JSON holds them."""
        return {"data": str(self.data), "counts": self.counts, "results": self.results}

    def parts(self) -> list[Renderable]:
        """Return the data set in a sentence, and a table with a row per tool and measure."""
        counts = self.counts
        measures = list(dict.fromkeys(row["measure"] for row in self.results))
        has_measures = len(measures) > 1
        scorers = list(self.results[0]["means"])
        rows = [
            [row["tool"], row["title"], *([row["measure"]] if has_measures else []),
             *(format_number(mean, 4) for mean in row["means"].values()), row["winner"]]
            for row in self.results
        ]  # fmt: skip
        headers = ["tool", "what it is", *(["measure"] if has_measures else []), *scorers, "winner"]
        names = len(headers) - len(scorers) - 1
        best = {(i, names + scorers.index(row["winner"])) for i, row in enumerate(self.results)}
        notes = [
            f"{counts['queries']} queries: {counts['empty']} without a relevant document, {counts['short']} shorter "
            f"than {counts['cutoff']} documents.",
            "The two scorers are nearly equal, and `coarse` has many ties, so the winner depends on the tool.",
            f"One ranking, one name ({', '.join(measures)}), {len({row['tool'] for row in self.results})} tools: "
            "`pippin tools` lists their conventions.",
        ]
        return [
            Paragraph(str(self.data)),
            Table(headers, rows, text_columns=names, trailing_text=1, notes=notes, highlighted=best),
        ]


def synthetic(
    size: int = 200, *, seed: int = 1, measure: str | Sequence[str] = "NDCG@10",
    out: str | os.PathLike[str] | None = None,
) -> SyntheticEvaluation:  # fmt: skip
    """Make a small data set on which tools disagree, and evaluate two scorers under the classic tools.

    Parameters
    ----------
    size : int, default 200
        Number of queries.
    seed : int, default 1
        Random seed.
    measure : str or sequence of str, default "NDCG@10"
        Measures.
    out : path, optional
        Folder to write the data set (``test.txt``) and a score file per scorer into.

    Returns
    -------
    SyntheticEvaluation
        The data set, its counts, and the means of both scorers under every tool.

    Examples
    --------
    >>> result = synthetic(50)
    >>> result.results[0]["tool"], sorted(result.results[0]["means"])
    ('official', ['coarse', 'fine'])
    """
    measures = [measure] if isinstance(measure, str) else list(measure)
    check_measures(measures)
    data = make_dataset(queries=size, seed=seed)
    scorers = make_scores(data, seed=seed)
    if out is not None:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        write_letor(data, folder / "test.txt")
        for name, scores in scorers.items():
            write_scores(scores, folder / f"{name}.txt")
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for tool in tools_in_group("classic"):
        results = {name: evaluate_tool(data, scores, measures, tool, {}, name) for name, scores in scorers.items()}
        counts = next(iter(results.values())).counts
        for name in measures:
            means = {scorer: result.mean[name] for scorer, result in results.items()}
            winner = max(means, key=means.__getitem__)
            rows.append({"tool": tool.name, "title": tool.title, "measure": name, "means": means, "winner": winner})
    return SyntheticEvaluation(data, counts, rows)
