"""The tools and the measures as people look at them: `pippin.tools` and `pippin.measures`."""

from __future__ import annotations

from pippin.evaluation.measures import KINDS, Kind
from pippin.evaluation.tools import TOOLS, Tool
from pippin.shelf import Shelf

tools: Shelf[Tool] = Shelf(
    TOOLS,
    {"what it is": lambda tool: tool.title, "version": lambda tool: tool.version, "source": lambda tool: tool.source},
)

measures: Shelf[Kind] = Shelf(
    KINDS,
    {"what it is": lambda kind: kind.meaning, "formula": lambda kind: kind.formula, "source": lambda kind: kind.source},
)
