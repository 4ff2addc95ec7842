"""`pippin correlate`: how alike are two leaderboards, ties and all?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from pippin.cli.options import Several, old, printing, shared
from pippin.cli.output import as_json, write_text
from pippin.data.matrix import Matrix, read_matrix
from pippin.errors import ConventionError, DataError
from pippin.evaluation.correlation import COEFFICIENTS, Correlation, correlate
from pippin.evaluation.correlation_bootstrap import CorrelationInterval, bootstrap
from pippin.tables import Table, number

HELP = """Rank correlation of two leaderboards or columns of scores.

A and B are two leaderboards (system, score), two columns of numbers, or two matrices, queries × systems: then of the
means, with bootstrap intervals. One file alone has two columns of numbers."""
EXAMPLES = (
    "pippin correlate a.csv b.csv",
    "pippin correlate both.csv --coefficient tau_b,tau_ap_b --format json",
    "pippin correlate map.csv ndcg.csv --samples 200",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="the first; x, the truth where a coefficient has one")
    parser.add_argument("b", metavar="B", nargs="?", help="the second; y")
    parser.add_argument("-c", "--coefficient", action=Several, metavar="C", help=f"any of {', '.join(COEFFICIENTS)} "
                        "(default: all)")  # fmt: skip
    parser.add_argument("--best", choices=("high", "low"), default="high", help="which end is the top: high for "
                        "scores, low for ranks (default: high)")  # fmt: skip
    parser.add_argument("--tolerance", type=float, metavar="T", help="closer than this is tied")
    shared(parser, samples=1000, seed=0)
    printing(parser)
    old(parser, "--top", "--best")


def run(options: argparse.Namespace) -> int:
    """Correlate and print."""
    for name in options.coefficient or []:
        COEFFICIENTS[name]
    x, y, matrices = columns(options.a, options.b)
    lines: list[tuple[str, Correlation | None, CorrelationInterval | None, str]] = []
    for name in options.coefficient or list(COEFFICIENTS):
        near = options.tolerance if COEFFICIENTS[name].tolerance_in else None
        try:
            value = correlate(x, y, name, top=options.best, tolerance=near)
        except ConventionError as error:
            if options.coefficient:
                raise
            lines.append((name, None, None, str(error)))
            continue
        interval, remark = None, value.reason
        if matrices is not None:
            try:
                interval = bootstrap(
                    *matrices, name, samples=options.samples, seed=options.seed, top=options.best, tolerance=near
                )
            except ConventionError:  # a resample may tie what the whole does not
                remark = "no interval: resampled queries tie systems, which it refuses"
        lines.append((name, value, interval, remark))
    write_text(render(lines, len(x), options), options.output, options.format)
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
    lines: Sequence[tuple[str, Correlation | None, CorrelationInterval | None, str]],
    items: int,
    options: argparse.Namespace,
) -> str:
    """A row per coefficient."""
    if options.format == "json":
        return as_json({
            "items": items, "top": options.best,
            "coefficients": {
                name: {"value": None if c is None or c.value != c.value else c.value, "reason": reason,
                       "low": None if i is None else i.low, "high": None if i is None else i.high}
                for name, c, i, reason in lines
            },
        })  # fmt: skip
    intervals = any(i is not None for _, _, i, _ in lines)
    rows = [
        [name, "–" if c is None else number(c.value, 6),
         *([f"[{i.low:.4f}, {i.high:.4f}]" if i is not None else ""] if intervals else []), reason]
        for name, c, i, reason in lines
    ]  # fmt: skip
    known = next((c for _, c, _, _ in lines if c is not None), None)
    notes = [f"{items} items; top = {options.best}"]
    if known is not None:
        notes[0] += f"; tied pairs: {known.ties_x} in A, {known.ties_y} in B"
    headers = ["coefficient", "value", *(["95% interval"] if intervals else []), "remark"]
    return Table(headers, rows, remarks=1, notes=notes).render(options.format)
