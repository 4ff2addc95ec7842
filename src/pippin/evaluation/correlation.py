"""Rank correlation of two score lists or leaderboards, with bootstrap intervals over queries.

The bootstrap draws queries with replacement, takes every system's mean over them in both matrices, and correlates the
two rankings of systems again.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.data.matrix import Matrix, read_matrix
from pippin.display import Displayable, rows_to_columns
from pippin.errors import ConventionError, DataError
from pippin.kernels import statistics as kernel
from pippin.registry import Registry

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Top = Literal["high", "low"]
OverlapTies = Literal["w", "a", "b"]


@dataclass(frozen=True, repr=False)
class Correlation(Displayable):
    """A rank correlation of two lists.

    Attributes
    ----------
    name : str
        The coefficient.
    value : float
        Its value; NaN if it is undefined.
    n : int
        Number of items.
    top : {"high", "low"}
        Which end of the numbers is the top.
    ties_x, ties_y : int
        Number of tied pairs in each list.
    reason : str
        Why the value is NaN or the interval is missing; empty otherwise.
    low, high : float
        95 % bootstrap interval over queries; NaN without matrices.
    """

    name: str
    value: float
    n: int
    best: Top
    ties_x: int
    ties_y: int
    reason: str = ""
    low: float = math.nan
    high: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return one row."""
        return {field.name: [getattr(self, field.name)] for field in fields(self)}

    def __str__(self) -> str:
        value = f"NaN, because {self.reason}" if self.reason else f"{self.value:.6f}"
        ties = f"tied pairs: {self.ties_x} in x, {self.ties_y} in y"
        return f"{self.name} = {value} ({self.n} items, best = {self.best}, {ties})"


class Correlations(Displayable, Mapping[str, Correlation]):
    """Several coefficients of the same two lists, by name."""

    def __init__(self, correlations: Sequence[Correlation]) -> None:
        self._by_name = {correlation.name: correlation for correlation in correlations}

    def __getitem__(self, name: str) -> Correlation:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def to_dict(self) -> dict[str, Any]:
        """Return a column per field and a row per coefficient."""
        names = [field.name for field in fields(Correlation)]
        return rows_to_columns([[getattr(row, name) for name in names] for row in self.values()], *names)


@dataclass(frozen=True)
class Pair:
    """Two rankings and the options of a coefficient."""

    x: I64
    y: I64
    p: float = 0.9
    ties: OverlapTies = "w"

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.x[0])

    @property
    def total(self) -> int:
        """The number of pairs of items."""
        return self.n * (self.n - 1) // 2


@dataclass(frozen=True)
class Coefficient:
    """What a coefficient accepts and how it is computed."""

    compute: Callable[[Pair], float]
    no_ties_in: str = ""  # "", "x" or "xy"
    instead: str = ""  # what to use when it refuses ties
    undefined_if_all_tied: bool = False
    tolerance_in: str = ""  # the rankings that a tolerance applies to
    options: tuple[str, ...] = ()


def _tau(pair: Pair) -> float:
    counts = kernel.count_pairs(pair.x, pair.y)
    return (counts.concordant - counts.discordant) / pair.total


def _tau_b(pair: Pair) -> float:
    counts = kernel.count_pairs(pair.x, pair.y)
    # One root of the product, not two roots: equal factors then give back exactly the factor.
    expected = math.sqrt((pair.total - counts.tied_x) * (pair.total - counts.tied_y))
    return (counts.concordant - counts.discordant) / expected


def _tau_truth_ties(pair: Pair) -> float:
    counts = kernel.count_pairs(pair.x, pair.y)
    return (2 * (counts.concordant + counts.tied_both) - pair.total) / pair.total


def _tau_ap_a(pair: Pair) -> float:
    return 2.0 * kernel.share_above_in_orders(pair.x, pair.y, "half") - 1.0


def _tau_ap_truth_ties(pair: Pair) -> float:
    return 2.0 * kernel.share_above_in_orders(pair.x, pair.y, "agreed") - 1.0


def _tau_ap_ties(pair: Pair) -> float:
    return 2.0 * kernel.share_above(pair.x, pair.y) - 1.0


def _tau_ap_b(pair: Pair) -> float:
    return (_tau_ap_ties(pair) + _tau_ap_ties(Pair(pair.y, pair.x))) / 2.0


def _spearman(pair: Pair) -> float:
    # Twice the mid-rank, less twice the mean rank: whole numbers, so that only the sums round.
    x, y = ((r[1] + r[2] - pair.n).astype(np.float64) for r in (pair.x, pair.y))
    return float((x * y).sum()) / math.sqrt(float((x * x).sum()) * float((y * y).sum()))


def _rbo(pair: Pair) -> float:
    return kernel.rank_biased_overlap(pair.x, pair.y, pair.p, pair.ties)


COEFFICIENTS: Registry[Coefficient] = Registry("correlation coefficient")
for _name, _coefficient in {
    "tau": Coefficient(_tau, "xy", "tau_a allows ties in y, tau_b in both"),
    "tau_a": Coefficient(_tau, "x", "tau_b allows ties in both", tolerance_in="y"),
    "tau_b": Coefficient(_tau_b, undefined_if_all_tied=True, tolerance_in="xy"),
    "tau_ap": Coefficient(_tau_ap_ties, "xy", "tau_ap_a allows ties in y, tau_ap_b in both"),
    "tau_ap_a": Coefficient(_tau_ap_a, "x", "tau_ap_b allows ties in both"),
    "tau_ap_ties": Coefficient(_tau_ap_ties, undefined_if_all_tied=True, tolerance_in="xy"),
    "tau_ap_b": Coefficient(_tau_ap_b, undefined_if_all_tied=True, tolerance_in="xy"),
    "tau_truth_ties": Coefficient(_tau_truth_ties, tolerance_in="xy"),
    "tau_ap_truth_ties": Coefficient(_tau_ap_truth_ties),
    "spearman": Coefficient(_spearman, undefined_if_all_tied=True),
    "rbo": Coefficient(_rbo, options=("p", "ties")),
}.items():
    COEFFICIENTS.register(_name, _coefficient)


def _vector(values: ArrayLike, name: str) -> F64:
    """Return the values as contiguous float64."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "biufO":  # NumPy would silently parse text and cut complex numbers
            raise TypeError
        array = np.ascontiguousarray(raw, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers, one per item") from None
    if raw.ndim != 1:
        raise DataError(f"{name} must have one dimension, got {raw.ndim}")
    missing = np.flatnonzero(np.isnan(array))
    if len(missing):
        raise DataError(f"{name} is NaN for item {missing[0] + 1} of {len(array)}; every item needs a number")
    return array


def _printed_tie(values: F64, order: I64) -> tuple[float, float] | None:
    """Return the first two neighbours in rank order that are equal in 15 significant digits."""
    ranked = values[order]
    with np.errstate(invalid="ignore", over="ignore"):  # infinities
        apart = np.abs(np.diff(ranked)) > 2e-14 * np.maximum(np.abs(ranked[1:]), np.abs(ranked[:-1]))
    for i in np.flatnonzero(~apart):
        first, second = float(ranked[i]), float(ranked[i + 1])
        if first == second or f"{first:.15g}" == f"{second:.15g}":
            return first, second
    return None


def _all_tied(pair: Pair) -> str:
    """Return which ranking ties every pair, as a clause; empty if neither does."""
    x_ties, y_ties = (_tied_pairs(ranking) == pair.total for ranking in (pair.x, pair.y))
    if x_ties and y_ties:
        return "x and y tie all items"
    return "x ties all items" if x_ties else "y ties all items" if y_ties else ""


def _tied_pairs(ranking: I64) -> int:
    return int((ranking[2] - ranking[1] - 1).sum()) // 2


def _check_options(name: str, best: str, options: dict[str, float | str | None]) -> None:
    coefficient = COEFFICIENTS[name]
    accepted = coefficient.options + (("tolerance",) if coefficient.tolerance_in else ())
    for option, value in options.items():
        if value is not None and option not in accepted:
            raise ConventionError(f"{name} takes no {option}")
    if best not in ("high", "low"):
        raise ConventionError(f"best must be 'high' (scores) or 'low' (ranks), got {best!r}")
    tolerance, p, ties = options["tolerance"], options["p"], options["ties"]
    if tolerance is not None and not 0 <= float(tolerance) < math.inf:
        raise ConventionError(f"tolerance must be a finite number of at least 0, got {tolerance}")
    if p is not None and not 0 < float(p) < 1:
        raise ConventionError(f"p must be between 0 and 1, got {p}")
    if ties is not None and ties not in kernel.OVERLAP_TIES:
        raise ConventionError(f"ties must be 'w', 'a' or 'b', got {ties!r}")


def _match_names(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the numbers of both in one order: by name if both have names."""
    if not isinstance(x, Mapping) and not isinstance(y, Mapping):
        return x, y
    if not isinstance(x, Mapping) or not isinstance(y, Mapping):
        raise DataError("x and y must both be dicts by name, or both lists of numbers in the same order")
    _check_same_names(x, y, "x", "y")
    return list(x.values()), [y[item] for item in x]


def _check_same_names(x: Mapping[str, Any], y: Mapping[str, Any], x_label: str, y_label: str) -> None:
    for label, items, expected in ((x_label, x, y), (y_label, y, x)):
        missing = [item for item in expected if item not in items]
        if missing:
            raise DataError(f"{label} lacks {missing[0]!r}, which the other has ({len(missing)} missing in all)")


def _read_pair(x: str | os.PathLike[str], y: str | os.PathLike[str] | None) -> tuple[F64, F64, bool]:
    """Read two leaderboards as vectors, or two matrices as queries × systems; the flag tells matrices.

    A single file has two columns of numbers.
    """
    a = read_matrix(os.fspath(x))
    if y is None:
        if a.values.shape[1] != 2:
            message = f"found {a.values.shape[1]} columns of numbers; a single file needs two, or pass a second file"
            raise DataError(message, a.file)
        return a.values[:, 0], a.values[:, 1], False
    b = read_matrix(os.fspath(y))
    if a.values.shape[1] > 1 and b.values.shape[1] > 1:
        b_values = b.values[:, _matching_positions(a, a.columns, b, b.columns)]
        if a.rows and b.rows and a.rows != b.rows:
            raise DataError("the two matrices have different queries, or the same in another order", b.file)
        if len(a.values) != len(b_values):
            raise DataError(f"found {len(b_values)} queries; the other file has {len(a.values)}", b.file)
        return a.values, np.ascontiguousarray(b_values), True
    for matrix in (a, b):
        if matrix.values.shape[1] != 1:
            raise DataError(f"found {matrix.values.shape[1]} columns of numbers; the other file has one", matrix.file)
    return a.values[:, 0], b.values[_matching_positions(a, a.rows, b, b.rows), 0], False


def _matching_positions(a: Matrix, a_names: Sequence[str], b: Matrix, b_names: Sequence[str]) -> I64:
    """Return where each name of `a` stands in `b`; without names in both, the order of `b` itself."""
    if not a_names or not b_names:
        return np.arange(b.values.shape[1] if b_names is b.columns else len(b.values))
    positions = [{name: i for i, name in enumerate(names)} for names in (a_names, b_names)]
    _check_same_names(positions[0], positions[1], a.file, b.file)
    for matrix, names, position in ((a, a_names, positions[0]), (b, b_names, positions[1])):
        if len(position) != len(names):
            raise DataError("duplicate name", matrix.file)
    return np.array([positions[1][name] for name in a_names], np.int64)


Items = ArrayLike | Mapping[Any, float] | str | os.PathLike[str]


@overload
def correlate(
    x: Items, y: Items | None = ..., coefficient: str = ..., *, best: Top = ..., tolerance: float | None = ...,
    p: float | None = ..., ties: OverlapTies | None = ..., resamples: int = ..., seed: int = ...,
) -> Correlation: ...  # fmt: skip
@overload
def correlate(
    x: Items, y: Items | None, coefficient: list[str] | tuple[str, ...] | None, *, best: Top = ...,
    tolerance: float | None = ..., p: float | None = ..., ties: OverlapTies | None = ..., resamples: int = ...,
    seed: int = ...,
) -> Correlations: ...  # fmt: skip
def correlate(
    x: Items,
    y: Items | None = None,
    coefficient: str | Sequence[str] | None = "tau_b",
    *,
    best: Top = "high",
    tolerance: float | None = None,
    p: float | None = None,
    ties: OverlapTies | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Correlation | Correlations:
    """Correlate the order that two lists give to the same items.

    Parameters
    ----------
    x, y : array_like of shape (n_items,), dict, or path
        A number per item in the same order, dicts by item name in any order, or files: two leaderboards (name,
        score), two columns of numbers, or two matrices, queries × systems. Matrices are correlated by their means,
        with 95 % bootstrap intervals over queries. A single file `x` has two columns of numbers.
    coefficient : str, list of str or None, default "tau_b"
        Names from `pippin.correlation.COEFFICIENTS`. None computes all; those that the data do not allow are NaN.
    best : {"high", "low"}, default "high"
        "high" for scores, "low" for ranks.
    tolerance : float, optional
        Items closer than this are tied, for coefficients that allow it.
    p, ties : optional
        Options of rbo.
    resamples, seed : int, default 1000 and 0
        Number of bootstrap resamples and random seed of the intervals.

    Returns
    -------
    Correlation or Correlations
        `Correlations` if `coefficient` is a list or None.

    Raises
    ------
    ConventionError
        If a coefficient does not allow ties and a list has some.
    DataError
        If the two do not have the same items.

    Examples
    --------
    >>> correlate({"bm25": 0.2, "lm": 0.3}, {"lm": 0.6, "bm25": 0.5}).value
    1.0
    >>> print(correlate([1, 2, 3.5, 3.5, 5, 6], [2, 4, 1, 4, 6, 4], "tau_ap_b", best="low"))
    tau_ap_b = 0.140000 (6 items, best = low, tied pairs: 1 in x, 3 in y)
    >>> print(correlate([0.3, 0.2], [0.5, 0.5], "tau_b"))
    tau_b = NaN, because y ties all items (2 items, best = high, tied pairs: 0 in x, 1 in y)
    >>> correlate([3, 2, 1], [3, 1, 2], ["tau_b", "spearman"])["spearman"].value
    0.5
    """
    is_single = isinstance(coefficient, str)
    names = [coefficient] if isinstance(coefficient, str) else list(coefficient or COEFFICIENTS)
    for name in names:
        COEFFICIENTS[name]  # report an unknown name before anything is read
    matrices = None
    if isinstance(x, (str, os.PathLike)):
        if not (y is None or isinstance(y, (str, os.PathLike))):
            raise DataError("x and y must both be files, or neither")
        a, b, are_matrices = _read_pair(x, y)
        matrices = (a, b) if are_matrices else None
        first, second = (a.mean(axis=0), b.mean(axis=0)) if are_matrices else (a, b)
    else:
        first, second = _match_names(x, y)
    results = []
    for name in names:
        allowed = tolerance if is_single or COEFFICIENTS[name].tolerance_in else None
        try:
            result = correlate_vectors(first, second, name, best=best, tolerance=allowed, p=p, ties=ties)
        except ConventionError as error:
            if coefficient is not None:
                raise
            result = Correlation(name, math.nan, len(first), best, 0, 0, str(error))
        if matrices is not None and not math.isnan(result.value):
            try:
                interval = bootstrap(*matrices, name, resamples=resamples, seed=seed, best=best, tolerance=allowed)
                result = replace(result, low=interval.low, high=interval.high)
            except ConventionError:  # a resample may have ties that all queries together do not
                result = replace(result, reason="no interval: some resamples have ties, which it does not allow")
        results.append(result)
    return results[0] if is_single else Correlations(results)


def correlate_vectors(
    x: ArrayLike,
    y: ArrayLike,
    name: str,
    *,
    best: Top = "high",
    tolerance: float | None = None,
    p: float | None = None,
    ties: OverlapTies | None = None,
) -> Correlation:
    """Return one coefficient of two lists of numbers in the same order of items."""
    coefficient = COEFFICIENTS[name]
    _check_options(name, best, {"tolerance": tolerance, "p": p, "ties": ties})
    values = {"x": _vector(x, "x"), "y": _vector(y, "y")}
    n, n_y = len(values["x"]), len(values["y"])
    if n != n_y:
        raise DataError(f"x has {n} items and y has {n_y}; both must rank the same items")
    if n < 2:
        raise DataError(f"a correlation needs at least 2 items, got {n}")
    near = {side: float(tolerance or 0.0) if side in coefficient.tolerance_in else 0.0 for side in "xy"}
    ranked = {side: kernel.rank_with_ties(values[side], best == "high", near[side]) for side in "xy"}
    for side in coefficient.no_ties_in:
        tie = _printed_tie(values[side], ranked[side][0])
        if tie is not None:
            alike = repr(tie[0]) if tie[0] == tie[1] else f"{tie[0]!r} and {tie[1]!r} alike at 15 digits"
            message = f"{side} contains ties ({alike}), which {name} does not allow"
            raise ConventionError(f"{message}; {coefficient.instead}")
    pair = Pair(ranked["x"], ranked["y"], 0.9 if p is None else float(p), ties or "w")
    reason = _all_tied(pair) if coefficient.undefined_if_all_tied else ""
    value = math.nan if reason else coefficient.compute(pair)
    return Correlation(name, value, n, best, _tied_pairs(pair.x), _tied_pairs(pair.y), reason)


def clusters(values: ArrayLike, tolerance: float, *, best: Top = "high") -> I64:
    """Return the ranks (1 = top) of groups of items whose neighbours differ by less than a tolerance.

    A chain of close items is one group, however far apart its ends are.

    Parameters
    ----------
    values : array-like of shape (items,)
        Scores or ranks.
    tolerance : float
        Neighbours in rank order that differ by less are in the same group.
    best : {"high", "low"}, default "high"
        Whether high or low values are at the top.

    Returns
    -------
    array of shape (items,)
        Rank of each item's group; use it with ``best="low"``.

    Examples
    --------
    >>> clusters([0.50, 0.49, 0.30, 0.31, 0.10], 0.02)
    array([1, 1, 2, 2, 3])
    """
    _check_options("tau_b", best, {"tolerance": tolerance, "p": None, "ties": None})
    array = _vector(values, "values")
    order = kernel.rank_with_ties(array, best == "high")[0]
    ranks = np.ones(len(array), np.int64)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities
        gaps = np.abs(np.diff(array[order]))
    ranks[order[1:]] += np.cumsum((gaps > 0) & ~(gaps < tolerance))
    return ranks


@dataclass(frozen=True, repr=False)
class CorrelationInterval(Displayable):
    """A coefficient with a percentile interval; `undefined` resamples gave NaN and are left out of it."""

    name: str
    value: float
    low: float
    high: float
    level: float
    resamples: int
    undefined: int
    seed: int
    best: Top
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return one row."""
        return {field.name: [getattr(self, field.name)] for field in fields(self)}

    def __str__(self) -> str:
        left_out = f", {self.undefined} undefined" if self.undefined else ""
        why = f", because {self.reason}" if self.reason else ""
        interval = f"{100 * self.level:g}% interval [{self.low:.6f}, {self.high:.6f}]"
        settings = f"best = {self.best}, {self.resamples} samples{left_out}, seed {self.seed}"
        return f"{self.name} = {self.value:.6f}{why}, {interval} ({settings})"


def _matrix(values: ArrayLike, name: str) -> F64:
    """Return queries × systems as float64."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a matrix of numbers, queries × systems") from None
    if array.ndim != 2 or min(array.shape) < 2:
        raise DataError(f"{name} must have at least 2 queries and 2 systems, got shape {array.shape}")
    if not np.isfinite(array).all():
        query, system = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name} is not finite for query {query + 1}, system {system + 1}")
    return array


def bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    name: str,
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    best: Top = "high",
    tolerance: float | None = None,
    p: float | None = None,
    ties: OverlapTies | None = None,
) -> CorrelationInterval:
    """Return a percentile interval of the rank correlation of systems over resampled queries (Efron 1979).

    A resample may tie systems that are not tied in the whole sample, so coefficients that reject ties may reject here.

    Parameters
    ----------
    a, b : array-like of shape (queries, systems)
        Values of the same queries and systems under two measures, tools or judgements.
    name : str
        A coefficient, such as "tau_b".
    resamples : int, default 1000
        Number of resamples of the queries.
    seed : int, default 0
        Seed of the resamples.
    level : float, default 0.95
        Level of the interval; its ends are the quantiles (1 ∓ level) / 2.
    best : {"high", "low"}, default "high"
        Whether high or low values are at the top.
    tolerance : float, optional
        Items whose values differ by less are tied.
    p : float, optional
        Persistence, for "rbo".
    ties : {"w", "a", "b"}, optional
        Treatment of ties, for "rbo".

    Returns
    -------
    CorrelationInterval
        The coefficient with its interval.

    Examples
    --------
    >>> scores = [[0.1, 0.4, 0.3], [0.2, 0.5, 0.6], [0.0, 0.7, 0.2]]
    >>> interval = bootstrap(scores, scores, "tau_b", resamples=50)
    >>> interval.value, interval.low, interval.high
    (1.0, 1.0, 1.0)
    """
    first, second = _matrix(a, "a"), _matrix(b, "b")
    if first.shape != second.shape:
        raise DataError(f"a is {first.shape}, b is {second.shape}: not the same queries and systems")
    if resamples < 1:
        raise ConventionError(f"samples must be at least 1, got {resamples}")
    if not 0 < level < 1:
        raise ConventionError(f"level must be between 0 and 1, got {level}")

    estimate = correlate_vectors(first.mean(0), second.mean(0), name, best=best, tolerance=tolerance, p=p, ties=ties)
    generator = np.random.default_rng(seed)
    values = np.empty(resamples)
    for sample in range(resamples):
        queries = generator.integers(0, len(first), len(first))
        # A mean down the rows adds every system's scores in one order: equal columns stay exactly tied.
        x, y = first[queries].mean(0), second[queries].mean(0)
        try:
            values[sample] = correlate_vectors(x, y, name, best=best, tolerance=tolerance, p=p, ties=ties).value
        except ConventionError as error:
            raise ConventionError(f"resample {sample + 1}: {error}") from None
    defined = values[~np.isnan(values)]
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(defined, ends) if len(defined) else (math.nan, math.nan)
    undefined = resamples - len(defined)
    return CorrelationInterval(
        name, estimate.value, float(low), float(high), level, resamples, undefined, seed, best, estimate.reason
    )
