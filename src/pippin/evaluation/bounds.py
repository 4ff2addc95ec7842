"""Bound a measure over all labels that unjudged documents could have.

`bounds` gives the lowest and the highest value of a run, or of the difference of two runs, per query and for the mean.
A document in both runs has the same label in both. Queries are independent, so the mean of the bounds is the bound of
the mean. `Bounds.judge_next` lists the documents whose labels narrow the bounds most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack, overload

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements, coerce_scores
from pippin.data.qrels import Qrels, Run
from pippin.display import Displayable, rows_to_columns
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Axes, check_axes
from pippin.evaluation.evaluate import check_measures
from pippin.evaluation.measures.notation import texts_of
from pippin.evaluation.rank import to_qrels
from pippin.evaluation.tools import TOOLS, Tool
from pippin.evaluation.unjudged import F64, Extremes, Query, extremes, queries_of


@dataclass(frozen=True)
class JudgingCandidate:
    """An unjudged document and how much its label narrows the bounds of its query."""

    query: str
    document: str
    width: float


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Displayable):
    """The lowest and highest value of a measure over the labels that unjudged documents could have.

    Attributes
    ----------
    measure, tool : str
        What was computed.
    names : tuple of str
        One run, or two for their difference.
    value, low, high : float
        Mean with unjudged documents as not relevant, and its bounds.
    values, lows, highs : ndarray of shape (n_queries,)
        The same per query.
    """

    measure: str
    tool: str
    names: tuple[str, ...]
    queries: tuple[Query, ...]
    extremes: tuple[Extremes, ...]
    values: F64

    @property
    def query_ids(self) -> tuple[str, ...]:
        """Ids of the evaluated queries."""
        return tuple(query.name for query in self.queries)

    @cached_property
    def lows(self) -> F64:
        """Lowest value per query."""
        return np.array([extreme.low for extreme in self.extremes])

    @cached_property
    def highs(self) -> F64:
        """Highest value per query."""
        return np.array([extreme.high for extreme in self.extremes])

    @cached_property
    def value(self) -> float:
        """Mean with unjudged documents as not relevant."""
        return _mean(self.values)

    @cached_property
    def low(self) -> float:
        """Lowest mean."""
        return _mean(self.lows)

    @cached_property
    def high(self) -> float:
        """Highest mean."""
        return _mean(self.highs)

    @property
    def exact(self) -> bool:
        """Whether labels exist that reach the bounds; otherwise the bounds hold but may be too wide."""
        return all(extreme.exact for extreme in self.extremes)

    @property
    def n_unjudged(self) -> int:
        """Number of unjudged documents."""
        return sum(query.n_unjudged for query in self.queries)

    @property
    def residuals(self) -> F64 | None:
        """RBP's residual per query: the width, plus p^n for what a longer list could add; None for other measures."""
        if len(self.names) == 2 or self.queries[0].measure.kind != "RBP" or self.queries[0].measure.cutoff:
            return None
        p = self.queries[0].measure.parameter("p")
        after: F64 = np.array([p ** len(query.lists[0].labels) for query in self.queries])
        return after + (self.highs - self.lows)

    @property
    def verdict(self) -> str:
        """The bounds in one sentence."""
        unjudged = f"{self.n_unjudged:,} unjudged documents"
        span = f"between {self.low:.4f} and {self.high:.4f}"
        if len(self.names) == 1:
            return f"{self.measure} of {self.names[0]} lies {span}, whatever the {unjudged} are."
        first, second = self.names
        if self.low > 0 or self.high < 0:
            winner = first if self.low > 0 else second
            return f"{winner} is better whatever the {unjudged} are: the difference lies {span}."
        if self.low == self.high == 0:
            return f"{first} and {second} are equal whatever the unjudged documents are."
        return f"The {unjudged} could decide for either: {first} − {second} lies {span}."

    def judge_next(self, count: int) -> list[JudgingCandidate]:
        """Return the documents whose labels narrow the bounds most, in descending order.

        A document's width is what its label alone takes from both ends: how far the highest value falls when the
        document gets its label of the lowest, plus how far the lowest rises when it gets that of the highest.

        Parameters
        ----------
        count : int
            Maximum number of documents.

        Returns
        -------
        list of JudgingCandidate
        """
        if count < 1:
            return []
        candidates = [
            candidate
            for query, extremes in zip(self.queries, self.extremes, strict=True)
            for candidate in _judging_candidates(query, extremes)
        ]
        return sorted(candidates, key=lambda candidate: -candidate.width)[:count]

    def to_dict(self) -> dict[str, Any]:
        """Return a row per query: query, unjudged documents, value, low, high, exact."""
        rows = [
            (query.name, query.n_unjudged, float(value), extreme.low, extreme.high, extreme.exact)
            for query, value, extreme in zip(self.queries, self.values, self.extremes, strict=True)
        ]
        return rows_to_columns(rows, "query", "unjudged", "value", "low", "high", "exact")


def _mean(values: F64) -> float:
    values = values[~np.isnan(values)]
    return float(np.cumsum(values)[-1] / len(values)) if len(values) else float("nan")


def _judging_candidates(query: Query, extremes: Extremes) -> list[JudgingCandidate]:
    """Return the unjudged documents whose label differs between the two extremes."""
    low, high = extremes.low_labels, extremes.high_labels
    differ = np.flatnonzero((low != high)[: query.n_unjudged])  # documents outside the runs lack an id
    if not len(differ):
        return []
    lowered, raised = (np.tile(labels, (len(differ) + 1, 1)) for labels in (high, low))
    rows = np.arange(len(differ))
    lowered[rows, differ], raised[rows, differ] = low[differ], high[differ]
    from_high, from_low = query.value(lowered), query.value(raised)
    widths = np.maximum(0.0, (from_high[-1] - from_high[:-1]) + (from_low[:-1] - from_low[-1]))
    return [
        JudgingCandidate(query.name, query.unjudged[i], width)
        for i, width in zip(differ.tolist(), widths.tolist(), strict=True)
    ]


def _read_run(run: Any, qrels: Any, merge_queries: bool) -> Run:
    data = coerce_scores(run, qrels, merge_queries=merge_queries)
    if not isinstance(data, Run):
        raise DataError("bounds need a run and qrels: every document of a data set is judged")
    return data


@overload
def bounds(
    qrels: Any, run: Any, second_run: Any = ..., *, measure: list[str], tool: str | Tool = ...,
    max_label: int | None = ..., depth: int | None = ..., extra_relevant: int = ..., merge_queries: bool = ...,
    **axes: Unpack[Axes],
) -> list[Bounds]: ...  # fmt: skip
@overload
def bounds(
    qrels: Any, run: Any, second_run: Any = ..., *, measure: Any = ..., tool: str | Tool = ...,
    max_label: int | None = ..., depth: int | None = ..., extra_relevant: int = ..., merge_queries: bool = ...,
    **axes: Unpack[Axes],
) -> Bounds: ...  # fmt: skip
def bounds(
    qrels: Any,
    run: Any,
    second_run: Any = None,
    *,
    measure: Any = "NDCG@10",
    tool: str | Tool = "official",
    max_label: int | None = None,
    depth: int | None = None,
    extra_relevant: int = 0,
    merge_queries: bool = False,
    **axes: Unpack[Axes],
) -> Bounds | list[Bounds]:
    """Bound a measure, or the difference of two runs, over all labels that unjudged documents could have.

    Parameters
    ----------
    qrels : as in `evaluate`
        The known labels.
    run : as in `evaluate`
        The run to evaluate.
    second_run : run, optional
        Bound the difference `run` − `second_run` instead.
    measure : str or list, default "NDCG@10"
        AP, DCG, ERR, NDCG, P, RBP or RR, in any notation; a list gives a list of bounds.
    tool : str or Tool, default "official"
        The tool whose rules apply.
    max_label : int, optional
        Highest label of an unjudged document; by default the highest in the judgements.
    depth : int, optional
        Only unjudged documents among the first `depth` of a run may be relevant; by default all.
    extra_relevant : int, default 0
        Number of further documents per query, in no run and unjudged, that may be relevant.
    merge_queries : bool, default False
        As in `evaluate`.
    **axes
        Axes of the convention that replace the tool's.

    Returns
    -------
    Bounds or list of Bounds
        A list if `measure` is a list.

    Raises
    ------
    ConventionError
        If the bounds of the measure under the convention are unknown.

    Examples
    --------
    >>> result = bounds({"q": {"a": 1}}, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}, measure="RR")
    >>> result.low, result.value, result.high
    (0.5, 0.5, 1.0)
    >>> [candidate.document for candidate in result.judge_next(5)]
    ['x']
    """
    check_axes(axes, bounds)
    if depth is not None and depth < 1:
        raise ConventionError(f"depth must be at least 1, got {depth}")
    if extra_relevant < 0:
        raise ConventionError(f"extra_relevant must be at least 0, got {extra_relevant}")
    rules = TOOLS[tool] if isinstance(tool, str) else tool
    texts = texts_of(measure)
    check_measures(texts, [rules])
    data = coerce_judgements(qrels, merge_queries=merge_queries)
    runs = [_read_run(each, data, merge_queries) for each in (run, second_run) if each is not None]
    judgements = to_qrels(data) if isinstance(data, Dataset) else data
    results = [_bound(judgements, runs, text, rules, max_label, depth, extra_relevant, axes) for text in texts]
    return results if isinstance(measure, (list, tuple)) else results[0]


def _bound(
    judgements: Qrels,
    runs: Sequence[Run],
    text: str,
    tool: Tool,
    max_label: int | None,
    depth: int | None,
    extra_relevant: int,
    axes: Mapping[str, Any],
) -> Bounds:
    """Bound one measure."""
    measure = tool.measure(text)
    convention = tool.convention_for(measure, **axes)
    if max_label is not None and max_label < convention.relevance_threshold:
        raise ConventionError(f"max_label must be at least {convention.relevance_threshold}, got {max_label}")
    highest = max(convention.relevance_threshold, convention.gain_threshold, int(judgements.labels.max(initial=0)))
    queries = tuple(queries_of(judgements, runs, measure, convention, max_label or highest, depth, extra_relevant))
    if not queries:
        raise DataError(f"{judgements.name} and {runs[0].name} do not share a query to evaluate")
    values = np.array([float(query.value(query.all_irrelevant)[0]) for query in queries])
    names = tuple(run.name for run in runs)
    return Bounds(text, tool.name, names, queries, tuple(extremes(query) for query in queries), values)
