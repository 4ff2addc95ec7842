"""Where does every query's value stand: in which board, of which query, of which ranker?

A data set has a value for every tool, measure, ranker and query, millions in all, whose names are texts. They are
compared once, when each row gets its numbers, and from then on numbers stand for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pippin.bench.frame import Frame

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Spreads = Mapping[tuple[str, str], tuple[float, int]]  # (ranker, fold) → variance over queries, their number


class NumberedValues:
    """The values of a data set, averaged over seeds, in a frame with tool, measure, ranker, fold, query and value."""

    def __init__(self, averaged: Frame, rankers: Sequence[str]) -> None:
        self.rankers = tuple(rankers)
        tools, tool = _coded(averaged, "tool")
        measures, measure = _coded(averaged, "measure")
        names, ranker = _coded(averaged, "ranker")
        folds, fold = _coded(averaged, "fold")
        self.query_keys, query = _queries(averaged, folds, fold)
        board = tool * len(measures) + measure
        self._boards = {(t, m): i * len(measures) + j for i, t in enumerate(tools) for j, m in enumerate(measures)}
        self._spreads = _spreads(averaged["value"], (board * len(names) + ranker) * len(folds) + fold, names, folds)
        by_board = np.argsort(board.astype(np.uint32), kind="stable")
        self._ends = np.concatenate(([0], np.cumsum(np.bincount(board, minlength=len(self._boards))))).astype(np.int64)
        place = {name: i for i, name in enumerate(self.rankers)}
        columns = np.array([place[name] for name in names], np.int64)
        self._rows, self._columns = query[by_board], columns[ranker[by_board]]
        self._values = averaged["value"][by_board]

    def table(self, tool: str, measure: str) -> F64:
        """The values of every query × ranker; NaN where a query does not count."""
        table = np.full((len(self.query_keys), len(self.rankers)), np.nan)
        board = self._boards.get((tool, measure))
        if board is not None:
            part = slice(self._ends[board], self._ends[board + 1])
            table[self._rows[part], self._columns[part]] = self._values[part]
        return table

    def spreads(self, tool: str, measure: str) -> Spreads:
        """The variance over the queries of every ranker's folds, and their number."""
        return self._spreads.get(self._boards.get((tool, measure), -1), {})


def _coded(frame: Frame, column: str) -> tuple[list[str], I64]:
    """The names in a column, in the order in which they first appear, and the number of every row's."""
    first, number = frame.groups(column)
    return frame.take(first)[column].tolist(), number


def _queries(frame: Frame, folds: Sequence[str], fold: I64) -> tuple[tuple[tuple[str, str], ...], I64]:
    """Fold and id of every query, fold by fold and as they first appear, and the number of every row's."""
    ids, query = _coded(frame, "query")
    key = fold * len(ids) + query
    first = np.full(len(folds) * len(ids), len(key))
    first[key[::-1]] = np.arange(len(key))[::-1]
    there = np.flatnonzero(first < len(key))
    by_text = np.argsort(np.argsort(np.array(folds, np.str_)))
    order = there[np.lexsort((first[there], by_text[there // max(1, len(ids))]))]
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(order))
    return tuple((folds[k // len(ids)], ids[k % len(ids)]) for k in order.tolist()), number[key]


def _spreads(
    values: F64, group: I64, rankers: Sequence[str], folds: Sequence[str]
) -> dict[int, dict[tuple[str, str], tuple[float, int]]]:
    """Board → (ranker, fold) → the variance of the values of a group, and their number."""
    numbers, of_row = np.unique(group, return_inverse=True)
    counts = np.bincount(of_row)
    off = values - (np.bincount(of_row, values) / counts)[of_row]
    variances = np.divide(
        np.bincount(of_row, off * off), counts - 1, out=np.full(len(counts), np.nan), where=counts > 1
    )
    spreads: dict[int, dict[tuple[str, str], tuple[float, int]]] = {}
    for number, variance, count in zip(numbers.tolist(), variances.tolist(), counts.tolist(), strict=True):
        rest, fold = divmod(number, len(folds))
        board, ranker = divmod(rest, len(rankers))
        spreads.setdefault(board, {})[rankers[ranker], folds[fold]] = (variance, count)
    return spreads
