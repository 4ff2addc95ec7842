"""How much does each feature matter to a trained ranker? Asked of its rankings, with intervals, or of its trees.

Permutation importance is what the measure loses when a feature's values are shuffled among a query's documents: it is
said in the measure's own units, on data that the model has not learned from, for any ranker. SHAP values share each
score out among the features, exactly, for trees (through LightGBM).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.kernels.tails import t_point
from pippin.rankers.base import Ranker
from pippin.rankers.models import aligned
from pippin.rankers.parts.trees import BoostedRanker
from pippin.rankers.training import as_dataset

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """What a feature is worth to a model: the mean over queries, and its interval."""

    feature: str
    mean: float
    low: float
    high: float


def permutation_importance(
    model: Ranker, data: Any, measure: str = "NDCG@10", convention: str | Convention = "official", *,
    repeats: int = 5, seed: int = 1, alpha: float = 0.05,
) -> list[Effect]:  # fmt: skip
    """What the measure loses, query by query, when a feature is shuffled within queries; most first.

    The interval is Student's over queries, each query's loss being the mean over `repeats` shuffles.

    >>> import pippin
    >>> X, y, qid = [[0.0, 1], [1, 1], [2, 1], [0.5, 1], [1.5, 1]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> data = pippin.Dataset.from_arrays(X, y, qid)
    >>> [effect.feature for effect in permutation_importance(pippin.train(data, "ranksvm"), data)]
    ['1', '2']
    """
    if repeats < 1:
        raise DataError(f"a feature is shuffled once at least, not {repeats} times")
    whole = aligned(model, as_dataset(data))
    judge = Judge(whole, measure, convention)
    before = judge.values(model.predict(whole))
    table = np.array(whole.features, np.float64)
    losses = np.zeros((table.shape[1], whole.queries))
    generator = np.random.default_rng(seed)
    for _ in range(repeats):
        order = shuffled(whole.offsets, generator)
        for feature in range(table.shape[1]):
            kept = table[:, feature].copy()
            table[:, feature] = kept[order]
            losses[feature] += before - judge.values(model.scores(table, whole.offsets))
            table[:, feature] = kept
    effects = [_effect(name, lost / repeats, alpha) for name, lost in zip(whole.feature_names, losses, strict=True)]
    return sorted(effects, key=lambda effect: -effect.mean)


def shuffled(offsets: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """The positions of documents, shuffled within each query."""
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((generator.random(len(queries)), queries))


def _effect(name: str, losses: F64, alpha: float) -> Effect:
    counted = losses[~np.isnan(losses)]
    mean = float(counted.mean()) if len(counted) else float("nan")
    if len(counted) < 2:
        return Effect(name, mean, float("nan"), float("nan"))
    half = float(t_point(alpha / 2, len(counted) - 1)) * float(counted.std(ddof=1)) / np.sqrt(len(counted))
    return Effect(name, mean, mean - half, mean + half)


def shap_values(model: Ranker, data: Any) -> F64:
    """[document, feature + 1]: what each feature adds to each score, and in the last column what all begin from.

    Rows sum to the scores. For boosted trees, and for chains that select features in front of them.
    """
    whole = aligned(model, as_dataset(data))
    return _shap(model, np.ascontiguousarray(whole.features, np.float64))


def _shap(model: Ranker, table: F64) -> F64:
    from pippin.rankers.composing import Chain
    from pippin.rankers.steps.base import Selector

    if isinstance(model, Chain) and isinstance(model.step_, Selector):
        inner = _shap(model.step_.models_[0], np.ascontiguousarray(table[:, model.step_.columns_]))
        values = np.zeros((len(table), table.shape[1] + 1))
        values[:, model.step_.columns_], values[:, -1] = inner[:, :-1], inner[:, -1]
        return values
    if not isinstance(model, BoostedRanker):
        raise DataError(f"SHAP values are for boosted trees, and {model.name} is none; permutation works for all")
    import lightgbm

    total = np.zeros((len(table), table.shape[1] + 1))
    for text in model.boosters_:
        total += np.asarray(lightgbm.Booster(model_str=text).predict(table, pred_contrib=True))
    total /= max(1, len(model.boosters_))
    total[:, -1] += float(getattr(model, "base_", 0.0))
    return total


def shap_importance(model: Ranker, data: Any) -> dict[str, float]:
    """The mean size of each feature's SHAP value within queries: what it moves documents of a query apart by."""
    whole = aligned(model, as_dataset(data))
    values = shap_values(model, whole)[:, :-1]
    sizes = np.diff(whole.offsets)
    filled = sizes > 0
    means = np.add.reduceat(values, whole.offsets[:-1][filled], axis=0) / sizes[filled, None]
    apart = np.abs(values - np.repeat(means, sizes[filled], axis=0)).mean(axis=0)
    pairs = sorted(zip(whole.feature_names, apart.tolist(), strict=True), key=lambda pair: -pair[1])
    return dict(pairs)
