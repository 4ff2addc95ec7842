"""Turn labels and scores into ranked label lists under a convention.

`rank` has two steps. `sort_lists` orders documents (ties, score precision); conventions with the same `order_key` share
its result. `apply_convention` then applies the axes for labels (unjudged documents, relevance rule, pool) and selects
the queries that count. Measures are pure functions of the resulting `Ranking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of_queries
from pippin.data.qrels import Qrels, Run
from pippin.data.streaming import LazyRun, RankedRun, SortRule
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import PARTIAL_SORT_PREFIXES, Convention
from pippin.evaluation.full_sort import Lists, rank_full_catalogue
from pippin.evaluation.ranking import Ranking, apply_label_rules, offsets_of
from pippin.kernels import ranking as kernel
from pippin.kernels.strings import StringColumn


def rank(
    qrels: Dataset | Qrels,
    run: NDArray[np.float64] | Run,
    convention: Convention,
    *,
    allow_infinite: bool = False,
) -> Ranking:
    """Rank a data set by scores or a run, or qrels by a run, under a convention."""
    return apply_convention(sort_lists(qrels, run, convention, allow_infinite=allow_infinite), convention)


def order_key(convention: Convention) -> tuple[object, ...]:
    """Return the axes that `sort_lists` depends on; conventions with the same key share one sort."""
    names = ("ties", "partial_sort_depth", "score_precision", "list_order", "self_retrieval", "max_valid_label")
    return (*(getattr(convention, name) for name in names), convention.query_selection == "run")


# Labels in rank order, tie flags, and per query whether scores are equal: the result of `rank_lists`.
RankedLabels = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint8]]


class SortCache:
    """Cache of the orders of one data set and its scores, or of qrels and a run.

    Rules for ties differ only in queries with equal scores, so the first order sorts all queries and later orders only
    these.
    """

    def __init__(self) -> None:
        self._checked: NDArray[np.float64] | None = None
        self._ranked: dict[tuple[int | None, str, bool], RankedLabels] = {}  # by max_valid_label, ties, float32
        self._first: dict[int | None, Ranking] = {}  # the first ranking by max_valid_label
        # Ranked labels and ties of a run, by everything that its order depends on.
        self.of_run: dict[tuple[object, ...], tuple[NDArray[np.int32], NDArray[np.uint8]]] = {}
        self._rows_by_occurrence: NDArray[np.int64] | None = None

    def check_scores(self, data: Dataset, scores: NDArray[np.float64], allow_infinite: bool) -> NDArray[np.float64]:
        """Return the scores, validated once."""
        if self._checked is None:
            self._checked = check_scores(data, scores, allow_infinite)
        return self._checked

    def rows_by_occurrence(self, documents: StringColumn, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of every list in the order of their documents' first occurrence in the data."""
        if self._rows_by_occurrence is None:
            text, starts = documents.buffer.tobytes(), documents.starts
            ids = [text[a:b] for a, b in zip(starts.tolist(), (starts + documents.lengths).tolist(), strict=True)]
            first = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
            occurrence = np.fromiter(map(first.__getitem__, ids), np.int64, len(ids))
            self._rows_by_occurrence = np.lexsort(
                (occurrence, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))
            )
        return self._rows_by_occurrence

    def ranking(
        self,
        data: Dataset,
        scores: NDArray[np.float64],
        rule: tuple[StringColumn | None, str, bool],
        convention: Convention,
    ) -> Ranking:
        """Return the ranking by these scores under a rule (ids, ties, float32)."""
        labels = _cap(data.labels, convention)
        top = None if labels is data.labels else convention.max_valid_label
        if (top, *rule[1:]) not in self._ranked:
            self._ranked[top, *rule[1:]] = self._rank(data, scores, rule, labels, convention)
        ranked, tied, alike = self._ranked[top, *rule[1:]]
        first = self._first.get(top)
        if first is None:
            pool = kernel.sort_pools(labels, data.offsets, np.arange(data.queries), data.offsets)
            first = Ranking(
                data.query_ids, ranked, data.offsets, tied, pool, data.offsets, expected=False,
                max_label=int(data.labels.max(initial=0)),
                score=lambda: _descending(scores, np.diff(data.offsets)),
                catalogue=lambda: len(data) if data.document_ids is None else _count_distinct(data.document_ids),
            )  # fmt: skip
            self._first[top] = first
        expected, shares_ranks = _tie_flags(convention)
        if first.labels is ranked and not expected and not shares_ranks:
            return first
        ranking = replace(first, labels=ranked, tied=tied, expected=expected, shares_ranks=shares_ranks)
        return ranking.with_base(first, np.flatnonzero(alike))

    def _rank(
        self, data: Dataset, scores: NDArray[np.float64], rule: tuple[StringColumn | None, str, bool],
        labels: NDArray[np.int32], convention: Convention,
    ) -> RankedLabels:  # fmt: skip
        """Rank these labels, some of which may be capped, reusing an earlier order."""
        if not self._ranked:
            ranked, tied, alike = kernel.rank_lists(scores, data.labels, data.offsets, *rule)
            if labels is data.labels:
                return ranked, tied, alike
            self._ranked[None, *rule[1:]] = ranked, tied, alike
        ranked, tied, alike = next(iter(self._ranked.values()))
        if labels is not data.labels:
            ranked = _cap(ranked, convention)
        return kernel.rank_again((ranked, tied, alike), scores, labels, data.offsets, *rule)


def sort_lists(
    qrels: Dataset | Qrels,
    run: NDArray[np.float64] | Run | LazyRun | RankedRun,
    convention: Convention,
    *,
    allow_infinite: bool = False,
    shared: SortCache | None = None,
) -> Ranking:
    """Sort the lists of all judged queries and, if the convention counts them, of unjudged queries of the run.

    `shared` caches the orders of the same data.
    """
    shared = shared or SortCache()
    if isinstance(run, (LazyRun, RankedRun)):
        run = _load_run(qrels, run, convention)
    if convention.list_order == "score" and not isinstance(run, RankedRun):
        if convention.ties == "topk-of-all":
            return _sort_full_catalogue(qrels, run, convention, allow_infinite, shared)
        if convention.ties == "argpartition-of-all":
            return _sort_by_occurrence(qrels, run, convention, allow_infinite, shared)
    return _sort(qrels, run, convention, allow_infinite, shared)


def _sort(
    qrels: Dataset | Qrels, run: NDArray[np.float64] | Run | RankedRun, convention: Convention,
    allow_infinite: bool, shared: SortCache,
) -> Ranking:  # fmt: skip
    """Sort lists for which the documents of other queries do not matter."""
    if isinstance(qrels, Dataset) and isinstance(run, (Run, RankedRun)):
        qrels = to_qrels(qrels)
    if isinstance(qrels, Dataset) and isinstance(run, np.ndarray):
        return _rank_dataset(qrels, run, convention, allow_infinite, shared)
    if isinstance(qrels, Qrels) and isinstance(run, (Run, RankedRun)):
        return _rank_run(qrels, run, convention, allow_infinite, shared)
    raise DataError("scores need the data set of their rows; judgements need a run")


def _sort_full_catalogue(
    qrels: Dataset | Qrels, run: NDArray[np.float64] | Run, convention: Convention, allow_infinite: bool,
    shared: SortCache,
) -> Ranking:  # fmt: skip
    """Rank all documents of the data for every query."""
    ranking = _sort(qrels, run, convention.replace(ties="input"), allow_infinite, shared)
    labels = Lists(qrels.query_ids, qrels.offsets, qrels.document_ids, _cap(qrels.labels, convention))
    if isinstance(run, np.ndarray) and qrels.document_ids is not None:
        run = Run(qrels.query_ids, qrels.offsets, qrels.document_ids, run)
    if isinstance(run, Run):
        run = drop_query_document(run) if convention.self_retrieval == "drop" else run
        listed = Lists(run.query_ids, run.offsets, run.document_ids, run.scores)
    else:
        listed = replace(labels, numbers=run)
    return rank_full_catalogue(
        ranking, listed, labels, convention.partial_sort_depth, convention.score_precision == "float32"
    )


def _sort_by_occurrence(
    qrels: Dataset | Qrels, run: NDArray[np.float64] | Run, convention: Convention, allow_infinite: bool,
    shared: SortCache,
) -> Ranking:  # fmt: skip
    """Sort lists whose input order is that of the documents' first occurrence in the data, as in a user-item matrix."""
    ranking = _sort(qrels, run, convention.replace(ties="input"), allow_infinite, shared)
    if not ranking.tied.any():
        return ranking
    if isinstance(run, Run):
        rows = shared.rows_by_occurrence(run.document_ids, run.offsets)
        run = replace(run, document_ids=run.document_ids.take(rows), scores=run.scores[rows])
    elif isinstance(qrels, Dataset) and qrels.document_ids is not None:
        rows = shared.rows_by_occurrence(qrels.document_ids, qrels.offsets)
        if not np.array_equal(rows, np.arange(len(rows))):
            qrels = Dataset(
                np.empty((len(rows), 0)), qrels.labels[rows], qrels.offsets, qrels.query_ids,
                qrels.document_ids.take(rows), name=qrels.name,
            )  # fmt: skip
            run, shared = run[rows], SortCache()
    return _sort(qrels, run, convention, allow_infinite, shared)


def apply_convention(ranking: Ranking, convention: Convention) -> Ranking:
    """Apply the axes for labels to sorted lists and select the queries that count."""
    if ranking.missing is not None and convention.query_selection in ("both", "run"):
        ranking = ranking.select(np.flatnonzero(~ranking.missing))
    ranking = apply_label_rules(ranking, convention)
    return ranking.select(np.flatnonzero(counted_queries(ranking, convention)))


def counted_queries(ranking: Ranking, convention: Convention) -> NDArray[np.bool_]:
    """Return which queries count, by the length of their lists and their relevant documents."""
    counts: NDArray[np.bool_] = ranking.sizes() >= convention.min_retrieved
    if convention.all_relevant_lists == "drop":
        counts &= ~has_only_relevant(ranking.labels, ranking.offsets, convention.relevance_threshold)
    if not convention.query_selection.startswith("relevant"):
        return counts
    relevant = ranking.relevant_queries(convention.relevance_threshold)
    if convention.query_selection == "relevant-or-lost":
        relevant = relevant | (ranking.sizes() == 0)
    return counts & relevant


def has_only_relevant(
    labels: NDArray[np.int32], offsets: NDArray[np.int64], relevance_threshold: int
) -> NDArray[np.bool_]:
    """Return which lists have only relevant documents, and at least one."""
    sizes = np.diff(offsets)
    relevant = np.bincount(np.repeat(np.arange(len(sizes)), sizes), labels >= relevance_threshold, len(sizes))
    flags: NDArray[np.bool_] = (sizes > 0) & (relevant == sizes)
    return flags


def to_qrels(data: Dataset) -> Qrels:
    """Return the labels of a data set as qrels, by document id."""
    if data.document_ids is None:
        raise DataError(
            f"{data.name} has no document ids, which a run needs; add a column of ids, such as doc_id, or pass a score "
            "per row"
        )
    return Qrels(data.query_ids, data.offsets, data.document_ids, data.labels, data.name)


def _cap(labels: NDArray[np.int32], convention: Convention) -> NDArray[np.int32]:
    """Set labels above the largest valid label to 0."""
    top = convention.max_valid_label
    if top is None or not len(labels) or labels.max() <= top:
        return labels
    return np.where(labels > top, 0, labels).astype(np.int32)


def _ties(convention: Convention) -> str:
    """Return the kernels' rule for ties; input order for rules that measures or other steps apply."""
    if convention.ties in ("expected", "shared-rank", "topk-of-all") or convention.list_order == "given":
        return "input"
    has_depth = convention.ties.startswith(PARTIAL_SORT_PREFIXES) or convention.ties == "introsort"
    rule = convention.ties.removesuffix("-of-all")
    return f"{rule}:{convention.partial_sort_depth}" if has_depth else convention.ties


def _tie_flags(convention: Convention) -> tuple[bool, bool]:
    """Return whether measures take the expectation over ties, and whether tied documents share a rank."""
    ties = convention.ties if convention.list_order == "score" else "input"
    return ties == "expected", ties == "shared-rank"


def _input_order_scores(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores that keep every list in input order."""
    return -(np.arange(len(scores)) - np.repeat(offsets[:-1], np.diff(offsets))).astype(np.float64)


def _descending(scores: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each query's scores, highest first."""
    query = np.repeat(np.arange(len(sizes)), sizes)
    highest: NDArray[np.float64] = scores[np.lexsort((-scores, query))]
    return highest


def _invalid_rows(scores: NDArray[np.float64], allow_infinite: bool) -> NDArray[np.int64]:
    """Return the rows with a NaN or, unless allowed, infinite score."""
    return np.flatnonzero(np.isnan(scores) if allow_infinite else ~np.isfinite(scores))


def check_scores(data: Dataset, scores: NDArray[np.float64], allow_infinite: bool = False) -> NDArray[np.float64]:
    """Validate scores: one finite float64 per document of the data set."""
    if scores.shape != (len(data),):
        raise DataError(f"found {scores.size} scores for the {len(data)} documents of {data.name}")
    invalid = _invalid_rows(scores, allow_infinite)
    if len(invalid):
        row = int(invalid[0])
        raise DataError(f"the score of document {row + 1} is {scores[row]}; scores must be finite")
    return np.ascontiguousarray(scores, np.float64)


def _rank_dataset(
    data: Dataset, scores: NDArray[np.float64], convention: Convention, allow_infinite: bool, shared: SortCache
) -> Ranking:
    scores = shared.check_scores(data, scores, allow_infinite)
    ties, float32 = _ties(convention), convention.score_precision == "float32"
    ids = data.document_ids if ties.startswith("id-") else None
    lacks_ids = ties.startswith("id-") and ids is None
    if lacks_ids:
        ties = "input"
    if convention.list_order == "given":
        sort_by = _input_order_scores(scores, data.offsets)
        ranking = replace(SortCache().ranking(data, sort_by, (ids, ties, float32), convention), score=lambda: scores)
    else:
        sort_by = scores
        ranking = shared.ranking(data, scores, (ids, ties, float32), convention)
    if lacks_ids and ranking.tied.any():
        raise ConventionError(f"ties={convention.ties} needs document ids, and {data.name} has none")
    return (
        ranking
        if convention.self_retrieval == "keep"
        else ranking.drop(_is_query_document(data, sort_by, ties, float32))
    )


def _is_query_document(data: Dataset, scores: NDArray[np.float64], ties: str, float32: bool) -> NDArray[np.bool_]:
    """Return, in rank order, which documents have the id of their query."""
    if data.document_ids is None:
        return np.zeros(len(data), np.bool_)
    ids = data.document_ids if ties.startswith("id-") else None
    rows = kernel.order_lists(scores, data.labels, data.offsets, ids, ties, float32)
    return _has_query_id(data.document_ids, data.query_ids, data.offsets)[rows]


def _has_query_id(documents: StringColumn, queries: tuple[str, ...], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows have a document with the id of its query."""
    same = np.zeros(len(documents), np.bool_)
    lengths = np.array([len(query.encode()) for query in queries], np.int32)
    for row in np.flatnonzero(documents.lengths == np.repeat(lengths, np.diff(offsets))):  # most ids differ in length
        query = int(np.searchsorted(offsets, row, side="right")) - 1
        same[row] = documents.at(int(row)) == queries[query]
    return same


def _load_run(qrels: Dataset | Qrels, run: LazyRun | RankedRun, convention: Convention) -> Run | RankedRun:
    """Rank a run while it is parsed, if the convention allows it; otherwise load its columns."""
    rule = order_of(convention)
    simple = isinstance(qrels, Qrels) and convention.list_order == "score" and convention.self_retrieval == "keep"
    simple = simple and not convention.ties.endswith("-of-all")
    if isinstance(run, RankedRun):
        return run if simple and run.order == rule and convention.max_valid_label is None else run.load()
    if not simple or not isinstance(qrels, Qrels):
        return run.run
    return run.rank(qrels, _cap(qrels.labels, convention), rule) or run.run


def no_common_query_error(qrels: Qrels, name: str, run_ids: Sequence[str]) -> DataError:
    """Return the error for a run without a judged query, with examples of both."""
    judged_ids, found = (", ".join(ids[:3]) + " …" * (len(ids) > 3) for ids in (qrels.query_ids, run_ids))
    return DataError(
        f"{qrels.name} and {name} have no query in common: {qrels.name} has {judged_ids}, {name} has {found or 'none'}"
    )


def order_of(convention: Convention) -> SortRule:
    """Return the kernels' rule to sort runs under a convention."""
    return SortRule(_ties(convention), convention.score_precision == "float32")


def _rank_run(
    qrels: Qrels, run: Run | RankedRun, convention: Convention, allow_infinite: bool, shared: SortCache
) -> Ranking:
    position = {query: i for i, query in enumerate(run.query_ids)}
    judged_ids = set(qrels.query_ids)
    if judged_ids and not position.keys() & judged_ids:
        raise no_common_query_error(qrels, run.name, run.query_ids)
    if isinstance(run, Run):
        invalid = _invalid_rows(run.scores, allow_infinite)
        if len(invalid):
            raise _not_finite(run, int(invalid[0]))
        if convention.self_retrieval == "drop":
            run = drop_query_document(run)
    extra = (
        [q for q, query in enumerate(run.query_ids) if query not in judged_ids]
        if convention.query_selection == "run"
        else []
    )
    judged_of = np.array([*range(len(qrels.query_ids)), *[-1] * len(extra)], np.int64)
    run_of = np.array([*(position.get(query, -1) for query in qrels.query_ids), *extra], np.int64)
    run_sizes = np.append(np.diff(run.offsets), 0)  # query -1 is missing from the run
    offsets = offsets_of(run_sizes[run_of])
    pool_offsets = offsets_of(np.append(np.diff(qrels.offsets), 0)[judged_of])
    labels = _cap(qrels.labels, convention)
    if isinstance(run, RankedRun):
        ranked, tied = run.lists(run_of, offsets)
    else:
        capped_at = None if labels is qrels.labels else convention.max_valid_label
        rule = _ties(convention), convention.score_precision == "float32"
        # The number of scores tells whether documents with the id of the query were dropped.
        key = (*rule, convention.list_order, len(run.scores), capped_at, bool(extra))
        if key not in shared.of_run:
            ranked, tied, (first, second) = kernel.judge_and_rank(
                (run.document_ids, _scores(run, convention), run.offsets),
                (qrels.document_ids, labels, qrels.offsets), run_of, judged_of, offsets, *rule,
            )  # fmt: skip
            if second >= 0:
                raise _duplicate(run, first, second)
            shared.of_run[key] = ranked, tied
        ranked, tied = shared.of_run[key]
    pool = kernel.sort_pools(labels, qrels.offsets, judged_of, pool_offsets)
    ids = (*qrels.query_ids, *(run.query_ids[q] for q in extra))

    def columns() -> Run:
        return run.load() if isinstance(run, RankedRun) else run

    def input_score() -> NDArray[np.float64]:
        return columns().scores[rows_of_queries(run.offsets, run_of[run_of >= 0])]

    def score() -> NDArray[np.float64]:
        return input_score() if convention.list_order == "given" else _descending(input_score(), np.diff(offsets))

    def document() -> StringColumn:
        columns_of_run = columns()
        rows = rows_of_queries(run.offsets, run_of[run_of >= 0])
        listed = columns_of_run.document_ids.take(rows)
        ties, sort_by = _ties(convention), np.ascontiguousarray(_scores(columns_of_run, convention)[rows])
        row_labels = np.zeros(len(rows), np.int32)
        # These rules depend on the labels of the rows.
        if ties in ("best", "worst") or ties.startswith("introsort-"):
            input_order = _input_order_scores(columns_of_run.scores, run.offsets)
            row_labels, _, _ = kernel.judge_and_rank(
                (columns_of_run.document_ids, input_order, run.offsets), (qrels.document_ids, labels, qrels.offsets),
                run_of, judged_of, offsets, "input", False,
            )  # fmt: skip
        order = kernel.order_lists(sort_by, row_labels, offsets, listed, ties, convention.score_precision == "float32")
        return listed.take(order)

    return Ranking(
        ids, ranked, offsets, tied, pool, pool_offsets, *_tie_flags(convention),
        max_label=int(qrels.labels.max(initial=0)), missing=run_of < 0, score=score, input_score=input_score,
        document=document, qrels=qrels,
        catalogue=lambda: _count_distinct(qrels.document_ids, columns().document_ids),
        run_positions=np.where(run_of < 0, len(run.query_ids), run_of),
    )  # fmt: skip


def _count_distinct(*documents: StringColumn) -> int:
    """Return the number of distinct ids."""
    return len({texts.raw(row) for texts in documents for row in range(len(texts))})


def _scores(run: Run, convention: Convention) -> NDArray[np.float64]:
    """Return the scores to sort a run by."""
    return _input_order_scores(run.scores, run.offsets) if convention.list_order == "given" else run.scores


def drop_query_document(run: Run) -> Run:
    """Return the run without documents that have the id of their query."""
    keep = ~_has_query_id(run.document_ids, run.query_ids, run.offsets)
    if keep.all():
        return run
    counts = np.concatenate(([0], np.cumsum(keep)))[run.offsets].astype(np.int64)
    return replace(
        run, offsets=counts, document_ids=run.document_ids.take(np.flatnonzero(keep)), scores=run.scores[keep]
    )


def _query_of(run: Run, row: int) -> str:
    return run.query_ids[int(np.searchsorted(run.offsets, row, side="right")) - 1]


def _not_finite(run: Run, row: int) -> DataError:
    document, value = run.document_ids.at(row), run.scores[row]
    message = f"the score of document {document} in query {_query_of(run, row)} is {value}; scores must be finite"
    line = run.line_of(row)
    return DataError(message, run.name if line is None else run.file, line)


def _duplicate(run: Run, first: int, second: int) -> DataError:
    message = f"document {run.document_ids.at(second)} is listed twice in query {_query_of(run, second)}"
    line = run.line_of(second)
    if line is None:
        return DataError(message, run.name)
    return DataError(f"{message}, first in line {run.line_of(first)}", run.file, line)
