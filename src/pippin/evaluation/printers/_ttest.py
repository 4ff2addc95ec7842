"""What do LETOR's significance scripts make of two result files?

Values per measure and query are read from two files, paired, and tested for A being better than B; the scripts for
3.0 and for 4.0 differ in what they read and in the order of the measures. Sums run in numeric order of the queries,
where the originals follow Perl's hash order, which changes their last digits from run to run. Source: the scripts by
Jun Xu, Microsoft Research; the statistic is `pippin.evaluation.printers.perl_t`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from pippin.evaluation.printers._lists import write_text
from pippin.evaluation.printers._perl import DIED, number, show
from pippin.evaluation.printers._stop import Stop, ending
from pippin.evaluation.printers.perl_t import paired_t_letor

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
        raise Stop(error.errno or errno.EIO, err=f"{error.strerror}: Cannot open file {path}.\n") from None


def _line(measure: str, a: dict[bytes, float], b: dict[bytes, float]) -> str:
    """One measure's line; stops where a query has only one value, or where there is only one query."""
    queries = sorted(a.keys() | b.keys(), key=number)
    for query in queries:
        if query not in a or query not in b:
            text = query.decode("utf-8", "replace")
            raise Stop(DIED, err=f"Empty value for {measure}, qid = {text}\n")
    if len(queries) < 2:
        raise Stop(DIED, err="Invalid n: 0\n")
    test = paired_t_letor([a[q] for q in queries], [b[q] for q in queries])
    columns = [measure, str(test.n), show(test.mean_a), show(test.mean_b), show(test.t), test.p_text]
    return "\t".join(columns) + "\n"


def compare(
    name: str, reader: Reader, order: Callable[[str], float], arguments: list[str], out: TextIO, err: TextIO
) -> int:
    """Test two result files; what was written when the original dies stays written."""

    def work() -> None:
        if len(arguments) != 3:
            raise Stop(WRONG_COMMAND, _USAGE.format(name))
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

    return ending(work, out, err)
