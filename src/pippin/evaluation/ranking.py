"""Where data and scores meet: labels in rank order plus the pool of judged labels, per query.

Everything a convention says about order (ties, precision of scores), about documents nobody judged and about which
queries count is settled here, once; the measures after it are short pure functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
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

    @cached_property
    def largest_label(self) -> int:
        """The largest label anywhere, at least 0."""
        largest = max((int(a.max()) for a in (self.labels, self.pool) if len(a)), default=0)
        return max(0, largest)

    @cached_property
    def longest(self) -> int:
        """The length of the longest list or pool."""
        return max(int(np.diff(o).max(initial=0)) for o in (self.offsets, self.pool_offsets))

    def measured(self, name: str, rules: Rules) -> NDArray[np.float64]:
        """The native measure `name`, a value per query. All that a measure does with a ranking passes through here."""
        tied = self.tied if self.expected else np.empty(0, np.uint8)
        return measure_lists(name, self.labels, tied, self.offsets, self.pool, self.pool_offsets, rules)

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
        rows, pool_rows = rows_of(self.offsets, queries), rows_of(self.pool_offsets, queries)
        return Ranking(
            tuple(self.query_ids[q] for q in queries),
            self.labels[rows], _offsets(self.sizes()[queries]), self.tied[rows],
            self.pool[pool_rows], _offsets(np.diff(self.pool_offsets)[queries]), self.expected,
        )  # fmt: skip


def _any_per_query(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    # Without a running count, whose 8 bytes a row would be half of what a run itself takes.
    any_of = np.zeros(len(offsets) - 1, np.bool_)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        any_of[filled] = np.logical_or.reduceat(flags, offsets[:-1][filled])
    return any_of


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def rank(
    judged: Dataset | Judgements,
    scored: NDArray[np.float64] | Run,
    convention: Convention,
    *,
    allow_infinite: bool = False,
) -> Ranking:
    """Labels in rank order under a convention, from (data set, scores), (data set, run) or (judgements, run)."""
    if isinstance(judged, Dataset) and isinstance(scored, Run):
        judged = as_judgements(judged)
    if isinstance(judged, Dataset) and isinstance(scored, np.ndarray):
        ranking = _rank_dataset(judged, scored, convention, allow_infinite)
    elif isinstance(judged, Judgements) and isinstance(scored, Run):
        ranking = _rank_run(judged, scored, convention, allow_infinite)
    else:
        raise DataError("a list of scores needs the data set it belongs to; judgements need a run")
    if convention.queries == "relevant":
        ranking = ranking.select(np.flatnonzero(ranking.relevant_queries(convention.relevant_at)))
    return ranking


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


def _ties(convention: Convention) -> tuple[str, bool]:
    expected = convention.ties == "expected"
    return ("input" if expected else convention.ties), expected


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


def _rank_dataset(data: Dataset, scores: NDArray[np.float64], convention: Convention, allow_infinite: bool) -> Ranking:
    scores = check_scores(data, scores, allow_infinite)
    labels = _cap(data.labels, convention)
    ties, expected = _ties(convention)
    ids = data.document_ids
    needs_ids = ties.startswith("id-")
    if needs_ids and ids is None:
        ties = "input"
    float32 = convention.precision == "float32"
    ranked, tied = kernel.rank_lists(scores, labels, data.offsets, ids if needs_ids else None, ties, float32)
    if needs_ids and ids is None and tied.any():
        raise ConventionError(f"ties={convention.ties} needs document ids, and {data.name} has none")
    queries = np.arange(data.queries)
    pool = kernel.sort_pools(labels, data.offsets, queries, data.offsets)
    return Ranking(data.query_ids, ranked, data.offsets, tied, pool, data.offsets, expected)


def _rank_run(judged: Judgements, run: Run, convention: Convention, allow_infinite: bool) -> Ranking:
    position = {query: i for i, query in enumerate(run.query_ids)}
    if not position.keys() & set(judged.query_ids):
        raise DataError(f"{judged.name} and {run.name} have no query in common")
    unfit = _unfit(run.scores, allow_infinite)
    if len(unfit):
        raise _not_finite(run, int(unfit[0]))
    keep = [q for q, query in enumerate(judged.query_ids) if convention.queries != "both" or query in position]
    judged_of = np.array(keep, np.int64)
    run_of = np.array([position.get(judged.query_ids[q], -1) for q in keep], np.int64)
    run_sizes = np.append(np.diff(run.offsets), 0)  # query -1, missing from the run, has none
    offsets = _offsets(run_sizes[run_of])
    pool_offsets = _offsets(np.diff(judged.offsets)[judged_of])
    labels = _cap(judged.labels, convention)
    ties, expected = _ties(convention)
    ranked, tied, (first, second) = kernel.judge_and_rank(
        (run.document_ids, run.scores, run.offsets),
        (judged.document_ids, labels, judged.offsets),
        run_of, judged_of, offsets, ties, convention.precision == "float32",
    )  # fmt: skip
    if second >= 0:
        raise _duplicate(run, first, second)
    pool = kernel.sort_pools(labels, judged.offsets, judged_of, pool_offsets)
    return Ranking(tuple(judged.query_ids[q] for q in keep), ranked, offsets, tied, pool, pool_offsets, expected)


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


__all__ = ["UNJUDGED", "Ranking", "as_judgements", "rank"]
