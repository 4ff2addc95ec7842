"""How does a ranker do with fewer features, or with fewer queries? Paths of chains, each point a line of a benchmark.

`selection` trains `gas(k=1) > ranksvm`, `gas(k=2) > ranksvm` … and says which is the smallest set that is not
significantly worse than all features. `learning` trains `queries(10) > ranksvm` … and says from which number of queries
on one ranker overtakes another. Both are benchmarks like any other: on the same folds, resumed where they were left.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.bench.inputs import Input, InputOptions, check_inputs, find_inputs, stored_folds
from pippin.bench.leaderboard import leaderboard
from pippin.bench.plan import Experiment, first_seeds
from pippin.bench.runner import check_extras, run
from pippin.bench.store import Results
from pippin.bench.versus import Versus, first_reason, versus
from pippin.data.folds import Folds
from pippin.errors import ConventionError, DataError
from pippin.kernels.significance import bootstrap_means
from pippin.rankers.written import ARROW, canonical, settings

F64 = NDArray[np.float64]
SIZES = (1, 2, 3, 5, 8, 13, 21, 34)  # features, as many as there are of them
QUERIES = (5, 10, 20, 40, 80, 160, 320)
_SAMPLES = 2000  # of a bootstrap over queries


@dataclass(frozen=True)
class Selection:
    """The path of one data set: all features, and fewer and fewer of them."""

    data: str
    step: str
    ranker: str
    measure: str
    features: int
    everything: Versus
    points: tuple[tuple[int, Versus], ...]  # by number of features, ascending
    kept: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # number → feature → folds that keep it
    folds: int = 0

    @property
    def smallest(self) -> int | None:
        """The smallest number of features that is not significantly worse than all; None where each is."""
        return next((k for k, point in self.points if point.verdict != "worse"), None)


@dataclass(frozen=True)
class Overtaking:
    """From how many queries on a ranker is ahead of another for good, with a 95 % interval; infinite: never here."""

    ranker: str
    other: str
    queries: float
    low: float
    high: float


@dataclass(frozen=True)
class Learning:
    """The learning curves of one data set."""

    data: str
    measure: str
    whole: int  # queries of a training part, in the mean over folds
    curves: Mapping[str, tuple[tuple[int, float, float, float], ...]]  # ranker → (queries, mean, low, high)
    overtakings: tuple[Overtaking, ...]


def selection(
    data: Sequence[str], output: str | os.PathLike[str], *, step: str = "gas", ranker: str = "ranksvm",
    sizes: Sequence[int] = SIZES, measure: str = "NDCG@10", quick: bool = False, folds: int = 5, sample: int = 1000,
    **how: Any,
) -> list[Selection]:  # fmt: skip
    """The path of each data set; `how` goes to `bench.runner.run`. Any step with a parameter k has one.

    step     what selects or reduces features: gas, elimination, forward, l1, permutation, pca, pair-lda …
    ranker   what is trained on them
    sizes    numbers of features; those beyond what there is are left out
    measure  what the path shows, and what chooses hyper-parameters on validation
    """
    from pippin.rankers.steps import step as find_step

    if "k" not in find_step(canonical(step).partition("(")[0]).parameters:
        raise ConventionError(f"{step} has no number of features, so that it has no path")
    found = []
    for source, whole in _opened(data, output, folds, sample, [canonical(ranker)]):
        width = whole.data.features.shape[1]
        texts = {k: _with_size(step, ranker, k) for k in sorted(set(sizes)) if k < width}
        plan = Experiment(
            (f"{source.data}={source.path}",), rankers=(canonical(ranker), *texts.values()), tools=("official",),
            measures=tuple(dict.fromkeys((measure, "MAP"))), select=measure, quick=quick, folds=folds,
        )  # fmt: skip
        results = run(plan, output, **how).results
        found.append(_selection(results, source.data, step, canonical(ranker), texts, measure, width))
    return found


def _opened(
    data: Sequence[str], output: str | os.PathLike[str], folds: int, sample: int, rankers: Sequence[str]
) -> Iterator[tuple[Input, Folds]]:
    """The data sets and their folds, stored in the results as a benchmark of these rankers would."""
    check_extras(rankers)
    check_inputs(data)
    place = Results.create(output).path
    for source in find_inputs(data, InputOptions(folds, sample=sample, cache=place / "collections")):
        yield source, stored_folds(source, place / "folds")[0]


def borrows(rankers: Sequence[str], data: str) -> bool:
    """Whether one of the chains learns from a data set of this name.

    >>> borrows(["transfer(from=old) > mart"], "old"), borrows(["transfer(from=older) > mart"], "old")
    (True, False)
    """
    return any(value == data for text in rankers for key, value in settings(text).items() if key.endswith("__from"))


def _with_size(step: str, ranker: str, k: int) -> str:
    """A chain of a step, which may have settings already, with its number of features."""
    name, _, inside = step.strip().removesuffix(")").partition("(")
    return canonical(f"{name}(k={k}{',' if inside else ''}{inside}){ARROW}{ranker}")


def _selection(
    results: Results, data: str, step: str, ranker: str, texts: Mapping[int, str], measure: str, width: int
) -> Selection:
    whole, *points = versus(results, data, ranker, list(texts.values()), measure)
    by_name = {point.ranker: point for point in points}
    kept, folds = {}, 0
    for k, text in texts.items():
        counted, models = _kept(results, data, text)
        kept[k], folds = counted, max(folds, models)
    reached = tuple((k, by_name[text]) for k, text in texts.items() if text in by_name)
    return Selection(data, step, ranker, measure, width, whole, reached, kept, folds)


def _kept(results: Results, data: str, ranker: str) -> tuple[dict[str, int], int]:
    """Which features the models of a chain keep, each in how many folds, most first; and how many models there are."""
    from pippin.rankers.models import load
    from pippin.rankers.steps import Selector

    counted: Counter[str] = Counter()
    models = 0
    for cell in (cell for cell in results.cells if (cell.key[0], cell.key[2]) == (data, ranker)):
        step = load(cell.model)
        models += 1
        first = getattr(step, "step_", None)
        if isinstance(first, Selector):
            counted.update(first.feature_names_[i] for i in first.order_)
    return dict(counted.most_common()), models


def learning(
    data: Sequence[str], output: str | os.PathLike[str], *, rankers: Sequence[str] = ("ranksvm", "lambdamart"),
    sizes: Sequence[int] = QUERIES, measure: str = "NDCG@10", seeds: int = 3, quick: bool = False, folds: int = 5,
    sample: int = 1000, shown: Sequence[str] = (), **how: Any,
) -> list[Learning]:  # fmt: skip
    """The learning curves of each data set; `how` goes to `bench.runner.run`.

    rankers  whose curves are drawn; chains are rankers, too: `transfer(from=X) > ranksvm` with and without the source
    sizes    numbers of training queries; those beyond what there is are left out, and all of them is the last point
    seeds    how many lots of queries are drawn for each number
    shown    the names of the data sets whose curves are drawn, where others are there to be borrowed from alone
    """
    found = []
    opened = list(_opened(data, output, folds, sample, [canonical(one) for one in rankers]))
    for source, parts in opened:
        if shown and source.data not in shown:
            continue
        whole = round(float(np.mean([len(parts.queries[fold.name]["train"]) for fold in parts])))
        numbers = [n for n in sorted(set(sizes)) if n < whole]
        texts = {(r, n): canonical(f"queries({n}){ARROW}{r}") for r in rankers for n in numbers}
        borrowed = [one for one, _ in opened if one != source and borrows(rankers, one.data)]
        plan = Experiment(
            tuple(f"{one.data}={one.path}" for one in (source, *borrowed)),
            rankers=tuple(dict.fromkeys((*map(canonical, rankers), *texts.values()))), tools=("official",),
            measures=tuple(dict.fromkeys((measure, "MAP"))), select=measure, quick=quick, folds=folds,
            seeds=first_seeds(seeds),
        )  # fmt: skip
        results = run(plan, output, **how).results
        texts |= {(r, whole): canonical(r) for r in rankers}
        found.append(_learning(results, source.data, list(rankers), [*numbers, whole], texts, measure))
    return found


def _learning(
    results: Results, data: str, rankers: list[str], numbers: list[int], texts: Mapping[tuple[str, int], str],
    measure: str,
) -> Learning:  # fmt: skip
    board = leaderboard(results, data, measure, "official")
    curves: dict[str, tuple[tuple[int, float, float, float], ...]] = {}
    tables: dict[str, F64] = {}
    for ranker in rankers:
        there = [n for n in numbers if texts[ranker, n] in board.by_ranker]
        points = [board.by_ranker[texts[ranker, n]] for n in there]
        curves[ranker] = tuple((n, p.mean, p.low, p.high) for n, p in zip(there, points, strict=True))
        if not there:  # it borrows from these data
            del curves[ranker]
        if there == numbers:
            tables[ranker] = board.values[:, [board.rankers.index(texts[ranker, n]) for n in numbers]]
    if not curves:
        raise DataError(f"no ranker has all its cells on {data}{first_reason(board.gaps)}")
    pairs = [(a, b) for a in tables for b in tables if a != b and (kind(a), kind(b)) == ("trees", "linear")]
    overtakings = tuple(overtaking(a, b, numbers, tables[a] - tables[b]) for a, b in pairs)
    return Learning(data, measure, numbers[-1], curves, overtakings)


def kind(ranker: str) -> str:
    """What the score of a ranker is: linear, trees, or another."""
    from pippin.rankers import Chain
    from pippin.rankers import ranker as find
    from pippin.rankers.parts.linear import LinearRanker
    from pippin.rankers.parts.stumps import StumpRanker
    from pippin.rankers.parts.trees import BoostedRanker

    cls = find(ranker)
    cls = cls.last if issubclass(cls, Chain) else cls
    if issubclass(cls, BoostedRanker | StumpRanker):
        return "trees"
    return "linear" if issubclass(cls, LinearRanker) else "another"


def overtaking(ranker: str, other: str, numbers: Sequence[int], ahead: F64) -> Overtaking:
    """Where the mean of `ahead` [query, number] crosses 0 for good, with a bootstrap interval over queries."""
    table = ahead[~np.isnan(ahead).any(axis=1)]
    here = crossing(numbers, table.mean(axis=0))
    drawn = bootstrap_means(np.ascontiguousarray(table), begin=0, end=_SAMPLES, seed=1)
    crossed = np.sort([crossing(numbers, means) for means in np.asarray(drawn).reshape(_SAMPLES, -1)])
    return Overtaking(ranker, other, here, float(crossed[int(0.025 * _SAMPLES)]), float(crossed[int(0.975 * _SAMPLES)]))


def crossing(numbers: Sequence[int], ahead: Sequence[float] | F64) -> float:
    """The number from which on all means are at least 0, between two by the logarithm; infinite where the last is not.

    >>> crossing([10, 40], [-0.1, 0.1]), crossing([10, 40], [0.1, 0.2]), crossing([10, 40], [0.1, -0.1])
    (20.0, 10.0, inf)
    """
    below = [i for i, value in enumerate(ahead) if value < 0]
    if not below:
        return float(numbers[0])
    last = below[-1]
    if last == len(numbers) - 1:
        return math.inf
    share = -ahead[last] / (ahead[last + 1] - ahead[last])
    logs = math.log(numbers[last]), math.log(numbers[last + 1])
    return round(math.exp(logs[0] + float(share) * (logs[1] - logs[0])), 6)
