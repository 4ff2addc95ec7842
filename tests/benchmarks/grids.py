"""Hand-made results with the tables that leaderboards and studies read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyarrow import Table

from pippin.benchmarks.tables import make_table

KEY = ("data", "fold", "ranker", "convention", "seed")
KINDS: dict[str, type] = dict.fromkeys(KEY, str) | {"seed": int}
Cell = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class HandCell:
    """A finished cell."""

    key: Cell
    given: list[float]
    queries: list[str] = field(default_factory=list)  # of the documents; all of one query unless they are named

    def scores(self) -> Table:
        queries = self.queries or ["q1"] * len(self.given)
        return make_table(list(zip(queries, self.given, strict=True)), query=str, score=float)


@dataclass
class HandGrid:
    """Cells → (tool, measure) → query → value, None where the query does not count."""

    held: dict[Cell, dict[tuple[str, str], dict[str, float | None]]] = field(default_factory=dict)
    failed: dict[Cell, str] = field(default_factory=dict)
    waiting: list[Cell] = field(default_factory=list)
    scored: dict[Cell, list[float]] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)  # query of each document of `scored`

    def add(
        self, ranker: str, values: Mapping[str, float | None], *, data: str = "D", fold: str = "Fold1",
        convention: str = "official", seed: int = 1, tool: str = "official", measure: str = "NDCG@10",
    ) -> None:  # fmt: skip
        """Add values of one measure under one tool to a cell."""
        self.held.setdefault((data, fold, ranker, convention, seed), {})[tool, measure] = dict(values)

    def fail(
        self, ranker: str, reason: str, *, data: str = "D", fold: str = "Fold1", convention: str = "official",
        seed: int = 1,
    ) -> None:  # fmt: skip
        """Add a failed cell."""
        self.failed[data, fold, ranker, convention, seed] = reason

    @property
    def cells(self) -> list[HandCell]:
        """Cells with the scores that `scored` holds: one 0 unless it says otherwise."""
        return [HandCell(key, self.scored.get(key, [0.0]), self.documents) for key in self.held]

    def means(self) -> Table:
        rows = []
        for cell, value in self.held.items():
            for (tool, measure), values in value.items():
                defined = [v for v in values.values() if v is not None]
                rows.append((*cell, tool, measure, sum(defined) / len(defined) if defined else math.nan))
        return make_table(rows, **KINDS, tool=str, measure=str, mean=float)

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> Table:
        rows = [
            (*cell, tool, measure, query, value)
            for cell, result in self.held.items()
            for (tool, measure), values in result.items()
            if (tools is None or tool in tools) and (measures is None or measure in measures)
            for query, value in values.items()
        ]
        return make_table(rows, **KINDS, tool=str, measure=str, query=str, value=float)

    def failures(self) -> Table:
        return make_table([(*cell, reason) for cell, reason in self.failed.items()], **KINDS, reason=str)

    def missing(self) -> list[dict[str, Any]]:
        return [dict(zip(KEY, cell, strict=True)) for cell in (*self.failed, *self.waiting)]


def number_queries(values: Sequence[float | None], first: int = 1) -> dict[str, float | None]:
    """Return the values of queries q1, q2, …"""
    return {f"q{i}": v for i, v in enumerate(values, first)}
