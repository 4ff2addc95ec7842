"""What does the significance script of LETOR 3.0 print for two result files of Eval-Score-3.0.pl?

It reads the lines `… of query<i>`, so the files must have been made with flag 1. At rank k only the queries with at
least k documents are compared; where just one is left the script dies, and what it had written stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from pippin.evaluation.printers._perl import number
from pippin.evaluation.printers._ttest import Values, compare

_LINE = re.compile(rb"(precision|map|ndcg) of query(\S+):\t(.*)", re.I | re.S)
_NAMES = {b"precision": "prec", b"ndcg": "ndcg"}
_ORDER = {"map": 0, "ndcg": 1000, "prec": 2000}


def read(lines: Iterator[bytes]) -> Values:
    """Values by measure (map, ndcg@k, prec@k) and query."""
    values: Values = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        kind, query, columns = match[1].lower(), match[2], match[3].split(b"\t")
        if kind == b"map":
            values.setdefault("map", {})[query] = number(columns[0])
            continue
        for rank, column in enumerate(columns, 1):
            if column:
                values.setdefault(f"{_NAMES[kind]}@{rank}", {})[query] = number(column)
    return values


def order(measure: str) -> float:
    """Place of a measure in the table: map, NDCG, precision."""
    kind, _, rank = measure.partition("@")
    return _ORDER[kind] + int(rank or 0)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Eval-Ttest-3.0.pl A B OUT."""
    return compare("Eval-Ttest-3.0.pl", read, order, arguments, out, err)
