"""How much could documents that nobody judged change: the value of a run, and who is better of two?

`bounds` gives the least and the greatest value over all labels that the unjudged documents of the runs could have, per
query and for the mean; for two runs those of the difference, with one label for a document that both have. Queries
are independent, so that the mean of the bounds is the bound of the mean. `Bounds.judge_next` lists the documents that
carry most of the width: those to judge first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.load import as_judged, as_scored
from pippin.data.trec import Run
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import check_axes
from pippin.evaluation.extremes import Extremes, extremes
from pippin.evaluation.holes import F64, Query, queries_of
from pippin.evaluation.notation import text_of
from pippin.evaluation.ranking import as_judgements
from pippin.evaluation.tools import TOOLS, Tool
from pippin.shown import Shown, in_columns


@dataclass(frozen=True)
class ToJudge:
    """A document to judge: its query, and how much of the query's width its label carries."""

    query: str
    document: str
    carries: float


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Shown):
    """The least and the greatest value of a measure over the labels that unjudged documents could have."""

    measure: str
    tool: str
    names: tuple[str, ...]  # of one run, or of the two whose difference it is
    queries: tuple[Query, ...]
    found: tuple[Extremes, ...]
    values: F64  # with unjudged documents as not relevant

    @property
    def query_ids(self) -> tuple[str, ...]:
        """The queries that count."""
        return tuple(query.name for query in self.queries)

    @cached_property
    def lows(self) -> F64:
        """The least value by query."""
        return np.array([one.low for one in self.found])

    @cached_property
    def highs(self) -> F64:
        """The greatest value by query."""
        return np.array([one.high for one in self.found])

    @cached_property
    def value(self) -> float:
        """The mean with unjudged documents as not relevant."""
        return _mean(self.values)

    @cached_property
    def low(self) -> float:
        """The least mean."""
        return _mean(self.lows)

    @cached_property
    def high(self) -> float:
        """The greatest mean."""
        return _mean(self.highs)

    @property
    def exact(self) -> bool:
        """Whether the bounds are reached; else they hold and may be too wide."""
        return all(one.exact for one in self.found)

    @property
    def holes(self) -> int:
        """How many documents have no label."""
        return sum(query.holes for query in self.queries)

    @property
    def residuals(self) -> F64 | None:
        """RBP's residual by query: the width, and p^n for what a longer list could have added."""
        if len(self.names) == 2 or self.queries[0].measure.kind != "RBP" or self.queries[0].measure.cutoff:
            return None
        p = self.queries[0].measure.parameter("p")
        after: F64 = np.array([p ** len(query.lists[0].labels) for query in self.queries])
        return after + (self.highs - self.lows)

    @property
    def verdict(self) -> str:
        """What the bounds say, in a sentence."""
        span = f"between {self.low:.4f} and {self.high:.4f}"
        if len(self.names) == 1:
            return f"{self.measure} of {self.names[0]} lies {span}, whatever the {self.holes:,} unjudged documents are."
        first, second = self.names
        if self.low > 0 or self.high < 0:
            winner = first if self.low > 0 else second
            return f"{winner} is better whatever the {self.holes:,} unjudged documents are: the difference lies {span}."
        if self.low == self.high == 0:
            return f"{first} and {second} are equal whatever the unjudged documents are."
        return f"The {self.holes:,} unjudged documents could decide for either: {first} less {second} lies {span}."

    def judge_next(self, count: int) -> list[ToJudge]:
        """The documents that carry most of the width, most first.

        A document carries what its label alone takes from both ends: how far the greatest value falls when the
        document gets its label of the least, and the least rises when it gets that of the greatest.
        """
        if count < 1:
            return []
        carried = [one for query, ends in zip(self.queries, self.found, strict=True) for one in _carried(query, ends)]
        return sorted(carried, key=lambda one: -one.carries)[:count]

    def to_dict(self) -> dict[str, Any]:
        """A row per query: query, unjudged documents, value, low, high, exact."""
        rows = [
            (query.name, query.holes, float(value), one.low, one.high, one.exact)
            for query, value, one in zip(self.queries, self.values, self.found, strict=True)
        ]
        return in_columns(rows, "query", "unjudged", "value", "low", "high", "exact")


def _mean(values: F64) -> float:
    counted = values[~np.isnan(values)]
    return float(np.cumsum(counted)[-1] / len(counted)) if len(counted) else float("nan")


def _carried(query: Query, ends: Extremes) -> list[ToJudge]:
    """What each open document carries whose label differs between the two ends."""
    differ = np.flatnonzero((ends.least != ends.most)[: query.holes])  # what no run has cannot be listed
    if not len(differ):
        return []
    down, up = (np.tile(labels, (len(differ) + 1, 1)) for labels in (ends.most, ends.least))
    rows = np.arange(len(differ))
    down[rows, differ], up[rows, differ] = ends.least[differ], ends.most[differ]
    from_most, from_least = query.value(down), query.value(up)
    carries = (from_most[-1] - from_most[:-1]) + (from_least[:-1] - from_least[-1])
    return [ToJudge(query.name, query.open[i], max(0.0, float(c))) for i, c in zip(differ, carries, strict=True)]


def _run(scored: Any, judged: Any, merge_queries: bool) -> Run:
    run = as_scored(scored, judged, merge_queries=merge_queries)
    if not isinstance(run, Run):
        raise DataError("bounds are for a run and judgements of some of it; of a data set every document is judged")
    return run


def bounds(
    judged: Any,
    scored: Any,
    other: Any = None,
    *,
    measure: Any = "NDCG@10",
    tool: str | Tool = "official",
    largest: int | None = None,
    depth: int | None = None,
    beyond: int = 0,
    merge_queries: bool = False,
    **axes: Any,
) -> Bounds:
    """The least and the greatest value that unjudged documents leave open, of a run or of a difference of two.

    judged        judgements, as in `evaluate`
    scored, other a run, and where the difference is asked for a second one
    measure       AP, DCG, ERR, NDCG, P, RBP or RR, in any notation
    tool, axes    the convention, as in `evaluate`
    largest       the top of the scale of labels; the largest label of the judgements unless it is given
    depth         only unjudged documents among the first so many of a run may be relevant; all may unless it is given
    beyond        how many documents of each query that no run has, and nobody judged, may be relevant, too

    >>> found = bounds({"q": {"a": 1}}, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}, measure="RR")
    >>> found.low, found.value, found.high
    (0.5, 0.5, 1.0)
    >>> [one.document for one in found.judge_next(5)]
    ['x']
    """
    check_axes(axes, bounds)
    data = as_judged(judged, merge_queries=merge_queries)
    runs = [_run(one, data, merge_queries) for one in (scored, other) if one is not None]
    judgements = as_judgements(data) if isinstance(data, Dataset) else data
    one = TOOLS[tool] if isinstance(tool, str) else tool
    text = text_of(measure)
    asked = one.measure(text)
    convention = one.convention_for(asked, **axes)
    if depth is not None and depth < 1:
        raise ConventionError(f"depth is a number of documents from 1 on, not {depth}")
    if beyond < 0:
        raise ConventionError(f"beyond is a number of documents from 0 on, not {beyond}")
    top = max(convention.relevant_at, convention.gain_at, int(judgements.labels.max(initial=0)))
    if largest is not None and largest < convention.relevant_at:
        raise ConventionError(f"the largest label of a document is at least {convention.relevant_at}, not {largest}")
    queries = tuple(queries_of(judgements, runs, asked, convention, largest or top, depth, beyond))
    if not queries:
        raise DataError(f"{judgements.name} and {runs[0].name} have no query that counts")
    values = np.array([float(query.value(query.none)[0]) for query in queries])
    names = tuple(run.name for run in runs)
    return Bounds(text, one.name, names, queries, tuple(extremes(query) for query in queries), values)


__all__ = ["Bounds", "ToJudge", "bounds"]
