"""One quickly trained ranker per kind of model, for engine tests."""

from __future__ import annotations

from typing import Any

TREES = ("lambdamart", "mart", "xendcg", "rankboost", "frank")
LINEAR = ("ranksvm", "regression", "coordinate-ascent", "adarank", "listmle")
NETWORKS = ("ranknet", "lambdarank", "listnet")
PARAMETERS: dict[str, dict[str, Any]] = {
    "lambdamart": {"rounds": 20}, "mart": {"rounds": 20}, "xendcg": {"rounds": 20}, "rankboost": {"rounds": 20},
    "frank": {"rounds": 10}, "ranknet": {"rounds": 5}, "lambdarank": {"rounds": 5}, "listnet": {"rounds": 5},
    "coordinate-ascent": {"n_restarts": 1}, "adarank": {"rounds": 30}, "listmle": {"rounds": 20},
}  # fmt: skip
