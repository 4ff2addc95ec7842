"""How far are our figures from the published ones?

A file of published values has a line per data set, algorithm and measure. Names are brought together in one table:
papers write “Ranking SVM”, we `ranksvm`. What has no counterpart on the other side stays, with a gap.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pippin.bench.leaderboard import BoardKey, Leaderboard
from pippin.errors import DataError

# Published algorithm, letters and digits only, in lower case → our ranker. AdaRank was published once for each
# measure that it optimises; ours is one ranker, held against both.
NAMES = {
    "regression": "regression", "linearregression": "regression", "linreg": "regression",
    "ranksvm": "ranksvm", "rankingsvm": "ranksvm", "svmrank": "ranksvm",
    "rankboost": "rankboost", "frank": "frank", "listnet": "listnet", "listmle": "listmle",
    "adarank": "adarank", "adarankmap": "adarank", "adarankndcg": "adarank",
    "svmmap": "svmmap", "ranknet": "ranknet", "lambdarank": "lambdarank", "lambdamart": "lambdamart", "mart": "mart",
    "ca": "coordinate-ascent", "coordascent": "coordinate-ascent", "coordinateascent": "coordinate-ascent",
    "bestfeature": "best-feature", "bf": "best-feature", "approxndcg": "approxndcg", "xendcg": "xendcg",
}  # fmt: skip
_COLUMNS = {"data": ("dataset", "data", "data set"), "algorithm": ("ranker", "algorithm"),
            "measure": ("measure",), "value": ("value",)}  # fmt: skip


@dataclass(frozen=True)
class Published:
    """One published value."""

    data: str
    algorithm: str  # as published
    ranker: str | None  # ours; None where we have no such algorithm
    measure: str
    value: float


@dataclass(frozen=True)
class Beside:
    """A published value beside ours."""

    published: Published
    ours: float  # NaN where we have none

    @property
    def difference(self) -> float:
        """Ours − published; NaN where we have none."""
        return self.ours - self.published.value


def ranker_of(algorithm: str) -> str | None:
    """Our name of a published algorithm, None where there is none.

    >>> ranker_of("Ranking SVM"), ranker_of("SVM-MAP"), ranker_of("SortNet")
    ('ranksvm', 'svmmap', None)
    """
    return NAMES.get(_plain(algorithm))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def read_published(path: str | os.PathLike[str]) -> list[Published]:
    """Published values from a CSV file with the columns dataset, ranker (or algorithm), measure and value."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = _columns(reader.fieldnames or (), path)
            values = [_published(row, columns, path, reader.line_num) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"the published values cannot be read: {error}", path) from None
    seen = set()
    for one in values:
        key = (one.data, one.algorithm, one.measure)
        if key in seen:
            raise DataError(f"{one.algorithm} has two values of {one.measure} on {one.data}", path)
        seen.add(key)
    return values


def _columns(headers: Sequence[str], path: str | os.PathLike[str]) -> dict[str, str]:
    by_name = {h.strip().lower(): h for h in headers}
    headers_of = {}
    for column, names in _COLUMNS.items():
        known = [by_name[n] for n in names if n in by_name]
        if not known:
            raise DataError(f"published values need a column {' or '.join(names)}", path, 1)
        headers_of[column] = known[0]
    return headers_of


def _published(
    row: Mapping[str, str | None], columns: Mapping[str, str], path: str | os.PathLike[str], line: int
) -> Published:
    data, algorithm, measure, value = ((row[columns[c]] or "").strip() for c in _COLUMNS)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or not (data and algorithm and measure):
        raise DataError(f"a data set, an algorithm, a measure and a number are needed, not {list(row.values())}", path,
                        line)  # fmt: skip
    return Published(data, algorithm, ranker_of(algorithm), measure, number)


def beside(boards: Mapping[BoardKey, Leaderboard], published: Sequence[Published], tool: str) -> list[Beside]:
    """Every published value of our data sets and measures beside ours under `tool`, in the file's order.

    Data sets are found by name, whatever the case and punctuation.
    """
    ours = {(_plain(p.data), p.measure): board for p, board in boards.items() if p.tool == tool}
    pairs = []
    for one in published:
        board = ours.get((_plain(one.data), one.measure))
        if board is not None:
            standing = board.by_ranker.get(one.ranker or "")
            pairs.append(Beside(one, standing.mean if standing else math.nan))
    return pairs
