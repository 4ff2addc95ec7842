"""Compare XE-NDCG with LightGBM's rank_xendcg: one step from fixed scores, and quality on five folds and several seeds.

python benchmarks/xendcg.py [NAME=FOLDS …]   where FOLDS holds Fold1 … Fold5 with train.txt, vali.txt, test.txt

Both have 10 leaves, rate 0.1, at most 1,000 trees, and stop after 100 without a better NDCG@10 on validation. The draws
cannot be made the same, so that only means over seeds compare.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lightgbm
import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.evaluation.objective import Objective
from pippin.rankers.xendcg import XENDCG, CrossEntropy

SEEDS = range(1, 21)
MEASURES = ("NDCG@10", "MAP")
QUERIES = 20_000


def show_step() -> None:
    """The Newton step of each of four documents, -Σ gradient / Σ second derivative over many like queries."""
    labels = np.tile([2, 1, 0, 0], QUERIES).astype(np.int32)
    place, scores = np.tile(np.arange(4.0), QUERIES)[:, None], np.tile([0.5, -1.0, 2.0, 0.0], QUERIES)
    parameters = {"objective": "rank_xendcg", "num_leaves": 4, "learning_rate": 1.0, "min_data_in_leaf": 1,
                  "num_threads": 1, "verbosity": -1}  # fmt: skip
    table = lightgbm.Dataset(place, labels, group=np.full(QUERIES, 4), init_score=scores)
    theirs = np.asarray(lightgbm.train(parameters, table, 1).predict(place[:4]))
    data = Dataset(place, labels, np.arange(QUERIES + 1) * 4, tuple(map(str, range(QUERIES))))
    gradient, second = CrossEntropy(data)(scores, np.random.default_rng(0).random(len(labels)))
    ours = -gradient.reshape(-1, 4).sum(axis=0) / second.reshape(-1, 4).sum(axis=0)
    print(f"step of LightGBM {theirs.round(3)}, of pippin {ours.round(3)}")


def built_in(train: Dataset, valid: Dataset, test: Dataset, seed: int) -> NDArray[np.float64]:
    """Test scores of LightGBM's own objective."""
    parameters = {"objective": "rank_xendcg", "metric": "ndcg", "eval_at": [10], "num_leaves": 10, "learning_rate": 0.1,
                  "num_threads": 1, "verbosity": -1, "seed": seed}  # fmt: skip
    table = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.offsets), params=parameters)
    valid_set = table.create_valid(valid.features, valid.labels, group=np.diff(valid.offsets))
    stop = lightgbm.early_stopping(100, verbose=False)
    model = lightgbm.train(parameters, table, 1000, valid_sets=[valid_set], callbacks=[stop])
    return np.asarray(model.predict(test.features))


def ours(train: Dataset, valid: Dataset, test: Dataset, seed: int) -> NDArray[np.float64]:
    """Test scores of our XE-NDCG."""
    return XENDCG(seed=seed).fit(train, eval_set=valid).predict(test)


def show_folds(name: str, folder: Path) -> None:
    folds = [
        [read_letor(folder / f"Fold{k}" / f"{part}.txt") for part in ("train", "vali", "test")] for k in range(1, 6)
    ]
    judges = [[Objective(fold[2], measure, "official") for measure in MEASURES] for fold in folds]
    for who, scores in (("LightGBM", built_in), ("pippin", ours)):
        means = np.empty((len(SEEDS), len(MEASURES)))
        for i, seed in enumerate(SEEDS):
            given = [scores(*fold, seed) for fold in folds]
            means[i] = np.mean(
                [[judge.mean(s) for judge in pair] for pair, s in zip(judges, given, strict=True)], axis=0
            )
        for measure, column in zip(MEASURES, means.T, strict=True):
            spread = f"{column.min():.4f} to {column.max():.4f}, deviation {column.std():.4f}"
            print(f"{name} {who:9}{measure:8} mean {column.mean():.4f}, {len(SEEDS)} seeds: {spread}")


def main() -> None:
    show_step()
    for given in sys.argv[1:]:
        name, _, folder = given.partition("=")
        show_folds(name, Path(folder))


if __name__ == "__main__":
    main()
