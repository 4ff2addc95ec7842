"""Divide the difference between two tools' values among the axes on which they differ.

The axes that differ between two conventions are switched one by one in every order. The contribution of an axis is the
average change that its switch causes (its Shapley value). Contributions do not depend on an order, sum to the
difference, and are also kept per query. Axes that act together, such as the two that define a gain, count as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import factorial, isnan
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pippin.data.inputs import coerce_judgements
from pippin.display import Plottable, ResultsByTool, rows_to_columns
from pippin.display.terminal import progress
from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.evaluate import default_tool, read_rankings
from pippin.evaluation.evaluation import (
    RankingCache,
    aggregate_of,
    averaged_values,
    evaluate_rankings,
    mean_of,
    measure_values,
    rounded_mean,
    weights_of,
)
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Measure
from pippin.evaluation.measures.notation import texts_of
from pippin.evaluation.rank import has_only_relevant
from pippin.evaluation.ranking import Ranking, count_judged_queries
from pippin.evaluation.tools import (
    TOOLS,
    Tool,
    ToolSelection,
    is_single_tool,
    names_only_groups,
    resolve_tools,
    run_tools,
)
from pippin.kernels.measures import UNJUDGED

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AxisContribution:
    """The part of a difference that one axis causes, or several axes that act together.

    Attributes
    ----------
    axis : str
        The axis, or the first of several.
    before, after : object
        Its values under the two tools.
    value : float
        The contribution to the difference of the means.
    evidence : str
        What in the data the choice changes, with a count.
    per_query : ndarray of shape (n_queries,)
        The contribution of each query.
    axes : tuple of str
        All axes that act together.
    """

    axis: str
    before: Any
    after: Any
    value: float
    evidence: str
    per_query: Values
    axes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the choice in a sentence."""
        return " and ".join(AXES[axis].label for axis in self.axes or (self.axis,))


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation(Plottable):
    """The difference between two tools' values of one ranking, as contributions that sum to it.

    Attributes
    ----------
    measure : str
        The measure.
    source, target : Tool
        The two tools.
    before, after : float
        Their values as printed.
    contributions : tuple of AxisContribution
        Largest first.
    query_ids : tuple of str
        The queries of `AxisContribution.per_query`.
    """

    measure: str
    source: Tool
    target: Tool
    before: float
    after: float
    contributions: tuple[AxisContribution, ...]
    query_ids: tuple[str, ...]

    @property
    def difference(self) -> float:
        """The target's value minus the source's, as printed."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Return a long table: measure, from, to, choice, value."""
        rows = [(self.measure, self.source.name, self.target.name, c.axis, c.value) for c in self.contributions]
        return rows_to_columns(rows, "measure", "from", "to", "choice", "value")

    def sentence(self) -> str:
        """Return the difference and its causes in one sentence."""
        head = f"{self.target.name} − {self.source.name} = {signed(self.difference)}"
        causes = [c for c in self.contributions if abs(c.value) >= 5e-5]
        if not causes:
            return f"{head}: {'only the last digits differ' if self.difference else 'the two agree'}."
        parts = (f"{c.label} {signed(c.value)}" + (f" ({c.evidence})" if c.evidence else "") for c in causes)
        return f"{head}: {', '.join(parts)}."

    def top_queries(self, contribution: AxisContribution, count: int = 3) -> list[tuple[str, float]]:
        """Return the queries with the largest part of a contribution.

        Parameters
        ----------
        contribution : AxisContribution
            Contribution of one axis.
        count : int, default 3
            Number of queries.
        """
        order = np.argsort(-np.abs(contribution.per_query), kind="stable")[:count]
        values = [(self.query_ids[i], float(contribution.per_query[i])) for i in order]
        return [(query, value) for query, value in values if value]


class Reconciliations(ResultsByTool[Reconciliation]):
    """Why several tools differ from one: `Reconciliation` by tool."""

    def to_dict(self) -> dict[str, Any]:
        """Return a long table: measure, from, to, choice, value."""
        parts = [reconciliation.to_dict() for reconciliation in self.values()]
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def signed(value: float, digits: int = 3) -> str:
    """Format a number with its sign.

    >>> signed(-0.24561), signed(0.00002)
    ('−0.246', '+0.00002')
    """
    if value and abs(value) < 0.5 * 10**-digits:
        digits = 5
    return ("−" if value < 0 else "+") + f"{abs(value):.{digits}f}"


@overload
def reconcile(
    qrels: Any, run: Any, measure: str = ..., source: str | Tool | None = ..., target: ToolSelection = ..., *,
    qid: Any = ..., group: Any = ..., merge_queries: bool = ..., verbose: bool = ...,
) -> Reconciliations: ...  # fmt: skip
@overload
def reconcile(
    qrels: Any, run: Any, measure: str, source: str | Tool | None, target: str | Tool, *,
    qid: Any = ..., group: Any = ..., merge_queries: bool = ..., verbose: bool = ...,
) -> Reconciliation: ...  # fmt: skip
@overload
def reconcile(
    qrels: Any, run: Any, measure: str = ..., source: str | Tool | None = ..., *, target: str | Tool,
    qid: Any = ..., group: Any = ..., merge_queries: bool = ..., verbose: bool = ...,
) -> Reconciliation: ...  # fmt: skip
@overload
def reconcile(
    qrels: Any, run: Any, measure: list[str], source: str | Tool | None = ...,
    target: str | Tool | ToolSelection = ..., *, qid: Any = ..., group: Any = ..., merge_queries: bool = ...,
    verbose: bool = ...,
) -> list[Reconciliations]: ...  # fmt: skip
def reconcile(
    qrels: Any,
    run: Any,
    measure: Any = "NDCG@10",
    source: str | Tool | None = None,
    target: str | Tool | ToolSelection = "classic",
    *,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    verbose: bool = False,
) -> Reconciliation | Reconciliations | list[Reconciliations]:
    """Explain why tools report different values for one ranking: divide the difference among their choices.

    Both ends are the values that `evaluate` gives; a pair of tools for which this cannot be achieved is refused.

    Parameters
    ----------
    qrels, run
        As in `evaluate`.
    measure : str or list, default "NDCG@10"
        One measure, or a list, which gives a list of results.
    source : str or Tool, optional
        The tool whose value is the base; by default ``"trec_eval9"`` for qrels and ``"official"`` for data sets.
    target : str, Tool or list, default "classic"
        The tools to explain. Of a group, tools that cannot be reconciled are left out.
    qid, group, merge_queries
        As in `evaluate`.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    Reconciliation, Reconciliations or list of Reconciliations
        One target gives a `Reconciliation`, several give one per tool, a list of measures gives a list.

    Raises
    ------
    ConventionError
        If a tool that was named cannot evaluate or cannot be reconciled.

    Examples
    --------
    >>> labels, scores, qid = [0, 1, 2, 0], [0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2]
    >>> result = reconcile(labels, scores, "NDCG@2", "yahoo", "letor4", qid=qid)
    >>> result.sentence()
    'letor4 − yahoo = +0.185: discount +0.185 (log2 → letor).'
    """
    measures = texts_of(measure)
    targets = resolve_tools(target)
    if source is None:
        qrels, qid, group = coerce_judgements(qrels, qid=qid, group=group, merge_queries=merge_queries), None, None
        source = default_tool(qrels)
    base = TOOLS[source] if isinstance(source, str) else source
    if not is_single_tool(target):
        targets = [tool for tool in targets if tool is not base]
    if not targets:
        raise ConventionError(f"name a tool to compare with {base.name}")
    for text in measures:
        for tool in targets:
            parse_for_both(text, base, tool)
    rankings, _ = read_rankings(qrels, run, qid=qid, group=group, merge_queries=merge_queries)
    results = []
    with progress(len(targets) * len(measures), "reconciling", enabled=verbose) as bar:
        for text in measures:

            def explain(tool: Tool, text: str = text) -> Reconciliation:
                reconciliation = reconcile_rankings(rankings, text, base, tool)
                bar.step(tool.name)
                return reconciliation

            results.append(Reconciliations(*run_tools(targets, explain, leave_out=names_only_groups(target))))
    if isinstance(measure, (list, tuple)):
        return results
    return results[0][targets[0].name] if is_single_tool(target) else results[0]


def reconcile_rankings(rankings: RankingCache, text: str, source: Tool, target: Tool) -> Reconciliation:
    """Divide the difference between two tools' values of cached rankings."""
    measure, first, last, ends = reconcile_ends(rankings, text, source, target)
    groups = _axis_groups(measure, first, last)
    query_ids, amounts, means = _shapley(rankings, measure, first, last, groups)
    contributions = [
        AxisContribution(
            group[0], getattr(first, group[0]), getattr(last, group[0]), float(amounts[i].sum()),
            _evidence(rankings, measure, group, first, last, amounts[i]), amounts[i], group,
        )
        for i, group in enumerate(groups)
    ]  # fmt: skip
    printed = [round_as_printed(end, c.printed_digits) for end, c in zip(ends, (first, last), strict=True)]
    rounding = (printed[1] - means[1]) - (printed[0] - means[0])
    if rounding:
        digits = first.printed_digits, last.printed_digits
        contributions.append(AxisContribution("printed_digits", *digits, rounding, "", np.zeros(len(query_ids))))
    contributions.sort(key=lambda c: -abs(c.value))
    return Reconciliation(text, source, target, printed[0], printed[1], tuple(contributions), query_ids)


def reconcile_ends(
    rankings: RankingCache, text: str, source: Tool, target: Tool
) -> tuple[Measure, Convention, Convention, tuple[float, float]]:
    """Return the measure, both conventions and the values of `evaluate` under them.

    Raises ConventionError if the difference cannot be divided: the tools compute different measures, a value is
    undefined, or switching all axes that differ does not lead from one value to the other.
    """
    measures = parse_for_both(text, source, target)
    measure, target_measure = (replace(m, overrides=()) for m in measures)
    if measure != target_measure:
        raise ConventionError(
            f"{text} is {measures[0]} in {source.name} and {measures[1]} in {target.name}: two measures"
        )
    kind = MEASURE_DEFINITIONS[measure.kind]
    if kind.aggregate != "mean" or kind.run_function is not None:
        raise ConventionError(f"{text} is not a mean over queries, so its difference cannot be divided")
    # An axis that only one tool's own name of the measure sets is a choice like any other.
    first, last = source.convention_for(measures[0]), target.convention_for(measures[1])
    if rankings.has_equal_gains(first, last):
        last = last.replace(gain=first.gain)
    ends = []
    for parsed, tool in zip(measures, (source, target), strict=True):
        ends.append(evaluate_rankings(rankings, [parsed.text], tool, {}, "").columns[0].mean)
        if isnan(ends[-1]):
            raise ConventionError(f"{text} is undefined under {tool.name}, so the difference cannot be divided")
    cache = rankings.mixtures.setdefault((measure, first), {})
    mixtures, _ = _mixtures(_axis_groups(measure, first, last), last)
    for mixture, convention, end in zip((mixtures[0], mixtures[-1]), (first, last), ends, strict=True):
        if mixture not in cache:
            cache[mixture] = _Mixture(rankings, measure, _mix(first, mixture))
        tolerance = 1e-9 * max(1.0, *map(abs, ends))  # sums of large gains
        reached = rounded_mean(cache[mixture].mean, convention)
        total = float(cache[mixture].contributions.sum())
        if abs(reached - end) > tolerance or abs(total - cache[mixture].mean) > tolerance:
            raise ConventionError(f"{text} cannot be reconciled from {source.name} to {target.name}")
    return measure, first, last, (ends[0], ends[1])


def parse_for_both(text: str, source: Tool, target: Tool) -> tuple[Measure, Measure]:
    """Parse a measure for two tools; a name that only one of them knows means the same for both."""
    parsed: list[Measure | None] = []
    for tool in (source, target):
        try:
            parsed.append(tool.measure(text))
        except UnknownName:
            parsed.append(None)
    known = parsed[0] or parsed[1]
    if known is None:
        raise UnknownName("measure", text, MEASURE_DEFINITIONS)
    return parsed[0] or known, parsed[1] or known


def round_as_printed(value: float, digits: int) -> float:
    """Round to the digits that a tool prints."""
    return float(f"{value:.{digits}f}")


# Axes that define one rule together. The last group is merged only if a tool selects queries by their relevant
# documents, which is what skipping empty queries does, too.
_GROUPS = (
    ("ties", "partial_sort_depth", "tie_scope"),
    ("gain", "gain_threshold"),
    ("ideal_source", "pool_source"),
    ("query_selection", "empty"),
)


@lru_cache(maxsize=256)
def _axis_groups(measure: Measure, first: Convention, last: Convention) -> tuple[tuple[str, ...], ...]:
    """Return the axes that differ and can change this measure, in groups that act together."""
    depends_on = MEASURE_DEFINITIONS[measure.kind].depends_on
    # Skipped empty queries and their weight affect the mean of every measure. Which queries are empty depends on the
    # relevance threshold, also for measures that do not use it themselves.
    always = ("empty", "averaging", "relevance_threshold")
    axes = [axis for axis in first.differences(last) if axis in always or depends_on(axis)]
    by_relevance = any(c.query_selection.startswith("relevant") for c in (first, last))
    groups: dict[str, list[str]] = {}
    for axis in axes:
        group = next((g for g in _GROUPS if axis in g and (g[0] != "query_selection" or by_relevance)), (axis,))
        groups.setdefault(group[0], []).append(axis)
    return tuple(map(tuple, groups.values()))


def _shapley(
    rankings: RankingCache, measure: Measure, first: Convention, last: Convention, groups: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], Values, tuple[float, float]]:
    """Return query ids, contributions per group and query, and the means under both conventions."""
    query_ids = rankings.query_ids
    amounts = np.zeros((len(groups), len(query_ids)))
    cache = rankings.mixtures.setdefault((measure, first), {})  # tools have many mixtures in common
    mixtures, weights = _mixtures(groups, last)
    for mixture, weight in zip(mixtures, weights, strict=True):
        if mixture not in cache:
            cache[mixture] = _Mixture(rankings, measure, _mix(first, mixture))
        amounts += weight * cache[mixture].contributions
    return query_ids, amounts, (cache[mixtures[0]].mean, cache[mixtures[-1]].mean)


@lru_cache(maxsize=256)
def _mixtures(groups: tuple[tuple[str, ...], ...], last: Convention) -> tuple[list[frozenset[tuple[str, Any]]], Values]:
    """Return every set T of groups as the axis values that it switches, from none to all, and its weights.

    With c(T) the vector of each query's contribution to the mean if the groups in T are switched, the contribution of
    group i is Σ_T w(T) c(T), with w = (|T|−1)! (d−|T|)! / d! if i is in T and −|T|! (d−|T|−1)! / d! otherwise.
    """
    d = len(groups)
    inside = [factorial(size - 1) * factorial(d - size) / factorial(d) if size else 0.0 for size in range(d + 1)]
    outside = [factorial(size) * factorial(d - size - 1) / factorial(d) if size < d else 0.0 for size in range(d + 1)]
    values = [[(axis, getattr(last, axis)) for axis in group] for group in groups]
    mixtures, weights = [], np.empty((1 << d, d, 1))
    for subset in range(1 << d):
        mixtures.append(frozenset(value for i, group in enumerate(values) if subset >> i & 1 for value in group))
        size = subset.bit_count()
        weights[subset, :, 0] = [inside[size] if subset >> i & 1 else -outside[size] for i in range(d)]
    return mixtures, weights


@lru_cache(maxsize=4096)
def _mix(first: Convention, values: frozenset[tuple[str, Any]]) -> Convention:
    """Return a convention with some axes switched; folds and rankers share the cache."""
    return first.replace(**dict(values))


class _Mixture:
    """The values of rankings under a mixture of two conventions."""

    def __init__(self, rankings: RankingCache, measure: Measure, convention: Convention) -> None:
        self.measure, self.convention, self.ranking = measure, convention, rankings.for_convention(convention)
        values = measure_values(self.ranking, measure, convention)
        self.values = averaged_values(self.ranking, measure, convention, values, rankings.for_convention)
        self.contributions = self._contributions(rankings)

    @cached_property
    def mean(self) -> float:
        """The mean over queries."""
        return mean_of(self.ranking, self.measure, self.convention, self.values)

    def _contributions(self, rankings: RankingCache) -> Values:
        """Return the term of each query in the mean."""
        weights = weights_of(self.ranking, self.measure, self.convention)
        undefined = np.isnan(self.values)
        terms = np.where(undefined, 0.0, self.values)
        counts_undefined = aggregate_of(self.measure, self.convention).startswith("counted")
        counted = np.ones(len(undefined), np.bool_) if counts_undefined else ~undefined
        divisor = float(np.count_nonzero(counted))
        if weights is not None:
            weights = np.where(counted, weights, 0.0)
            terms, divisor = terms * weights, float(weights.sum())
        elif self.convention.averaging == "judged":
            divisor *= count_judged_queries(rankings.qrels, self.convention) / max(divisor, 1.0)
        contributions = np.zeros(len(rankings.query_ids))
        if divisor:
            contributions[rankings.positions(self.ranking)] = terms / divisor
        return contributions


# Evidence: counts of what a choice changes in the data. A count is a number, the total (0: not stated), and a phrase.
Count = tuple[int, int, str]
Counter = Callable[[RankingCache, Measure, Convention, Convention], list[Count]]


def _evidence(
    rankings: RankingCache, measure: Measure, group: tuple[str, ...], first: Convention, last: Convention,
    per_query: Values,
) -> str:  # fmt: skip
    """Return what in the data makes a choice matter; counts of 0 are left out."""
    counters = list(dict.fromkeys(_COUNTERS[axis] for axis in group if axis in _COUNTERS))
    counts = [count for counter in counters for count in counter(rankings, measure, first, last) if count[0]]
    if counts:
        return ", ".join(
            f"{number} of {total} {phrase}" if total else f"{number} {phrase}"
            for number, total, phrase in dict.fromkeys(counts)
        )
    texts = (" → ".join(AXES[axis].text(getattr(c, axis)) for c in (first, last)) for axis in group)
    if not counters:
        return ", ".join(texts)
    changed = int(np.count_nonzero(np.abs(per_query) > 1e-12))
    return f"{', '.join(texts)}; changes {changed} of {len(per_query)} queries" if changed else ", ".join(texts)


def _queries(rankings: RankingCache, convention: Convention) -> Ranking:
    """Rank all judged queries under a convention, whichever it selects."""
    return rankings.for_convention(
        convention.replace(query_selection="judged", min_retrieved=0, all_relevant_lists="keep")
    )


def _most(*counts: Count) -> list[Count]:
    """Return the largest of several counts of the same thing."""
    return [max(counts)]


def _count_short(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    cutoff = measure.cutoff or 0
    phrase = f"queries have fewer than {cutoff} documents"
    sizes = [_queries(rankings, c).sizes() for c in (first, last)]
    return _most(*((int((size < cutoff).sum()), len(size), phrase) for size in sizes))


def _count_empty_under(rankings: RankingCache, measure: Measure, convention: Convention) -> Count:
    """Count queries without a relevant document and, if the ideal is made from the list, lists without one."""
    threshold = convention.relevance_threshold
    ranking = _queries(rankings, convention)
    values = MEASURE_DEFINITIONS[measure.kind].function(ranking, convention, measure)
    empty = ~ranking.relevant_queries(threshold) | np.isnan(values)
    relevant = _queries(rankings, convention.replace(pool_source="judged")).relevant_queries(threshold)
    place = " in the list" if (empty & relevant).any() else ""
    # Queries of the run without judgements are empty, too, if they count.
    unjudged = len(rankings.query_ids) - len(relevant) if convention.query_selection == "run" else 0
    return int(empty.sum()) + unjudged, len(relevant) + unjudged, f"queries have no relevant document{place}"


def _count_empty(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    # A mixture of the two can leave more queries empty than either: the choices that leave most.
    caps = [c.max_valid_label for c in (first, last) if c.max_valid_label is not None]
    strictest = last.replace(
        ideal_source="list" if "list" in (first.ideal_source, last.ideal_source) else "judged",
        pool_source="list" if "list" in (first.pool_source, last.pool_source) else "judged",
        max_valid_label=min(caps, default=None),
        relevance_threshold=max(first.relevance_threshold, last.relevance_threshold),
    )
    return _most(*(_count_empty_under(rankings, measure, convention) for convention in (first, last, strictest)))


def _count_only_relevant(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    rankings_of = [(_queries(rankings, c), c.relevance_threshold) for c in (first, last)]
    return _most(
        *(
            (int(has_only_relevant(r.labels, r.offsets, threshold).sum()), len(r.query_ids),
             "lists have only relevant documents")
            for r, threshold in rankings_of
        )
    )  # fmt: skip


def _count_ties(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    by_score = first.replace(ties="input", list_order="score")
    single, double = (_queries(rankings, by_score.replace(score_precision=p)) for p in ("float32", "float64"))
    ranking = single if "float32" in (first.score_precision, last.score_precision) else double
    number = int(ranking.tied_queries().sum())
    precision = " in single precision" if number > int(double.tied_queries().sum()) else ""
    counts = [(number, len(ranking.query_ids), f"queries have tied scores{precision}")]
    if "topk-of-all" in (first.ties, last.ties):
        depth = max(first.partial_sort_depth, last.partial_sort_depth)
        short = int((ranking.sizes() < depth).sum())
        counts.append((short, len(ranking.query_ids), f"lists of fewer than {depth} documents are padded"))
    if "introsort" in (first.ties, last.ties):
        depth = max(first.partial_sort_depth, last.partial_sort_depth)
        counts.append((int((ranking.sizes() < depth).sum()), len(ranking.query_ids), f"lists are padded to {depth}"))
    return counts


def _count_precision_ties(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    single, double = (
        _queries(rankings, first.replace(ties="input", list_order="score", score_precision=p)).tied
        for p in ("float32", "float64")
    )
    number = int(single.sum()) - int(double.sum())
    return [(number, 0, "documents are tied with the one before in single precision only")]


def _count_high_labels(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    top = min(c.max_valid_label for c in (first, last) if c.max_valid_label is not None)
    labels = rankings.qrels.labels
    return [(int((labels > top).sum()), 0, f"labels are above {top}")]


def _count_weak_labels(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    low, high = sorted((first.relevance_threshold, last.relevance_threshold))
    labels = rankings.qrels.labels
    grades = f"{low}" if high == low + 1 else f"{low} to {high - 1}"
    return [(int(((labels >= low) & (labels < high)).sum()), len(labels), f"labels are {grades}")]


def _count_selected(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    judged = rankings.qrels.query_ids
    retrieved = set(getattr(rankings.run, "query_ids", judged))
    selections = {first.query_selection, last.query_selection}
    counts = [(sum(query not in retrieved for query in judged), len(judged), "judged queries are not in the run")]
    if "run" in selections:
        unjudged = len(rankings.query_ids) - len(judged)
        counts.append((unjudged, len(retrieved), "queries of the run are not judged"))
    if any(selection.startswith("relevant") for selection in selections):
        counts += _count_empty(rankings, measure, first, last)
    return counts


def _count_retrieved(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    minimum = max(first.min_retrieved, last.min_retrieved)
    sizes = [_queries(rankings, c).sizes() for c in (first, last)]
    phrase = f"queries have fewer than {minimum} retrieved documents" if minimum > 1 else "queries retrieve nothing"
    return _most(*((int((size < minimum).sum()), len(size), phrase) for size in sizes))


def _count_low_scores(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    scores = _queries(rankings, first.replace(score_floor="none")).scores
    if "drop" in (first.score_floor, last.score_floor):
        return [(int((scores < 0).sum()), len(scores), "documents have a score below 0")]
    return [(int((scores <= 0).sum()), len(scores), "documents have a score of 0 or less")]


def _count_negative(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    labels = rankings.qrels.labels
    return [(int((labels < 0).sum()), len(labels), "labels are below 0")]


def _count_unjudged(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    labels = _queries(rankings, first.replace(unjudged_documents="zero")).labels
    return [(int((labels == UNJUDGED).sum()), len(labels), "retrieved documents are not judged")]


def _count_unsorted(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    ranking = _queries(rankings, first.replace(list_order="given", score_floor="none"))
    rising = np.flatnonzero(np.diff(ranking.scores) > 0) + 1
    lists = np.searchsorted(ranking.offsets, np.setdiff1d(rising, ranking.offsets), side="right")
    return [(len(np.unique(lists)), len(ranking.query_ids), "lists are not in the order of their scores")]


def _count_deep_ideals(rankings: RankingCache, measure: Measure, first: Convention, last: Convention) -> list[Count]:
    ranking, cutoff = _queries(rankings, first), measure.cutoff or 0
    query = np.repeat(np.arange(len(ranking.query_ids)), np.diff(ranking.pool_offsets))
    relevant = np.bincount(query, ranking.pool > 0, len(ranking.query_ids))
    depths = {first.ideal_depth, last.ideal_depth}
    if "list" in depths:
        lengths = np.minimum(ranking.sizes(), cutoff) if cutoff and "none" not in depths else ranking.sizes()
        return [(int((relevant > lengths).sum()), len(relevant), "queries have more relevant documents than the list")]
    return [(int((relevant > cutoff).sum()), len(relevant), f"queries have more than {cutoff} relevant documents")]


_COUNTERS: dict[str, Counter] = {
    "short_lists": _count_short, "precision_denominator": _count_short, "empty": _count_empty,
    "all_relevant_lists": _count_only_relevant, "ties": _count_ties, "partial_sort_depth": _count_ties,
    "score_precision": _count_precision_ties, "max_valid_label": _count_high_labels,
    "relevance_threshold": _count_weak_labels, "query_selection": _count_selected, "min_retrieved": _count_retrieved,
    "score_floor": _count_low_scores, "negative_labels": _count_negative, "unjudged_documents": _count_unjudged,
    "list_order": _count_unsorted, "ideal_depth": _count_deep_ideals,
}  # fmt: skip
