"""Rank by a learned pairwise preference function.

The function compares two documents and is not necessarily transitive. Ranking n documents takes n(n − 1)/2 comparisons
in a round-robin tournament, or about n log₂ n in a merge sort.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parameters import check_minima, one_of, parameter
from pippin.rankers.steps.base import Step, register
from pippin.rankers.steps.query_dependent import missing_queries_error

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
FORMS = ("all", "sort")
_BLOCK = 1 << 16  # pairs scored at a time


@register("tournament")
class Tournament(Step):
    """Learns a preference function of the features of two documents, and ranks by a tournament.

    Every pair of documents with different labels (a sample of up to `pairs` per query) is a list of two for the next
    ranker: (better, worse) above (worse, better). The margin of A over B is s(A, B) − s(B, A). `all`: the score is the
    sum of tanh(margin / scale) over all other documents, scale being the mean margin of training pairs; `sort`: a
    merge sort, which assumes transitivity.
    """

    source = "Cohen, Schapire & Singer 1999; Qin, Liu, Xu & Li 2010 (§5.1)"
    needs_query_groups = True
    supports_sample_weight = False
    cost_ms: ClassVar[float] = 500

    form: str = parameter("all", "all: compare all pairs; sort: merge sort with n log n comparisons")
    pairs: int = parameter(100, "maximum number of training pairs per query")
    seed: int = parameter(1, "seed of the sampled pairs")

    def _check(self) -> None:
        one_of(self, form=FORMS)
        check_minima(self, pairs=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        generator = np.random.default_rng(self.seed)
        pair_lists = make_pair_lists(train, self.pairs, generator)
        valid_lists = None if valid is None else make_pair_lists(valid, self.pairs, generator)
        if not pair_lists.queries:
            raise DataError(f"no query of {train.name} has documents with different labels: nothing to learn")
        model = next_ranker.clone().fit(
            pair_lists, eval_set=valid_lists if valid_lists is not None and valid_lists.queries else None
        )
        self.estimators_ = [model]
        margins = np.abs(np.diff(model.scores(np.asarray(pair_lists.features, np.float64), pair_lists.offsets))[::2])
        self.scale_ = max(float(margins.mean()), 1e-12)
        self.comparisons_ = 0

    def margins(self, features: Features, left: I64, right: I64) -> F64:
        """Return the margin of each left document over the right one, s(A, B) − s(B, A)."""
        result = np.empty(len(left))
        for start in range(0, len(left), _BLOCK):
            a, b = features[left[start : start + _BLOCK]], features[right[start : start + _BLOCK]]
            table = np.concatenate((np.hstack((a, b)), np.hstack((b, a))))
            scores = self.estimators_[0].scores(table, np.array([0, len(table)], np.int64))
            result[start : start + _BLOCK] = scores[: len(a)] - scores[len(a) :]
        self.comparisons_ += len(left)
        return result

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return each document's result in the tournament of its query; `comparisons_` counts the comparisons."""
        if offsets is None:
            raise missing_queries_error(self.name)
        self.comparisons_ = 0
        return (
            self._round_robin_scores(features, offsets)
            if self.form == "all"
            else self._merge_sort_scores(features, offsets)
        )

    def _round_robin_scores(self, features: Features, offsets: I64) -> F64:
        total = np.zeros(len(features))
        for start, end in pairwise(offsets.tolist()):
            left, right = np.triu_indices(end - start, 1)
            won = np.tanh(self.margins(features, left + start, right + start) / self.scale_)
            total[start:end] = np.bincount(left, won, end - start) - np.bincount(right, won, end - start)
        return total

    def _merge_sort_scores(self, features: Features, offsets: I64) -> F64:
        """Merge-sort all queries in parallel; each round compares the heads of all unfinished merges."""
        runs = [[[row] for row in range(start, end)] for start, end in pairwise(offsets.tolist())]
        while any(len(query) > 1 for query in runs):
            merges = [Merge(*query[i : i + 2]) for query in runs for i in range(0, len(query) - 1, 2)]
            while unfinished := [merge for merge in merges if merge.left and merge.right]:
                heads = np.array([(merge.left[-1], merge.right[-1]) for merge in unfinished])
                for merge, margin in zip(unfinished, self.margins(features, heads[:, 0], heads[:, 1]), strict=True):
                    merge.take(bool(margin >= 0))
            finished = iter(merges)
            runs = [
                [next(finished).result() if i + 1 < len(query) else query[i] for i in range(0, len(query), 2)]
                for query in runs
            ]
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
        from pippin.rankers.base import read_number

        self.scale_, self.comparisons_ = read_number(state["scale"]), 0
        if not self.scale_ > 0:
            raise ValueError("the scale of margins must be above 0")

    def importance(self) -> dict[str, float]:
        """Return the importance of each feature, summed over both documents of a pair."""
        importances = self.estimators_[0].importance()
        return {name: importances[f"first:{name}"] + importances[f"second:{name}"] for name in self.feature_names_}

    def _no_model_reason(self) -> str:
        return "it compares the documents of a query with each other"


class Merge:
    """Merges two sorted lists, best first; stored reversed, so that heads are at the end."""

    def __init__(self, left: list[int], right: list[int]) -> None:
        self.left, self.right, self.merged = left[::-1], right[::-1], list[int]()

    def take(self, left: bool) -> None:
        """Append the winning head."""
        self.merged.append((self.left if left else self.right).pop())

    def result(self) -> list[int]:
        """Return the merged list, with the rest of one side."""
        return self.merged + self.left[::-1] + self.right[::-1]


def make_pair_lists(data: Dataset, max_pairs: int, generator: np.random.Generator) -> Dataset:
    """Return lists of two rows for pairs of different labels: (better, worse) with label 1, (worse, better) with 0."""
    better: list[I64] = []
    worse: list[I64] = []
    for start, end in pairwise(data.offsets.tolist()):
        labels = data.labels[start:end]
        high, low = np.nonzero(labels[:, None] > labels[None, :])
        if len(high) > max_pairs:
            sampled = np.sort(generator.permutation(len(high))[:max_pairs])
            high, low = high[sampled], low[sampled]
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
