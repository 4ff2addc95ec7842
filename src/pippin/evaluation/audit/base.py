"""The input of an audit, its checks and findings, and how much a finding changes each measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from pippin.evaluation.tools import TOOLS, Tool, tools_in_group
from pippin.evaluation.tools.classic import OFFICIAL
from pippin.registry import Registry

SEVERITIES = ("error", "warning", "info")
MAX_EXAMPLES = 5
MIN_EFFECT = 0.001  # a change of a mean that deserves a warning: visible in three decimals
NO_CHANGE = 5e-7  # smaller changes are rounding errors


@dataclass(frozen=True)
class Effect:
    """What some tools do about a finding, and how much that changes the mean of a measure.

    Attributes
    ----------
    measure : str
        The measure.
    tools : tuple of str
        Tools that do the same.
    does : str
        What they do.
    amount : float, optional
        Difference of the mean to that with the choice of the base tool, on the ranking under audit; None if there is
        no number.
    is_change : bool
        Whether the amount is a change. If not, it is the part of the mean that comes from the affected queries.
    """

    measure: str
    tools: tuple[str, ...]
    does: str
    amount: float | None = None
    is_change: bool = True


@dataclass(frozen=True)
class Finding:
    """A property of the data that can affect a comparison.

    Attributes
    ----------
    key : str
        Name of the check.
    severity : str
        ``"error"``, ``"warning"`` or ``"info"``. It follows the largest effect, if one was measured.
    number, total : int
        Affected queries, documents or features, and all of them.
    sentence : str
        The finding in words.
    effects : tuple of Effect
        What tools do about it, and how much that changes each measure.
    recommendation : str
        What to do.
    examples : tuple of str
        The first affected queries, documents or features.
    parts : tuple of (str, float)
        Counts by label, cutoff or feature.
    queries : tuple of str
        All affected queries, if the finding is about single queries.
    """

    key: str
    severity: str
    number: int
    total: int
    sentence: str
    effects: tuple[Effect, ...] = ()
    recommendation: str = ""
    examples: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    queries: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Number divided by total.

        >>> Finding("empty", "warning", 1, 4, "…").share
        0.25
        """
        return self.number / self.total if self.total else 0.0

    @property
    def largest_effect(self) -> Effect | None:
        """The effect with the largest change of a measure; None if no change was measured."""
        measured = [effect for effect in self.effects if effect.amount is not None and effect.is_change]
        return max(measured, key=lambda effect: abs(effect.amount or 0), default=None)

    @property
    def sentence_with_effect(self) -> str:
        """The sentence, and the largest change of a measure."""
        effect = self.largest_effect
        if effect is None or abs(effect.amount or 0) < NO_CHANGE:
            return self.sentence
        amount = f"{effect.amount:+.4f}".replace("-", "−")
        return f"{self.sentence}; {effect.measure} changes by up to {amount} ({effect.tools[0]})"


def rate(finding: Finding) -> Finding:
    """Return a finding with the severity of its largest effect, without the measures that no tool changes.

    An error stays an error. A finding without a measured effect, or that makes a tool refuse the data, keeps its
    severity.
    """
    severity, largest = finding.severity, finding.largest_effect
    if severity != "error" and largest is not None and all(e.amount is not None for e in finding.effects):
        severity = "warning" if abs(largest.amount or 0) >= MIN_EFFECT else "info"
    changed = {e.measure for e in finding.effects if e.amount is None or abs(e.amount) >= NO_CHANGE}
    effects = tuple(effect for effect in finding.effects if effect.measure in changed)
    return replace(finding, severity=severity, effects=effects)


@dataclass(frozen=True)
class Check:
    """A check of an audit; its function returns None if it finds nothing."""

    key: str
    title: str
    applies: Callable[[AuditInput], bool]
    function: Callable[[AuditInput], Finding | None]


CHECKS: Registry[Check] = Registry("check")


def check(
    key: str, title: str, applies: Callable[[AuditInput], bool] = lambda _: True
) -> Callable[[Callable[[AuditInput], Finding | None]], Callable[[AuditInput], Finding | None]]:
    """Register a function as a check."""

    def register(function: Callable[[AuditInput], Finding | None]) -> Callable[[AuditInput], Finding | None]:
        CHECKS.register(key, Check(key, title, applies, function))
        return function

    return register


_SINGULAR = {"have": "has", "are": "is", "copy": "copies"}


def count_of(number: int, total: int, noun: str, verb: str = "") -> str:
    """Format a number of a total with its share, and the plural verb that follows in the form for the number.

    >>> count_of(220, 784, "queries"), count_of(1, 2, "queries", "have")
    ('220 of 784 queries (28.1 %)', '1 of 2 queries (50.0 %) has')
    """
    share = 100 * number / total if total else 0.0
    text = f"{number:,} of {total:,} {noun} ({share:{'.1f' if share >= 0.1 or not number else '.1g'}} %)"
    return f"{text} {_SINGULAR.get(verb, f'{verb}s') if number == 1 else verb}".rstrip()


def first_names(names: Sequence[str], limit: int = MAX_EXAMPLES) -> tuple[str, ...]:
    """Return the first names, as examples."""
    return tuple(names[:limit])


Values = NDArray[np.float64]

# axis → value of the axis → what a tool with this value does
AXIS_BEHAVIOUR: dict[str, Callable[[Any], str]] = {
    "empty": lambda v: "leaves them out of the mean" if v is None else f"counts {v:g} for each",
    "short_lists": {"keep": "evaluates the list as it is", "zero": "counts 0 for each"}.__getitem__,
    "precision_denominator": {"cutoff": "divides the hits by k", "list": "divides the hits by the length of the list",
                        "zero": "counts 0 for each"}.__getitem__,
    "max_valid_label": lambda v: "counts every label" if v is None else f"counts labels above {v} as 0",
    "relevance_threshold": lambda v: f"counts labels of {v} and more as relevant",
    "gain": lambda v: {"label": "uses the label as gain", "exp2": "uses the gain 2^label − 1",
                       "binary": "uses the gain 1 for a relevant document",
                       "share": "uses the label divided by the largest label as gain",
                       "exp2-int32": "uses the gain 2^label − 1 in 32-bit integers",
                       "exp2-from": "uses the gain 2^label − 1 from gain_threshold on"}.get(v, "uses a table of gains"),
    "ties": {"input": "keeps the order of the file", "reversed": "reverses the order of the file",
             "id-descending": "puts the larger document id first", "id-ascending": "puts the smaller document id first",
             "expected": "computes the expectation over all orders", "best": "puts the higher label first",
             "worst": "puts the lower label first", "shared-rank": "gives tied documents the same rank",
             "introsort": "orders them as std::sort does",
             "introsort-by-label": "orders them as std::sort of the labels does",
             "introsort-relevant-first": "orders them as std::sort does with relevant documents first",
             "introsort-twice": "orders them as two calls of std::sort do", "topk": "orders them as topk does",
             "topk-of-all": "orders them as topk of all documents does",
             "argsort": "orders them as NumPy's argsort does",
             "argsort-relevant-first": "orders them as NumPy's argsort does with relevant documents first",
             "argpartition-of-all": "orders them as NumPy's argpartition does",
             "ipnsort": "orders them as Rust's unstable sort does"}.__getitem__,
    "score_precision": {"float32": "rounds scores to single precision, so that they tie",
                  "float64": "keeps them apart"}.__getitem__,
    "ideal_source": {"list": "ignores them: the ideal list is made from the retrieved documents",
                     "judged": "counts them in the ideal list"}.__getitem__,
    "ap_denominator": {"judged": "divides by all relevant documents", "list": "divides by those in the list",
                       "cutoff": "divides by min(relevant, k)", "found": "divides by those above the cutoff",
                       "shortest": "divides by min(relevant, k, length of the list)"}.__getitem__,
    "query_selection": {"both": "leaves them out of the mean", "judged": "counts 0 for each",
                "relevant": "counts 0 for those with a relevant document",
                "relevant-or-lost": "counts 0 for those with a relevant document, or for which nothing was retrieved",
                "run": "counts the queries of the run only"}.__getitem__,
}  # fmt: skip


class ToolBehaviour(NamedTuple):
    """What a tool does, whether it differs from the base tool, and by how much it changes the mean."""

    differs: bool
    does: str
    amount: float | None
    tool: str


class Effects:
    """Means of judged and scored data under many conventions, each computed once.

    `ties_matter` is False if all tied documents have equal labels.
    """

    def __init__(
        self, rankings: RankingCache, measures: Sequence[Measure], base: Tool, *, ties_matter: bool = True
    ) -> None:
        self.rankings, self.measures, self.base, self.ties_matter = rankings, measures, base, ties_matter
        self._means: dict[tuple[Measure, Convention], float] = {}

    def values(self, measure: Measure, convention: Convention) -> tuple[tuple[str, ...], Values]:
        """Return query ids and values."""
        if not self.ties_matter:
            convention = convention.replace(ties="input", score_precision="float64")
        ranking = self.rankings.for_convention(convention)
        return ranking.query_ids, measure_values(ranking, measure, convention)

    def mean(self, measure: Measure, convention: Convention) -> float:
        """Return the mean over the queries that count; raise if the convention refuses the data."""
        key = (measure, convention)
        if key not in self._means:
            _, values = self.values(measure, convention)
            self._means[key] = aggregate(values, MEASURE_DEFINITIONS[measure.kind].aggregate)
        return self._means[key]

    def mean_or_nan(self, measure: Measure, convention: Convention) -> float:
        """Return the mean, or NaN if the convention refuses the data."""
        try:
            return self.mean(measure, convention)
        except ConventionError:
            return float("nan")

    def by_axis(self, axis: str) -> tuple[Effect, ...]:
        """Return tools grouped by their choice on an axis, with the change of each measure that it causes."""
        effects: list[Effect] = []
        for measure in self.measures:
            if not depends_on(measure, axis):
                continue
            base_choice = getattr(self.base.convention_for(measure), axis)
            behaviours = []
            for tool in tools_with(measure):
                convention = tool.convention_for(measure)
                choice = getattr(convention, axis)
                amount, reason = self._difference(measure, convention, self, convention.replace(**{axis: base_choice}))
                does = AXIS_BEHAVIOUR[axis](choice) + reason
                behaviours.append(ToolBehaviour(choice != base_choice or bool(reason), does, amount, tool.name))
            effects += _group(measure, behaviours)
        return tuple(effects)

    def compared_to(self, reference: Effects, describe: Callable[[Convention], str]) -> tuple[Effect, ...]:
        """Return the difference of each tool's mean to that of other rankings."""
        effects: list[Effect] = []
        for measure in self.measures:
            behaviours = []
            for tool in tools_with(measure):
                convention = tool.convention_for(measure)
                amount, reason = self._difference(measure, convention, reference, convention)
                behaviours.append(ToolBehaviour(True, describe(convention) + reason, amount, tool.name))
            effects += _group(measure, behaviours)
        return tuple(effects)

    def _difference(
        self, measure: Measure, convention: Convention, reference: Effects, reference_convention: Convention
    ) -> tuple[float | None, str]:
        """Return the difference of two means, or None and the reason why there is none."""
        try:
            amount = self.mean(measure, convention) - reference.mean(measure, reference_convention)
        except ConventionError as error:
            return None, f", and refuses these data: {error}"
        return (None, ", which leaves no query") if np.isnan(amount) else (amount, "")

    def refusals(self) -> tuple[Effect, ...]:
        """Return the tools that refuse the data, with the reason."""
        effects: list[Effect] = []
        for measure in self.measures:
            groups: dict[str, list[str]] = {}
            for tool in tools_with(measure):
                try:
                    self.mean(measure, tool.convention_for(measure))
                except ConventionError as error:
                    groups.setdefault(str(error), []).append(tool.name)
            effects += [Effect(measure.text, tuple(names), f"refuses: {why}") for why, names in groups.items()]
        return tuple(effects)


def depends_on(measure: Measure, axis: str) -> bool:
    """Return whether an axis can change a measure."""
    return MEASURE_DEFINITIONS[measure.kind].depends_on(axis)


def tools_with(measure: Measure) -> list[Tool]:
    """Return the classic tools that have this kind of measure themselves."""
    return [tool for tool in tools_in_group("classic") if measure.kind in tool.measures]


def _group(measure: Measure, behaviours: Sequence[ToolBehaviour]) -> list[Effect]:
    """Return one effect for tools that do the same with the same amount; those like the base tool come last."""
    groups: dict[tuple[bool, str, float | None], list[ToolBehaviour]] = {}
    for behaviour in behaviours:
        # Differences by single precision or rounding are not a group of their own.
        amount = None if behaviour.amount is None else round(behaviour.amount, 6) + 0.0
        groups.setdefault((not behaviour.differs, behaviour.does, amount), []).append(behaviour)
    return [
        Effect(measure.text, tuple(behaviour.tool for behaviour in same), same[0].does, same[0].amount)
        for _, same in sorted(groups.items(), key=lambda item: item[0][0])
    ]


@dataclass(frozen=True, eq=False)
class AuditInput:
    """Judged data under audit."""

    qrels: Dataset | Qrels
    scores: NDArray[np.float64] | Run | None
    measures: tuple[Measure, ...]
    cutoffs: tuple[int, ...]
    layout: Layout | None = None
    second_run: Run | None = None
    base: Tool = TOOLS["official"]  # amounts are differences to its choices

    @property
    def run(self) -> Run | None:
        """The run under audit; None for scores of a data set."""
        return self.scores if isinstance(self.scores, Run) else None

    @property
    def data(self) -> Dataset:
        """The data set under audit; checks use it only if they apply to data sets."""
        if not isinstance(self.qrels, Dataset):
            raise TypeError("judgements do not have features")
        return self.qrels

    @property
    def queries(self) -> int:
        """Number of judged queries."""
        return len(self.qrels.query_ids)

    @cached_property
    def perfect(self) -> RankingCache:
        """The rankings that have higher labels first."""
        scores = self.qrels.labels.astype(np.float64)
        if isinstance(self.qrels, Dataset):
            return RankingCache(self.qrels, scores)
        qrels = self.qrels
        return RankingCache(qrels, Run(qrels.query_ids, qrels.offsets, qrels.document_ids, scores, "perfect"))

    @cached_property
    def rankings(self) -> RankingCache:
        """The rankings of the scores or the run, else the perfect ones."""
        return self.perfect if self.scores is None else RankingCache(self.qrels, self.scores)

    @cached_property
    def effects(self) -> Effects:
        """Means of the rankings under audit."""
        return Effects(self.rankings, self.measures, self.base, ties_matter=self.scores is not None)

    @cached_property
    def ceiling(self) -> Effects:
        """Means of the perfect rankings."""
        if self.scores is None:
            return self.effects
        return Effects(self.perfect, self.measures, self.base, ties_matter=False)

    @cached_property
    def ranking(self) -> Ranking:
        """The lists of queries that are judged and scored; ties in the order of the file."""
        return self.rankings.for_convention(OFFICIAL.replace(ties="input", query_selection="both"))

    @cached_property
    def identical(self) -> IdenticalDocuments:
        """Documents with identical feature vectors."""
        return find_identical_documents(self.data)

    @cached_property
    def feature_counts(self) -> FeatureCounts:
        """NULLs and constancy by feature."""
        return count_features(self.data)

    def names(self, queries: BoolArray | IntArray) -> list[str]:
        """Return the ids of judged queries, from flags or positions."""
        positions = np.flatnonzero(queries) if queries.dtype == np.bool_ else queries
        return [self.qrels.query_ids[q] for q in positions]

    def document(self, row: int) -> str:
        """Describe the document of a row: its query and its id or row number."""
        query = self.qrels.query_ids[int(np.searchsorted(self.qrels.offsets, row, side="right")) - 1]
        ids = self.qrels.document_ids
        return f"query {query}, {f'row {row + 1}' if ids is None else ids.at(row)}"


def largest_cutoff(measures: Sequence[Measure]) -> int:
    """Return the largest cutoff of the measures, or 10 if they have none."""
    return max((m.cutoff for m in measures if m.cutoff is not None), default=10)
