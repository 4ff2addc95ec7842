"""Judgements and results of some topics brought into the rankings that trec_eval's options ask for: first documents,
judged ones; and the rules its kernels go by.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.data.run_file import RankedRun
from pippin.data.trec import Judgements, Run
from pippin.evaluation.ranking import UNJUDGED, Ranking
from pippin.frozen import Frozen
from pippin.kernels import rank as kernel
from pippin.kernels.measures import Rules

Flags = NDArray[np.bool_]
TIES = "id-descending"


class Cut(Frozen, eq=False):
    """Which documents of a ranking stay: those within the depth, of these those in the pool, of these those judged."""

    whole: Ranking
    depth: int

    @cached_property
    def within(self) -> Flags | None:
        """Within the depth; None: all are."""
        if self.depth >= self.whole.sizes().max(initial=0):
            return None
        ranks = np.arange(len(self.whole.labels)) - np.repeat(self.whole.offsets[:-1], self.whole.sizes())
        return ranks < self.depth

    @property
    def pooled(self) -> Flags:
        """Within the depth and in the pool."""
        in_pool: Flags = self.whole.labels != UNJUDGED
        return in_pool if self.within is None else self.within & in_pool

    @property
    def judged(self) -> Flags:
        """Within the depth and judged."""
        judged: Flags = self.whole.labels >= 0
        return judged if self.within is None else self.within & judged

    def ranking(self, keep: Flags | None) -> Ranking:
        """The ranking of the documents that stay."""
        if keep is None or keep.all():
            return self.whole
        kept = np.concatenate(([0], np.cumsum(keep))).astype(np.int64)
        return replace(
            self.whole, labels=self.whole.labels[keep], tied=self.whole.tied[keep], offsets=kept[self.whole.offsets]
        )


def ranked(judged: Judgements, run: Run | RankedRun, topics: list[tuple[str, str]], float32: bool) -> Ranking:
    """Topics, each given as what it is called among the judgements and in the run, in rank order: by score, ties by
    document from the last one on.
    """
    in_run = {topic: i for i, topic in enumerate(run.query_ids)}
    in_judged = {topic: i for i, topic in enumerate(judged.query_ids)}
    run_of = np.array([in_run.get(topic, -1) for _, topic in topics], np.int64)
    judged_of = np.array([in_judged[topic] for topic, _ in topics], np.int64)
    run_sizes = np.append(np.diff(run.offsets), 0)  # topic -1, missing from the run, has none
    offsets, pool_offsets = _offsets(run_sizes[run_of]), _offsets(np.diff(judged.offsets)[judged_of])
    if isinstance(run, RankedRun):
        labels, tied = run.lists(run_of, offsets)
    else:
        labels, tied, _ = kernel.judge_and_rank(
            (run.document_ids, run.scores, run.offsets), (judged.document_ids, judged.labels, judged.offsets),
            run_of, judged_of, offsets, TIES, float32,
        )  # fmt: skip
    pool = kernel.sort_pools(judged.labels, judged.offsets, judged_of, pool_offsets)
    return Ranking(tuple(topic for topic, _ in topics), labels, offsets, tied, pool, pool_offsets, False)


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def with_unjudged(ranking: Ranking, where: list[bool]) -> Ranking:
    """One document that nobody judged in each of these topics, which have none."""
    added = np.array(where, np.int64)
    at = ranking.offsets[:-1][added > 0]
    offsets = ranking.offsets + np.concatenate(([0], np.cumsum(added)))
    labels, tied = np.insert(ranking.labels, at, UNJUDGED), np.insert(ranking.tied, at, 0)
    return replace(ranking, labels=labels, tied=tied, offsets=offsets.astype(np.int64))


def with_pools_before(ranking: Ranking) -> Ranking:
    """A topic all of whose labels are below 0 with the pool of the topic before: the original counts the judgements of
    such a topic into a table that still holds the last one's counts.
    """
    stretches = list(pairwise(ranking.pool_offsets.tolist()))
    pools = [ranking.pool[first:last] for first, last in stretches]
    if all(len(pool) and pool[0] >= 0 for pool in pools):
        return ranking
    for i, pool in enumerate(pools):
        if i and len(pool) and pool[0] < 0:
            pools[i] = pools[i - 1]
    return replace(
        ranking, pool=np.concatenate(pools), pool_offsets=_offsets(np.array(list(map(len, pools)), np.int64))
    )


def ruling(ranking: Ranking, level: int, *, cutoff: int = 0, parameter: float = 0.0, recall_cut: str = "up") -> Rules:
    """The rules of a kernel for a level of relevance: a gain is the label itself."""
    least = np.iinfo(np.int32).min
    gains = np.arange(max(ranking.largest_label, 0) + 1, dtype=np.float64)
    return Rules(
        gains, np.empty(0), np.empty(0), cutoff=cutoff, relevant_at=min(max(level, least + 1), -(least + 1)),
        parameter=parameter, recall_cut=recall_cut,
    )  # fmt: skip
