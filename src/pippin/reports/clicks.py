"""Tables and records of propensities and interleaving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pippin.clicks.logs import group_sum
from pippin.display.tables import Paragraph, Renderable, Table, format_number

if TYPE_CHECKING:
    from pippin.clicks.interleaving import Interleaving
    from pippin.clicks.logs import ClickLog
    from pippin.clicks.propensity import Propensities


def propensities_record(log: ClickLog, propensities: Propensities) -> dict[str, Any]:
    """Return impressions, clicks and propensity of every rank as a JSON record."""
    counts = log.counts()
    impressions, clicks = (group_sum(counts.ranks - 1, column) for column in (counts.views, counts.clicks))
    low, high = propensities.low, propensities.high
    ranks = [
        {"rank": i + 1, "shown": int(impressions[i]), "clicked": int(clicks[i]), "rate": clicks[i] / impressions[i],
         "propensity": float(value), "low": None if low is None else float(low[i]),
         "high": None if high is None else float(high[i])}
        for i, value in enumerate(propensities.values)
    ]  # fmt: skip
    return {"log": str(log), "method": propensities.method, "ranks": ranks}


def propensities_parts(record: dict[str, Any]) -> list[Renderable]:
    """Return the log in a sentence, and a row per rank."""
    ranks = record["ranks"]
    bounds = ("low", "high") if ranks[0]["low"] is not None else ()
    columns = ("rate", "propensity", *bounds)
    rows = [
        [str(row["rank"]), f"{row['shown']:,}", f"{row['clicked']:,}",
         *(format_number(row[name], 4) for name in columns)]
        for row in ranks
    ]  # fmt: skip
    values = ",".join(f"{row['propensity']:.4g}" for row in ranks)
    intervals = "; 95% intervals by resampling queries" if bounds else ""
    notes = [f"relative to the first rank, method {record['method']}{intervals}",
             f"for `pippin train --propensities`: {values}"]  # fmt: skip
    return [Paragraph(record["log"]), Table(["rank", "shown", "clicked", *columns], rows, notes=notes)]


def interleaving_record(result: Interleaving) -> dict[str, Any]:
    """Return a comparison by interleaving as a JSON record."""
    names = ("names", "method", "sessions", "wins")
    statistics = ("difference", "low", "high", "p", "test", "verdict")
    return {
        **{name: getattr(result, name) for name in names}, "queries": len(result.values),
        **{name: getattr(result, name) for name in statistics},
        "per_query": dict(zip(result.query_ids, result.values.tolist(), strict=True)),
    }  # fmt: skip


def interleaving_parts(result: Interleaving) -> list[Renderable]:
    """Return the verdict, and the sessions that each ranking won."""
    wins = dict(zip(result.names, result.wins, strict=True))
    wins["neither"] = result.sessions - sum(result.wins)
    rows = [[name, f"{won:,}", format_number(won / result.sessions, 4)] for name, won in wins.items()]
    notes = [
        f"{result.method}, {result.sessions:,} sessions. The difference is the mean over queries of their sessions' "
        f"outcomes (−1 to 1), with a 95% interval and the p-value of the {result.test} test."
    ]
    return [Paragraph(result.verdict), Table(["ranking", "sessions won", "share"], rows, notes=notes)]
