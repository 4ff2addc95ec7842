"""Would another judge crown another system, and does the one judge favour one?

Systems are evaluated under both judges' labels on the queries that both have. Kendall's τ_b and its top-heavy form
compare the two leaderboards, with intervals over queries. A judge favours a system where it lifts that system's values
more than it lifts the others': a paired t-test per system, corrected for their number. Where the second judge labelled
more queries than the first, the mean that the first would have found over all of them is estimated (`powered`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pippin.data.load import as_scored
from pippin.data.trec import Judgements
from pippin.errors import DataError
from pippin.evaluation.agreement import F64, Agreement, agreement, both_labels
from pippin.evaluation.corrections import adjust
from pippin.evaluation.correlation_bootstrap import CorrelationInterval, bootstrap
from pippin.evaluation.evaluate import evaluate_tool
from pippin.evaluation.notation import text_of
from pippin.evaluation.paired_tests import Design, student_t
from pippin.evaluation.powered import METHODS, Estimate, powered
from pippin.evaluation.tools import TOOLS, Tool
from pippin.shown import Shown

COEFFICIENTS = ("tau_b", "tau_ap_b")


@dataclass(frozen=True)
class Favour:
    """One system under both judges: its means, how much more the second lifts it than the others, and is it chance."""

    system: str
    first: float
    second: float
    lift: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, eq=False, repr=False)
class Judges(Shown):
    """Two judges: how their labels agree and, where systems were given, what that does to them."""

    agreement: Agreement
    measure: str
    queries: tuple[str, ...]  # that both judges have
    systems: tuple[Favour, ...]
    correlations: tuple[CorrelationInterval, ...]
    estimates: Mapping[str, tuple[Estimate, ...]]  # system, or "a − b" → by method

    def to_dict(self) -> dict[str, Any]:
        """A row per query: how the labels agree there."""
        return self.agreement.to_dict()


def favours(first: F64, second: F64, systems: tuple[str, ...], correction: str = "holm") -> tuple[Favour, ...]:
    """Whether the second judge lifts a system more than the others; values are queries × systems.

    With d = second − first, each system's d less the mean d of the others, per query: t-test of its mean, corrected.
    """
    lifts = second - first
    count = lifts.shape[1]
    others = (lifts.sum(1, keepdims=True) - lifts) / (count - 1)
    relative = np.column_stack((lifts - others, np.zeros(len(lifts))))
    p = student_t(Design(relative, np.arange(count, dtype=np.int32), np.full(count, count, np.int32))).p
    adjusted = adjust(p, correction)
    return tuple(
        Favour(system, float(first[:, s].mean()), float(second[:, s].mean()), float(relative[:, s].mean()),
               float(p[s]), float(adjusted[s]))
        for s, system in enumerate(systems)
    )  # fmt: skip


def agree(
    a: Any,
    b: Any,
    runs: Mapping[str, Any] | None = None,
    *,
    measure: Any = "NDCG@10",
    tool: str | Tool = "official",
    correction: str = "holm",
    samples: int = 1000,
    seed: int = 0,
) -> Judges:
    """How two judges' labels agree, and with systems, whether they order and treat these alike.

    a, b          judgements; a is the one to trust (people), b the one in question (a model)
    runs          name → run; with two or more their leaderboards are compared
    measure, tool what a leaderboard shows, as in `evaluate`
    correction    of the tests whether b favours a system
    samples, seed of the intervals over queries

    >>> people, model = {"q": {"x": 0, "y": 1}}, {"q": {"x": 0, "y": 2}}
    >>> agree(people, model).agreement.table[1].tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    first, second = both_labels(a, b)
    found, text = agreement(first, second), text_of(measure)
    if not runs:
        return Judges(found, text, (), (), (), {})
    systems = tuple(runs)
    one = TOOLS[tool] if isinstance(tool, str) else tool
    tables = [_values(judged, runs, text, one) for judged in (first, second)]
    both = tuple(query for query in tables[0] if query in tables[1])
    if len(both) < 2:
        raise DataError(f"{first.name} and {second.name} have {len(both)} queries in common; 2 or more are needed")
    y, f = (np.array([table[query] for query in both]) for table in tables)
    correlations: tuple[CorrelationInterval, ...] = ()
    favoured: tuple[Favour, ...] = ()
    if len(systems) > 1:
        correlations = tuple(bootstrap(y, f, name, samples=samples, seed=seed) for name in COEFFICIENTS)
        favoured = favours(y, f, systems, correction)
    more = np.array([values for query, values in tables[1].items() if query not in tables[0]])
    return Judges(found, text, both, favoured, correlations, _estimates(y, f, more, systems))


def _values(judged: Judgements, runs: Mapping[str, Any], measure: str, tool: Tool) -> dict[str, list[float]]:
    """Query → a value per system, where all systems have one."""
    columns = []
    for name, run in runs.items():
        column = evaluate_tool(judged, as_scored(run, judged), [measure], tool, {}, name).columns[0]
        columns.append(dict(zip(column.query_ids, column.values.tolist(), strict=True)))
    rows = {query: [column.get(query, float("nan")) for column in columns] for query in columns[0]}
    return {query: values for query, values in rows.items() if np.isfinite(values).all()}


def _estimates(y: F64, f: F64, more: F64, systems: tuple[str, ...]) -> dict[str, tuple[Estimate, ...]]:
    """By system and by pair of systems, where the second judge has queries of its own."""
    if len(more) < 2:
        return {}
    found = {
        system: tuple(powered(y[:, s], f[:, s], more[:, s], method) for method in METHODS)
        for s, system in enumerate(systems)
    }
    for i, j in combinations(range(len(systems)), 2):
        found[f"{systems[i]} − {systems[j]}"] = tuple(
            powered(y[:, i] - y[:, j], f[:, i] - f[:, j], more[:, i] - more[:, j], method) for method in METHODS
        )
    return found


__all__ = ["Favour", "Judges", "agree", "favours"]
