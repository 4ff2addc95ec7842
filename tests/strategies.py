"""Hypothesis strategies for queries with unjudged, unretrieved and tied documents, and for conventions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.definitions.query import Label
from tests.definitions.registry import TWINS, value
from tests.reference import near

from pippin.data.qrels import Qrels, Run
from pippin.evaluation.axis import GainTable, Integer, UnitNumber
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.evaluation import evaluate_tool
from pippin.evaluation.measures import MEASURE_DEFINITIONS, MeasureDefinition
from pippin.evaluation.tools import Tool


@dataclass(frozen=True)
class Plottable:
    """A query as drawn: labels and scores of retrieved documents, and labels of documents that were not retrieved."""

    labels: tuple[Label, ...]
    scores: tuple[float, ...]
    missed: tuple[int, ...] = ()

    @property
    def judged(self) -> list[int]:
        return [label for label in self.labels if label is not None] + list(self.missed)

    @property
    def ranked(self) -> list[Label]:
        """Labels in rank order; equal scores stay in input order."""
        order = sorted(range(len(self.labels)), key=lambda i: -self.scores[i])
        return [self.labels[i] for i in order]


def labels(most: int = 4) -> st.SearchStrategy[Label]:
    return st.one_of(st.integers(0, most), st.integers(0, most), st.sampled_from([None, -1, -2]))


@st.composite
def queries(draw: st.DrawFn, longest: int = 12, tied: bool = False, most: int = 4) -> Plottable:
    """Draw one query; without ties all scores differ."""
    listed = tuple(draw(st.lists(labels(most), max_size=longest)))
    if tied:
        scores = tuple(draw(st.lists(st.sampled_from([0.25, 1.0, 1.5]), min_size=len(listed), max_size=len(listed))))
    else:
        scores = tuple(map(float, draw(st.permutations(range(len(listed))))))
    return Plottable(listed, scores, tuple(draw(st.lists(st.integers(-1, most), max_size=4))))


GAINS: tuple[Any, ...] = ("label", "exp2", (0.0, 1.0, 3.0, 7.0, 15.0), (0.0, 0.0, 0.5, 2.0, 2.0))
UNSORTED_GAIN = (0.0, 2.0, 1.0, 5.0, 3.0)
# values to draw of an axis besides its named ones, by their form
FREE: dict[type, tuple[Any, ...]] = {
    Integer: (1, 2, 5),
    UnitNumber: (0.0, 0.5, 1.0),
    GainTable: (*GAINS[2:], UNSORTED_GAIN),
    type(None): (),
}
# what tests set themselves: all that looks at scores and ids, which definitions do not know
SETTLED: dict[str, Any] = {"ties": "input", "list_order": "score", "score_floor": "none", "self_retrieval": "keep",
                           "tie_scope": "query"}  # fmt: skip


def values_of(name: str) -> list[Any]:
    """Draw a value of an axis; labels go up to 4, so ERR's top grade is at least 4."""
    drawn = [*AXES[name].values.values(), *FREE[type(AXES[name].value_type)]]
    if name == "value_rounding":  # a value that lies between two short decimals goes up or down by its last bit
        return ["float64", "float32", 5]
    if name == "unjudged_documents":  # a label that no pool knows has no meaning where a measure counts the pool
        return ["zero", "drop"]
    return [value for value in drawn if name != "err_max_grade" or value not in (1, 2)]


def conventions(kind: MeasureDefinition | None = None) -> st.SearchStrategy[Convention]:
    """Any value on any axis, or on those that a kind hears: the others do not change it, which has a law of its own."""
    return st.fixed_dictionaries(
        {
            name: st.just(SETTLED[name]) if name in SETTLED else st.sampled_from(values_of(name))
            for name in AXES
            if kind is None or kind.depends_on(name)
        }
    ).map(lambda drawn: Convention(**drawn))


def max_label_under(convention: Convention) -> int:
    """Return the largest label to draw: ERR may read labels as probabilities."""
    return 1 if convention.err_max_grade == "probability" else 4


@st.composite
def cases(
    draw: st.DrawFn, longest: int = 12, tied: bool | None = False, most: int = 4, kind: MeasureDefinition | None = None
) -> tuple[list[Plottable], Convention]:
    """Up to so many queries with labels that fit the convention; `tied` None: some with ties, some without."""
    convention = draw(conventions(kind))
    ties = st.booleans() if tied is None else st.just(tied)
    query = ties.flatmap(lambda tied: queries(longest, tied, max_label_under(convention)))
    return draw(st.lists(query, min_size=1, max_size=most)), convention


def collection(drawn: Sequence[Plottable]) -> tuple[Qrels, Run]:
    """Return queries q0, q1, … as judgements and a run."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q, query in enumerate(drawn):
        qrels[f"q{q}"] = {f"q{q}d{i}": label for i, label in enumerate(query.labels) if label is not None}
        qrels[f"q{q}"] |= {f"q{q}x{i}": label for i, label in enumerate(query.missed)}
        run[f"q{q}"] = {f"q{q}d{i}": score for i, score in enumerate(query.scores)}
    return Qrels.from_dict(qrels), Run.from_dict(run)


def as_tool(convention: Convention) -> Tool:
    return Tool("drawn", "a drawn convention", "1", "tests", convention, ())


def rule_of(tool: Tool, text: str) -> tuple[Any, ...]:
    """Return what determines a tool's values of a measure; tools with the same rule are tested once.

    A value depends on the axes that its measure hears, and on no others: `test_laws` has a law for that.
    """
    measure = tool.measure(text)
    convention = tool.convention_for(measure)
    heard = (
        name
        for name, axis in AXES.items()
        if axis.affects_all_measures or MEASURE_DEFINITIONS[measure.kind].depends_on(name)
    )
    return (measure, *(getattr(convention, name) for name in heard), convention.averaging)


# every kind at cutoffs inside and beyond a list, with parameters of its own: text, kind, cutoff, parameters
Asked = tuple[str, str, int | None, dict[str, float]]


def measure_variants(kind: MeasureDefinition) -> list[Asked]:
    """Return the variants of a measure to test, with the parameters that its definition lists."""
    cutoffs: dict[str, tuple[int | None, ...]] = {"never": (None,), "required": (1, 3, 10)}
    variants = []
    for own in ({}, *TWINS[kind.name].tried):
        inside = f"({','.join(f'{name}={value}' for name, value in own.items())})" if own else ""
        for cutoff in cutoffs.get(kind.cutoff, (None, 1, 3, 10)):
            variants.append((f"{kind.name}{inside}" + (f"@{cutoff}" if cutoff else ""), kind.name, cutoff, own))
    return variants


ASKED = [asked for kind in MEASURE_DEFINITIONS.values() if kind.name in TWINS for asked in measure_variants(kind)]


def per_query(drawn: Sequence[Plottable], convention: Convention, asked: Sequence[str]) -> dict[str, list[float]]:
    """Return Pippin's values of these queries by measure; NaN for skipped queries."""
    judgements, run = collection(drawn)
    evaluation = evaluate_tool(judgements, run, asked, as_tool(convention), {}, "drawn").per_query
    return {text: [evaluation[text].get(f"q{q}", math.nan) for q in range(len(drawn))] for text in asked}


def unlike_their_twins(
    drawn: Sequence[Plottable], convention: Convention, asked: Sequence[Asked] = ASKED
) -> dict[str, tuple[str, float, float]]:
    """Kinds whose value differs from their definition's, with an example: what was asked, ours, the twin's."""
    results = per_query(drawn, convention, [text for text, *_ in asked])
    top = max((label for query in drawn for label in query.judged), default=0)
    unlike = {}
    # Sums in another order differ in the last bit, which decides where a value stands half-way between two digits.
    step = {"half-up-2": 0.01, "float32": 1e-7}.get(str(convention.value_rounding), 1e-12)
    step = 10.0**-convention.value_rounding if isinstance(convention.value_rounding, int) else step
    for text, kind, cutoff, own in asked:
        for query, ours in zip(drawn, results[text], strict=True):
            theirs = value(kind, query.ranked, query.judged, convention, cutoff, max(top, 0), **own)
            if not near(ours, theirs, max(1e-12, 1.000001 * step)):
                unlike[kind] = (text, ours, theirs)
    return unlike
