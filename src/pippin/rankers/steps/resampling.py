"""Steps that train on another sample of the queries: subsets, self-training and bagging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, concatenate, rows_of_queries
from pippin.errors import DataError
from pippin.models.model import LinearModel, Model, TreeEnsemble
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parameters import check_minima, parameter
from pippin.rankers.steps.base import Step, fit_clone, register
from pippin.rankers.training_data import with_query_weights

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class PassThroughStep(Step):
    """A step that only changes the training data of the next ranker."""

    allow_nan = True

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the next ranker's scores."""
        return self.estimators_[0].scores(features, offsets)

    def _to_model(self, models: Sequence[Model]) -> Model:
        return models[0]


@register("queries")
class Queries(PassThroughStep):
    """Trains on a random subset of the queries; larger subsets contain smaller ones.

    The validation set is not changed. `pippin study learning-curve` uses this step.
    """

    source = "learning curves: Cortes, Jackel, Solla, Vapnik & Denker 1994"
    small_limits: ClassVar = {}

    n_queries: int = parameter(50, "number of training queries")
    seed: int = parameter(1, "seed of the sample")

    def _check(self) -> None:
        check_minima(self, n_queries=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        self.estimators_ = [
            fit_clone(next_ranker, train.select(np.sort(shuffle_queries(train, self.seed)[: self.n_queries])), valid)
        ]


def shuffle_queries(train: Dataset, seed: int) -> I64:
    """Return all queries in random order, with uninformative ones distributed evenly."""
    generator = np.random.default_rng(seed)
    sizes = np.bincount(train.qid(), minlength=train.queries)
    relevant = np.bincount(train.qid(), train.labels > 0, train.queries)
    useful = np.flatnonzero((relevant > 0) & (relevant < sizes))
    next_rankerrs = np.setdiff1d(np.arange(train.queries), useful)
    quantiles = np.concatenate(((np.arange(len(useful)) + 0.5) / max(1, len(useful)),
                            (np.arange(len(next_rankerrs)) + 0.7) / max(1, len(next_rankerrs))))  # fmt: skip
    order = np.concatenate((generator.permutation(useful), generator.permutation(next_rankerrs)))
    return order[np.argsort(quantiles, kind="stable")]


@register("self-training")
class SelfTraining(PassThroughStep):
    """Trains on n labelled queries, then on these and the other queries with pseudo-labels.

    The labels of the other queries are not used: the current ranker ranks their documents, which get labels in that
    order with the frequencies of the labelled queries. Their weight is `pseudo_label_weight` if the ranker supports
    query weights, otherwise 1.
    """

    source = "Yarowsky 1995; for ranking: Duh & Kirchhoff 2008 (semi-supervised)"
    grid: ClassVar = {"pseudo_label_weight": (0.1, 0.5)}
    small_limits: ClassVar = {"n_iterations": 1}
    supports_sample_weight = False

    n_queries: int = parameter(50, "number of labelled training queries")
    pseudo_label_weight: float = parameter(0.5, "weight of queries with pseudo-labels")
    n_iterations: int = parameter(2, "number of times that pseudo-labels are computed")
    seed: int = parameter(1, "seed of the labelled queries, equal to that of `queries`")

    def _check(self) -> None:
        check_minima(self, n_queries=1, n_iterations=1, seed=0)
        if not 0 < self.pseudo_label_weight <= 1:
            raise DataError(
                f"{self.name}: pseudo_label_weight must be above 0 and at most 1, got {self.pseudo_label_weight}"
            )

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        order = shuffle_queries(train, self.seed)
        labelled, unlabelled = (
            train.select(np.sort(part)) for part in (order[: self.n_queries], order[self.n_queries :])
        )
        model = fit_clone(next_ranker, labelled, valid)
        for _ in range(self.n_iterations if unlabelled.queries else 0):
            combined = concatenate([labelled, pseudo_label(model, unlabelled, labelled)])
            weights = np.concatenate((np.ones(labelled.queries), np.full(unlabelled.queries, self.pseudo_label_weight)))
            model = fit_clone(
                next_ranker,
                with_query_weights(combined, weights) if next_ranker.supports_sample_weight else combined,
                valid,
            )
        self.estimators_ = [model]


def pseudo_label(model: Ranker, unlabelled: Dataset, labelled: Dataset) -> Dataset:
    """Return queries with labels in the order of a model's scores and the frequencies of labelled queries."""
    scores = model.predict(unlabelled)
    labels = np.zeros(len(unlabelled), np.int32)
    values, counts = np.unique(labelled.labels, return_counts=True)
    shares = np.cumsum(counts[::-1]) / counts.sum()
    for start, end in pairwise(unlabelled.offsets.tolist()):
        best_first = start + np.argsort(-scores[start:end], kind="stable")
        quantiles = (np.arange(end - start) + 0.5) / max(1, end - start)
        labels[best_first] = values[::-1][np.minimum(np.searchsorted(shares, quantiles), len(values) - 1)]
    return replace(unlabelled, labels=labels, lines=None)


@register("bag")
class Bag(Step):
    """Averages rankers that are trained on bootstrap samples of the queries (bagging).

    A sample has as many queries as the training set, drawn with replacement. Early stopping uses the whole validation
    set.
    """

    source = "Breiman 1996; Ganjisaffar, Caruana & Lopes 2011"
    small_limits: ClassVar = {"n_bags": 3}
    allow_nan = True
    supports_sample_weight = False
    n_fits_parameter = "n_bags"

    n_bags: int = parameter(10, "number of samples and rankers")
    seed: int = parameter(1, "seed of the samples")

    def _check(self) -> None:
        check_minima(self, n_bags=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        self.estimators_ = []
        for sample in draw_samples(train, self.n_bags, self.seed):
            model = next_ranker.clone()
            if "seed" in model.get_params():
                model.set_params(seed=self.seed + len(self.estimators_))
            self.estimators_.append(model.fit(select_with_repeats(train, sample), eval_set=valid))

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the mean of the rankers' scores."""
        total = np.zeros(len(features))
        for model in self.estimators_:
            total += model.scores(features, offsets)
        mean: F64 = total / len(self.estimators_)
        return mean

    def _to_model(self, models: Sequence[Model]) -> Model:
        return sum_models(models, [1 / len(models)] * len(models), self.name)


def select_with_repeats(data: Dataset, queries: I64) -> Dataset:
    """Return the data set of these queries, which may repeat; queries are renumbered."""
    rows, sizes = rows_of_queries(data.offsets, queries), np.diff(data.offsets)[queries]
    return Dataset(
        np.ascontiguousarray(data.features[rows]), np.ascontiguousarray(data.labels[rows]),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), tuple(map(str, range(len(queries)))), None,
        data.feature_names, name=data.name,
    )  # fmt: skip


def draw_samples(train: Dataset, bags: int, seed: int) -> list[I64]:
    """Return bootstrap samples of query positions, each with a relevant document."""
    generator = np.random.default_rng(seed)
    relevant = np.bincount(train.qid(), train.labels > 0, train.queries) > 0
    results: list[I64] = []
    while len(results) < bags:
        sample = np.sort(generator.integers(0, train.queries, train.queries))
        if relevant[sample].any():
            results.append(sample)
    return results


def sum_models(models: Sequence[Any], shares: Sequence[float], name: str) -> Model:
    """Return the weighted sum of linear models or of trees as one model."""
    names = models[0].names
    pairs = list(zip(models, shares, strict=True))
    if all(isinstance(model, LinearModel) for model in models):
        weights: Any = sum(share * model.weights for model, share in pairs)
        return LinearModel(
            names, weights, bias=float(sum(share * (model.bias + model.start) for model, share in pairs))
        )
    if all(isinstance(model, TreeEnsemble) and not any(model.normalisers) for model in models):
        trees = tuple(replace(tree, value=tree.value * share) for model, share in pairs for tree in model.flat())
        return TreeEnsemble(names, (trees,))
    raise DataError(f"{name} of networks cannot be exported as one model: use linear models or trees")
