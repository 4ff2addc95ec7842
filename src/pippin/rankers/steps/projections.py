"""Steps that transform features: projections, products and query-level normalisation."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.normalisation import to_query_level_norm
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Features, Ranker, feature_index, read_number
from pippin.rankers.linear import center_features, feature_scales
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.steps.base import Projection, Step, Transformer, fit_clone, register
from pippin.rankers.steps.query_dependent import missing_queries_error
from pippin.rankers.steps.selectors import single_feature_values

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@register("pca")
class PCA(Projection):
    """Projects on the directions of largest variance (principal components).

    Eigenvectors of the covariance of the standardised features. With within="query", means over queries are subtracted
    first, so differences between queries do not count as variance.
    """

    source = "Pearson 1901; Jolliffe 2002"
    grid: ClassVar = {"n_components": (5, 10, 20)}
    small_grid: ClassVar = {"n_components": (10,)}
    cost_ms = 20

    n_components: int = parameter(10, "number of directions, at most the number of features")
    within: str = parameter("query", "variance within queries (query), or over all documents (all)")

    def _check(self) -> None:
        check_minima(self, n_components=1)
        one_of(self, within=("query", "all"))

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        table = center_features(train, self.within)
        scale = feature_scales(table)
        directions = leading_eigenvectors(table / scale, min(self.n_components, table.shape[1]))
        return np.asarray(train.features, np.float64).mean(axis=0), scale, directions


def leading_eigenvectors(table: F64, count: int) -> F64:
    """Return the leading eigenvectors of tableᵀ·table as columns, with unique signs.

    >>> leading_eigenvectors(np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 1).tolist()
    [[1.0], [0.0]]
    """
    values, vectors = np.linalg.eigh(table.T @ table)
    return fix_signs(vectors[:, np.argsort(-values, kind="stable")[:count]])


def fix_signs(vectors: F64) -> F64:
    """Return the columns with signs such that the largest entry is positive."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    flipped: F64 = vectors * np.where(largest < 0, -1.0, 1.0)
    return np.ascontiguousarray(flipped + 0.0)


@register("pair-lda")
class PairLDA(Projection):
    """Projects on the directions that separate pairs of different labels from pairs of equal labels.

    Leading eigenvectors of B v = λ (W + shrinkage · tr(W)/f · I) v, where B and W are the means of
    (x_i − x_j)(x_i − x_j)ᵀ over pairs of a query with different labels, and with equal labels.
    """

    source = "after Fisher 1936 (linear discriminants), of pairs within queries"
    grid: ClassVar = {"n_components": (1, 5, 10)}
    small_grid: ClassVar = {"n_components": (5,)}
    cost_ms = 20

    n_components: int = parameter(5, "number of directions, at most the number of features")
    shrinkage: float = parameter(0.01, "regularisation of W relative to its mean diagonal")

    def _check(self) -> None:
        check_minima(self, n_components=1)
        above_zero(self, "shrinkage")

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        table = center_features(train, "query")
        scale = feature_scales(table)
        between, within = pair_scatters(table / scale, train.labels, train.offsets)
        width = table.shape[1]
        ridge = self.shrinkage * max(float(np.trace(within)) / width, 1e-12)
        root = np.linalg.cholesky(within + ridge * np.eye(width))
        inner = np.linalg.solve(root, np.linalg.solve(root, between).T)
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        leading = vectors[:, np.argsort(-values, kind="stable")[: min(self.n_components, width)]]
        directions = np.linalg.solve(root.T, leading)
        mean = np.asarray(train.features, np.float64).mean(axis=0)
        return mean, scale, fix_signs(directions / np.linalg.norm(directions, axis=0))


def pair_scatters(table: F64, labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> tuple[F64, F64]:
    """Return the mean of (x_i − x_j)(x_i − x_j)ᵀ over pairs of different labels, and over pairs of equal labels.

    The sum over the pairs of n documents is n Σ x xᵀ − s sᵀ with s = Σ x, without forming pairs.
    """
    width = table.shape[1]
    every, same = np.zeros((2, width, width))
    pairs = np.zeros(2)
    for start, end in pairwise(offsets.tolist()):
        rows, query_labels = table[start:end], labels[start:end]
        every += _scatter(rows)
        pairs[0] += len(rows) * (len(rows) - 1) / 2
        for label in np.unique(query_labels):
            same_label_rows = rows[query_labels == label]
            same += _scatter(same_label_rows)
            pairs[1] += len(same_label_rows) * (len(same_label_rows) - 1) / 2
    return (every - same) / max(1.0, pairs[0] - pairs[1]), same / max(1.0, pairs[1])


def _scatter(rows: F64) -> F64:
    total = rows.sum(axis=0)
    product: F64 = len(rows) * (rows.T @ rows) - np.outer(total, total)
    return product


@register("random-projection")
class RandomProjection(Projection):
    """Projects on random directions, a baseline for other projections.

    Weights are normal with variance 1/n_components, which preserves distances on average.
    """

    source = "Johnson & Lindenstrauss 1984; Bingham & Mannila 2001"
    grid: ClassVar = {"n_components": (5, 10, 20)}
    small_grid: ClassVar = {"n_components": (10,)}

    n_components: int = parameter(10, "number of directions")
    seed: int = parameter(1, "seed of the directions")

    def _check(self) -> None:
        check_minima(self, n_components=1, seed=0)

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        table = np.asarray(train.features, np.float64)
        directions = np.random.default_rng(self.seed).standard_normal((table.shape[1], self.n_components)) / np.sqrt(
            self.n_components
        )
        return table.mean(axis=0), feature_scales(center_features(train, "query")), directions


@register("norm")
class Norm(Step):
    """LETOR's QueryLevelNorm: (x − min)/(max − min) within a query, 0 for constant features.

    For example, `knn > norm > ranksvm` compares queries by the original features and ranks by normalised ones.
    """

    source = "Qin, Liu, Xu & Li 2010 (LETOR)"
    needs_query_groups = True

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        valid_normalised = None if valid is None else to_query_level_norm(valid)
        self.estimators_ = [fit_clone(next_ranker, to_query_level_norm(train), valid_normalised)]

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the next ranker's scores of the normalised features."""
        if offsets is None:
            raise missing_queries_error(self.name)
        ids = tuple(map(str, range(len(offsets) - 1)))
        data = Dataset(features, np.zeros(len(features), np.int32), offsets, ids, None, self.feature_names_)
        table = np.asarray(to_query_level_norm(data).features, np.float64)
        return self.estimators_[0].scores(np.ascontiguousarray(table), offsets)

    def _no_model_reason(self) -> str:
        return "it depends on the other documents of the query. Train on a normalised data set instead"


Pair = tuple[str, int, int, float]  # "*" or "/", two columns, and the constant added to a denominator


@register("products")
class Products(Transformer):
    """Adds products x·y and ratios x / (|y| + mean |y|) of features that help on validation.

    Candidates are pairs of the `n_base_features` best single features whose product or ratio exceeds both most on the
    training set. The next ranker is trained with each; the best on validation is added if it improves the measure,
    until `n_products` are added or no candidate helps.
    """

    source = "Qin, Liu, Xu & Li 2010 (§5.2.1); Liu 2009"
    cost_ms: ClassVar[float] = 500

    n_products: int = parameter(3, "maximum number of products and ratios")
    n_base_features: int = parameter(15, "best single features to combine")
    candidates: int = parameter(8, "candidates evaluated on validation")
    measure: str = parameter("NDCG@10", "measure of features and of the chain")
    convention: str | Convention = parameter("official", "convention of the measure")

    def _check(self) -> None:
        check_minima(self, n_products=1, n_base_features=2, candidates=1)

    def _learn(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        if valid is None or not valid.queries:
            raise DataError(f"{self.name} needs a validation set: pass one")
        self.pairs_: list[Pair] = []
        remaining = self._shortlist(train)
        judge = Objective(valid, self.measure, self.convention)
        best = self._validation_value(train, valid, next_ranker, judge, [])
        while remaining and len(self.pairs_) < self.n_products:
            values = [
                self._validation_value(train, valid, next_ranker, judge, [*self.pairs_, pair]) for pair in remaining
            ]
            best_position = int(np.argmax(values))
            if values[best_position] <= best:
                break
            best = values[best_position]
            self.pairs_.append(remaining.pop(best_position))

    def _shortlist(self, train: Dataset) -> list[Pair]:
        """Return the pairs with the largest gain of their product or ratio over the better feature."""
        table = np.asarray(train.features, np.float64)
        single_values, _ = single_feature_values(train, self.measure, self.convention)
        best_columns = np.argsort(-single_values, kind="stable")[: self.n_base_features].tolist()
        means = np.maximum(np.abs(table).mean(axis=0), 1e-12)
        pairs: list[Pair] = [("*", i, j, 0.0) for i, j in combinations(sorted(best_columns), 2)]
        pairs += [("/", i, j, float(means[j])) for i in best_columns for j in best_columns if i != j]
        candidates = Dataset(combine_features(table, pairs), train.labels, train.offsets, train.query_ids)
        values, _ = single_feature_values(candidates, self.measure, self.convention)
        gains = np.array([values[p] - max(single_values[i], single_values[j]) for p, (_, i, j, _) in enumerate(pairs)])
        return [pairs[p] for p in np.argsort(-gains, kind="stable")[: self.candidates]]

    def _validation_value(
        self, train: Dataset, valid: Dataset, next_ranker: Ranker, judge: Objective, pairs: list[Pair]
    ) -> float:
        """Return the validation value of the next ranker with these pairs."""
        previous, self.pairs_ = self.pairs_, pairs
        try:
            transformed_valid = self.transform_dataset(valid)
            model = next_ranker.clone().fit(self.transform_dataset(train), eval_set=transformed_valid)
            return judge.mean(
                model.scores(np.asarray(transformed_valid.features, np.float64), transformed_valid.offsets)
            )
        finally:
            self.pairs_ = previous

    def _transform(self, features: Features) -> Features:
        joined: Features = np.concatenate((features, combine_features(features, self.pairs_)), axis=1)
        return joined

    def _names(self) -> tuple[str, ...]:
        names = self.feature_names_
        return (*names, *(f"{names[i]} {sign} {names[j]}" for sign, i, j, _ in self.pairs_))

    def _state(self) -> dict[str, Any]:
        names = self.feature_names_
        return {"pairs": [[sign, names[i], names[j], guard] for sign, i, j, guard in self.pairs_]}

    def _restore(self, state: dict[str, Any]) -> None:
        names, self.pairs_ = self.feature_names_, []
        for sign, i, j, guard in state["pairs"]:
            if sign not in ("*", "/") or (sign == "/" and not read_number(guard) > 0):
                raise ValueError(f"{sign!r} is neither a product nor a ratio")
            self.pairs_.append((sign, feature_index(i, names), feature_index(j, names), read_number(guard)))

    def importance(self) -> dict[str, float]:
        """Return the importance of each feature, including half of each product or ratio."""
        importances = self.estimators_[0].importance()
        results = {name: importances[name] for name in self.feature_names_}
        for name, (_, i, j, _) in zip(self._names()[len(results) :], self.pairs_, strict=True):
            for column in (i, j):
                results[self.feature_names_[column]] += importances[name] / 2
        return results

    def _to_model(self, models: Any) -> Any:
        """Return the next ranker's model if no product was added."""
        return super()._to_model(models) if self.pairs_ else models[0]

    def _no_model_reason(self) -> str:
        return "engines do not compute products and ratios of features"

    def describe(self) -> str:
        """Return a sentence about the added features."""
        added = ", ".join(self._names()[len(self.feature_names_) :])
        return f"products adds {added}." if added else "products adds none: no candidate helps on validation."


def combine_features(table: F64, pairs: list[Pair]) -> F64:
    """Return products and ratios [document, pair].

    >>> combine_features(np.array([[2.0, 3.0]]), [("*", 0, 1, 0.0), ("/", 0, 1, 1.0)]).tolist()
    [[6.0, 0.5]]
    """
    result = np.empty((len(table), len(pairs)))
    for p, (sign, i, j, guard) in enumerate(pairs):
        result[:, p] = table[:, i] * table[:, j] if sign == "*" else table[:, i] / (np.abs(table[:, j]) + guard)
    return result
