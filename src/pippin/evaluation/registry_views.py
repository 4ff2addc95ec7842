"""The tools and the measures as people look at them: `pippin.tools` and `pippin.measures`."""

from __future__ import annotations

from pippin.display.registry_view import RegistryView
from pippin.evaluation.measures import MEASURE_DEFINITIONS, MeasureDefinition
from pippin.evaluation.tools import TOOLS, Tool

tools: RegistryView[Tool] = RegistryView(
    TOOLS,
    {"what it is": lambda tool: tool.title, "version": lambda tool: tool.version, "source": lambda tool: tool.source},
)

measures: RegistryView[MeasureDefinition] = RegistryView(
    MEASURE_DEFINITIONS,
    {
        "what it is": lambda kind: kind.description,
        "formula": lambda kind: kind.formula,
        "source": lambda kind: kind.source,
    },
)
