"""Is a reported number the one that its tool gives? What others wrote down, computed again and reconciled.

MTEB keeps results as JSON: a task with scores by split and subset, under its own names of measures, and predictions by
subset and split. Elasticsearch's `_rank_eval` answers with a score of the metric, of each request and of all. Each
number is computed again from the judgements and the run as its tool would, and where it differs, it is looked for under
the other tools.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.data.foreign_lists import nested_parts
from pippin.errors import DataError, PippinError
from pippin.evaluation.evaluate import Rankings, evaluate_rankings, read_rankings
from pippin.evaluation.tools import TOOLS, Tool

_CLOSE = 6e-6  # MTEB rounds to five decimals
_NAMED = 5  # tools that a sentence names
Numbers = dict[str, float]
Place = tuple[str, ...]  # the split and the subset of which numbers are; without both, of all there is


@dataclass(frozen=True)
class Reported:
    """A number that someone reported, the same computed again, and the tools that give it."""

    name: str
    reported: float
    recomputed: float
    tools: tuple[str, ...]  # other tools whose number it is, where it is not that of the tool
    sought: bool = True  # whether other tools were asked

    @property
    def same(self) -> bool:
        """Whether the tool gives it."""
        return _same(self.reported, self.recomputed)

    def sentence(self) -> str:
        """The verdict in plain words."""
        head = f"{self.name}: reported {self.reported:.5f}, recomputed {self.recomputed:.5f}"
        if self.same:
            return f"{head}: the same."
        if not self.sought:
            return f"{head}: not the same."
        if not self.tools:
            return f"{head}: not the same, and what no other tool would give, either."
        named, more = ", ".join(self.tools[:_NAMED]), len(self.tools) - _NAMED
        return f"{head}: not the same; it is what {named}{f' and {more} more' if more > 0 else ''} would give."


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= _CLOSE or (math.isnan(a) and math.isnan(b))  # MTEB's nAUC has no value where all is found


def report_of(
    judged: Any, scored: Any, path: str | os.PathLike[str], tool: str | Tool | None = None, *,
    merge_queries: bool = False,
) -> list[Reported]:  # fmt: skip
    """The numbers of a file or folder of results, computed again from judgements and a run.

    judged, scored  as in `pippin.evaluate`; where MTEB's results have several splits or subsets, `scored` is the file
                    of its predictions, which has them, too
    path            an MTEB results file or folder, an answer of `_rank_eval`, or JSON of names to numbers
    tool            whose numbers they are said to be: by default `mteb`, or `elasticsearch` of an answer
    merge_queries   as in `pippin.evaluate`
    """
    found = _content(path)
    if "metric_score" in found:
        rankings, _ = read_rankings(_answered(judged, found), scored, merge_queries=merge_queries)
        return _answer(rankings, found, _metric(judged, found), _tool(tool or "elasticsearch"))
    parts = _parts(found, path)
    if len(parts) == 1:
        rankings, _ = read_rankings(judged, scored, merge_queries=merge_queries)
        return recomputed(rankings, next(iter(parts.values())), _tool(tool or "mteb"))
    reports = []
    for place, numbers in parts.items():
        own = [_of_part(held, place) for held in (judged, scored)]
        if own[1] is scored:
            raise DataError(
                f"{len(parts)} splits and subsets are reported here, and the run does not say which is its own; hand "
                "over MTEB's predictions, or the results of one",
                os.fspath(path),
            )
        rankings, _ = read_rankings(*own, merge_queries=merge_queries)
        prefix = ", ".join(place)
        reports += recomputed(rankings, numbers, _tool(tool or "mteb"), f"{prefix}: ")
    return reports


def recomputed(rankings: Rankings, numbers: Mapping[str, float], tool: Tool, prefix: str = "") -> list[Reported]:
    """Every reported number that the tool has a measure for, computed again."""
    found = []
    for name, value in numbers.items():
        try:
            again = evaluate_rankings(rankings, [name], tool, {}, "").mean[name]
        except PippinError:
            continue
        others = () if _same(value, again) else tuple(_givers(rankings, tool.measure(name).text, value, tool))
        found.append(Reported(prefix + name, value, again, others))
    if not found:
        raise DataError(
            f"none of the reported numbers is a measure of {tool.name}: {', '.join(numbers) or 'there is none'}"
        )
    return found


def _tool(tool: str | Tool) -> Tool:
    return TOOLS[tool] if isinstance(tool, str) else tool


def _givers(rankings: Rankings, measure: str, value: float, but: Tool) -> Iterator[str]:
    for tool in sorted(TOOLS.values(), key=lambda one: one.group != but.group):  # its own kin first
        if tool is but:
            continue
        try:
            if _same(evaluate_rankings(rankings, [measure], tool, {}, "").mean[measure], value):
                yield tool.name
        except PippinError:
            continue


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file of results holds, or the one of a folder."""
    place = Path(path)
    if place.is_dir():
        aside = ("prediction", "model_meta")
        files = [one for one in sorted(place.rglob("*.json")) if not any(word in one.name for word in aside)]
        if len(files) != 1:
            raise DataError(f"{len(files)} results stand in this folder; name the file of one task", os.fspath(path))
        place = files[0]
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"no JSON can be read here: {error}", os.fspath(place)) from None
    if not isinstance(found, dict):
        raise DataError("reported numbers are a dict of names to numbers", os.fspath(place))
    return found


def _parts(found: Mapping[str, Any], path: str | os.PathLike[str]) -> dict[Place, Numbers]:
    """Numbers by split and subset, as MTEB's results have them, or all there are."""
    if not isinstance(found.get("scores"), dict):
        return {(): _numbers(found)}
    parts: dict[Place, Numbers] = {}
    for split, subsets in found["scores"].items():
        if not isinstance(subsets, list) or not all(isinstance(subset, dict) for subset in subsets):
            raise DataError(f"the scores of split {split!r} are no list with a dict for each subset", os.fspath(path))
        for subset in subsets:
            parts[split, str(subset.get("hf_subset", "default"))] = _numbers(subset)
    if not parts:
        raise DataError("no split is reported here", os.fspath(path))
    return parts


def _numbers(found: Mapping[str, Any]) -> Numbers:
    return {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "main_score"
    }


def _of_part(held: Any, place: Place) -> Any:
    """What belongs to a split and a subset of what has several, whichever of them is named first; else all of it."""
    parts = nested_parts(held)
    if len(parts) < 2:
        return held
    for names, part in parts.items():
        if set(names) == set(place):
            return part
    raise DataError(f"there is no {', '.join(place)} among {'; '.join(', '.join(names) for names in parts)}")


def _as_dict(held: Any) -> Mapping[str, Any]:
    """What is held as a dict, or a file of it; empty where it is neither."""
    if isinstance(held, (str, os.PathLike)) and os.fspath(held).endswith(".json"):
        return _content(held)
    return held if isinstance(held, Mapping) else {}


def _answered(judged: Any, answer: Mapping[str, Any]) -> Any:
    """The judgements without requests that failed, which count in no mean."""
    requests = _as_dict(judged).get("requests")
    if not answer.get("failures") or not isinstance(requests, list):
        return judged
    return {"requests": [one for one in requests if one.get("id") in answer["details"]]}


def _metric(judged: Any, answer: Mapping[str, Any]) -> str:
    """Our notation of the metric that a request asks for, or of the one whose details the answer has."""
    asked = _as_dict(judged).get("metric")
    if not asked:
        details: list[dict[str, Any]] = list(answer.get("details", {}).values())
        told = details[0].get("metric_details", {}) if details else {}
        asked = {name: {"normalize": "normalized_dcg" in one} for name, one in told.items()}
    if len(asked) != 1:
        raise DataError("which metric was asked for stands neither in the request nor in the details of the answer")
    ((name, options),) = asked.items()
    if name not in _METRICS:
        raise DataError(f"{name} is no metric of _rank_eval: {', '.join(_METRICS)}")
    kind = "NDCG" if name == "dcg" and options.get("normalize") else _METRICS[name]
    axes = [f"{axis}={int(options[key])}" for key, axis in _OPTIONS.items() if options.get(key) is not None]
    axes += ["unjudged=drop"] if options.get("ignore_unlabeled") else []
    return f"{kind}({','.join(axes)})@{options.get('k', 10)}" if axes else f"{kind}@{options.get('k', 10)}"


_METRICS = {
    "dcg": "DCG", "precision": "P", "recall": "Recall", "mean_reciprocal_rank": "RR", "expected_reciprocal_rank": "ERR",
}  # fmt: skip
_OPTIONS = {
    "relevant_rating_threshold": "relevant_at",
    "unknown_doc_rating": "unjudged",
    "maximum_relevance": "err_top",
}


def _answer(rankings: Rankings, answer: Mapping[str, Any], measure: str, tool: Tool) -> list[Reported]:
    """The scores of an answer, of all requests and of each, computed again."""
    found = evaluate_rankings(rankings, [measure], tool, {}, "")
    mean, score = found.mean[measure], float(answer["metric_score"])
    others = () if _same(score, mean) else tuple(_givers(rankings, tool.measure(measure).text, score, tool))
    reports = [Reported(f"metric_score ({measure})", score, mean, others)]
    for query, detail in answer.get("details", {}).items():
        if (value := found.per_query[measure].get(query)) is not None and "metric_score" in detail:
            reports.append(Reported(f"metric_score of {query}", float(detail["metric_score"]), value, (), sought=False))
    return reports
