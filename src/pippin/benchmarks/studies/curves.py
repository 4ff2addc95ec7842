"""Feature-selection curves and learning curves."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.inputs import Input, InputOptions, cache_folds, check_inputs, resolve_inputs
from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.plan import Experiment, first_seeds
from pippin.benchmarks.runner import check_extras, run
from pippin.benchmarks.store import Results
from pippin.benchmarks.studies.baselines import BaselineComparison, compare_with_baseline, first_reason
from pippin.data.folds import Folds
from pippin.errors import ConventionError, DataError
from pippin.kernels.statistics import bootstrap_means
from pippin.rankers.chains import ARROW, canonical, parse_parameters
from pippin.rankers.steps import step as find_step

F64 = NDArray[np.float64]
SIZES = (1, 2, 3, 5, 8, 13, 21, 34)  # numbers of features
SIZE_PARAMETERS = ("n_features", "n_components")  # parameters of steps for the number of features
QUERIES = (5, 10, 20, 40, 80, 160, 320)  # numbers of training queries
_RESAMPLES = 2000  # of a bootstrap over queries


@dataclass(frozen=True)
class FeatureCurve:
    """The values of a ranker on one data set with all features, and with fewer."""

    data: str
    step: str
    ranker: str
    measure: str
    features: int
    all_features: BaselineComparison
    points: tuple[tuple[int, BaselineComparison], ...]  # by number of features, ascending
    selected: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # number → feature → folds that select it
    folds: int = 0

    @property
    def smallest(self) -> int | None:
        """The smallest number of features that is not significantly worse than all features, if any."""
        return next((k for k, point in self.points if point.verdict != "worse"), None)


@dataclass(frozen=True)
class Crossover:
    """The number of queries from which a ranker stays ahead of a second one, with a 95 % interval; inf for never."""

    ranker: str
    second: str
    queries: float
    low: float
    high: float


@dataclass(frozen=True)
class LearningCurves:
    """The learning curves of one data set."""

    data: str
    measure: str
    n_queries: int  # queries of a training part, mean over folds
    curves: Mapping[str, tuple[tuple[int, float, float, float], ...]]  # ranker → (queries, mean, low, high)
    crossovers: tuple[Crossover, ...]


def feature_curve(
    data: Sequence[str], output: str | os.PathLike[str], *, step: str = "gas", ranker: str = "ranksvm",
    sizes: Sequence[int] = SIZES, measure: str = "NDCG@10", quick: bool = False, folds: int = 5, sample: int = 1000,
    **run_options: Any,
) -> list[FeatureCurve]:  # fmt: skip
    """Compute the feature curve of each data set.

    Parameters
    ----------
    data : sequence of str
        DATA arguments as of `pippin.bench`.
    output : path
        Folder of the results.
    step : str, default "gas"
        Step that selects or reduces features, with a parameter `n_features` or `n_components`.
    ranker : str, default "ranksvm"
        Ranker to train on the features.
    sizes : sequence of int
        Numbers of features; those above the number of features are left out.
    measure : str, default "NDCG@10"
        Measure of the curve and of hyper-parameter selection.
    quick, folds, sample
        As of `pippin.bench`.
    **run_options
        Further arguments of `pippin.benchmarks.runner.run`.

    Returns
    -------
    list of FeatureCurve
        One curve per data set.

    Examples
    --------
    >>> curves = feature_curve(["MQ2008"], "results", step="gas", quick=True)  # doctest: +SKIP
    """
    _size_parameter(step)
    curves = []
    for source, source_folds in _open_inputs(data, output, folds, sample, [canonical(ranker)]):
        width = source_folds.data.features.shape[1]
        chains = {k: _with_size(step, ranker, k) for k in sorted(set(sizes)) if k < width}
        plan = Experiment(
            (f"{source.data}={source.path}",), rankers=(canonical(ranker), *chains.values()), tools=("official",),
            measures=tuple(dict.fromkeys((measure, "MAP"))), select=measure, quick=quick, folds=folds,
        )  # fmt: skip
        results = run(plan, output, **run_options).results
        curves.append(_feature_curve(results, source.data, step, canonical(ranker), chains, measure, width))
    return curves


def _open_inputs(
    data: Sequence[str], output: str | os.PathLike[str], folds: int, sample: int, rankers: Sequence[str]
) -> Iterator[tuple[Input, Folds]]:
    """Yield the data sets with their folds, cached in the results folder."""
    check_extras(rankers)
    check_inputs(data)
    folder = Results.create(output).path
    for source in resolve_inputs(data, InputOptions(folds, sample=sample, cache=folder / "collections")):
        yield source, cache_folds(source, folder / "folds")[0]


def uses_source(rankers: Sequence[str], data: str) -> bool:
    """Return whether one of the chains transfers from a data set of this name.

    >>> chains = ["transfer(source_data=old) > mart"]
    >>> uses_source(chains, "old"), uses_source(chains, "older")
    (True, False)
    """
    return any(
        value == data
        for text in rankers
        for key, value in parse_parameters(text).items()
        if key.endswith("__source_data")
    )


def _size_parameter(step: str) -> str:
    """Return the name of the parameter of a step that is the number of features."""
    parameters = find_step(canonical(step).partition("(")[0]).parameters
    size = next((name for name in SIZE_PARAMETERS if name in parameters), None)
    if size is None:
        raise ConventionError(f"{step} does not reduce features; choose a step with n_features or n_components")
    return size


def _with_size(step: str, ranker: str, k: int) -> str:
    """Return the chain of a step, with its number of features added to its other parameters, and a ranker."""
    name, _, inside = step.strip().removesuffix(")").partition("(")
    return canonical(f"{name}({_size_parameter(step)}={k}{',' if inside else ''}{inside}){ARROW}{ranker}")


def _feature_curve(
    results: Results, data: str, step: str, ranker: str, chains: Mapping[int, str], measure: str, width: int
) -> FeatureCurve:
    all_features, *points = compare_with_baseline(results, data, ranker, list(chains.values()), measure)
    by_name = {point.ranker: point for point in points}
    kept_features, folds = {}, 0
    for k, text in chains.items():
        counts, models = _count_selected(results, data, text)
        kept_features[k], folds = counts, max(folds, models)
    reached = tuple((k, by_name[text]) for k, text in chains.items() if text in by_name)
    return FeatureCurve(data, step, ranker, measure, width, all_features, reached, kept_features, folds)


def _count_selected(results: Results, data: str, ranker: str) -> tuple[dict[str, int], int]:
    """Return the number of models of a chain that select each feature, largest first, and the number of models."""
    from pippin.rankers.models import load
    from pippin.rankers.steps import Selector

    counts: Counter[str] = Counter()
    models = 0
    for cell in (cell for cell in results.cells if (cell.key[0], cell.key[2]) == (data, ranker)):
        step = load(cell.model)
        models += 1
        first = getattr(step, "step_", None)
        if isinstance(first, Selector):
            counts.update(first.feature_names_[i] for i in first.order_)
    return dict(counts.most_common()), models


def learning_curves(
    data: Sequence[str], output: str | os.PathLike[str], *, rankers: Sequence[str] = ("ranksvm", "lambdamart"),
    sizes: Sequence[int] = QUERIES, measure: str = "NDCG@10", seeds: int = 3, quick: bool = False, folds: int = 5,
    sample: int = 1000, targets: Sequence[str] = (), **run_options: Any,
) -> list[LearningCurves]:  # fmt: skip
    """Compute the learning curves of each data set.

    Parameters
    ----------
    data : sequence of str
        DATA arguments as of `pippin.bench`.
    output : path
        Folder of the results.
    rankers : sequence of str
        Rankers or chains, such as ``transfer(source_data=X) > ranksvm``.
    sizes : sequence of int
        Numbers of training queries, below the number of all queries, which is the last point.
    measure : str, default "NDCG@10"
        Measure of the curves and of hyper-parameter selection.
    seeds : int, default 3
        Number of random samples of queries of each size.
    quick, folds, sample
        As of `pippin.bench`.
    targets : sequence of str, default all
        Data sets to compute curves of; the others are only sources of transfer learning.
    **run_options
        Further arguments of `pippin.benchmarks.runner.run`.

    Returns
    -------
    list of LearningCurves
        One per data set.

    Examples
    --------
    >>> curves = learning_curves(["MQ2008"], "results", sizes=(10, 50), quick=True)  # doctest: +SKIP
    """
    curves = []
    inputs = list(_open_inputs(data, output, folds, sample, [canonical(ranker) for ranker in rankers]))
    for source, source_folds in inputs:
        if targets and source.data not in targets:
            continue
        n_queries = round(float(np.mean([len(source_folds.queries[fold.name]["train"]) for fold in source_folds])))
        sizes_below = [n for n in sorted(set(sizes)) if n < n_queries]
        chains = {(r, n): canonical(f"queries({n}){ARROW}{r}") for r in rankers for n in sizes_below}
        transfer_sources = [other for other, _ in inputs if other != source and uses_source(rankers, other.data)]
        plan = Experiment(
            tuple(f"{needed.data}={needed.path}" for needed in (source, *transfer_sources)),
            rankers=tuple(dict.fromkeys((*map(canonical, rankers), *chains.values()))), tools=("official",),
            measures=tuple(dict.fromkeys((measure, "MAP"))), select=measure, quick=quick, folds=folds,
            seeds=first_seeds(seeds),
        )  # fmt: skip
        results = run(plan, output, **run_options).results
        chains |= {(r, n_queries): canonical(r) for r in rankers}
        curves.append(_learning_curves(results, source.data, list(rankers), [*sizes_below, n_queries], chains, measure))
    return curves


def _learning_curves(
    results: Results, data: str, rankers: list[str], numbers: list[int], chains: Mapping[tuple[str, int], str],
    measure: str,
) -> LearningCurves:  # fmt: skip
    board = leaderboard(results, data, measure, "official")
    curves: dict[str, tuple[tuple[int, float, float, float], ...]] = {}
    tables: dict[str, F64] = {}
    for ranker in rankers:
        finished = [n for n in numbers if chains[ranker, n] in board.by_ranker]
        points = [board.by_ranker[chains[ranker, n]] for n in finished]
        curves[ranker] = tuple((n, p.mean, p.low, p.high) for n, p in zip(finished, points, strict=True))
        if not finished:  # these data are the source of its transfer learning
            del curves[ranker]
        if finished == numbers:
            tables[ranker] = board.values[:, [board.rankers.index(chains[ranker, n]) for n in numbers]]
    if not curves:
        raise DataError(f"all rankers lack cells on {data}{first_reason(board.gaps)}")
    pairs = [(a, b) for a in tables for b in tables if a != b and (kind(a), kind(b)) == ("trees", "linear")]
    crossovers = tuple(find_crossover(a, b, numbers, tables[a] - tables[b]) for a, b in pairs)
    return LearningCurves(data, measure, numbers[-1], curves, crossovers)


def kind(ranker: str) -> str:
    """Return whether a ranker is "linear", "trees" or "another" function of the features."""
    from pippin.rankers import Chain
    from pippin.rankers import ranker as find
    from pippin.rankers.boosting import BoostedRanker
    from pippin.rankers.linear import LinearRanker
    from pippin.rankers.stumps import StumpRanker

    cls = find(ranker)
    cls = cls.last if issubclass(cls, Chain) else cls
    if issubclass(cls, BoostedRanker | StumpRanker):
        return "trees"
    return "linear" if issubclass(cls, LinearRanker) else "another"


def find_crossover(ranker: str, other: str, numbers: Sequence[int], differences: F64) -> Crossover:
    """Return where the mean of `differences` (queries × numbers) becomes positive for good, with an interval."""
    table = differences[~np.isnan(differences).any(axis=1)]
    estimate = crossing(numbers, table.mean(axis=0))
    samples = bootstrap_means(np.ascontiguousarray(table), begin=0, end=_RESAMPLES, seed=1)
    crossings = np.sort([crossing(numbers, means) for means in np.asarray(samples).reshape(_RESAMPLES, -1)])
    return Crossover(
        ranker, other, estimate, float(crossings[int(0.025 * _RESAMPLES)]), float(crossings[int(0.975 * _RESAMPLES)])
    )


def crossing(numbers: Sequence[int], differences: Sequence[float] | F64) -> float:
    """Return the number from which all differences are at least 0, interpolated on a log scale; inf for never.

    >>> crossing([10, 40], [-0.1, 0.1]), crossing([10, 40], [0.1, 0.2]), crossing([10, 40], [0.1, -0.1])
    (20.0, 10.0, inf)
    """
    negative = [i for i, value in enumerate(differences) if value < 0]
    if not negative:
        return float(numbers[0])
    last = negative[-1]
    if last == len(numbers) - 1:
        return math.inf
    share = -differences[last] / (differences[last + 1] - differences[last])
    logs = math.log(numbers[last]), math.log(numbers[last + 1])
    return round(math.exp(logs[0] + float(share) * (logs[1] - logs[0])), 6)
