"""Train the rankers of other libraries with their defaults, for comparison.

Each peer is a function (train, valid) → scorer of features. Trees are grown one by one up to the library's own number,
and the number that is best on validation by NDCG@10 is kept, which can only help them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset

PAIRS = 100_000
Scorer = Callable[[NDArray[Any]], NDArray[np.float64]]
Peer = Callable[[Dataset, Dataset], Scorer]


def lightgbm(objective: str, train: Dataset, valid: Dataset) -> Scorer:
    """LightGBM's defaults: 100 trees of 31 leaves, rate 0.1."""
    import lightgbm

    parameters = {"objective": objective, "metric": "ndcg", "eval_at": [10], "verbosity": -1, "num_threads": 1,
                  "seed": 1}  # fmt: skip
    table = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.offsets), params=parameters)
    valid_set = table.create_valid(valid.features, valid.labels, group=np.diff(valid.offsets))
    stop = lightgbm.early_stopping(100, verbose=False)
    booster = lightgbm.train(parameters, table, 100, valid_sets=[valid_set], callbacks=[stop])
    return lambda features: np.asarray(booster.predict(features, num_threads=1), np.float64)


def xgboost(train: Dataset, valid: Dataset) -> Scorer:
    """XGBoost's defaults: 100 trees of depth 6, rate 0.3."""
    import xgboost

    parameters = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "seed": 1, "nthread": 1}
    table, valid_set = (xgboost.DMatrix(d.features, d.labels, group=np.diff(d.offsets)) for d in (train, valid))
    booster = xgboost.train(
        parameters, table, 100, evals=[(valid_set, "held")], early_stopping_rounds=100, verbose_eval=False
    )
    span = (0, booster.best_iteration + 1)
    return lambda features: np.asarray(booster.predict(xgboost.DMatrix(features), iteration_range=span), np.float64)


def catboost(train: Dataset, valid: Dataset) -> Scorer:
    """CatBoost's defaults for YetiRank, but 300 trees instead of 1,000, which take minutes."""
    import catboost as library

    model = library.CatBoost({
        "loss_function": "YetiRank", "eval_metric": "NDCG:top=10", "iterations": 300, "random_seed": 1,
        "thread_count": 1, "verbose": False, "allow_writing_files": False,
    })  # fmt: skip
    table, valid_set = (library.Pool(d.features, d.labels, group_id=d.qid()) for d in (train, valid))
    model.fit(table, eval_set=valid_set, use_best_model=True)
    return lambda features: np.asarray(model.predict(features, thread_count=1), np.float64)


def liblinear(train: Dataset, valid: Dataset) -> Scorer:
    """liblinear's squared hinge loss on differences of documents, by scikit-learn, with its default C = 1; at most
    100,000 pairs, drawn by lot. It has no rounds that validation could choose."""
    from sklearn.svm import LinearSVC

    generator = np.random.default_rng(1)
    better, worse = (np.concatenate(side) for side in zip(*_pairs(train), strict=True))
    sample = generator.permutation(len(better))[:PAIRS]
    signs = np.where(generator.random(len(sample)) < 0.5, 1.0, -1.0)
    table = signs[:, None] * (train.features[better[sample]] - train.features[worse[sample]])
    weights = LinearSVC(fit_intercept=False, dual=False).fit(table, signs).coef_[0]
    return lambda features: np.asarray(features @ weights, np.float64)


def _pairs(data: Dataset) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """By query: the rows of documents, and of those with a lower label."""
    for start, end in pairwise(data.offsets):
        labels = data.labels[start:end]
        better, worse = np.nonzero(labels[:, None] > labels[None, :])
        yield better + start, worse + start


def ranklib(number: int, train: Dataset, valid: Dataset) -> Scorer:
    """RankLib's ranker of a number with its defaults; `RANKLIB` names its classes or its archive."""
    from pippin.data.letor import write_letor

    with tempfile.TemporaryDirectory() as folder:
        parts = {"train": train, "vali": valid}
        for part, data in parts.items():
            write_letor(data, Path(folder) / f"{part}.txt")
        java = ["java", "-Xmx800m", "-cp", os.environ["RANKLIB"], "ciir.umass.edu.eval.Evaluator"]
        options = ["-train", f"{folder}/train.txt", "-validate", f"{folder}/vali.txt", "-ranker", str(number),
                   "-metric2t", "NDCG@10", "-save", f"{folder}/model", "-thread", "1"]  # fmt: skip
        subprocess.run(java + options, check=True, capture_output=True)
        model = Path(folder, "model").read_text()

    def score(features: NDArray[Any]) -> NDArray[np.float64]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "model").write_text(model)
            flat = Dataset.from_arrays(features, np.zeros(len(features), np.int32), np.zeros(len(features), np.int64))
            write_letor(flat, Path(folder) / "test.txt")
            arguments = ["-load", f"{folder}/model", "-rank", f"{folder}/test.txt", "-score", f"{folder}/scores"]
            subprocess.run(java + arguments, check=True, capture_output=True)
            return np.array([float(line.split()[-1]) for line in Path(folder, "scores").read_text().splitlines()])

    return score


PEERS: dict[str, Peer] = {
    "LightGBM lambdarank": lambda train, valid: lightgbm("lambdarank", train, valid),
    "LightGBM rank_xendcg": lambda train, valid: lightgbm("rank_xendcg", train, valid),
    "XGBoost rank:ndcg": xgboost,
    "CatBoost YetiRank": catboost,
    "liblinear on pairs": liblinear,
    "RankLib AdaRank": lambda train, valid: ranklib(3, train, valid),
    "RankLib coordinate ascent": lambda train, valid: ranklib(4, train, valid),
    "RankLib RankBoost": lambda train, valid: ranklib(2, train, valid),
}


def available_peers() -> list[str]:
    """Return the names of the peers that are installed; `RANKLIB` locates RankLib."""
    modules = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost", "liblinear": "sklearn"}
    installed = {library for library, module in modules.items() if find_spec(module) is not None}
    if "RANKLIB" in os.environ:
        installed.add("RankLib")
    return [name for name in PEERS if name.split(" ")[0] in installed]
