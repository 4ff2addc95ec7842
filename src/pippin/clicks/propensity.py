"""Examination propensities of a click log, and preference pairs weighted by them.

Propensities are relative to the first rank. A document that was always shown at one rank does not identify them (it
may be irrelevant or not examined), so documents must appear at several ranks (through swaps, several rankings, or over
time), or their features must predict relevance (`regression`).

Preference pairs of documents and their weights:

    naive      a clicked document is preferred to all others of its session
    ips        the same, with a click weighted by one over its rank's propensity (Joachims, Swaminathan & Schnabel 2017)
    dr         a document is preferred to those with a smaller estimate of relevance: clicks over exposure, and where a
               document was shown rarely or never, a regression on the features (doubly robust; Oosterhuis 2022)
    pairwise   a clicked document is preferred to documents without a click; training estimates how far the ranks of
               both can be trusted (Hu et al. 2019)

Weights are summed over sessions, so the cost of training does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import ClickLog, Counts, group_sum
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_REGRESSION_STEPS = 50  # Newton steps of the regression of relevance; ten suffice where it converges
_MARGIN = 1e-6  # estimated probabilities stay this far from 0 and 1


@dataclass(frozen=True, eq=False)
class Propensities:
    """The probability that users examine each rank, relative to the first, with an optional 95 % interval."""

    values: F64  # by rank, from 1 on
    method: str
    low: F64 | None = None
    high: F64 | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or not len(self.values) or not (self.values > 0).all():
            raise DataError("propensities must be numbers above 0, one for each rank from 1")

    def __repr__(self) -> str:
        return f"Propensities({self.method}: {', '.join(f'{value:.3g}' for value in self.values)})"

    def at(self, ranks: NDArray[np.int32]) -> F64:
        """Return the propensities of ranks; a rank beyond the last estimate has that estimate.

        Parameters
        ----------
        ranks : ndarray of int32
            Ranks from 1.
        """
        values: F64 = self.values[np.minimum(ranks, len(self.values)) - 1]
        return values


def propensities(
    log: ClickLog, method: str = "em", *, data: Dataset | None = None, resamples: int = 0, seed: int = 1
) -> Propensities:
    """Estimate the examination propensities of a log.

    Parameters
    ----------
    log : ClickLog
        The clicks.
    method : {"em", "swaps", "regression"}, default "em"
        em: expectation maximisation with a click probability for every document; swaps: ratios of the click rates of
        documents that were shown at several ranks; regression: em with click probabilities predicted from features.
    data : Dataset, optional
        The documents of the log with their features, for regression.
    resamples : int, default 0
        Bootstrap samples of the queries for 95 % intervals; 0: no intervals.
    seed : int, default 1
        Seed of the samples.

    Returns
    -------
    Propensities
        One value for each rank of the log, relative to rank 1.

    Raises
    ------
    DataError
        If the log does not identify the propensities, for example because a rank has no click.

    Examples
    --------

    >>> log = ClickLog.of([("q", ["a", "b"], [1, 0]), ("q", ["a", "b"], [1, 1]), ("q", ["b", "a"], [1, 0]),
    ...                    ("q", ["b", "a"], [1, 1])])
    >>> propensities(log, "swaps")
    Propensities(swaps: 1, 0.5)
    """
    if method not in METHODS:
        raise UnknownName("method for propensities", method, METHODS)
    if (method == "regression") != (data is not None):
        raise ConventionError("method regression needs data; the other methods do not take it")
    counts = log.counts()
    _check_ranks(counts)
    estimate: Callable[[Counts], F64] = by_swaps if method == "swaps" else by_em
    if method != "regression" and not _are_ranks_connected(counts):
        raise DataError("documents are shown at the same ranks all the time, so relevance and examination cannot be "
                        "separated: log some sessions with swaps, or estimate by regression")  # fmt: skip
    if data is not None:
        counts, features = _with_features(log, counts, data)
        _check_ranks(counts)
        estimate = partial(by_regression, features=features)
    values = estimate(counts)
    if not resamples:
        return Propensities(values, method)
    low, high = np.quantile(list(_bootstrap_estimates(log, counts, estimate, resamples, seed)), (0.025, 0.975), axis=0)
    return Propensities(values, method, low, high)


def _bootstrap_estimates(
    log: ClickLog, counts: Counts, estimate: Callable[[Counts], F64], resamples: int, seed: int
) -> Iterator[F64]:  # fmt: skip
    """Yield estimates of resampled queries; skip samples that do not identify all ranks."""
    rng, query, usable = np.random.default_rng(seed), log.item_queries[counts.items], 0
    for _ in range(resamples):
        times = np.bincount(rng.integers(log.queries, size=log.queries), minlength=log.queries)
        resampled = counts.times(times[query].astype(np.float64))
        if (
            resampled.depth == counts.depth
            and not ranks_without_clicks(resampled).any()
            and _are_ranks_connected(resampled)
        ):
            usable += 1
            yield estimate(resampled)
    if 2 * usable < resamples:
        raise DataError("too few clicks for intervals: most samples have no click at some rank. Use resamples=0")


METHODS = ("em", "swaps", "regression")


def ranks_without_clicks(counts: Counts) -> NDArray[np.bool_]:
    """Return for each rank whether it has no click."""
    never: NDArray[np.bool_] = group_sum(counts.ranks - 1, counts.clicks) == 0
    return never


def _check_ranks(counts: Counts) -> None:
    """Raise DataError unless every rank has a click, without which its propensity cannot be estimated."""
    never = ranks_without_clicks(counts)
    if never.any():
        rank = int(np.argmax(never)) + 1
        raise DataError(f"no click at rank {rank}, so its propensity cannot be estimated: cut the log above this rank")


def _are_ranks_connected(counts: Counts) -> bool:
    """Return whether documents shown at several ranks connect every rank with every other."""
    _, item = np.unique(counts.items, return_inverse=True)
    was_shown = np.zeros((int(item.max()) + 1, counts.depth), bool)
    was_shown[item, counts.ranks - 1] = True
    is_reached = np.zeros(counts.depth, bool)
    is_reached[0] = True
    for _ in range(counts.depth):
        is_reached |= was_shown[was_shown[:, is_reached].any(axis=1)].any(axis=0)
    return bool(is_reached.all())


def _with_features(log: ClickLog, counts: Counts, data: Dataset) -> tuple[Counts, F64]:
    """Return the counts of the items in the data set, and the features of all items."""
    rows = log.rows_in(data)
    has_row = rows[counts.items] >= 0
    if not has_row.any():
        raise DataError(f"no document of the log is in {data.name}: check that query and document ids are the same")
    features = np.asarray(data.features, np.float64)[np.maximum(rows, 0)]
    return counts.times(has_row.astype(np.float64)), features


def by_em(counts: Counts, rounds: int = 2000, tolerance: float = 1e-6) -> F64:
    """Fit the position-based model by expectation maximisation, with one attractiveness per item.

    As Wang et al. 2018, with a table instead of a regression.
    """
    views = group_sum(counts.items, counts.views)

    def maximize(expected: F64, attraction: F64) -> F64:
        return _share(group_sum(counts.items, expected), views)

    return _run_em(counts, np.full(len(views), 0.5), maximize, rounds, tolerance)


def by_regression(counts: Counts, features: F64, ridge: float = 1.0, rounds: int = 500, tolerance: float = 1e-6) -> F64:
    """Fit the position-based model with attractiveness from logistic regression (regression EM, Wang et al. 2018).

    `features` has one row per item. Each round makes one Newton step of the regression.
    """
    table = _standardize(features)
    weights = np.zeros(table.shape[1])
    views = group_sum(counts.items, counts.views, len(table))

    def maximize(expected: F64, attraction: F64) -> F64:
        nonlocal weights
        expected = group_sum(counts.items, expected, len(table))
        # M-step: regress on the expected attractions.
        weights = _logistic_step(table, weights, views, expected, attraction, ridge)
        return _logistic(table @ weights)

    return _run_em(counts, _logistic(table @ weights), maximize, rounds, tolerance)


def _logistic_step(table: F64, weights: F64, views: F64, expected: F64, attraction: F64, ridge: float) -> F64:
    """Return the weights after one Newton step of ridge logistic regression; `expected` are the successes of views."""
    gradient = table.T @ (expected - views * attraction) - ridge * weights
    hessian = (table * (views * attraction * (1.0 - attraction))[:, None]).T @ table + ridge * np.eye(len(weights))
    updated: F64 = weights + np.linalg.solve(hessian, gradient)
    return updated


def _run_em(
    counts: Counts, attraction: F64, maximize: Callable[[F64, F64], F64], rounds: int, tolerance: float
) -> F64:  # fmt: skip
    """Alternate E- and M-steps of the position-based model, P(click) = θ_rank · γ_item, until θ converges.

    `maximize` returns the attractiveness γ by item from the expected attraction of each count.
    """
    ranks, examination, unclicked = counts.ranks - 1, _start(counts), counts.views - counts.clicks
    for _ in range(rounds):
        last_examination = examination
        examined, attractive = examination[ranks], attraction[counts.items]
        # E-step (Wang et al. 2018, equation 1): a view without a click was not examined, not attractive, or neither.
        no_click = 1.0 - examined * attractive
        expected_examined = counts.clicks + unclicked * examined * (1.0 - attractive) / no_click
        expected_attracted = counts.clicks + unclicked * attractive * (1.0 - examined) / no_click
        # M-step: θ is the mean expected examination of each rank.
        examination = _share(group_sum(ranks, expected_examined), group_sum(ranks, counts.views))
        attraction = maximize(expected_attracted, attraction)
        if np.abs(_relative(examination) - _relative(last_examination)).max() < tolerance:
            break
    return _relative(examination)


def by_swaps(counts: Counts) -> F64:
    """Estimate propensities from click rates of the same documents at two ranks, for all pairs of ranks.

    Moving a document changes only its examination, so the ratio of its click rates is the ratio of the propensities
    (Joachims et al. 2017 with random swaps; Agarwal et al. 2019 with several rankings). Items are strata of a
    Mantel-Haenszel estimate; the logarithms of all ratios are fitted by least squares, each weighted by its inverse
    variance (Greenland & Robins 1985).
    """
    depth = counts.depth
    _, item = np.unique(counts.items, return_inverse=True)
    views, clicks = np.zeros((2, int(item.max()) + 1, depth))
    views[item, counts.ranks - 1], clicks[item, counts.ranks - 1] = counts.views, counts.clicks
    # Step 1: the log ratio of every two ranks and its weight, as normal equations of the fit (a weighted Laplacian).
    laplacian, target = np.zeros((depth, depth)), np.zeros(depth)
    for first_rank in range(depth):
        for second_rank in range(first_rank + 1, depth):
            ratio, weight = _mantel_haenszel(
                views[:, first_rank], clicks[:, first_rank], views[:, second_rank], clicks[:, second_rank]
            )
            laplacian[[first_rank, second_rank], [first_rank, second_rank]] += weight
            laplacian[[first_rank, second_rank], [second_rank, first_rank]] -= weight
            target[first_rank] += weight * ratio
            target[second_rank] -= weight * ratio
    if np.linalg.matrix_rank(laplacian) < depth - 1:
        raise DataError("documents shown at several ranks have too few clicks to compare all ranks: use method em")
    # Step 2: solve for log propensities; they are defined up to a constant, so rank 1 is set to 1.
    logarithms = np.linalg.lstsq(laplacian, target, rcond=None)[0]
    values: F64 = np.exp(logarithms - logarithms[0])
    return values


def _mantel_haenszel(views: F64, clicks: F64, other_views: F64, other_clicks: F64) -> tuple[float, float]:
    """Return the log ratio of two click rates over strata and its inverse variance; 0, 0 without information."""
    total = views + other_views
    strata = (views > 0) & (other_views > 0)
    n, m, a, b, total = views[strata], other_views[strata], clicks[strata], other_clicks[strata], total[strata]
    # Mantel-Haenszel ratio R = Σ a m/N ÷ Σ b n/N, and the variance of ln R by Greenland & Robins 1985.
    upper, lower = float((a * m / total).sum()), float((b * n / total).sum())
    if upper == 0 or lower == 0:
        return 0.0, 0.0
    variance = float(((n * m * (a + b) - a * b * total) / total**2).sum()) / (upper * lower)
    return float(np.log(upper / lower)), 1.0 / max(variance, _MARGIN)


def _start(counts: Counts) -> F64:
    """Return click rates by rank, the solution if all documents were equally attractive."""
    ranks = counts.ranks - 1
    return _share(group_sum(ranks, counts.clicks), group_sum(ranks, counts.views)) ** 0.5


def _relative(examination: F64) -> F64:
    ratios: F64 = examination / examination[0]
    return ratios


def _share(part: F64, total: F64) -> F64:
    return np.clip(part / np.maximum(total, _MARGIN), _MARGIN, 1.0 - _MARGIN)


def _standardize(features: F64) -> F64:
    """Return columns with mean 0 and deviation 1, and an intercept; missing values are the mean."""
    filled = np.where(np.isnan(features), np.nanmean(features, axis=0), features)
    spread = filled.std(axis=0)
    scaled = (filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.column_stack((scaled, np.ones(len(features))))


def _logistic(values: F64) -> F64:
    chances: F64 = 1.0 / (1.0 + np.exp(-np.clip(values, -30.0, 30.0)))
    return chances


DEBIASING = ("ips", "dr", "pairwise", "naive")
WEIGHTED = ("ips", "dr")  # these need propensities


@dataclass(frozen=True, eq=False)
class Preferences:
    """Weighted pairs of rows of a data set: `better` is preferred to `worse`.

    With `ranks` [pair, 2], the ranks at which both were shown, the weights are counts of sessions, and training
    estimates the trust in these ranks.
    """

    better: I64
    worse: I64
    weights: F64
    ranks: I64 | None = None
    power: float = 0.0  # of pairs with ranks: shrinks trust towards 1, with the exponent 1 / (1 + power)

    def __len__(self) -> int:
        return len(self.better)

    def reindex(self, positions: I64) -> Preferences:
        """Return the pairs after row r has moved to positions[r]; pairs of removed rows (-1) are left out.

        Parameters
        ----------
        positions : ndarray of int64
            New row of each row, -1 for removed rows.
        """
        is_kept = (positions[self.better] >= 0) & (positions[self.worse] >= 0)
        ranks = None if self.ranks is None else self.ranks[is_kept]
        return Preferences(
            positions[self.better[is_kept]], positions[self.worse[is_kept]], self.weights[is_kept], ranks, self.power
        )


def preferences(
    log: ClickLog, data: Dataset, debias: str = "ips", propensities: Propensities | None = None, clip: float = 0.01
) -> Preferences:
    """Return the preference pairs of a log among the documents of a data set.

    The weight of an `ips` pair is the number of clicks on the better document in sessions that showed both, each
    divided by the propensity of its rank (at least `clip`), over the mean number of sessions per query.

    Parameters
    ----------
    log : ClickLog
        The clicks.
    data : Dataset
        The documents; labels are not used.
    debias : {"ips", "dr", "pairwise", "naive"}, default "ips"
        How clicks become preferences.
    propensities : Propensities, optional
        Examination propensities of the ranks, for "ips" and "dr".
    clip : float, default 0.01
        Smallest propensity to divide by.

    Returns
    -------
    Preferences
        Pairs of rows of `data` with weights.

    Examples
    --------
    >>> data = Dataset.from_arrays(np.zeros((2, 1)), [0, 0], ["q", "q"], document_ids=["a", "b"])
    >>> log = ClickLog.of([("q", ["a", "b"], [False, True])])
    >>> pairs = preferences(log, data, "ips", Propensities(np.array([1.0, 0.5]), "given"))
    >>> pairs.better.tolist(), pairs.worse.tolist(), pairs.weights.tolist()
    ([1], [0], [2.0])
    """
    if debias not in DEBIASING:
        raise ConventionError(f"debias must be {', '.join(DEBIASING)}, got {debias!r}")
    if (debias in WEIGHTED) != (propensities is not None):
        raise ConventionError(
            f"{debias} needs propensities" if debias in WEIGHTED else f"{debias} takes no propensities; ips does"
        )
    if not 0 < clip <= 1:
        raise DataError(f"clip must be above 0 and at most 1, got {clip}")
    rows = log.rows_in(data)[log.items]
    if not (log.clicks & (rows >= 0)).any():
        raise DataError(f"no document of {data.name} has a click in the log: check that the ids are the same")
    if debias == "dr" and propensities is not None:
        return _doubly_robust(log, data, propensities, clip)
    first, second = _session_pairs(log, rows, only_unclicked=debias == "pairwise")
    # Inverse propensity scoring (Joachims et al. 2017): a click at a rank that is rarely examined counts more.
    weights = np.ones(len(log.items)) if propensities is None else 1.0 / np.maximum(propensities.at(log.ranks), clip)
    ranks = np.stack((log.ranks[first], log.ranks[second]), 1).astype(np.int64) if debias == "pairwise" else None
    return _sum_sessions(rows[first], rows[second], weights[first], ranks, len(data), len(log) / log.queries)


def estimate_relevance(log: ClickLog, data: Dataset, propensities: Propensities, clip: float = 0.01) -> tuple[F64, F64]:
    """Return the doubly robust estimate of each document's attraction, and its exposure (0: never shown).

    r = γ + (clicks − E γ) / max(E, τ N), with the attraction γ that a logistic regression predicts from the features,
    the exposure E (the sum of the propensities of the ranks at which the document was shown in N sessions of its
    query), and τ = 10 / √(sessions of the log) (Oosterhuis 2022, equation 21 and section 5). With more sessions the
    estimate of a document that is shown comes from its clicks alone; that of others stays γ.

    Parameters
    ----------
    log : ClickLog
        The clicks.
    data : Dataset
        The documents with their features.
    propensities : Propensities
        Examination propensities of the ranks.
    clip : float, default 0.01
        Smallest propensity.

    Returns
    -------
    tuple of two arrays of shape (documents,)
        Attraction and exposure.
    """
    counts, rows = log.counts(), log.rows_in(data)
    shown = rows[counts.items] >= 0
    row, item = rows[counts.items][shown], counts.items[shown]
    seen = np.maximum(propensities.at(counts.ranks[shown]), clip) * counts.views[shown]
    exposure, clicks = group_sum(row, seen, len(data)), group_sum(row, counts.clicks[shown], len(data))
    sessions = np.zeros(len(data))
    sessions[row] = np.bincount(log.query_of(), minlength=log.queries)[log.item_queries[item]]
    table = _standardize(np.asarray(data.features, np.float64))
    weights, is_shown = np.zeros(table.shape[1]), exposure > 0
    for _ in range(_REGRESSION_STEPS):
        last = weights
        weights = _logistic_step(
            table[is_shown], weights, exposure[is_shown], np.minimum(clicks, exposure)[is_shown],
            _logistic(table[is_shown] @ weights), 1.0,
        )  # fmt: skip
        if np.abs(weights - last).max() < _MARGIN:
            break
    attraction = _logistic(table @ weights)
    least = 10.0 / np.sqrt(len(log)) * sessions
    corrected = (clicks - exposure * attraction) / np.where(is_shown, np.maximum(exposure, least), 1.0)
    return attraction + corrected, exposure


def _doubly_robust(log: ClickLog, data: Dataset, propensities: Propensities, clip: float) -> Preferences:
    """Return the pairs of a query's documents, one of them shown, weighted by the difference of their estimates."""
    relevance, exposure = estimate_relevance(log, data, propensities, clip)
    better, worse = [], []
    for start, end in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        values, is_shown = relevance[start:end], exposure[start:end] > 0
        first, second = np.nonzero((values[:, None] > values[None, :]) & (is_shown[:, None] | is_shown[None, :]))
        better.append(start + first)
        worse.append(start + second)
    preferred, other = np.concatenate(better), np.concatenate(worse)
    return Preferences(preferred, other, relevance[preferred] - relevance[other])


def _session_pairs(log: ClickLog, rows: I64, only_unclicked: bool) -> tuple[I64, I64]:
    """Return the log positions of each click and of each other document of its session."""
    clicked = np.flatnonzero(log.clicks & (rows >= 0))
    session = np.searchsorted(log.offsets, clicked, side="right") - 1
    sizes = np.diff(log.offsets)[session]
    first = np.repeat(clicked, sizes)
    ends = np.cumsum(sizes)
    second = np.arange(int(sizes.sum())) + np.repeat(log.offsets[:-1][session] - (ends - sizes), sizes)
    is_pair = (first != second) & (rows[second] >= 0)
    if only_unclicked:
        is_pair &= ~log.clicks[second]
    return first[is_pair], second[is_pair]


def _sum_sessions(better: I64, worse: I64, weights: F64, ranks: I64 | None, size: int, sessions: float) -> Preferences:
    """Return each pair of documents once, with the sum of its weights."""
    keys = better * size + worse
    if ranks is None:
        unique_keys, inverse = np.unique(keys, return_inverse=True)
        return Preferences(unique_keys // size, unique_keys % size, group_sum(inverse, weights) / sessions)
    deepest = int(ranks.max(initial=0)) + 1
    keys = (keys * deepest + ranks[:, 0]) * deepest + ranks[:, 1]
    unique_keys, inverse = np.unique(keys, return_inverse=True)
    pair_ranks = np.stack((unique_keys // deepest % deepest, unique_keys % deepest), 1)
    unique_keys //= deepest**2
    return Preferences(unique_keys // size, unique_keys % size, group_sum(inverse, weights) / sessions, pair_ranks)
