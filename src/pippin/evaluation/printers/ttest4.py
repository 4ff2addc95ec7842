"""What does the significance script of LETOR 4.0 and MSLR print for two result files of their scoring scripts?

It reads the tables with their 4 decimals, so the files must have been made with flag 1, and names the measures as the
tables' headers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from pippin.evaluation.printers._perl import DIED, number
from pippin.evaluation.printers._stop import Stop
from pippin.evaluation.printers._ttest import Values, compare

_AT_RANK = re.compile(r"(P|NDCG)@(\d+)", re.I)
_DEEPEST = 100


def read(lines: Iterator[bytes]) -> Values:
    """Values by measure and query: rows under a header line that starts with `qid`, without the averages."""
    values: Values = {}
    header: list[str] = []
    for line in lines:
        if len(line) < 2 or line[:7].lower() == b"average":
            continue
        cells = line.rstrip(b"\t").split(b"\t")
        if line[:4].lower() == b"qid\t":
            header = [cell.decode("utf-8", "replace") for cell in cells]
            continue
        for place, cell in enumerate(cells[1:], 1):
            measure = header[place] if place < len(header) else ""
            values.setdefault(measure, {})[cells[0]] = number(cell)
    return values


def order(measure: str) -> float:
    """Place of a measure in the table: P@k, MAP, NDCG@k, MeanNDCG, then any other."""
    at_rank = _AT_RANK.fullmatch(measure)
    if at_rank:
        rank = int(at_rank[2])
        if rank > _DEEPEST:
            raise Stop(DIED, err=f"Error: Invalide measure string {measure}\n")
        return rank if at_rank[1].upper() == "P" else 500 + rank
    name = measure.lower()
    return 100 if name.startswith("map") else 600 if name.startswith("meanndcg") else 1000


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Eval-Ttest-4.0.pl A B OUT."""
    return compare("Eval-Ttest-4.0.pl", read, order, arguments, out, err)
