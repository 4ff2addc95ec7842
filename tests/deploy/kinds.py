"""A trained ranker of every kind that an export can meet."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.rankers.test_estimators import planted, quick

from pippin.data.dataset import Dataset
from pippin.rankers.auto import Auto, Part
from pippin.rankers.base import Ranker

# What each is: its name, its settings, and the kind of form that it turns into.
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "ranksvm": ("ranksvm", {}, "linear"),
    "regression": ("regression", {}, "linear"),
    "svmmap": ("svmmap", {}, "linear"),
    "coordinate-ascent": ("coordinate-ascent", {}, "linear"),
    "adarank": ("adarank", {}, "linear"),
    "best-feature": ("best-feature", {}, "linear"),
    "listnet": ("listnet", {"standardise": True}, "linear"),
    "lambdamart": ("lambdamart", {"rounds": 8, "leaves": 6, "min_leaf": 1}, "trees"),
    "bagged": ("lambdamart", {"rounds": 4, "leaves": 6, "min_leaf": 1, "bags": 3, "row_fraction": 0.5}, "trees"),
    "mart": ("mart", {"rounds": 6, "leaves": 5}, "trees"),
    "xendcg": ("xendcg", {"rounds": 5, "leaves": 5, "min_leaf": 1}, "trees"),
    "rankboost": ("rankboost", {}, "trees"),
    "frank": ("frank", {}, "trees"),
    "ramps": ("rankboost", {"weak": "continuous"}, "network"),
    "ranknet": ("ranknet", {"layers": 2, "units": 4}, "network"),
    "relu": ("lambdarank", {"layers": 1, "units": 5, "activation": "relu", "standardise": True}, "network"),
    "listmle": ("listmle", {}, "linear"),
    "approxndcg": ("approxndcg", {}, "linear"),
    "blended sums": ("auto", {}, "linear"),
    "blended trees": ("auto", {}, "trees"),
}
# What `auto` blends in these.
BLENDS = {"blended sums": ("ranksvm", "regression"), "blended trees": ("mart", "rankboost")}


def documents(null: bool = False, seed: int = 2) -> Dataset:
    """Documents to check with; with NULLs where asked for."""
    data = planted(12, seed=seed)
    if not null:
        return data
    table = data.features - 0.5  # so that 0, which some engines take NULL for, lies among the thresholds
    table[np.random.default_rng(seed).random(table.shape) < 0.15] = np.nan
    return Dataset(table, data.labels, data.offsets, data.query_ids)


@cache
def trained(kind: str, null: bool = False) -> Ranker:
    """The ranker, trained on documents with or without NULLs."""
    if kind in BLENDS:
        return blended(BLENDS[kind], null)
    name, settings, _ = KINDS[kind]
    return quick(name, **settings).fit(documents(null, seed=1), eval_set=documents(null, seed=3))


def blended(kinds: tuple[str, ...], null: bool = False) -> Auto:
    """What `auto` gives when it blends these."""
    model = Auto()
    model.parts_ = [Part(0.25 + i, trained(kind, null), np.arange(6)) for i, kind in enumerate(kinds)]
    model.feature_names_ = documents().feature_names
    model.n_features_in_ = 6
    return model
