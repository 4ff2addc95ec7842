"""Steps that also learn from a source data set: transfer, fine-tuning, multi-task learning, instance weighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, concatenate
from pippin.data.published import ORDERS
from pippin.errors import DataError, UnknownName
from pippin.models.model import LinearModel, Model, map_features
from pippin.rankers.auto_search import score_deviation
from pippin.rankers.base import Features, Ranker, read_number, read_numbers
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.steps.base import Step, fit_clone, register, select_features
from pippin.rankers.steps.resampling import sum_models
from pippin.rankers.training_data import make_training_set, with_query_weights

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_SOURCES: dict[str, Dataset | Callable[[], Dataset]] = {}


def register_source(name: str, data: Dataset | Callable[[], Dataset]) -> None:
    """Register a source data set by name; a function is called on first use."""
    _SOURCES[name] = data


def load_source(name: str, digest: str | None) -> Dataset:
    """Return a source data set by name or file; DataError if its digest differs."""
    from pippin.data.digest import digest as digest_of
    from pippin.data.inputs import coerce_judgements

    source = _SOURCES.get(name)
    if source is None and not Path(name).exists():
        raise UnknownName("source data set or file", name, _SOURCES)
    data = coerce_judgements(name) if source is None else source if isinstance(source, Dataset) else source()
    if not isinstance(data, Dataset):
        raise DataError("the source has judgements but no features", name)
    if digest is not None and digest_of(data) != digest:
        raise DataError("the data differs from the data that the plan was made with", name)
    return data


def match_features(source: Dataset, target: Dataset, names: str | None = None) -> list[tuple[int, int]]:
    """Return pairs of columns (target, source) of features with the same name.

    `names` is the published order of numbered features. DataError without common features, or if only numbers match
    and the numbers of features differ.
    """
    source_columns = {name: i for i, name in enumerate(_published_names(source, names))}
    target_names = _published_names(target, names)
    common = [(i, source_columns[name]) for i, name in enumerate(target_names) if name in source_columns]
    if not common:
        raise DataError(f"{source.name} and {target.name} do not share any feature name")
    if all(target_names[i].isdigit() for i, _ in common) and len(source.feature_names) != len(target.feature_names):
        raise DataError(
            f"{source.name} and {target.name} have different numbers of numbered features, so equal numbers may be "
            "different features: set feature_order to ohsumed, gov, letor4 or mslr"
        )
    return common


def _published_names(data: Dataset, names: str | None) -> tuple[str, ...]:
    """Return the names of a data set's features, or those of a published order if they are numbered."""
    if names is None or not all(name.isdigit() for name in data.feature_names):
        return data.feature_names
    if names not in ORDERS:
        raise UnknownName("published order of features", names, ORDERS)
    order = ORDERS[names]
    if len(order) != len(data.feature_names):
        return data.feature_names
    return tuple(order[int(name) - 1] if 0 < int(name) <= len(order) else name for name in data.feature_names)


class TransferStep(Step):
    """A step that also learns from a source data set."""

    supports_sample_weight = False

    source_data: str | None = parameter(None, "source data set: a name in the benchmark, or a file")
    source_digest: str | None = parameter(None, "required digest of the source; a benchmark writes it into its plan")
    feature_order: str | None = parameter(None, "published order of numbered features: ohsumed, gov, letor4, mslr")

    def _check(self) -> None:
        if self.source_data is None:
            raise DataError(f"{self.name} needs a source data set: {self.name}(source_data=NAME)")

    def _source(self) -> Dataset:
        """Return the source data set."""
        return load_source(str(self.source_data), self.source_digest)

    def describe(self) -> str:
        """Return a sentence about the source."""
        return f"{self.name} also learned from {self.source_data}"


def shared_features(source: Dataset, target: Dataset, names: str | None) -> tuple[Dataset, list[int]]:
    """Return the source with the shared features under the target's names, and their columns in the target."""
    common = match_features(source, target, names)
    columns = [target_column for target_column, _ in common]
    names_of_target = tuple(target.feature_names[i] for i in columns)
    return replace(
        select_features(source, [source_column for _, source_column in common]), feature_names=names_of_target
    ), columns


def align_features(source: Dataset, target: Dataset, names: str | None) -> Dataset:
    """Return the source with the target's features; missing ones are 0. Query ids get a prefix."""
    shared, columns = shared_features(source, target, names)
    table = np.zeros((len(source), len(target.feature_names)))
    table[:, columns] = shared.features
    return Dataset(
        table, source.labels, source.offsets, tuple(f"from {query}" for query in source.query_ids), None,
        target.feature_names, name=source.name,
    )  # fmt: skip


def concatenate_sources(target: Dataset, source: Dataset) -> Dataset:
    """Return both data sets as one, the target first."""
    renamed = replace(target, query_ids=tuple(f"own {query}" for query in target.query_ids), document_ids=None,
                   comments=None, lines=None)  # fmt: skip
    return concatenate([renamed, source])


def require_sample_weight(step: Step, next_ranker: Ranker) -> None:
    """Raise DataError unless the next ranker supports query weights."""
    if not next_ranker.supports_sample_weight:
        raise DataError(
            f"{step.name} needs query weights, which {next_ranker.name} does not support: use ranksvm or lambdamart"
        )


@register("transfer")
class Transfer(TransferStep):
    """Adds the score of a ranker that was trained on the source as a feature.

    Features are matched by name (numbered ones by `feature_order`). The source's score is divided by its deviation
    within queries. For a linear ranker, w = u + a v with the source's weights v and regularisation of u and a.
    """

    source = "Chen, Yan, Wang, Xiong, Fan & Chen 2008 (TransRank); Gao et al. 2009 (model adaptation)"

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        source, self.common_ = shared_features(self._source(), train, self.feature_order)
        source_model = fit_clone(next_ranker, source, None)
        self.estimators_ = [source_model]
        self.spread_ = 1.0
        self.spread_ = score_deviation(
            self._source_score(np.asarray(train.features, np.float64), train.offsets), train.offsets
        )
        target_model = fit_clone(
            next_ranker, self._with_score(train), None if valid is None else self._with_score(valid)
        )
        self.estimators_ = [target_model, source_model]

    def _source_score(self, features: Features, offsets: I64 | None) -> F64:
        source_model = self.estimators_[-1]
        scores: F64 = source_model.scores(np.ascontiguousarray(features[:, self.common_]), offsets) / self.spread_
        return scores

    def _with_score(self, data: Dataset) -> Dataset:
        table = np.asarray(data.features, np.float64)
        augmented = np.column_stack((table, self._source_score(table, data.offsets)))
        return replace(data, features=np.ascontiguousarray(augmented), feature_names=self._names(), lines=None)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the scores of the ranker with the source's score as a feature."""
        augmented = np.column_stack((features, self._source_score(features, offsets)))
        return self.estimators_[0].scores(np.ascontiguousarray(augmented), offsets)

    def _names(self) -> tuple[str, ...]:
        return (*self.feature_names_, f"score learned from {self.source_data}")

    def check_models(self) -> None:
        """Raise ValueError unless the two models take what they are given."""
        common = tuple(self.feature_names_[i] for i in self.common_)
        if [model.feature_names_ for model in self.estimators_] != [self._names(), common]:
            raise ValueError("the two models of a transfer have incompatible features")

    def _state(self) -> dict[str, Any]:
        return {"common": [self.feature_names_[i] for i in self.common_], "spread": self.spread_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.common_ = [self.feature_names_.index(name) for name in state["common"]]
        self.spread_ = read_number(state["spread"])
        if not self.spread_ > 0:
            raise ValueError("the deviation of the source's scores must be above 0")

    def _to_model(self, models: Sequence[Model]) -> Model:
        target_model, source_model = models
        if not (isinstance(target_model, LinearModel) and isinstance(source_model, LinearModel)):
            return super()._to_model(models)
        mapped = map_features(source_model, self.feature_names_)
        share = target_model.weights[-1] / self.spread_
        weights = (
            target_model.weights[:-1] + share * mapped.weights
            if isinstance(mapped, LinearModel)
            else target_model.weights[:-1]
        )
        bias = target_model.bias + target_model.start + share * (source_model.bias + source_model.start)
        return LinearModel(self.feature_names_, weights, bias=float(bias))

    def _no_model_reason(self) -> str:
        return "trees or a network after it use the score of another model"

    def importance(self) -> dict[str, float]:
        """Return the importance of features in the target's ranker, without the source's score."""
        table = self.estimators_[0].importance()
        return {name: table[name] for name in self.feature_names_}


@register("finetune")
class Finetune(TransferStep):
    """Trains on the source, and continues on the target.

    The score is the source's score plus a learned correction. RankSVM minimises ½‖w − v‖² instead of ½‖w‖², with the
    source's weights v; trees continue boosting; a linear network starts at v, and one with hidden layers learns a
    correction that is 0 initially.
    """

    source = "RankSVM: Evgeniou & Pontil 2004, Geng et al. 2009; trees: Gao et al. 2009 (model adaptation)"

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        if not next_ranker.supports_init_score:
            raise DataError(
                f"{next_ranker.name} does not support initial scores: use ranksvm, boosted trees or a network"
            )
        source, self.common_ = shared_features(self._source(), train, self.feature_order)
        source_model = fit_clone(next_ranker, source, None)
        self.estimators_ = [source_model]
        target_model = next_ranker.clone().fit(
            self._with_init_score(train), eval_set=None if valid is None else self._with_init_score(valid)
        )
        self.estimators_ = [target_model, source_model]

    def _with_init_score(self, data: Dataset) -> Dataset:
        return make_training_set(
            data, init_score=self._first_scores(np.asarray(data.features, np.float64), data.offsets)
        )

    def _first_scores(self, features: Features, offsets: I64 | None) -> F64:
        return self.estimators_[-1].scores(np.ascontiguousarray(features[:, self.common_]), offsets)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the source's scores plus the correction."""
        return self._first_scores(features, offsets) + self.estimators_[0].scores(features, offsets)

    def check_models(self) -> None:
        """Raise ValueError unless the two models take what they are given."""
        common = tuple(self.feature_names_[i] for i in self.common_)
        if [model.feature_names_ for model in self.estimators_] != [self.feature_names_, common]:
            raise ValueError("the two models of a fine-tuning have incompatible features")

    def _state(self) -> dict[str, Any]:
        return {"common": [self.feature_names_[i] for i in self.common_]}

    def _restore(self, state: dict[str, Any]) -> None:
        self.common_ = [self.feature_names_.index(name) for name in state["common"]]

    def _to_model(self, models: Sequence[Model]) -> Model:
        target_model, source_model = models
        return sum_models([target_model, map_features(source_model, self.feature_names_)], [1.0, 1.0], self.name)

    def importance(self) -> dict[str, float]:
        """Return the sum of the importance in both models."""
        target, source = (model.importance() for model in self.estimators_)
        return {name: target[name] + source.get(name, 0.0) for name in self.feature_names_}


TASK = "task"


@register("multitask")
class Multitask(TransferStep):
    """Trains one ranker on both data sets.

    task: an additional feature indicates the data set, which trees and networks can use, but not linear models. copies:
    each feature occurs three times, for both data sets and for each one, so linear models have shared and specific
    weights (Daumé 2007).
    """

    source = "Caruana 1997; copies: Daumé 2007"
    grid: ClassVar = {"method": ("task", "copies")}
    small_grid: ClassVar = {"method": ("copies",)}

    method: str = parameter("copies", "task: add a feature for the data set; copies: shared and specific features")

    def _check(self) -> None:
        super()._check()
        one_of(self, method=("task", "copies"))

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        source = align_features(self._source(), train, self.feature_order)
        joined = concatenate_sources(self._add_task(train, is_target=True), self._add_task(source, is_target=False))
        self.estimators_ = [
            fit_clone(next_ranker, joined, None if valid is None else self._add_task(valid, is_target=True))
        ]

    def _add_task(self, data: Dataset, is_target: bool) -> Dataset:
        """Return the data with the features of the method."""
        table = self._table(np.asarray(data.features, np.float64), is_target)
        return replace(data, features=table, feature_names=self._names(), lines=None)

    def _table(self, features: Features, is_target: bool) -> Features:
        if self.method == "task":
            return np.column_stack((features, np.full(len(features), float(is_target))))
        zeros = np.zeros_like(features)
        return np.ascontiguousarray(
            np.hstack((features, features, zeros) if is_target else (features, zeros, features))
        )

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the scores of documents of the target."""
        return self.estimators_[0].scores(np.ascontiguousarray(self._table(features, is_target=True)), offsets)

    def _names(self) -> tuple[str, ...]:
        names = self.feature_names_
        if self.method == "task":
            return (*names, TASK)
        return (*names, *(f"own {name}" for name in names), *(f"other {name}" for name in names))

    def _to_model(self, models: Sequence[Model]) -> Model:
        model, count = models[0], len(self.feature_names_)
        if not isinstance(model, LinearModel):
            return super()._to_model(models)
        weights = model.weights[:count].copy()
        bias = model.bias + model.start
        if self.method == "copies":
            weights += model.weights[count : 2 * count]
        else:
            bias += model.weights[count]
        return LinearModel(self.feature_names_, weights, bias=float(bias))

    def _no_model_reason(self) -> str:
        return "trees or a network after it use the task feature, which engines do not have"

    def importance(self) -> dict[str, float]:
        """Return the importance of features, shared and specific copies together."""
        table = self.estimators_[0].importance()
        return {name: table[name] + table.get(f"own {name}", 0.0) for name in self.feature_names_}


_MAX_WEIGHT = 100.0  # weights of source queries are between 1 / _MAX_WEIGHT and _MAX_WEIGHT


@register("density-ratio")
class DensityRatio(TransferStep):
    """Trains on both data sets; source queries are weighted by their similarity to the target.

    A logistic regression separates documents of the two data sets; p / (1 − p), times the ratio of their sizes, is the
    density ratio at a document. The weight of a source query is its geometric mean over documents, times
    `source_weight`.
    """

    source = "Sugiyama et al. 2008; for ranking: Gao, Cai, Wong & Zhou 2010 (instance weighting)"
    grid: ClassVar = {"source_weight": (0.1, 1.0)}
    small_grid: ClassVar = {"source_weight": (0.5,)}

    source_weight: float = parameter(0.5, "factor of the weights of source queries")
    lambda_l2: float = parameter(1.0, "L2 regularisation of the logistic regression")

    def _check(self) -> None:
        super()._check()
        above_zero(self, "source_weight", "lambda_l2")

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        require_sample_weight(self, next_ranker)
        source = align_features(self._source(), train, self.feature_order)
        ratios = density_ratios(np.asarray(train.features, np.float64), np.asarray(source.features), self.lambda_l2)
        means = np.bincount(source.qid(), np.log(ratios), source.queries) / np.maximum(1, np.diff(source.offsets))
        self.weights_ = self.source_weight * np.clip(np.exp(means), 1 / _MAX_WEIGHT, _MAX_WEIGHT)
        counts = np.concatenate((np.ones(train.queries), self.weights_))
        self.estimators_ = [
            fit_clone(next_ranker, with_query_weights(concatenate_sources(train, source), counts), valid)
        ]

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the scores of the wrapped ranker."""
        return self.estimators_[0].scores(features, offsets)

    def _to_model(self, models: Sequence[Model]) -> Model:
        return models[0]


def density_ratios(target: F64, source: F64, ridge: float, rounds: int = 50) -> F64:
    """Return p(x | target) / p(x | source) at each source row, by logistic regression with Newton's method."""
    mean, scale = target.mean(axis=0), target.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    table = np.column_stack(((np.vstack((target, source)) - mean) / scale, np.ones(len(target) + len(source))))
    is_target = np.concatenate((np.ones(len(target)), np.zeros(len(source))))
    penalty = np.full(table.shape[1], ridge)
    penalty[-1] = 0.0  # the intercept is not regularised
    weights = np.zeros(table.shape[1])
    for _ in range(rounds):
        probabilities = _sigmoid(table @ weights)
        gradient = table.T @ (probabilities - is_target) + penalty * weights
        hessian = (table * (probabilities * (1 - probabilities))[:, None]).T @ table + np.diag(penalty + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-8:
            break
    if not np.isfinite(weights).all():
        raise DataError("the logistic regression does not converge: increase lambda_l2")
    probabilities = _sigmoid(table[len(target) :] @ weights)
    ratios: F64 = probabilities / np.maximum(1 - probabilities, 1e-12) * len(source) / len(target)
    return np.maximum(ratios, 1e-12)


def _sigmoid(values: F64) -> F64:
    curve: F64 = 1 / (1 + np.exp(-np.clip(values, -35, 35)))
    return curve


_MIN_WEIGHT = 1e-9  # lower bound of query weights against underflow


@register("tradaboost")
class TrAdaBoost(TransferStep):
    """Increases weights of badly ranked target queries, and decreases weights of badly ranked source queries.

    Dai et al. 2007, Figure 1: each round trains on both data sets with query weights. With e the share of misordered
    pairs of a query (ties half) and ε its weighted mean over target queries, target weights are multiplied by β^−e,
    β = ε / (1 − ε), and source weights by γ^e, γ = 1 / (1 + √(2 ln m / rounds)) for m source queries. The second half
    of the rankers vote with −ln β, their scores divided by their deviation within queries.
    """

    source = "Dai, Yang, Xue & Yu 2007 (TrAdaBoost)"
    small_limits: ClassVar = {"rounds": 4}
    n_fits_parameter = "rounds"

    rounds: int = parameter(10, "number of rounds; the rankers of the second half vote")

    def _check(self) -> None:
        super()._check()
        check_minima(self, rounds=2)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        require_sample_weight(self, next_ranker)
        combined = concatenate_sources(train, align_features(self._source(), train, self.feature_order))
        is_target = np.arange(combined.queries) < train.queries
        weights = np.ones(combined.queries)
        source_decay = 1 / (1 + np.sqrt(2 * np.log(max(2, int((~is_target).sum()))) / self.rounds))
        self.estimators_, votes = [], list[float]()
        for round_ in range(self.rounds):
            model = fit_clone(next_ranker, with_query_weights(combined, weights / weights.sum() * len(weights)), valid)
            scores = model.predict(combined)
            errors = pair_errors(scores, combined)
            mean_error = float(np.clip(weights[is_target] @ errors[is_target] / weights[is_target].sum(), 0.01, 0.49))
            beta = mean_error / (1 - mean_error)
            weights = np.maximum(weights * np.where(is_target, beta**-errors, source_decay**errors), _MIN_WEIGHT)
            if 2 * (round_ + 1) > self.rounds:
                self.estimators_.append(model)
                votes.append(float(-np.log(beta)) / score_deviation(scores[: len(train)], train.offsets))
        self.votes_ = np.array(votes)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the weighted sum of the votes."""
        total = np.zeros(len(features))
        for vote, model in zip(self.votes_, self.estimators_, strict=True):
            total += vote * model.scores(features, offsets)
        return total

    def _state(self) -> dict[str, Any]:
        return {"votes": self.votes_.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.votes_ = read_numbers(state["votes"])

    def _to_model(self, models: Sequence[Model]) -> Model:
        return sum_models(models, self.votes_.tolist(), self.name)

    def check_models(self) -> None:
        """Raise ValueError unless every model has a vote."""
        super().check_models()
        if len(self.votes_) != len(self.estimators_):
            raise ValueError("the number of votes differs from the models")


def pair_errors(scores: F64, data: Dataset) -> F64:
    """Return the share of misordered pairs of each query; a tie counts half.

    >>> data = Dataset(np.zeros((3, 1)), np.array([2, 1, 0], np.int32), np.array([0, 3]), ("q",))
    >>> pair_errors(np.array([1.0, 2.0, 1.0]), data).tolist()
    [0.5]
    """
    result = np.zeros(data.queries)
    for i, (start, end) in enumerate(pairwise(data.offsets.tolist())):
        query_scores, labels = scores[start:end], data.labels[start:end]
        better = labels[:, None] > labels[None, :]
        pairs = int(better.sum())
        if pairs:
            signs = np.sign(query_scores[:, None] - query_scores[None, :])[better]
            result[i] = float((1 - signs).sum()) / (2 * pairs)
    return result
