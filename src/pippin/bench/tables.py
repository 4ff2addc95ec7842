"""What do leaderboards and studies ask of results? Frames of means, values, failures, and what is still missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from pippin.bench.frame import Frame
from pippin.errors import DataError, UnknownName


class CellTables(Protocol):
    """The tables of all cells, as `bench.store.Results` gives them."""

    def means(self) -> Frame:
        """Data, fold, ranker, convention, seed, tool, measure, mean."""

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> Frame:
        """The same columns with query and value instead of mean; NaN where a query does not count."""

    def failures(self) -> Frame:
        """Data, fold, ranker, convention, seed, reason."""

    def missing(self) -> list[dict[str, Any]]:
        """Cells that were asked for and are not there, failed or not."""


class LoadedTables:
    """What some tools say under some measures, read from results once, for several leaderboards."""

    def __init__(self, tables: CellTables, tools: Sequence[str], measures: Sequence[str]) -> None:
        self._means, self._failures, self._missing = tables.means(), tables.failures(), tables.missing()
        self._values = tables.values(tools, measures)

    def means(self) -> Frame:
        """All means."""
        return self._means

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> Frame:
        """The values of the tools and measures that were read; asking for fewer is up to the reader."""
        return self._values

    def failures(self) -> Frame:
        """The failures."""
        return self._failures

    def missing(self) -> list[dict[str, Any]]:
        """The cells that are not there."""
        return self._missing


def absent(tables: CellTables) -> Frame:
    """The failures, and with the reason “not run” the cells that are still to come."""
    failures = tables.failures()
    key = failures.columns[:5]
    failed = set(failures.rows(*key))
    waiting = [tuple(entry[name] for name in key) for entry in tables.missing()]
    rows = [(*entry, "not run") for entry in waiting if entry not in failed]
    return Frame.of([*failures.rows(), *rows], **dict.fromkeys(key, str) | {"seed": int}, reason=str)


def training_convention(means: Frame, failures: Frame, wanted: str | None = None) -> str:
    """The training convention to show: the one wanted, else official, else the only one there is."""
    known: list[str] = sorted({*means.names("convention"), *failures.names("convention")})
    if wanted is not None:
        if wanted not in known:
            raise UnknownName("training convention of the results", wanted, known)
        return wanted
    if "official" in known:
        return "official"
    if len(known) > 1:
        raise DataError(f"the results hold several training conventions; choose one of {', '.join(known)}")
    if not known:
        raise DataError("the results hold no cell yet")
    return known[0]


def convention_free_rankers(means: Frame, failures: Frame, convention: str) -> list[str]:
    """Rankers without a cell under the convention because their training looks at no measure: it is the same anyway."""
    there = {ranker for frame in (means, failures) for ranker in frame.where(convention=convention).names("ranker")}
    elsewhere = sorted({*means.names("ranker"), *failures.names("ranker")} - there)
    return [name for name in elsewhere if not _hears_convention(name)]


def _hears_convention(name: str) -> bool:
    """Whether a ranker's training depends on a convention; one that is not known here may."""
    from pippin.rankers import ranker

    try:
        return "convention" in ranker(name)().get_params()
    except UnknownName:
        return True


def checked_names(kind: str, wanted: Sequence[str] | None, there: Iterable[str]) -> list[str]:
    """The names wanted, each checked; all of them where none is given."""
    known = sorted(set(there))
    for name in wanted or ():
        if name not in known:
            raise UnknownName(kind, name, known)
    return list(wanted) if wanted is not None else known
