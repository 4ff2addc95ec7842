"""How likely is a rank looked at? Asked of a log alone, so that clicks can be weighed by it.

All estimates are relative to the first rank of the log. A document that always stood at one rank tells nothing: was it
bad, or not looked at? So documents must have stood at several ranks, by swaps, by several rankings, or by time; or
their features must tell what is good (`regression`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import ClickLog, Counts, summed
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_LEAST = 1e-6  # chances are kept so far from 0 and 1


@dataclass(frozen=True, eq=False)
class Propensities:
    """The chance that each rank is looked at, relative to the first, with a 95 % interval where one was asked for."""

    values: F64  # by rank, from 1 on
    method: str
    low: F64 | None = None
    high: F64 | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or not len(self.values) or not (self.values > 0).all():
            raise DataError("propensities are numbers above 0, one for each rank from 1 on")

    def __repr__(self) -> str:
        return f"Propensities({self.method}: {', '.join(f'{value:.3g}' for value in self.values)})"

    def at(self, ranks: NDArray[np.int32]) -> F64:
        """The propensity of each of these ranks; those below the deepest that is known count as that."""
        known: F64 = self.values[np.minimum(ranks, len(self.values)) - 1]
        return known


def propensities(
    log: ClickLog, method: str = "em", *, data: Dataset | None = None, samples: int = 0, seed: int = 1
) -> Propensities:
    """The propensities of a log's ranks.

    method    em (a chance to be clicked for every document), swaps (ratios of click rates of documents that stood at
              several ranks), or regression (em with that chance by the features of `data`)
    data      the documents of the log, for regression
    samples   how many times queries are drawn anew for 95 % intervals; 0: none are made
    seed      of these draws

    >>> log = ClickLog.of([("q", ["a", "b"], [1, 0]), ("q", ["a", "b"], [1, 1]), ("q", ["b", "a"], [1, 0]),
    ...                    ("q", ["b", "a"], [1, 1])])
    >>> propensities(log, "swaps")
    Propensities(swaps: 1, 0.5)
    """
    if method not in METHODS:
        raise UnknownName("method for propensities", method, METHODS)
    if (method == "regression") != (data is not None):
        raise ConventionError("regression looks at the features of data=, and the other methods do not")
    counts = log.counts()
    _check_ranks(counts)
    estimate: Callable[[Counts], F64] = by_swaps if method == "swaps" else by_em
    if method != "regression" and not _connected(counts):
        raise DataError("documents stood at the same ranks all the time, so that bad ones and unseen ones look alike; "
                        "show them in other orders now and then (swaps), or estimate by regression")  # fmt: skip
    if data is not None:
        counts, features = _with_features(log, counts, data)
        _check_ranks(counts)
        estimate = partial(by_regression, features=features)
    values = estimate(counts)
    if not samples:
        return Propensities(values, method)
    low, high = np.quantile(list(_drawn(log, counts, estimate, samples, seed)), (0.025, 0.975), axis=0)
    return Propensities(values, method, low, high)


def _drawn(
    log: ClickLog, counts: Counts, estimate: Callable[[Counts], F64], samples: int, seed: int
) -> Iterator[F64]:  # fmt: skip
    """Estimates from queries drawn anew; a draw that cannot tell some rank is left out, unless most of them cannot."""
    rng, query, told = np.random.default_rng(seed), log.item_queries[counts.items], 0
    for _ in range(samples):
        times = np.bincount(rng.integers(log.queries, size=log.queries), minlength=log.queries)
        drawn = counts.times(times[query].astype(np.float64))
        if drawn.depth == counts.depth and not unclicked(drawn).any() and _connected(drawn):
            told += 1
            yield estimate(drawn)
    if 2 * told < samples:
        raise DataError("clicks are too few for intervals: most draws of queries have none at some rank; ask for none")


METHODS = ("em", "swaps", "regression")


def unclicked(counts: Counts) -> NDArray[np.bool_]:
    """By rank: whether it never had a click."""
    never: NDArray[np.bool_] = summed(counts.ranks - 1, counts.clicked) == 0
    return never


def _check_ranks(counts: Counts) -> None:
    """Raise unless each rank from 1 on was shown, and clicked at least once: nothing else is to be estimated."""
    never = unclicked(counts)
    if never.any():
        rank = int(np.argmax(never)) + 1
        raise DataError(f"nobody clicked at rank {rank}, so that its propensity cannot be told; cut the log above it")


def _connected(counts: Counts) -> bool:
    """Whether documents that moved lead from every rank to every other."""
    _, item = np.unique(counts.items, return_inverse=True)
    stood = np.zeros((int(item.max()) + 1, counts.depth), bool)
    stood[item, counts.ranks - 1] = True
    reached = np.zeros(counts.depth, bool)
    reached[0] = True
    for _ in range(counts.depth):
        reached |= stood[stood[:, reached].any(axis=1)].any(axis=0)
    return bool(reached.all())


def _with_features(log: ClickLog, counts: Counts, data: Dataset) -> tuple[Counts, F64]:
    """The counts of items that the data have, with the features of all items."""
    rows = log.rows_in(data)
    kept = rows[counts.items] >= 0
    if not kept.any():
        raise DataError(f"no document of the log is in {data.name}; are queries and documents called alike?")
    features = np.asarray(data.features, np.float64)[np.maximum(rows, 0)]
    return counts.times(kept.astype(np.float64)), features


def by_em(counts: Counts, rounds: int = 2000, tolerance: float = 1e-6) -> F64:
    """Expectation maximisation of the position-based model, with a chance of its own for each item.

    A click is looked at · attractive: θ_rank · γ_item. What is hidden behind no click is expected by both, and both are
    then the means over what was shown (Wang et al. 2018, with a table in the place of a regression).
    """
    ranks, attraction = counts.ranks - 1, np.full(int(counts.items.max()) + 1, 0.5)
    seen = _start(counts)
    for _ in range(rounds):
        last, clickless = seen, counts.shown - counts.clicked
        a, b = seen[ranks], attraction[counts.items]
        missed = 1.0 - a * b
        looked = counts.clicked + clickless * a * (1.0 - b) / missed
        liked = counts.clicked + clickless * b * (1.0 - a) / missed
        seen = _share(summed(ranks, looked), summed(ranks, counts.shown))
        attraction = _share(summed(counts.items, liked), summed(counts.items, counts.shown))
        if np.abs(_relative(seen) - _relative(last)).max() < tolerance:
            break
    return _relative(seen)


def by_regression(counts: Counts, features: F64, ridge: float = 1.0, rounds: int = 500, tolerance: float = 1e-6) -> F64:
    """The same, with the chance of an item by a logistic regression on its features (regression EM, Wang et al. 2018).

    `features` has a row for each item. Each round makes one Newton step of the regression.
    """
    ranks, seen, clickless = counts.ranks - 1, _start(counts), counts.shown - counts.clicked
    table = _standardised(features)
    weights = np.zeros(table.shape[1])
    shown = summed(counts.items, counts.shown, len(table))
    for _ in range(rounds):
        last, attraction = seen, _logistic(table @ weights)
        a, b = seen[ranks], attraction[counts.items]
        missed = 1.0 - a * b
        looked = counts.clicked + clickless * a * (1.0 - b) / missed
        liked = summed(counts.items, counts.clicked + clickless * b * (1.0 - a) / missed, len(table))
        seen = _share(summed(ranks, looked), summed(ranks, counts.shown))
        slope = table.T @ (liked - shown * attraction) - ridge * weights
        curve = (table * (shown * attraction * (1.0 - attraction))[:, None]).T @ table + ridge * np.eye(len(weights))
        weights = weights + np.linalg.solve(curve, slope)
        if np.abs(_relative(seen) - _relative(last)).max() < tolerance:
            break
    return _relative(seen)


def by_swaps(counts: Counts) -> F64:
    """Ratios of click rates of the same documents at two ranks, for all pairs of ranks together.

    What changes when a document is moved is looking alone, so that the ratio of its click rates is that of the
    propensities (Joachims et al. 2017 with swaps by chance; Agarwal et al. 2019 with whatever rankings there were).
    Items are pooled as Mantel & Haenszel pooled strata; the logarithms of all ratios are then fitted by least squares,
    each weighed by one over its variance (Greenland & Robins 1985).
    """
    depth = counts.depth
    _, item = np.unique(counts.items, return_inverse=True)
    shown, clicked = np.zeros((2, int(item.max()) + 1, depth))
    shown[item, counts.ranks - 1], clicked[item, counts.ranks - 1] = counts.shown, counts.clicked
    laplacian, target = np.zeros((depth, depth)), np.zeros(depth)
    for one in range(depth):
        for other in range(one + 1, depth):
            ratio, weight = _pooled(shown[:, one], clicked[:, one], shown[:, other], clicked[:, other])
            laplacian[[one, other], [one, other]] += weight
            laplacian[[one, other], [other, one]] -= weight
            target[one] += weight * ratio
            target[other] -= weight * ratio
    if np.linalg.matrix_rank(laplacian) < depth - 1:
        raise DataError("documents that stood at several ranks have too few clicks to compare all ranks; take em")
    logarithms = np.linalg.lstsq(laplacian, target, rcond=None)[0]
    values: F64 = np.exp(logarithms - logarithms[0])
    return values


def _pooled(shown: F64, clicked: F64, others: F64, others_clicked: F64) -> tuple[float, float]:
    """The logarithm of the ratio of two click rates over strata, and one over its variance; 0, 0 where none tells."""
    both = shown + others
    strata = (shown > 0) & (others > 0)
    n, m, a, b, both = shown[strata], others[strata], clicked[strata], others_clicked[strata], both[strata]
    upper, lower = float((a * m / both).sum()), float((b * n / both).sum())
    if upper == 0 or lower == 0:
        return 0.0, 0.0
    variance = float(((n * m * (a + b) - a * b * both) / both**2).sum()) / (upper * lower)
    return float(np.log(upper / lower)), 1.0 / max(variance, _LEAST)


def _start(counts: Counts) -> F64:
    """Click rates by rank, which is what would be right if all documents were alike."""
    ranks = counts.ranks - 1
    return _share(summed(ranks, counts.clicked), summed(ranks, counts.shown)) ** 0.5


def _relative(seen: F64) -> F64:
    ratios: F64 = seen / seen[0]
    return ratios


def _share(part: F64, whole: F64) -> F64:
    return np.clip(part / np.maximum(whole, _LEAST), _LEAST, 1.0 - _LEAST)


def _standardised(features: F64) -> F64:
    """Columns of mean 0 and spread 1, and one of ones; NULL is the mean."""
    filled = np.where(np.isnan(features), np.nanmean(features, axis=0), features)
    spread = filled.std(axis=0)
    scaled = (filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.column_stack((scaled, np.ones(len(features))))


def _logistic(values: F64) -> F64:
    chances: F64 = 1.0 / (1.0 + np.exp(-np.clip(values, -30.0, 30.0)))
    return chances
