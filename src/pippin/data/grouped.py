"""LightGBM's layout of ranking data: features and labels in one file, the queries' sizes in `FILE.query` beside it.

A line of the file is that of LETOR text without `qid:`, which is put in here, so that every reader understands it and
errors name the line that they mean. The queries are called FILE-1, FILE-2 … Weights in `FILE.weight` count where a
ranker is trained; see `weights_beside`.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError

QUERY, WEIGHT = ".query", ".weight"


def has_queries_beside(name: str | os.PathLike[str]) -> bool:
    """Whether the sizes of a file's queries stand beside it."""
    return Path(os.fspath(name) + QUERY).is_file()


def with_queries(data: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """The lines of a file with `qid:` in each; a file that has it already stays as it is."""
    lines = data.tobytes().split(b"\n")
    rows = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")]
    if not rows or b" qid:" in lines[rows[0]].replace(b"\t", b" "):
        return data
    sizes = _numbers(name + QUERY, "the size of a query")
    if (sizes < 1).any() or (sizes != np.floor(sizes)).any():
        at = int(np.flatnonzero((sizes < 1) | (sizes != np.floor(sizes)))[0])
        raise DataError(f"the size of a query is a whole number from 1, not {sizes[at]:g}", name + QUERY, at + 1)
    if int(sizes.sum()) != len(rows):
        raise DataError(f"the queries have {int(sizes.sum()):,} documents, and {name} has {len(rows):,}", name + QUERY)
    stem = "-".join(Path(name).name.split())
    queries = itertools.chain.from_iterable(itertools.repeat(i, int(n)) for i, n in enumerate(sizes.tolist(), 1))
    for row, query in zip(rows, queries, strict=True):
        label, *rest = lines[row].split(None, 1)
        lines[row] = b"%b qid:%b-%d %b" % (label, stem.encode(), query, rest[0] if rest else b"")
    return np.frombuffer(b"\n".join(lines), np.uint8)


def weights_beside(name: str | os.PathLike[str]) -> NDArray[np.float64] | None:
    """The weight of each document, where a file of them stands beside the data."""
    file = os.fspath(name) + WEIGHT
    return _numbers(file, "a weight") if Path(file).is_file() else None


def _numbers(file: str, what: str) -> NDArray[np.float64]:
    """A number a line."""
    found: list[float] = []
    for number, line in enumerate(Path(file).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if line.strip():
            try:
                found.append(float(line))
            except ValueError:
                raise DataError(f"{what} is a number, not {line.strip()!r}", file, number) from None
    return np.array(found, np.float64)
