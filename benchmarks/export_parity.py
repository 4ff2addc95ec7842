"""Measure how much the arithmetic of each engine changes a model: one certificate per target on real data.

    python benchmarks/export_parity.py MQ2008 OHSUMED/QueryLevelNorm [--folds 5] [--only lambdamart ranksvm …]

A data set is a folder of S1.txt … S5.txt. Of each fold a ranker learns from three parts, stops by the fourth, and the
fifth is scored, so that with five folds every query is. Told are the largest difference of a score, documents that go
another way at a threshold, queries whose order changes and how many of these have documents change places that float32
tells apart (0 is what is aimed at), and the mean NDCG@10 before and after; then each query that changed its order.
PIPPIN_RANKLIB names RankLib's jar or classes, if RankLib itself is to score.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import pippin
from pippin.data.dataset import Dataset, concatenate
from pippin.data.letor import read_letor
from pippin.display.tables import Table
from pippin.errors import ConventionError
from pippin.models.certificate import Certificate
from pippin.models.exporters.base import EXPORTERS
from pippin.rankers.base import Ranker
from pippin.rankers.export import export

RANKERS = {
    "lambdamart": ("lambdamart", {"rounds": 300}),
    "bags": ("lambdamart", {"rounds": 100, "n_bags": 3, "bagging_fraction": 0.5}),
    "mart": ("mart", {"rounds": 50}), "rankboost": ("rankboost", {"rounds": 100}), "frank": ("frank", {"rounds": 30}),
    "adarank": ("adarank", {"rounds": 100}), "ranksvm": ("ranksvm", {}), "regression": ("regression", {}),
    "ranknet": ("ranknet", {"rounds": 20, "hidden_layers": 1}),
}  # fmt: skip
HEADS = ["data", "ranker", "target", "checked by", "largest difference", "change sides", "queries", "reordered",
         "told apart", "NDCG@10", "after"]  # fmt: skip


@dataclass
class Row:
    """The certificates of one target over the folds."""

    certificates: list[Certificate] = field(default_factory=list)
    refused: str = ""

    def cells(self) -> list[str]:
        """What the table shows of them."""
        if self.refused:
            return [f"refused: {self.refused}", *[""] * 7]
        ones = self.certificates
        difference = max(item.largest_difference for item in ones)
        by = ones[0].checked_by if ones[0].by_engine else "interpreter"
        apart = sum(not query["equal_in_float32"] for item in ones for query in item.reordered_queries)
        return [
            by, "none" if all(item.has_equal_scores for item in ones) else f"{difference:.1e}",
            str(sum(item.branch_changes for item in ones)), str(sum(entry.data["queries"] for entry in ones)),
            str(sum(item.reordered for item in ones)), str(apart),
            *(f"{np.mean([item.ndcg[when] for item in ones]):.6f}" for when in ("before", "after")),
        ]  # fmt: skip


def certify(model: Ranker, test: Dataset, rows: dict[str, Row], folder: str) -> None:
    for target in sorted(EXPORTERS):
        row = rows.setdefault(target, Row())
        try:
            row.certificates.append(export(model, target, f"{folder}/model", check=test, force=True).certificate)
        except ConventionError as error:
            row.refused = str(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=RANKERS, default=list(RANKERS))
    options = parser.parse_args()
    table: list[list[str]] = []
    changed: list[str] = []
    for place in options.data:
        parts = [read_letor(place / f"S{i}.txt") for i in range(1, 6)]
        name = place.parent.name if place.name == "QueryLevelNorm" else place.name
        for title in options.only:
            ranker, settings = RANKERS[title]
            rows: dict[str, Row] = {}
            with tempfile.TemporaryDirectory() as folder:
                for fold in range(options.folds):
                    rotated = parts[fold:] + parts[:fold]
                    model = pippin.train(concatenate(rotated[:3]), ranker, valid=rotated[3], **settings)
                    certify(model, rotated[4], rows, folder)
            for target, row in rows.items():
                table.append([name, title, target, *row.cells()])
                changed += [
                    f"{name}, {title}, {target}: query {query['query']} of {query['documents']} documents, "
                    + ("of one score in float32" if query["equal_in_float32"] else "told apart by float32")
                    for certificate in row.certificates for query in certificate.reordered_queries
                ]  # fmt: skip
    print(Table(HEADS, table, text_columns=4).render("markdown"))
    print("\n" + "\n".join(changed or ["no query changed its order"]))


if __name__ == "__main__":
    main()
