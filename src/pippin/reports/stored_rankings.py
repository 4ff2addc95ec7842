"""Explain tool differences and list top documents from the stored scores of a benchmark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.tables import split_rows, to_numbers
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import AXES
from pippin.evaluation.evaluation import RankingCache
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.measures.notation import parse
from pippin.evaluation.reconcile import Reconciliation, reconcile_rankings
from pippin.evaluation.tools import TOOLS
from pippin.reports.page_arrays import Names, encode_array, encode_json

if TYPE_CHECKING:
    from pippin.benchmarks.records import Cell
    from pippin.benchmarks.store import Results
    from pippin.data.folds import Folds


_MAX_RANKERS = 4  # rankers whose differences between tools are explained
MAX_QUERIES = 5  # queries that are named for each axis
_PREFERRED_CUTOFF = 10
_MAX_RANK = 10  # documents of a ranked list
_MAX_FEATURES = 10  # features of a document
_MAX_SNIPPET = 120  # characters of a document's text
_MAX_LISTS = 1000  # queries of a data set; the lists of further ones are left out
_FEATURE_STEPS = 250  # whole numbers between the lowest and the highest value of a feature in a list
Keys = Sequence[tuple[str, str]]  # fold and id of queries


def explain_tools(
    results: Results, names: Names, convention: str, data: str, keys: Keys, leading: Sequence[str]
) -> dict[str, Any]:
    """Return `reconcile`: the labels of axes, and by measure and ranker the explanations of tools."""
    if names.tool not in TOOLS or len(names.tools) < 2:
        return {"reconcile": None}
    number = {key: i for i, key in enumerate(keys)}
    by_ranker = {r: cells for r, cells in cells_of(results, convention, data).items() if r in leading[:_MAX_RANKERS]}
    by_measure: dict[str, dict[str, Any]] = {m: {} for m in main_measures(names.measures)}
    for ranker, cells in by_ranker.items():
        rankings = {fold: _rankings(cell) for fold, cell in cells.items()}
        for measure, tables in by_measure.items():
            table = _explanations(rankings, names, measure, number)
            if table["explanations"]:
                tables[ranker] = table
    return {
        "reconcile": encode_json({"axes": {name: axis.label for name, axis in AXES.items()}, "measures": by_measure})
    }


def main_measures(measures: Sequence[str]) -> list[str]:
    """Return one measure of every family: the largest cutoff up to 10, else the smallest.

    >>> main_measures(["NDCG@1", "NDCG@10", "NDCG@20", "P@5", "MAP"])
    ['NDCG@10', 'P@5', 'MAP']
    """
    best: dict[str, tuple[bool, int, str]] = {}
    for measure in measures:
        family, _, cutoff = measure.partition("@")
        size = int(cutoff or 0)
        rank = (size <= _PREFERRED_CUTOFF, size if size <= _PREFERRED_CUTOFF else -size, measure)
        best[family] = max(best.get(family, rank), rank)
    return [measure for *_, measure in best.values()]


def cells_of(results: Results, convention: str, data: str) -> dict[str, dict[str, Cell]]:
    """Return ranker → fold → first cell under the convention, or the only cell of a ranker without one."""
    cells: dict[str, dict[str, Cell]] = {}
    data_cells = [cell for cell in results.cells if cell.key[0] == data]
    trained = {cell.key[2] for cell in data_cells if cell.key[3] == convention}
    for cell in data_cells:
        _, fold, ranker, cell_convention, _ = cell.key
        if cell_convention == convention or ranker not in trained:
            cells.setdefault(ranker, {}).setdefault(fold, cell)
    return cells


def _rankings(cell: Cell) -> RankingCache:
    """Return the rankings of a cell's test part, without features."""
    from pippin.data.dataset import Dataset
    from pippin.kernels.strings import StringColumn

    scores = cell.scores()
    queries = scores["query"].to_pylist()
    starts = [i for i, query in enumerate(queries) if not i or query != queries[i - 1]]
    ids = scores["document"].to_pylist()
    documents = StringColumn.of(ids) if ids and ids[0] is not None else None
    test = Dataset(
        np.zeros((len(queries), 1), np.float32), scores["label"].to_numpy().astype(np.int32),
        np.array([*starts, len(queries)], np.int64), tuple(queries[i] for i in starts), documents,
    )  # fmt: skip
    return RankingCache(test, np.ascontiguousarray(scores["score"].to_numpy(), np.float64))


def _explanations(
    rankings: dict[str, RankingCache], names: Names, measure: str, number: dict[tuple[str, str], int]
) -> Any:
    """Return the distinct explanations, and the index of each tool's (−1: none)."""
    parsed, base = parse(measure), TOOLS[names.tool]
    axes = [axis for axis in AXES if axis == "empty" or MEASURE_DEFINITIONS[parsed.kind].depends_on(axis)]
    explanation_of: list[int] = []
    explanations: list[list[Any]] = []
    index_of: dict[Any, int] = {}  # choices on the axes → index of the explanation
    for name in names.tools:
        if name not in TOOLS or name == base.name:
            explanation_of.append(-1)
            continue
        tool = TOOLS[name]
        convention = tool.convention_for(parsed)
        choices = tuple(getattr(convention, axis) for axis in axes)
        if choices not in index_of:
            try:
                parts = {fold: reconcile_rankings(cache, measure, base, tool) for fold, cache in rankings.items()}
                explanations.append(_average_folds(parts, number))
                index_of[choices] = len(explanations) - 1
            except ConventionError:
                index_of[choices] = -1
        explanation_of.append(index_of[choices])
    return {"explanation_of": explanation_of, "explanations": explanations}


def _average_folds(parts: dict[str, Reconciliation], number: dict[tuple[str, str], int]) -> list[Any]:
    """Return axis, contribution, evidence and largest queries of the mean over folds.

    The axis `printed_digits` is left out, because the page does not round its numbers.
    """
    shares: dict[str, float] = {}
    facts: dict[str, list[str]] = {}
    queries: dict[str, dict[int, float]] = {}
    for fold, reconciliation in parts.items():
        for share in (s for s in reconciliation.contributions if s.axis != "printed_digits"):
            shares[share.axis] = shares.get(share.axis, 0.0) + share.value / len(parts)
            facts.setdefault(share.axis, []).append(share.evidence)
            by_query = queries.setdefault(share.axis, {})
            for query, value in reconciliation.top_queries(share, MAX_QUERIES):
                if (fold, query) in number:
                    by_query[number[fold, query]] = value / len(parts)
    order = sorted((axis for axis, value in shares.items() if abs(value) >= 5e-7), key=lambda a: -abs(shares[a]))
    return [(axis, shares[axis], merge_facts(facts[axis]), _largest(queries[axis])) for axis in order]


def _largest(by_query: dict[int, float]) -> list[tuple[int, float]]:
    return sorted(((q, round(v, 6)) for q, v in by_query.items()), key=lambda item: -abs(item[1]))[:MAX_QUERIES]


def merge_facts(facts: Sequence[str]) -> str:
    """Merge the evidence of several folds: add the counts of equal sentences.

    >>> merge_facts(["3 of 17 queries have ties", "4 of 18 queries have ties"]), merge_facts(["a → b", "a → b"])
    ('7 of 35 queries have ties', 'a → b')
    """
    patterns = {re.sub(r"\d+", "#", fact) for fact in facts}
    if len(patterns) > 1:
        return facts[0]
    counts = [[int(n) for n in re.findall(r"\d+", fact)] for fact in facts]
    pattern = patterns.pop()
    count_match = re.match(r"#( of #)? ", pattern)
    if count_match is None:
        return facts[0]
    n_summed = 2 if count_match.group(1) else 1
    sums = [sum(values) if i < n_summed else values[0] for i, values in enumerate(zip(*counts, strict=True))]
    numbers = iter(sums)
    return re.sub("#", lambda _: str(next(numbers)), pattern)


Importance = Mapping[str, Sequence[tuple[str, float]]]


def top_documents(
    results: Results, names: Names, convention: str, data: str, keys: Keys, importance: Importance
) -> dict[str, Any]:
    """Return `detail_…`: the top ten documents of all rankers with their ranks, and the texts of queries."""
    cells = cells_of(results, convention, data)
    location = results.locations().get(data, {})
    lists = _Lists(names, keys, _open_folds(results, location, cells))
    for ranker, folds in cells.items():
        for fold, cell in folds.items():
            lists.add(ranker, fold, cell)
    features = leading_features(importance)
    texts = _read_texts(results, location)
    return {
        "query_texts": encode_json([texts.queries.get(query, "") for _, query in keys]) if texts.queries else None,
        **lists.encode(texts, features),
    }


def leading_features(importance: Importance) -> list[str]:
    """Return the features with the largest importance for any ranker.

    >>> leading_features({"a": [("x", 0.2), ("y", 0.1)], "b": [("y", 0.5)]})
    ['y', 'x']
    """
    most: dict[str, float] = {}
    for top in importance.values():
        for feature, share in top:
            most[feature] = max(most.get(feature, 0.0), share)
    return sorted(most, key=lambda f: (-most[f], f))[:_MAX_FEATURES]


@dataclass(frozen=True)
class _Texts:
    queries: Mapping[str, str]
    documents: Mapping[str, tuple[str, str]]  # title and snippet


def _read_texts(results: Results, location: Mapping[str, str]) -> _Texts:
    """Return the texts of queries and documents of a built data set; none for other data."""
    from pippin.collections.text.snippets import PREVIEWS, read_previews

    previews = read_previews(results.path / location["built"] / PREVIEWS) if "built" in location else None
    return _Texts({}, {}) if previews is None else _Texts(*previews)


def _open_folds(results: Results, location: Mapping[str, str], cells: Mapping[str, Mapping[str, Cell]]) -> Folds | None:
    """Return the folds that the cells were tested on; None if they were deleted or have changed."""
    from pippin.data.store import is_fold_store, open_fold_store

    if "store" not in location or not cells:
        return None
    store = results.path / Path(location["store"])
    try:
        folds = open_fold_store(store) if is_fold_store(store) else None
    except DataError:
        return None
    tested = next(iter(cells.values()))
    if folds is None or any(f not in folds.queries or folds.digest(f, "test") != c.record["digests"]["test"]
                            for f, c in tested.items()):  # fmt: skip
        return None
    return folds


def _rows_of(folds: Folds) -> dict[tuple[str, str], int]:
    """Return the row in the data of every test query, by fold and id."""
    ids = folds.statistics.query_ids
    return {
        (fold, ids.get(row, folds.data.query_ids[row])): row
        for fold, parts in folds.queries.items()
        for row in parts["test"].tolist()
    }


class _Lists:
    """The top documents of every query, added cell by cell."""

    def __init__(self, names: Names, keys: Keys, folds: Folds | None) -> None:
        self.names, self.keys, self.folds = names, keys, folds
        self.number = {key: i for i, key in enumerate(keys[:_MAX_LISTS])}
        self.rows = {} if folds is None else _rows_of(folds)
        self.ranks: dict[int, dict[str, NDArray[np.int64]]] = {}  # query → ranker → rank of every document
        self.labels: dict[int, NDArray[np.int32]] = {}
        self.ids: dict[int, list[str]] = {}

    def add(self, ranker: str, fold: str, cell: Cell) -> None:
        """Add the ranks of a ranker for the queries of a fold."""
        scores = cell.scores()
        for (query,), rows in split_rows(scores, "query").items():
            number = self.number.get((fold, str(query)))
            if number is None:
                continue
            order = np.argsort(-to_numbers(rows, "score"), kind="stable")
            ranks = np.empty(len(order), np.int64)
            ranks[order] = np.arange(1, len(order) + 1)
            self.ranks.setdefault(number, {})[ranker] = ranks
            if number not in self.ids:
                self.labels[number] = to_numbers(rows, "label")
                self.ids[number] = [name or f"document {i}" for i, name in enumerate(rows["document"].to_pylist(), 1)]

    def encode(self, texts: _Texts, features: Sequence[str]) -> dict[str, Any]:
        """Return the arrays of the page."""
        if not self.ranks or (self.folds is None and not texts.documents):
            return {"detail_ranks": None}
        ids: dict[str, int] = {}
        starts, documents, labels, columns, values = [0], [], [], [], []
        available = [f for f in features if self.folds is not None and f in self.folds.data.feature_names]
        for number in range(len(self.keys)):
            top = self._top_rows(number)
            for row in top:
                documents.append(ids.setdefault(self.ids[number][row], len(ids)))
                labels.append(min(255, max(0, int(self.labels[number][row]))))
                columns.append([self._rank(number, ranker, row) for ranker in self.names.rankers])
            if available and len(top):
                values.append(self._features(number, available)[top])
            starts.append(len(documents))
        record: dict[str, Any] = {"ids": list(ids), "features": available, "titles": None, "snippets": None}
        if texts.documents:
            both = [texts.documents.get(name, ("", "")) for name in ids]
            record |= {
                "titles": [title for title, _ in both],
                "snippets": [snippet[:_MAX_SNIPPET] for _, snippet in both],
            }
        ranks = np.array(columns, np.int64).reshape(-1, len(self.names.rankers)).T
        return {
            "detail_starts": encode_array(np.array(starts, np.int32)),
            "detail_documents": encode_array(np.array(documents, np.int32)),
            "detail_labels": encode_array(np.array(labels, np.uint8)), "detail_texts": encode_json(record),
            "detail_ranks": encode_array(ranks.astype(np.uint8 if ranks.max(initial=0) < 256 else np.uint16)),
            "detail_features": encode_array(np.concatenate(values) if values else np.zeros((0, 0), np.uint8)),
        }  # fmt: skip

    def _top_rows(self, number: int) -> NDArray[np.int64]:
        """Return the documents in the top ten of any ranker."""
        if number not in self.ranks:
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.min(list(self.ranks[number].values()), axis=0) <= _MAX_RANK)

    def _rank(self, number: int, ranker: str, row: int) -> int:
        ranks = self.ranks[number].get(ranker)
        return 0 if ranks is None else min(int(ranks[row]), 65_535)

    def _features(self, number: int, names: Sequence[str]) -> NDArray[np.uint8]:
        """Return the features of a query's documents, scaled from 0 for the minimum of the list to 250."""
        if self.folds is None:
            raise ValueError("no folds to read features from")
        data = self.folds.data
        query = self.rows[self.keys[number]]
        rows = slice(int(data.offsets[query]), int(data.offsets[query + 1]))
        columns = [data.feature_names.index(f) for f in names]
        table = np.nan_to_num(np.asarray(data.features[rows], np.float64)[:, columns])
        low, high = table.min(axis=0), table.max(axis=0)
        scaled: NDArray[np.float64] = np.round((table - low) / np.where(high > low, high - low, 1.0) * _FEATURE_STEPS)
        return scaled.astype(np.uint8)
