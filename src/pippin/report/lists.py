"""What stood at the top of every ranker's list, query by query: documents, labels, words or features.

The lists come from the scores of the cells. What a document is, is looked up where the benchmark found its data
(`Results.places`): titles and snippets beside a data set that was built from documents, and the features of any data
set. Where the data are no longer there, or are others, the page goes without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.report.explained import Keys, cells_of
from pippin.report.packing import pack, pack_texts
from pippin.report.sheets import Names

if TYPE_CHECKING:
    from pippin.bench.records import Cell
    from pippin.bench.store import Results
    from pippin.data.folds import Folds

TOP = 10  # ranks that are shown
FEATURES = 10  # features that are shown of a document
SNIPPET = 120  # characters of a document's text
QUERIES = 1000  # of a data set; the lists of further ones are left out
_STEPS = 250  # a feature's place between the least and the greatest value of its list, in whole numbers
Importance = Mapping[str, Sequence[tuple[str, float]]]


def lists_of(
    results: Results, names: Names, convention: str, data: str, keys: Keys, importance: Importance
) -> dict[str, Any]:
    """`detail_…`: the documents among the first ten of any ranker, with their ranks under all; and queries' words."""
    cells = cells_of(results, convention, data)
    place = results.places().get(data, {})
    lists = _Lists(names, keys, _looked_up(results, place, cells))
    for ranker, folds in cells.items():
        for fold, cell in folds.items():
            lists.add(ranker, fold, cell)
    chosen = leading_features(importance)
    words = _words(results, place)
    return {
        "query_texts": pack_texts([words.queries.get(query, "") for _, query in keys]) if words.queries else None,
        **lists.packed(words, chosen),
    }


def leading_features(importance: Importance) -> list[str]:
    """The features that weigh most with any ranker.

    >>> leading_features({"a": [("x", 0.2), ("y", 0.1)], "b": [("y", 0.5)]})
    ['y', 'x']
    """
    most: dict[str, float] = {}
    for told in importance.values():
        for feature, share in told:
            most[feature] = max(most.get(feature, 0.0), share)
    return sorted(most, key=lambda f: (-most[f], f))[:FEATURES]


@dataclass(frozen=True)
class _Words:
    queries: Mapping[str, str]
    documents: Mapping[str, tuple[str, str]]  # title and snippet


def _words(results: Results, place: Mapping[str, str]) -> _Words:
    """What queries and documents say, where the data set was built from texts."""
    from pippin.collection.words import WORDS, read_words

    words = read_words(results.path / place["built"] / WORDS) if "built" in place else None
    return _Words({}, {}) if words is None else _Words(*words)


def _looked_up(results: Results, place: Mapping[str, str], cells: Mapping[str, Mapping[str, Cell]]) -> Folds | None:
    """The folds that the cells were tested on; None where they are gone or are others."""
    from pippin.data.fold_store import is_fold_store, open_fold_store

    if "store" not in place or not cells:
        return None
    store = results.path / Path(place["store"])
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
    """Fold and id of every test query → its place in the table of all."""
    ids = folds.facts.query_ids
    return {
        (fold, ids.get(at, folds.data.query_ids[at])): at
        for fold, parts in folds.queries.items()
        for at in parts["test"].tolist()
    }


class _Lists:
    """The kept documents of every query, filled cell by cell."""

    def __init__(self, names: Names, keys: Keys, folds: Folds | None) -> None:
        self.names, self.keys, self.folds = names, keys, folds
        self.number = {key: i for i, key in enumerate(keys[:QUERIES])}
        self.rows = {} if folds is None else _rows_of(folds)
        self.ranks: dict[int, dict[str, NDArray[np.int64]]] = {}  # query → ranker → rank of every document
        self.labels: dict[int, NDArray[np.int32]] = {}
        self.ids: dict[int, list[str]] = {}

    def add(self, ranker: str, fold: str, cell: Cell) -> None:
        """Take in what a ranker made of the queries of a fold."""
        scores = cell.scores()
        for (query,), rows in scores.by("query").items():
            at = self.number.get((fold, str(query)))
            if at is None:
                continue
            order = np.argsort(-rows["score"], kind="stable")
            ranks = np.empty(len(order), np.int64)
            ranks[order] = np.arange(1, len(order) + 1)
            self.ranks.setdefault(at, {})[ranker] = ranks
            if at not in self.ids:
                self.labels[at] = rows["label"]
                self.ids[at] = [name or f"document {i}" for i, name in enumerate(rows["document"], 1)]

    def packed(self, words: _Words, features: Sequence[str]) -> dict[str, Any]:
        """The arrays of the page."""
        if not self.ranks or (self.folds is None and not words.documents):
            return {"detail_ranks": None}
        ids: dict[str, int] = {}
        starts, documents, labels, columns, values = [0], [], [], [], []
        known = [f for f in features if self.folds is not None and f in self.folds.data.feature_names]
        for at in range(len(self.keys)):
            kept = self._kept(at)
            for row in kept:
                documents.append(ids.setdefault(self.ids[at][row], len(ids)))
                labels.append(min(255, max(0, int(self.labels[at][row]))))
                columns.append([self._rank(at, ranker, row) for ranker in self.names.rankers])
            if known and len(kept):
                values.append(self._features(at, known)[kept])
            starts.append(len(documents))
        texts: dict[str, Any] = {"ids": list(ids), "features": known, "titles": None, "snippets": None}
        if words.documents:
            both = [words.documents.get(name, ("", "")) for name in ids]
            texts |= {"titles": [title for title, _ in both], "snippets": [snippet[:SNIPPET] for _, snippet in both]}
        ranks = np.array(columns, np.int64).reshape(-1, len(self.names.rankers)).T
        return {
            "detail_starts": pack(np.array(starts, np.int32)), "detail_documents": pack(np.array(documents, np.int32)),
            "detail_labels": pack(np.array(labels, np.uint8)), "detail_texts": pack_texts(texts),
            "detail_ranks": pack(ranks.astype(np.uint8 if ranks.max(initial=0) < 256 else np.uint16)),
            "detail_features": pack(np.concatenate(values) if values else np.zeros((0, 0), np.uint8)),
        }  # fmt: skip

    def _kept(self, at: int) -> NDArray[np.int64]:
        """The documents that some ranker has among its first."""
        if at not in self.ranks:
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.min(list(self.ranks[at].values()), axis=0) <= TOP)

    def _rank(self, at: int, ranker: str, row: int) -> int:
        ranks = self.ranks[at].get(ranker)
        return 0 if ranks is None else min(int(ranks[row]), 65_535)

    def _features(self, at: int, known: Sequence[str]) -> NDArray[np.uint8]:
        """The features of a query's documents, from 0 for the least of the list to 250 for the greatest."""
        if self.folds is None:
            raise ValueError("features are asked of data that are not there")
        data = self.folds.data
        query = self.rows[self.keys[at]]
        rows = slice(int(data.offsets[query]), int(data.offsets[query + 1]))
        columns = [data.feature_names.index(f) for f in known]
        table = np.nan_to_num(np.asarray(data.features[rows], np.float64)[:, columns])
        low, high = table.min(axis=0), table.max(axis=0)
        scaled: NDArray[np.float64] = np.round((table - low) / np.where(high > low, high - low, 1.0) * _STEPS)
        return scaled.astype(np.uint8)
