"""One trained ranker per exportable kind."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.rankers.test_estimators import plant_sum, quick

from pippin.data.dataset import Dataset
from pippin.rankers.auto import Auto, Part
from pippin.rankers.base import Ranker

# Name, settings and kind of model of each.
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "ranksvm": ("ranksvm", {}, "linear"),
    "regression": ("regression", {}, "linear"),
    "svmmap": ("svmmap", {}, "linear"),
    "coordinate-ascent": ("coordinate-ascent", {}, "linear"),
    "adarank": ("adarank", {}, "linear"),
    "best-feature": ("best-feature", {}, "linear"),
    "listnet": ("listnet", {"standardize": True}, "linear"),
    "lambdamart": ("lambdamart", {"rounds": 8, "num_leaves": 6, "min_data_in_leaf": 1}, "trees"),
    "bagged": (
        "lambdamart",
        {"rounds": 4, "num_leaves": 6, "min_data_in_leaf": 1, "n_bags": 3, "bagging_fraction": 0.5},
        "trees",
    ),
    "mart": ("mart", {"rounds": 6, "num_leaves": 5}, "trees"),
    "xendcg": ("xendcg", {"rounds": 5, "num_leaves": 5, "min_data_in_leaf": 1}, "trees"),
    "rankboost": ("rankboost", {}, "trees"),
    "frank": ("frank", {}, "trees"),
    "ramps": ("rankboost", {"weak_learner": "continuous"}, "network"),
    "ranknet": ("ranknet", {"hidden_layers": 2, "hidden_units": 4}, "network"),
    "relu": (
        "lambdarank",
        {"hidden_layers": 1, "hidden_units": 5, "activation": "relu", "standardize": True},
        "network",
    ),
    "listmle": ("listmle", {}, "linear"),
    "approxndcg": ("approxndcg", {}, "linear"),
    "blended sums": ("auto", {}, "linear"),
    "blended trees": ("auto", {}, "trees"),
}
# Rankers that `auto` blends.
BLENDS = {"blended sums": ("ranksvm", "regression"), "blended trees": ("mart", "rankboost")}


def documents(null: bool = False, seed: int = 2) -> Dataset:
    """Return documents for certificates, optionally with missing values."""
    data = plant_sum(12, seed=seed)
    if not null:
        return data
    table = data.features - 0.5  # so that 0, as which some engines treat NULL, lies among the thresholds
    table[np.random.default_rng(seed).random(table.shape) < 0.15] = np.nan
    return Dataset(table, data.labels, data.offsets, data.query_ids)


@cache
def train_ranker(kind: str, null: bool = False) -> Ranker:
    """Return the ranker, trained on documents with or without missing values."""
    if kind in BLENDS:
        return blend(BLENDS[kind], null)
    name, settings, _ = KINDS[kind]
    return quick(name, **settings).fit(documents(null, seed=1), eval_set=documents(null, seed=3))


def blend(kinds: tuple[str, ...], null: bool = False) -> Auto:
    """Return the ranker that `auto` makes of these."""
    model = Auto()
    model.parts_ = [Part(0.25 + i, train_ranker(kind, null), np.arange(6)) for i, kind in enumerate(kinds)]
    model.feature_names_ = documents().feature_names
    model.n_features_in_ = 6
    return model
