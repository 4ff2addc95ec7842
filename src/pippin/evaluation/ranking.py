"""Ranked lists of labels, and the rules of a convention for labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import rows_of_queries
from pippin.data.qrels import Qrels
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.kernels import ranking as kernel
from pippin.kernels.measures import UNJUDGED, Rules, measure_lists
from pippin.kernels.strings import StringColumn
from pippin.records import FrozenRecord

if TYPE_CHECKING:
    from pippin.data.dataset import Dataset
    from pippin.data.qrels import Qrels


def offsets_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of lists of these lengths."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def apply_label_rules(ranking: Ranking, convention: Convention) -> Ranking:
    """Apply the axes that change labels or drop documents: unjudged, negative labels, relevance rule, score floor."""
    if convention.negative_labels == "unjudged":
        ranking = _drop_negative_labels(ranking)
    if convention.unjudged_documents == "drop" and (ranking.labels == UNJUDGED).any():
        ranking = ranking.drop(ranking.labels == UNJUDGED)
    if convention.score_floor == "drop":
        ranking = ranking.drop(ranking.scores < 0)
    if convention.relevance_rule == "judged":
        ranking = _sort_ties(_label_all_judged(ranking), convention.ties)
    if convention.unretrieved_relevant == "append":
        ranking = _append_unretrieved(ranking, convention.relevance_threshold)
    if convention.pool_source == "list":
        ranking = replace_pool(ranking, ranking.labels, ranking.offsets)
    if isinstance(convention.unjudged_documents, int):
        filled = np.where(ranking.labels == UNJUDGED, np.int32(convention.unjudged_documents), ranking.labels)
        ranking = _sort_ties(replace(ranking, labels=filled.astype(np.int32)), convention.ties)
    elif convention.negative_labels in ("label", "gain"):  # an unjudged document is worth more than a negative label
        ranking = _sort_ties(ranking, convention.ties)
    labels, pool = ranking.labels, ranking.pool
    if convention.relevance_rule == "percentile":
        thresholds = _percentile_thresholds(ranking)
        labels = np.where(labels < np.repeat(thresholds, ranking.sizes()), np.minimum(labels, 0), labels)
        pool = np.where(pool < np.repeat(thresholds, np.diff(ranking.pool_offsets)), np.minimum(pool, 0), pool)
    if convention.score_floor == "zero":
        scores = ranking.scores.astype(np.float32) if convention.score_precision == "float32" else ranking.scores
        labels = np.where(scores <= 0, np.minimum(labels, 0), labels)
    if labels is ranking.labels and pool is ranking.pool:
        return ranking
    return replace(ranking, labels=labels.astype(np.int32), pool=pool.astype(np.int32))


def _sort_ties(ranking: Ranking, ties: str) -> Ranking:
    """Sort each group of ties best or worst first; an unjudged document ranks between labels 0 and -1."""
    if ties not in ("best", "worst"):
        return ranking
    worth = np.where(ranking.labels == UNJUDGED, -0.5, ranking.labels)
    rows = np.lexsort((-worth if ties == "best" else worth, np.cumsum(ranking.tied == 0)))
    document = None if ranking.document is None else lambda: ranking.documents.take(rows)
    return replace(ranking, labels=ranking.labels[rows], document=document)


def replace_pool(ranking: Ranking, labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> Ranking:
    """Return the ranking with a pool of these labels, without the unjudged ones."""
    is_judged = labels != UNJUDGED
    pool_offsets = np.concatenate(([0], np.cumsum(is_judged)))[offsets].astype(np.int64)
    pool = kernel.sort_pools(labels[is_judged], pool_offsets, np.arange(len(pool_offsets) - 1), pool_offsets)
    return replace(ranking, pool=pool, pool_offsets=pool_offsets)


def _drop_negative_labels(ranking: Ranking) -> Ranking:
    """Return the ranking with documents of a label below 0 as unjudged."""
    if not (ranking.pool < 0).any():
        return ranking
    pool = np.where(ranking.pool < 0, UNJUDGED, ranking.pool).astype(np.int32)
    labels = np.where(ranking.labels < 0, UNJUDGED, ranking.labels).astype(np.int32)
    return replace(replace_pool(ranking, pool, ranking.pool_offsets), labels=labels)


def _label_all_judged(ranking: Ranking) -> Ranking:
    """Return the ranking with label 1 for every judged document."""
    labels = np.where(ranking.labels == UNJUDGED, UNJUDGED, 1).astype(np.int32)
    return replace(ranking, labels=labels, pool=np.ones_like(ranking.pool))


def _append_unretrieved(ranking: Ranking, relevance_threshold: int) -> Ranking:
    """Append the relevant labels of the pool that a list lacks, highest first, to lists with a relevant document."""
    queries = np.arange(len(ranking.query_ids))
    listed, pooled = np.repeat(queries, ranking.sizes()), np.repeat(queries, np.diff(ranking.pool_offsets))
    levels = max(ranking.largest_label, relevance_threshold) + 1
    shape = len(queries), levels
    counts = [
        np.bincount(
            query[labels >= relevance_threshold] * levels + labels[labels >= relevance_threshold],
            minlength=shape[0] * levels,
        )
        for query, labels in ((listed, ranking.labels), (pooled, ranking.pool))
    ]
    lacking = np.maximum(counts[1] - counts[0], 0).reshape(shape)
    lacking[counts[0].reshape(shape).sum(axis=1) == 0] = 0
    query, label = (np.repeat(part.ravel(), lacking.ravel()) for part in np.indices(shape))
    appended = np.lexsort((-label, query))
    rows = np.argsort(np.append(listed, query[appended]), kind="stable")
    labels = np.append(ranking.labels, label[appended])[rows].astype(np.int32)
    tied = np.append(ranking.tied, np.zeros(len(label), np.uint8))[rows]
    last = ranking.offsets[query[appended] + 1] - 1  # its score is that of the appended labels
    score = None if ranking.score is None else lambda: np.append(ranking.scores, ranking.scores[last])[rows]
    unnamed = [""] * len(label)
    document = None if ranking.document is None else lambda: StringColumn.of([*ranking.documents, *unnamed]).take(rows)
    return replace(
        ranking, labels=labels, tied=tied, offsets=offsets_of(ranking.sizes() + lacking.sum(axis=1)), score=score,
        input_score=None, document=document,
    )  # fmt: skip


def topics(query_ids: tuple[str, ...], convention: Convention) -> tuple[str, ...]:
    """Return the query ids under the axis `query_id_format`: numbers lose leading zeros."""
    if convention.query_id_format == "given" or not all(query.isdecimal() for query in query_ids):
        return query_ids
    plain = tuple(query.lstrip("0") or "0" for query in query_ids)
    return plain if len(set(plain)) == len(plain) else query_ids


def count_judged_queries(qrels: Dataset | Qrels, convention: Convention) -> int:
    """Return the number of queries with a judgement; the convention may ignore negative labels."""
    if convention.negative_labels != "unjudged":
        return len(qrels.query_ids)
    query = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))
    return len(np.unique(query[qrels.labels >= 0]))


def relevant_query_ids(ranking: Ranking, convention: Convention) -> set[str]:
    """Return the ids of all queries with a relevant judgement, in the ranking or not."""
    qrels = ranking.qrels
    if qrels is None:
        return set()
    query = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))
    return {qrels.query_ids[q] for q in np.unique(query[qrels.labels >= convention.relevance_threshold])}


def _percentile_thresholds(ranking: Ranking) -> NDArray[np.float64]:
    """Return, per query, the larger of half its largest label and the 90th percentile (nearest rank) of its labels."""
    sizes = np.diff(ranking.pool_offsets)
    first = ranking.pool_offsets[:-1]
    padded = np.append(ranking.pool, 0)  # so that `first` of an unjudged last query is a valid index
    largest = np.where(sizes > 0, padded[np.minimum(first, len(ranking.pool))], 0).astype(np.float64)
    at = first + sizes - (9 * sizes + 9) // 10
    return np.maximum(largest / 2, np.where(sizes > 0, padded[np.minimum(at, len(ranking.pool))], 0))


class Ranking(FrozenRecord, eq=False):
    """Ranked lists of labels, one per query.

    `rank` builds a ranking from data and scores.
    """

    query_ids: tuple[str, ...]
    labels: NDArray[np.int32]  # in rank order; UNJUDGED without a judgement
    offsets: NDArray[np.int64]
    tied: NDArray[np.uint8]  # 1 where the score equals the one before
    pool: NDArray[np.int32]  # all judged labels, highest first
    pool_offsets: NDArray[np.int64]
    expected: bool  # measures take the expectation over the orders of ties
    shares_ranks: bool = False  # every tied document has the last rank of its group
    max_label: int | None = None  # largest label of all judged data, if it may be larger than the ranking's
    missing: NDArray[np.bool_] | None = None  # judged queries that are not in the run
    score: Callable[[], NDArray[np.float64]] | None = None  # computes the scores in rank order
    input_score: Callable[[], NDArray[np.float64]] | None = None  # computes the scores in input order, query by query
    document: Callable[[], StringColumn] | None = None  # computes the document ids in rank order
    catalogue: Callable[[], int] | None = None  # counts the distinct documents of all queries, also of dropped ones
    qrels: Qrels | None = None  # the source of the labels, unless it is a data set
    run_positions: NDArray[np.int64] | None = None  # position of each query in the run, if it differs
    # Another order of the same labels and the queries in which they differ; derived rankings do not inherit it.
    base: tuple[Ranking, NDArray[np.int64]] | None = field(default=None, init=False)

    def with_base(self, ranking: Ranking, queries: NDArray[np.int64]) -> Ranking:
        """Return this ranking, with values of the other queries taken from another order of the same labels."""
        if 2 * len(queries) <= len(self.query_ids):
            object.__setattr__(self, "base", (ranking, queries))
        return self

    @cached_property
    def largest_label(self) -> int:
        """The largest label of lists and pools, at least 0."""
        if self.base is not None:
            return self.base[0].largest_label
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
            raise ConventionError("the ranking has an order but no scores")
        return self.score()

    def input_scores(self) -> NDArray[np.float64]:
        """Return scores in the order of the run, if known; the order changes the last digit of their sum."""
        return self.scores if self.input_score is None else self.input_score()

    @cached_property
    def documents(self) -> StringColumn:
        """Ids of documents in rank order."""
        if self.document is None:
            raise ConventionError("the ranking was built without document ids")
        return self.document()

    @cached_property
    def all_documents(self) -> int:
        """Number of distinct documents of all queries, judged or retrieved."""
        if self.catalogue is None:
            raise ConventionError("the ranking was built without the documents of all queries")
        return self.catalogue()

    def compute(self, name: str, rules: Rules) -> NDArray[np.float64]:
        """Return the values of the native measure `name`, one per query; values are cached."""
        key = (name, rules.key)
        if key not in self._values:
            if self.base is None:
                tied = self.tied if self.expected or self.shares_ranks else np.empty(0, np.uint8)
                values = measure_lists(name, self.labels, tied, self.offsets, self.pool, self.pool_offsets, rules)
            else:
                base_ranking, queries = self.base
                values = base_ranking.compute(name, rules).copy()
                values[queries] = self._differing.compute(name, rules)
            values.setflags(write=False)
            self._values[key] = values
        return self._values[key]

    @cached_property
    def _differing(self) -> Ranking:
        """The queries in which this ranking differs from its base."""
        return self.select(np.empty(0, np.int64) if self.base is None else self.base[1])

    @cached_property
    def _values(self) -> dict[tuple[str, tuple[object, ...]], NDArray[np.float64]]:
        """Cached values by measure and rules, shared between tools."""
        return {}

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of documents per query."""
        return np.diff(self.offsets)

    def tied_queries(self) -> NDArray[np.bool_]:
        """Return, per query, whether it has documents with equal scores."""
        return self._query_flags(None)

    def relevant_queries(self, relevance_threshold: int = 1) -> NDArray[np.bool_]:
        """Return, per query, whether it has a judged document with at least this label."""
        return (self if self.base is None else self.base[0])._query_flags(relevance_threshold)

    def _query_flags(self, relevance_threshold: int | None) -> NDArray[np.bool_]:
        """Return which queries have a relevant document or, for None, ties."""
        if relevance_threshold not in self._flags:
            flags, offsets = (
                (self.tied.view(np.bool_), self.offsets) if relevance_threshold is None
                else (self.pool >= relevance_threshold, self.pool_offsets)
            )  # fmt: skip
            self._flags[relevance_threshold] = _any_per_query(flags, offsets)
            self._flags[relevance_threshold].setflags(write=False)
        return self._flags[relevance_threshold]

    @cached_property
    def _flags(self) -> dict[int | None, NDArray[np.bool_]]:
        """Cache of `_query_flags`."""
        return {}

    def select(self, queries: NDArray[np.int64]) -> Ranking:
        """Return the ranking of these queries, in this order."""
        if len(queries) == len(self.query_ids) and np.array_equal(queries, np.arange(len(queries))):
            return self
        rows, pool_rows = rows_of_queries(self.offsets, queries), rows_of_queries(self.pool_offsets, queries)
        return replace(
            self, query_ids=tuple(self.query_ids[q] for q in queries),
            labels=self.labels[rows], offsets=offsets_of(self.sizes()[queries]), tied=self.tied[rows],
            pool=self.pool[pool_rows], pool_offsets=offsets_of(np.diff(self.pool_offsets)[queries]),
            missing=None if self.missing is None else self.missing[queries],
            run_positions=None if self.run_positions is None else self.run_positions[queries],
            score=None if self.score is None else lambda: self.scores[rows],
            input_score=None if self.input_score is None else lambda: self.input_scores()[rows],
            document=None if self.document is None else lambda: self.documents.take(rows),
        )  # fmt: skip

    def drop(self, rows: NDArray[np.bool_]) -> Ranking:
        """Return the lists without these documents; later documents move up."""
        keep = ~rows
        query = np.repeat(np.arange(len(self.query_ids)), self.sizes())[keep]
        group = np.cumsum(self.tied == 0)[keep]
        tied = np.zeros(len(group), np.uint8)
        tied[1:] = group[1:] == group[:-1]
        sizes = np.bincount(query, minlength=len(self.query_ids)).astype(np.int64)
        score = None if self.score is None else lambda: self.scores[keep]
        document = None if self.document is None else lambda: self.documents.take(np.flatnonzero(keep))
        return replace(
            self,
            labels=self.labels[keep],
            offsets=offsets_of(sizes),
            tied=tied,
            score=score,
            input_score=None,
            document=document,
        )


def _any_per_query(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    # Not a cumulative count: its 8 bytes per row would be half the memory of a run.
    any_of = np.zeros(len(offsets) - 1, np.bool_)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        any_of[filled] = np.logical_or.reduceat(flags, offsets[:-1][filled])
    return any_of
