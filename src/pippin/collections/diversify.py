"""Re-rank a run for diversity: MMR by document similarity, xQuAD by subtopics.

Both methods select documents greedily; the next one has the largest marginal value given those already selected. The
new score of a document is minus its rank, so that any measure can evaluate the result. α-nDCG, ERR-IA, NRBP and
subtopic recall are made for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import WHOLE, Query
from pippin.collections.index.index import Index
from pippin.collections.links.relations import similarity
from pippin.collections.search import load_index, load_queries, sorted_run
from pippin.data.qrels import Run, parse_run
from pippin.errors import ConventionError, DataError, UnknownName

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TRADE_OFFS = {"mmr": 0.7, "xquad": 0.5}  # method → default trade-off


def diversify(
    run: Run | str | os.PathLike[str],
    index: Index | str | os.PathLike[str],
    method: str = "mmr",
    *,
    subqueries: Sequence[Query] | str | os.PathLike[str] = (),
    depth: int = 100,
    field: str = WHOLE,
    query_field: str | None = None,
) -> Run:
    """Re-rank a run so that documents near the top differ from each other.

    Parameters
    ----------
    run : Run or path
        The run to re-rank, such as a result of :func:`pippin.search`.
    index : Index or path
        An index of the documents: a folder of :func:`pippin.index` or :func:`pippin.build`.
    method : str, default "mmr"
        ``"mmr(0.7)"`` subtracts the similarity to documents ranked above; the number is the weight of the score.
        ``"xquad(0.5)"`` adds the coverage of subtopics not covered yet; the number is the weight of the subtopics.
    subqueries : sequence of Query or path
        For xQuAD: the texts of the subtopics, with ids 201.1, 201.2 … for query 201.
    depth : int, default 100
        Number of documents per query to re-rank; the others follow in their order.
    field : str, default "whole"
        Document field that similarity and coverage are computed on.
    query_field : str, optional
        Field of the subqueries file to search, such as ``"description"``.

    Returns
    -------
    Run
        The re-ranked run; the score of a document is minus its rank, from 0.

    Raises
    ------
    UnknownName
        If the method does not exist.
    DataError
        If a document is not in the index, or a query has no subtopic (xQuAD).

    References
    ----------
    Carbonell and Goldstein 1998 (MMR); Santos, Macdonald and Ounis 2010 (xQuAD).

    Examples
    --------
    >>> import pippin, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.tsv").write_text("1\\tred apple\\n2\\tred apple\\n3\\tapple pie recipe\\n4\\tplum\\n")
    >>> index = pippin.index(folder / "docs.tsv", folder / "index")
    >>> run = pippin.Run.from_dict({"q": {"1": 3.0, "2": 2.9, "3": 2.5}})
    >>> list(pippin.diversify(run, index, "mmr(0.5)").document_ids)
    ['1', '3', '2']
    """
    name, trade_off = parse_method(method)
    if depth < 1:
        raise DataError(f"depth must be at least 1, got {depth}")
    run = run if isinstance(run, Run) else parse_run(run)
    index = load_index(index)[0]
    subtopics = group_by_query(load_queries(subqueries, query_field))
    missing = [query for query in run.query_ids if query not in subtopics] if name == "xquad" else []
    if missing:
        raise DataError(f"query {missing[0]} has no subtopic; subtopic ids look like {missing[0]}.1, {missing[0]}.2 …")
    ordered = sorted_run(run)
    numbers = index.numbers(list(ordered.document_ids))
    if (numbers < 0).any():
        unknown = list(ordered.document_ids)[int(np.flatnonzero(numbers < 0)[0])]
        raise DataError(f"document {unknown} of {run.name} is not in {index.name}")
    field, scores = index.resolve_field(field), np.empty(len(numbers))
    for query, (start, end) in zip(ordered.query_ids, pairwise(ordered.offsets.tolist()), strict=True):
        head = slice(start, min(end, start + depth))
        scores[start:end] = -np.arange(end - start)
        if name == "mmr":
            scores[head] = mmr(ordered.scores[head], similarity(index, numbers[head], field=field), trade_off)
        else:
            covered = coverage(index, numbers[head], subtopics[query], field)
            scores[head] = xquad(ordered.scores[head], covered, trade_off)
    return sorted_run(
        Run(ordered.query_ids, ordered.offsets, ordered.document_ids, scores, run.name, f"{run.tag}-{name}")
    )


def parse_method(text: str) -> tuple[str, float]:
    """Return a method and its trade-off.

    >>> parse_method("mmr(0.5)"), parse_method("xquad")
    (('mmr', 0.5), ('xquad', 0.5))
    """
    name, bracket, number = text.strip().partition("(")
    if name not in TRADE_OFFS:
        raise UnknownName("diversification method", name, TRADE_OFFS)
    try:
        trade_off = float(number.removesuffix(")")) if bracket else TRADE_OFFS[name]
    except ValueError:
        trade_off = np.nan
    if not 0 <= trade_off <= 1:
        raise ConventionError(f"{name} needs a trade-off from 0 to 1, as in {name}({TRADE_OFFS[name]}), got {text!r}")
    return name, trade_off


def group_by_query(subtopics: Sequence[Query]) -> Mapping[str, list[Query]]:
    """Group subtopics by query: the id of the query precedes the last dot of a subtopic's id."""
    grouped: dict[str, list[Query]] = {}
    for subtopic in subtopics:
        query, dot, _ = subtopic.id.rpartition(".")
        if not dot:
            raise DataError(f"invalid subtopic id {subtopic.id}: expected a query id, a dot and a name, as in 201.1")
        grouped.setdefault(query, []).append(subtopic)
    return grouped


def coverage(index: Index, numbers: Ints, subtopics: Sequence[Query], field: str) -> Floats:
    """Return P(d|s) [n, s]: BM25 of each subtopic's text, scaled to [0, 1] within these documents."""
    columns = [scale_to_unit(index.bm25(index.analyse(topic.text), field=field)[numbers]) for topic in subtopics]
    return np.column_stack(columns)


def mmr(scores: Floats, similarity: Floats, trade_off: float = 0.7, depth: int | None = None) -> Floats:
    """Return minus the rank of one query's documents by maximal marginal relevance.

    The marginal value is trade_off · relevance − (1 − trade_off) · largest similarity to a selected document (Carbonell
    and Goldstein 1998). Relevance is the score scaled to [0, 1]; similarity is [n, n] with values from 0 to 1.

    >>> similarity = np.array([[1, 0.9, 0.0], [0.9, 1, 0.0], [0.0, 0.0, 1]])
    >>> mmr(np.array([3.0, 2.9, 2.0]), similarity, 0.5).tolist()
    [0.0, -2.0, -1.0]
    """
    if similarity.shape != (len(scores), len(scores)):
        raise DataError(f"similarity must be {len(scores)} by {len(scores)}, got {similarity.shape}")
    relevance, nearest = scale_to_unit(scores), np.zeros(len(scores))

    def marginal_value(selected: int | None) -> Floats:
        if selected is not None:
            np.maximum(nearest, similarity[selected], out=nearest)
        value: Floats = trade_off * relevance - (1 - trade_off) * nearest
        return value

    return select_greedily(scores, marginal_value, trade_off, depth)


def xquad(
    scores: Floats, coverage: Floats, trade_off: float = 0.5, weights: Floats | None = None, depth: int | None = None
) -> Floats:
    """Return minus the rank of one query's documents by xQuAD.

    The marginal value is (1 − trade_off) · P(d|q) + trade_off · Σ_s w_s P(d|s) Π_selected (1 − P(selected|s)) (Santos,
    Macdonald and Ounis 2010). P(d|q) is the score scaled to [0, 1], then to sum 1; coverage [n, s] is P(d|s). Subtopics
    have equal weights unless `weights` is given.

    >>> coverage = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> xquad(np.array([3.0, 2.9, 2.0]), coverage, 0.9).tolist()
    [0.0, -2.0, -1.0]
    """
    if coverage.ndim != 2 or len(coverage) != len(scores) or not ((coverage >= 0) & (coverage <= 1)).all():
        raise DataError(f"coverage must be {len(scores)} documents by subtopics, of probabilities")
    count = coverage.shape[1]
    weights = np.full(count, 1 / max(1, count)) if weights is None else np.asarray(weights, np.float64)
    if weights.shape != (count,):
        raise DataError(f"{count} subtopics need {count} weights, got {weights.shape}")
    relevance, uncovered = scale_to_unit(scores), np.ones(count)
    relevance = relevance / max(float(relevance.sum()), 1e-12)

    def marginal_value(selected: int | None) -> Floats:
        if selected is not None:
            np.multiply(uncovered, 1 - coverage[selected], out=uncovered)
        value: Floats = (1 - trade_off) * relevance + trade_off * (coverage @ (weights * uncovered))
        return value

    return select_greedily(scores, marginal_value, trade_off, depth)


def select_greedily(
    scores: Floats, marginal_value: Callable[[int | None], Floats], trade_off: float, depth: int | None
) -> Floats:
    """Return minus the rank of each document; among equal values the higher score is selected first."""
    if not 0 <= trade_off <= 1 or not np.isfinite(scores).all():
        raise DataError("the trade-off must be from 0 to 1 and all scores finite")
    ranks, order = np.zeros(len(scores)), np.argsort(-scores, kind="stable")
    is_free, selected = np.ones(len(scores), np.bool_), None
    for rank in range(len(scores) if depth is None else min(depth, len(scores))):
        values = marginal_value(selected)[order]
        values[~is_free[order]] = -np.inf
        selected = int(order[values.argmax()])
        is_free[selected], ranks[selected] = False, 0.0 - rank
    remaining = order[is_free[order]]
    ranks[remaining] = 0.0 - np.arange(len(scores) - len(remaining), len(scores))
    return ranks


def scale_to_unit(scores: Floats) -> Floats:
    """Scale scores linearly to [0, 1]; 0 if all are equal."""
    if not len(scores):
        return scores
    span = float(scores.max() - scores.min())
    scaled: Floats = (scores - scores.min()) / span if span > 0 else np.zeros(len(scores))
    return scaled
