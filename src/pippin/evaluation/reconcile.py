"""Why do two tools disagree? The difference of their numbers, shared out over the choices that differ.

Between two conventions the axes that differ are switched one by one in every order; an axis gets the average of what
its switch changes (its Shapley value). The shares do not depend on an order and sum to the difference. The same sum is
kept per query, so that one sees which queries carry each part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import factorial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.evaluate import (
    Rankings,
    aggregate_of,
    averaged_values,
    mean_of,
    measure_values,
    read_rankings,
    rounded_mean,
    weights_of,
)
from pippin.evaluation.labels import judged_queries
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.notation import text_of
from pippin.evaluation.ranking import all_relevant
from pippin.evaluation.tools import TOOLS, Several, Tool, chosen, is_one, said_by
from pippin.shown import ByTool, Drawn, in_columns

Values = NDArray[np.float64]
Step = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Share:
    """What one choice explains of a difference."""

    axis: str
    before: Any
    after: Any
    value: float
    fact: str
    per_query: Values

    @property
    def words(self) -> str:
        """The name of the choice in a sentence."""
        return AXES[self.axis].words


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation(Drawn):
    """The difference between what two tools say of one ranking, in shares that sum to it."""

    measure: str
    source: Tool
    target: Tool
    before: float  # as the source prints it
    after: float  # as the target prints it
    shares: tuple[Share, ...]
    query_ids: tuple[str, ...]

    @property
    def difference(self) -> float:
        """target − source, as printed."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """A long table: measure, from, to, choice, value; the shares, whose sum is the difference."""
        rows = [(self.measure, self.source.name, self.target.name, share.axis, share.value) for share in self.shares]
        return in_columns(rows, "measure", "from", "to", "choice", "value")

    def sentence(self) -> str:
        """The answer in plain words."""
        head = f"{self.target.name} − {self.source.name} = {signed(self.difference)}"
        shown = [p for p in self.shares if abs(p.value) >= 5e-5]
        if not shown:
            same = "the two agree" if not self.difference else "all of it in the last digits"
            return f"{head}: {same}."
        return head + ": " + ", ".join(
            f"{p.words} {signed(p.value)}" + (f" ({p.fact})" if p.fact else "") for p in shown
        ) + "."  # fmt: skip

    def carriers(self, share: Share, most: int = 3) -> list[tuple[str, float]]:
        """The queries that carry a share, largest first."""
        order = np.argsort(-np.abs(share.per_query), kind="stable")[:most]
        return [(self.query_ids[i], float(share.per_query[i])) for i in order if share.per_query[i]]


class Reconciliations(ByTool[Reconciliation]):
    """Why several tools differ from one: a `Reconciliation` by the name of the tool."""

    def to_dict(self) -> dict[str, Any]:
        """A long table: measure, from, to, choice, value."""
        parts = [reconciliation.to_dict() for reconciliation in self.values()]
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign.

    >>> signed(-0.24561), signed(0.00002)
    ('−0.246', '+0.00002')
    """
    if value and abs(value) < 0.5 * 10**-digits:
        digits = 5
    return ("−" if value < 0 else "+") + f"{abs(value):.{digits}f}"


# Type checkers are told what comes back: one target gives a Reconciliation, several give Reconciliations.
@overload
def reconcile(
    judged: Any, scored: Any, measure: Any = ..., source: str | Tool = ..., target: Several = ..., *,
    qid: Any = ..., group: Any = ..., merge_queries: bool = ..., step: Step = ...,
) -> Reconciliations: ...  # fmt: skip
@overload
def reconcile(
    judged: Any, scored: Any, measure: Any, source: str | Tool, target: str | Tool, *,
    qid: Any = ..., group: Any = ..., merge_queries: bool = ..., step: Step = ...,
) -> Reconciliation: ...  # fmt: skip
@overload
def reconcile(
    judged: Any, scored: Any, measure: Any = ..., source: str | Tool = ..., *, target: str | Tool,
    qid: Any = ..., group: Any = ..., merge_queries: bool = ..., step: Step = ...,
) -> Reconciliation: ...  # fmt: skip
def reconcile(
    judged: Any,
    scored: Any,
    measure: Any = "NDCG@10",
    source: str | Tool = "official",
    target: str | Tool | Several = "classic",
    *,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    step: Step = lambda _: None,
) -> Reconciliation | Reconciliations:
    """Why do two tools give different numbers for one ranking? The difference, shared out over their choices.

    `judged`, `scored`, `qid` and `group` are as in `evaluate`. `target` is one tool, which gives a Reconciliation, or
    several, or "all", which gives one for each. `step` is called with a tool's name when it is done.

    >>> labels, scores, qid = [0, 1, 2, 0], [0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2]
    >>> found = reconcile(labels, scores, "NDCG@2", "yahoo", "letor4", qid=qid)
    >>> found.sentence()
    'letor4 − yahoo = +0.185: discount +0.185 (log2 → letor).'
    """
    asked = text_of(measure)
    first = TOOLS[source] if isinstance(source, str) else source
    targets = [tool for tool in chosen(target) if is_one(target) or not isinstance(target, str) or tool is not first]
    rankings, _ = read_rankings(judged, scored, qid=qid, group=group, merge_queries=merge_queries)

    def with_first(tool: Tool) -> Reconciliation:
        reconciliation = reconcile_rankings(rankings, asked, first, tool)
        step(tool.name)
        return reconciliation

    if is_one(target):
        return with_first(targets[0])
    return Reconciliations(*said_by(targets, with_first, leave_out=isinstance(target, str)))


def reconcile_rankings(rankings: Rankings, measure: str, source: Tool, target: Tool) -> Reconciliation:
    """Share out the difference between what two tools say over the choices that differ."""
    asked, other = both_measures(measure, source, target)
    if asked.kind != other.kind:
        raise ConventionError(f"{measure} is {asked} in {source.name} and {other} in {target.name}: two measures")
    if KINDS[asked.kind].aggregate != "mean" or KINDS[asked.kind].whole is not None:
        raise ConventionError(f"{measure} is no mean over queries, so its difference has no shares")
    # What only one of them says in its own name of the measure is a choice like any other.
    first, last = source.convention_for(asked), target.convention_for(other)
    asked = replace(asked, overrides=())
    axes = _axes(asked, first, last)
    query_ids, amounts, (before, after) = _shapley(rankings, asked, first, last, axes)
    shares = [
        Share(axis, getattr(first, axis), getattr(last, axis), float(amounts[i].sum()),
             _fact(rankings, asked, axis, first, last), amounts[i])
        for i, axis in enumerate(axes)
    ]  # fmt: skip
    printed = (round_as_printed(rounded_mean(before, first), first.digits),
               round_as_printed(rounded_mean(after, last), last.digits))  # fmt: skip
    rounding = (printed[1] - after) - (printed[0] - before)
    if rounding:
        shares.append(Share("digits", first.digits, last.digits, rounding, "", np.zeros(len(query_ids))))
    shares.sort(key=lambda p: -abs(p.value))
    return Reconciliation(measure, source, target, *printed, tuple(shares), query_ids)


def both_measures(text: str, source: Tool, target: Tool) -> tuple[Measure, Measure]:
    """The measure as each tool understands it; what only one of them knows by name is that for both."""
    found: list[Measure | None] = []
    for tool in (source, target):
        try:
            found.append(tool.measure(text))
        except UnknownName:
            found.append(None)
    first, last = found
    if first is None and last is None:
        source.measure(text)
    known = first or last
    if known is None:
        raise UnknownName("measure", text, KINDS)
    return first or known, last or known


def round_as_printed(value: float, digits: int) -> float:
    """The number that a reader of the tool's output has."""
    return float(f"{value:.{digits}f}")


@lru_cache(maxsize=256)
def _axes(measure: Measure, first: Convention, last: Convention) -> tuple[str, ...]:
    """Axes that differ and can change this measure; folds and rankers ask for the same ones again."""
    # Where empty queries are left out, they are left out of every measure, not only of those that they leave undefined,
    # and what a query without a value counts bears on every mean.
    heard = KINDS[measure.kind].hears
    return tuple(axis for axis in first.differences(last) if axis in ("empty", "average") or heard(axis))


def _shapley(
    rankings: Rankings, measure: Measure, first: Convention, last: Convention, axes: tuple[str, ...]
) -> tuple[tuple[str, ...], Values, tuple[float, float]]:  # fmt: skip
    """Per axis and query: the weighted sum over all 2^d mixtures of the two conventions, and the means of both."""
    query_ids = rankings.query_ids
    amounts = np.zeros((len(axes), len(query_ids)))
    known = rankings.mixtures.setdefault((measure, first), {})  # tools have many mixtures in common
    mixtures, weights = _mixtures(axes, last)
    for mixture, weight in zip(mixtures, weights, strict=True):
        if mixture not in known:
            known[mixture] = _Mixture(rankings, measure, _mixed(first, mixture))
        amounts += weight * known[mixture].contributions
    return query_ids, amounts, (known[mixtures[0]].mean, known[mixtures[-1]].mean)


@lru_cache(maxsize=256)
def _mixtures(axes: tuple[str, ...], last: Convention) -> tuple[list[frozenset[tuple[str, Any]]], Values]:
    """Every set T of the axes with the values that they are switched to, none first and all last; its weights.

    With c(T) the vector of each query's contribution to the mean where the axes in T are switched, the share of axis i
    is Σ_T w(T) c(T), w = (|T|−1)! (d−|T|)! / d! where i is in T and −|T|! (d−|T|−1)! / d! where it is not.
    """
    d = len(axes)
    gained = [factorial(size - 1) * factorial(d - size) / factorial(d) if size else 0.0 for size in range(d + 1)]
    lost = [factorial(size) * factorial(d - size - 1) / factorial(d) if size < d else 0.0 for size in range(d + 1)]
    values = [(axis, getattr(last, axis)) for axis in axes]
    mixtures, weights = [], np.empty((1 << d, d, 1))
    for subset in range(1 << d):
        mixtures.append(frozenset(value for i, value in enumerate(values) if subset >> i & 1))
        size = subset.bit_count()
        weights[subset, :, 0] = [gained[size] if subset >> i & 1 else -lost[size] for i in range(d)]
    return mixtures, weights


@lru_cache(maxsize=4096)
def _mixed(first: Convention, switched: frozenset[tuple[str, Any]]) -> Convention:
    """A convention with some of another's choices; folds and rankers ask for the same ones again."""
    return first.replace(**dict(switched))


class _Mixture:
    """What a mixture of two conventions makes of the rankings."""

    def __init__(self, rankings: Rankings, measure: Measure, convention: Convention) -> None:
        self.measure, self.convention, self.ranking = measure, convention, rankings.under(convention)
        values = measure_values(self.ranking, measure, convention)
        self.values = averaged_values(self.ranking, measure, convention, values, rankings.under)
        self.contributions = self._contributions(rankings)

    @cached_property
    def mean(self) -> float:
        """The number of the run, which only the two conventions themselves are asked for."""
        return mean_of(self.ranking, self.measure, self.convention, self.values)

    def _contributions(self, rankings: Rankings) -> Values:
        """What each query adds to the mean."""
        weights = weights_of(self.ranking, self.measure, self.convention)
        how = aggregate_of(self.measure, self.convention)
        absent = np.isnan(self.values)
        amounts = np.where(absent, 0.0, self.values)
        counted = np.ones(len(absent), np.bool_) if how.startswith("counted") else ~absent
        whole = float(np.count_nonzero(counted))
        if weights is not None:
            each = np.where(counted, weights, 0.0)
            amounts, whole = amounts * each, float(each.sum())
        out = np.zeros(len(rankings.query_ids))
        if whole:
            judged = self.convention.average == "judged"
            over = judged_queries(rankings.judged, self.convention) if judged else whole
            out[rankings.places(self.ranking)] = amounts / over
        return out


def _fact(rankings: Rankings, measure: Measure, axis: str, first: Convention, last: Convention) -> str:
    """What in the data makes the choice matter, with a count."""
    if axis in _FACTS:
        plain = first.replace(queries="judged") if first.queries == "relevant" else first
        return _FACTS[axis](rankings, measure, plain, last)
    return _values(axis, first, last)


def _values(axis: str, first: Convention, last: Convention) -> str:
    """What the two choose."""
    return " → ".join(AXES[axis].text(getattr(convention, axis)) for convention in (first, last))


def _short_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    ranking, cutoff = rankings.under(first), measure.cutoff or 0
    short = int((ranking.sizes() < cutoff).sum())
    return f"{short} of {len(ranking.query_ids)} queries have fewer than {cutoff} documents"


def _empty_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    ranking = rankings.under(first)
    return f"{int((~ranking.relevant_queries()).sum())} of {len(ranking.query_ids)} queries have no relevant document"


def _all_relevant_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    ranking = rankings.under(first.replace(all_relevant="keep"))
    lists = int(all_relevant(ranking.labels, ranking.offsets, first.relevant_at).sum())
    return f"{lists} of {len(ranking.query_ids)} lists have none but relevant documents"


def _ties_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    ranking = rankings.under(first.replace(ties="input"))
    fact = f"{int(ranking.tied_queries().sum())} of {len(ranking.query_ids)} queries have tied scores"
    if "topk-of-all" not in (first.ties, last.ties):
        return fact
    depth = max(first.ties_depth, last.ties_depth)
    return fact + f", and {int((ranking.sizes() < depth).sum())} fewer than {depth} documents, which others fill up"


def _precision_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    single, double = (int(rankings.under(first.replace(precision=p)).tied.sum()) for p in ("float32", "float64"))
    return f"{single - double} documents are tied with the one before in single precision only"


def _top_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    top = min(c.top_label for c in (first, last) if c.top_label is not None)
    return f"{int((rankings.judged.labels > top).sum())} labels are above {top}"


def _queries_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    known = set(getattr(rankings.scored, "query_ids", rankings.judged.query_ids))
    missing = sum(query not in known for query in rankings.judged.query_ids)
    fact = f"{missing} of {len(rankings.judged.query_ids)} judged queries are not in the run"
    if "run" not in (first.queries, last.queries):
        return fact
    return fact + f", {len(rankings.query_ids) - len(rankings.judged.query_ids)} of the run are not judged"


def _floor_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    scores = rankings.under(first.replace(score_floor="none")).scores
    if "drop" in (first.score_floor, last.score_floor):
        return f"{int((scores < 0).sum())} of {len(scores)} documents have a score below 0"
    return f"{int((scores <= 0).sum())} of {len(scores)} documents have a score of 0 or less"


def _negative_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    labels = rankings.judged.labels
    return f"{int((labels < 0).sum())} of {len(labels)} labels are below 0"


def _order_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    ranking = rankings.under(first.replace(order="given", score_floor="none"))
    rising = np.flatnonzero(np.diff(ranking.scores) > 0) + 1
    lists = np.searchsorted(ranking.offsets, np.setdiff1d(rising, ranking.offsets), side="right")
    return f"{len(np.unique(lists))} of {len(ranking.query_ids)} lists were not given in the order of their scores"


def _ideal_fact(rankings: Rankings, measure: Measure, first: Convention, last: Convention) -> str:
    ranking, cutoff = rankings.under(first), measure.cutoff or 0
    if not cutoff or "list" in (first.ideal_cut, last.ideal_cut):
        return _values("ideal_cut", first, last)
    relevant = np.add.reduceat(
        np.append(ranking.pool > 0, False), ranking.pool_offsets[:-1].clip(max=len(ranking.pool))
    )
    relevant[np.diff(ranking.pool_offsets) == 0] = 0
    return f"{int((relevant > cutoff).sum())} of {len(relevant)} queries have more than {cutoff} relevant documents"


_FACTS = {
    "short": _short_fact, "short_precision": _short_fact, "empty": _empty_fact, "all_relevant": _all_relevant_fact,
    "ties": _ties_fact, "precision": _precision_fact, "top_label": _top_fact, "queries": _queries_fact,
    "score_floor": _floor_fact, "negative": _negative_fact, "order": _order_fact, "ideal_cut": _ideal_fact,
}  # fmt: skip
