"""What does each engine's scoring change of a model? Every target's certificate on real data, one row each.

    python benchmarks/export_parity.py MQ2008 OHSUMED/QueryLevelNorm

A data set is a folder of S1.txt … S5.txt; LambdaMART learns from the first three, stops by the fourth, and the fifth
is scored. PIPPIN_RANKLIB names RankLib's jar or classes, if RankLib itself is to score.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.deploy.exporting import export
from pippin.deploy.target import targets
from pippin.errors import ConventionError
from pippin.rankers.base import Ranker
from pippin.rankers.lambdamart import LambdaMART
from pippin.rankers.ranknet import RankNet
from pippin.rankers.ranksvm import RankSVM
from pippin.tables import Table

HEADS = [
    "data",
    "ranker",
    "target",
    "checked by",
    "largest difference",
    "change sides",
    "reordered",
    "NDCG@10",
    "after",
]


def join(parts: list[Dataset]) -> Dataset:
    starts = np.cumsum([0, *(len(part) for part in parts)])
    offsets = [part.offsets[i > 0 :] + start for i, (part, start) in enumerate(zip(parts, starts, strict=False))]
    return Dataset(
        np.concatenate([part.features for part in parts]), np.concatenate([part.labels for part in parts]),
        np.concatenate(offsets), tuple(q for part in parts for q in part.query_ids), None, parts[0].feature_names,
    )  # fmt: skip


def rows(name: str, model: Ranker, title: str, test: Dataset, folder: str) -> list[list[str]]:
    found = []
    for target in sorted(targets().known):
        try:
            one = export(model, target, f"{folder}/model", check=test).certificate
        except ConventionError as error:
            found.append([name, title, target, f"refused: {error}", *[""] * 5])
            continue
        difference = "none" if one.equal_bits else f"{one.largest_difference:.1e}"
        by = one.checked_by if one.by_engine else "interpreter"
        values = [f"{one.ndcg[when]:.6f}" for when in ("before", "after")]
        found.append([name, title, target, by, difference, str(one.sides), str(one.reordered), *values])
    return found


def main() -> None:
    table: list[list[str]] = []
    for place in map(Path, sys.argv[1:]):
        parts = [read_letor(place / f"S{i}.txt") for i in range(1, 6)]
        train, valid, test = join(parts[:3]), parts[3], parts[4]
        rankers = {"LambdaMART": LambdaMART(rounds=300), "3 bags": LambdaMART(rounds=100, bags=3, row_fraction=0.5),
                   "RankSVM": RankSVM(), "RankNet": RankNet(rounds=20)}  # fmt: skip
        for title, ranker in rankers.items():
            with tempfile.TemporaryDirectory() as folder:
                table += rows(place.name, ranker.fit(train, eval_set=valid), title, test, folder)
    print(Table(HEADS, table, names=4).render("markdown"))


if __name__ == "__main__":
    main()
