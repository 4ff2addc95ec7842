"""Measures in the training of other libraries: scorers of scikit-learn, metrics of LightGBM, XGBoost and CatBoost.

`make_scorer` makes a scorer for `GridSearchCV` and similar functions, `QueryEstimator` lets them train rankers of other
libraries, and `lightgbm_metric`, `xgboost_metric` and `catboost_metric` stop training early under any convention.

Rows of a table have no document ids: tools that order ties by id order them by row here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.data.dataset import Dataset, grouped_order
from pippin.data.inputs import coerce_judgements
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Axes, Convention
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.evaluation.measures.notation import parse, text_of
from pippin.evaluation.objective import Objective
from pippin.evaluation.tools import TOOLS, Tool


@dataclass(frozen=True)
class MeanOverQueries:
    """A measure as a metric of scikit-learn: from labels and predictions to a number."""

    measure: str
    tool: Tool
    axes: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return f"{self.measure} ({self.tool.name})"

    def __call__(self, y_true: Any, y_score: Any, *, qid: Any = None) -> float:
        """Return the mean over the queries of these rows, which may come in any order."""
        if qid is None:
            raise ConventionError(
                "the query of each row is needed: hand qid= to fit, and leave scikit-learn's metadata routing on "
                "(sklearn.set_config(enable_metadata_routing=True))"
            )
        labels, scores, queries = np.asarray(y_true), np.asarray(y_score, np.float64), np.asarray(qid)
        if (order := grouped_order(queries)) is not None:
            labels, scores, queries = labels[order], scores[order], queries[order]
        rankings = RankingCache(coerce_judgements(labels, qid=queries), scores)
        return evaluate_rankings(rankings, [self.measure], self.tool, dict(self.axes), "").mean[self.measure]


def make_scorer(
    measure: Any = "NDCG@10", tool: str | Tool = "official", *, routing: bool = True, **axes: Unpack[Axes]
) -> Any:
    """Return a scorer for scikit-learn: the mean of a measure over queries, as a tool computes it.

    Parameters
    ----------
    measure : str or Measure, default "NDCG@10"
        A measure in any notation.
    tool : str or Tool, default "official"
        The tool whose rules hold; a name of `pippin.tools`.
    routing : bool, default True
        Switch on scikit-learn's metadata routing, which passes the query of each row to a scorer. Use False if you
        switch it on yourself.
    **axes
        Axes of the convention that replace the tool's.

    Returns
    -------
    callable
        A scorer that requests `qid`.

    Raises
    ------
    UnknownName
        If the measure, the tool or an axis does not exist.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> from pippin.rankers import RankSVM
    >>> generator = np.random.default_rng(0)
    >>> X, y, qid = generator.normal(size=(60, 3)), generator.integers(0, 3, 60), np.repeat(np.arange(12), 5)
    >>> queries = {"groups": qid, "qid": qid}
    >>> with sklearn.config_context():  # which ends the routing, too
    ...     scorer = make_scorer("NDCG@5", tool="letor4")
    ...     scores = cross_val_score(RankSVM(), X, y, cv=GroupKFold(3), scoring=scorer, params=queries)
    >>> scores.shape, bool(np.isfinite(scores).all())
    ((3,), True)
    """
    import sklearn
    from sklearn.metrics import make_scorer as scorer_of

    text, resolved = text_of(measure), TOOLS[tool] if isinstance(tool, str) else tool
    by_row = _order_ties_by_row(resolved.convention_for(parse(text), **axes), axes)
    if routing:
        sklearn.set_config(enable_metadata_routing=True)
    with sklearn.config_context(enable_metadata_routing=True):
        return scorer_of(MeanOverQueries(text, resolved, tuple(by_row.items()))).set_score_request(qid=True)


def _order_ties_by_row(convention: Convention, axes: Mapping[str, Any]) -> dict[str, Any]:
    """Return axes that order ties by row instead of by document id."""
    by_row = {"id-descending": "reversed", "id-ascending": "input"}.get(convention.ties)
    return {**axes} if by_row is None else {**axes, "ties": by_row}


class QueryEstimator:
    """A ranker of LightGBM, XGBoost or CatBoost whose `fit` takes the query of each row, in any order.

    With it, `GridSearchCV`, `RandomizedSearchCV` and `cross_val_score` can train rankers whose `fit` needs the sizes of
    the queries, which scikit-learn cannot split.

    Parameters
    ----------
    estimator : estimator
        A ranker whose `fit` has the parameter `group` (LGBMRanker), `qid` (XGBRanker) or `group_id` (CatBoostRanker).

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> X, y, qid = [[0.0], [2.0], [1.0], [3.0]], [0, 1, 0, 1], [7, 9, 7, 9]
    >>> ranker = QueryEstimator(LGBMRanker(n_estimators=2, min_child_samples=1, verbosity=-1)).fit(X, y, qid=qid)
    >>> ranker.predict(X).shape
    (4,)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the estimator, and with `deep` its parameters under ``estimator__NAME``.

        Parameters
        ----------
        deep : bool, default True

        Returns
        -------
        dict
        """
        nested = self.estimator.get_params() if deep else {}
        return {"estimator": self.estimator, **{f"estimator__{name}": value for name, value in nested.items()}}

    def set_params(self, **parameters: Any) -> Self:
        """Set the estimator, or its parameters by ``estimator__NAME``.

        Parameters
        ----------
        **parameters

        Returns
        -------
        QueryEstimator
            Itself.
        """
        self.estimator = parameters.pop("estimator", self.estimator)
        self.estimator.set_params(**{name.removeprefix("estimator__"): value for name, value in parameters.items()})
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(None, TargetTags(required=True), input_tags=InputTags(allow_nan=True))

    def get_metadata_routing(self) -> Any:
        """Return the request of `fit` for `qid` in scikit-learn's metadata routing.

        Returns
        -------
        MetadataRequest
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.fit.add_request(param="qid", alias=True)
        return request

    def fit(self, X: Any, y: ArrayLike, *, qid: ArrayLike, **parameters: Any) -> Self:
        """Fit a clone of the estimator.

        Parameters
        ----------
        X : array or data frame of shape (documents, features)
        y : array of shape (documents,)
        qid : array of shape (documents,)
            The query of each row.
        **parameters
            Other parameters of the estimator's `fit`.

        Returns
        -------
        QueryEstimator
            Itself.
        """
        from sklearn.base import clone
        from sklearn.utils import _safe_indexing

        self.estimator_ = clone(self.estimator)
        queries, labels = np.asarray(qid), np.asarray(y)
        if (order := grouped_order(queries)) is not None:
            X, labels, queries = _safe_indexing(X, order), labels[order], queries[order]
        starts = np.flatnonzero(np.concatenate(([True], queries[1:] != queries[:-1])))
        sizes = np.diff(np.concatenate((starts, [len(queries)])))
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        accepted = inspect.signature(self.estimator_.fit).parameters
        names = {"qid": numbers, "group_id": numbers, "group": sizes}
        name = next((name for name in names if name in accepted), None)
        if name is None:
            raise DataError(f"fit of {type(self.estimator).__name__} takes no queries: use the estimator itself")
        self.estimator_.fit(X, labels, **{name: names[name]}, **parameters)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return a score per row.

        Parameters
        ----------
        X : array or data frame of shape (documents, features)

        Returns
        -------
        ndarray of float64, shape (documents,)
        """
        return np.asarray(self.estimator_.predict(X), np.float64)


class _Metric:
    """The mean of a measure over the queries of a data set, prepared once per data set."""

    def __init__(self, measure: Any, tool: str | Tool | Convention, axes: Mapping[str, Any]) -> None:
        text = text_of(measure)
        if isinstance(tool, str):
            tool = TOOLS[tool]
        convention = replace(tool, **axes) if isinstance(tool, Convention) else tool.convention_for(parse(text), **axes)
        self._convention = replace(convention, **_order_ties_by_row(convention, {}))
        self._measure = text
        self.__name__ = text
        self._objectives: dict[tuple[bytes, bytes], Objective] = {}

    def _mean(self, labels: Any, scores: Any, group: Any) -> float:
        labels, sizes = np.asarray(labels), np.asarray(group, np.int64)
        key = labels.tobytes(), sizes.tobytes()
        if key not in self._objectives:
            data = cast(Dataset, coerce_judgements(labels, group=sizes))  # of labels alone it makes a data set
            self._objectives[key] = Objective(data, self._measure, self._convention)
        return self._objectives[key].mean(np.asarray(scores, np.float64))


class LightGBMMetric(_Metric):
    """A metric for `eval_metric` of LGBMRanker and `feval` of `lightgbm.train`."""

    def __call__(self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None) -> tuple[str, float, bool]:
        """Return name, value, and that higher is better."""
        if hasattr(y_pred, "get_group"):  # lightgbm.train passes predictions and the data set
            y_true, y_pred, group = y_pred.get_label(), y_true, y_pred.get_group()
        if group is None:
            raise ConventionError("the validation set has no queries: pass eval_group, or group of the Dataset")
        return self._measure, self._mean(y_true, y_pred, group), True


def lightgbm_metric(
    measure: Any = "NDCG@10", tool: str | Tool | Convention = "official", **axes: Unpack[Axes]
) -> LightGBMMetric:
    """Return a metric for LightGBM: a measure as a tool computes it, for early stopping.

    Parameters
    ----------
    measure : str or Measure, default "NDCG@10"
        A measure that is a mean over queries.
    tool : str, Tool or Convention, default "official"
        The tool whose rules hold.
    **axes
        Axes of the convention that replace the tool's.

    Returns
    -------
    LightGBMMetric
        For ``LGBMRanker.fit(eval_metric=…)`` and ``lightgbm.train(feval=…)``; set LightGBM's own ``metric`` to "None",
        or early stopping also watches it.

    Examples
    --------
    >>> metric = lightgbm_metric("NDCG@10", tool="trec_eval9")
    >>> metric([0, 1, 1], [0.3, 0.2, 0.1], None, [1, 2])
    ('NDCG@10', 0.5, True)
    """
    return LightGBMMetric(measure, tool, axes)


class XGBoostMetric(_Metric):
    """A metric for `custom_metric` of `xgboost.train`."""

    def __call__(self, predt: Any, dtrain: Any) -> tuple[str, float]:
        """Return name and value."""
        if not hasattr(dtrain, "get_uint_info"):
            raise ConventionError(
                "XGBRanker averages over queries itself, which gives other numbers: use xgboost.train(custom_metric=…)"
            )
        sizes = np.diff(dtrain.get_uint_info("group_ptr").astype(np.int64))
        if not len(sizes):
            raise ConventionError("the validation set has no queries: pass qid or group to its DMatrix")
        return self._measure, self._mean(dtrain.get_label(), predt, sizes)


def xgboost_metric(
    measure: Any = "NDCG@10", tool: str | Tool | Convention = "official", **axes: Unpack[Axes]
) -> XGBoostMetric:
    """Return a metric for XGBoost: a measure as a tool computes it, for early stopping.

    Parameters
    ----------
    measure : str or Measure, default "NDCG@10"
        A measure that is a mean over queries.
    tool : str, Tool or Convention, default "official"
        The tool whose rules hold.
    **axes
        Axes of the convention that replace the tool's.

    Returns
    -------
    XGBoostMetric
        For ``xgboost.train(custom_metric=…, maximize=True)``, with ``disable_default_eval_metric=1`` in the parameters.

    Examples
    --------
    >>> xgboost_metric("NDCG@10", tool="trec_eval9").__name__
    'NDCG@10'
    """
    return XGBoostMetric(measure, tool, axes)


class CatBoostMetric(_Metric):
    """A metric for `eval_metric` of CatBoost, which tells a metric the labels but not the queries."""

    def __init__(
        self, measure: Any, tool: str | Tool | Convention, sets: Sequence[tuple[Any, Any]], axes: Mapping[str, Any]
    ) -> None:
        super().__init__(measure, tool, axes)
        self._sets: list[Dataset] = []
        for labels, qid in sets:
            data = cast(Dataset, coerce_judgements(np.asarray(labels), qid=qid))
            other = self._find(data.labels)
            if other is not None and not np.array_equal(other.offsets, data.offsets):
                raise ConventionError(
                    "two sets have equal labels in different queries, which CatBoost does not tell apart"
                )
            self._sets.append(data)

    def _find(self, labels: NDArray[Any]) -> Dataset | None:
        return next((data for data in self._sets if np.array_equal(data.labels, labels)), None)

    def is_max_optimal(self) -> bool:
        """Return that higher is better."""
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the mean over the queries of the set with these labels, and the weight 1."""
        labels = np.asarray(target)
        data = self._find(labels)
        if data is None:
            raise ConventionError(
                f"no set with these {len(labels)} labels: pass labels and queries of every set, in sets="
            )
        return self._mean(labels, approxes[0], np.diff(data.offsets)), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the mean."""
        return error / weight


def catboost_metric(
    measure: Any = "NDCG@10", tool: str | Tool | Convention = "official", *, sets: Sequence[tuple[Any, Any]],
    **axes: Unpack[Axes],
) -> CatBoostMetric:  # fmt: skip
    """Return a metric for CatBoost: a measure as a tool computes it, for early stopping.

    Parameters
    ----------
    measure : str or Measure, default "NDCG@10"
        A measure that is a mean over queries.
    tool : str, Tool or Convention, default "official"
        The tool whose rules hold.
    sets : list of (labels, qid)
        Labels and query of each row of the training set and of every validation set, because CatBoost does not tell
        a metric the queries.
    **axes
        Axes of the convention that replace the tool's.

    Returns
    -------
    CatBoostMetric
        For ``CatBoostRanker(eval_metric=…)``.

    Examples
    --------
    >>> metric = catboost_metric("NDCG@10", tool="trec_eval9", sets=[([0, 1, 1], ["a", "b", "b"])])
    >>> metric.evaluate([[0.3, 0.2, 0.1]], [0, 1, 1], None)
    (0.5, 1.0)
    """
    return CatBoostMetric(measure, tool, sets, axes)
