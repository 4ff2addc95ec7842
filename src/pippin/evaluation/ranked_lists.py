"""What do measures look at? Queries as ranked lists of labels, with the pool of judged labels beside each.

A `Ranking` is what `rank` makes of data and scores. One that is `near` another, being another order of the same labels,
measures only the queries in which they differ: where no score is tied, all tools share one order and its values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import rows_of
from pippin.data.texts import Texts
from pippin.data.trec import Judgements
from pippin.errors import ConventionError
from pippin.evaluation.labels import offsets_of
from pippin.frozen import Frozen
from pippin.kernels.measures import Rules, measure_lists


class Ranking(Frozen, eq=False):
    """Queries as ranked lists of labels.

    `rank` makes one of data and scores. What already has an order makes its own: a selection of queries, a list without
    its unjudged documents, topics for which nothing was retrieved, the labels that training puts in order.
    """

    query_ids: tuple[str, ...]
    labels: NDArray[np.int32]  # in rank order; UNJUDGED where nobody judged
    offsets: NDArray[np.int64]
    tied: NDArray[np.uint8]  # 1 where the score equals the one before
    pool: NDArray[np.int32]  # all judged labels, highest first
    pool_offsets: NDArray[np.int64]
    expected: bool  # the order of ties is open: measures take the expectation
    grouped: bool = False  # every tied document stands at the last rank of its group
    top: int | None = None  # the largest label of all the judged data, where it may be more than the ranking's
    missing: NDArray[np.bool_] | None = None  # queries that were judged, and that the run does not have
    score: Callable[[], NDArray[np.float64]] | None = None  # makes the scores in rank order
    given: Callable[[], NDArray[np.float64]] | None = None  # makes those of a run as they were given, query by query
    document: Callable[[], Texts] | None = None  # makes the ids of documents in rank order
    catalogue: Callable[[], int] | None = None  # counts the documents of all queries, those that do not count as well
    judged: Judgements | None = None  # where the labels come from, if not from a data set
    place: NDArray[np.int64] | None = None  # where each query stands in the run, if not here
    # Another order of the same labels, and the queries in which they differ; nothing that is made of this one has it.
    near: tuple[Ranking, NDArray[np.int64]] | None = field(default=None, init=False)

    def nearly(self, other: Ranking, queries: NDArray[np.int64]) -> Ranking:
        """This ranking, which knows another order of the same labels that differs from it in these queries alone."""
        if 2 * len(queries) <= len(self.query_ids):
            object.__setattr__(self, "near", (other, queries))
        return self

    @cached_property
    def largest_label(self) -> int:
        """The largest label anywhere, at least 0."""
        if self.near is not None:
            return self.near[0].largest_label
        largest = max((int(a.max()) for a in (self.labels, self.pool) if len(a)), default=0)
        return max(0, largest)

    @cached_property
    def longest(self) -> int:
        """The length of the longest list or pool."""
        return max(int(np.diff(o).max(initial=0)) for o in (self.offsets, self.pool_offsets))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Scores in rank order."""
        if self.score is None:
            raise ConventionError("this ranking has no scores, only an order")
        return self.score()

    def scores_as_given(self) -> NDArray[np.float64]:
        """Scores in the order of the run, where that is known; sums of them may end in another digit."""
        return self.scores if self.given is None else self.given()

    @cached_property
    def documents(self) -> Texts:
        """Ids of documents in rank order."""
        if self.document is None:
            raise ConventionError("the documents of this ranking have no ids")
        return self.document()

    @cached_property
    def all_documents(self) -> int:
        """How many documents all queries have, judged or retrieved, each counted once."""
        if self.catalogue is None:
            raise ConventionError("this ranking does not know the documents of all queries")
        return self.catalogue()

    def measured(self, name: str, rules: Rules) -> NDArray[np.float64]:
        """The native measure `name`, a value per query. All that a measure does with a ranking passes through here."""
        key = (name, rules.key)
        if key not in self._measured:
            if self.near is None:
                tied = self.tied if self.expected or self.grouped else np.empty(0, np.uint8)
                values = measure_lists(name, self.labels, tied, self.offsets, self.pool, self.pool_offsets, rules)
            else:
                other, queries = self.near
                values = other.measured(name, rules).copy()
                values[queries] = self._differing.measured(name, rules)
            values.setflags(write=False)
            self._measured[key] = values
        return self._measured[key]

    @cached_property
    def _differing(self) -> Ranking:
        """The queries in which this ranking differs from the one that it is near."""
        return self.select(np.empty(0, np.int64) if self.near is None else self.near[1])

    @cached_property
    def _measured(self) -> dict[tuple[str, tuple[object, ...]], NDArray[np.float64]]:
        """Values that one tool has asked for, and another may ask for again."""
        return {}

    def sizes(self) -> NDArray[np.int64]:
        """Documents per query."""
        return np.diff(self.offsets)

    def tied_queries(self) -> NDArray[np.bool_]:
        """Whether each query has documents with equal scores."""
        return self._remembered(None)

    def relevant_queries(self, relevant_at: int = 1) -> NDArray[np.bool_]:
        """Whether each query has a judged document with at least this label."""
        return self._remembered(relevant_at) if self.near is None else self.near[0].relevant_queries(relevant_at)

    def _remembered(self, relevant_at: int | None) -> NDArray[np.bool_]:
        """Which queries have a relevant document by the least relevant label; None: which have ties."""
        if relevant_at not in self._queries:
            flags, offsets = (
                (self.tied.view(np.bool_), self.offsets) if relevant_at is None
                else (self.pool >= relevant_at, self.pool_offsets)
            )  # fmt: skip
            self._queries[relevant_at] = _any_per_query(flags, offsets)
            self._queries[relevant_at].setflags(write=False)
        return self._queries[relevant_at]

    @cached_property
    def _queries(self) -> dict[int | None, NDArray[np.bool_]]:
        """What `_remembered` remembers."""
        return {}

    def select(self, queries: NDArray[np.int64]) -> Ranking:
        """The ranking of these queries, in this order."""
        if len(queries) == len(self.query_ids) and np.array_equal(queries, np.arange(len(queries))):
            return self
        rows, pool_rows = rows_of(self.offsets, queries), rows_of(self.pool_offsets, queries)
        return replace(
            self, query_ids=tuple(self.query_ids[q] for q in queries),
            labels=self.labels[rows], offsets=offsets_of(self.sizes()[queries]), tied=self.tied[rows],
            pool=self.pool[pool_rows], pool_offsets=offsets_of(np.diff(self.pool_offsets)[queries]),
            missing=None if self.missing is None else self.missing[queries],
            place=None if self.place is None else self.place[queries],
            score=None if self.score is None else lambda: self.scores[rows],
            given=None if self.given is None else lambda: self.scores_as_given()[rows],
            document=None if self.document is None else lambda: self.documents.take(rows),
        )  # fmt: skip

    def without(self, rows: NDArray[np.bool_]) -> Ranking:
        """The same lists without these documents; the ranks close up."""
        kept = ~rows
        query = np.repeat(np.arange(len(self.query_ids)), self.sizes())[kept]
        group = np.cumsum(self.tied == 0)[kept]
        tied = np.zeros(len(group), np.uint8)
        tied[1:] = group[1:] == group[:-1]
        sizes = np.bincount(query, minlength=len(self.query_ids)).astype(np.int64)
        score = None if self.score is None else lambda: self.scores[kept]
        document = None if self.document is None else lambda: self.documents.take(np.flatnonzero(kept))
        return replace(
            self,
            labels=self.labels[kept],
            offsets=offsets_of(sizes),
            tied=tied,
            score=score,
            given=None,
            document=document,
        )


def _any_per_query(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    # Without a running count, whose 8 bytes a row would be half of what a run itself takes.
    any_of = np.zeros(len(offsets) - 1, np.bool_)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        any_of[filled] = np.logical_or.reduceat(flags, offsets[:-1][filled])
    return any_of
