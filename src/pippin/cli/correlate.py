"""The `pippin correlate` command."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

import pippin
from pippin.cli.options import CommaList, add_options, add_output_options
from pippin.cli.output import write_result
from pippin.display.tables import Table, format_number

if TYPE_CHECKING:
    from pippin.correlation import Correlations

HELP = """Correlate two leaderboards or columns of scores.

A and B are two leaderboards (system, score), two columns of numbers, or two matrices (queries × systems). Matrices are
correlated by their means, with bootstrap intervals. A single file has two columns of numbers."""
EXAMPLES = (
    "pippin correlate a.csv b.csv",
    "pippin correlate both.csv --coefficient tau_b,tau_ap_b --format json",
    "pippin correlate map.csv ndcg.csv --resamples 200",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("x", metavar="A", help="first list; the reference, for asymmetric coefficients")
    parser.add_argument("y", metavar="B", nargs="?", help="second list")
    parser.add_argument("-c", "--coefficient", action=CommaList, metavar="C",
                        help=f"any of {', '.join(pippin.correlation.COEFFICIENTS)} (default: all)")  # fmt: skip
    parser.add_argument("--best", choices=("high", "low"), default="high", help="high for scores, low for ranks "
                        "(default: high)")  # fmt: skip
    parser.add_argument("--tolerance", type=float, metavar="T", help="treat items closer than this as tied")
    add_options(parser, resamples=1000, seed=0)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Correlate and print."""
    results = pippin.correlate(
        options.x, options.y, options.coefficient, best=options.best, tolerance=options.tolerance,
        resamples=options.resamples, seed=options.seed,
    )  # fmt: skip
    write_result(
        options.format, options.output, lambda: [table(results)], lambda: record(results), lambda: table(results)
    )
    return 0


def record(results: Correlations) -> dict[str, Any]:
    """Return the results as JSON holds them."""
    first = next(iter(results.values()))
    return {
        "items": first.n, "best": first.best,
        "coefficients": {
            c.name: {"value": c.value, "reason": c.reason, "low": c.low, "high": c.high} for c in results.values()
        },
    }  # fmt: skip


def table(results: Correlations) -> Table:
    """Return a row per coefficient."""
    has_intervals = any(not math.isnan(c.low) for c in results.values())
    rows = []
    for c in results.values():
        interval = "" if math.isnan(c.low) else f"[{c.low:.4f}, {c.high:.4f}]"
        rows.append([c.name, format_number(c.value, 6), *([interval] if has_intervals else []), c.reason])
    first = next(iter(results.values()))
    note = f"{first.n} items; best = {first.best}"
    computed = next((c for c in results.values() if not math.isnan(c.value)), None)
    if computed is not None:
        note += f"; tied pairs: {computed.ties_x} in A, {computed.ties_y} in B"
    headers = ["coefficient", "value", *(["95% interval"] if has_intervals else []), "remark"]
    return Table(headers, rows, trailing_text=1, notes=[note])
