"""Data and findings behind the page of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.leaderboard import (
    MEASURE,
    Leaderboard,
    LeaderboardKey,
    agreement,
    leaderboards,
    tool_means,
    winning_numbers,
)
from pippin.benchmarks.published import PublishedValue, match_published
from pippin.benchmarks.tables import distinct, encode, group_rows, rows_with, select_rows, split_rows, to_numbers
from pippin.errors import DataError
from pippin.reports.page_arrays import (
    Names,
    ScoreTable,
    cluster_tools,
    encode_array,
    encode_json,
    encode_panel,
    page_names,
)
from pippin.reports.stored_rankings import explain_tools, top_documents

if TYPE_CHECKING:
    from pyarrow import Table

    from pippin.benchmarks.store import Results
    from pippin.evaluation.compare import Comparison


Boards = Mapping[LeaderboardKey, Leaderboard]
Step = Callable[[str], None]
_MAX_FEATURES = 20  # per ranker
_CLUSTER_MEASURES = ("NDCG@10", "MAP", "P@10")  # measures whose agreement orders the tools


class BenchmarkData:
    """Benchmark results with their names, and leaderboards that are computed and tested once."""

    def __init__(self, results: Results) -> None:
        self.results, self.names = results, result_names(results)
        if not self.names.tools:
            raise DataError(describe_empty_results(results), results.path)
        self._boards: dict[str, Boards] = {}
        self._comparisons: dict[tuple[str, str, str], Comparison | None] = {}

    def boards(self, convention: str) -> Boards:
        """Return the leaderboards of rankers trained under a convention."""
        if convention not in self._boards:
            names = self.names
            self._boards[convention] = leaderboards(
                self.results, tools=names.tools, measures=names.measures, convention=convention
            )
        return self._boards[convention]

    def comparison(self, convention: str, data: str, measure: str) -> Comparison | None:
        """Return the comparison of all tools on a data set and measure; None with fewer than two leaderboards."""
        key = convention, data, measure
        if key not in self._comparisons:
            boards = self.boards(convention)
            by_tool = [boards[p] for t in self.names.tools if (p := LeaderboardKey(data, t, measure)) in boards]
            self._comparisons[key] = agreement(by_tool)
        return self._comparisons[key]

    def ordered_names(self) -> Names:
        """Return the names, with tools whose leaderboards agree next to each other."""
        names, tables = self.names, []
        measures = [m for m in _CLUSTER_MEASURES if m in names.measures] or list(names.measures[:1])
        for convention in names.conventions[:1]:
            for data in names.data:
                for measure in measures:
                    table = np.full((len(names.tools), len(names.tools)), np.nan)
                    comparison = self.comparison(convention, data, measure)
                    if comparison is not None:
                        rows = [names.tools.index(b.name) for b in comparison.boards]
                        table[np.ix_(rows, rows)] = comparison.agreement("tau_b")
                    tables.append(table)
        tools = cluster_tools(names.tools, tables, names.tool)
        return Names(names.data, tools, names.measures, names.rankers, names.conventions)


def result_names(results: Results) -> Names:
    """Return the names in results: tools and measures in their registered order, others by name."""
    from pippin.evaluation.tools import TOOLS

    means, failures = results.means(), results.failures()
    names = set(distinct(means, "tool"))
    tools = [t for t in TOOLS if t in names] + sorted(t for t in names if t not in TOOLS)
    measures = sorted(distinct(means, "measure"), key=measure_order)
    both = {c: tuple(sorted({*distinct(means, c), *distinct(failures, c)})) for c in ("data", "ranker", "convention")}
    return Names(both["data"], tuple(tools), tuple(measures), both["ranker"], both["convention"])


def describe_empty_results(results: Results) -> str:
    """Return why there is nothing to show, with the reason of the first failure."""
    failures = results.failures()
    if not len(failures):
        return "nothing to report: no cell of these results is computed yet"
    data, fold, ranker, *_, reason = failures.slice(0, 1).to_pylist()[0].values()
    return (f"nothing to report: all {len(failures)} cells of these results failed; "
            f"{ranker} on {data} {fold}: {reason}")  # fmt: skip


def measure_order(measure: str) -> tuple[int, str, int]:
    """Sort NDCG first, then P, MAP, others; by cutoff.

    >>> sorted(["MAP", "P@1", "NDCG@10", "NDCG@5"], key=measure_order)
    ['NDCG@5', 'NDCG@10', 'P@1', 'MAP']
    """
    family, _, cutoff = measure.partition("@")
    order = ("NDCG", "P", "MAP", "MRR", "ERR")
    return (order.index(family) if family in order else len(order), family, int(cutoff or 0))


def bench_data(
    benchmark: BenchmarkData, published: Sequence[PublishedValue] = (), step: Step = lambda _: None
) -> dict[str, Any]:  # fmt: skip
    """Return the data of the page as a JSON record."""
    names = benchmark.ordered_names()
    boards = {c: benchmark.boards(c) for c in names.conventions}
    first = next(iter(boards[names.conventions[0]].values()))
    return {
        "noun": "ranker",
        **page_names(names),
        "alpha": first.plan.alpha,
        "without_lists": WITHOUT_LISTS,
        "panels": {c: {d: _panel(benchmark, names, c, d, published, step) for d in names.data}
                   for c in names.conventions},
        "overall": {c: _overall(names, boards[c]) for c in names.conventions} if len(names.data) > 1 else {},
    }  # fmt: skip


WITHOUT_LISTS = (
    "The ranked lists of a query are missing, because the data were moved or deleted. Run the same `pippin bench` into "
    "the same folder to restore them."
)


def _panel(
    benchmark: BenchmarkData, names: Names, convention: str, data: str, published: Sequence[PublishedValue], step: Step
) -> dict[str, Any]:
    """Return the data of one data set under one training convention."""
    results = benchmark.results
    boards = {key: board for key, board in benchmark.boards(convention).items() if key.data == data}
    first = next(iter(boards.values()))
    tables = {(key.tool, key.measure): score_table_of(board) for key, board in boards.items()}
    by_measure = [
        [boards[key] for t in names.tools if (key := LeaderboardKey(data, t, m)) in boards] for m in names.measures
    ]
    importance = importance_of(results, data, convention)
    main = tables.get((names.tool, "NDCG@10")) or tables.get((names.tool, names.measures[0]))
    leading = [] if main is None else list(main.means)
    comparisons = []
    for measure in names.measures:
        comparisons.append(benchmark.comparison(convention, data, measure))
        step(measure)
    return {
        "folds": first.folds,
        "gaps": [{"ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason} for g in first.gaps],
        **encode_panel(names, tables, comparisons, len(first.query_keys), len(first.folds)),
        "queries": [query for _, query in first.query_keys],
        "fold_of": [first.folds.index(fold) for fold, _ in first.query_keys],
        "findings": encode_json([[finding(tools, t) if tools else "" for t in names.tools] for tools in by_measure]),
        "costs": costs_of(results, data, convention),
        "importance": importance,
        "chosen": _selected_parameters(results, data, convention),
        "published": _published_values(boards, published, names.tool),
        "ceiling": _ceiling(results, boards, data, names.tool),
        **explain_tools(results, names, convention, data, first.query_keys, leading),
        **top_documents(results, names, convention, data, first.query_keys, importance),
    }  # fmt: skip


def score_table_of(board: Leaderboard) -> ScoreTable:
    """Return a leaderboard as the page encodes it."""
    return ScoreTable(
        board.tool, board.measure, {s.ranker: s.mean for s in board.standings},
        {s.ranker: (s.low, s.high) for s in board.standings}, board.board, board.rankers, board.values,
        {s.ranker: [s.by_fold[fold] for fold in board.folds] for s in board.standings},
    )  # fmt: skip


def _ceiling(results: Results, boards: Boards, data: str, tool: str) -> dict[str, Any] | None:
    """Return what the sample of a built data set lost and its upper bounds; None for other data."""
    ceiling = results.ceilings().get(data)
    return None if ceiling is None else ceiling.to_dict(boards.get(LeaderboardKey(data, tool, MEASURE)))


def _under(table: Table, data: str, convention: str) -> Table:
    """Return the rows of a data set under a training convention; of a ranker without convention, its only rows."""
    import pyarrow

    rows = select_rows(table, data=data)
    trained = select_rows(rows, convention=convention)
    return pyarrow.concat_tables([trained, rows.filter(~rows_with(rows, "ranker", distinct(trained, "ranker")))])


def _overall(names: Names, boards: Boards) -> dict[str, Any]:
    """Return means, winning numbers and findings over all data sets."""
    shape = (len(names.tools), len(names.measures), len(names.rankers))
    means, wins, pairs = np.full(shape, np.nan), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for t, tool in enumerate(names.tools):
        table = tool_means(boards, tool)
        for winning in winning_numbers(table):
            index = t, names.measures.index(winning.measure), names.rankers.index(winning.ranker)
            wins[index], pairs[index] = winning.wins, winning.pairs
        for (measure, ranker), part in split_rows(table, "measure", "ranker").items():
            if len(part) == len(names.data):
                means[t, names.measures.index(measure), names.rankers.index(ranker)] = to_numbers(part, "value").mean()
    sentences = []
    for i, measure in enumerate(names.measures):
        by_tool = [[b for d in names.data if (b := boards.get(LeaderboardKey(d, t, measure)))] for t in names.tools]
        sentences.append([
            overall_finding(tool_boards, names.rankers, wins[t, i], pairs[t, i], means[t, i]) if tool_boards else ""
            for t, tool_boards in enumerate(by_tool)
        ])  # fmt: skip
    return {
        "means": encode_array(means),
        "wins": encode_array(wins),
        "pairs": encode_array(pairs),
        "findings": encode_json(sentences),
    }


def costs_of(results: Results, data: str, convention: str) -> dict[str, dict[str, float]]:
    """Return ranker → mean seconds of a fold, and peak memory."""
    columns = ("select_seconds", "train_seconds", "predict_seconds")
    by_ranker = sorted(
        split_rows(_under(results.costs(), data, convention), "ranker").items(), key=lambda item: item[0]
    )
    return {
        ranker: {
            **{column: _mean(to_numbers(part, column)) for column in columns},
            "peak_bytes": to_numbers(part, "peak_bytes").max().item(),
        }
        for (ranker,), part in by_ranker
    }


def _mean(values: NDArray[np.float64]) -> float:
    measured = values[~np.isnan(values)]
    return float(measured.mean()) if len(measured) else math.nan


def importance_of(results: Results, data: str, convention: str) -> dict[str, list[tuple[str, float]]]:
    """Return ranker → its top features and their shares: the mean over folds and seeds of |importance| / Σ."""
    rows = _under(results.importances(), data, convention)
    _, cell = group_rows(rows, "fold", "ranker", "seed")
    size = np.abs(to_numbers(rows, "importance"))
    total = np.bincount(cell, size)[cell]
    is_defined = np.isfinite(total) & (total > 0)
    share = np.divide(size, total, out=np.zeros(len(size)), where=is_defined)
    shares = rows.append_column("share", [share]).filter(is_defined)
    tops: dict[str, list[tuple[str, float]]] = {}
    for (ranker,), part in sorted(split_rows(shares, "ranker").items(), key=lambda item: item[0]):
        cells = len(group_rows(part, "fold", "seed")[0])
        features, feature = encode(part, "feature")
        means = np.bincount(feature, to_numbers(part, "share")) / cells
        ranked = sorted(zip((-means).tolist(), features, strict=True))
        tops[ranker] = [(name, round(-share, 6)) for share, name in ranked[:_MAX_FEATURES] if share < 0]
    return tops


def _selected_parameters(results: Results, data: str, convention: str) -> dict[str, dict[str, list[str]]]:
    """Return ranker → fold → the parameters selected on validation, a text per seed."""
    cells = [cell.record for cell in results.cells if cell.record["data"] == data]
    trained = {c["ranker"] for c in cells if c["convention"] == convention}
    settings: dict[str, dict[str, list[str]]] = {}
    for c in cells:
        if c["convention"] == convention or c["ranker"] not in trained:
            text = parameters_text(c["selected"]["parameters"])
            settings.setdefault(c["ranker"], {}).setdefault(c["fold"], []).append(text)
    return settings


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Return parameters as text.

    >>> parameters_text({"C": 0.1, "depth": 3}), parameters_text({})
    ('C 0.1, depth 3', 'defaults')
    """
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or "defaults"


def _published_values(
    boards: Boards, published: Sequence[PublishedValue], tool: str
) -> dict[str, list[tuple[str, str, float]]]:
    """Return measure → (our ranker, the published algorithm, its value)."""
    by_measure: dict[str, list[tuple[str, str, float]]] = {}
    for pair in match_published(boards, published, tool):
        value = pair.published
        if value.ranker is not None:
            by_measure.setdefault(value.measure, []).append((value.ranker, value.algorithm, value.value))
    return by_measure


def finding(boards: Sequence[Leaderboard], first: str) -> str:
    """Return who wins under the tool `first`, how significantly, and whether other tools have other winners."""
    complete = [b for b in boards if b.best is not None]
    if not complete:
        return f"No ranker has all its cells on {boards[0].data}."
    board = next((b for b in complete if b.tool == first), complete[0])
    winners = {b.tool: b.best for b in complete if b is not board}
    return f"{_winner(board)} {disagreement(board.best, winners)}".rstrip()


def _winner(board: Leaderboard) -> str:
    tied = [s.ranker for s in board.standings[1:] if not board.is_worse_than_best(s.ranker)]
    n_others = len(board.standings) - 1
    is_tested = board.board is not None
    return f"On {board.data}, " + significance_sentence(
        str(board.best), board.standings[0].mean, tied, n_others, f"{board.measure} under {board.tool}", is_tested
    )


def significance_sentence(
    best: str, mean: float, tied: Sequence[str], n_others: int, measure: str, is_tested: bool = True
) -> str:
    """Return whether the best system is significantly better than the others; `tied` are those where it is not.

    >>> significance_sentence("a", 0.5, [], 2, "MAP under official")
    'a is significantly better than all 2 others by MAP under official (0.5000).'
    >>> significance_sentence("a", 0.5, ["b"], 3, "MAP under official")
    'a is significantly better than 2 of 3 others by MAP under official (0.5000), but not than b.'
    >>> significance_sentence("a", 0.5, ["b"], 1, "MAP under official")
    'no significant difference: a has the highest MAP under official (0.5000), b is not significantly worse.'
    """
    value = f" ({mean:.4f})" if math.isfinite(mean) else ""
    if not n_others:
        return f"{best} is the only one, with {measure}{value}."
    if not is_tested:
        return f"{best} has the highest {measure}{value}; a test needs two systems and two queries."
    if not tied:
        other_rankers = f"all {n_others} others" if n_others > 1 else "the other"
        return f"{best} is significantly better than {other_rankers} by {measure}{value}."
    names = _join_some(tied)
    if len(tied) == n_others:
        are = "is" if len(tied) == 1 else "are"
        start = f"no significant difference: {best} has the highest {measure}{value}"
        return f"{start}, {names} {are} not significantly worse."
    n_worse = n_others - len(tied)
    return (
        f"{best} is significantly better than {n_worse} of {n_others} others by {measure}{value}, but not than {names}."
    )


def disagreement(best: str | None, best_by_tool: Mapping[str, str | None]) -> str:
    """Return how many other tools rank the same system first, and which rank another first."""
    if not best_by_tool:
        return ""
    tools_by_winner: dict[str, list[str]] = {}
    for tool, winner in best_by_tool.items():
        tools_by_winner.setdefault(winner or "", []).append(tool)
    agreeing = tools_by_winner.pop(best or "", [])
    n_tools = len(best_by_tool) + 1
    if not tools_by_winner:
        return f"All {n_tools} tools rank it first."
    parts = [f"{_join_some(tools)} rank{'s' * (len(tools) == 1)} {s} first" for s, tools in tools_by_winner.items()]
    start = f"{len(agreeing) + 1} of {n_tools} tools agree; " if agreeing else "No other tool agrees: "
    return f"{start}{'; '.join(parts)}."


def _join_some(names: Sequence[str], limit: int = 4) -> str:
    """Join names; of more than the limit, the first ones and a count."""
    if len(names) <= limit:
        return join_names(names)
    return f"{', '.join(names[: limit - 1])} and {len(names) - limit + 1} more"


def overall_finding(
    boards: Sequence[Leaderboard], rankers: Sequence[str], wins: NDArray[np.int32], pairs: NDArray[np.int32],
    means: NDArray[np.float64],
) -> str:  # fmt: skip
    """Return who wins most comparisons over all data sets, and who leads on each; a board per data set.

    Rankers are ordered by winning number, then by mean, as in the table of the page.
    """
    measure, tool, sets = boards[0].measure, boards[0].tool, len(boards)
    ranked = [i for i in range(len(rankers)) if not np.isnan(means[i])]
    if not ranked or int(max(wins[i] for i in ranked)) == 0:
        return f"No ranker is better than another by {measure} under {tool}."
    first = min(ranked, key=lambda i: (-wins[i], -means[i], i))
    most = int(wins[first])
    tied = [rankers[i] for i in ranked if i != first and wins[i] == most]
    also = f" (as many as {join_names(tied)}, with a higher mean)" if tied else ""
    leads = "; ".join(f"on {b.data} {b.best} leads with {b.standings[0].mean:.4f}" for b in boards if b.best)
    summary = (f"Over {sets} data sets by {measure} under {tool}, {rankers[first]} wins most comparisons: {most} of "
               f"{int(pairs[first])}{also}.")  # fmt: skip
    return f"{summary} {leads[:1].upper()}{leads[1:]}."


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
