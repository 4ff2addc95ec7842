"""A pairwise function with a tournament: which of two documents is better, and what order do the answers make?

A score is a number per document; here the learned function takes two documents, and need not be transitive. What it
costs to rank is the point: n(n − 1)/2 comparisons of all with all, or about n log₂ n by merging sorted halves.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.steps.base import Step, register
from pippin.rankers.steps.by_query import together

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
FORMS = ("all", "sort")
_BLOCK = 1 << 16  # pairs scored at a time


@register("tournament")
class Tournament(Step):
    """Learns which of two documents is better from their features side by side, and ranks by a tournament.

    Every pair of documents of different labels (at most `pairs` a query, drawn) is a list of two for the rest of the
    chain: (better, worse) above (worse, better). A beats B by s(A, B) − s(B, A). `all`: a document's score is its sum
    of tanh(margin / scale) over all others, scale the mean margin of training pairs; `sort`: a merge sort that asks
    the function for n log₂ n pairs at most, and takes its word for transitive.
    """

    source = "Cohen, Schapire & Singer 1999; Qin, Liu, Xu & Li 2010 (§5.1)"
    whole_queries = True
    takes_weights = False
    milliseconds: ClassVar[float] = 500

    form: str = parameter("all", "who meets whom: all, or sort (n log n comparisons)")
    pairs: int = parameter(100, "pairs of a query that are learned from, at most")
    seed: int = parameter(1, "of the pairs that are drawn")

    def _check(self) -> None:
        one_of(self, form=FORMS)
        at_least(self, pairs=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        generator = np.random.default_rng(self.seed)
        duels = paired(train, self.pairs, generator)
        stop = None if valid is None else paired(valid, self.pairs, generator)
        if not duels.queries:
            raise DataError(f"no query of {train.name} has documents of different labels; there is nothing to learn")
        model = rest.fresh().fit(duels, eval_set=stop if stop is not None and stop.queries else None)
        self.models_ = [model]
        margins = np.abs(np.diff(model.scores(np.asarray(duels.features, np.float64), duels.offsets))[::2])
        self.scale_ = max(float(margins.mean()), 1e-12)
        self.comparisons_ = 0

    def margins(self, features: Features, left: I64, right: I64) -> F64:
        """By how much each left document beats the right one: s(A, B) − s(B, A)."""
        found = np.empty(len(left))
        for start in range(0, len(left), _BLOCK):
            a, b = features[left[start : start + _BLOCK]], features[right[start : start + _BLOCK]]
            table = np.concatenate((np.hstack((a, b)), np.hstack((b, a))))
            scores = self.models_[0].scores(table, np.array([0, len(table)], np.int64))
            found[start : start + _BLOCK] = scores[: len(a)] - scores[len(a) :]
        self.comparisons_ += len(left)
        return found

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The points of each document in its query's tournament; `comparisons_` counts what was asked."""
        if offsets is None:
            raise together(self.name)
        self.comparisons_ = 0
        return self._all(features, offsets) if self.form == "all" else self._sorted(features, offsets)

    def _all(self, features: Features, offsets: I64) -> F64:
        total = np.zeros(len(features))
        for start, end in pairwise(offsets.tolist()):
            left, right = np.triu_indices(end - start, 1)
            won = np.tanh(self.margins(features, left + start, right + start) / self.scale_)
            total[start:end] = np.bincount(left, won, end - start) - np.bincount(right, won, end - start)
        return total

    def _sorted(self, features: Features, offsets: I64) -> F64:
        """A merge sort of all queries in step: each round asks for the heads of all merges that are under way."""
        runs = [[[row] for row in range(start, end)] for start, end in pairwise(offsets.tolist())]
        while any(len(query) > 1 for query in runs):
            merges = [Merge(*query[i : i + 2]) for query in runs for i in range(0, len(query) - 1, 2)]
            while going := [one for one in merges if one.left and one.right]:
                heads = np.array([(one.left[-1], one.right[-1]) for one in going])
                for one, margin in zip(going, self.margins(features, heads[:, 0], heads[:, 1]), strict=True):
                    one.take(bool(margin >= 0))
            made = iter(merges)
            runs = [[next(made).done() if len(query[i : i + 2]) == 2 else query[i] for i in range(0, len(query), 2)]
                    for query in runs]  # fmt: skip
        total = np.zeros(len(features))
        for query in runs:
            if query:
                total[query[0]] = -np.arange(len(query[0]), dtype=np.float64)
        return total

    def _names(self) -> tuple[str, ...]:
        return tuple(f"{side}:{name}" for side in ("first", "second") for name in self.feature_names_)

    def _state(self) -> dict[str, Any]:
        return {"scale": self.scale_}

    def _restore(self, state: dict[str, Any]) -> None:
        from pippin.rankers.parts.states import number

        self.scale_, self.comparisons_ = number(state["scale"]), 0
        if not self.scale_ > 0:
            raise ValueError("the scale of margins is above 0")

    def importance(self) -> dict[str, float]:
        """What a feature counts on both sides."""
        own = self.models_[0].importance()
        return {name: own[f"first:{name}"] + own[f"second:{name}"] for name in self.feature_names_}

    def _no_form(self) -> str:
        return "it compares documents of a query with each other"


class Merge:
    """Two sorted runs, best first, that become one; heads stand at the end of reversed lists."""

    def __init__(self, left: list[int], right: list[int]) -> None:
        self.left, self.right, self.merged = left[::-1], right[::-1], list[int]()

    def take(self, left: bool) -> None:
        """The head that won goes first."""
        self.merged.append((self.left if left else self.right).pop())

    def done(self) -> list[int]:
        """The merged run, with what is left of one side."""
        return self.merged + self.left[::-1] + self.right[::-1]


def paired(data: Dataset, most: int, generator: np.random.Generator) -> Dataset:
    """Lists of two rows for pairs of different labels: (better, worse) with label 1, then (worse, better) with 0."""
    better: list[I64] = []
    worse: list[I64] = []
    for start, end in pairwise(data.offsets.tolist()):
        labels = data.labels[start:end]
        high, low = np.nonzero(labels[:, None] > labels[None, :])
        if len(high) > most:
            drawn = np.sort(generator.permutation(len(high))[:most])
            high, low = high[drawn], low[drawn]
        better.append(high + start)
        worse.append(low + start)
    first, second = (np.concatenate(rows or [np.empty(0, np.int64)]) for rows in (better, worse))
    table, width = np.asarray(data.features, np.float64), data.features.shape[1]
    rows = np.empty((2 * len(first), 2 * width))
    rows[::2, :width], rows[::2, width:] = table[first], table[second]
    rows[1::2, :width], rows[1::2, width:] = table[second], table[first]
    labels = np.tile(np.array([1, 0], np.int32), len(first))
    names = tuple(f"{side}:{name}" for side in ("first", "second") for name in data.feature_names)
    ids = tuple(map(str, range(len(first))))
    return Dataset(rows, labels, np.arange(0, len(rows) + 1, 2, dtype=np.int64), ids, None, names, name=data.name)
