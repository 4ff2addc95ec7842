"""The input of an audit, its checks and findings, and what a finding changes in measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.data.quality import (
    BoolArray,
    FeatureCounts,
    IdenticalDocuments,
    IntArray,
    Layout,
    count_features,
    find_identical_documents,
)
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import RankingCache, aggregate, measure_values
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Measure
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools import Tool, tools_in_group
from pippin.evaluation.tools.classic import OFFICIAL
from pippin.registry import Registry

SEVERITIES = ("error", "warning", "info")
SHOWN = 5  # examples of one finding, unless it is short to name more


@dataclass(frozen=True)
class Effect:
    """What tools do with it: these tools treat it so, which moves the mean of the measure by `amount`.

    The amount is the difference to the choice that `official` makes, on the ranking that the audit looks at; None
    where there is no number to give.
    """

    measure: str
    tools: tuple[str, ...]
    does: str
    amount: float | None = None


@dataclass(frozen=True)
class Finding:
    """Something that bears on a comparison: `number` of `total` things, in one sentence."""

    key: str
    severity: str  # one of SEVERITIES
    number: int
    total: int
    sentence: str
    effects: tuple[Effect, ...] = ()
    recommendation: str = ""
    examples: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()  # the count by label, cutoff, feature …

    @property
    def share(self) -> float:
        """Number over total.

        >>> Finding("empty", "warning", 1, 4, "…").share
        0.25
        """
        return self.number / self.total if self.total else 0.0


@dataclass(frozen=True)
class Check:
    """One thing that an audit looks for. The function says nothing (None) where all is well."""

    key: str
    title: str
    applies: Callable[[AuditInput], bool]
    function: Callable[[AuditInput], Finding | None]


CHECKS: Registry[Check] = Registry("check")


def check(
    key: str, title: str, applies: Callable[[AuditInput], bool] = lambda _: True
) -> Callable[[Callable[[AuditInput], Finding | None]], Callable[[AuditInput], Finding | None]]:
    """Put a function on the shelf of checks."""

    def register(function: Callable[[AuditInput], Finding | None]) -> Callable[[AuditInput], Finding | None]:
        CHECKS.register(key, Check(key, title, applies, function))
        return function

    return register


def of(number: int, total: int, things: str) -> str:
    """How many of how many, with the share.

    >>> of(220, 784, "queries"), of(1, 1, "query")
    ('220 of 784 queries (28.1 %)', '1 of 1 query (100.0 %)')
    """
    share = 100 * number / total if total else 0.0
    return (
        f"{number:,} of {total:,} {things} ({share:.1f} %)"
        if share >= 0.1 or not number
        else (f"{number:,} of {total:,} {things} ({share:.1g} %)")
    )


def verb(number: int, plural: str, singular: str) -> str:
    """The form of a verb that a number takes.

    >>> verb(1, "have", "has"), verb(2, "have", "has")
    ('has', 'have')
    """
    return singular if number == 1 else plural


def some(names: Sequence[str], most: int = SHOWN) -> tuple[str, ...]:
    """The first few, as examples."""
    return tuple(names[:most])


Values = NDArray[np.float64]

# axis → what a tool with this value does, in words
AXIS_BEHAVIOUR: dict[str, Callable[[Any], str]] = {
    "empty": lambda v: "leaves them out of the mean" if v is None else f"counts {v:g} for each",
    "short_lists": {"keep": "takes the list as it stands", "zero": "counts 0 for each"}.__getitem__,
    "precision_denominator": {"cutoff": "divides the hits by k", "list": "divides the hits by the length of the list",
                        "zero": "counts 0 for each"}.__getitem__,
    "max_valid_label": lambda v: "counts every label" if v is None else f"counts labels above {v} as 0",
    "relevance_threshold": lambda v: f"takes labels from {v} on for relevant",
    "gain": lambda v: {"label": "gains the label itself", "exp2": "gains 2^label − 1",
                       "binary": "gains 1 for a relevant document", "share": "gains the label's share of the largest",
                       "exp2-from": "gains 2^label − 1 from gain_threshold on"}.get(v, "gains by a table"),
    "ties": {"input": "keeps the order of the file", "reversed": "reverses the order of the file",
             "id-descending": "puts the larger document id first", "id-ascending": "puts the smaller document id first",
             "expected": "takes the expectation over all orders", "best": "puts the higher label first",
             "worst": "puts the lower label first", "shared-rank": "lets tied documents share a place",
             "introsort": "leaves them as std::sort does",
             "introsort-by-label": "leaves them as std::sort does by label",
             "introsort-relevant-first": "leaves them as std::sort does, relevant ones before",
             "introsort-twice": "leaves them as std::sort does twice", "topk": "leaves them as topk does",
             "topk-of-all": "takes the first of all documents as topk does",
             "argsort": "leaves them as NumPy's argsort does",
             "argsort-relevant-first": "leaves them as NumPy's argsort does, relevant ones before",
             "argpartition-of-all": "leaves them as NumPy's argpartition does",
             "ipnsort": "leaves them as Rust's unstable sort does"}.__getitem__,
    "score_precision": {"float32": "rounds scores to single precision, so that they tie",
                  "float64": "keeps them apart"}.__getitem__,
    "ideal_source": {"list": "forgets them: the ideal is made from the list",
    "judged": "keeps them in the ideal"}.__getitem__,
    "ap_denominator": {"judged": "divides by all relevant documents", "list": "divides by those in the list",
                       "cutoff": "divides by min(relevant, k)", "found": "divides by those above the cutoff",
                       "shortest": "divides by min(relevant, k, length of the list)"}.__getitem__,
    "query_selection": {"both": "leaves them out of the mean", "judged": "counts 0 for each",
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

    def __init__(self, rankings: RankingCache, measures: Sequence[Measure], settled: bool) -> None:
        self.rankings, self.measures = rankings, measures
        self.settled = settled  # only equal labels tie, so that no rule for ties can matter
        self._means: dict[tuple[Measure, Convention], float] = {}

    def values(self, measure: Measure, convention: Convention) -> tuple[tuple[str, ...], Values]:
        """Query ids and values."""
        if self.settled:
            convention = convention.replace(ties="input", score_precision="float64")
        ranking = self.rankings.for_convention(convention)
        return ranking.query_ids, measure_values(ranking, measure, convention)

    def mean(self, measure: Measure, convention: Convention) -> float:
        """The mean over the queries that count; raises where the convention refuses this data."""
        key = (measure, convention)
        if key not in self._means:
            _, values = self.values(measure, convention)
            self._means[key] = aggregate(values, MEASURE_DEFINITIONS[measure.kind].aggregate)
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
                answers.append(
                    Answer(mine != plain or bool(refusal), AXIS_BEHAVIOUR[axis](mine) + refusal, amount, tool.name)
                )
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
    return MEASURE_DEFINITIONS[measure.kind].depends_on(axis)


def printing(measure: Measure) -> list[Tool]:
    """Classic tools that have this kind of measure themselves."""
    return [tool for tool in tools_in_group("classic") if measure.kind in tool.measures]


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


@dataclass(frozen=True, eq=False)
class AuditInput:
    """Judged data under audit."""

    judged: Dataset | Qrels
    scored: NDArray[np.float64] | Run | None
    measures: tuple[Measure, ...]
    cutoffs: tuple[int, ...]
    layout: Layout | None = None
    other: Run | None = None  # a second run, to be held against the first

    @property
    def run(self) -> Run | None:
        """The run under audit, if what was scored is one."""
        return self.scored if isinstance(self.scored, Run) else None

    @property
    def data(self) -> Dataset:
        """The data set under audit; only checks that apply to data sets ask for it."""
        if not isinstance(self.judged, Dataset):
            raise TypeError("judgements have no features")
        return self.judged

    @property
    def queries(self) -> int:
        """The number of judged queries."""
        return len(self.judged.query_ids)

    @cached_property
    def perfect(self) -> RankingCache:
        """The rankings in which a higher label is always first."""
        scores = self.judged.labels.astype(np.float64)
        if isinstance(self.judged, Dataset):
            return RankingCache(self.judged, scores)
        judged = self.judged
        return RankingCache(judged, Run(judged.query_ids, judged.offsets, judged.document_ids, scores, "perfect"))

    @cached_property
    def rankings(self) -> RankingCache:
        """The rankings of what was scored, else the perfect ones."""
        return self.perfect if self.scored is None else RankingCache(self.judged, self.scored)

    @cached_property
    def effects(self) -> Effects:
        """What tools do with this ranking."""
        return Effects(self.rankings, self.measures, settled=self.scored is None)

    @cached_property
    def ceiling(self) -> Effects:
        """What tools do with a perfect ranking."""
        return self.effects if self.scored is None else Effects(self.perfect, self.measures, settled=True)

    @cached_property
    def ranking(self) -> Ranking:
        """The lists of queries that are judged and scored, in rank order (ties as in the file)."""
        return self.rankings.for_convention(OFFICIAL.replace(ties="input", query_selection="both"))

    @cached_property
    def twins(self) -> IdenticalDocuments:
        """Documents with identical feature vectors."""
        return find_identical_documents(self.data)

    @cached_property
    def feature_counts(self) -> FeatureCounts:
        """NULLs and constancy by feature."""
        return count_features(self.data)

    def names(self, queries: BoolArray | IntArray) -> list[str]:
        """Ids of judged queries, from flags or positions."""
        positions = np.flatnonzero(queries) if queries.dtype == np.bool_ else queries
        return [self.judged.query_ids[q] for q in positions]

    def document(self, row: int) -> str:
        """A document of the judged data, as a reader can find it."""
        query = self.judged.query_ids[int(np.searchsorted(self.judged.offsets, row, side="right")) - 1]
        ids = self.judged.document_ids
        return f"query {query}, {f'row {row + 1}' if ids is None else ids.at(row)}"


def largest_cutoff(measures: Sequence[Measure]) -> int:
    """The largest cutoff asked for; 10 where none is."""
    return max((m.cutoff for m in measures if m.cutoff is not None), default=10)
