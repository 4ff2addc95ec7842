"""What do the labels of a ranked list count under a convention?

Here unjudged documents get a label or leave, labels below 0 and levels of relevance are settled, and what was missed or
has too low a score is dealt with; the order of the list stands already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.data.texts import Texts
from pippin.evaluation.convention import Convention
from pippin.kernels import rank as kernel
from pippin.kernels.measures import UNJUDGED

if TYPE_CHECKING:
    from pippin.data.dataset import Dataset
    from pippin.data.trec import Judgements
    from pippin.evaluation.ranking import Ranking


def offsets_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each list begins, and the last one ends, by their lengths."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def relabelled(ranking: Ranking, convention: Convention) -> Ranking:
    """The labels of a ranking as a convention counts them: unjudged documents, levels by query, a floor of scores."""
    if convention.negative == "unjudged":
        ranking = _without_negatives(ranking)
    if convention.unjudged == "drop" and (ranking.labels == UNJUDGED).any():
        ranking = ranking.without(ranking.labels == UNJUDGED)
    if convention.score_floor == "drop":
        ranking = ranking.without(ranking.scores < 0)
    if convention.relevance == "judged":
        ranking = _in_ties(_all_relevant(ranking), convention.ties)
    if convention.missed == "append":
        ranking = _with_missed(ranking, convention.relevant_at)
    if convention.pool == "list":
        ranking = _with_pool(ranking, ranking.labels, ranking.offsets)
    if isinstance(convention.unjudged, int):
        known = np.where(ranking.labels == UNJUDGED, np.int32(convention.unjudged), ranking.labels).astype(np.int32)
        ranking = _in_ties(replace(ranking, labels=known), convention.ties)
    elif convention.negative == "label":  # then a document that nobody judged is worth more than one with such a label
        ranking = _in_ties(ranking, convention.ties)
    labels, pool = ranking.labels, ranking.pool
    if convention.relevance == "percentile":
        least = _levels(ranking)
        labels = np.where(labels < np.repeat(least, ranking.sizes()), np.minimum(labels, 0), labels)
        pool = np.where(pool < np.repeat(least, np.diff(ranking.pool_offsets)), np.minimum(pool, 0), pool)
    if convention.score_floor == "zero":
        scores = ranking.scores.astype(np.float32) if convention.precision == "float32" else ranking.scores
        labels = np.where(scores <= 0, np.minimum(labels, 0), labels)
    if labels is ranking.labels and pool is ranking.pool:
        return ranking
    return replace(ranking, labels=labels.astype(np.int32), pool=pool.astype(np.int32))


def _in_ties(ranking: Ranking, ties: str) -> Ranking:
    """The best or worst order of every group of ties, an unjudged document standing between labels 0 and -1."""
    if ties not in ("best", "worst"):
        return ranking
    worth = np.where(ranking.labels == UNJUDGED, -0.5, ranking.labels)
    rows = np.lexsort((-worth if ties == "best" else worth, np.cumsum(ranking.tied == 0)))
    document = None if ranking.document is None else lambda: ranking.documents.take(rows)
    return replace(ranking, labels=ranking.labels[rows], document=document)


def _with_pool(ranking: Ranking, labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> Ranking:
    """The ranking with a pool of these labels, but for those that nobody gave."""
    judged = labels != UNJUDGED
    kept = np.concatenate(([0], np.cumsum(judged)))[offsets].astype(np.int64)
    pool = kernel.sort_pools(labels[judged], kept, np.arange(len(kept) - 1), kept)
    return replace(ranking, pool=pool, pool_offsets=kept)


def _without_negatives(ranking: Ranking) -> Ranking:
    """The ranking as if nobody had given a label below 0."""
    if not (ranking.pool < 0).any():
        return ranking
    pool = np.where(ranking.pool < 0, UNJUDGED, ranking.pool).astype(np.int32)
    labels = np.where(ranking.labels < 0, UNJUDGED, ranking.labels).astype(np.int32)
    return replace(_with_pool(ranking, pool, ranking.pool_offsets), labels=labels)


def _all_relevant(ranking: Ranking) -> Ranking:
    """The ranking with a label of 1 for whatever was judged."""
    labels = np.where(ranking.labels == UNJUDGED, UNJUDGED, 1).astype(np.int32)
    return replace(ranking, labels=labels, pool=np.ones_like(ranking.pool))


def _with_missed(ranking: Ranking, relevant_at: int) -> Ranking:
    """Lists with a relevant document, and behind them the relevant labels that they lack, highest first."""
    queries = np.arange(len(ranking.query_ids))
    listed, pooled = np.repeat(queries, ranking.sizes()), np.repeat(queries, np.diff(ranking.pool_offsets))
    levels = max(ranking.largest_label, relevant_at) + 1
    shape = len(queries), levels
    found = [
        np.bincount(query[labels >= relevant_at] * levels + labels[labels >= relevant_at], minlength=shape[0] * levels)
        for query, labels in ((listed, ranking.labels), (pooled, ranking.pool))
    ]
    lacking = np.maximum(found[1] - found[0], 0).reshape(shape)
    lacking[found[0].reshape(shape).sum(axis=1) == 0] = 0
    query, label = (np.repeat(part.ravel(), lacking.ravel()) for part in np.indices(shape))
    appended = np.lexsort((-label, query))
    rows = np.argsort(np.append(listed, query[appended]), kind="stable")
    labels = np.append(ranking.labels, label[appended])[rows].astype(np.int32)
    tied = np.append(ranking.tied, np.zeros(len(label), np.uint8))[rows]
    last = ranking.offsets[query[appended] + 1] - 1  # whose score those behind it have
    score = None if ranking.score is None else lambda: np.append(ranking.scores, ranking.scores[last])[rows]
    unnamed = [""] * len(label)
    document = None if ranking.document is None else lambda: Texts.of([*ranking.documents, *unnamed]).take(rows)
    return replace(
        ranking, labels=labels, tied=tied, offsets=offsets_of(ranking.sizes() + lacking.sum(axis=1)), score=score,
        given=None, document=document,
    )  # fmt: skip


def topics(query_ids: tuple[str, ...], convention: Convention) -> tuple[str, ...]:
    """What queries are called: a table of numbers does not keep the zeros before an id."""
    if convention.topic_ids == "given" or not all(query.isdecimal() for query in query_ids):
        return query_ids
    plain = tuple(query.lstrip("0") or "0" for query in query_ids)
    return plain if len(set(plain)) == len(plain) else query_ids


def judged_queries(judged: Dataset | Judgements, convention: Convention) -> int:
    """How many queries have a judgement that the convention takes for one."""
    if convention.negative != "unjudged":
        return len(judged.query_ids)
    query = np.repeat(np.arange(len(judged.query_ids)), np.diff(judged.offsets))
    return len(np.unique(query[judged.labels >= 0]))


def relevant_queries(ranking: Ranking, convention: Convention) -> set[str]:
    """The ids of all queries with a relevant judgement, in the ranking or not."""
    judged = ranking.judged
    if judged is None:
        return set()
    query = np.repeat(np.arange(len(judged.query_ids)), np.diff(judged.offsets))
    return {judged.query_ids[q] for q in np.unique(query[judged.labels >= convention.relevant_at])}


def _levels(ranking: Ranking) -> NDArray[np.float64]:
    """By query, the larger of half its largest label and the 90th percentile (nearest rank) of its judged ones."""
    judged = np.diff(ranking.pool_offsets)
    first = ranking.pool_offsets[:-1]
    padded = np.append(ranking.pool, 0)  # for a query without judgements behind the last one
    largest = np.where(judged > 0, padded[np.minimum(first, len(ranking.pool))], 0).astype(np.float64)
    at = first + judged - (9 * judged + 9) // 10
    return np.maximum(largest / 2, np.where(judged > 0, padded[np.minimum(at, len(ranking.pool))], 0))
