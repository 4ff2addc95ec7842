"""What can a leaderboard over sampled documents say of all that were judged?

A data set that `pippin build` made holds a sample of documents for each query. Its labels know the relevant documents
of the sample alone; what the sample lost, no re-ranking brings back. The manifest of such a data set says how many were
lost, for which queries, and what the best re-ranking reaches; results keep that beside each fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pippin.bench.inputs import Input
from pippin.bench.leaderboard import Leaderboard
from pippin.data.built import built_folder, built_format

MEASURE = "MAP"  # whose value over all judged documents follows from that over the sample


def sampled_of(source: Input) -> dict[str, Any] | None:
    """What the manifest of a built data set says of its sample; None for other data."""
    path = Path(source.path)
    folder = built_folder(path / "Fold1")
    if folder is None:
        return None
    tasks = built_format().read_record(folder).get("tasks", {})
    task = path.relative_to(folder).parts[0] if len(tasks) > 1 else next(iter(tasks), None)
    own = tasks.get(task, {})
    sampling = own.get("sampling", {})
    if "partial" not in sampling or not own.get("ceilings"):  # built by an earlier version
        return None
    return {**{name: sampling[name] for name in ("relevant", "lost", "partial")}, "ceilings": own["ceilings"]}


@dataclass(frozen=True)
class Ceiling:
    """What the sample of a data set lost, and what that leaves to be reached."""

    data: str
    relevant: int  # judged relevant
    lost: int  # of those, not in the sample
    partial: Mapping[str, tuple[int, int]]  # queries that lost some: relevant ones in the sample, and judged
    best: Mapping[str, Mapping[str, float]]  # sample | judged → measure → what the best re-ranking reaches

    @classmethod
    def of(cls, data: str, record: Mapping[str, Any]) -> Ceiling:
        """The ceiling that a record of results holds."""
        partial = {query: (int(found), int(of)) for query, (found, of) in record["partial"].items()}
        return cls(data, record["relevant"], record["lost"], partial, record["ceilings"])

    def over_judged(self, board: Leaderboard) -> dict[str, float]:
        """Ranker → MAP over all judged documents: AP divides by all of a query's relevant ones, found or not."""
        share = np.array(
            [found / of for found, of in (self.partial.get(query, (1, 1)) for _, query in board.query_keys)]
        )
        folds = np.array([fold for fold, _ in board.query_keys])
        means = {}
        for ranker in board.by_ranker:
            values = share * board.values[:, board.rankers.index(ranker)]
            means[ranker] = float(np.mean([np.nanmean(values[folds == fold]) for fold in board.folds]))
        return means

    def sentence(self) -> str:
        """What was lost, and what no re-ranking exceeds, in one sentence."""
        if not self.lost:
            return f"{self.data}: the sample holds all {self.relevant:,} relevant documents"
        reached = ", ".join(f"{measure} {value:.3f}" for measure, value in self.best["judged"].items())
        return (f"{self.data}: the sample lost {self.lost:,} of {self.relevant:,} relevant documents; over all that "
                f"were judged no re-ranking of it exceeds {reached}")  # fmt: skip

    def record(self, board: Leaderboard | None = None) -> dict[str, Any]:
        """As JSON holds it; with the MAP of every ranker over both where there is a leaderboard of it."""
        both: list[dict[str, Any]] = []
        if board is not None:
            judged = self.over_judged(board)
            both = [
                {"tool": board.tool, "ranker": s.ranker, "sample": s.mean, "judged": judged[s.ranker]}
                for s in board.standings
            ]
        return {"data": self.data, "relevant": self.relevant, "lost": self.lost, "note": self.sentence(),
                "best": {over: dict(values) for over, values in self.best.items()}, MEASURE: both}  # fmt: skip
