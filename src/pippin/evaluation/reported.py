"""Is a reported number the one that its tool gives? What others wrote down, computed again and reconciled.

MTEB keeps results as JSON: a task with scores by split and subset, under its own names of measures. Elasticsearch's
`_rank_eval` answers with a score of the metric, of each request and of all. Each number is computed again from the
judgements and the run as its tool would, and where it differs, it is looked for under the other tools.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.errors import DataError, PippinError
from pippin.evaluation.evaluate import Rankings, evaluate_rankings
from pippin.evaluation.tools import TOOLS, Tool

_CLOSE = 6e-6  # MTEB rounds to five decimals
_NAMED = 5  # tools that a sentence names


@dataclass(frozen=True)
class Reported:
    """A number that someone reported, the same computed again, and the tools that give it."""

    name: str
    reported: float
    recomputed: float
    tools: tuple[str, ...]  # other tools whose number it is, where it is not that of the tool

    @property
    def same(self) -> bool:
        """Whether the tool gives it."""
        return abs(self.reported - self.recomputed) <= _CLOSE

    def sentence(self) -> str:
        """The verdict in plain words."""
        head = f"{self.name}: reported {self.reported:.5f}, recomputed {self.recomputed:.5f}"
        if self.same:
            return f"{head}: the same."
        if not self.tools:
            return f"{head}: not the same."
        named, more = ", ".join(self.tools[:_NAMED]), len(self.tools) - _NAMED
        return f"{head}: not the same; it is what {named}{f' and {more} more' if more > 0 else ''} would give."


def recomputed(rankings: Rankings, numbers: Mapping[str, float], tool: Tool) -> list[Reported]:
    """Every reported number that the tool has a measure for, computed again."""
    found = []
    for name, value in numbers.items():
        try:
            again = evaluate_rankings(rankings, [name], tool, {}, "").mean[name]
        except PippinError:
            continue
        others = () if abs(value - again) <= _CLOSE else tuple(_givers(rankings, tool.measure(name).text, value, tool))
        found.append(Reported(name, value, again, others))
    if not found:
        raise DataError(
            f"none of the reported numbers is a measure of {tool.name}: {', '.join(numbers) or 'there is none'}"
        )
    return found


def _givers(rankings: Rankings, measure: str, value: float, but: Tool) -> Iterator[str]:
    for tool in sorted(TOOLS.values(), key=lambda one: one.group != but.group):  # its own kin first
        if tool is but:
            continue
        try:
            if abs(evaluate_rankings(rankings, [measure], tool, {}, "").mean[measure] - value) <= _CLOSE:
                yield tool.name
        except PippinError:
            continue


def read_reported(path: str | os.PathLike[str]) -> dict[str, float]:
    """Numbers by name: of an MTEB results file or folder, of an answer of `_rank_eval`, or a plain dict."""
    place = Path(path)
    if place.is_dir():
        files = [
            one
            for one in sorted(place.rglob("*.json"))
            if "prediction" not in one.name and one.name != "model_meta.json"
        ]
        if len(files) != 1:
            raise DataError(f"{len(files)} results stand in this folder; name the file of one task", os.fspath(path))
        place = files[0]
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"no JSON can be read here: {error}", os.fspath(place)) from None
    if not isinstance(found, dict):
        raise DataError("reported numbers are a dict of names to numbers", os.fspath(place))
    if isinstance(found.get("scores"), dict):
        splits = [subset for subsets in found["scores"].values() for subset in subsets]
        if len(splits) != 1:
            raise DataError(
                f"{len(splits)} splits and subsets are reported here, and one is compared", os.fspath(place)
            )
        found = splits[0]
    numbers = {name: float(value) for name, value in found.items() if isinstance(value, (int, float))}
    return {name: value for name, value in numbers.items() if name != "main_score"}


def report_of(judged: Any, scored: Any, path: str | os.PathLike[str], tool: str = "mteb") -> list[Reported]:
    """The numbers of a file or folder of results, computed again from judgements and a run.

    judged, scored  as in `pippin.evaluate`
    path            an MTEB results file or folder, or JSON of names to numbers
    tool            whose numbers they are said to be
    """
    from pippin.evaluation.evaluate import read_rankings

    rankings, _ = read_rankings(judged, scored)
    return recomputed(rankings, read_reported(path), TOOLS[tool])
