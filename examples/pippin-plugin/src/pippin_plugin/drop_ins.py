"""A drop-in: `pippin as msmarco_mrr REFERENCE CANDIDATES` prints what MS MARCO's script for passage ranking prints.

A drop-in is `main(arguments, out, err)` with the original's own arguments, which gives back the original's exit status.
REFERENCE holds query, 0, passage, 1; CANDIDATES query, passage, rank; both are separated by tabs. The mean is over the
queries of REFERENCE, found or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pippin.compat import register
from pippin.errors import DataError

DEPTH = 10
FRAME = "#####################"


@register("msmarco_mrr")
def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """msmarco_eval_ranking.py REFERENCE CANDIDATES."""
    if len(arguments) != 2:
        out.write("Usage: msmarco_eval_ranking.py <reference ranking> <candidate ranking>\n")
        return 0
    relevant: dict[int, set[int]] = {}
    for query, _, passage, *_ in _rows(arguments[0], 3):
        relevant.setdefault(query, set()).add(passage)
    ranked: dict[int, dict[int, int]] = {}
    for query, passage, rank, *_ in _rows(arguments[1], 3):
        ranked.setdefault(query, {})[rank] = passage
    if not relevant.keys() & ranked.keys():
        raise DataError("none of the queries is in the reference", arguments[1])
    total = sum(_reciprocal_rank(ranked[query], relevant[query]) for query in ranked if query in relevant)
    out.write(f"{FRAME}\nMRR @{DEPTH}: {total / len(relevant)}\nQueriesRanked: {len(ranked)}\n{FRAME}\n")
    return 0


def _reciprocal_rank(passages: dict[int, int], relevant: set[int]) -> float:
    return next((1 / rank for rank in range(1, DEPTH + 1) if passages.get(rank) in relevant), 0)


def _rows(file: str, least: int) -> Iterator[list[int]]:
    for number, line in enumerate(Path(file).read_text().splitlines(), 1):
        try:
            row = [int(cell) for cell in line.strip().split("\t")]
        except ValueError:
            row = []
        if len(row) < least:
            raise DataError(f"{least} whole numbers are expected here, separated by tabs", file, number)
        yield row
