"""`pippin correlate`: how alike are two leaderboards, ties and all?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import numpy as np

from pippin.cli.output import write_text
from pippin.data.matrix import Matrix, read_matrix
from pippin.errors import ConventionError, DataError
from pippin.evaluation.correlation import COEFFICIENTS, Correlation, correlate
from pippin.evaluation.correlation_bootstrap import CorrelationInterval, bootstrap
from pippin.tables import Table, number

HELP = """Rank correlation of two leaderboards or columns of scores.

  pippin correlate a.csv b.csv            two leaderboards (system, score), or two columns of numbers
  pippin correlate both.csv               one file with two columns of numbers
  pippin correlate map.csv ndcg.csv       two matrices, queries × systems: means, with bootstrap intervals"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="the first; x, the truth where a coefficient has one")
    parser.add_argument("b", metavar="B", nargs="?", help="the second; y")
    parser.add_argument("-c", "--coefficient", action="append", metavar="C", help=f"any of {', '.join(COEFFICIENTS)} "
                        "(default: all)")  # fmt: skip
    parser.add_argument("--top", choices=("high", "low"), default="high", help="which end is the top: high for scores, "
                        "low for ranks (default: high)")  # fmt: skip
    parser.add_argument("--tolerance", type=float, help="closer than this is tied")
    parser.add_argument("--samples", type=int, default=1000, help="of the bootstrap over queries (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    parser.add_argument("-f", "--format", choices=("table", "markdown", "latex", "csv", "json"), default="table")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write here instead of to the terminal")


def run(options: argparse.Namespace) -> int:
    """Correlate and print."""
    for name in options.coefficient or []:
        COEFFICIENTS[name]
    x, y, matrices = columns(options.a, options.b)
    found: list[tuple[str, Correlation | None, CorrelationInterval | None, str]] = []
    for name in options.coefficient or list(COEFFICIENTS):
        near = options.tolerance if COEFFICIENTS[name].tolerance_in else None
        try:
            value = correlate(x, y, name, top=options.top, tolerance=near)
        except ConventionError as error:
            if options.coefficient:
                raise
            found.append((name, None, None, str(error)))
            continue
        interval, remark = None, value.reason
        if matrices is not None:
            try:
                interval = bootstrap(
                    *matrices, name, samples=options.samples, seed=options.seed, top=options.top, tolerance=near
                )
            except ConventionError:  # a resample may tie what the whole does not
                remark = "no interval: resampled queries tie systems, which it refuses"
        found.append((name, value, interval, remark))
    write_text(render(found, len(x), options), options.output)
    return 0


def columns(a: str, b: str | None) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """x and y, and the two matrices where the files are queries × systems."""
    first = read_matrix(a)
    if b is None:
        if first.values.shape[1] != 2:
            raise DataError(f"one file needs two columns of numbers, not {first.values.shape[1]}; or name a second", a)
        return first.values[:, 0], first.values[:, 1], None
    second = read_matrix(b)
    if first.values.shape[1] > 1 and second.values.shape[1] > 1:
        x, y = _matched(first, first.columns, first.values.T, second, second.columns, second.values.T)
        if first.rows and second.rows and first.rows != second.rows:
            raise DataError("the two matrices name different queries, or in another order", b)
        if x.shape != y.shape:
            raise DataError(f"{x.shape[1]} queries against {y.shape[1]}", b)
        return x.mean(axis=1), y.mean(axis=1), (np.ascontiguousarray(x.T), np.ascontiguousarray(y.T))
    for matrix in (first, second):
        if matrix.values.shape[1] != 1:
            raise DataError(f"{matrix.values.shape[1]} columns of numbers against one of the other file", matrix.file)
    x, y = _matched(first, first.rows, first.values, second, second.rows, second.values)
    return x[:, 0], y[:, 0], None


def _matched(
    first: Matrix, names: Sequence[str], x: np.ndarray, second: Matrix, others: Sequence[str], y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Items of both in one order: by name where both have names, else as they stand."""
    if not names or not others:
        return x, y
    for file, those, these in ((first.file, names, others), (second.file, others, names)):
        lacking = sorted(set(these) - set(those))
        if lacking:
            raise DataError(f"no {lacking[0]!r} here, which the other file has ({len(lacking)} such)", file)
        if len(set(those)) != len(those):
            raise DataError("a name stands twice", file)
    position = {name: i for i, name in enumerate(others)}
    return x, y[[position[name] for name in names]]


def render(
    found: Sequence[tuple[str, Correlation | None, CorrelationInterval | None, str]],
    items: int,
    options: argparse.Namespace,
) -> str:
    """A row per coefficient."""
    if options.format == "json":
        return json.dumps({
            "items": items, "top": options.top,
            "coefficients": {
                name: {"value": None if c is None or c.value != c.value else c.value, "reason": reason,
                       "low": None if i is None else i.low, "high": None if i is None else i.high}
                for name, c, i, reason in found
            },
        }, indent=1)  # fmt: skip
    intervals = any(i is not None for _, _, i, _ in found)
    rows = [
        [name, "–" if c is None else number(c.value, 6),
         *([f"[{i.low:.4f}, {i.high:.4f}]" if i is not None else ""] if intervals else []), reason]
        for name, c, i, reason in found
    ]  # fmt: skip
    known = next((c for _, c, _, _ in found if c is not None), None)
    notes = [f"{items} items; top = {options.top}"]
    if known is not None:
        notes[0] += f"; tied pairs: {known.ties_x} in A, {known.ties_y} in B"
    headers = ["coefficient", "value", *(["95% interval"] if intervals else []), "remark"]
    return Table(headers, rows, remarks=1, notes=notes).render(options.format)
