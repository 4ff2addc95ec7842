"""`pippin propensities`: how likely each rank is looked at, as a log of clicks tells it."""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.options import printing, shared
from pippin.cli.output import write
from pippin.clicks.propensity import METHODS
from pippin.tables import Part, Prose, Table, number

HELP = """Say how likely each rank of a log is looked at, relative to the first, with intervals.

Documents must have stood at several ranks: by swaps, by several rankings, or by time. Where none did, --by regression
asks the features of --with what is good. Give what is printed to `pippin train --clicks LOG --propensities`."""
EXAMPLES = (
    "pippin propensities clicks.tsv",
    "pippin propensities clicks.tsv --by swaps --samples 200",
    "pippin propensities clicks.tsv --by regression --with train.txt --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("log", metavar="LOG", help="a log of clicks: .tsv, .jsonl or .parquet")
    parser.add_argument("--by", choices=METHODS, default="em", help="em: a chance for each document; swaps: ratios of "
                        "click rates of moved documents; regression: em with features (default: em)")  # fmt: skip
    parser.add_argument(
        "--with", dest="documents", metavar="DATA", help="the documents of the log with their features, for regression"
    )
    shared(parser, samples=100, seed=1)
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Estimate and print."""
    from pippin.cli.train import read_data
    from pippin.clicks.files import read
    from pippin.clicks.propensity import propensities

    log = read(options.log)
    data = None if options.documents is None else read_data(options.documents)
    found = propensities(log, options.by, data=data, samples=options.samples, seed=options.seed)
    told = record(str(log), log.counts(), found)
    write(options.format, options.output, lambda: parts(told), lambda: told)
    return 0


def record(log: str, counts: Any, found: Any) -> dict[str, Any]:
    """What programs get."""
    from pippin.clicks.log import summed

    shown, clicked = (summed(counts.ranks - 1, column) for column in (counts.shown, counts.clicked))
    ranks = [
        {"rank": i + 1, "shown": int(shown[i]), "clicked": int(clicked[i]), "rate": clicked[i] / shown[i],
         "propensity": float(value), "low": None if found.low is None else float(found.low[i]),
         "high": None if found.high is None else float(found.high[i])}
        for i, value in enumerate(found.values)
    ]  # fmt: skip
    return {"log": log, "method": found.method, "ranks": ranks}


def parts(told: dict[str, Any]) -> list[Part]:
    """What people get."""
    known = told["ranks"][0]["low"] is not None
    rows = [
        [str(row["rank"]), f"{row['shown']:,}", f"{row['clicked']:,}",
         *(number(row[name], 4) for name in ("rate", "propensity", *(("low", "high") if known else ())))]
        for row in told["ranks"]
    ]  # fmt: skip
    heads = ["rank", "shown", "clicked", "rate", "propensity", *(["from", "to"] if known else [])]
    given = ",".join(f"{row['propensity']:.4g}" for row in told["ranks"])
    drawn = "; 95 % intervals draw queries anew" if known else ""
    notes = [f"Relative to the first rank, by {told['method']}{drawn}. For `pippin train --propensities`: {given}"]
    return [Prose(told["log"]), Table(heads, rows, notes=notes)]
