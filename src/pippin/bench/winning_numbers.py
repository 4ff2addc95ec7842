"""Which algorithm wins most over many data sets? LETOR's winning number.

S_i(M) = Σ_j Σ_k 1[M_i(j) > M_k(j)]: over all data sets j and all other algorithms k, how often algorithm i is strictly
ahead under measure M (Qin et al. 2010, §4.3). Equal means win nothing. Where a value is missing the pair cannot be
compared, so every number comes with the number of pairs that could.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pippin.bench.frame import Frame
from pippin.bench.leaderboard import BoardKey, Leaderboard
from pippin.errors import DataError
from pippin.evaluation.compare import EQUAL


@dataclass(frozen=True)
class Winning:
    """How often one ranker wins under one measure."""

    measure: str
    ranker: str
    wins: int
    pairs: int  # (other ranker, data set) pairs in which both have a value


def winning_numbers(means: Frame) -> list[Winning]:
    """S_i(M) from a frame with the columns data, ranker, measure, value; measures and rankers in its order.

    >>> rows = [("D", "a", "MAP", 0.5), ("D", "b", "MAP", 0.4), ("E", "a", "MAP", 0.3), ("E", "b", "MAP", 0.3)]
    >>> winning_numbers(Frame.of(rows, data=str, ranker=str, measure=str, value=float))
    [Winning(measure='MAP', ranker='a', wins=1, pairs=2), Winning(measure='MAP', ranker='b', wins=0, pairs=2)]
    """
    table: dict[str, dict[str, dict[str, float]]] = {}  # measure → data → ranker → value
    for data, ranker, measure, value in means.rows("data", "ranker", "measure", "value"):
        row = table.setdefault(measure, {}).setdefault(data, {})
        if ranker in row:
            raise DataError(f"{ranker} has two values of {measure} on {data}")
        row[ranker] = value
    rankers = means.names("ranker")
    known = {
        measure: [{name: v for name, v in row.items() if not math.isnan(v)} for row in by_data.values()]
        for measure, by_data in table.items()
    }
    return [_winning(measure, ranker, rows) for measure, rows in known.items() for ranker in rankers]


def _winning(measure: str, ranker: str, rows: Iterable[Mapping[str, float]]) -> Winning:
    """What a ranker has of a measure; the rows, one a data set, are of rankers that have a value."""
    wins = pairs = 0
    for known in rows:
        if ranker in known:
            pairs += len(known) - 1
            wins += sum(known[ranker] - other > EQUAL for other in known.values())
    return Winning(measure, ranker, wins, pairs)


def means_of(boards: Mapping[BoardKey, Leaderboard], tool: str) -> Frame:
    """The means of leaderboards under one tool as `winning_numbers` takes them."""
    rows = [
        (key.data, standing.ranker, key.measure, standing.mean)
        for key, board in boards.items()
        if key.tool == tool
        for standing in board.standings
    ]
    return Frame.of(rows, data=str, ranker=str, measure=str, value=float)
