"""Where data and scores meet: labels in rank order plus the pool of judged labels, per query.

Everything a convention says about order (ties, precision of scores), about documents nobody judged and about which
queries count is settled here, once; the measures after it are short pure functions. `order` sorts, `settled` says what
the sorted labels count under a convention, so that conventions that agree on the order share one sort.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.data.run_file import Order, RankedRun, RunFile
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.labels import offsets_of, relabelled
from pippin.kernels import rank as kernel
from pippin.kernels.measures import UNJUDGED, Rules, measure_lists


@dataclass(frozen=True, eq=False)
class Ranking:
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
    document: Callable[[], Texts] | None = None  # makes the ids of documents in rank order
    judged: Judgements | None = None  # where the labels come from, if not from a data set

    @cached_property
    def largest_label(self) -> int:
        """The largest label anywhere, at least 0."""
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

    @cached_property
    def documents(self) -> Texts:
        """Ids of documents in rank order."""
        if self.document is None:
            raise ConventionError("the documents of this ranking have no ids")
        return self.document()

    def measured(self, name: str, rules: Rules) -> NDArray[np.float64]:
        """The native measure `name`, a value per query. All that a measure does with a ranking passes through here."""
        key = (name, rules.key())
        if key not in self._measured:
            tied = self.tied if self.expected or self.grouped else np.empty(0, np.uint8)
            values = measure_lists(name, self.labels, tied, self.offsets, self.pool, self.pool_offsets, rules)
            values.setflags(write=False)
            self._measured[key] = values
        return self._measured[key]

    @cached_property
    def _measured(self) -> dict[tuple[str, tuple[object, ...]], NDArray[np.float64]]:
        """Values that one tool has asked for, and another may ask for again."""
        return {}

    def is_same(self, other: Ranking) -> bool:
        """Whether another order of the same data is this one, as where no score is tied."""
        if self.document is not None or other.document is not None:  # which are in the order of their documents
            return False
        same = all(getattr(self, name) == getattr(other, name) for name in ("query_ids", "expected", "grouped", "top"))
        columns = ("offsets", "pool_offsets", "tied", "labels", "pool")
        return same and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in columns)

    def sizes(self) -> NDArray[np.int64]:
        """Documents per query."""
        return np.diff(self.offsets)

    def tied_queries(self) -> NDArray[np.bool_]:
        """Whether each query has documents with equal scores."""
        return _any_per_query(self.tied.view(np.bool_), self.offsets)

    def relevant_queries(self, relevant_at: int = 1) -> NDArray[np.bool_]:
        """Whether each query has a judged document with at least this label."""
        return _any_per_query(self.pool >= relevant_at, self.pool_offsets)

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
            score=None if self.score is None else lambda: self.scores[rows],
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
            self, labels=self.labels[kept], offsets=offsets_of(sizes), tied=tied, score=score, document=document
        )


def _any_per_query(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    # Without a running count, whose 8 bytes a row would be half of what a run itself takes.
    any_of = np.zeros(len(offsets) - 1, np.bool_)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        any_of[filled] = np.logical_or.reduceat(flags, offsets[:-1][filled])
    return any_of


def rank(
    judged: Dataset | Judgements,
    scored: NDArray[np.float64] | Run,
    convention: Convention,
    *,
    allow_infinite: bool = False,
) -> Ranking:
    """Labels in rank order under a convention, from (data set, scores), (data set, run) or (judgements, run)."""
    return settled(order(judged, scored, convention, allow_infinite=allow_infinite), convention)


def order_key(convention: Convention) -> tuple[object, ...]:
    """What `order` looks at: conventions with the same key share one sort."""
    names = ("ties", "ties_depth", "precision", "order", "own_document", "top_label")
    return (*(getattr(convention, name) for name in names), convention.queries == "run")


class Shared:
    """What the orders of one data set and its scores share: the rows by score alone, from the second order on, and the
    pools of labels.
    """

    def __init__(self) -> None:
        self._orders = 0
        self._rows: NDArray[np.int64] | None = None
        self._pools: dict[int | None, NDArray[np.int32]] = {}

    def rows(self, data: Dataset, scores: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """The rows by score, where another order was asked for before; the first one sorts for itself."""
        self._orders += 1
        if self._orders > 1 and self._rows is None:
            self._rows = kernel.order_lists(scores, data.labels, data.offsets, None, "input", float32=False)
        return self._rows

    def pool(self, data: Dataset, labels: NDArray[np.int32], top: int | None) -> NDArray[np.int32]:
        """All labels of each query, highest first; `top` is what they were capped at."""
        if top not in self._pools:
            self._pools[top] = kernel.sort_pools(labels, data.offsets, np.arange(data.queries), data.offsets)
        return self._pools[top]


def order(
    judged: Dataset | Judgements,
    scored: NDArray[np.float64] | Run | RunFile | RankedRun,
    convention: Convention,
    *,
    allow_infinite: bool = False,
    shared: Shared | None = None,
) -> Ranking:
    """All judged queries, and where the convention counts them those of the run alone, in rank order.

    `shared` holds what several orders of the same data share.
    """
    if isinstance(scored, (RunFile, RankedRun)):
        scored = _in_file(judged, scored, convention)
    if isinstance(judged, Dataset) and isinstance(scored, (Run, RankedRun)):
        judged = as_judgements(judged)
    if isinstance(judged, Dataset) and isinstance(scored, np.ndarray):
        return _rank_dataset(judged, scored, convention, allow_infinite, shared or Shared())
    if isinstance(judged, Judgements) and isinstance(scored, (Run, RankedRun)):
        return _rank_run(judged, scored, convention, allow_infinite)
    raise DataError("a list of scores needs the data set it belongs to; judgements need a run")


def settled(ranking: Ranking, convention: Convention) -> Ranking:
    """What ranked labels count under a convention, and for which queries."""
    if ranking.missing is not None and convention.queries in ("both", "run"):
        ranking = ranking.select(np.flatnonzero(~ranking.missing))
    ranking = relabelled(ranking, convention)
    return ranking.select(np.flatnonzero(counted(ranking, convention)))


def counted(ranking: Ranking, convention: Convention) -> NDArray[np.bool_]:
    """Which queries of a ranking count, by the length of their lists and by what is relevant to them."""
    long_enough: NDArray[np.bool_] = ranking.sizes() >= convention.least
    if not convention.queries.startswith("relevant"):
        return long_enough
    relevant = ranking.relevant_queries(convention.relevant_at)
    if convention.queries == "relevant-or-lost":
        relevant |= ranking.sizes() == 0
    return long_enough & relevant


def as_judgements(data: Dataset) -> Judgements:
    """The labels of a data set as judgements, by document id."""
    if data.document_ids is None:
        raise DataError(f"{data.name} names no documents, so a run cannot be judged by it; use a score file")
    return Judgements(data.query_ids, data.offsets, data.document_ids, data.labels, data.name)


def _cap(labels: NDArray[np.int32], convention: Convention) -> NDArray[np.int32]:
    """Labels above the convention's top label count as 0."""
    top = convention.top_label
    if top is None or not len(labels) or labels.max() <= top:
        return labels
    return np.where(labels > top, 0, labels).astype(np.int32)


def _ties(convention: Convention) -> str:
    """The rule by which kernels sort: where an order is open or given, as it stands."""
    if convention.ties in ("expected", "grouped") or convention.order == "given":
        return "input"
    return f"topk:{convention.ties_depth}" if convention.ties == "topk" else convention.ties


def _open(convention: Convention) -> tuple[bool, bool]:
    """What a ranking says of ties that are not settled: that they are open, that they share a rank."""
    ties = convention.ties if convention.order == "score" else "input"
    return ties == "expected", ties == "grouped"


def _as_given(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores that put every list in the order in which it was given."""
    return -(np.arange(len(scores)) - np.repeat(offsets[:-1], np.diff(offsets))).astype(np.float64)


def _descending(scores: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each query's scores, highest first."""
    query = np.repeat(np.arange(len(sizes)), sizes)
    highest: NDArray[np.float64] = scores[np.lexsort((-scores, query))]
    return highest


def _unfit(scores: NDArray[np.float64], allow_infinite: bool) -> NDArray[np.int64]:
    """The rows whose scores cannot be ranked: NaN, and unless they are allowed, infinite ones."""
    return np.flatnonzero(np.isnan(scores) if allow_infinite else ~np.isfinite(scores))


def check_scores(data: Dataset, scores: NDArray[np.float64], allow_infinite: bool = False) -> NDArray[np.float64]:
    """Scores as the kernels take them: one finite double per document of the data set."""
    if scores.shape != (len(data),):
        raise DataError(f"{scores.size} scores for the {len(data)} documents of {data.name}")
    unfit = _unfit(scores, allow_infinite)
    if len(unfit):
        row = int(unfit[0])
        raise DataError(f"the score of document {row + 1} is {scores[row]}; a score is a finite number")
    return np.ascontiguousarray(scores, np.float64)


def _rank_dataset(
    data: Dataset, scores: NDArray[np.float64], convention: Convention, allow_infinite: bool, shared: Shared
) -> Ranking:
    scores = check_scores(data, scores, allow_infinite)
    labels = _cap(data.labels, convention)
    given = convention.order == "given"
    ties = _ties(convention)
    ids = data.document_ids
    needs_ids = ties.startswith("id-")
    if needs_ids and ids is None:
        ties = "input"
    float32 = convention.precision == "float32"
    by = _as_given(scores, data.offsets) if given else scores
    rows = None if given else shared.rows(data, scores)
    ranked, tied = kernel.rank_lists(by, labels, data.offsets, ids if needs_ids else None, ties, float32, rows)
    if needs_ids and ids is None and tied.any():
        raise ConventionError(f"ties={convention.ties} needs document ids, and {data.name} has none")
    pool = shared.pool(data, labels, convention.top_label)
    ranking = Ranking(
        data.query_ids, ranked, data.offsets, tied, pool, data.offsets, *_open(convention),
        score=lambda: scores if given else _descending(scores, np.diff(data.offsets)),
    )  # fmt: skip
    return ranking if convention.own_document == "keep" else ranking.without(_own(data, by, ties, float32))


def _own(data: Dataset, scores: NDArray[np.float64], ties: str, float32: bool) -> NDArray[np.bool_]:
    """Where in rank order the documents stand that bear their query's id."""
    if data.document_ids is None:
        return np.zeros(len(data), np.bool_)
    ids = data.document_ids if ties.startswith("id-") else None
    rows = kernel.order_lists(scores, data.labels, data.offsets, ids, ties, float32)
    return _named_as_query(data.document_ids, data.query_ids, data.offsets)[rows]


def _named_as_query(documents: Texts, queries: tuple[str, ...], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows whose document has the id of its query."""
    same = np.zeros(len(documents), np.bool_)
    lengths = np.array([len(query.encode()) for query in queries], np.int32)
    for row in np.flatnonzero(documents.lengths == np.repeat(lengths, np.diff(offsets))):  # most differ already here
        query = int(np.searchsorted(offsets, row, side="right")) - 1
        same[row] = documents.at(int(row)) == queries[query]
    return same


def _in_file(judged: Dataset | Judgements, run: RunFile | RankedRun, convention: Convention) -> Run | RankedRun:
    """A run ranked as it is read, where the convention's order can be had so; else with all its columns."""
    wanted = order_of(convention)
    simple = isinstance(judged, Judgements) and convention.order == "score" and convention.own_document == "keep"
    if isinstance(run, RankedRun):
        return run if simple and run.order == wanted and convention.top_label is None else run.whole()
    if not simple or not isinstance(judged, Judgements):
        return run.whole
    return run.ranked(judged, _cap(judged.labels, convention), wanted) or run.whole


def order_of(convention: Convention) -> Order:
    """The rule by which kernels sort runs under a convention."""
    return Order(_ties(convention), convention.precision == "float32")


def _rank_run(judged: Judgements, run: Run | RankedRun, convention: Convention, allow_infinite: bool) -> Ranking:
    position = {query: i for i, query in enumerate(run.query_ids)}
    known = set(judged.query_ids)
    if known and not position.keys() & known:
        raise DataError(f"{judged.name} and {run.name} have no query in common")
    if isinstance(run, Run):
        unfit = _unfit(run.scores, allow_infinite)
        if len(unfit):
            raise _not_finite(run, int(unfit[0]))
        if convention.own_document == "drop":
            run = without_own(run)
    extra = [q for q, query in enumerate(run.query_ids) if query not in known] if convention.queries == "run" else []
    judged_of = np.array([*range(len(judged.query_ids)), *[-1] * len(extra)], np.int64)
    run_of = np.array([*(position.get(query, -1) for query in judged.query_ids), *extra], np.int64)
    run_sizes = np.append(np.diff(run.offsets), 0)  # query -1, missing from the run, has none
    offsets = offsets_of(run_sizes[run_of])
    pool_offsets = offsets_of(np.append(np.diff(judged.offsets), 0)[judged_of])
    labels = _cap(judged.labels, convention)
    if isinstance(run, RankedRun):
        ranked, tied = run.lists(run_of, offsets)
    else:
        ranked, tied, (first, second) = kernel.judge_and_rank(
            (run.document_ids, _scores(run, convention), run.offsets),
            (judged.document_ids, labels, judged.offsets),
            run_of, judged_of, offsets, _ties(convention), convention.precision == "float32",
        )  # fmt: skip
        if second >= 0:
            raise _duplicate(run, first, second)
    pool = kernel.sort_pools(labels, judged.offsets, judged_of, pool_offsets)
    ids = (*judged.query_ids, *(run.query_ids[q] for q in extra))

    def columns() -> Run:
        return run.whole() if isinstance(run, RankedRun) else run

    def score() -> NDArray[np.float64]:
        found = columns().scores[rows_of(run.offsets, run_of[run_of >= 0])]
        return found if convention.order == "given" else _descending(found, np.diff(offsets))

    def document() -> Texts:
        whole = columns()
        rows = rows_of(run.offsets, run_of[run_of >= 0])
        listed = whole.document_ids.take(rows)
        ties, by = _ties(convention), np.ascontiguousarray(_scores(whole, convention)[rows])
        of_rows = np.zeros(len(rows), np.int32)
        # These look at labels: in the order of the run they are those of its rows.
        if ties in ("best", "worst") or ties.startswith("introsort-"):
            given = _as_given(whole.scores, run.offsets)
            of_rows, _, _ = kernel.judge_and_rank(
                (whole.document_ids, given, run.offsets), (judged.document_ids, labels, judged.offsets),
                run_of, judged_of, offsets, "input", False,
            )  # fmt: skip
        order = kernel.order_lists(by, of_rows, offsets, listed, ties, convention.precision == "float32")
        return listed.take(order)

    return Ranking(
        ids, ranked, offsets, tied, pool, pool_offsets, *_open(convention), top=int(judged.labels.max(initial=0)),
        missing=run_of < 0, score=score, document=document,
        judged=judged,
    )  # fmt: skip


def _scores(run: Run, convention: Convention) -> NDArray[np.float64]:
    """What a run is sorted by."""
    return _as_given(run.scores, run.offsets) if convention.order == "given" else run.scores


def without_own(run: Run) -> Run:
    """The run without documents that bear their query's id."""
    kept = ~_named_as_query(run.document_ids, run.query_ids, run.offsets)
    counts = np.concatenate(([0], np.cumsum(kept)))[run.offsets].astype(np.int64)
    return replace(
        run, offsets=counts, document_ids=run.document_ids.take(np.flatnonzero(kept)), scores=run.scores[kept]
    )


def _query_of(run: Run, row: int) -> str:
    return run.query_ids[int(np.searchsorted(run.offsets, row, side="right")) - 1]


def _not_finite(run: Run, row: int) -> DataError:
    document, value = run.document_ids.at(row), run.scores[row]
    message = f"the score of document {document} in query {_query_of(run, row)} is {value}; a score is a finite number"
    line = run.line_of(row)
    return DataError(message, run.name if line is None else run.file, line)


def _duplicate(run: Run, first: int, second: int) -> DataError:
    message = f"document {run.document_ids.at(second)} stands twice in query {_query_of(run, second)}"
    line = run.line_of(second)
    if line is None:
        return DataError(message, run.name)
    return DataError(f"{message}; the first time in line {run.line_of(first)}", run.file, line)


__all__ = ["UNJUDGED", "Ranking", "as_judgements", "counted", "order", "order_key", "rank", "settled"]
