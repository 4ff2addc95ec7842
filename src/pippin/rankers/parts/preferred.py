"""Learning from pairs that somebody prefers, instead of labels: λ and the losses of Ranking SVM over listed pairs.

Preferences travel with the data set they belong to, as weights of queries do: a selection of queries has theirs. A
ranker that can learn from them asks by `preferences_of`, and gets None where there are labels to learn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import ClickLog, summed
from pippin.clicks.preference import Preferences, preferences
from pippin.clicks.propensity import Propensities
from pippin.clicks.propensity import propensities as estimate
from pippin.data.dataset import Dataset, rows_of
from pippin.errors import ConventionError, DataError
from pippin.extras import need
from pippin.kernels.pairs import PairLoss
from pippin.rankers.parts.lambdas import Lambdas

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
_NO_PAIRS = Preferences(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class Preferred(Dataset, eq=False):
    """A data set with pairs to learn from; its labels only say which documents are the better one in any."""

    preferences: Preferences = field(default=_NO_PAIRS)

    def select(self, queries: Sequence[int] | NDArray[np.int64] | slice) -> Preferred:
        """The data set of these queries (by position), in this order, with their pairs."""
        chosen = np.arange(self.queries)[queries]
        rows = rows_of(self.offsets, chosen)
        places = np.full(len(self), -1)
        places[rows] = np.arange(len(rows))
        return preferred(super().select(chosen), self.preferences.moved(places))


def preferred(data: Dataset, preferences: Preferences) -> Preferred:
    """The data set with pairs in the place of its labels."""
    labels = np.zeros(len(data), np.int32)
    labels[preferences.better] = 1
    given = {one.name: getattr(data, one.name) for one in fields(Dataset)}
    return Preferred(**{**given, "labels": labels, "lines": None}, preferences=preferences)


def clicked(
    data: Dataset, log: ClickLog, *, debias: str = "ips", propensities: Any = "em", clip: float = 0.01,
    power: float = 1.0,
) -> Preferred:  # fmt: skip
    """The documents of a data set with what a log of clicks says of their pairs; labels are not looked at.

    debias        ips, pairwise or naive: see `pippin.clicks.preferences`
    propensities  for ips: how they are estimated (em, swaps, regression), or the propensities themselves, by rank
    clip          for ips: no click is divided by less
    power         for pairwise: how far the trust in ranks is drawn towards 1
    """
    if debias != "ips":
        return preferred(data, replace(preferences(log, data, debias), power=power))
    if isinstance(propensities, str):
        propensities = estimate(log, propensities, data=data if propensities == "regression" else None)
    elif not isinstance(propensities, Propensities):
        propensities = Propensities(np.asarray(propensities, np.float64), "given")
    return preferred(data, preferences(log, data, "ips", propensities, clip))


def preferences_of(data: Dataset) -> Preferences | None:
    """The pairs to learn from; None: there are labels."""
    return data.preferences if isinstance(data, Preferred) else None


class PreferredLambdas:
    """Gradient and second derivative by document, where each pair has λ = weight · |D(better) - D(worse)| · ρ.

    D is the discount of a document's rank under the measure: what one relevant document would win by the swap. With
    preferences that leave trust to training, a pair counts 1 / (t⁺ · t⁻) for the ranks where its documents were shown;
    both follow from the losses of the round before, t_k = (loss at k / loss at 1) ** (1 / (power + 1)).
    Source: Hu et al. 2019.
    """

    def __init__(self, data: Dataset, pairs: Preferences, lambdas: Lambdas, normalise: bool) -> None:
        self.data, self.pairs, self._lambdas = data, pairs, lambdas
        self._discounts = lambdas.discounts(int(np.diff(data.offsets).max(initial=0)))
        self._query, self._normalise, self._exponent = data.qid()[pairs.better], normalise, 1.0 / (1.0 + pairs.power)
        deepest = 0 if pairs.ranks is None else int(pairs.ranks.max(initial=1))
        self.clicked_trust, self.other_trust = np.ones(deepest), np.ones(deepest)  # t⁺ and t⁻ by rank

    def __call__(self, scores: F64) -> tuple[F64, F64]:
        """Gradient and second derivative at these scores."""
        pairs, sigma = self.pairs, self._lambdas.sigma
        worth = self._discounts[self._positions(scores)]
        apart = np.abs(worth[pairs.better] - worth[pairs.worse]) * pairs.weights
        margin = sigma * (scores[pairs.better] - scores[pairs.worse])
        if pairs.ranks is not None:
            apart = self._trusted(apart, margin)
        share = 0.5 * (1.0 - np.tanh(0.5 * margin))  # 1 / (1 + exp(margin))
        force = sigma * apart * share
        curve = sigma * force * (1.0 - share)
        if self._normalise:
            total = 2.0 * summed(self._query, force, self.data.queries)
            norm = np.divide(np.log2(1.0 + total), total, out=np.ones_like(total), where=total > 0)[self._query]
            force, curve = norm * force, norm * curve
        size = len(self.data)
        gradient = summed(pairs.worse, force, size) - summed(pairs.better, force, size)
        return gradient, summed(pairs.worse, curve, size) + summed(pairs.better, curve, size)

    def _positions(self, scores: F64) -> I64:
        """The position of each row in its query's ranking."""
        order = self._lambdas.order(np.ascontiguousarray(scores, np.float64))
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order)) - np.repeat(self.data.offsets[:-1], np.diff(self.data.offsets))
        return positions

    def _trusted(self, apart: F64, margin: F64) -> F64:
        """What pairs count by the trust in their ranks, which is found anew for the next round."""
        ranks = self.pairs.ranks
        if ranks is None:
            return apart
        clicked, other = ranks[:, 0] - 1, ranks[:, 1] - 1
        plus, minus = self.clicked_trust[clicked], self.other_trust[other]
        losses = apart * np.logaddexp(0.0, -margin)
        depth = len(self.clicked_trust)
        found = summed(clicked, losses / minus, depth), summed(other, losses / plus, depth)
        self.clicked_trust, self.other_trust = (_relative(sums, self._exponent) for sums in found)
        return apart / (plus * minus)


def _relative(sums: F64, exponent: float) -> F64:
    """Sums by rank relative to the first; a rank without any is trusted as the one before it."""
    if not sums[0] > 0:
        raise DataError("no pair has its document at the first rank, which all others are held against")
    values = (np.maximum(sums, 0.0) / sums[0]) ** exponent
    filled = np.maximum.accumulate(np.where(values > 0, np.arange(len(values)), 0))
    trusted: F64 = values[filled]
    return trusted


@dataclass(frozen=True, eq=False)
class PreferredPairs:
    """Listed pairs with weights, as `kernels.pairs.Pairs` answers for all pairs of unlike labels."""

    preferences: Preferences
    offsets: I64  # of the queries whose pairs they are

    @classmethod
    def of(cls, data: Dataset, preferences: Preferences) -> Self:
        """The pairs of a data set; those that leave trust to training are for λ alone."""
        if preferences.ranks is not None:
            raise ConventionError("pairwise debiasing finds its weights by boosting: train lambdamart, or use ips")
        need("learning from pairs by a linear ranker", "scipy")
        order = np.argsort(preferences.better, kind="stable")  # so that the pairs of a query stand together
        pairs = Preferences(preferences.better[order], preferences.worse[order], preferences.weights[order])
        return cls(pairs, data.offsets)

    @cached_property
    def _ends(self) -> I64:
        return np.searchsorted(self.preferences.better, self.offsets)

    def loss(self, scores: F64, *, squared: bool) -> PairLoss:
        """Σ weight · h, or weight · h², over all pairs, with h = max(0, 1 − (s_better − s_worse))."""
        pairs = self.preferences
        short = np.maximum(0.0, 1.0 - (scores[pairs.better] - scores[pairs.worse]))
        each = pairs.weights * (2.0 * short if squared else (short > 0).astype(np.float64))
        gradient = summed(pairs.worse, each, len(scores)) - summed(pairs.better, each, len(scores))
        return PairLoss(float(pairs.weights @ (short**2 if squared else short)), gradient, np.empty(0, np.int32))

    def product(self, scores: F64, order: I32, rows: F64) -> F64:
        """The second derivative of the squared loss at `scores` times each column."""
        from scipy import sparse

        pairs = self.preferences
        better, worse = pairs.better, pairs.worse
        active = 1.0 - (scores[better] - scores[worse]) > 0
        better, worse, weights = better[active], worse[active], 2.0 * pairs.weights[active]
        size = len(scores)
        matrix: Any = sparse.coo_matrix((weights, (better, worse)), (size, size)).tocsr()
        sums = summed(better, weights, size) + summed(worse, weights, size)
        product: F64 = sums[:, None] * rows - (matrix + matrix.T) @ rows
        return product

    def part(self, first: int, last: int) -> Self:
        """The pairs of queries [first, last)."""
        kept, start, pairs = slice(self._ends[first], self._ends[last]), self.offsets[first], self.preferences
        own = Preferences(pairs.better[kept] - start, pairs.worse[kept] - start, pairs.weights[kept])
        return type(self)(own, self.offsets[first : last + 1] - start)
