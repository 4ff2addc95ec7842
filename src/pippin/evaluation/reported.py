"""Recompute reported values, and find the tool and the choices that give a reported number.

A single number, such as 0.4418 in a paper, is searched for under all tools and under conventions that differ from a
tool in one choice. MTEB stores results as JSON: scores by split and subset under its own measure names, and predictions
by subset and split. Elasticsearch's `_rank_eval` returns a score per request and over all. Each value is recomputed
from the qrels and the run; a value that differs is searched for under the other tools.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from pippin.data.adapters import load_json, nested_parts
from pippin.errors import DataError, PippinError
from pippin.evaluation.convention import AXES, Convention, changes_text
from pippin.evaluation.evaluate import read_rankings
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.measures.notation import texts_of
from pippin.evaluation.tools import TOOLS, Tool, names_only_groups, resolve_tools, tools_in_group

MIN_TOLERANCE = 6e-6  # MTEB rounds to five decimals
MAX_NAMED = 5  # tools in a sentence
MAX_NEAREST = 5  # values in the answer if none matches
Numbers = dict[str, float]
Part = tuple[str, ...]  # split and subset of reported numbers; empty for all data


@dataclass(frozen=True)
class ReportedValue:
    """A reported number, the recomputed one, and the tools that give the reported one.

    Attributes
    ----------
    name : str
        Name of the measure.
    reported, recomputed : float
        The two numbers.
    tools : tuple of str
        Other tools that give the reported number, if the tool does not.
    searched : bool
        Whether other tools were searched.
    tolerance : float
        Half a unit of the last digit that was reported.
    note : str
        The tool and the choices that give the recomputed number, if a number was searched for.
    """

    name: str
    reported: float
    recomputed: float
    tools: tuple[str, ...]
    searched: bool = True
    tolerance: float = MIN_TOLERANCE
    note: str = ""

    @property
    def same(self) -> bool:
        """Whether the recomputed number rounds to the reported one."""
        return _same(self.reported, self.recomputed, self.tolerance)

    def sentence(self) -> str:
        """Return the result in one sentence."""
        if self.note:
            return f"{self.name}: {self.recomputed:.6f} under {self.note}{'' if self.same else ' (no match)'}."
        head = f"{self.name}: reported {self.reported:.5f}, recomputed {self.recomputed:.5f}"
        if self.same:
            return f"{head}: the same."
        if not self.searched:
            return f"{head}: not the same."
        if not self.tools:
            return f"{head}: not the same; no other tool gives it, either."
        tools, more = ", ".join(self.tools[:MAX_NAMED]), len(self.tools) - MAX_NAMED
        return f"{head}: not the same; it is the value of {tools}{f' and {more} more' if more > 0 else ''}."


def _same(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * (1 + 1e-9) or (math.isnan(a) and math.isnan(b))


def _half_unit(text: str) -> float:
    """Return half a unit of the last digit of a number.

    >>> _half_unit("0.4418"), _half_unit("44.2"), _half_unit("1e-3")
    (5e-05, 0.05, 0.0005)
    """
    exponent = Decimal(text).as_tuple().exponent
    return 0.5 * 10.0 ** (exponent if isinstance(exponent, int) else 0)


def check_reported(
    qrels: Any, run: Any, reported: float | str | os.PathLike[str], tool: str | Tool | Sequence[str] | None = None, *,
    measure: Any = "NDCG@10", merge_queries: bool = False,
) -> list[ReportedValue]:  # fmt: skip
    """Recompute reported values from judgements and a run, or find out which tool gives a reported number.

    Parameters
    ----------
    qrels, run
        As in `evaluate`. Where MTEB's results have several splits or subsets, `run` is its file of predictions.
    reported : number, str or path
        A number such as ``"0.4418"``, whose digits are the tolerance; or an MTEB results file or folder, a response of
        `_rank_eval`, or a JSON file of names and numbers.
    tool : str, Tool or list, optional
        The tools to search for a number, by default all; for a file, the tool that made it, by default
        `mteb`, or `elasticsearch` for a response.
    measure : str or list, default "NDCG@10"
        The measure of a reported number; a list is searched measure by measure.
    merge_queries : bool, default False
        As in `evaluate`.

    Returns
    -------
    list of ReportedValue
        For a number: every match, tools before conventions that differ in one choice from a tool without a match,
        nearest first; if nothing matches, the nearest values. For a file: each reported value with the recomputed one,
        and the tools that give it.

    Examples
    --------
    >>> qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.6}}
    >>> for match in check_reported(qrels, run, "0.63", ["official", "lightgbm"])[:2]:
    ...     print(match.sentence())
    NDCG@10: 0.630930 under official.
    NDCG@10: 0.630930 under lightgbm.
    """
    tools = None if tool is None else resolve_tools(tool if isinstance(tool, (str, Tool)) else tuple(tool))
    number = _as_number(reported)
    if number is None:
        if tools is not None and len(tools) != 1:
            if tool is not None and not names_only_groups(tool if isinstance(tool, (str, Tool)) else tuple(tool)):
                raise DataError(f"reported values belong to one tool, not to {len(tools)}")
            tools = None
        return _check_file(qrels, run, str(os.fspath(reported)), tools[0] if tools else None, merge_queries)  # type: ignore[arg-type]
    rankings, _ = read_rankings(qrels, _single_run(qrels, run), merge_queries=merge_queries)
    matches = []
    for text in texts_of(measure):
        matches += _search(
            rankings, text, float(number), _half_unit(number), TOOLS.values() if tools is None else tools
        )
    return matches


def _as_number(reported: float | str | os.PathLike[str]) -> str | None:
    """Return the text of a number; None for a path."""
    if isinstance(reported, os.PathLike) or (isinstance(reported, str) and Path(reported).exists()):
        return None
    try:
        is_number = Decimal(str(reported)).is_finite()
    except InvalidOperation:
        is_number = False
    if not is_number:
        raise DataError(f"the reported value must be a finite number or a file, got {str(reported)!r}")
    return str(reported)


def _single_run(qrels: Any, run: Any) -> Any:
    if isinstance(run, (list, tuple)):
        if len(run) != 1:
            raise DataError(f"reported values belong to one scored file, not to {len(run)}")
        run = run[0]
    if qrels is None:
        raise DataError("reported values need judgements and a scored file")
    return run


def _search(
    rankings: RankingCache, text: str, value: float, tolerance: float, tools: Sequence[Tool]
) -> list[ReportedValue]:
    """Return the tools, then the conventions with one other choice, that give a value; nearest first.

    A tool that gives the value needs no other choice, so its neighbours are not searched.
    """
    computed: dict[Convention, float | None] = {}  # every convention is evaluated once
    candidates: list[tuple[bool, float, ReportedValue]] = []

    def add(tool: Tool, changes: Mapping[str, Any]) -> None:
        try:
            convention = tool.convention_for(tool.measure(text), **changes)
            if changes and convention in computed:
                return
            if convention not in computed:
                computed[convention] = evaluate_rankings(rankings, [text], tool, changes, "").columns[0].mean
        except PippinError:
            return
        mean = computed[convention]
        if mean is not None and math.isfinite(mean):
            note = tool.name + (f" with {changes_text(changes)}" if changes else "")
            result = ReportedValue(text, value, mean, (), tolerance=tolerance, note=note)
            # Tools that differ far behind the reported digits stay in the order of the registry.
            candidates.append((bool(changes), round(abs(mean - value) / tolerance, 2), result))

    for tool in tools:
        add(tool, {})
    matching = {result.note for _, _, result in candidates if result.same}
    bases = [tool for tool in tools if tool.group == "classic"] or list(tools)
    for tool in bases:
        if tool.name in matching:
            continue
        for changes in _one_choice_away(tool, text):
            add(tool, changes)
    candidates.sort(key=lambda candidate: candidate[:2])
    matches = [result for _, _, result in candidates if result.same]
    if matches:
        return matches
    nearest = sorted(candidates, key=lambda candidate: candidate[1])[:MAX_NEAREST]
    return [result for _, _, result in nearest]


def _one_choice_away(tool: Tool, text: str) -> Iterator[dict[str, Any]]:
    """Yield the changes of one axis that some classic tool has and that can change the measure."""
    try:
        measure = tool.measure(text)
        convention = tool.convention_for(measure)
    except PippinError:
        return
    depends_on = MEASURE_DEFINITIONS[measure.kind].depends_on
    for name in AXES:
        if not depends_on(name) and name not in ("empty", "relevance_threshold"):
            continue
        choice = getattr(convention, name)
        values = dict.fromkeys(getattr(t.convention_for(measure), name) for t in tools_in_group("classic"))
        yield from ({name: value} for value in values if value != choice)


def _check_file(qrels: Any, run: Any, path: str, tool: Tool | None, merge_queries: bool) -> list[ReportedValue]:
    """Recompute the values of a results file."""
    run = _single_run(qrels, run)
    content = _content(path)
    if "metric_score" in content:
        rankings, _ = read_rankings(_without_failures(qrels, content), run, merge_queries=merge_queries)
        return _check_answer(rankings, content, _metric(qrels, content), _tool(tool or "elasticsearch"))
    parts = _parts(content, path)
    if len(parts) == 1:
        rankings, _ = read_rankings(qrels, run, merge_queries=merge_queries)
        return recompute(rankings, next(iter(parts.values())), _tool(tool or "mteb"))
    reports = []
    for part, numbers in parts.items():
        part_qrels, part_run = (_select_part(data, part) for data in (qrels, run))
        if part_run is run:
            raise DataError(
                f"{len(parts)} splits and subsets are reported, and the run does not say which is its own; pass MTEB's "
                "predictions, or the results of one split",
                os.fspath(path),
            )
        rankings, _ = read_rankings(part_qrels, part_run, merge_queries=merge_queries)
        prefix = ", ".join(part)
        reports += recompute(rankings, numbers, _tool(tool or "mteb"), f"{prefix}: ")
    return reports


def recompute(
    rankings: RankingCache, numbers: Mapping[str, float], tool: Tool, prefix: str = ""
) -> list[ReportedValue]:
    """Recompute every reported number that the tool has a measure for."""
    # The digits of the number with most of them are the precision of the file.
    digits = [_half_unit(repr(value)) for value in numbers.values() if math.isfinite(value)]
    tolerance = max(MIN_TOLERANCE, min(digits, default=0.0))
    results = []
    for name, value in numbers.items():
        try:
            again = evaluate_rankings(rankings, [name], tool, {}, "").mean[name]
        except PippinError:
            continue
        tools: tuple[str, ...] = ()
        if not _same(value, again, tolerance):
            tools = tuple(_matching_tools(rankings, tool.measure(name).text, value, tool, tolerance))
        results.append(ReportedValue(prefix + name, value, again, tools, tolerance=tolerance))
    if not results:
        raise DataError(
            f"none of the reported numbers is a measure of {tool.name}: {', '.join(numbers) or 'there is none'}"
        )
    return results


def _tool(tool: str | Tool) -> Tool:
    return TOOLS[tool] if isinstance(tool, str) else tool


def _matching_tools(
    rankings: RankingCache, measure: str, value: float, excluded: Tool, tolerance: float
) -> Iterator[str]:
    """Yield the tools that give a value, those of the same group first."""
    for tool in sorted(TOOLS.values(), key=lambda tool: tool.group != excluded.group):
        if tool is excluded:
            continue
        try:
            if _same(evaluate_rankings(rankings, [measure], tool, {}, "").mean[measure], value, tolerance):
                yield tool.name
        except PippinError:
            continue


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON of a results file, or of the only one in a folder."""
    file = Path(path)
    if file.is_dir():
        other_files = ("prediction", "model_meta")
        files = [f for f in sorted(file.rglob("*.json")) if not any(word in f.name for word in other_files)]
        if len(files) != 1:
            raise DataError(f"found {len(files)} results in the folder; name the file of one task", os.fspath(path))
        file = files[0]
    result = load_json(file)
    if not isinstance(result, dict):
        raise DataError("reported values must be a JSON object of names and numbers", os.fspath(file))
    return result


def _parts(content: Mapping[str, Any], path: str | os.PathLike[str]) -> dict[Part, Numbers]:
    """Return numbers by split and subset, as in MTEB's results; other files have a single part."""
    if not isinstance(content.get("scores"), dict):
        return {(): _numbers(content)}
    parts: dict[Part, Numbers] = {}
    for split, subsets in content["scores"].items():
        if not isinstance(subsets, list) or not all(isinstance(subset, dict) for subset in subsets):
            raise DataError(
                f"the scores of split {split!r} must be a list with an object for each subset", os.fspath(path)
            )
        for subset in subsets:
            parts[split, str(subset.get("hf_subset", "default"))] = _numbers(subset)
    if not parts:
        raise DataError("the file reports no split", os.fspath(path))
    return parts


def _numbers(content: Mapping[str, Any]) -> Numbers:
    return {
        name: float(value)
        for name, value in content.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "main_score"
    }


def _select_part(data: Any, part: Part) -> Any:
    """Return the data of a split and a subset, in either order of nesting; data with one part are returned as is."""
    parts = nested_parts(data)
    if len(parts) < 2:
        return data
    for names, selected in parts.items():
        if set(names) == set(part):
            return selected
    raise DataError(f"no part {', '.join(part)} among {'; '.join(', '.join(names) for names in parts)}")


def _as_dict(data: Any) -> Mapping[str, Any]:
    """Return a dict, the content of a JSON file, or an empty dict for other types."""
    if isinstance(data, (str, os.PathLike)) and os.fspath(data).endswith(".json"):
        return _content(data)
    return data if isinstance(data, Mapping) else {}


def _without_failures(qrels: Any, answer: Mapping[str, Any]) -> Any:
    """Return the judgements without failed requests, which no mean counts."""
    requests = _as_dict(qrels).get("requests")
    if not answer.get("failures") or not isinstance(requests, list):
        return qrels
    return {"requests": [request for request in requests if request.get("id") in answer["details"]]}


def _metric(qrels: Any, answer: Mapping[str, Any]) -> str:
    """Return the metric of the request, or of the details of the response, in Pippin's notation."""
    metric = _as_dict(qrels).get("metric")
    if not metric:
        details: list[dict[str, Any]] = list(answer.get("details", {}).values())
        by_name = details[0].get("metric_details", {}) if details else {}
        metric = {name: {"normalize": "normalized_dcg" in detail} for name, detail in by_name.items()}
    if len(metric) != 1:
        raise DataError("neither the request nor the details of the response name the metric")
    ((name, options),) = metric.items()
    if name not in _METRICS:
        raise DataError(f"unknown metric of _rank_eval {name}; use {', '.join(_METRICS)}")
    kind = "NDCG" if name == "dcg" and options.get("normalize") else _METRICS[name]
    axes = [f"{axis}={int(options[key])}" for key, axis in _OPTIONS.items() if options.get(key) is not None]
    axes += ["unjudged_documents=drop"] if options.get("ignore_unlabeled") else []
    return f"{kind}({','.join(axes)})@{options.get('k', 10)}" if axes else f"{kind}@{options.get('k', 10)}"


_METRICS = {
    "dcg": "DCG", "precision": "P", "recall": "Recall", "mean_reciprocal_rank": "RR", "expected_reciprocal_rank": "ERR",
}  # fmt: skip
_OPTIONS = {
    "relevant_rating_threshold": "relevance_threshold",
    "unknown_doc_rating": "unjudged_documents",
    "maximum_relevance": "err_max_grade",
}


def _check_answer(rankings: RankingCache, answer: Mapping[str, Any], measure: str, tool: Tool) -> list[ReportedValue]:
    """Recompute the scores of a response, over all requests and of each."""
    evaluation = evaluate_rankings(rankings, [measure], tool, {}, "")
    mean, score = evaluation.mean[measure], float(answer["metric_score"])
    tools: tuple[str, ...] = ()
    if not _same(score, mean, MIN_TOLERANCE):
        tools = tuple(_matching_tools(rankings, tool.measure(measure).text, score, tool, MIN_TOLERANCE))
    reports = [ReportedValue(f"metric_score ({measure})", score, mean, tools)]
    for query, detail in answer.get("details", {}).items():
        if (value := evaluation.per_query[measure].get(query)) is not None and "metric_score" in detail:
            reports.append(
                ReportedValue(f"metric_score of {query}", float(detail["metric_score"]), value, (), searched=False)
            )
    return reports
