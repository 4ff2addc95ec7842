"""Emulators of the significance scripts of LETOR 3.0 and LETOR 4.0.

They compare two result files of the scoring scripts, written with flag 1. The 4.0 script reads the values with their 4
decimals, and takes the names of measures from the headers of the tables.
"""

from __future__ import annotations

import errno
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from pippin.compat.common import ToolExit, run_emulator, write_text
from pippin.compat.perl import DIED, format_number, parse_number
from pippin.errors import DataError
from pippin.records import FrozenRecord

PERL_PI = 3.1415926536
SIGNIFICANT_DIGITS = 5


class LetorT(FrozenRecord):
    """One line of LETOR's t-test: size, means, t, and the one-tailed upper p."""

    n: int
    mean_a: float
    mean_b: float
    t: float
    p: float

    @property
    def df(self) -> int:
        """Degrees of freedom, n − 1."""
        return self.n - 1

    @property
    def p_text(self) -> str:
        """The p-value as printed by the scripts."""
        return format_p(self.p)


def paired_t_letor(a: Sequence[float], b: Sequence[float]) -> LetorT:
    """Run the paired t-test of LETOR's scripts, whose alternative is that A is better than B.

    d = a − b; s² = (Σd² − n·mean²)/(n − 1), 0 if negative; t = mean/(s/√n), 0 if s = 0; p = P(T > t), df = n
    − 1. Sums run in the order given. Source: Eval-Ttest of LETOR 3.0 and 4.0 over the Perl modules
    Statistics::DependantTTest 0.03 and Statistics::Distributions 1.02.

    >>> paired_t_letor([0.5, 0.75, 1.0], [0.25, 0.75, 0.5]).p_text
    '0.11270'
    """
    if len(a) != len(b):
        raise DataError(f"a paired t-test needs as many values of A as of B, found {len(a)} and {len(b)}")
    n = len(a)
    if n < 2:
        raise DataError(f"a paired t-test needs at least two queries, found {n}")
    total_a = total_b = total = squares = 0.0
    for x, y in zip(a, b, strict=True):
        d = x - y
        total_a += x
        total_b += y
        total += d
        squares += d**2
    if not math.isfinite(squares):
        raise DataError("a paired t-test needs finite values")
    mean = total / n
    variance = (squares - n * mean**2) / (n - 1)
    # Rounding can make the one-pass variance negative; the original replaces it, and t, by zero.
    deviation = math.sqrt(variance) if variance > 0 else 0.0
    t = mean / (deviation / math.sqrt(n)) if deviation else 0.0
    return LetorT(n=n, mean_a=total_a / n, mean_b=total_b / n, t=t, p=upper_t(n - 1, t))


def upper_t(df: int, t: float) -> float:
    """Return the upper tail P(T > t) of Student's t by the sum of Statistics::Distributions 1.02.

    With θ = atan(t/√df) and the finite series of Abramowitz and Stegun 26.7.3 and 26.7.4:
    df even: 1/2 − (sin θ/2)·Y;  df odd: 1/2 − θ/π − (sin θ cos θ/π)·Y, without the last term for df = 1;
    Y = 1 + c₁z(1 + c₂z(…)), z = cos²θ; never below 0.

    >>> upper_t(4, 0.0)
    0.5
    """
    if df < 1:
        raise DataError(f"Student's t needs at least one degree of freedom, found {df}")
    theta = math.atan2(t / math.sqrt(df), 1)
    cosine_squared = math.cos(theta) ** 2
    series = 1.0
    for i in range(df - 2, 1, -2):
        series = 1 + (i - 1) / i * cosine_squared * series
    if df % 2 == 0:
        centre, weight = 0.5, math.sin(theta) / 2
    else:
        centre = 0.5 + theta / PERL_PI
        weight = 0.0 if df == 1 else math.sin(theta) * math.cos(theta) / PERL_PI
    return max(0.0, 1 - centre - weight * series)


def format_p(p: float) -> str:
    """Format a probability as Statistics::Distributions 1.02: five significant digits without an exponent.

    Decimals: |trunc(log10 p − 5)| with log10 p = ln p / ln 10; zero prints as a bare 0.

    >>> format_p(0.95846123), format_p(0.0000116481), format_p(0.5), format_p(0.0)
    ('0.95846', '0.000011648', '0.50000', '0')
    """
    if p == 0:
        return "0"
    decimals = abs(int(math.log(abs(p)) / math.log(10) - SIGNIFICANT_DIGITS))
    return f"{p:.{decimals}f}"


WRONG_COMMAND = 255  # exit -1
_USAGE = (
    "Invalid command line.\n"
    "Usage: {} argv[1] argv[2] argv[3]\n"
    "argv[1]: evaluation file A\n"
    "argv[2]: evaluation file B\n"
    "argv[3]: result (output) file\n"
)

Values = dict[str, dict[bytes, float]]  # measure -> query -> value
Reader = Callable[[Iterator[bytes]], Values]


def _read(path: str, reader: Reader) -> Values:
    try:
        with Path(path).open("rb") as file:
            return reader(line.removesuffix(b"\n") for line in file)
    except OSError as error:
        raise ToolExit(error.errno or errno.EIO, err=f"{error.strerror}: Cannot open file {path}.\n") from None


def _line(measure: str, a: dict[bytes, float], b: dict[bytes, float]) -> str:
    """Return the line of one measure; exit if a query lacks a value or there is only one query."""
    queries = sorted(a.keys() | b.keys(), key=parse_number)
    for query in queries:
        if query not in a or query not in b:
            text = query.decode("utf-8", "replace")
            raise ToolExit(DIED, err=f"Empty value for {measure}, qid = {text}\n")
    if len(queries) < 2:
        raise ToolExit(DIED, err="Invalid n: 0\n")
    test = paired_t_letor([a[q] for q in queries], [b[q] for q in queries])
    columns = [
        measure,
        str(test.n),
        format_number(test.mean_a),
        format_number(test.mean_b),
        format_number(test.t),
        test.p_text,
    ]
    return "\t".join(columns) + "\n"


def compare(
    name: str, reader: Reader, order: Callable[[str], float], arguments: list[str], out: TextIO, err: TextIO
) -> int:
    """Test two result files; lines before an error are written, as by the original."""

    def emulate() -> None:
        if len(arguments) != 3:
            raise ToolExit(WRONG_COMMAND, _USAGE.format(name))
        a, b = _read(arguments[0], reader), _read(arguments[1], reader)
        lines = [
            f"t-test results for A: {arguments[0]} and B: {arguments[1]}\n\n\n",
            "Measure\tNumber of queries\tMean A\tMean B\tt-value\tp-value\n",
        ]
        try:
            for measure in sorted(a.keys() | b.keys(), key=order):
                lines.append(_line(measure, a.get(measure, {}), b.get(measure, {})))
        finally:
            write_text(arguments[2], "".join(lines))

    return run_emulator(emulate, out, err)


_QUERY_LINE = re.compile(rb"(precision|map|ndcg) of query(\S+):\t(.*)", re.I | re.S)
_NAMES = {b"precision": "prec", b"ndcg": "ndcg"}
_ORDER = {"map": 0, "ndcg": 1000, "prec": 2000}


def read_letor3(lines: Iterator[bytes]) -> Values:
    """Return values by measure (map, ndcg@k, prec@k) and query."""
    values: Values = {}
    for line in lines:
        match = _QUERY_LINE.match(line)
        if match is None:
            continue
        kind, query, columns = match[1].lower(), match[2], match[3].split(b"\t")
        if kind == b"map":
            values.setdefault("map", {})[query] = parse_number(columns[0])
            continue
        for rank, column in enumerate(columns, 1):
            if column:
                values.setdefault(f"{_NAMES[kind]}@{rank}", {})[query] = parse_number(column)
    return values


def order_letor3(measure: str) -> float:
    """Return the sort key of a measure: map, NDCG, precision."""
    kind, _, rank = measure.partition("@")
    return _ORDER[kind] + int(rank or 0)


def main_letor3(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run Eval-Ttest-3.0.pl A B OUT."""
    return compare("Eval-Ttest-3.0.pl", read_letor3, order_letor3, arguments, out, err)


_AT_RANK = re.compile(r"(P|NDCG)@(\d+)", re.I)
_MAX_RANK = 100


def read_letor4(lines: Iterator[bytes]) -> Values:
    """Return values by measure and query: rows under a header line that starts with `qid`, without averages."""
    values: Values = {}
    header: list[str] = []
    for line in lines:
        if len(line) < 2 or line[:7].lower() == b"average":
            continue
        cells = line.rstrip(b"\t").split(b"\t")
        if line[:4].lower() == b"qid\t":
            header = [cell.decode("utf-8", "replace") for cell in cells]
            continue
        for column, cell in enumerate(cells[1:], 1):
            measure = header[column] if column < len(header) else ""
            values.setdefault(measure, {})[cells[0]] = parse_number(cell)
    return values


def order_letor4(measure: str) -> float:
    """Return the sort key of a measure: P@k, MAP, NDCG@k, MeanNDCG, then any other."""
    at_rank = _AT_RANK.fullmatch(measure)
    if at_rank:
        rank = int(at_rank[2])
        if rank > _MAX_RANK:
            raise ToolExit(DIED, err=f"Error: Invalide measure string {measure}\n")
        return rank if at_rank[1].upper() == "P" else 500 + rank
    name = measure.lower()
    return 100 if name.startswith("map") else 600 if name.startswith("meanndcg") else 1000


def main_letor4(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run Eval-Ttest-4.0.pl A B OUT."""
    return compare("Eval-Ttest-4.0.pl", read_letor4, order_letor4, arguments, out, err)
