"""A tool: the numbers on a shop's dashboard, as a named convention.

A tool is another tool's convention with the choices that differ, where they were read, and what surprises people.
"""

from __future__ import annotations

from pippin.evaluation.tools import Tool, Variant, kinds, register
from pippin.evaluation.tools.classic import OFFICIAL

SHOP = register(
    Tool(
        "shop",
        title="the shop's dashboard",
        version="2026",
        source="dashboard/metrics.sql",
        convention=OFFICIAL.replace(gain="label", empty=None, ties="input", printed_digits=3),
        measures=("NDCG", "RR", "P"),
        caveats=("searches without a purchase are left out of every mean",),
        variants=(Variant(kinds("P", "RR"), {"relevance_threshold": 2}, "only a purchase counts, not a click"),),
    )
)
