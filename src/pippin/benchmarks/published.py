"""Compare leaderboards with published values.

A file of published values has a line per data set, algorithm and measure. `NAMES` maps published names, such as
"Ranking SVM", to rankers, such as `ranksvm`.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.benchmarks.leaderboard import (
    LETOR_MEASURES,
    Ceiling,
    Leaderboard,
    LeaderboardKey,
    agreement,
    leaderboards,
)
from pippin.benchmarks.tables import distinct
from pippin.errors import DataError
from pippin.evaluation.compare import Comparison, TestSettings
from pippin.evaluation.paired_tests import CORRECTIONS, TESTS
from pippin.evaluation.tools import TOOLS

if TYPE_CHECKING:
    from pippin.benchmarks.store import Results

# Published algorithm (lower case, letters and digits only) → ranker. AdaRank was published once for each measure that
# it optimises; both are compared with the one ranker.
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
class PublishedValue:
    """One published value."""

    data: str
    algorithm: str  # as published
    ranker: str | None  # None if Pippin does not have the algorithm
    measure: str
    value: float


@dataclass(frozen=True)
class PublishedComparison:
    """A published value and the mean of our ranker."""

    published: PublishedValue
    ours: float  # NaN without a mean

    @property
    def difference(self) -> float:
        """Our mean less the published value."""
        return self.ours - self.published.value


def ranker_of(algorithm: str) -> str | None:
    """Return the ranker of a published algorithm, or None.

    >>> ranker_of("Ranking SVM"), ranker_of("SVM-MAP"), ranker_of("SortNet")
    ('ranksvm', 'svmmap', None)
    """
    return NAMES.get(_plain(algorithm))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def read_published(path: str | os.PathLike[str]) -> list[PublishedValue]:
    """Read published values from a CSV file with the columns dataset, ranker (or algorithm), measure and value."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = _columns(reader.fieldnames or (), path)
            values = [_parse_row(row, columns, path, reader.line_num) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot read the published values: {error}", path) from None
    keys = set()
    for value in values:
        key = (value.data, value.algorithm, value.measure)
        if key in keys:
            raise DataError(f"duplicate value of {value.measure} of {value.algorithm} on {value.data}", path)
        keys.add(key)
    return values


def _columns(headers: Sequence[str], path: str | os.PathLike[str]) -> dict[str, str]:
    by_name = {h.strip().lower(): h for h in headers}
    headers_of = {}
    for column, names in _COLUMNS.items():
        matches = [by_name[n] for n in names if n in by_name]
        if not matches:
            raise DataError(f"column {' or '.join(names)} is missing", path, 1)
        headers_of[column] = matches[0]
    return headers_of


def _parse_row(
    row: Mapping[str, str | None], columns: Mapping[str, str], path: str | os.PathLike[str], line: int
) -> PublishedValue:
    data, algorithm, measure, value = ((row[columns[c]] or "").strip() for c in _COLUMNS)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or not (data and algorithm and measure):
        message = f"expected a data set, an algorithm, a measure and a number, found {list(row.values())}"
        raise DataError(message, path, line)
    return PublishedValue(data, algorithm, ranker_of(algorithm), measure, number)


def match_published(
    boards: Mapping[LeaderboardKey, Leaderboard], published: Sequence[PublishedValue], tool: str
) -> list[PublishedComparison]:
    """Return every published value with our mean under `tool`, in the order of the file.

    Names of data sets are compared without case and punctuation.
    """
    ours = {(_plain(p.data), p.measure): board for p, board in boards.items() if p.tool == tool}
    pairs = []
    for value in published:
        board = ours.get((_plain(value.data), value.measure))
        if board is not None:
            standing = board.by_ranker.get(value.ranker or "")
            pairs.append(PublishedComparison(value, standing.mean if standing else math.nan))
    return pairs


@dataclass(frozen=True)
class Leaderboards:
    """The leaderboards of a results folder, with published values and upper bounds."""

    boards: Mapping[LeaderboardKey, Leaderboard]  # under the requested tools
    all_tools: Mapping[LeaderboardKey, Leaderboard]  # of the requested measures, under every tool of the results
    published: Sequence[PublishedComparison]
    ceilings: Mapping[str, Ceiling]  # of data sets that hold a sample
    measures: Sequence[str]  # those requested
    tools: Sequence[str]  # those requested, "all" resolved

    def agreements(self, data: str) -> list[Comparison]:
        """Return one comparison of all tools per measure of a data set; the first requested tool comes first."""
        boards = [board for key, board in self.all_tools.items() if key.data == data]
        by_measure = dict.fromkeys(board.measure for board in boards)
        comparisons = [agreement([board for board in boards if board.measure == measure]) for measure in by_measure]
        return [comparison for comparison in comparisons if comparison is not None and len(comparison.boards) > 1]


def make_leaderboards(
    results: Results,
    *,
    data: Sequence[str] | None = None,
    tool: str | Sequence[str] = "official",
    measure: str | Sequence[str] = "NDCG@10",
    convention: str | None = None,
    published: str | os.PathLike[str] | None = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
) -> Leaderboards:
    """Make leaderboards; `Results.leaderboards` documents the parameters."""
    TESTS[test], CORRECTIONS[correction]  # an unknown name is an error before anything is read
    settings = TestSettings(test, correction, alpha=alpha)
    requested_measures = [measure] if isinstance(measure, str) else list(measure)
    values = None if published is None else read_published(published)
    stored = distinct(results.means(), "measure")
    measures = dict.fromkeys([*LETOR_MEASURES, *requested_measures])
    used_tools = set(distinct(results.means(), "tool"))
    all_tools = [name for name in TOOLS if name in used_tools]
    requested = [tool] if isinstance(tool, str) else tool
    tools = list(dict.fromkeys(name for text in requested for name in (all_tools if text == "all" else [text])))
    options: dict[str, Any] = {"data": data, "convention": convention, "plan": settings}
    shown_measures = [name for name in measures if name in stored or name in requested_measures]
    boards = leaderboards(results, tools=tools, measures=shown_measures, **options)
    if not boards:
        raise DataError(f"{', '.join(tools)} computes none of the measures of these results", results.path)
    pairs = [pair for name in tools for pair in match_published(boards, values or (), name)]
    if published is not None and not pairs:
        raise DataError("no overlap between the published values and these results", published)
    tool_order = list(dict.fromkeys([*tools, *all_tools]))
    by_all_tools = leaderboards(results, tools=tool_order, measures=requested_measures, **options)
    return Leaderboards(boards, by_all_tools, pairs, results.ceilings(), requested_measures, tools)
