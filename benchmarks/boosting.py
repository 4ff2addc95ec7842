"""Compare RankBoost, AdaRank, FRank and coordinate ascent with RankLib: training time and quality on five folds.

python benchmarks/boosting.py FOLDS [--quality]   where FOLDS holds Fold1 … Fold5 with train.txt, vali.txt, test.txt

RankLib's seconds are user seconds of its whole process on MQ2008 fold 1, one core, quoted from its own runs.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.evaluation.objective import Objective
from pippin.rankers import ranker

# (ranker, parameters as RankLib's defaults, RankLib's user seconds)
TIMED: tuple[tuple[str, dict[str, Any], float | None], ...] = (
    ("adarank", {"measure": "NDCG@10", "rounds": 500, "early_stopping_rounds": None}, 5.85),
    ("rankboost", {"rounds": 300, "early_stopping_rounds": None}, 7.05),
    ("coordinate-ascent", {"measure": "NDCG@10", "n_restarts": 5, "line_steps": 25, "init": "uniform"}, 20.79),
    ("frank", {"rounds": 300, "early_stopping_rounds": None, "stump_selection": "gradient"}, None),
)
# What `--quality` trains: the defaults, RankBoost with rules that vote against documents, coordinate ascent by seeds.
SHOWN: tuple[tuple[str, dict[str, Any]], ...] = (
    *((name, {}) for name, _, _ in TIMED),
    ("rankboost", {"positive_only": False}),
    *(("coordinate-ascent", {"seed": seed}) for seed in range(2, 7)),
)
JUDGED = (("NDCG@10", "official"), ("MAP", "official"), ("NDCG@10", "ranklib"), ("MAP", "ranklib"))


def read_fold(folder: Path, number: int) -> tuple[Dataset, Dataset, Dataset]:
    train, valid, test = (read_letor(folder / f"Fold{number}" / f"{part}.txt") for part in ("train", "vali", "test"))
    return train, valid, test


def seconds(name: str, parameters: dict[str, Any], train: Dataset, valid: Dataset) -> tuple[float, float]:
    """Least wall and user seconds of three fits."""
    walls, users = [], []
    for _ in range(3):
        wall, user = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
        ranker(name)(convention="ranklib", **parameters).fit(train, eval_set=valid)
        walls.append(time.perf_counter() - wall)
        users.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - user)
    return min(walls), min(users)


def show_times(folder: Path) -> None:
    train, valid, _ = read_fold(folder, 1)
    print(f"{'ranker':20}{'wall s':>9}{'user s':>9}{'RankLib s':>11}{'by wall':>9}{'by user':>9}")
    for name, parameters, theirs in TIMED:
        wall, user = seconds(name, parameters, train, valid)
        ratios = f"{theirs:11.2f}{theirs / wall:8.1f}×{theirs / user:8.1f}×" if theirs else ""
        print(f"{name:20}{wall:9.3f}{user:9.3f}{ratios}")


def show_quality(folder: Path) -> None:
    print(f"{'ranker':40}" + "".join(f"{m + ' ' + tool:>18}" for m, tool in JUDGED))
    for name, parameters in SHOWN:
        rows = []
        for number in range(1, 6):
            train, valid, test = read_fold(folder, number)
            scores = ranker(name)(**parameters).fit(train, eval_set=valid).predict(test)
            rows.append([Objective(test, measure, tool).mean(scores) for measure, tool in JUDGED])
        text = " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])
        print(f"{text:40}" + "".join(f"{value:18.4f}" for value in np.mean(rows, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folds", type=Path)
    parser.add_argument("--quality", action="store_true")
    options = parser.parse_args()
    show_times(options.folds)
    if options.quality:
        show_quality(options.folds)


if __name__ == "__main__":
    main()
