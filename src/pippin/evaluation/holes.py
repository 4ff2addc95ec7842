"""Which documents of one run, or of two, did nobody judge, and what is a measure worth under labels they could have?

A `Query` holds the judged part of one query and its open documents, those whose label is not known. It gives the value
of a measure (of a difference, where there are two runs) under any labels of the open documents. The number comes from
the kernel that evaluates rankings, so that no formula stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError
from pippin.evaluation.convention import AXES, SETTLED_TIES, Convention
from pippin.evaluation.evaluate import measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.ranking import UNJUDGED, Ranking, rank, without_own
from pippin.kernels.rank import order_lists

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

NOWHERE = ""  # the id of a document that no run has: nobody knows it

# What bounds assume of a convention: that a label of a document, once known, enters the list and the pool as it is.
# An axis, the choices under which it does, and why it does not under others.
_ASSUMED: dict[str, tuple[tuple[object, ...], str]] = {
    "negative": (("zero",), "a label below 0 would be worth less than no label"),
    "ties": (tuple(t for t in AXES["ties"].named if t != "topk-of-all"), "documents of other queries fill up the list"),
    "unjudged": (("zero",), "an unjudged document already has a place, or none, of its own"),
    "score_floor": (("none",), "what a label counts hangs on the score"),
    "relevance": (("fixed",), "one label moves the level from which all others are relevant"),
    "missed": (("leave",), "a label puts documents behind the list"),
    "pool": (("judged",), "what is relevant and was not retrieved is not known"),
    "zeros": (("keep",), "a query counts under some labels and not under others"),
    "top_label": ((None,), "a higher label can count less than a lower one"),
    "queries": (("both", "judged", "run"), "a query counts under some labels and not under others"),
    "all_relevant": (("keep",), "a query counts under some labels and not under others"),
    "average": (("queries", "or-zero"), "a query's share of the mean hangs on its labels"),
}


@dataclass(frozen=True)
class Listed:
    """One system's list for a query, in rank order, and the rank (from 1; 0: not in the list) of each open document."""

    labels: I32  # UNJUDGED where nobody judged
    ranks: I64


@dataclass(frozen=True)
class Query:
    """One query with open documents: those of the first run in rank order, then those of the second run alone."""

    name: str
    lists: tuple[Listed, ...]
    pool: I32
    open: tuple[str, ...]  # NOWHERE for those that no run has
    largest: int  # an open document has a label from 0 to this
    measure: Measure
    convention: Convention

    def of_list(self, system: int, labels: I32) -> F64:
        """The measure of one system's list under each row of labels of the open documents."""
        listed, count = self.lists[system], len(labels)
        filled = np.tile(listed.labels, (count, 1))
        here = listed.ranks > 0
        filled[:, listed.ranks[here] - 1] = labels[:, here]
        pools = np.concatenate((np.tile(self.pool, (count, 1)), labels), axis=1)
        if max(self.largest, int(np.abs(self.pool).max(initial=0))) < np.iinfo(np.int16).max:
            pools = pools.astype(np.int16)  # which NumPy sorts by digits, many times as fast
        pools = (-np.sort(-pools, axis=1, kind="stable")).astype(np.int32)
        ranking = Ranking(
            (self.name,) * count, filled.ravel(), np.arange(count + 1) * filled.shape[1],
            np.zeros(filled.size, np.uint8), pools.ravel(), np.arange(count + 1) * pools.shape[1], False,
            top=max(self.largest, int(self.pool.max(initial=0))),
        )  # fmt: skip
        values = measure_values(ranking, self.measure, self.convention)
        if len(self.open) and np.isnan(values).any():
            raise ConventionError(
                f"query {self.name} counts under some labels of its unjudged documents and under others it does not; "
                "bounds need a value for a query without relevant documents, as in NDCG(empty=0)@10"
            )
        return values

    def value(self, labels: I32) -> F64:
        """The measure, or the first system's less the second's, under each row of labels."""
        first = self.of_list(0, labels)
        return first - self.of_list(1, labels) if len(self.lists) == 2 else first

    @cached_property
    def holes(self) -> int:
        """How many documents of the runs nobody judged."""
        return sum(document != NOWHERE for document in self.open)

    @cached_property
    def none(self) -> I32:
        """The labels under which no open document is relevant, as one row."""
        return np.zeros((1, len(self.open)), np.int32)


def unrounded(convention: Convention, judged: Judgements) -> Convention:
    """The convention as bounds take it, without rounding; a ConventionError where it breaks what they assume."""
    if judged.labels.min(initial=0) >= 0:
        convention = convention.replace(negative="zero")
    for axis, (allowed, why) in _ASSUMED.items():
        if getattr(convention, axis) not in allowed:
            raise ConventionError(
                f"bounds over the labels of unjudged documents are not known for {axis}={getattr(convention, axis)}: "
                f"{why}"
            )
    return convention.replace(held="float64", mean_digits=None)


def queries_of(
    judged: Judgements,
    runs: Sequence[Run],
    measure: Measure,
    convention: Convention,
    largest: int,
    depth: int | None,
    beyond: int,
) -> list[Query]:
    """Every query that counts, with the documents among the first `depth` of any run that nobody judged, and with
    `beyond` more that no run has.
    """
    convention = unrounded(convention, judged)
    if convention.own_document == "drop":
        runs, convention = [without_own(run) for run in runs], convention.replace(own_document="keep")
    rankings = [rank(judged, run, convention) for run in runs]
    counted = [dict.fromkeys(ranking.query_ids) for ranking in rankings]
    lists = [_ranked(run, ranking, convention) for run, ranking in zip(runs, rankings, strict=True)]
    known = {query: i for i, query in enumerate(judged.query_ids)}
    found = []
    for name in dict.fromkeys(query for names in counted for query in names):
        if not all(name in names for names in counted):
            raise ConventionError(f"query {name} counts for one run and not for the other; a difference needs both")
        labels: dict[str, int] = {}
        if name in known:
            first, last = judged.offsets[known[name] : known[name] + 2].tolist()
            labels = dict(zip(judged.document_ids.slice(first, last), judged.labels[first:last].tolist(), strict=True))
        documents = [each.get(name, []) for each in lists]
        open_ = tuple(dict.fromkeys(d for each in documents for d in each[:depth] if d not in labels))
        open_ += (NOWHERE,) * beyond
        listed = tuple(_listed(each, labels, open_) for each in documents)
        pool = np.array(sorted(labels.values(), reverse=True), np.int32)
        found.append(Query(name, listed, pool, open_, largest, measure, convention))
    return found


def _listed(documents: list[str], labels: dict[str, int], open_: tuple[str, ...]) -> Listed:
    at = {document: r for r, document in enumerate(documents, 1) if document != NOWHERE}
    return Listed(
        np.array([labels.get(d, UNJUDGED) for d in documents], np.int32),
        np.array([at.get(d, 0) for d in open_], np.int64),
    )


def _ranked(run: Run, ranking: Ranking, convention: Convention) -> dict[str, list[str]]:
    """Query → documents in rank order."""
    ties = convention.ties
    if convention.order == "given":
        rows = np.arange(len(run.scores))
    else:
        if ties not in SETTLED_TIES:
            _refuse_ties(ranking, run.name, ties)
            ties = "input"
        ids = run.document_ids if ties.startswith("id-") else None
        float32 = convention.precision == "float32"
        rows = order_lists(run.scores, np.zeros(len(run.scores), np.int32), run.offsets, ids, ties, float32)
    return {
        query: list(run.document_ids.take(rows[run.offsets[q] : run.offsets[q + 1]]))
        for q, query in enumerate(run.query_ids)
    }


def _refuse_ties(ranking: Ranking, name: str, ties: str) -> None:
    """Where the order of tied documents is open, a hole among them has no rank."""
    holes = np.diff(np.append(0, np.cumsum(ranking.labels == UNJUDGED))[ranking.offsets])
    both = ranking.tied_queries() & (holes > 0)
    if both.any():
        raise ConventionError(
            f"{name} ties documents of query {ranking.query_ids[int(np.flatnonzero(both)[0])]}, and ties={ties} gives "
            "them no order, which bounds need; take a tool that has one (--tool trec_eval9), or NDCG(ties=input)@10"
        )
