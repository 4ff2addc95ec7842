"""What a tool is: a named convention with its version, its source, its traps, and its own names of measures.

Where a tool treats some measures by other rules than the rest, a `Variant` says which and how. What it calls its
measures is understood under it; `Spelling` says how each name is written in our notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import pippin.evaluation.confidence_measures
import pippin.evaluation.cwl_measures
import pippin.evaluation.diversity_measures
import pippin.evaluation.library_measures  # noqa: F401  these put their kinds on the shelf
from pippin import shown
from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure
from pippin.evaluation.notation import parse
from pippin.frozen import Frozen
from pippin.registry import Registry

GROUPS = {
    "classic": "scripts and programs since TREC and LETOR, and the libraries of their time",
    "libraries": "machine-learning libraries that train and evaluate rankers",
    "retrieval": "evaluators of embeddings, retrieval and language models with retrieval",
    "recommenders": "evaluators of recommenders",
    "engines": "evaluation inside search engines",
}


class Variant(Frozen):
    """Measures for which a tool departs from its own convention."""

    applies: Callable[[Measure], bool]
    changes: dict[str, Any]
    why: str


Spelling = tuple[str, str]  # the form of a tool's own name, and what it stands for in our notation


class Tool(Frozen):
    """A named convention with its source."""

    name: str
    title: str
    version: str
    source: str
    convention: Convention
    prints: tuple[str, ...]  # kinds of measure that the tool itself gives; others are an extension by its rules
    traps: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    group: str = "classic"
    spellings: tuple[Spelling, ...] = ()
    inexpressible: tuple[str, ...] = ()  # what no convention says of it, by measure

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise UnknownName("group of tools", self.group, GROUPS)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}: {self.title} {self.version}, {self.group})"

    def _repr_html_(self) -> str:
        return shown.html(self)

    def measure(self, text: str) -> Measure:
        """The measure that `text` asks for under this tool: by its own names first, then in any notation."""
        for form, ours in self.spellings:
            if match := re.fullmatch(form, text.strip()):
                return parse(match.expand(ours))
        return parse(text)

    def convention_for(self, measure: Measure, **overrides: Any) -> Convention:
        """The convention under which this tool computes `measure`; overrides win over the tool, the measure's own
        arguments over both.
        """
        convention = self.convention
        for variant in self.variants:
            if variant.applies(measure):
                convention = convention.replace(**variant.changes)
        return measure.under(convention.replace(**overrides))


T = TypeVar("T")
Group = Literal["all", "classic", "libraries", "retrieval", "recommenders", "engines"]
Several = Group | list[str] | list[Tool] | tuple[str | Tool, ...]
TOOLS: Registry[Tool] = Registry("tool", "pippin.tools", Tool)


def register(tool: Tool) -> Tool:
    """Put a tool on the shelf."""
    return TOOLS.register(tool.name, tool)


def is_one(tool: str | Tool | Several) -> bool:
    """Whether one tool is asked for, by itself or by its name, and not a list of them."""
    return isinstance(tool, Tool) or (isinstance(tool, str) and tool != "all" and tool not in GROUPS)


def chosen(tool: str | Tool | Several) -> list[Tool]:
    """The tools of these names, or of this one; `all` is every tool, and the name of a group all of it.

    >>> [tool.name for tool in chosen(["letor4", "yahoo"])], len(chosen("all")) == len(TOOLS)
    (['letor4', 'yahoo'], True)
    """
    asked = [tool] if isinstance(tool, (str, Tool)) else list(tool)
    if "all" in asked:
        return TOOLS.values()
    if not asked:
        raise ConventionError("no tool was asked for")
    found = [tool for one in asked for tool in ([one] if isinstance(one, Tool) else named(one))]
    return list({tool.name: tool for tool in found}.values())


def named(name: str) -> list[Tool]:
    """The tool of that name, or all of the group of that name."""
    return [tool for tool in TOOLS.values() if tool.group == name] if name in GROUPS else [TOOLS[name]]


def said_by(tools: Iterable[Tool], say: Callable[[Tool], T], *, leave_out: bool) -> tuple[dict[str, T], dict[str, str]]:
    """What each tool says, and, with `leave_out`, which tools cannot and why. That none can is an error either way."""
    found: dict[str, T] = {}
    why: dict[str, ConventionError] = {}
    for tool in tools:
        try:
            found[tool.name] = say(tool)
        except ConventionError as error:
            if not leave_out:
                raise
            why[tool.name] = error
    if why and not found:
        raise next(iter(why.values()))
    return found, {name: str(error) for name, error in why.items()}


def kinds(*names: str) -> Callable[[Measure], bool]:
    """Applies to measures of these kinds."""
    return lambda measure: measure.kind in names
