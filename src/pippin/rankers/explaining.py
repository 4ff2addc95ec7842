"""Feature importance of a trained ranker: permutation importance with intervals, and SHAP values of trees.

Permutation importance is the decrease of a measure if a feature's values are shuffled among the documents of a query.
It works for any ranker and should be computed on data that was not used for training. SHAP values distribute each
score among the features, exactly for trees (by LightGBM).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Ranker
from pippin.rankers.boosting import BoostedRanker
from pippin.rankers.models import align_features
from pippin.rankers.training import as_dataset

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Importance:
    """The importance of a feature: mean over queries, and its interval."""

    feature: str
    mean: float
    low: float
    high: float


def permutation_importance(
    model: Ranker, data: Any, measure: str = "NDCG@10", convention: str | Convention = "official", *,
    repeats: int = 5, seed: int = 1, alpha: float = 0.05,
) -> list[Importance]:  # fmt: skip
    """Return the decrease of a measure if a feature is shuffled within queries, largest first.

    Parameters
    ----------
    model : Ranker
    data : Dataset, path or data frame
        Labelled documents with the features of the model.
    measure : str, default "NDCG@10"
    convention : str or Convention, default "official"
    repeats : int, default 5
        Number of shuffles per feature.
    seed : int, default 1
    alpha : float, default 0.05
        The interval has the level 1 - alpha (Student's t over queries).

    Returns
    -------
    list of Importance

    Examples
    --------

    >>> import pippin
    >>> X, y, qid = [[0.0, 1], [1, 1], [2, 1], [0.5, 1], [1.5, 1]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> data = pippin.Dataset.from_arrays(X, y, qid)
    >>> [effect.feature for effect in permutation_importance(pippin.train(data, "ranksvm"), data)]
    ['1', '2']
    """
    if repeats < 1:
        raise DataError(f"repeats must be at least 1, got {repeats}")
    aligned = align_features(model, as_dataset(data))
    judge = Objective(aligned, measure, convention)
    before = judge.values(model.predict(aligned))
    table = np.array(aligned.features, np.float64)
    losses = np.zeros((table.shape[1], aligned.queries))
    generator = np.random.default_rng(seed)
    for _ in range(repeats):
        order = shuffle_within_queries(aligned.offsets, generator)
        for feature in range(table.shape[1]):
            column = table[:, feature].copy()
            table[:, feature] = column[order]
            losses[feature] += before - judge.values(model.scores(table, aligned.offsets))
            table[:, feature] = column
    effects = [
        _importance(name, lost / repeats, alpha) for name, lost in zip(aligned.feature_names, losses, strict=True)
    ]
    return sorted(effects, key=lambda effect: -effect.mean)


def shuffle_within_queries(offsets: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of documents, shuffled within each query."""
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((generator.random(len(queries)), queries))


def _importance(name: str, losses: F64, alpha: float) -> Importance:
    values = losses[~np.isnan(losses)]
    mean = float(values.mean()) if len(values) else float("nan")
    if len(values) < 2:
        return Importance(name, mean, float("nan"), float("nan"))
    from scipy.special import stdtrit

    half_width = -float(stdtrit(len(values) - 1, alpha / 2)) * float(values.std(ddof=1)) / np.sqrt(len(values))
    return Importance(name, mean, mean - half_width, mean + half_width)


def shap_values(model: Ranker, data: Any) -> F64:
    """Return SHAP values of boosted trees, or of chains of selectors and boosted trees.

    Returns
    -------
    ndarray of float64, shape (documents, features + 1)
        Contribution of each feature to each score, and in the last column the expected score. Rows sum to the scores.

    Raises
    ------
    DataError
        If the model has no trees.
    """
    aligned = align_features(model, as_dataset(data))
    return _shap(model, np.ascontiguousarray(aligned.features, np.float64))


def _shap(model: Ranker, table: F64) -> F64:
    from pippin.rankers.chains import Chain
    from pippin.rankers.steps.base import Selector

    if isinstance(model, Chain) and isinstance(model.step_, Selector):
        inner = _shap(model.step_.estimators_[0], np.ascontiguousarray(table[:, model.step_.columns_]))
        values = np.zeros((len(table), table.shape[1] + 1))
        values[:, model.step_.columns_], values[:, -1] = inner[:, :-1], inner[:, -1]
        return values
    if not isinstance(model, BoostedRanker):
        raise DataError(f"SHAP values need boosted trees, got {model.name}: use permutation importance")
    import lightgbm

    total = np.zeros((len(table), table.shape[1] + 1))
    for text in model.boosters_:
        total += np.asarray(lightgbm.Booster(model_str=text).predict(table, pred_contrib=True))
    total /= max(1, len(model.boosters_))
    total[:, -1] += float(getattr(model, "base_", 0.0))
    return total


def shap_importance(model: Ranker, data: Any) -> dict[str, float]:
    """Return the mean absolute SHAP value of each feature, centred within queries, largest first."""
    aligned = align_features(model, as_dataset(data))
    values = shap_values(model, aligned)[:, :-1]
    sizes = np.diff(aligned.offsets)
    is_filled = sizes > 0
    means = np.add.reduceat(values, aligned.offsets[:-1][is_filled], axis=0) / sizes[is_filled, None]
    effects = np.abs(values - np.repeat(means, sizes[is_filled], axis=0)).mean(axis=0)
    pairs = sorted(zip(aligned.feature_names, effects.tolist(), strict=True), key=lambda pair: -pair[1])
    return dict(pairs)


def explain(model: Ranker, data: Any, measure: str = "NDCG@10") -> dict[str, Any]:
    """Return what each feature contributes to a model on labelled data, as a JSON record.

    Parameters
    ----------
    model : Ranker
        A fitted ranker.
    data : Dataset, path or data frame
        Labelled documents, preferably not those of the training set.
    measure : str, default "NDCG@10"
        Measure whose drop is the importance.

    Returns
    -------
    dict
        ``permutation``: feature, mean drop and interval; ``shap``: mean |SHAP| by feature, or None without trees.

    Examples
    --------
    >>> import numpy as np
    >>> import pippin
    >>> data = pippin.Dataset.from_arrays(np.eye(3)[[0, 1, 2, 0, 1, 2]], [2, 1, 0, 2, 1, 0], [1, 1, 1, 2, 2, 2])
    >>> len(explain(pippin.train(data, "ranksvm"), data, "NDCG@3")["permutation"])
    3
    """
    documents = as_dataset(data)
    effects = [asdict(effect) for effect in permutation_importance(model, documents, measure)]
    try:
        shap = shap_importance(model, documents)
    except DataError:
        shap = None
    return {"ranker": model.name, "measure": measure, "permutation": effects, "shap": shap}
