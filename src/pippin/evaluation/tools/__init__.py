"""Define evaluation tools: named conventions with version, source, caveats and their own names of measures.

A `Variant` changes the convention for some measures of a tool. `MeasureAlias` maps a tool's name of a measure to
Pippin's notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

import pippin.evaluation.measures.cwl
import pippin.evaluation.measures.diversity
import pippin.evaluation.measures.libraries  # noqa: F401  registers measures
from pippin import display
from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure
from pippin.evaluation.measures.notation import parse
from pippin.records import FrozenRecord
from pippin.registry import Registry

GROUPS = {
    "classic": "scripts and programs since TREC and LETOR, and libraries of that time",
    "libraries": "machine-learning libraries that train and evaluate rankers",
    "retrieval": "evaluators of embeddings, retrieval and language models with retrieval",
    "recommenders": "evaluators of recommenders",
    "engines": "evaluation inside search engines",
}


Values = NDArray[np.float64]


class Variant(FrozenRecord):
    """Changes of a tool's convention for some measures."""

    applies: Callable[[Measure], bool]
    changes: dict[str, Any]
    reason: str


class LabelLimit(FrozenRecord):
    """Labels that a tool refuses for some measures."""

    applies: Callable[[Measure, Convention], bool]
    lowest: int | None = None
    highest: int | None = None

    def check(self, tool: str, measure: Measure, convention: Convention, labels: tuple[int, int]) -> None:
        """Raise ConventionError if the lowest or the highest label of the data is beyond the limits."""
        for label, limit, side in zip(labels, (self.lowest, self.highest), ("below", "above"), strict=True):
            is_beyond = limit is not None and (label < limit if side == "below" else label > limit)
            if is_beyond and self.applies(measure, convention):
                raise ConventionError(f"{tool} refuses labels {side} {limit} in {measure}: found label {label}")


class FractionRule(FrozenRecord):
    """Measures that a tool computes from labels that are not whole numbers."""

    graded: tuple[str, ...] = ()  # kinds that depend on labels by their gains alone
    gains: tuple[str, ...] = ("label", "exp2")  # values of the axis gain
    precision: str = "float64"  # in which the tool stores labels
    binary: tuple[str, ...] = ()  # kinds for which labels above `border` are relevant
    border: float = 0.5
    otherwise: str = "takes only whole numbers as labels"  # in other measures

    def apply(self, tool: str, measure: Measure, convention: Convention, label_values: Values) -> Convention:
        """Return the convention for the numbers of these labels, from 0 in increasing order, or raise ConventionError.

        The gains become a table, or the relevance level the number of the first relevant label.
        """
        has_levels = convention.gain_threshold != 1 or convention.relevance_threshold != 1
        labels = label_values.astype(self.precision).astype(np.float64)
        if measure.kind in self.binary and not has_levels:
            first = int(np.searchsorted(labels, self.border, side="right"))
            return convention.replace(relevance_threshold=max(first, 1))
        if measure.kind in self.graded and convention.gain in self.gains and not has_levels:
            return convention.replace(gain=tuple(np.exp2(labels) - 1.0 if convention.gain == "exp2" else labels))
        fraction = label_values[label_values != np.floor(label_values)][0]
        raise ConventionError(
            f"{tool} {self.otherwise} in {measure}: found label {fraction:g}; pass the judgements first, then the run, "
            "or number the grades from 0 and set gain=0,0.5,1"
        )


class OrderLimit(FrozenRecord):
    """Number of documents up to which Pippin knows the order in which a tool leaves tied documents."""

    documents: int
    of: Literal["query", "run"] = "query"  # documents of the query, or of all queries that are evaluated
    cutoff: int | None = None  # the only cutoff that the limit concerns


MeasureAlias = tuple[str, str]  # regular expression of a tool's name, and its replacement in Pippin's notation


class Tool(FrozenRecord):
    """A named convention with its source."""

    name: str
    title: str
    version: str  # empty if the tool has no releases
    source: str
    convention: Convention
    measures: tuple[str, ...]  # kinds that the tool itself computes; others are an extension by its rules
    caveats: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    group: str = "classic"
    measure_aliases: tuple[MeasureAlias, ...] = ()
    unsupported: tuple[str, ...] = ()  # behaviour that no convention expresses
    label_limits: tuple[LabelLimit, ...] = ()
    order_limit: OrderLimit | None = None
    fractions: FractionRule = FractionRule()

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise UnknownName("group of tools", self.group, GROUPS)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}: {self.full_title}, {self.group})"

    def _repr_html_(self) -> str:
        return display.html(self)

    @property
    def full_title(self) -> str:
        """The title with the version, such as "trec_eval 9.0.7"; a tool without releases has a title only."""
        return f"{self.title} {self.version}".rstrip()

    def measure(self, text: str) -> Measure:
        """Parse a measure: by the tool's own names first, then in any notation.

        Parameters
        ----------
        text : str
            Name of a measure, such as "ndcg_cut_10".
        """
        for pattern, replacement in self.measure_aliases:
            if match := re.fullmatch(pattern, text.strip()):
                return parse(match.expand(replacement))
        return parse(text)

    def convention_for(self, measure: Measure, **overrides: Any) -> Convention:
        """Return the convention under which this tool computes a measure.

        Overrides replace the tool's choices, and the measure's own arguments replace both.

        Parameters
        ----------
        measure : Measure
            The measure.
        **overrides : object
            Values by axis that replace the tool's.
        """
        convention = self.convention
        for variant in self.variants:
            if variant.applies(measure):
                convention = convention.replace(**variant.changes)
        return measure.under(convention.replace(**overrides))


T = TypeVar("T")
Group = Literal["all", "classic", "libraries", "retrieval", "recommenders", "engines"]
ToolSelection = Group | list[str] | list[Tool] | tuple[str | Tool, ...]
FAMILIES = ("classic", "engines", "libraries", "recommenders", "retrieval")  # in the order of listings
TOOLS: Registry[Tool] = Registry("tool", "pippin.tools", Tool, modules=[f"{__name__}.{family}" for family in FAMILIES])


def register(tool: Tool) -> Tool:
    """Register a tool."""
    return TOOLS.register(tool.name, tool)


def is_single_tool(tool: str | Tool | ToolSelection) -> bool:
    """Return whether `tool` is one tool or its name, not a list or a group."""
    return isinstance(tool, Tool) or (isinstance(tool, str) and tool != "all" and tool not in GROUPS)


def resolve_tools(tool: str | Tool | ToolSelection) -> list[Tool]:
    """Return the selected tools, each once, in the order given.

    Parameters
    ----------
    tool : str, Tool or list of these
        Names of tools, names of groups, or ``"all"``, which adds every tool that is not named before it.

    Examples
    --------
    >>> [tool.name for tool in resolve_tools(["letor4", "yahoo"])], len(resolve_tools("all")) == len(TOOLS)
    (['letor4', 'yahoo'], True)
    """
    names = [tool] if isinstance(tool, (str, Tool)) else list(tool)
    if not names:
        raise ConventionError("no tool was selected")
    return list({tool.name: tool for name in names for tool in tools_in_group(name)}.values())


def tools_in_group(name: str | Tool) -> list[Tool]:
    """Return all tools, those of a group, or the tool of that name."""
    if isinstance(name, Tool):
        return [name]
    if name == "all":
        return TOOLS.values()
    return [tool for tool in TOOLS.values() if tool.group == name] if name in GROUPS else [TOOLS[name]]


def names_only_groups(tool: str | Tool | ToolSelection) -> bool:
    """Return whether only groups are named; of a group, tools that cannot evaluate are left out."""
    return not any(is_single_tool(name) for name in ([tool] if isinstance(tool, (str, Tool)) else tool))


def run_tools(
    tools: Iterable[Tool], run: Callable[[Tool], T], *, leave_out: bool
) -> tuple[dict[str, T], dict[str, str]]:
    """Return tool → result and, with `leave_out`, tool → reason for tools that raise ConventionError.

    If all tools raise, the first error is raised.
    """
    results: dict[str, T] = {}
    errors: dict[str, ConventionError] = {}
    for tool in tools:
        try:
            results[tool.name] = run(tool)
        except ConventionError as error:
            if not leave_out:
                raise
            errors[tool.name] = error
    if errors and not results:
        raise next(iter(errors.values()))
    return results, {name: str(error) for name, error in errors.items()}


def exponential_ndcg(measure: Measure, convention: Convention) -> bool:
    """Return whether this is NDCG with the gain 2^label - 1."""
    return measure.kind == "NDCG" and convention.gain == "exp2"


def kinds(*names: str) -> Callable[[Measure], bool]:
    """Return a predicate for measures of these kinds."""
    return lambda measure: measure.kind in names
