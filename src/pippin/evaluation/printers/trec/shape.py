"""Rankings brought into the shape that trec_eval's options ask for: some topics, first documents, judged ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import rows_of
from pippin.data.trec import Judgements
from pippin.evaluation.ranking import UNJUDGED, Ranking

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cut:
    """Which documents of a ranking stay: those within the depth, of these those in the pool, of these those judged."""

    whole: Ranking
    within: Flags

    @property
    def pooled(self) -> Flags:
        """Within the depth and in the pool."""
        in_pool: Flags = self.whole.labels != UNJUDGED
        return self.within & in_pool

    @property
    def judged(self) -> Flags:
        """Within the depth and judged."""
        return self.within & (self.whole.labels >= 0)

    def ranking(self, keep: Flags) -> Ranking:
        """The ranking of the documents that stay."""
        if keep.all():
            return self.whole
        kept = np.concatenate(([0], np.cumsum(keep))).astype(np.int64)
        return replace(
            self.whole, labels=self.whole.labels[keep], tied=self.whole.tied[keep], offsets=kept[self.whole.offsets]
        )


def cut(ranking: Ranking, depth: int | None) -> Cut:
    """The first documents of every topic."""
    ranks = np.arange(len(ranking.labels)) - np.repeat(ranking.offsets[:-1], ranking.sizes())
    return Cut(ranking, np.ones(len(ranks), bool) if depth is None else ranks < depth)


def chosen(judgements: Judgements, queries: NDArray[np.int64]) -> Judgements:
    """The judgements of these queries, in this order."""
    rows = rows_of(judgements.offsets, queries)
    offsets = np.concatenate(([0], np.cumsum(np.diff(judgements.offsets)[queries]))).astype(np.int64)
    names = tuple(judgements.query_ids[q] for q in queries)
    return Judgements(names, offsets, judgements.document_ids.take(rows), judgements.labels[rows], judgements.name)


def nothing_retrieved(judgements: Judgements) -> Ranking:
    """Judged topics for none of which anything was retrieved."""
    topics = len(judgements.query_ids)
    pools = [np.sort(judgements.labels[a:b])[::-1] for a, b in pairwise(judgements.offsets.tolist())]
    pool = np.concatenate(pools).astype(np.int32) if pools else np.empty(0, np.int32)
    return Ranking(
        judgements.query_ids, np.empty(0, np.int32), np.zeros(topics + 1, np.int64), np.empty(0, np.uint8), pool,
        judgements.offsets, False,
    )  # fmt: skip


def with_unjudged(ranking: Ranking, where: list[bool]) -> Ranking:
    """One document that nobody judged in each of these topics, which have none."""
    added = np.array(where, np.int64)
    at = ranking.offsets[:-1][added > 0]
    offsets = ranking.offsets + np.concatenate(([0], np.cumsum(added)))
    labels, tied = np.insert(ranking.labels, at, UNJUDGED), np.insert(ranking.tied, at, 0)
    return replace(ranking, labels=labels, tied=tied, offsets=offsets.astype(np.int64))
