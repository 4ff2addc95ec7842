"""Where data and scores meet: labels in rank order plus the pool of judged labels, per query.

Everything a convention says about order (ties, precision of scores), about documents nobody judged and about which
queries count is settled here, once; the measures after it are short pure functions. `order` sorts, `settled` says what
the sorted labels count under a convention, so that conventions that agree on the order share one sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.data.run_file import Order, RankedRun, RunFile
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError, DataError
from pippin.evaluation.catalogue import Lists, first_of_all
from pippin.evaluation.convention import PARTIAL_TIES, Convention
from pippin.evaluation.labels import offsets_of, relabelled
from pippin.evaluation.ranked_lists import Ranking
from pippin.kernels import rank as kernel
from pippin.kernels.measures import UNJUDGED


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


Ranked = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint8]]  # as `rank_lists` gives it


class Shared:
    """What the orders of one data set and its scores share, or of judgements and a run.

    Rules for ties differ in queries with equal scores alone, so that only the first order sorts all queries, and only
    those are measured again. Pools are those of the labels, whatever the order.
    """

    def __init__(self) -> None:
        self._checked: NDArray[np.float64] | None = None
        self._ranked: dict[tuple[int | None, str, bool], Ranked] = {}  # by what labels were capped at, ties, float32
        self._settled: dict[int | None, Ranking] = {}  # by what labels were capped at
        # Ranked labels and ties of a run, by all that its order hangs on: rules that leave ties open share one.
        self.of_run: dict[tuple[object, ...], tuple[NDArray[np.int32], NDArray[np.uint8]]] = {}
        self._met: NDArray[np.int64] | None = None

    def checked(self, data: Dataset, scores: NDArray[np.float64], allow_infinite: bool) -> NDArray[np.float64]:
        """The scores, looked at once."""
        if self._checked is None:
            self._checked = check_scores(data, scores, allow_infinite)
        return self._checked

    def first_met(self, documents: Texts, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of every list, those first whose document comes first in the data; looked for once."""
        if self._met is None:
            text, starts = documents.buffer.tobytes(), documents.starts
            ids = [text[a:b] for a, b in zip(starts.tolist(), (starts + documents.lengths).tolist(), strict=True)]
            first = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
            place = np.fromiter(map(first.__getitem__, ids), np.int64, len(ids))
            self._met = np.lexsort((place, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
        return self._met

    def ranking(
        self, data: Dataset, scores: NDArray[np.float64], rule: tuple[Texts | None, str, bool], convention: Convention
    ) -> Ranking:
        """The ranking by these scores, a rule for ties and a precision."""
        labels = _cap(data.labels, convention)
        top = None if labels is data.labels else convention.top_label
        if (top, *rule[1:]) not in self._ranked:
            self._ranked[top, *rule[1:]] = self._rank(data, scores, rule, labels, convention)
        ranked, tied, alike = self._ranked[top, *rule[1:]]
        first = self._settled.get(top)
        if first is None:
            pool = kernel.sort_pools(labels, data.offsets, np.arange(data.queries), data.offsets)
            first = Ranking(
                data.query_ids, ranked, data.offsets, tied, pool, data.offsets, expected=False,
                score=lambda: _descending(scores, np.diff(data.offsets)),
                catalogue=lambda: len(data) if data.document_ids is None else _different(data.document_ids),
            )  # fmt: skip
            self._settled[top] = first
        expected, grouped = _open(convention)
        if first.labels is ranked and not expected and not grouped:
            return first
        ranking = replace(first, labels=ranked, tied=tied, expected=expected, grouped=grouped)
        return ranking.nearly(first, np.flatnonzero(alike))

    def _rank(
        self, data: Dataset, scores: NDArray[np.float64], rule: tuple[Texts | None, str, bool],
        labels: NDArray[np.int32], convention: Convention,
    ) -> Ranked:  # fmt: skip
        """What `rank_lists` gives for these labels, some of which may have been capped."""
        if not self._ranked:
            ranked, tied, alike = kernel.rank_lists(scores, data.labels, data.offsets, *rule)
            if labels is data.labels:
                return ranked, tied, alike
            self._ranked[None, *rule[1:]] = ranked, tied, alike
        ranked, tied, alike = next(iter(self._ranked.values()))
        if labels is not data.labels:
            ranked = _cap(ranked, convention)
        return kernel.rank_again((ranked, tied, alike), scores, labels, data.offsets, *rule)


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
    if convention.ties == "topk-of-all" and convention.order == "score" and not isinstance(scored, RankedRun):
        return _of_all(judged, scored, convention, allow_infinite, shared or Shared())
    if convention.ties == "argpartition-of-all" and convention.order == "score" and not isinstance(scored, RankedRun):
        return _as_first_met(judged, scored, convention, allow_infinite, shared or Shared())
    return _order(judged, scored, convention, allow_infinite, shared or Shared())


def _order(
    judged: Dataset | Judgements, scored: NDArray[np.float64] | Run | RankedRun, convention: Convention,
    allow_infinite: bool, shared: Shared,
) -> Ranking:  # fmt: skip
    """The same for lists that are ranked one by one."""
    if isinstance(judged, Dataset) and isinstance(scored, (Run, RankedRun)):
        judged = as_judgements(judged)
    if isinstance(judged, Dataset) and isinstance(scored, np.ndarray):
        return _rank_dataset(judged, scored, convention, allow_infinite, shared)
    if isinstance(judged, Judgements) and isinstance(scored, (Run, RankedRun)):
        return _rank_run(judged, scored, convention, allow_infinite, shared)
    raise DataError("a list of scores needs the data set it belongs to; judgements need a run")


def _of_all(
    judged: Dataset | Judgements, scored: NDArray[np.float64] | Run, convention: Convention, allow_infinite: bool,
    shared: Shared,
) -> Ranking:  # fmt: skip
    """The first documents of all that there are, for every query."""
    ranking = order(judged, scored, convention.replace(ties="input"), allow_infinite=allow_infinite, shared=shared)
    labels = Lists(judged.query_ids, judged.offsets, judged.document_ids, _cap(judged.labels, convention))
    if isinstance(scored, np.ndarray) and judged.document_ids is not None:
        scored = Run(judged.query_ids, judged.offsets, judged.document_ids, scored)
    if isinstance(scored, Run):
        run = without_own(scored) if convention.own_document == "drop" else scored
        listed = Lists(run.query_ids, run.offsets, run.document_ids, run.scores)
    else:
        listed = replace(labels, numbers=scored)
    return first_of_all(ranking, listed, labels, convention.ties_depth, convention.precision == "float32")


def _as_first_met(
    judged: Dataset | Judgements, scored: NDArray[np.float64] | Run, convention: Convention, allow_infinite: bool,
    shared: Shared,
) -> Ranking:  # fmt: skip
    """Lists whose documents stand as they first come in the data before they are sorted, such as the rows of a matrix
    with a column for each document.
    """
    ranking = _order(judged, scored, convention.replace(ties="input"), allow_infinite, shared)
    if not ranking.tied.any():
        return ranking
    if isinstance(scored, Run):
        rows = shared.first_met(scored.document_ids, scored.offsets)
        scored = replace(scored, document_ids=scored.document_ids.take(rows), scores=scored.scores[rows])
    elif isinstance(judged, Dataset) and judged.document_ids is not None:
        rows = shared.first_met(judged.document_ids, judged.offsets)
        if not np.array_equal(rows, np.arange(len(rows))):
            judged = Dataset(
                np.empty((len(rows), 0)), judged.labels[rows], judged.offsets, judged.query_ids,
                judged.document_ids.take(rows), name=judged.name,
            )  # fmt: skip
            scored, shared = scored[rows], Shared()
    return _order(judged, scored, convention, allow_infinite, shared)


def settled(ranking: Ranking, convention: Convention) -> Ranking:
    """What ranked labels count under a convention, and for which queries."""
    if ranking.missing is not None and convention.queries in ("both", "run"):
        ranking = ranking.select(np.flatnonzero(~ranking.missing))
    ranking = relabelled(ranking, convention)
    return ranking.select(np.flatnonzero(counted(ranking, convention)))


def counted(ranking: Ranking, convention: Convention) -> NDArray[np.bool_]:
    """Which queries of a ranking count, by the length of their lists and by what is relevant to them."""
    counts: NDArray[np.bool_] = ranking.sizes() >= convention.least
    if convention.all_relevant == "drop":
        counts &= ~all_relevant(ranking.labels, ranking.offsets, convention.relevant_at)
    if not convention.queries.startswith("relevant"):
        return counts
    relevant = ranking.relevant_queries(convention.relevant_at)
    if convention.queries == "relevant-or-lost":
        relevant = relevant | (ranking.sizes() == 0)
    return counts & relevant


def all_relevant(labels: NDArray[np.int32], offsets: NDArray[np.int64], relevant_at: int) -> NDArray[np.bool_]:
    """Which lists have documents, and all of them relevant."""
    sizes = np.diff(offsets)
    relevant = np.bincount(np.repeat(np.arange(len(sizes)), sizes), labels >= relevant_at, len(sizes))
    alone: NDArray[np.bool_] = (sizes > 0) & (relevant == sizes)
    return alone


def as_judgements(data: Dataset) -> Judgements:
    """The labels of a data set as judgements, by document id."""
    if data.document_ids is None:
        raise DataError(
            f"{data.name} names no documents, so a run cannot be judged by it; give it a column of "
            "documents, such as doc_id, or a score per row"
        )
    return Judgements(data.query_ids, data.offsets, data.document_ids, data.labels, data.name)


def _cap(labels: NDArray[np.int32], convention: Convention) -> NDArray[np.int32]:
    """Labels above the convention's top label count as 0."""
    top = convention.top_label
    if top is None or not len(labels) or labels.max() <= top:
        return labels
    return np.where(labels > top, 0, labels).astype(np.int32)


def _ties(convention: Convention) -> str:
    """The rule by which kernels sort: where an order is open or given, as it stands."""
    if convention.ties in ("expected", "grouped", "topk-of-all") or convention.order == "given":
        return "input"
    deep = convention.ties.startswith(PARTIAL_TIES) or convention.ties == "introsort"
    return f"{convention.ties.removesuffix('-of-all')}:{convention.ties_depth}" if deep else convention.ties


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
    scores = shared.checked(data, scores, allow_infinite)
    ties, float32 = _ties(convention), convention.precision == "float32"
    ids = data.document_ids if ties.startswith("id-") else None
    unnamed = ties.startswith("id-") and ids is None
    if unnamed:
        ties = "input"
    if convention.order == "given":
        by = _as_given(scores, data.offsets)
        ranking = replace(Shared().ranking(data, by, (ids, ties, float32), convention), score=lambda: scores)
    else:
        by = scores
        ranking = shared.ranking(data, by, (ids, ties, float32), convention)
    if unnamed and ranking.tied.any():
        raise ConventionError(f"ties={convention.ties} needs document ids, and {data.name} has none")
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
    simple = simple and not convention.ties.endswith("-of-all")
    if isinstance(run, RankedRun):
        return run if simple and run.order == wanted and convention.top_label is None else run.whole()
    if not simple or not isinstance(judged, Judgements):
        return run.whole
    return run.ranked(judged, _cap(judged.labels, convention), wanted) or run.whole


def nothing_common(judged: Judgements, name: str, asked: Sequence[str]) -> DataError:
    """That no query of a run was judged, with some of both, in which one sees why."""
    there, here = (", ".join(ids[:3]) + " …" * (len(ids) > 3) for ids in (judged.query_ids, asked))
    return DataError(f"{judged.name} and {name} have no query in common: {there} there, {here or 'none'} here")


def order_of(convention: Convention) -> Order:
    """The rule by which kernels sort runs under a convention."""
    return Order(_ties(convention), convention.precision == "float32")


def _rank_run(
    judged: Judgements, run: Run | RankedRun, convention: Convention, allow_infinite: bool, shared: Shared
) -> Ranking:
    position = {query: i for i, query in enumerate(run.query_ids)}
    known = set(judged.query_ids)
    if known and not position.keys() & known:
        raise nothing_common(judged, run.name, run.query_ids)
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
        capped_at = None if labels is judged.labels else convention.top_label
        rule = _ties(convention), convention.precision == "float32"
        # A run without the documents that are queries is shorter, if it had any.
        key = (*rule, convention.order, len(run.scores), capped_at, bool(extra))
        if key not in shared.of_run:
            ranked, tied, (first, second) = kernel.judge_and_rank(
                (run.document_ids, _scores(run, convention), run.offsets),
                (judged.document_ids, labels, judged.offsets), run_of, judged_of, offsets, *rule,
            )  # fmt: skip
            if second >= 0:
                raise _duplicate(run, first, second)
            shared.of_run[key] = ranked, tied
        ranked, tied = shared.of_run[key]
    pool = kernel.sort_pools(labels, judged.offsets, judged_of, pool_offsets)
    ids = (*judged.query_ids, *(run.query_ids[q] for q in extra))

    def columns() -> Run:
        return run.whole() if isinstance(run, RankedRun) else run

    def given() -> NDArray[np.float64]:
        return columns().scores[rows_of(run.offsets, run_of[run_of >= 0])]

    def score() -> NDArray[np.float64]:
        return given() if convention.order == "given" else _descending(given(), np.diff(offsets))

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
        missing=run_of < 0, score=score, given=given, document=document, judged=judged,
        catalogue=lambda: _different(judged.document_ids, columns().document_ids),
        place=np.where(run_of < 0, len(run.query_ids), run_of),
    )  # fmt: skip


def _different(*documents: Texts) -> int:
    """How many ids there are, those that come again counted once."""
    return len({texts.raw(row) for texts in documents for row in range(len(texts))})


def _scores(run: Run, convention: Convention) -> NDArray[np.float64]:
    """What a run is sorted by."""
    return _as_given(run.scores, run.offsets) if convention.order == "given" else run.scores


def without_own(run: Run) -> Run:
    """The run without documents that bear their query's id."""
    kept = ~_named_as_query(run.document_ids, run.query_ids, run.offsets)
    if kept.all():
        return run
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
