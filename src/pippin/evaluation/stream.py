"""Evaluation by parts: evaluate(A ++ B) = evaluate(A) ++ evaluate(B), so that what is evaluated need not fit in memory.

A request is a tool with overrides. Each part (a stretch of a file, a partition) is evaluated for every request, and
`join` puts the values of the queries one after the other in their order and takes the mean over all of them, from the
first query to the last: the same bits as if all had been evaluated at once. What stays in memory is a value per query
and measure, and the ids.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.data.load import kind_of_text
from pippin.data.partitions import check_partitions, is_partitions
from pippin.data.run_file import RankedRun, ranked_stretches
from pippin.data.stretches import SIZE, Places, ScoreLines, letor_stretches, texts
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.data.trec_text import read_judgements
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import (
    Column,
    Evaluation,
    Rankings,
    evaluate_rankings,
    mean_of_values,
    rounded_mean,
)
from pippin.evaluation.measures import KINDS, Values
from pippin.evaluation.ranking import Ranking, nothing_common, order_of
from pippin.evaluation.tools import Tool

Request = tuple[Tool, Mapping[str, Any]]
_FIRST = 1 << 16  # bytes that tell what a file is
WHOLE = "ties=…-of-all and average=batch look at the documents of all queries, which a part does not know"


def needs_whole(measures: Sequence[str], request: Request) -> bool:
    """Whether a request looks at the documents of all queries, which no part has."""
    tool, overrides = request
    return any(_of_all(tool.convention_for(tool.measure(text), **overrides)) for text in measures)


def _of_all(convention: Convention) -> bool:
    return convention.ties.endswith("-of-all") or convention.average == "batch"


def evaluate_part(
    rankings: Rankings, measures: Sequence[str], requests: Sequence[Request], name: str
) -> list[Evaluation]:
    """One part under every request, sharing its rankings."""
    return [evaluate_rankings(rankings, measures, tool, overrides, name) for tool, overrides in requests]


def join(parts: Sequence[Evaluation], order: Mapping[str, int] | None = None) -> Evaluation:
    """The evaluations of parts as that of the whole; `order` tells the place of each query where it is another.

    >>> from pippin.evaluation.evaluate import evaluate
    >>> judged, run = {"a": {"x": 1, "y": 0}, "b": {"x": 1}}, {"a": {"x": 1, "y": 2}, "b": {"x": 1}}
    >>> halves = [evaluate({q: judged[q]}, {q: run[q]}, "RR") for q in judged]
    >>> join(halves).mean == evaluate(judged, run, "RR").mean
    True
    """
    first = parts[0]
    columns = tuple(_join_columns([part.columns[i] for part in parts], order) for i in range(len(first.columns)))
    counts = {key: sum(part.counts[key] for part in parts) for key in first.counts}
    return Evaluation(first.tool, first.overrides, first.name, columns, {**counts, "cutoff": first.counts["cutoff"]})


def _join_columns(parts: Sequence[Column], order: Mapping[str, int] | None) -> Column:
    ids = [query for part in parts for query in part.query_ids]
    rows = np.arange(len(ids))
    if order is not None:
        rows = np.argsort(np.array([order[query] for query in ids], np.int64), kind="stable")
    ids, values = [ids[row] for row in rows], np.concatenate([part.values for part in parts])[rows]
    first = parts[0]
    if KINDS[first.measure.kind].whole is not None:
        raise ConventionError(f"{first.asked} is a number of a whole run, which its parts do not have")
    if _of_all(first.convention):
        raise ConventionError(WHOLE)
    if first.convention.average.startswith("judged"):
        raise ConventionError("average=judged asks for all judged queries, which a part does not know")
    if first.convention.gain == "share" and KINDS[first.measure.kind].hears("gain") and len(parts) > 1:
        raise ConventionError("gain=share asks for the largest of all labels, which a part does not know")
    each = [part.weights for part in parts if part.weights is not None]
    weights = np.concatenate(each)[rows] if each else None
    mean = rounded_mean(
        mean_of_values(first.measure, first.convention, *_as_added(parts, values, weights)), first.convention
    )
    return Column(first.asked, first.measure, first.convention, tuple(ids), values, mean, weights)


def _as_added(parts: Sequence[Column], values: Values, weights: Values | None) -> tuple[Values, Values | None]:
    """Values and weights in the order in which the mean adds them; parts follow each other as in the run."""
    if all(part.added is None for part in parts):
        return values, weights
    order = [slice(None) if part.added is None else part.added for part in parts]
    summed = np.concatenate([part.values[added] for part, added in zip(parts, order, strict=True)])
    each = [part.weights[added] for part, added in zip(parts, order, strict=True) if part.weights is not None]
    return summed, np.concatenate(each) if each else None


def evaluate_stream(
    judged: str | os.PathLike[str],
    scored: str | os.PathLike[str],
    measures: Sequence[str],
    requests: Sequence[Request],
    name: str = "scores",
    size: int = SIZE,
) -> list[Evaluation]:
    """Evaluate files larger than memory: LETOR text (or partitions) with a file of scores, or judgements with a run.

    The result per request is the one that the whole would give. Scores stand in the order of the data set; a run is
    grouped by query. The judgements of a run are held in memory, the run is not.
    """
    if any(needs_whole(measures, request) for request in requests):  # before anything is read
        raise ConventionError(WHOLE)
    places = Places()
    judging, scoring = _kind(judged), _kind(scored)
    order: dict[str, int] | None = None
    if judging in ("letor", "partitions") and scoring == "scores":
        parts: Iterator[Rankings] = _with_scores(judged, scored, places, size)
    elif judging == "judgements" and scoring == "run":
        judgements = read_judgements(judged)
        order = {query: i for i, query in enumerate(judgements.query_ids)}
        tool, overrides = requests[0]
        first = tool.convention_for(tool.measure(measures[0]), **overrides)
        stretches = ranked_stretches(scored, judgements, order_of(first), places, size)
        parts = _with_run(judgements, stretches, order, Path(scored).name)
    else:
        raise DataError(
            "a stream is LETOR text or partitions with a file of scores, or judgements with a run, and not "
            f"{_WORDS[judging]} with {_WORDS[scoring]}"
        )
    evaluated: list[list[Evaluation]] = []
    for rankings in parts:
        with places.told():
            evaluated.append(evaluate_part(rankings, measures, requests, name))
    return [join(list(same), order) for same in zip(*evaluated, strict=True)]


_WORDS = {
    "letor": "LETOR text", "judgements": "judgements", "run": "a run", "scores": "scores", "partitions": "partitions",
}  # fmt: skip


def _kind(path: str | os.PathLike[str]) -> str:
    """What a file holds, by its beginning."""
    if is_partitions(path):
        return "partitions"
    for buffer in texts(path, len, Places(), _FIRST):
        return kind_of_text(buffer)
    raise DataError("the file is empty", path)


def _with_scores(
    judged: str | os.PathLike[str], scored: str | os.PathLike[str], places: Places, size: int
) -> Iterator[Rankings]:
    scores = ScoreLines(scored, places, size)
    for data in _datasets(judged, places, size):
        yield Rankings(data, scores.take(len(data)))
    scores.end()


def _datasets(judged: str | os.PathLike[str], places: Places, size: int) -> Iterable[Dataset]:
    if not is_partitions(judged):
        return letor_stretches(judged, places, size)
    whole = check_partitions(judged)
    return (whole.read(part) for part in whole.parts)


def _with_run(
    judged: Judgements, stretches: Iterable[Run | RankedRun], order: dict[str, int], name: str
) -> Iterator[Rankings]:
    """Stretches of the run with their judgements; at the end the judged queries that the run does not have.

    Queries that nobody judged take their place in `order` behind the judged ones.
    """
    missing = np.ones(len(judged.query_ids), np.bool_)
    for run in stretches:
        rows = [order.setdefault(query, len(order)) for query in run.query_ids]
        common = np.array(sorted(row for row in rows if row < len(missing)), np.int64)
        missing[common] = False
        yield (Rankings if len(common) else _Unjudged)(_select(judged, common), run)
    if missing.all():
        raise nothing_common(judged, name, list(order)[len(missing) :])
    if missing.any():
        yield _Unretrieved(_select(judged, np.flatnonzero(missing)))


class _Unjudged(Rankings):
    """Queries of the run that nobody judged, under conventions where they count."""

    def under(self, convention: Convention) -> Ranking:
        """The ranking under a convention's rules of order."""
        if convention.queries == "run":
            return super().under(convention)
        return super().under(convention.replace(queries="run")).select(np.empty(0, np.int64))


class _Unretrieved(Rankings):
    """Judged queries that the run does not have: empty lists, under conventions where they count."""

    def __init__(self, judged: Judgements) -> None:
        nothing = np.zeros(len(judged.query_ids) + 1, np.int64)
        super().__init__(judged, Run(judged.query_ids, nothing, Texts.of(()), np.empty(0)))

    def under(self, convention: Convention) -> Ranking:
        """The ranking under a convention's rules of order."""
        ranking = super().under(convention)
        return ranking.select(np.empty(0, np.int64)) if convention.queries in ("both", "run") else ranking


def _select(judged: Judgements, queries: NDArray[np.int64]) -> Judgements:
    rows = rows_of(judged.offsets, queries)
    offsets = np.concatenate(([0], np.cumsum(np.diff(judged.offsets)[queries]))).astype(np.int64)
    ids = tuple(judged.query_ids[query] for query in queries)
    return replace(
        judged, query_ids=ids, offsets=offsets, document_ids=judged.document_ids.take(rows), labels=judged.labels[rows]
    )
