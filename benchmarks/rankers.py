"""Measure quality and speed of every ranker on five folds with model selection by MAP on validation, as in LETOR.

    python benchmarks/rankers.py OHSUMED=FOLDER MQ2008=FOLDER [--rankers ranksvm,lambdamart] [--json results.json]

FOLDER holds Fold1 … Fold5 with train.txt, vali.txt and test.txt. Prints a Markdown table per data set: test means over
the folds under the data set's own LETOR script, NDCG@10 by definition, the best peer's figures beside them, and
seconds per fold (one fit with the default parameters; and the whole selection). Rankers train by their default measure
under the definition (`official`); selection and test are under the data set's LETOR script.

`--peers` also trains LightGBM's and XGBoost's rankers on the same folds: 10 leaves at rate 0.1 or 31 at 0.05, chosen by
MAP on validation, at most 1,000 trees, ended after 100 without a better NDCG@10 there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.display.tables import Table
from pippin.evaluation.objective import Objective
from pippin.rankers import names, ranker
from pippin.rankers.training import points, select

CONVENTIONS = {"OHSUMED": "letor3", "MQ2008": "letor4"}
MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")

# What others reach on the same folds: who, MAP by the LETOR script, NDCG@10 by definition, seconds of a fit.
PEERS = {
    ("MQ2008", "regression"): ("RankLib", 0.4550, 0.4871, 1.19),
    ("MQ2008", "adarank"): ("RankLib", 0.4700, 0.4952, 4.29),
    ("MQ2008", "rankboost"): ("RankLib", 0.4767, 0.5003, 7.27),
    ("MQ2008", "listnet"): ("RankLib", 0.4486, 0.4807, 15.8),
    ("MQ2008", "ranknet"): ("RankLib", 0.4501, 0.4803, 12.5),
    ("MQ2008", "coordinate-ascent"): ("RankLib", 0.4810, 0.5087, 23.1),
    ("MQ2008", "lambdamart"): ("jforests", 0.4779, 0.5046, 2.78),
    ("MQ2008", "ranksvm"): ("liblinear-ranksvm", 0.4728, 0.5028, 0.108),
    ("MQ2008", "svmmap"): ("svm_map", 0.4718, 0.4987, 5.32),
    ("MQ2008", "xendcg"): ("LightGBM rank_xendcg", 0.4826, 0.5089, 0.269),
    ("OHSUMED", "regression"): ("LETOR 3.0", 0.4220, None, None),
    ("OHSUMED", "adarank"): ("RankLib", 0.4458, 0.4478, 3.28),
    ("OHSUMED", "rankboost"): ("RankLib", 0.4452, 0.4385, 10.7),
    ("OHSUMED", "listnet"): ("LETOR 3.0", 0.4457, None, None),
    ("OHSUMED", "ranknet"): ("RankLib", 0.4407, 0.4319, 48.7),
    ("OHSUMED", "coordinate-ascent"): ("RankLib", 0.4419, 0.4417, 22.2),
    ("OHSUMED", "lambdamart"): ("jforests", 0.4366, 0.4598, 4.36),
    ("OHSUMED", "ranksvm"): ("dlib", 0.4471, 0.4560, 0.026),
    ("OHSUMED", "svmmap"): ("svm_map", 0.4406, 0.4329, 5.98),
    ("OHSUMED", "frank"): ("LETOR 3.0", 0.4439, None, None),
    ("OHSUMED", "xendcg"): ("LightGBM rank_xendcg", 0.4395, 0.4394, 0.246),
}  # fmt: skip


Scorer = Callable[[NDArray[np.floating[Any]]], NDArray[np.float64]]


def lightgbm_peer(objective: str, train: Dataset, valid: Dataset, leaves: int, rate: float) -> Scorer:
    import lightgbm

    parameters = {"objective": objective, "metric": "ndcg", "eval_at": [10], "num_leaves": leaves, "seed": 1,
                  "learning_rate": rate, "verbosity": -1}  # fmt: skip
    table = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.offsets), params=parameters)
    valid_set = table.create_valid(valid.features, valid.labels, group=np.diff(valid.offsets))
    stop = lightgbm.early_stopping(100, verbose=False)
    booster = lightgbm.train(parameters, table, 1000, valid_sets=[valid_set], callbacks=[stop])
    return lambda features: np.asarray(booster.predict(features))


def xgboost_peer(objective: str, train: Dataset, valid: Dataset, leaves: int, rate: float) -> Scorer:
    import xgboost

    parameters = {"objective": objective, "eval_metric": "ndcg@10", "max_leaves": leaves, "max_depth": 0, "seed": 1,
                  "grow_policy": "lossguide", "tree_method": "hist", "learning_rate": rate}  # fmt: skip
    table, valid_set = (xgboost.DMatrix(d.features, d.labels, group=np.diff(d.offsets)) for d in (train, valid))
    booster = xgboost.train(
        parameters, table, 1000, evals=[(valid_set, "held")], early_stopping_rounds=100, verbose_eval=False
    )
    span = (0, booster.best_iteration + 1)
    return lambda features: np.asarray(booster.predict(xgboost.DMatrix(features), iteration_range=span), np.float64)


TRAINED = {
    "LightGBM lambdarank": (lightgbm_peer, "lambdarank"),
    "LightGBM rank_xendcg": (lightgbm_peer, "rank_xendcg"),
    "XGBoost rank:ndcg": (xgboost_peer, "rank:ndcg"),
}
SETTINGS = ((10, 0.1), (31, 0.05))  # leaves and rate


def read_fold(folder: Path, fold: int) -> tuple[Dataset, Dataset, Dataset]:
    train, valid, test = (read_letor(folder / f"Fold{fold}" / f"{part}.txt") for part in ("train", "vali", "test"))
    return train, valid, test


def run_peer(name: str, parts: tuple[Dataset, Dataset, Dataset], convention: str) -> dict[str, Any]:
    """Another library's ranker: select on validation, judge on test."""
    train, valid, test = parts
    peer, objective = TRAINED[name]
    judge = Objective(valid, "MAP", convention)
    start = time.process_time()
    scorers = [peer(objective, train, valid, *SETTINGS[0])]
    once = time.process_time() - start
    scorers += [peer(objective, train, valid, *setting) for setting in SETTINGS[1:]]
    full = time.process_time() - start
    best = max(scorers, key=lambda scorer: judge.mean(scorer(valid.features)))
    return evaluate_scores(best(test.features), test, convention) | {"fit": once, "select": full}


def evaluate_scores(scores: NDArray[np.float64], test: Dataset, convention: str) -> dict[str, float]:
    row = {m: Objective(test, m, convention).mean(scores) for m in MEASURES}
    return row | {"official": Objective(test, "NDCG@10", "official").mean(scores)}


def run_fold(name: str, parts: tuple[Dataset, Dataset, Dataset], convention: str) -> dict[str, Any]:
    """Select on validation, judge on test."""
    if name in TRAINED:
        return run_peer(name, parts, convention)
    train, valid, test = parts
    cls = ranker(name)
    start = time.process_time()
    cls().fit(train, eval_set=valid)
    once = time.process_time() - start
    start = time.process_time()
    selection = select(cls(), train, valid, measure="MAP", convention=convention)
    full = time.process_time() - start
    row = evaluate_scores(selection.ranker.predict(test), test, convention)
    return row | {"fit": once, "select": full, "parameters": selection.parameters, "valid": selection.value}


def row_of(data: str, name: str, rows: list[dict[str, Any]]) -> list[str]:
    means = [f"{np.mean([r[m] for r in rows]):.4f}" for m in (*MEASURES, "official")]
    peer = PEERS.get((data, name))
    beside = ["", "", ""]
    if peer is not None:
        beside = [peer[0], f"{peer[1]:.4f}", "" if peer[2] is None else f"{peer[2]:.4f}"]
    seconds = [f"{np.mean([r['fit'] for r in rows]):.2f}", f"{np.mean([r['select'] for r in rows]):.1f}"]
    ratio = "" if peer is None or peer[3] is None else f"{peer[3] / np.mean([r['fit'] for r in rows]):.1f}×"
    tried = len(SETTINGS) if name in TRAINED else len(points(ranker(name).grid))
    return [name, *means, *seconds, str(tried), *beside, ratio]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--rankers", help="names joined by commas (default: all)")
    parser.add_argument("--peers", action="store_true", help="also train LightGBM and XGBoost on these folds")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="keep every fold's figures here; what is there is not run again")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    keep = Path(options.json) if options.json else None
    records = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    asked = [*(options.rankers.split(",") if options.rankers else names()), *(TRAINED if options.peers else ())]
    for text in options.data:
        data, _, folder = text.partition("=")
        table = []
        for name in asked:
            for fold in range(1, options.folds + 1):
                key = f"{data}/{name}/{fold}"
                if key not in records:
                    records[key] = run_fold(name, read_fold(Path(folder), fold), CONVENTIONS.get(data, "official"))
                    if keep is not None:
                        keep.write_text(json.dumps(records, indent=1))
            table.append(row_of(data, name, [records[f"{data}/{name}/{f}"] for f in range(1, options.folds + 1)]))
        headers = ["ranker", *MEASURES, "NDCG@10 official", "fit s", "select s", "grid", "peer", "its MAP",
                   "its NDCG@10", "time against it"]  # fmt: skip
        convention = CONVENTIONS.get(data, "official")
        notes = [
            f"{options.folds} folds, test means under {convention}; selected by MAP on validation; CPU seconds a fold."
        ]
        print(f"### {data}\n\n" + Table(headers, table, notes=notes).render("markdown") + "\n")


if __name__ == "__main__":
    main()
