"""Measures × ranking × convention → numbers with their convention stamped on them.

`measure_values` gives a query the value that counts, with the convention's word on empty queries and on rounding, and
`aggregate` takes the mean; which queries there are was settled by `rank`. evaluate(A ++ B) = evaluate(A) ++ evaluate(B)
over any cut by queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.load import as_judged, as_scored
from pippin.data.run_file import RankedRun, RunFile
from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError, PluginError, UnknownName
from pippin.evaluation.convention import AXES, Convention, check_axes
from pippin.evaluation.labels import judged_queries, relevant_queries, topics
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.notation import text_of, texts_of
from pippin.evaluation.ranking import Ranking, Shared, order, order_key, settled
from pippin.evaluation.tools import Several, Tool, chosen, is_one, said_by
from pippin.frozen import Frozen
from pippin.kernels.measures import UNJUDGED, Settling, settle_values
from pippin.shown import ByTool, Drawn

Values = NDArray[np.float64]
_AVERAGES = ("counted", "counted-or-none", "or-zero")
_RANK_AXES = attrgetter(*(name for name, axis in AXES.items() if axis.stage == "rank"))


class Column(Frozen, eq=False):
    """One measure under one convention: a value per query (NaN: left out) and the mean."""

    asked: str  # as typed
    measure: Measure
    convention: Convention
    query_ids: tuple[str, ...]
    values: Values
    mean: float
    weights: Values | None = None  # what each query counts in the mean; None: one
    added: NDArray[np.int64] | None = None  # the order in which the mean adds the queries; None: as they stand

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """What the convention calls the queries."""
        return topics(self.query_ids, self.convention)


class Evaluation(Drawn, Frozen, eq=False):
    """What one tool says of one ranking.

    `found.mean` and `found.per_query` are dicts by the measure as it was typed; `found[measure]` is the mean of a
    measure by any of its names.
    """

    tool: Tool
    overrides: dict[str, Any]
    name: str
    columns: tuple[Column, ...]
    counts: dict[str, int] = field(default_factory=dict)

    @cached_property
    def mean(self) -> dict[str, float]:
        """Measure as typed → its mean over the queries that count."""
        return {c.asked: c.mean for c in self.columns}

    @cached_property
    def per_query(self) -> dict[str, dict[str, float]]:
        """Measure as typed → query → value."""
        return {c.asked: dict(zip(c.topics, c.values.tolist(), strict=True)) for c in self.columns}

    def __getitem__(self, measure: Any) -> float:
        text = text_of(measure)
        wanted = self.tool.measure(text)
        for column in self.columns:
            if column.asked == text or column.measure == wanted:
                return column.mean
        raise UnknownName("measure of this evaluation", text, self.mean)

    def to_dict(self) -> dict[str, Any]:
        """A long table: query as the data calls it, measure, value."""
        return {
            "query": [query for c in self.columns for query in c.query_ids],
            "measure": [c.asked for c in self.columns for _ in c.query_ids],
            "value": np.concatenate([c.values for c in self.columns]),
        }


class Evaluations(ByTool[Evaluation]):
    """What several tools say of one ranking: an `Evaluation` by the name of its tool."""

    @property
    def mean(self) -> dict[str, dict[str, float]]:
        """Tool → measure as typed → its mean."""
        return {tool: evaluation.mean for tool, evaluation in self.items()}

    def to_dict(self) -> dict[str, Any]:
        """A long table: tool, query, measure, value."""
        parts = [evaluation.to_dict() for evaluation in self.values()]
        tools = [tool for tool, part in zip(self, parts, strict=True) for _ in part["query"]]
        joined = {name: [value for part in parts for value in part[name]] for name in ("query", "measure")}
        return {"tool": tools, **joined, "value": np.concatenate([part["value"] for part in parts])}


def aggregate(values: Values, how: str, weights: Values | None = None) -> float:
    """Mean over the queries that count (NaN does not), summed from the first query to the last.

    >>> aggregate(np.array([1.0, np.nan, 0.0]), "mean")
    0.5
    """
    if how == "counted-or-none" and not np.nan_to_num(values).any():
        return float("nan")
    counted = np.nan_to_num(values, nan=0.0) if how.startswith("counted") else values[~np.isnan(values)]
    if not len(counted):
        return 0.0 if how == "or-zero" else float("nan")
    if weights is not None:
        each = weights[~np.isnan(values)]
        return _sum(counted * each) / _sum(each) if each.any() else 0.0
    if how == "geometric":
        # trec_eval: every value at least 0.00001, so that one zero does not erase the rest.
        return float(np.exp(_sum(np.log(np.maximum(counted, 1e-5))) / len(counted)))
    total = _sum(counted)
    return total if how == "sum" else total / len(counted)


def _sum(values: Values) -> float:
    """Left to right, as the tools add; NumPy's pairwise sum differs in the last digit."""
    return float(np.cumsum(values)[-1])


def weights_of(ranking: Ranking, measure: Measure, convention: Convention) -> Values | None:
    """What each query counts in the mean of a measure; None: all the same."""
    weigh = KINDS[measure.kind].weights
    return weigh(ranking, convention, measure) if convention.average == "weighted" and weigh is not None else None


def mean_of(ranking: Ranking, measure: Measure, convention: Convention, values: Values) -> float:
    """The number of a run: the mean of the values of its queries as the convention takes it."""
    kind = KINDS[measure.kind]
    if kind.whole is not None:
        return kind.whole(ranking, convention, measure, values)
    if convention.average == "judged-or-none" and relevant_queries(ranking, convention) - set(ranking.query_ids):
        return float("nan")
    weights, added = weights_of(ranking, measure, convention), order_of_sum(ranking, convention)
    if added is not None:
        values, weights = values[added], None if weights is None else weights[added]
    mean = mean_of_values(measure, convention, values, weights)
    if convention.average == "judged" and kind.aggregate == "mean" and ranking.judged is not None:
        judged = judged_queries(ranking.judged, convention)
        return mean * int((~np.isnan(values)).sum()) / judged if judged else float("nan")
    return mean


def order_of_sum(ranking: Ranking, convention: Convention) -> NDArray[np.int64] | None:
    """The order in which a tool that rounds its means adds the queries, that of the run; None: as they stand.

    The last digit of a sum hangs on the order, and decides where a mean ends in a 5 behind the digits that stay.
    """
    if convention.mean_digits is None or ranking.place is None:
        return None
    return np.argsort(ranking.place, kind="stable")


def mean_of_values(measure: Measure, convention: Convention, values: Values, weights: Values | None) -> float:
    """The mean of the values of a run's queries, where no more than the values and their weights need be known."""
    if convention.average in ("all-or-none", "judged-or-none") and np.isnan(values).any():
        return float("nan")
    return aggregate(values, aggregate_of(measure, convention), weights)


def aggregate_of(measure: Measure, convention: Convention) -> str:
    """How the values of a measure become one number: mean, counted (a query without a value: 0), sum or
    geometric.
    """
    how = KINDS[measure.kind].aggregate
    return convention.average if how == "mean" and convention.average in _AVERAGES else how


def rounded_mean(mean: float, convention: Convention) -> float:
    """The mean as a tool that rounds it gives it."""
    if convention.mean_digits is None:
        return mean
    if convention.mean_rounding == "scaled":
        return float(np.round(mean, convention.mean_digits))
    return float(f"{mean:.{convention.mean_digits}f}")


def settling(convention: Convention, measure: Measure) -> Settling:
    """What a convention says of empty queries and of how values are held.

    Where empty queries are left out, they are left out of every measure, not only of those that they leave undefined;
    but where labels below 0 gain what they are, NDCG alone knows the queries in which nothing is to gain.
    """
    knows = convention.negative == "label" and measure.kind in ("NDCG", "nAUC_ndcg")
    skip_empty = (convention.empty is None and not knows) or convention.queries == "relevant"
    return _settling(convention.empty, skip_empty, convention.held)


@lru_cache(maxsize=64)
def _settling(empty: float | None, skip_empty: bool, held: str | int) -> Settling:
    return Settling(empty=float("nan") if empty is None else empty, skip_empty=skip_empty, held=held)


def measure_values(ranking: Ranking, measure: Measure, convention: Convention) -> Values:
    """A value per query as it counts in the mean: with the convention's word on empty queries, and held as it says."""
    kind = KINDS[measure.kind]
    if ranking.expected and not kind.expected and ranking.tied.any():
        raise ConventionError(f"{measure} has no closed form over tied documents; choose another rule for ties")
    if ranking.grouped and not kind.grouped and ranking.tied.any():
        raise ConventionError(f"{measure} has no value where tied documents share a rank; choose another rule for ties")
    values = np.asarray(kind.function(ranking, convention, measure))
    queries = len(ranking.query_ids)
    if values.shape != (queries,) or values.dtype.kind not in "biuf":
        raise PluginError(f"{kind.name} must give a number per query, {queries}, not {values.dtype}{values.shape}")
    values = np.ascontiguousarray(values, np.float64)
    rule = settling(convention, measure)
    values = settle_values(values, ranking.pool, ranking.pool_offsets, convention.relevant_at, rule)
    return np.where(values == 0, np.nan, values) if convention.zeros == "drop" else values


def averaged_values(
    ranking: Ranking, measure: Measure, convention: Convention, values: Values, under: Callable[[Convention], Ranking]
) -> Values:
    """What a mean is taken of: the values of queries, or those that they have in a batch, whose lists are as long as
    the longest. `under` ranks by a convention.
    """
    if convention.average != "batch" or convention.ties != "introsort" or not ranking.tied.any():
        return values
    filled = convention.replace(ties_depth=int(ranking.sizes().max()))
    return measure_values(under(filled), measure, filled)


class Rankings:
    """The rankings of one pair of judged and scored data, each made once, when a convention first asks for it."""

    def __init__(
        self,
        judged: Dataset | Judgements,
        scored: NDArray[np.float64] | Run | RunFile | RankedRun,
        allow_infinite: bool = False,
    ) -> None:
        self.judged, self.allow_infinite = judged, allow_infinite
        self._given = scored
        self._made: dict[tuple[Any, ...], Ranking] = {}
        self._shared = Shared()
        self.mixtures: dict[Any, dict[Any, Any]] = {}  # what reconcile has computed of these rankings
        self._places: dict[tuple[str, ...], NDArray[np.int64]] = {}
        self._ordered: dict[tuple[Any, ...], Ranking] = {}  # sorted once for all conventions that agree on the order

    @cached_property
    def scored(self) -> NDArray[np.float64] | Run:
        """The scores, or the run with its columns, which may have been in a file until now."""
        if isinstance(self._given, RankedRun):
            return self._given.whole()
        return self._given.whole if isinstance(self._given, RunFile) else self._given

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """All queries that some convention counts: the judged ones, then those of the run alone."""
        judged = dict.fromkeys(self.judged.query_ids)
        return tuple(dict.fromkeys((*judged, *getattr(self.scored, "query_ids", ()))))

    def places(self, ranking: Ranking) -> NDArray[np.int64]:
        """Where the queries of a ranking stand among all."""
        if ranking.query_ids not in self._places:
            place = {query: i for i, query in enumerate(self.query_ids)}
            self._places[ranking.query_ids] = np.array([place[query] for query in ranking.query_ids], np.int64)
        return self._places[ranking.query_ids]

    def unjudged(self, convention: Convention) -> bool:
        """Whether nobody judged any document that was retrieved."""
        labels = self.under(convention).labels
        return bool(len(labels)) and bool((labels == UNJUDGED).all())

    def under(self, convention: Convention) -> Ranking:
        """The ranking under a convention's rules of order."""
        level = convention.relevant_at if convention.queries == "relevant" else None
        key = (level, _RANK_AXES(convention))
        if key not in self._made:
            same = order_key(convention)
            if same not in self._ordered:
                # What is in a file is ranked as it is read the first time, and has its columns from the second on.
                scored = self.scored if self._ordered else self._given
                self._ordered[same] = order(
                    self.judged, scored, convention, allow_infinite=self.allow_infinite, shared=self._shared
                )
            self._made[key] = settled(self._ordered[same], convention)
        return self._made[key]


def evaluate_tool(
    judged: Dataset | Judgements,
    scored: NDArray[np.float64] | Run,
    measures: Sequence[str],
    tool: Tool,
    overrides: Mapping[str, Any],
    name: str,
) -> Evaluation:
    """Evaluate loaded data under one tool."""
    return evaluate_rankings(Rankings(judged, scored), measures, tool, overrides, name)


def evaluate_rankings(
    rankings: Rankings, measures: Sequence[str], tool: Tool, overrides: Mapping[str, Any], name: str
) -> Evaluation:
    """The same, sharing rankings between tools."""
    if not measures:
        raise ConventionError("no measure was asked for")
    columns = []
    for asked in measures:
        measure = tool.measure(asked)
        convention = tool.convention_for(measure, **overrides)
        ranking = rankings.under(convention)
        values = measure_values(ranking, measure, convention)
        averaged = averaged_values(ranking, measure, convention, values, rankings.under)
        mean = rounded_mean(mean_of(ranking, measure, convention, averaged), convention)
        weights = weights_of(ranking, measure, convention)
        added = order_of_sum(ranking, convention)
        columns.append(Column(asked, measure, convention, ranking.query_ids, values, mean, weights, added))
    first = rankings.under(columns[0].convention)
    return Evaluation(tool, dict(overrides), name, tuple(columns), summary(first, columns))


def summary(ranking: Ranking, columns: Sequence[Column]) -> dict[str, int]:
    """How many queries there are, and how many are empty, short for the largest cutoff, or tied."""
    cutoff = max((c.measure.cutoff or 0 for c in columns), default=0)
    return {
        "queries": len(ranking.query_ids),
        "empty": int((~ranking.relevant_queries()).sum()),
        "short": int((ranking.sizes() < cutoff).sum()),
        "tied": int(ranking.tied_queries().sum()),
        "cutoff": cutoff,
    }


def read_rankings(
    judged: Any,
    scored: Any,
    *,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
) -> tuple[Rankings, str]:
    """The rankings of whatever people hand over as judged and scored data, and what they are called."""
    data = as_judged(judged, qid=qid, group=group, merge_queries=merge_queries)
    run = as_scored(scored, data, merge_queries=merge_queries, allow_infinite=allow_infinite, in_file=True)
    name = run.name if isinstance(run, (Run, RunFile)) else getattr(scored, "name", None) or "scores"
    return Rankings(data, run, allow_infinite), str(name)


# Type checkers are told what comes back: one tool gives an Evaluation, several give Evaluations.
@overload
def evaluate(
    judged: Any, scored: Any, measures: Any, tool: Several, *, qid: Any = ..., group: Any = ...,
    merge_queries: bool = ..., allow_infinite: bool = ..., **axes: Any,
) -> Evaluations: ...  # fmt: skip
@overload
def evaluate(
    judged: Any, scored: Any, measures: Any = ..., *, tool: Several, qid: Any = ..., group: Any = ...,
    merge_queries: bool = ..., allow_infinite: bool = ..., **axes: Any,
) -> Evaluations: ...  # fmt: skip
@overload
def evaluate(
    judged: Any, scored: Any, measures: Any = ..., tool: str | Tool = ..., *, qid: Any = ..., group: Any = ...,
    merge_queries: bool = ..., allow_infinite: bool = ..., **axes: Any,
) -> Evaluation: ...  # fmt: skip
def evaluate(
    judged: Any,
    scored: Any,
    measures: Any = "NDCG@10",
    tool: str | Tool | Several = "official",
    *,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    **axes: Any,
) -> Evaluation | Evaluations:
    """Evaluate scores or a run against judgements as a tool would, or as several would.

    judged         a Dataset, Judgements, a dict of dicts, a frame, a file; or a label per row, with `qid` or `group`;
                   also ranx's `Qrels`, the records of ir_measures and ir_datasets, lists of expected ids or documents
                   by query (LlamaIndex, Haystack), requests of `_rank_eval`, frames of users, items and ratings
    scored         a score per row of the judged data, a Run, a dict of dicts, a frame, a file; also ranx's `Run`,
                   lists in rank order, answers of `_rank_eval`
    measures       one or several, as texts in any of the field's notations, or as objects of ir_measures
    tool           a name of `pippin.tools`, several, or "all"; one gives an Evaluation, more give Evaluations
    qid, group     the query of each row, or the sizes of the queries as LightGBM takes them
    merge_queries  join a query whose rows do not stand together in a file or frame
    allow_infinite rank infinite scores too; NaN is refused in any case
    axes           any choice of a convention on top of the tool's, such as `relevant_at=2` or `ties="worst"`

    >>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
    >>> run = {"q1": {"d1": 0.5, "d2": 0.7}, "q2": {"d3": 1.0}}
    >>> evaluate(qrels, run, ["RR", "NDCG@10"], tool="trec_eval9").mean["RR"]
    0.75
    >>> labels, scores, qid = [0, 1, 2, 0], [0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2]
    >>> evaluate(labels, scores, "RR", tool=["letor4", "yahoo"], qid=qid).mean
    {'letor4': {'RR': 0.75}, 'yahoo': {'RR': 0.75}}
    """
    check_axes(axes, evaluate)
    asked = texts_of(measures)
    tools = chosen(tool)
    rankings, name = read_rankings(
        judged, scored, qid=qid, group=group, merge_queries=merge_queries, allow_infinite=allow_infinite
    )
    if is_one(tool):
        return evaluate_rankings(rankings, asked, tools[0], axes, name)
    return Evaluations(*said_by(
        tools, lambda one: evaluate_rankings(rankings, asked, one, axes, name), leave_out=isinstance(tool, str)
    ))  # fmt: skip
