"""Agreement between two assessors: their labels, and the leaderboards under both.

Systems are evaluated under both assessors' labels on the queries that both have. Kendall's τ_b and its top-heavy form
compare the two leaderboards, with intervals over queries. A paired t-test per system, corrected for their number, tests
whether the second assessor favours it. If the second assessor labelled more queries than the first, `ppi_mean`
estimates the mean of the first over all of them (prediction-powered inference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements, coerce_scores
from pippin.data.qrels import Qrels
from pippin.display import Displayable, rows_to_columns
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.correlation import CorrelationInterval, bootstrap
from pippin.evaluation.evaluate import check_measures, name_systems
from pippin.evaluation.evaluation import evaluate_tool
from pippin.evaluation.measures.notation import text_of
from pippin.evaluation.paired_tests import CORRECTIONS, TestInput, adjust, student_t
from pippin.evaluation.rank import to_qrels
from pippin.evaluation.tools import TOOLS, Tool

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

WEIGHTS: dict[str, Callable[[F64], F64]] = {
    "plain": lambda apart: (apart != 0).astype(np.float64), "linear": np.abs, "quadratic": np.square,
}  # fmt: skip
SCALES = ("nominal", "ordinal", "interval")


def confusion(a: ArrayLike, b: ArrayLike) -> tuple[I64, I64]:
    """Return the grades, and how often the first assessor assigned one (row) and the second another (column).

    >>> grades, counts = confusion([0, 2, 2], [0, 2, 0])
    >>> grades.tolist(), counts.tolist()
    ([0, 2], [[1, 0], [1, 1]])
    """
    first, second = np.asarray(a, np.int64), np.asarray(b, np.int64)
    if first.shape != second.shape or first.ndim != 1:
        raise DataError(
            f"two judges must label the same documents, got labels of shape {first.shape} and {second.shape}"
        )
    grades, codes = np.unique(np.concatenate((first, second)), return_inverse=True)
    counts = np.zeros((len(grades), len(grades)), np.int64)
    np.add.at(counts, (codes[: len(first)], codes[len(first) :]), 1)
    return grades, counts


def cohen_kappa(a: ArrayLike, b: ArrayLike, weights: str = "plain") -> float:
    """1 − Σ w·observed / Σ w·expected, expected from the two judges' own margins. Cohen 1960, 1968.

    >>> round(cohen_kappa([0, 1, 2, 2, 1, 0, 3, 1], [0, 1, 1, 2, 2, 0, 3, 0], "quadratic"), 6)
    0.818182
    """
    if weights not in WEIGHTS:
        raise UnknownName("weight of kappa", weights, WEIGHTS)
    return _kappa(*confusion(a, b), weights)


def _kappa(grades: I64, counts: I64, weights: str) -> float:
    weigh = WEIGHTS[weights]((grades[:, None] - grades[None, :]).astype(np.float64))
    total = counts.sum()
    expected = float((weigh * np.outer(counts.sum(1), counts.sum(0))).sum())
    return 1 - float((weigh * counts).sum() * total) / expected if expected else float("nan")


def krippendorff_alpha(a: ArrayLike, b: ArrayLike, scale: str = "ordinal") -> float:
    """1 − observed / expected disagreement of two judges, from the coincidence matrix. Krippendorff 2004.

    >>> round(krippendorff_alpha([0, 1, 2, 2, 1, 0, 3, 1], [0, 1, 1, 2, 2, 0, 3, 0]), 6)
    0.80475
    """
    if scale not in SCALES:
        raise UnknownName("scale of alpha", scale, SCALES)
    return _alpha(*confusion(a, b), scale)


def _alpha(grades: I64, counts: I64, scale: str) -> float:
    coincidences = (counts + counts.T).astype(np.float64)
    margins = coincidences.sum(0)
    n = margins.sum()
    apart = _distances(grades, margins, scale)
    expected = float((np.outer(margins, margins) * apart).sum())
    return 1 - float((coincidences * apart).sum() * (n - 1)) / expected if expected else float("nan")


def _distances(grades: I64, margins: F64, scale: str) -> F64:
    """δ² of every two grades; on the ordinal scale what lies between them, each end counted half."""
    if scale == "nominal":
        return 1.0 - np.eye(len(grades))
    place = np.cumsum(margins) - margins / 2 if scale == "ordinal" else grades.astype(np.float64)
    return np.square(place[:, None] - place[None, :])


@dataclass(frozen=True, eq=False)
class Agreement:
    """How two judges' labels agree, over the documents that both judged."""

    names: tuple[str, str]
    query_ids: tuple[str, ...]  # those with a document that both judged
    sizes: I64  # documents that both judged, by query
    a: I64
    b: I64
    alone: tuple[int, int]  # documents that only the first judged, and only the second

    @cached_property
    def table(self) -> tuple[I64, I64]:
        """The grades and the confusion matrix, the first judge's labels down and the second's across."""
        return confusion(self.a, self.b)

    @cached_property
    def kappa(self) -> dict[str, float]:
        """Cohen's κ by its weights."""
        return {weights: _kappa(*self.table, weights) for weights in WEIGHTS}

    @cached_property
    def alpha(self) -> dict[str, float]:
        """Krippendorff's α by its scale."""
        return {scale: _alpha(*self.table, scale) for scale in SCALES}

    def by_grade(self) -> dict[str, Any]:
        """Return a row per grade: its count by assessor, by both for one document, and its κ against the rest."""
        rows = []
        grades, counts = self.table
        for i, grade in enumerate(grades.tolist()):
            kappa = cohen_kappa(self.a == grade, self.b == grade)
            rows.append((grade, int(counts[i].sum()), int(counts[:, i].sum()), int(counts[i, i]), kappa))
        return rows_to_columns(rows, "grade", "first", "second", "both", "kappa")

    def to_dict(self) -> dict[str, Any]:
        """Return a row per query: documents with two labels, share of equal labels, quadratic κ and ordinal α."""
        rows, start = [], 0
        for query, size in zip(self.query_ids, self.sizes.tolist(), strict=True):
            a, b = self.a[start : start + size], self.b[start : start + size]
            rows.append((query, size, float((a == b).mean()), cohen_kappa(a, b, "quadratic"), krippendorff_alpha(a, b)))
            start += size
        return rows_to_columns(rows, "query", "documents", "equal", "kappa", "alpha")


def read_labels(labels: Any, merge_queries: bool = False) -> Qrels:
    """Qrels by document id, from whatever people hand over."""
    data = coerce_judgements(labels, merge_queries=merge_queries)
    return to_qrels(data) if isinstance(data, Dataset) else data


def both_labels(a: Any, b: Any) -> tuple[Qrels, Qrels]:
    """Return the labels of two assessors, with their names."""
    first, second = read_labels(a), read_labels(b)
    if first.name == second.name:
        return replace(first, name="the first"), replace(second, name="the second")
    return first, second


def agreement(a: Any, b: Any) -> Agreement:
    """Return how the labels of two assessors agree; judgements are matched by query and document.

    >>> result = agreement({"q": {"x": 0, "y": 1, "z": 2}}, {"q": {"x": 0, "y": 1, "w": 2}})
    >>> result.kappa["plain"], result.alone
    (1.0, (1, 1))
    """
    first, second = both_labels(a, b)
    first_labels, second_labels = first.by_query(), second.by_query()
    queries, sizes, pairs = [], [], []
    for query, labels in first_labels.items():
        again = second_labels.get(query, {})
        both = [(label, again[document]) for document, label in labels.items() if document in again]
        if both:
            queries.append(query)
            sizes.append(len(both))
            pairs += both
    if not pairs:
        raise DataError(f"{first.name} and {second.name} have no document in common")
    columns = np.array(pairs, np.int64)
    alone = (len(first.labels) - len(pairs), len(second.labels) - len(pairs))
    return Agreement(
        (first.name, second.name), tuple(queries), np.array(sizes), columns[:, 0].copy(), columns[:, 1].copy(), alone
    )


@dataclass(frozen=True)
class Estimate:
    """An estimated mean with its interval; `weight` is λ, how far the model is relied on: 0 not at all, 1 in full."""

    method: str
    value: float
    error: float
    low: float
    high: float
    weight: float
    human: int
    model: int


METHODS = ("human", "ppi", "ppi++")


def ppi_mean(
    human: ArrayLike, model: ArrayLike, more: ArrayLike, method: str = "ppi++", level: float = 0.95
) -> Estimate:
    """Estimate the mean over all queries that the labels of people would give.

    human   a value per query under human labels
    model   the values of the same queries under the model's labels
    more    the values of further queries under the model's labels
    method  human (the model is not used), ppi or ppi++

    >>> found = ppi_mean([0.5, 0.7, 0.2, 0.9], [0.6, 0.8, 0.4, 0.9], [0.7, 0.5, 0.6, 0.9, 0.8, 0.4, 0.6, 0.7], "ppi")
    >>> round(found.value, 6), round(found.error, 6)
    (0.55, 0.069864)
    """
    if method not in METHODS:
        raise ConventionError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not 0 < level < 1:
        raise ConventionError(f"level must be between 0 and 1, got {level}")
    y, f, g = (np.asarray(values, np.float64) for values in (human, model, more))
    if y.shape != f.shape or y.ndim != 1 or g.ndim != 1:
        raise DataError(f"human and model values must belong to the same queries, got shapes {y.shape} and {f.shape}")
    if len(y) < 2 or len(g) < 2:
        raise DataError(f"at least 2 queries with human labels and 2 without are needed, got {len(y)} and {len(g)}")
    if not all(np.isfinite(values).all() for values in (y, f, g)):
        raise DataError("the values of all queries must be finite numbers")
    value, error, weight, freedom = (float(x[0]) for x in ppi_rows(y[None], f[None], g[None], method))
    from scipy.special import stdtrit

    half = -float(stdtrit(freedom, (1 - level) / 2)) * error if error else 0.0
    return Estimate(method, value, error, value - half, value + half, weight, len(y), len(g))


def ppi_rows(y: F64, f: F64, more: F64, method: str) -> tuple[F64, F64, F64, F64]:
    """Estimates, standard errors, weights and degrees of freedom, a row of values each.

    θ = mean y + λ (mean more − mean f), variance λ²·var(more)/N + var(y − λf)/n; λ is 1 for PPI, and for PPI++
    cov(y, f) / ((1 + n/N) var of all f) within [0, 1].
    """
    n, further = y.shape[1], more.shape[1]
    weight = np.full(len(y), 0.0 if method == "human" else 1.0)
    if method == "ppi++":
        spread = np.concatenate((f, more), axis=1).var(axis=1, ddof=1) * (1 + n / further)
        together = ((y - y.mean(1, keepdims=True)) * (f - f.mean(1, keepdims=True))).sum(1) / (n - 1)
        weight = np.clip(np.divide(together, spread, out=np.zeros(len(y)), where=spread > 0), 0.0, 1.0)
    value = y.mean(1) + weight * (more.mean(1) - f.mean(1))
    of_model = weight**2 * more.var(axis=1, ddof=1) / further
    of_human = (y - weight[:, None] * f).var(axis=1, ddof=1) / n
    total = of_model + of_human
    below = of_model**2 / (further - 1) + of_human**2 / (n - 1)
    freedom = np.divide(total**2, below, out=np.full(len(y), n - 1.0), where=below > 0)
    return value, np.sqrt(total), weight, freedom


COEFFICIENTS = ("tau_b", "tau_ap_b")


@dataclass(frozen=True)
class SystemBias:
    """One system under both judges: its means, how much more the second lifts it than the others, and is it chance."""

    system: str
    first: float
    second: float
    lift: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, eq=False, repr=False)
class AssessorAgreement(Displayable):
    """Two judges: how their labels agree and, where systems were given, what that does to them."""

    agreement: Agreement
    measure: str
    queries: tuple[str, ...]  # that both judges have
    systems: tuple[SystemBias, ...]
    correlations: tuple[CorrelationInterval, ...]
    estimates: Mapping[str, tuple[Estimate, ...]]  # system, or "a − b" → by method

    def to_dict(self) -> dict[str, Any]:
        """Return a row per query with its agreement of labels."""
        return self.agreement.to_dict()


def measure_system_bias(
    first: F64, second: F64, systems: tuple[str, ...], correction: str = "holm"
) -> tuple[SystemBias, ...]:
    """Test whether the second assessor favours a system; values are queries × systems.

    With d = second − first: a t-test of each system's d minus the mean d of the other systems, corrected.
    """
    lifts = second - first
    count = lifts.shape[1]
    mean_of_rest = (lifts.sum(1, keepdims=True) - lifts) / (count - 1)
    relative = np.column_stack((lifts - mean_of_rest, np.zeros(len(lifts))))
    p = student_t(TestInput(relative, np.arange(count, dtype=np.int32), np.full(count, count, np.int32))).p
    adjusted = adjust(p, correction)
    return tuple(
        SystemBias(system, float(first[:, s].mean()), float(second[:, s].mean()), float(relative[:, s].mean()),
               float(p[s]), float(adjusted[s]))
        for s, system in enumerate(systems)
    )  # fmt: skip


def agree(
    a: Any,
    b: Any,
    runs: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    measure: Any = "NDCG@10",
    tool: str | Tool = "official",
    correction: str = "holm",
    resamples: int = 1000,
    seed: int = 0,
) -> AssessorAgreement:
    """Measure how two assessors' labels agree, and whether systems are ordered alike under both.

    Parameters
    ----------
    a, b : judgements, as in `evaluate`
        `a` is the trusted assessor (people), `b` the one in question (a model).
    runs : dict or list, optional
        Runs by name, or files; the leaderboards of two or more are compared.
    measure, tool
        What the leaderboards show, as in `evaluate`.
    correction : str, default "holm"
        Correction of the tests of whether `b` favours a system.
    resamples, seed : int
        Number of resamples and random seed of the intervals over queries.

    Returns
    -------
    AssessorAgreement
        The agreement of labels; with several runs also of leaderboards, and a test of whether `b` favours a system.

    Examples
    --------
    >>> people, model = {"q": {"x": 0, "y": 1}}, {"q": {"x": 0, "y": 2}}
    >>> agree(people, model).agreement.table[1].tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    text = text_of(measure)
    rules = TOOLS[tool] if isinstance(tool, str) else tool
    check_measures([text], [rules])
    CORRECTIONS[correction]  # report an unknown name before anything is read
    first, second = both_labels(a, b)
    labels = agreement(first, second)
    if not runs:
        return AssessorAgreement(labels, text, (), (), (), {})
    runs = name_systems(runs)
    systems = tuple(runs)
    tables = [_values(qrels, runs, text, rules) for qrels in (first, second)]
    both = tuple(query for query in tables[0] if query in tables[1])
    if len(both) < 2:
        raise DataError(f"{first.name} and {second.name} have {len(both)} queries in common; 2 or more are needed")
    y, f = (np.array([table[query] for query in both]) for table in tables)
    correlations: tuple[CorrelationInterval, ...] = ()
    favoured: tuple[SystemBias, ...] = ()
    if len(systems) > 1:
        correlations = tuple(bootstrap(y, f, name, resamples=resamples, seed=seed) for name in COEFFICIENTS)
        favoured = measure_system_bias(y, f, systems, correction)
    more = np.array([values for query, values in tables[1].items() if query not in tables[0]])
    return AssessorAgreement(labels, text, both, favoured, correlations, _estimates(y, f, more, systems))


def _values(qrels: Qrels, runs: Mapping[str, Any], measure: str, tool: Tool) -> dict[str, list[float]]:
    """Return query → a value per system, for queries with a value of all systems."""
    columns = []
    for name, run in runs.items():
        column = evaluate_tool(qrels, coerce_scores(run, qrels), [measure], tool, {}, name).columns[0]
        columns.append(dict(zip(column.query_ids, column.values.tolist(), strict=True)))
    rows = {query: [column.get(query, float("nan")) for column in columns] for query in columns[0]}
    return {query: values for query, values in rows.items() if np.isfinite(values).all()}


def _estimates(y: F64, f: F64, more: F64, systems: tuple[str, ...]) -> dict[str, tuple[Estimate, ...]]:
    """Return the estimates by system and by pair, if only the second assessor judged some queries."""
    if len(more) < 2:
        return {}
    results = {
        system: tuple(ppi_mean(y[:, s], f[:, s], more[:, s], method) for method in METHODS)
        for s, system in enumerate(systems)
    }
    for i, j in combinations(range(len(systems)), 2):
        results[f"{systems[i]} − {systems[j]}"] = tuple(
            ppi_mean(y[:, i] - y[:, j], f[:, i] - f[:, j], more[:, i] - more[:, j], method) for method in METHODS
        )
    return results
