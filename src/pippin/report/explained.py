"""Why does each tool give another number than the definition, for the leading rankers of a benchmark?

The difference between the definition's mean over the folds and the tool's is shared out as `pippin reconcile` does it,
fold by fold, and averaged: shares sum up, so that those of the folds' mean are the means of the folds' shares. Of every
family of measures one is explained: that with the largest cutoff up to ten. Rankers are explained by the leading few,
as it takes a while and the choices of tools are the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.errors import ConventionError
from pippin.evaluation.convention import AXES
from pippin.evaluation.evaluate import Rankings
from pippin.evaluation.measures import KINDS
from pippin.evaluation.notation import parse
from pippin.evaluation.reconcile import Reconciliation, reconcile_rankings
from pippin.evaluation.tools import TOOLS
from pippin.report.packing import pack_texts
from pippin.report.sheets import Names

if TYPE_CHECKING:
    from pippin.bench.records import Cell
    from pippin.bench.store import Results

LEADING = 4  # rankers that are explained
CARRIERS = 5  # queries that are named for each share
_LARGEST = 10
Keys = Sequence[tuple[str, str]]  # fold and id of queries


def explained(
    results: Results, names: Names, convention: str, data: str, keys: Keys, leading: Sequence[str]
) -> dict[str, Any]:
    """`reconcile`: measure → ranker → which of the explanations is a tool's, and those that differ; the axes' words."""
    if names.tool not in TOOLS or len(names.tools) < 2:
        return {"reconcile": None}
    number = {key: i for i, key in enumerate(keys)}
    by_ranker = {r: cells for r, cells in cells_of(results, convention, data).items() if r in leading[:LEADING]}
    by_measure: dict[str, dict[str, Any]] = {m: {} for m in explained_measures(names.measures)}
    for ranker, cells in by_ranker.items():
        rankings = {fold: _rankings(cell) for fold, cell in cells.items()}
        for measure, tables in by_measure.items():
            table = _by_tool(rankings, names, measure, number)
            if table["found"]:
                tables[ranker] = table
    return {
        "reconcile": pack_texts({"axes": {name: axis.words for name, axis in AXES.items()}, "measures": by_measure})
    }


def explained_measures(measures: Sequence[str]) -> list[str]:
    """One measure of every family.

    >>> explained_measures(["NDCG@1", "NDCG@10", "NDCG@20", "P@5", "MAP"])
    ['NDCG@10', 'P@5', 'MAP']
    """
    chosen: dict[str, tuple[bool, int, str]] = {}
    for measure in measures:
        family, _, cutoff = measure.partition("@")
        size = int(cutoff or 0)
        rank = (size <= _LARGEST, size if size <= _LARGEST else -size, measure)
        chosen[family] = max(chosen.get(family, rank), rank)
    return [measure for *_, measure in chosen.values()]


def cells_of(results: Results, convention: str, data: str) -> dict[str, dict[str, Cell]]:
    """Ranker → fold → its cell under the convention, of the first seed; a ranker that looks at none has another's."""
    cells: dict[str, dict[str, Cell]] = {}
    mine = [cell for cell in results.cells if cell.key[0] == data]
    looking = {cell.key[2] for cell in mine if cell.key[3] == convention}
    for cell in mine:
        _, fold, ranker, trained, _ = cell.key
        if trained == convention or ranker not in looking:
            cells.setdefault(ranker, {}).setdefault(fold, cell)
    return cells


def _rankings(cell: Cell) -> Rankings:
    """The test part of a cell with its scores; features are not needed to evaluate."""
    from pippin.data.dataset import Dataset
    from pippin.data.texts import Texts

    scores = cell.scores()
    queries = scores["query"].tolist()
    starts = [i for i, query in enumerate(queries) if not i or query != queries[i - 1]]
    ids = scores["document"].tolist()
    documents = Texts.of(ids) if ids and ids[0] is not None else None
    judged = Dataset(
        np.zeros((len(queries), 1), np.float32), scores["label"].astype(np.int32),
        np.array([*starts, len(queries)], np.int64), tuple(queries[i] for i in starts), documents,
    )  # fmt: skip
    return Rankings(judged, np.ascontiguousarray(scores["score"], np.float64))


def _by_tool(rankings: dict[str, Rankings], names: Names, measure: str, number: dict[tuple[str, str], int]) -> Any:
    """Tool by tool which explanation is its own (−1: none), and the explanations that differ."""
    asked, base = parse(measure), TOOLS[names.tool]
    heard = [axis for axis in AXES if axis == "empty" or KINDS[asked.kind].hears(axis)]
    ways: list[int] = []
    reconciled: list[list[Any]] = []
    known: dict[Any, int] = {}
    for name in names.tools:
        if name not in TOOLS or name == base.name:
            ways.append(-1)
            continue
        tool = TOOLS[name]
        convention = tool.convention_for(asked)
        heard_values = tuple(getattr(convention, axis) for axis in heard)
        if heard_values not in known:
            try:
                parts = {fold: reconcile_rankings(one, measure, base, tool) for fold, one in rankings.items()}
                reconciled.append(_together(parts, number))
                known[heard_values] = len(reconciled) - 1
            except ConventionError:
                known[heard_values] = -1
        ways.append(known[heard_values])
    return {"ways": ways, "found": reconciled}


def _together(parts: dict[str, Reconciliation], number: dict[tuple[str, str], int]) -> list[Any]:
    """The shares of the mean over folds: axis, value, what in the data makes it matter, and the queries that carry it.

    What only printing rounds is left out, because the page's numbers are not rounded.
    """
    shares: dict[str, float] = {}
    facts: dict[str, list[str]] = {}
    carried: dict[str, dict[int, float]] = {}
    for fold, reconciliation in parts.items():
        for share in (s for s in reconciliation.shares if s.axis != "digits"):
            shares[share.axis] = shares.get(share.axis, 0.0) + share.value / len(parts)
            facts.setdefault(share.axis, []).append(share.fact)
            by_query = carried.setdefault(share.axis, {})
            for query, value in reconciliation.carriers(share, CARRIERS):
                if (fold, query) in number:
                    by_query[number[fold, query]] = value / len(parts)
    order = sorted((axis for axis, value in shares.items() if abs(value) >= 5e-7), key=lambda a: -abs(shares[a]))
    return [(axis, shares[axis], one_fact(facts[axis]), _largest(carried[axis])) for axis in order]


def _largest(carried: dict[int, float]) -> list[tuple[int, float]]:
    return sorted(((q, round(v, 6)) for q, v in carried.items()), key=lambda item: -abs(item[1]))[:CARRIERS]


def one_fact(facts: Sequence[str]) -> str:
    """What several folds say, as one: counts of the same thing are added.

    >>> one_fact(["3 of 17 queries have ties", "4 of 18 queries have ties"]), one_fact(["a → b", "a → b"])
    ('7 of 35 queries have ties', 'a → b')
    """
    words = {re.sub(r"\d+", "#", fact) for fact in facts}
    if len(words) > 1:
        return facts[0]
    counts = [[int(n) for n in re.findall(r"\d+", fact)] for fact in facts]
    counted = re.match(r"#( of #)? ", next(iter(words)))
    if counted is None:
        return facts[0]
    summed = 2 if counted.group(1) else 1
    numbers = iter(
        [
            sum(numbers_of_fold[i] for numbers_of_fold in counts) if i < summed else counts[0][i]
            for i in range(len(counts[0]))
        ]
    )
    return re.sub("#", lambda _: str(next(numbers)), next(iter(words)))
