"""What mixing tasks loses, and what rankers that depend on the query win back: the embedded collection's three tasks.

    pippin build stdlib -o FOLDER --sample 100 --no-meta --features "gov query proximity positions"
    python benchmarks/query_dependent.py FOLDER

NDCG@10 under `official` over all test queries of five folds; intervals are 95 %, from 2,000 bootstrap samples of the
queries, not corrected for the number of lines.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import pippin
from pippin.data.dataset import Dataset
from pippin.data.folders import load_folder
from pippin.data.folds import Fold
from pippin.evaluation.objective import Judge
from pippin.rankers import Chain
from pippin.rankers.steps import Classes

TASKS, BASE = ("TD", "HP", "NP"), "norm > ranksvm"
STEPS = ("classes", "clusters(3)", "choose")
F64 = NDArray[np.float64]


def joined(parts: list[Dataset]) -> Dataset:
    """Data sets of the same features as one."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return replace(
        parts[0], features=np.concatenate([part.features for part in parts]), lines=None, document_ids=None,
        labels=np.concatenate([part.labels for part in parts]), comments=None, name="mixed",
        offsets=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        query_ids=tuple(query for part in parts for query in part.query_ids),
    )  # fmt: skip


def values(text: str, train: Dataset, vali: Dataset, test: Dataset) -> tuple[F64, list[bool]]:
    """The values of test queries, and whether each was taken for its own task where tasks are guessed."""
    model = pippin.train(train, text, valid=vali)
    step = model.step_ if isinstance(model, Chain) else None
    guessed = step.classified(test) if isinstance(step, Classes) else []
    right = [task == query[:2] for task, query in zip(guessed, test.query_ids, strict=False)]
    return Judge(test, "NDCG@10", "official").values(model.predict(test)), right


def main(folder: Path) -> None:
    folds: dict[str, list[Fold]] = {task: list(load_folder(folder / task / "Feature-min")) for task in TASKS}
    found: dict[str, list[F64]] = {}
    right: list[bool] = []
    for i in range(5):
        parts = [joined([folds[task][i][part] for task in TASKS]) for part in ("train", "vali", "test")]
        for text in (BASE, *(f"{step} > {BASE}" for step in STEPS)):
            reached, guesses = values(text, parts[0], parts[1], parts[2])
            found.setdefault(text, []).append(reached)
            right += guesses
        own = [values(BASE, *(folds[task][i][part] for part in ("train", "vali", "test")))[0] for task in TASKS]
        found.setdefault(f"{BASE}, each task alone", []).append(np.concatenate(own))
    table = {name: np.concatenate(one) for name, one in found.items()}
    mixed, apart = table[BASE], table[f"{BASE}, each task alone"]
    drawn = np.random.default_rng(1).integers(0, len(mixed), (2000, len(mixed)))
    print(f"tasks guessed right: {np.mean(right):.3f} of {len(right)} queries; {len(mixed)} test queries")
    print("| ranker | NDCG@10 | against mixed | won back |\n|---|--:|--:|--:|")
    for name, one in table.items():
        gaps = (one - mixed)[drawn].mean(axis=1)
        shares = gaps / (apart - mixed)[drawn].mean(axis=1)
        low, high = np.quantile(gaps, [0.025, 0.975])
        least, most = np.quantile(shares, [0.025, 0.975])
        share = (one - mixed).mean() / (apart - mixed).mean()
        print(f"| {name} | {one.mean():.4f} | {(one - mixed).mean():+.4f} [{low:+.4f}, {high:+.4f}] "
              f"| {share:.0%} [{least:.0%}, {most:.0%}] |")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
