"""What all rankers share: checking input, the validation set, query weights, saving.

A ranker implements `_fit(train, valid)` on checked data sets, `_predict(features)`, and `_state` / `_restore` for its
model file. Parameters are declared in its class (see `parts.parameters`), what was learned stands in attributes with a
trailing underscore. Weights of queries, where a ranker takes them, come with the training set (`parts.weights`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Judge
from pippin.extras import need
from pippin.rankers.parts.estimator import Estimator, not_fitted
from pippin.rankers.parts.finite import check_learned, explained
from pippin.rankers.parts.inputs import as_given, labelled, query_offsets, validation
from pippin.rankers.parts.parameters import check_kinds
from pippin.rankers.parts.preferred import preferences_of
from pippin.rankers.parts.sample import drawn, unpacked
from pippin.rankers.parts.weights import query_weights, weighted, weighted_mean
from pippin.registry import Registry, register_class

RANKERS: Registry[type[Ranker]] = Registry("ranker", "pippin.rankers")
Features = NDArray[np.float64]
R = TypeVar("R", bound="type[Ranker]")
_STRETCH = 1 << 20  # values of float32 that are turned into doubles at a time
# For a first look: rounds are cut where a validation set chooses their number anyway.
QUICK_ROUNDS: Mapping[str, int] = {"rounds": 100, "patience": 25}


def register(name: str) -> Callable[[R], R]:
    """Class decorator: put a ranker on the shelf."""

    return lambda cls: register_class(RANKERS, name, Ranker, cls)


class Ranker(Estimator):
    """A ranking function learned from labelled documents of queries."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # where the algorithm comes from
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # what is tried on validation, as the literature did
    quick_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # the same for a first look: where all hangs on one of them
    quick_limits: ClassVar[Mapping[str, int]] = {}  # what parameters are at most for a first look
    milliseconds: ClassVar[float] = 5  # of a round (of a training, where there are none) on 3/5 of OHSUMED, for a guess
    cautious: ClassVar[bool] = False  # whether selection leaves the first of the grid only for what is surely better
    in_study: ClassVar[bool] = False  # whether the study of conventions trains it (Busa-Fekete et al. 2012)
    needs: ClassVar[tuple[str, ...]] = ()  # modules beyond the base install that training imports
    by_rounds: ClassVar[bool] = False  # whether a validation set chooses the number of rounds
    takes_weights: ClassVar[bool] = False  # whether queries can count more or less in training
    whole_queries: ClassVar[bool] = False  # whether a score depends on the query's other documents
    takes_preferences: ClassVar[bool] = False  # whether pairs can be learned from, such as clicks give
    takes_start: ClassVar[bool] = False  # whether training can begin from another model's scores

    def fits_alone(self, train: Dataset) -> bool:
        """Whether a fit has enough with one core and touches nothing of others: then `select` runs one on each core."""
        return False

    def share(self, kept: dict[str, Any]) -> None:
        """Look in `kept` for what fits beside this one made of the same data, and leave there what they can use."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
    ) -> Self:
        """Learn from documents X with labels y of queries, or from a Dataset alone.

        X : array, frame or table of features, one row a document; or a Dataset, which brings labels and queries
        y : labels, whole numbers from 0
        qid : each document's query; a query's documents stand together
        group : instead of qid, the number of documents of each query, as LightGBM takes them
        sample_weight : how much each query counts, given by query or (the same within a query) by document
        eval_set : the validation set, which chooses the number of rounds: a Dataset, (X, y, qid), or (X, y) or [(X, y)]
        eval_qid, eval_group : the queries of the validation set, in the form of qid or group, or a list of one such
        """
        self.check_parameters()
        self.check_packages()
        train = labelled(self, X, y, qid, group, reset=True)
        self.n_features_in_ = train.features.shape[1]
        valid = validation(self, eval_set, eval_qid, eval_group)
        if preferences_of(train) is not None:
            if not self.takes_preferences:
                raise DataError(f"{self.name} learns from labels and not from pairs; lambdamart and ranksvm take both")
            if sample_weight is not None:
                raise DataError("preferred pairs have weights of their own; fit them without sample_weight")
        if sample_weight is not None:
            if not self.takes_weights:
                raise DataError(f"{self.name} has no meaning for weights of queries; fit it without sample_weight")
            train = weighted(train, sample_weight)
        if not (train.labels > 0).any():
            raise DataError("no document of the training set is relevant; there is nothing to learn")
        self.feature_names_ = train.feature_names
        try:
            self.learn(train, valid)
        except BaseException:
            del self.feature_names_  # what was not learned is not fitted
            raise
        self._sample: Dataset | str | None = drawn(train)
        return self

    def learn(self, train: Dataset, valid: Dataset | None) -> None:
        """Learn from data sets that are checked; what is not finite on the way is an error."""
        self.curve_: list[float] = []  # the validation measure after each round, where there are rounds
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                self._fit(train, valid)
            check_learned(vars(self))
        except FloatingPointError as error:
            raise explained(self.name, error, train) from None

    def predict(self, X: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.float64]:
        """A score per document; higher is better within a query.

        A ranker that looks at a query's documents together (`whole_queries`) wants to know the queries, by a Dataset or
        as `fit` takes them; others score each document by itself, and do not look at them.
        """
        self._check_fitted()
        table = as_given(self, X, reset=False)
        return self.scores(table, query_offsets(self, X, len(table), qid, group) if self.whole_queries else None)

    def scores(self, features: NDArray[Any], offsets: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """The scores of a checked table; `offsets` tells its queries to a ranker that looks at them."""
        with np.errstate(all="ignore"):
            if self.whole_queries and offsets is not None:
                scores = np.asarray(self._predict_lists(np.asarray(features, np.float64), offsets), np.float64)
            else:
                blocks = _in_doubles(features)
                scores = np.concatenate([np.asarray(self._predict(block), np.float64) for block in blocks])
        if not np.isfinite(scores).all():
            raise DataError(
                f"{self.name} gives scores that are not finite; are the features of the same kind as in training?"
            )
        return scores

    def score(self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None, sample_weight: Any = None) -> float:
        """Mean of the measure (`measure` and `convention` of this ranker, or NDCG@10 and official) over queries."""
        self._check_fitted()
        data = labelled(self, X, y, qid, group, reset=False)
        data = data if sample_weight is None else weighted(data, sample_weight)
        measure, convention = getattr(self, "measure", None) or "NDCG@10", getattr(self, "convention", "official")
        judge, scores, weights = Judge(data, measure, convention), self.predict(data), query_weights(data)
        return judge.mean(scores) if weights is None else weighted_mean(judge.values(scores), weights)

    def save(self, path: str | os.PathLike[str], sample: bool = True) -> None:
        """Write the fitted model to one file, which `pippin.load` reads; without its sample of the training set."""
        from pippin.rankers.models import save

        self._check_fitted()
        save(self, path, sample=sample)

    def export(
        self, to: str, out: str | os.PathLike[str], *, check: Any = None, features: Any = None,
        name: str | None = None, options: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Write the model as another engine reads it, with a certificate of what that changes; see `pippin.export`."""
        import pippin

        return pippin.export(self, to, out, check=check, features=features, name=name, options=options)

    def check_parameters(self) -> None:
        """Raise unless every parameter is of its type, and all of them make sense."""
        check_kinds(self.name, self.parameters, vars(self))
        self._check()

    @classmethod
    def check_packages(cls) -> None:
        """Raise MissingExtra where what training needs is not installed."""
        need(f"training {cls.name}", *cls.needs)

    def _check(self) -> None:
        """Raise where a parameter has a value without meaning."""

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        raise NotImplementedError

    def _predict(self, features: Features) -> NDArray[np.float64]:
        raise NotImplementedError

    def _predict_lists(self, features: Features, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores of whole queries, where a ranker is `whole_queries`."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """What was learned, as JSON can hold it."""
        raise NotImplementedError

    def _restore(self, state: dict[str, Any]) -> None:
        """Undo `_state`; ValueError, KeyError or TypeError where this is no such state."""
        raise NotImplementedError

    def importance(self) -> dict[str, float]:
        """How much each feature counts, by name."""
        raise DataError(f"{self.name} does not tell the importance of features")

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each feature as its share of all, in the order of the features; see `importance`."""
        self._check_fitted()
        if type(self).importance is Ranker.importance:
            raise AttributeError(f"{self.name} does not tell the importance of features")
        values = np.array(list(self.importance().values()), np.float64)
        total = float(values.sum())
        return values / total if total > 0 else values

    @property
    def sample_(self) -> Dataset | None:
        """At most 1,000 documents of the training set, which exports are checked with; None where none are kept."""
        kept: Dataset | str | None = vars(self).get("_sample")
        if isinstance(kept, str):
            kept = self._sample = unpacked(kept, self.feature_names_)
        return kept

    @property
    def relation_weight_(self) -> float | None:
        """How far scores are spread along relations afterwards, see `relational`."""
        weight: float | None = vars(self).get("_relation_weight")
        return weight

    @relation_weight_.setter
    def relation_weight_(self, weight: float | None) -> None:
        self._relation_weight = weight

    def _check_fitted(self) -> None:
        if "feature_names_" not in vars(self):
            raise not_fitted(f"This {type(self).__name__} instance is not fitted yet. Call fit first.")


def _in_doubles(table: NDArray[Any]) -> Iterator[Features]:
    """A table as doubles: itself, or where it is float32 stretch by stretch, so that it is never there twice."""
    rows = len(table) if table.dtype == np.float64 else _STRETCH // table.shape[1]
    for first in range(0, max(1, len(table)), max(1, rows)):
        yield np.asarray(table[first : first + max(1, rows)], np.float64)
