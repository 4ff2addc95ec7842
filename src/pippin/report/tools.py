"""What a tool does wherever tools differ, as a table."""

from __future__ import annotations

from collections.abc import Collection

from pippin.evaluation.convention import AXES
from pippin.evaluation.tools import TOOLS, Tool
from pippin.tables import Table


def own_choices(tool: Tool) -> set[str]:
    """The axes on which a tool chooses otherwise than the definition."""
    return set(TOOLS["official"].convention.differences(tool.convention))


def choices(tool: Tool, names: Collection[str] = tuple(AXES)) -> Table:
    """What the tool does on every axis, or on some."""
    rows = [
        [name, axis.text(getattr(tool.convention, name)), axis.decides] for name, axis in AXES.items() if name in names
    ]
    return Table(["choice", "value", "what it decides"], rows, names=3)
