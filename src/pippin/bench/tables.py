"""What do leaderboards and studies ask of results? Frames of means, values, failures, and what is still missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pippin.errors import DataError, UnknownName

if TYPE_CHECKING:
    from polars import DataFrame


class CellTables(Protocol):
    """The tables of all cells, as `bench.store.Results` gives them."""

    def means(self) -> DataFrame:
        """Data, fold, ranker, convention, seed, tool, measure, mean."""

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> DataFrame:
        """The same columns with query and value instead of mean; null where a query does not count."""

    def failures(self) -> DataFrame:
        """Data, fold, ranker, convention, seed, reason."""

    def missing(self) -> list[dict[str, Any]]:
        """Cells that were asked for and are not there, failed or not."""


class LoadedTables:
    """What some tools say under some measures, read from results once, for several leaderboards."""

    def __init__(self, tables: CellTables, tools: Sequence[str], measures: Sequence[str]) -> None:
        self._means, self._failures, self._missing = tables.means(), tables.failures(), tables.missing()
        self._values = tables.values(tools, measures)

    def means(self) -> DataFrame:
        """All means."""
        return self._means

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> DataFrame:
        """The values of the tools and measures that were read; asking for fewer is up to the reader."""
        return self._values

    def failures(self) -> DataFrame:
        """The failures."""
        return self._failures

    def missing(self) -> list[dict[str, Any]]:
        """The cells that are not there."""
        return self._missing


def absent(tables: CellTables) -> DataFrame:
    """The failures, and with the reason “not run” the cells that are still to come."""
    import polars as pl

    failures = tables.failures()
    key = failures.columns[:5]
    failed = set(failures.select(key).iter_rows())
    waiting = [tuple(entry[name] for name in key) for entry in tables.missing()]
    rows = [(*entry, "not run") for entry in waiting if entry not in failed]
    return pl.concat([failures, pl.DataFrame(rows, failures.schema, orient="row")])


def training_convention(means: DataFrame, failures: DataFrame, wanted: str | None = None) -> str:
    """The training convention to show: the one wanted, else official, else the only one there is."""
    known: list[str] = sorted({*means["convention"], *failures["convention"]})
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


def convention_free_rankers(means: DataFrame, failures: DataFrame, convention: str) -> list[str]:
    """Rankers without a cell under the convention because their training looks at no measure: it is the same anyway."""
    import polars as pl

    under = pl.col("convention") == convention
    there = {*means.filter(under)["ranker"], *failures.filter(under)["ranker"]}
    elsewhere = sorted({*means["ranker"], *failures["ranker"]} - there)
    if not elsewhere:
        return []
    from pippin.rankers import ranker
    from pippin.rankers.composing import parts_of

    known = [name for name in elsewhere if all(part in shelf for shelf, part in parts_of(name))]
    return [name for name in known if "convention" not in ranker(name)().get_params()]


def checked_names(kind: str, wanted: Sequence[str] | None, there: Iterable[str]) -> list[str]:
    """The names wanted, each checked; all of them where none is given."""
    known = sorted(set(there))
    for name in wanted or ():
        if name not in known:
            raise UnknownName(kind, name, known)
    return list(wanted) if wanted is not None else known


def partitioned(frame: DataFrame, by: list[str]) -> dict[tuple[object, ...], DataFrame]:
    """The rows of a frame by the values of some columns; nothing where it has none."""
    return frame.partition_by(by, as_dict=True, maintain_order=True) if len(frame) else {}
