"""Evaluate rankings as a tool would: the function `pippin.evaluate`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack, overload

from pippin.data.dataset import Dataset
from pippin.data.inputs import (
    align_rows,
    coerce_graded,
    coerce_judgements,
    coerce_scores,
    is_predictor,
    may_hold_scores,
    run_tag,
)
from pippin.data.qrels import Qrels, Run
from pippin.data.read import detect_text_format
from pippin.data.streaming import LazyRun
from pippin.errors import ConventionError, DataError, PippinError, PippinWarning
from pippin.evaluation.convention import Axes, check_axes
from pippin.evaluation.evaluation import (
    Evaluation,
    Evaluations,
    RankingCache,
    SystemEvaluations,
    evaluate_rankings,
    ties_range,
)
from pippin.evaluation.measures.notation import parse, texts_of
from pippin.evaluation.rank import order_key
from pippin.evaluation.tools import (
    TOOLS,
    Tool,
    ToolSelection,
    is_single_tool,
    resolve_tools,
    run_tools,
)

# Several systems: files or runs, by name or in a list.
Systems = list[str] | list[Path] | list[Run] | Mapping[str, str | os.PathLike[str] | Run]


def check_measures(measures: Sequence[str], tools: Sequence[Tool] = ()) -> None:
    """Raise one error that names every unknown measure; a tool's own names are understood under it."""
    wrong: dict[str, None] = {}
    for text in measures:
        for parse_measure in [tool.measure for tool in tools] or [parse]:
            try:
                parse_measure(text)
            except PippinError as error:
                wrong[str(error)] = None
    if wrong:
        raise ConventionError("; ".join(wrong))


def default_tool(qrels: Any) -> Tool:
    """Return the tool of an evaluation that names none: trec_eval 9 for qrels, the definition for data sets.

    `qrels` are loaded judgements, or the path of a file or folder.
    """
    if isinstance(qrels, (str, os.PathLike)):
        is_qrels = Path(qrels).is_file() and detect_text_format(qrels) == "qrels"
    else:
        is_qrels = isinstance(qrels, Qrels)
    return TOOLS["trec_eval9" if is_qrels else "official"]


def name_systems(systems: Mapping[str, Any] | Sequence[Any], *, by_tag: bool = False) -> dict[str, Any]:
    """Return systems by name: their own name, that of their file (with its folder if two are equal), or a number.

    With `by_tag`, TREC runs are named by their tags if all names differ then.

    >>> list(name_systems(["a/run.txt", "b/run.txt"])), list(name_systems(["a/x.txt", "b/y.txt"]))
    (['a/run.txt', 'b/run.txt'], ['x.txt', 'y.txt'])
    >>> list(name_systems([[1.0], [2.0]]))
    ['1', '2']
    """
    if isinstance(systems, Mapping):
        return {str(name): system for name, system in systems.items()}
    paths = [os.fspath(s) if isinstance(s, (str, os.PathLike)) else None for s in systems]
    files = [
        str(getattr(system, "name", None) or number) if path is None else Path(path).name
        for number, (path, system) in enumerate(zip(paths, systems, strict=True), 1)
    ]
    names = files
    if by_tag:
        names = [name if path is None else run_tag(path) or name for name, path in zip(files, paths, strict=True)]
    if len(set(names)) != len(names):
        names = files
    if len(set(names)) != len(names):
        names = [name if path is None else path for name, path in zip(names, paths, strict=True)]
    if paths.count("-") > 1:
        raise DataError("only one file can be read from standard input")
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise DataError(f"two systems have the same name, {repeated[0]}; name them with a dict")
    return dict(zip(names, systems, strict=True))


def read_rankings(
    qrels: Any,
    run: Any,
    *,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    lazy: bool = True,
) -> tuple[RankingCache, str]:
    """Return the rankings of judgements and a run of any type, and the name of the run.

    With `lazy`, a large run file is ranked while it is parsed; a second order of its documents parses it again.
    """
    data = coerce_judgements(qrels, qid=qid, group=group, merge_queries=merge_queries)
    loaded = coerce_scores(run, data, merge_queries=merge_queries, allow_infinite=allow_infinite, lazy=lazy)
    name = loaded.name if isinstance(loaded, (Run, LazyRun)) else getattr(run, "name", None) or "scores"
    return RankingCache(data, loaded, allow_infinite), str(name)


def _holds_systems(qrels: Any, run: Any) -> bool:
    """Return whether `run` holds several systems: a list of files or runs, or a dict of them by name."""
    values = list(run.values()) if isinstance(run, Mapping) else run
    if not isinstance(values, (list, tuple)) or not values:
        return False
    # Beside a list of expected documents, a list of strings is one retrieved list, not a list of files.
    systems = (os.PathLike, Run) if isinstance(qrels, (list, tuple)) else (str, os.PathLike, Run)
    return all(isinstance(value, systems) or is_predictor(value) for value in values)


def _sorts_once(measures: Sequence[str], tools: Sequence[Tool], axes: Mapping[str, Any], ties_range: bool) -> bool:
    """Return whether all tools agree on the order of documents for all measures."""
    try:
        conventions = [tool.convention_for(tool.measure(text), **axes) for tool in tools for text in measures]
    except ConventionError:
        return False  # reported, or the tool is left out, when it evaluates
    return not ties_range and len({order_key(convention) for convention in conventions}) == 1


class EvaluateOptions(Axes, total=False):
    """Keyword arguments of `evaluate`, for type checkers."""

    y: str | None
    score: str | None
    qid: Any
    group: Any
    merge_queries: bool
    allow_infinite: bool
    ties_range: bool
    stream: bool
    executor: Any


@overload
def evaluate(
    qrels: Dataset | Qrels | str | os.PathLike[str], run: Systems, measure: Any = ...,
    tool: str | Tool | ToolSelection | None = ..., **options: Unpack[EvaluateOptions],
) -> SystemEvaluations: ...  # fmt: skip
@overload
def evaluate(
    qrels: Any, run: Any, measure: Any, tool: ToolSelection, **options: Unpack[EvaluateOptions]
) -> Evaluations: ...
@overload
def evaluate(
    qrels: Any, run: Any = ..., measure: Any = ..., *, tool: ToolSelection, **options: Unpack[EvaluateOptions]
) -> Evaluations: ...
@overload
def evaluate(
    qrels: Any, run: Any = ..., measure: Any = ..., tool: str | Tool | None = ..., **options: Unpack[EvaluateOptions]
) -> Evaluation: ...
def evaluate(
    qrels: Any,
    run: Any = None,
    measure: Any = "NDCG@10",
    tool: str | Tool | ToolSelection | None = None,
    *,
    y: str | None = None,
    score: str | None = None,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    ties_range: bool = False,
    stream: bool = False,
    executor: Any = None,
    **axes: Unpack[Axes],
) -> Evaluation | Evaluations | SystemEvaluations:
    """Evaluate scores or runs against judgements as one or several tools would.

    Parameters
    ----------
    qrels : Qrels, Dataset, dict, frame, path or array of labels
        The judgements. An array of labels of shape (n_documents,) needs `qid` or `group`. Also accepted: `Qrels` of
        ranx, records of ir_measures and ir_datasets, lists of expected ids by query (LlamaIndex, Haystack), requests
        of `_rank_eval`, and frames of users, items and ratings.
    run : Run, array of scores, dict, frame, path, or a list or dict of these, optional
        A run, a model with a method `predict`, or one score per row of `qrels`, of shape (n_documents,). Also accepted:
        `Run` of ranx, lists in rank order, and answers of `_rank_eval`. A list of files, runs or models, or a dict of
        them by name, evaluates several systems. Without it, `qrels` must hold the scores, too.
    measure : str, Measure or list, default "NDCG@10"
        Measures in any notation (see :data:`pippin.measures`), or measures of ir_measures.
    tool : str, Tool or list, optional
        Names from :data:`pippin.tools`, names of groups, or "all"; by default ``"trec_eval9"`` for qrels and
        ``"official"`` for data sets and labels. Of several tools, those that cannot evaluate these data are left out;
        the attribute `left_out` of the result has the reasons.
    y, score : str, optional
        Columns of labels and scores, if `qrels` is a frame with one row per document.
    qid : array of shape (n_documents,) or str, optional
        The query of each row, in any order; or its column, if `qrels` is a frame.
    group : array of shape (n_queries,), optional
        Number of documents of each query, as LightGBM takes it; an alternative to `qid`.
    merge_queries : bool, default False
        Join a query whose rows are not adjacent instead of raising an error.
    allow_infinite : bool, default False
        Rank infinite scores; NaN is always an error.
    ties_range : bool, default False
        Also compute the worst and the best mean over all orders of tied documents.
    stream : bool, default False
        Read files in chunks of whole queries: for files larger than memory, grouped by query.
    executor : object with a ``map`` method, optional
        Evaluate folders of partitions on the workers of a cluster.
    **axes
        Axes of the convention that replace the tool's, such as ``relevance_threshold=2`` or ``ties="worst"``; see
        :class:`Convention`.

    Returns
    -------
    Evaluation, Evaluations or SystemEvaluations
        One tool gives an `Evaluation`, several tools give `Evaluations` by tool, and several systems give
        `SystemEvaluations` by system.

    Raises
    ------
    DataError
        If a file or an array is invalid; the error names the file and the line.
    ConventionError
        If the tool, or all tools, cannot evaluate these data, or an axis has an invalid value.
    UnknownName
        If a measure, tool or axis does not exist; the message suggests the nearest name.

    Warns
    -----
    PippinWarning
        If no retrieved document is judged.

    Examples
    --------
    >>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
    >>> run = {"q1": {"d1": 0.5, "d2": 0.7}, "q2": {"d3": 1.0}}
    >>> evaluate(qrels, run, ["RR", "NDCG@10"], tool="trec_eval9").mean["RR"]
    0.75
    >>> labels, scores, qid = [0, 1, 2, 0], [0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2]
    >>> evaluate(labels, scores, "RR", tool=["letor4", "yahoo"], qid=qid).mean
    {'letor4': {'RR': 0.75}, 'yahoo': {'RR': 0.75}}
    >>> frame = {"query_id": [1, 2, 1, 2], "label": [0, 2, 1, 0], "bm25": [0.4, 0.2, 0.3, 0.1]}
    >>> evaluate(frame, measure="RR", y="label", score="bm25", qid="query_id").mean
    {'RR': 0.75}
    """
    check_axes(axes, evaluate)
    measures = texts_of(measure)
    tools = [] if tool is None else resolve_tools(tool)
    check_measures(measures, tools)
    qrels, run, qid = align_rows(qrels, run, qid, y, score)
    has_systems = _holds_systems(qrels, run)
    if isinstance(qrels, str) and qrels == "-" and isinstance(run, (str, list, tuple)) and "-" in run:
        raise DataError("only one file can be read from standard input")
    if stream or executor is not None:
        if merge_queries:
            raise ConventionError("merge_queries needs the whole file in memory; sort it by query instead")
        if allow_infinite:
            raise ConventionError("allow_infinite needs the whole file in memory; leave stream and executor out")
        from pippin.evaluation.streaming import evaluate_in_parts

        systems = name_systems(run if has_systems else [qrels if run is None else run])
        tools = tools or [default_tool(qrels)]
        evaluations, left_out = evaluate_in_parts(qrels, systems, measures, tools, axes, ties_range, executor)
    else:
        systems = name_systems(run) if has_systems else {"": qrels if run is None else run}
        is_path = isinstance(qrels, (str, os.PathLike))
        holds_scores = any(isinstance(s, (str, os.PathLike)) and s == qrels for s in systems.values())
        if is_path and holds_scores and not may_hold_scores(os.fspath(qrels)):
            raise DataError("the file has labels only; name a run or a file of scores", qrels)
        data, label_values = coerce_graded(qrels, qid=qid, group=group, merge_queries=merge_queries)
        tools = tools or [default_tool(data)]
        lazy = _sorts_once(measures, tools, axes, ties_range)
        evaluations, left_out = [], {}
        for name, system in systems.items():
            rankings, own_name = read_rankings(
                data, system, merge_queries=merge_queries, allow_infinite=allow_infinite, lazy=lazy
            )
            rankings.label_values = label_values
            evaluate_tool = partial(_evaluate_tool, rankings, measures, axes, name or own_name, ties_range)
            results, skipped = run_tools(tools, evaluate_tool, leave_out=len(tools) > 1)
            evaluations += results.values()
            left_out |= skipped
            if rankings.has_no_judged_document(evaluations[-1].columns[0].convention):
                warnings.warn(
                    f"{name or own_name}: no retrieved document is judged; check that both files use the same document "
                    "ids",
                    PippinWarning,
                    stacklevel=2,
                )
    if tool is None:
        evaluations = [replace(evaluation, is_default_tool=True) for evaluation in evaluations]
    if has_systems:
        return SystemEvaluations(evaluations, left_out)
    if tool is None or is_single_tool(tool):
        return evaluations[0]
    return Evaluations({e.tool.name: e for e in evaluations}, left_out)


def _evaluate_tool(
    rankings: RankingCache, measures: Sequence[str], axes: Mapping[str, Any], name: str, with_ties: bool, tool: Tool
) -> Evaluation:
    evaluation = evaluate_rankings(rankings, measures, tool, axes, name)
    return replace(evaluation, ties=ties_range(rankings, measures, tool, axes)) if with_ties else evaluation
