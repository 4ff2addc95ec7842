"""Measure the value of each feature group: LambdaMART with growing feature sets and without each group.

    pippin build stdlib -o FOLDER --sample 100 --no-meta
    python benchmarks/feature_groups.py FOLDER

Five folds, validation chooses the number of trees; NDCG@10 under `official`, mean over all test queries.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.fold_files import read_folds
from pippin.evaluation.objective import Objective
from pippin.rankers import ranker

GROUPS = {
    "counts, idf, length (1–20)": range(0, 20),
    "BM25 (21–25)": range(20, 25),
    "language models (26–40)": range(25, 40),
    "propagation (41–48)": range(40, 48),
    "link ranks (49–57)": range(48, 57),
    "url and sitemap (58–60)": range(57, 60),
    "extracted title (61–64)": range(60, 64),
}


def select_columns(data: Dataset, columns: list[int]) -> Dataset:
    names = tuple(data.feature_names[i] for i in columns)
    return replace(data, features=np.ascontiguousarray(data.features[:, columns]), feature_names=names, lines=None)


def quality(folder: Path, columns: list[int]) -> float:
    values = []
    for fold in read_folds(folder / "QueryLevelNorm"):
        train, vali, test = (select_columns(part, columns) for part in (fold.train, fold.vali, fold.test))
        model = ranker("lambdamart")().fit(train, eval_set=vali)
        values.append(Objective(test, "NDCG@10", "official").values(model.predict(test)))
    return float(np.nanmean(np.concatenate(values)))


def main(folder: Path) -> None:
    tasks = sorted(path.name for path in folder.iterdir() if (path / "QueryLevelNorm").is_dir())
    print("| features | " + " | ".join(tasks) + " |\n|---|" + "--:|" * len(tasks))
    held: list[int] = []
    for name, group in GROUPS.items():
        held += group
        row = [f"{quality(folder / task, held):.4f}" for task in tasks]
        print(f"| {'' if held == list(group) else '+ '}{name} | " + " | ".join(row) + " |", flush=True)
    for name, group in GROUPS.items():
        remaining = [i for i in held if i not in group]
        row = [f"{quality(folder / task, remaining):.4f}" for task in tasks]
        print(f"| all but {name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
