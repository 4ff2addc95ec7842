"""How far one choice moves each measure under each tool, asked of the tools' conventions.

For an axis (what an empty query counts, what a short list counts, who comes first in a tie …) every tool's value is
looked up and the mean is computed twice: by the tool's convention, and by the same convention with `official`'s value
on that axis. No tool is named here: a tool that is registered tomorrow is covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError
from pippin.evaluation.audits.finding import Effect
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import Rankings, aggregate, measure_values
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.tools import OFFICIAL, Tool, named

Values = NDArray[np.float64]

# axis → what a tool with this value does, in words
SAYS: dict[str, Callable[[Any], str]] = {
    "empty": lambda v: "leaves them out of the mean" if v is None else f"counts {v:g} for each",
    "short": {"keep": "takes the list as it stands", "zero": "counts 0 for each"}.__getitem__,
    "short_precision": {"cutoff": "divides the hits by k", "list": "divides the hits by the length of the list",
                        "zero": "counts 0 for each"}.__getitem__,
    "top_label": lambda v: "counts every label" if v is None else f"counts labels above {v} as 0",
    "relevant_at": lambda v: f"takes labels from {v} on for relevant",
    "gain": lambda v: {"label": "gains the label itself", "exp2": "gains 2^label − 1",
                       "binary": "gains 1 for a relevant document", "share": "gains the label's share of the largest",
                       "exp2-from": "gains 2^label − 1 from gain_at on"}.get(v, "gains by a table"),
    "ties": {"input": "keeps the order of the file", "reversed": "reverses the order of the file",
             "id-descending": "puts the larger document id first", "id-ascending": "puts the smaller document id first",
             "expected": "takes the expectation over all orders", "best": "puts the higher label first",
             "worst": "puts the lower label first", "grouped": "lets tied documents share a place",
             "introsort": "leaves them as std::sort does",
             "introsort-by-label": "leaves them as std::sort does by label",
             "introsort-relevant-first": "leaves them as std::sort does, relevant ones before",
             "introsort-twice": "leaves them as std::sort does twice", "topk": "leaves them as topk does",
             "topk-of-all": "takes the first of all documents as topk does",
             "argsort": "leaves them as NumPy's argsort does",
             "argsort-relevant-first": "leaves them as NumPy's argsort does, relevant ones before",
             "argpartition-of-all": "leaves them as NumPy's argpartition does",
             "ipnsort": "leaves them as Rust's unstable sort does"}.__getitem__,
    "precision": {"float32": "rounds scores to single precision, so that they tie",
                  "float64": "keeps them apart"}.__getitem__,
    "ideal": {"list": "forgets them: the ideal is made from the list", "judged": "keeps them in the ideal"}.__getitem__,
    "ap_denominator": {"judged": "divides by all relevant documents", "list": "divides by those in the list",
                       "cutoff": "divides by min(relevant, k)", "found": "divides by those above the cutoff",
                       "shortest": "divides by min(relevant, k, length of the list)"}.__getitem__,
    "queries": {"both": "leaves them out of the mean", "judged": "counts 0 for each",
                "relevant": "counts 0 for those with a relevant document",
                "relevant-or-lost": "counts 0 for those with a relevant document, or for which nothing was retrieved",
                "run": "counts those of the run alone"}.__getitem__,
}  # fmt: skip


class Answer(NamedTuple):
    """What one tool does: whether that departs from `official`, in words, and by how much it moves the mean."""

    departs: bool
    words: str
    amount: float | None
    tool: str


class Effects:
    """Means of one pair of judged and scored data under many conventions, each computed once."""

    def __init__(self, rankings: Rankings, measures: Sequence[Measure], settled: bool) -> None:
        self.rankings, self.measures = rankings, measures
        self.settled = settled  # only equal labels tie, so that no rule for ties can matter
        self._means: dict[tuple[Measure, Convention], float] = {}

    def values(self, measure: Measure, convention: Convention) -> tuple[tuple[str, ...], Values]:
        """Query ids and values."""
        if self.settled:
            convention = convention.replace(ties="input", precision="float64")
        ranking = self.rankings.under(convention)
        return ranking.query_ids, measure_values(ranking, measure, convention)

    def mean(self, measure: Measure, convention: Convention) -> float:
        """The mean over the queries that count; raises where the convention refuses this data."""
        key = (measure, convention)
        if key not in self._means:
            _, values = self.values(measure, convention)
            self._means[key] = aggregate(values, KINDS[measure.kind].aggregate)
        return self._means[key]

    def attempt(self, measure: Measure, convention: Convention) -> float:
        """The mean, NaN where the convention refuses this data."""
        try:
            return self.mean(measure, convention)
        except ConventionError:
            return float("nan")

    def of_axis(self, axis: str) -> tuple[Effect, ...]:
        """Tools grouped by what they do on an axis, with how far that moves each measure."""
        effects: list[Effect] = []
        for measure in self.measures:
            if not depends(measure, axis):
                continue
            plain = getattr(measure.under(OFFICIAL), axis)
            answers = []
            for tool in printing(measure):
                convention = tool.convention_for(measure)
                mine = getattr(convention, axis)
                amount, refusal = self._difference(measure, convention, self, convention.replace(**{axis: plain}))
                answers.append(Answer(mine != plain or bool(refusal), SAYS[axis](mine) + refusal, amount, tool.name))
            effects += _merge(measure, answers)
        return tuple(effects)

    def against(self, other: Effects, words: Callable[[Convention], str]) -> tuple[Effect, ...]:
        """How much more (or less) each tool gives here than there, with what it does in words."""
        effects: list[Effect] = []
        for measure in self.measures:
            answers = []
            for tool in printing(measure):
                convention = tool.convention_for(measure)
                amount, refusal = self._difference(measure, convention, other, convention)
                answers.append(Answer(True, words(convention) + refusal, amount, tool.name))
            effects += _merge(measure, answers)
        return tuple(effects)

    def _difference(
        self, measure: Measure, convention: Convention, other: Effects, there: Convention
    ) -> tuple[float | None, str]:
        """One mean less another; or no number, and what the data lacks."""
        try:
            amount = self.mean(measure, convention) - other.mean(measure, there)
        except ConventionError as error:
            return None, f", and refuses this data: {error}"
        return (None, ", and no query is left to count") if np.isnan(amount) else (amount, "")

    def refused(self) -> tuple[Effect, ...]:
        """Tools that give no number at all for this data, with the reason."""
        effects: list[Effect] = []
        for measure in self.measures:
            groups: dict[str, list[str]] = {}
            for tool in printing(measure):
                try:
                    self.mean(measure, tool.convention_for(measure))
                except ConventionError as error:
                    groups.setdefault(str(error), []).append(tool.name)
            effects += [Effect(measure.text, tuple(names), f"refuses: {why}") for why, names in groups.items()]
        return tuple(effects)


def depends(measure: Measure, axis: str) -> bool:
    """Whether an axis can change this measure."""
    return KINDS[measure.kind].hears(axis)


def printing(measure: Measure) -> list[Tool]:
    """Classic tools that have this kind of measure themselves."""
    return [tool for tool in named("classic") if measure.kind in tool.prints]


def _merge(measure: Measure, answers: Sequence[Answer]) -> list[Effect]:
    """One effect for tools that do the same to the same amount; those that do as `official` come last."""
    groups: dict[tuple[bool, str, float | None], list[Answer]] = {}
    for answer in answers:
        # Single precision and rounded values differ far behind the digits that anyone reads.
        seen = None if answer.amount is None else round(answer.amount, 6) + 0.0
        groups.setdefault((not answer.departs, answer.words, seen), []).append(answer)
    return [
        Effect(measure.text, tuple(answer.tool for answer in same), same[0].words, same[0].amount)
        for _, same in sorted(groups.items(), key=lambda item: item[0][0])
    ]


def moving(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Effects of measures that any tool moves or refuses; a measure that all agree on is left out."""
    moved = {e.measure for e in effects if e.amount is None or abs(e.amount) >= 5e-7}
    return tuple(e for e in effects if e.measure in moved)
