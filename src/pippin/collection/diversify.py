"""A run whose documents do not say the same twice: its lists taken again one by one, by what an index knows of them.

`mmr(0.7)` asks how alike documents are by their words, `xquad(0.5)` how well each serves the subtopics of its query,
which are queries of their own: `201.1`, `201.2` … are those of 201. How well is BM25 of the subtopic's text within the
list, from 0 to 1. The formulas stand in `rankers.diversity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import WHOLE, Query
from pippin.collection.index import Index
from pippin.collection.retrieval import sorted_run
from pippin.collection.similarity import similarity
from pippin.data.trec import Run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.rankers.diversity import mmr, to_unit, xquad

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]
METHODS = {"mmr": 0.7, "xquad": 0.5}  # with what stands for the trade-off where none is written


def diversify(
    run: Run, index: Index, method: str = "mmr", *, subtopics: Sequence[Query] = (), depth: int = 100,
    stream: str = WHOLE,
) -> Run:  # fmt: skip
    """The run with each query's best documents in an order that says more; scores are minus the ranks, from 0.

    method     mmr(trade) or xquad(trade), as it is written
    subtopics  for xquad: queries whose ids are that of their query, a dot, and a name
    depth      documents of a query that are taken one by one; the others follow in their order
    stream     where documents are looked at
    """
    name, trade = parse_method(method)
    if depth < 1:
        raise DataError(f"at least one document is taken, not {depth}")
    by_query = subtopics_of(subtopics)
    if name == "xquad":
        lacking = [query for query in run.query_ids if query not in by_query]
        if lacking:
            raise DataError(f"query {lacking[0]} has no subtopic; they are written {lacking[0]}.1, {lacking[0]}.2 …")
    ordered = sorted_run(run)
    numbers = index.numbers(list(ordered.document_ids))
    if (numbers < 0).any():
        lost = list(ordered.document_ids)[int(np.flatnonzero(numbers < 0)[0])]
        raise DataError(f"document {lost} of {run.name} is not in {index.name}")
    looked, scores = index.stream(stream), np.empty(len(numbers))
    for query, (start, end) in zip(ordered.query_ids, pairwise(ordered.offsets.tolist()), strict=True):
        first = slice(start, min(end, start + depth))
        scores[start:end] = -np.arange(end - start)
        if name == "mmr":
            alike = similarity(index, numbers[first], stream=looked)
            scores[first] = mmr(ordered.scores[first], alike, trade)
        else:
            serves = coverage(index, numbers[first], by_query[query], looked)
            scores[first] = xquad(ordered.scores[first], serves, trade)
    made = Run(ordered.query_ids, ordered.offsets, ordered.document_ids, scores, run.name, f"{run.tag}-{name}")
    return sorted_run(made)


def parse_method(text: str) -> tuple[str, float]:
    """A method and its trade-off.

    >>> parse_method("mmr(0.5)"), parse_method("xquad")
    (('mmr', 0.5), ('xquad', 0.5))
    """
    name, bracket, inside = text.strip().partition("(")
    if name not in METHODS:
        raise UnknownName("way to diversify", name, METHODS)
    try:
        trade = float(inside.removesuffix(")")) if bracket else METHODS[name]
    except ValueError:
        trade = np.nan
    if not 0 <= trade <= 1:
        raise ConventionError(f"{name} has a trade-off from 0 to 1, as in {name}({METHODS[name]}), not {text!r}")
    return name, trade


def subtopics_of(subtopics: Sequence[Query]) -> Mapping[str, list[Query]]:
    """Subtopics by the query that they belong to: its id stands before the last dot of theirs."""
    found: dict[str, list[Query]] = {}
    for one in subtopics:
        query, dot, _ = one.id.rpartition(".")
        if not dot:
            raise DataError(f"a subtopic is called by its query, a dot and a name, as in 201.1, and not {one.id}")
        found.setdefault(query, []).append(one)
    return found


def coverage(index: Index, numbers: Ints, subtopics: Sequence[Query], stream: str) -> F64:
    """[n, s] how well each document serves each subtopic: BM25 of its text, from 0 to 1 within these documents."""
    table = [to_unit(index.bm25(index.analyse(one.text), stream=stream)[numbers]) for one in subtopics]
    return np.column_stack(table)
