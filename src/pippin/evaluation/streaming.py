"""Evaluate data larger than memory in parts: evaluate(A ++ B) = evaluate(A) ++ evaluate(B).

A request is a tool with overrides. Each part (a chunk of a file, a partition) is evaluated for every request. `join`
concatenates the values per query and takes the mean from the first query to the last, which gives the same bits as an
evaluation of all data at once. Only the ids and the values per query and measure stay in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of_queries
from pippin.data.partitions import Partition, check_partitions, is_partitions, open_partitions
from pippin.data.qrels import Qrels, Run, parse_qrels
from pippin.data.read import detect_text_format
from pippin.data.streaming import (
    CHUNK_BYTES,
    LineOffsets,
    RankedRun,
    ScoreReader,
    iter_letor_chunks,
    iter_ranked_chunks,
    iter_text_chunks,
)
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import (
    Evaluation,
    MeasureResult,
    RankingCache,
    depends_on_max_label,
    evaluate_rankings,
    mean_of_values,
    rounded_mean,
)
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Values
from pippin.evaluation.rank import no_common_query_error, order_of
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools import Tool, run_tools
from pippin.kernels.strings import StringColumn

Request = tuple[Tool, Mapping[str, Any]]
_DETECTION_BYTES = 1 << 16  # at the start of a file
NEEDS_ALL_QUERIES = (
    "ties=…-of-all and averaging=batch need the documents of all queries, which an evaluation in parts does not have"
)


def needs_all_queries(measures: Sequence[str], request: Request) -> bool:
    """Return whether a request needs the documents of all queries at once."""
    tool, overrides = request
    return any(_has_global_rule(tool.convention_for(tool.measure(text), **overrides)) for text in measures)


def _has_global_rule(convention: Convention) -> bool:
    return convention.ties.endswith("-of-all") or convention.averaging == "batch"


def needs_max_label(measures: Sequence[str], request: Request) -> bool:
    """Return whether a request needs the largest label of the data."""
    tool, overrides = request
    parsed = [tool.measure(text) for text in measures]
    return any(depends_on_max_label(measure, tool.convention_for(measure, **overrides)) for measure in parsed)


def evaluate_part(
    rankings: RankingCache, measures: Sequence[str], requests: Sequence[Request], name: str
) -> list[Evaluation]:
    """Evaluate one part under every request."""
    return [evaluate_rankings(rankings, measures, tool, overrides, name) for tool, overrides in requests]


def join(parts: Sequence[Evaluation], order: Mapping[str, int] | None = None) -> Evaluation:
    """Join the evaluations of parts; `order` gives the position of each query if it differs.

    >>> from pippin.evaluation.evaluate import evaluate
    >>> qrels, run = {"a": {"x": 1, "y": 0}, "b": {"x": 1}}, {"a": {"x": 1, "y": 2}, "b": {"x": 1}}
    >>> halves = [evaluate({q: qrels[q]}, {q: run[q]}, "RR") for q in qrels]
    >>> join(halves).mean == evaluate(qrels, run, "RR").mean
    True
    """
    first = parts[0]
    columns = tuple(_join_columns([part.columns[i] for part in parts], order) for i in range(len(first.columns)))
    keys = dict.fromkeys(key for part in parts for key in part.counts)
    counts = {key: sum(part.counts.get(key, 0) for part in parts) for key in keys}
    return Evaluation(first.tool, first.overrides, first.name, columns, {**counts, "cutoff": first.counts["cutoff"]})


def _join_columns(parts: Sequence[MeasureResult], order: Mapping[str, int] | None) -> MeasureResult:
    ids = [query for part in parts for query in part.query_ids]
    rows = np.arange(len(ids))
    if order is not None:
        rows = np.argsort(np.array([order[query] for query in ids], np.int64), kind="stable")
    ids, values = [ids[row] for row in rows], np.concatenate([part.values for part in parts])[rows]
    first = parts[0]
    if MEASURE_DEFINITIONS[first.measure.kind].run_function is not None:
        raise ConventionError(f"{first.requested_name} is defined for a complete run and cannot be evaluated in parts")
    if _has_global_rule(first.convention):
        raise ConventionError(NEEDS_ALL_QUERIES)
    if first.convention.averaging.startswith("judged"):
        raise ConventionError("averaging=judged needs all judged queries and cannot be evaluated in parts")
    each = [part.weights for part in parts if part.weights is not None]
    weights = np.concatenate(each)[rows] if each else None
    mean = rounded_mean(
        mean_of_values(first.measure, first.convention, *_in_summation_order(parts, values, weights)), first.convention
    )
    return MeasureResult(
        first.requested_name, first.measure, first.convention, tuple(ids), values, mean, weights,
        max_label=first.max_label,
    )  # fmt: skip


def _in_summation_order(
    parts: Sequence[MeasureResult], values: Values, weights: Values | None
) -> tuple[Values, Values | None]:
    """Return values and weights in the order of the sum; parts follow each other as in the run."""
    if all(part.summation_order is None for part in parts):
        return values, weights
    order = [slice(None) if part.summation_order is None else part.summation_order for part in parts]
    summed = np.concatenate([part.values[added] for part, added in zip(parts, order, strict=True)])
    each = [part.weights[added] for part, added in zip(parts, order, strict=True) if part.weights is not None]
    return summed, np.concatenate(each) if each else None


def evaluate_stream(
    qrels: str | os.PathLike[str],
    run: str | os.PathLike[str],
    measures: Sequence[str],
    requests: Sequence[Request],
    name: str = "scores",
    size: int = CHUNK_BYTES,
) -> list[Evaluation]:
    """Evaluate files larger than memory: LETOR text (or partitions) with a file of scores, or judgements with a run.

    The result per request equals that of `evaluate`. Scores are in the order of the data set; a run is grouped by
    query. Judgements are held in memory, the run is not.
    """
    if any(needs_all_queries(measures, request) for request in requests):  # before reading files
        raise ConventionError(NEEDS_ALL_QUERIES)
    places = LineOffsets()
    qrels_format, run_format = _detect_format(qrels), _detect_format(run)
    order: dict[str, int] | None = None
    labels_first = any(needs_max_label(measures, request) for request in requests)
    if qrels_format in ("letor", "partitions") and run_format == "scores":
        parts: Iterator[RankingCache] = _iter_scored(
            qrels, run, places, size, _max_label(qrels, size) if labels_first else None
        )
    elif qrels_format == "qrels" and run_format == "run":
        judgements = parse_qrels(qrels)
        order = {query: i for i, query in enumerate(judgements.query_ids)}
        tool, overrides = requests[0]
        first = tool.convention_for(tool.measure(measures[0]), **overrides)
        chunks = iter_ranked_chunks(run, judgements, order_of(first), places, size)
        parts = _iter_run(judgements, chunks, order, Path(run).name)
    else:
        raise DataError(
            "stream needs LETOR text or partitions with a file of scores, or judgements with a run, not "
            f"{_FORMAT_NAMES[qrels_format]} with {_FORMAT_NAMES[run_format]}"
        )
    evaluated: list[list[Evaluation]] = []
    for rankings in parts:
        with places.relocate_errors():
            evaluated.append(evaluate_part(rankings, measures, requests, name))
    return [join(list(same), order) for same in zip(*evaluated, strict=True)]


_FORMAT_NAMES = {
    "letor": "LETOR text", "qrels": "judgements", "run": "a run", "scores": "scores", "partitions": "partitions",
}  # fmt: skip


def _detect_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file, detected from its first bytes."""
    if is_partitions(path):
        return "partitions"
    for buffer in iter_text_chunks(path, len, LineOffsets(), _DETECTION_BYTES):
        return detect_text_format(buffer)
    raise DataError("the file is empty", path)


def _iter_scored(
    qrels: str | os.PathLike[str], run: str | os.PathLike[str], places: LineOffsets, size: int, max_label: int | None
) -> Iterator[RankingCache]:
    scores = ScoreReader(run, places, size)
    for data in _datasets(qrels, places, size):
        yield RankingCache(data, scores.take(len(data)), max_label=max_label)
    scores.end()


def _max_label(qrels: str | os.PathLike[str], size: int) -> int:
    """Return the largest label of the data, which takes a pass over the file."""
    if is_partitions(qrels):
        return max(0, open_partitions(qrels).labels[1])
    places = LineOffsets()
    with places.relocate_errors():
        return max((int(data.labels.max(initial=0)) for data in iter_letor_chunks(qrels, places, size)), default=0)


def _datasets(qrels: str | os.PathLike[str], places: LineOffsets, size: int) -> Iterable[Dataset]:
    if not is_partitions(qrels):
        return iter_letor_chunks(qrels, places, size)
    partitions = check_partitions(qrels)
    return (partitions.read(part) for part in partitions.parts)


def _iter_run(
    qrels: Qrels, chunks: Iterable[Run | RankedRun], order: dict[str, int], name: str
) -> Iterator[RankingCache]:
    """Yield chunks of the run with their judgements, and finally the judged queries that are missing from the run.

    Unjudged queries are appended to `order`.
    """
    missing = np.ones(len(qrels.query_ids), np.bool_)
    max_label = int(qrels.labels.max(initial=0))
    for run in chunks:
        rows = [order.setdefault(query, len(order)) for query in run.query_ids]
        common = np.array(sorted(row for row in rows if row < len(missing)), np.int64)
        missing[common] = False
        yield (RankingCache if len(common) else _UnjudgedQueries)(_select(qrels, common), run, max_label=max_label)
    if missing.all():
        raise no_common_query_error(qrels, name, list(order)[len(missing) :])
    if missing.any():
        yield _MissingQueries(_select(qrels, np.flatnonzero(missing)), max_label)


class _UnjudgedQueries(RankingCache):
    """Unjudged queries of the run; they count under some conventions."""

    def for_convention(self, convention: Convention) -> Ranking:
        """Return the ranking under a convention."""
        if convention.query_selection == "run":
            return super().for_convention(convention)
        return super().for_convention(convention.replace(query_selection="run")).select(np.empty(0, np.int64))


class _MissingQueries(RankingCache):
    """Judged queries that are missing from the run, with empty lists; they count under some conventions."""

    def __init__(self, qrels: Qrels, max_label: int) -> None:
        offsets = np.zeros(len(qrels.query_ids) + 1, np.int64)
        super().__init__(qrels, Run(qrels.query_ids, offsets, StringColumn.of(()), np.empty(0)), False, max_label)

    def for_convention(self, convention: Convention) -> Ranking:
        """Return the ranking under a convention."""
        ranking = super().for_convention(convention)
        return ranking.select(np.empty(0, np.int64)) if convention.query_selection in ("both", "run") else ranking


def _select(qrels: Qrels, queries: NDArray[np.int64]) -> Qrels:
    rows = rows_of_queries(qrels.offsets, queries)
    offsets = np.concatenate(([0], np.cumsum(np.diff(qrels.offsets)[queries]))).astype(np.int64)
    ids = tuple(qrels.query_ids[query] for query in queries)
    return replace(
        qrels, query_ids=ids, offsets=offsets, document_ids=qrels.document_ids.take(rows), labels=qrels.labels[rows]
    )


def evaluate_in_parts(
    qrels: str | os.PathLike[str],
    systems: Mapping[str, Any],
    measures: Sequence[str],
    tools: Sequence[Tool],
    overrides: Mapping[str, Any],
    ties_range: bool,
    executor: Any,
) -> tuple[list[Evaluation], dict[str, str]]:
    """Evaluate each system in parts: folders of scored partitions, or files that are read in chunks.

    Tools that need the documents of all queries at once, or cannot evaluate the data, are left out, unless all do.
    """
    left_out = {tool.name: NEEDS_ALL_QUERIES for tool in tools if needs_all_queries(measures, (tool, overrides))}
    if len(left_out) == len(tools):
        left_out = {}
    tools = [tool for tool in tools if tool.name not in left_out]
    evaluate = partial(_evaluate_systems, qrels, systems, measures, overrides, ties_range, executor)
    try:
        return [e for system in evaluate(tools) for e in system], left_out
    except ConventionError:
        if len(tools) == 1:
            raise
    # A tool cannot evaluate these data: each tool reads them alone.
    results, refused = run_tools(tools, lambda tool: evaluate([tool]), leave_out=True)
    return [e for system in zip(*results.values(), strict=True) for (e,) in system], left_out | refused


def _evaluate_systems(
    qrels: str | os.PathLike[str],
    systems: Mapping[str, Any],
    measures: Sequence[str],
    overrides: Mapping[str, Any],
    ties_range: bool,
    executor: Any,
    tools: Sequence[Tool],
) -> list[list[Evaluation]]:
    """Return the evaluations of each system, one per tool."""
    requests: list[Request] = [(tool, overrides) for tool in tools]
    if ties_range:
        requests += [(tool, {**overrides, "ties": bound}) for tool in tools for bound in ("worst", "best")]
    evaluations: list[list[Evaluation]] = []
    for results in _evaluate_each(qrels, systems, measures, requests, executor):
        evaluations.append([])
        for i, evaluation in enumerate(results[: len(tools)]):
            start = len(tools) + 2 * i
            worst, best = (bound.mean for bound in results[start : start + 2]) if ties_range else ({}, {})
            ties = {measure: (worst[measure], best[measure]) for measure in worst} if ties_range else None
            evaluations[-1].append(replace(evaluation, ties=ties))
    return evaluations


def _evaluate_each(
    qrels: str | os.PathLike[str],
    systems: Mapping[str, Any],
    measures: Sequence[str],
    requests: Sequence[Request],
    executor: Any,
) -> Iterator[list[Evaluation]]:
    """Yield the evaluations of each system, one per request."""
    if is_partitions(qrels) and all(is_partitions(system) for system in systems.values()):
        folders = dict(systems) if qrels in systems.values() else {Path(qrels).name: qrels, **systems}
        for name, folder in folders.items():  # with labels and scores
            yield evaluate_partitions(folder, measures, requests, executor, name)
        return
    if executor is not None:
        raise DataError("an executor evaluates folders of scored partitions, as `pippin rank MODEL DATA -o OUT` writes")
    if qrels in systems.values():
        raise DataError("the file has labels only; name a run or a file of scores", qrels)
    for name, path in systems.items():
        yield evaluate_stream(qrels, path, measures, requests, name)


def evaluate_partitions(
    folder: str | os.PathLike[str],
    measures: Sequence[str],
    requests: Sequence[Request],
    executor: Any = None,
    name: str | None = None,
) -> list[Evaluation]:
    """Evaluate all partitions of a folder under every request, with the same bits as a single file.

    `executor` has `map(function, items)`; without it, partitions are evaluated one after the other.
    """
    partitions = check_partitions(folder)
    plain = [(tool, dict(overrides)) for tool, overrides in requests]
    evaluate_partition = partial(
        _evaluate_partition, str(partitions.folder.resolve()), tuple(measures), plain, name or partitions.name
    )
    results = (map if executor is None else executor.map)(evaluate_partition, partitions.parts)
    return [join(same) for same in zip(*results, strict=True)]


def _evaluate_partition(
    folder: str, measures: Sequence[str], requests: Sequence[Request], name: str, part: Partition
) -> list[Evaluation]:
    partitions = open_partitions(folder)
    rankings = RankingCache(partitions.read(part), partitions.read_scores(part), max_label=max(0, partitions.labels[1]))
    return evaluate_part(rankings, measures, requests, name)
