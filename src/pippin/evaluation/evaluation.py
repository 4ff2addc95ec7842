"""Values per query, means and evaluations of a ranking under a convention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.data.streaming import LazyRun, RankedRun
from pippin.display import Plottable, ResultsByTool
from pippin.errors import ConventionError, PluginError, UnknownName
from pippin.evaluation.convention import AXES, SORT_DEPENDENT_TIES, Convention
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Measure
from pippin.evaluation.measures.notation import text_of
from pippin.evaluation.rank import SortCache, apply_convention, order_key, sort_lists
from pippin.evaluation.ranking import Ranking, count_judged_queries, relevant_query_ids, topics
from pippin.evaluation.tools import Tool
from pippin.kernels.measures import UNJUDGED, ValueRules, finish_values
from pippin.records import FrozenRecord

Values = NDArray[np.float64]
_AVERAGES = ("counted", "counted-or-none", "or-zero")
_RANK_AXES = attrgetter(*(name for name, axis in AXES.items() if axis.stage == "rank"))


class MeasureResult(FrozenRecord, eq=False):
    """One measure under one convention: a value per query (NaN: not in the mean) and the mean."""

    requested_name: str  # as the user wrote it
    measure: Measure
    convention: Convention
    query_ids: tuple[str, ...]
    values: Values
    mean: float
    weights: Values | None = None  # of the queries in the mean; None: all 1
    summation_order: NDArray[np.int64] | None = None  # of the queries in the mean; None: as listed
    max_label: int | None = None  # largest label of the data, if the measure depends on it

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """Query ids as the convention writes them."""
        return topics(self.query_ids, self.convention)


class Evaluation(Plottable, FrozenRecord, eq=False):
    """The values of one ranking under one tool.

    ``evaluation[measure]`` is the mean of a measure by any of its names; `mean` and `per_query` have the names as
    requested.

    Attributes
    ----------
    tool : Tool
        The tool.
    overrides : dict
        Axes that replace the tool's.
    name : str
        Name of the run.
    columns : tuple of MeasureResult
        One per measure.
    counts : dict
        Numbers of queries: all, empty, short for the largest cutoff, tied.
    ties : dict, optional
        Measure → (worst, best) mean over the orders of tied documents.
    is_default_tool : bool
        Whether the tool is the default for the form of the data, because none was named.
    """

    tool: Tool
    overrides: dict[str, Any]
    name: str
    columns: tuple[MeasureResult, ...]
    counts: dict[str, int] = field(default_factory=dict)
    ties: dict[str, tuple[float, float]] | None = None
    is_default_tool: bool = False

    @cached_property
    def mean(self) -> dict[str, float]:
        """Measure as requested → mean over the queries that count."""
        return {c.requested_name: c.mean for c in self.columns}

    @property
    def unknown_order(self) -> int:
        """Number of queries with tied documents that the tool leaves in an order that Pippin does not know."""
        limit, documents = self.tool.order_limit, self.counts.get("documents")
        if limit is None or documents is None:
            return self.counts.get("unknown_order", 0)
        return self.counts["tied"] if documents > limit.documents and self.counts["queries"] > 1 else 0

    @cached_property
    def per_query(self) -> dict[str, dict[str, float]]:
        """Measure as requested → query → value."""
        return {c.requested_name: dict(zip(c.topics, c.values.tolist(), strict=True)) for c in self.columns}

    def __getitem__(self, measure: Any) -> float:
        text = text_of(measure)
        requested = self.tool.measure(text)
        for column in self.columns:
            if column.requested_name == text or column.measure == requested:
                return column.mean
        raise UnknownName("measure of this evaluation", text, self.mean)

    def to_dict(self) -> dict[str, Any]:
        """Return a long table: query, measure, value."""
        return {
            "query": [query for c in self.columns for query in c.query_ids],
            "measure": [c.requested_name for c in self.columns for _ in c.query_ids],
            "value": np.concatenate([c.values for c in self.columns]),
        }


class Evaluations(ResultsByTool[Evaluation]):
    """The values of one ranking under several tools: `Evaluation` by tool."""

    @property
    def mean(self) -> dict[str, dict[str, float]]:
        """Tool → measure as requested → mean."""
        return {tool: evaluation.mean for tool, evaluation in self.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return a long table: tool, query, measure, value."""
        parts = [evaluation.to_dict() for evaluation in self.values()]
        tools = [tool for tool, part in zip(self, parts, strict=True) for _ in part["query"]]
        joined = {name: [value for part in parts for value in part[name]] for name in ("query", "measure")}
        return {"tool": tools, **joined, "value": np.concatenate([part["value"] for part in parts])}


class SystemEvaluations(Plottable, Mapping[str, Evaluations]):
    """The values of several systems: `Evaluations` by system."""

    def __init__(self, evaluations: Sequence[Evaluation], left_out: Mapping[str, str]) -> None:
        self.evaluations, self.left_out = tuple(evaluations), dict(left_out)

    def __getitem__(self, system: str) -> Evaluations:
        by_tool = {e.tool.name: e for e in self.evaluations if e.name == system}
        if not by_tool:
            raise UnknownName("system of this result", system, self)
        return Evaluations(by_tool, self.left_out)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(e.name for e in self.evaluations))

    def __len__(self) -> int:
        return len({e.name for e in self.evaluations})

    @property
    def mean(self) -> dict[str, dict[str, dict[str, float]]]:
        """System → tool → measure as requested → mean."""
        return {system: self[system].mean for system in self}

    def to_dict(self) -> dict[str, Any]:
        """Return a long table: run, tool, measure, query, value."""
        parts = [evaluation.to_dict() for evaluation in self.evaluations]
        rows = [(e.name, e.tool.name) for e, part in zip(self.evaluations, parts, strict=True) for _ in part["query"]]
        joined = {name: [value for part in parts for value in part[name]] for name in ("measure", "query")}
        value = np.concatenate([part["value"] for part in parts])
        return {"run": [name for name, _ in rows], "tool": [tool for _, tool in rows], **joined, "value": value}


def aggregate(values: Values, method: str, weights: Values | None = None) -> float:
    """Return the mean (or sum) of the values that are not NaN, added from the first query to the last.

    >>> aggregate(np.array([1.0, np.nan, 0.0]), "mean")
    0.5
    """
    if method == "counted-or-none" and not np.nan_to_num(values).any():
        return float("nan")
    terms = np.nan_to_num(values, nan=0.0) if method.startswith("counted") else values[~np.isnan(values)]
    if not len(terms):
        return 0.0 if method == "or-zero" else float("nan")
    if weights is not None:
        weights = weights[~np.isnan(values)]
        return _sum(terms * weights) / _sum(weights) if weights.any() else 0.0
    if method == "geometric":
        # trec_eval replaces values below 0.00001, so that a single 0 does not make the mean 0.
        return float(np.exp(_sum(np.log(np.maximum(terms, 1e-5))) / len(terms)))
    total = _sum(terms)
    return total if method == "sum" else total / len(terms)


def _sum(values: Values) -> float:
    """Add from left to right, as the tools do; NumPy's pairwise sum differs in the last digit."""
    return float(np.cumsum(values)[-1])


def weights_of(ranking: Ranking, measure: Measure, convention: Convention) -> Values | None:
    """Return the weights of the queries in the mean of a measure; None if all are equal."""
    weigh = MEASURE_DEFINITIONS[measure.kind].weights
    return weigh(ranking, convention, measure) if convention.averaging == "weighted" and weigh is not None else None


def mean_of(ranking: Ranking, measure: Measure, convention: Convention, values: Values) -> float:
    """Return the value of a run: the mean over its queries under the convention."""
    kind = MEASURE_DEFINITIONS[measure.kind]
    if kind.run_function is not None:
        return kind.run_function(ranking, convention, measure, values)
    if convention.averaging == "judged-or-none" and relevant_query_ids(ranking, convention) - set(ranking.query_ids):
        return float("nan")
    weights, order = weights_of(ranking, measure, convention), summation_order(ranking, convention)
    if order is not None:
        values, weights = values[order], None if weights is None else weights[order]
    mean = mean_of_values(measure, convention, values, weights)
    if convention.averaging == "judged" and kind.aggregate == "mean" and ranking.qrels is not None:
        count = count_judged_queries(ranking.qrels, convention)
        return mean * int((~np.isnan(values)).sum()) / count if count else float("nan")
    return mean


def summation_order(ranking: Ranking, convention: Convention) -> NDArray[np.int64] | None:
    """Return the order of the queries in the run if the tool rounds means; None: as listed.

    The order changes the last digit of a sum, and with it the rounding of a mean that ends in 5.
    """
    if convention.mean_digits is None or ranking.run_positions is None:
        return None
    return np.argsort(ranking.run_positions, kind="stable")


def mean_of_values(measure: Measure, convention: Convention, values: Values, weights: Values | None) -> float:
    """Return the mean of values, for conventions that need only the values and their weights."""
    if convention.averaging in ("all-or-none", "judged-or-none") and np.isnan(values).any():
        return float("nan")
    return aggregate(values, aggregate_of(measure, convention), weights)


def aggregate_of(measure: Measure, convention: Convention) -> str:
    """Return the method of `aggregate` for a measure: mean, sum, geometric, or a variant of the mean."""
    method = MEASURE_DEFINITIONS[measure.kind].aggregate
    return convention.averaging if method == "mean" and convention.averaging in _AVERAGES else method


def rounded_mean(mean: float, convention: Convention) -> float:
    """Return the mean, rounded if the convention rounds it."""
    if convention.mean_digits is None:
        return mean
    if convention.mean_rounding == "scaled":
        return float(np.round(mean, convention.mean_digits))
    return float(f"{mean:.{convention.mean_digits}f}")


def value_rules(convention: Convention, measure: Measure) -> ValueRules:
    """Return how a convention treats empty queries and rounds values.

    Skipped empty queries are skipped for every measure, also where the measure is defined. Exceptions: under
    ``negative_labels="label"`` NDCG, and under ``bpref_no_nonrelevant="undefined"`` Bpref decide it themselves.
    """
    defines_empty = (convention.negative_labels == "label" and measure.kind in ("NDCG", "nAUC_ndcg")) or (
        convention.bpref_no_nonrelevant == "undefined" and measure.kind == "Bpref"
    )
    skip_empty = (convention.empty is None and not defines_empty) or convention.query_selection == "relevant"
    return _value_rules(convention.empty, skip_empty, convention.value_rounding)


@lru_cache(maxsize=64)
def _value_rules(empty: float | None, skip_empty: bool, rounding: str | int) -> ValueRules:
    return ValueRules(empty=float("nan") if empty is None else empty, skip_empty=skip_empty, rounding=rounding)


def measure_values(ranking: Ranking, measure: Measure, convention: Convention) -> Values:
    """Return a value per query as it enters the mean: empty queries and rounding as in the convention."""
    kind = MEASURE_DEFINITIONS[measure.kind]
    if ranking.expected and not kind.supports_expected_ties and ranking.tied.any():
        raise ConventionError(
            f"{measure} lacks a closed form of its expectation over ties; choose another rule for ties"
        )
    if ranking.shares_ranks and not kind.supports_shared_ranks and ranking.tied.any():
        raise ConventionError(f"{measure} is undefined if tied documents share a rank; choose another rule for ties")
    values = np.asarray(kind.function(ranking, convention, measure))
    queries = len(ranking.query_ids)
    if values.shape != (queries,) or values.dtype.kind not in "biuf":
        raise PluginError(
            f"measure {kind.name} must return {queries} numbers, one per query, got {values.dtype}{values.shape}"
        )
    values = np.ascontiguousarray(values, np.float64)
    rule = value_rules(convention, measure)
    values = finish_values(values, ranking.pool, ranking.pool_offsets, convention.relevance_threshold, rule)
    return np.where(values == 0, np.nan, values) if convention.zero_values == "drop" else values


def averaged_values(
    ranking: Ranking, measure: Measure, convention: Convention, values: Values, rank: Callable[[Convention], Ranking]
) -> Values:
    """Return the values that enter the mean; under ``averaging="batch"`` those of lists padded to the longest.

    `rank` ranks the same data under another convention.
    """
    if convention.averaging != "batch" or convention.ties != "introsort" or not ranking.tied.any():
        return values
    padded = convention.replace(partial_sort_depth=int(ranking.sizes().max()))
    return measure_values(rank(padded), measure, padded)


class RankingCache:
    """Rankings of the same qrels and scores under any number of conventions, each computed once."""

    def __init__(
        self,
        qrels: Dataset | Qrels,
        run: NDArray[np.float64] | Run | LazyRun | RankedRun,
        allow_infinite: bool = False,
        max_label: int | None = None,
        label_values: Values | None = None,
    ) -> None:
        self.qrels, self.allow_infinite = qrels, allow_infinite
        self.label_values = label_values  # by label, if the labels number fractional ones
        self.max_label = max_label  # largest label of the data of which these are a part
        self._source = run
        self._rankings: dict[tuple[Any, ...], Ranking] = {}
        self._sort_cache = SortCache()
        self.mixtures: dict[Any, dict[Any, Any]] = {}  # results that reconcile has computed
        self._positions: dict[tuple[str, ...], NDArray[np.int64]] = {}
        self._sorted: dict[tuple[Any, ...], Ranking] = {}  # by `order_key`

    @cached_property
    def run(self) -> NDArray[np.float64] | Run:
        """The scores, or the run, loaded if it was in a file."""
        if isinstance(self._source, RankedRun):
            return self._source.load()
        return self._source.run if isinstance(self._source, LazyRun) else self._source

    @cached_property
    def label_range(self) -> tuple[int, int]:
        """The lowest and the highest label, or 0."""
        labels = self.qrels.labels
        return int(labels.min(initial=0)), max(int(labels.max(initial=0)), self.max_label or 0)

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """All queries: the judged ones, then the unjudged ones of the run."""
        return tuple(dict.fromkeys((*self.qrels.query_ids, *getattr(self.run, "query_ids", ()))))

    def has_equal_gains(self, first: Convention, second: Convention) -> bool:
        """Return whether all labels have the same gain under two rules for gains."""
        lowest, highest = self.label_range
        try:
            return lowest >= 0 and np.array_equal(first.gains(highest, highest), second.gains(highest, highest))
        except ConventionError:
            return False

    def positions(self, ranking: Ranking) -> NDArray[np.int64]:
        """Return the positions of a ranking's queries in `query_ids`."""
        if ranking.query_ids not in self._positions:
            position = {query: i for i, query in enumerate(self.query_ids)}
            self._positions[ranking.query_ids] = np.array([position[query] for query in ranking.query_ids], np.int64)
        return self._positions[ranking.query_ids]

    def has_no_judged_document(self, convention: Convention) -> bool:
        """Return whether documents were retrieved and none of them is judged."""
        labels = self.for_convention(convention).labels
        return bool(len(labels)) and bool((labels == UNJUDGED).all())

    def for_convention(self, convention: Convention) -> Ranking:
        """Return the ranking under a convention."""
        level = convention.relevance_threshold if convention.query_selection == "relevant" else None
        key = (level, _RANK_AXES(convention))
        if key not in self._rankings:
            sort_key = order_key(convention)
            if sort_key not in self._sorted:
                # The first order ranks a run file while it is parsed; a second one loads its columns.
                run = self.run if self._sorted else self._source
                self._sorted[sort_key] = sort_lists(
                    self.qrels, run, convention, allow_infinite=self.allow_infinite, shared=self._sort_cache
                )
                if self.max_label is not None:
                    self._sorted[sort_key] = replace(self._sorted[sort_key], max_label=self.max_label)
            self._rankings[key] = apply_convention(self._sorted[sort_key], convention)
        return self._rankings[key]


def evaluate_tool(
    qrels: Dataset | Qrels,
    run: NDArray[np.float64] | Run,
    measures: Sequence[str],
    tool: Tool,
    overrides: Mapping[str, Any],
    name: str,
) -> Evaluation:
    """Evaluate loaded data under one tool."""
    return evaluate_rankings(RankingCache(qrels, run), measures, tool, overrides, name)


def ties_range(
    rankings: RankingCache, measures: Sequence[str], tool: Tool, overrides: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """Return measure → (worst, best) mean over the orders of tied documents."""
    worst, best = (
        evaluate_rankings(rankings, measures, tool, {**overrides, "ties": bound}, "").mean
        for bound in ("worst", "best")
    )
    return {measure: (worst[measure], best[measure]) for measure in worst}


def evaluate_rankings(
    rankings: RankingCache, measures: Sequence[str], tool: Tool, overrides: Mapping[str, Any], name: str
) -> Evaluation:
    """Evaluate cached rankings under one tool."""
    if not measures:
        raise ConventionError("no measure was requested")
    columns = []
    for text in measures:
        measure = tool.measure(text)
        convention = tool.convention_for(measure, **overrides)
        if rankings.label_values is not None:
            convention = tool.fractions.apply(tool.name, measure, convention, rankings.label_values)
        else:
            for limit in tool.label_limits:
                limit.check(tool.name, measure, convention, rankings.label_range)
        ranking = rankings.for_convention(convention)
        values = measure_values(ranking, measure, convention)
        averaged = averaged_values(ranking, measure, convention, values, rankings.for_convention)
        mean = rounded_mean(mean_of(ranking, measure, convention, averaged), convention)
        weights = weights_of(ranking, measure, convention)
        order = summation_order(ranking, convention)
        top = max(ranking.max_label or 0, ranking.largest_label) if depends_on_max_label(measure, convention) else None
        columns.append(MeasureResult(text, measure, convention, ranking.query_ids, values, mean, weights, order, top))
    first = rankings.for_convention(columns[0].convention)
    counts = count_queries(first, columns) | count_unknown_orders(first, columns, tool)
    return Evaluation(tool, dict(overrides), name, tuple(columns), counts)


def count_unknown_orders(ranking: Ranking, columns: Sequence[MeasureResult], tool: Tool) -> dict[str, int]:
    """Count the documents or the tied queries that decide whether Pippin knows the tool's order of tied documents."""
    limit = tool.order_limit
    if limit is None or not any(
        c.convention.ties in SORT_DEPENDENT_TIES and limit.cutoff in (None, c.measure.cutoff) for c in columns
    ):
        return {}
    if limit.of == "run":
        return {"documents": len(ranking.labels)}
    return {"unknown_order": int((ranking.tied_queries() & (ranking.sizes() > limit.documents)).sum())}


def depends_on_max_label(measure: Measure, convention: Convention) -> bool:
    """Return whether a measure depends on the largest label of the data, besides the labels of each query."""
    kind = MEASURE_DEFINITIONS[measure.kind]
    by_gain = convention.gain == "share" and kind.depends_on("gain")
    return by_gain or (convention.err_max_grade == "data" and kind.depends_on("err_max_grade"))


def count_queries(ranking: Ranking, columns: Sequence[MeasureResult]) -> dict[str, int]:
    """Count all queries and those that are empty, shorter than the largest cutoff, or tied."""
    cutoff = max((c.measure.cutoff or 0 for c in columns), default=0)
    return {
        "queries": len(ranking.query_ids),
        "empty": int((~ranking.relevant_queries()).sum()),
        "short": int((ranking.sizes() < cutoff).sum()),
        "tied": int(ranking.tied_queries().sum()),
        "cutoff": cutoff,
    }
