"""Emulator of evaluate.py of the Yahoo! Learning to Rank Challenge, as distributed with rt-rank and pGBRT.

It prints one line: the root mean squared error of the scores, ERR over the full lists, and NDCG@10. A query consists of
consecutive lines with the same id; an id of 0 or less never ends a query. Surplus scores count only in the divisor of
the squared error. Source: evaluate.py and evtools.py of pGBRT (Washington University).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.compat.common import ToolExit, as_dataset, comparable, run_emulator
from pippin.evaluation.evaluation import aggregate, measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.rank import rank
from pippin.evaluation.tools import TOOLS

FAILED = 1  # status of an uncaught exception
USAGE = "usage:  python evaluate.py TEST_FILE PRED_FILE\n"
_MAX_LABEL = np.iinfo(np.int32).max


def _fail(kind: str, message: str) -> ToolExit:
    return ToolExit(FAILED, err=f"{kind}: {message}\n")


def _read_targets(path: str) -> tuple[NDArray[np.float64], list[int]]:
    """Read labels and query ids, the first two words of every line, which must have a third."""
    labels, queries = [], []
    with Path(path).open("rb") as file:
        for row, line in enumerate(file, 1):
            words = line.split(b" ", 2)
            try:
                label, query, _ = words
                labels.append(float(label))
                queries.append(int(query.split(b":")[1]))
            except (ValueError, IndexError) as error:
                raise _fail(type(error).__name__, f"{path}, line {row}: {error}") from None
    return np.array(labels, np.float64), queries


def _read_scores(path: str) -> NDArray[np.float64]:
    scores = []
    with Path(path).open("rb") as file:
        for row, line in enumerate(file, 1):
            try:
                scores.append(float(line.strip()))
            except ValueError as error:
                raise _fail("ValueError", f"{path}, line {row}: {error}") from None
    return np.array(scores, np.float64)


def _sizes(queries: list[int]) -> list[int]:
    """Return the lengths of the lists: a new list begins where the id changes, if the previous id was positive."""
    starts = [i for i in range(1, len(queries)) if queries[i] != queries[i - 1] and queries[i - 1] > 0]
    return [end - start for start, end in zip([0, *starts], [*starts, len(queries)], strict=True)]


def _check(labels: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    if len(labels) == 0 or len(scores) == 0:
        raise _fail("ZeroDivisionError", "float division by zero")
    if len(scores) < len(labels):
        raise _fail("AssertionError", f"Expected {len(labels)} ranks, but got {len(scores)}.")
    if labels.min() <= -1:
        raise _fail("AssertionError", "Not all ranks present.")
    if not np.isfinite(labels).all() or labels.max() > _MAX_LABEL:
        raise _fail("ValueError", "a label is not an integer")


def evaluate_line(paths: list[str]) -> str:
    """Return the printed line."""
    labels, queries = _read_targets(paths[0])
    scores = _read_scores(paths[1])
    _check(labels, scores)
    used = scores[: len(labels)]
    error = math.sqrt(float(np.cumsum((used - labels) ** 2)[-1]) / len(scores))
    sizes = _sizes(queries)
    data = as_dataset(labels.astype(np.int32), sizes, map(str, range(len(sizes))), paths[0])
    tool = TOOLS["yahoo"]
    ranking = rank(data, comparable(used, paths[1]), tool.convention)
    means = [
        aggregate(measure_values(ranking, measure, tool.convention_for(measure)), "mean")
        for measure in (Measure("ERR"), Measure("NDCG", 10))
    ]
    return f"rmse: {error:f}, err: {means[0]:f}, ndcg: {means[1]:f}\n"


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run evaluate.py FILE SCORES."""
    if "-h" in arguments or len(arguments) != 2:
        out.write("" if "-h" in arguments else "illegal usage, incorrect number of arguments\n")
        out.write(USAGE)
        return 0

    def emulate() -> None:
        try:
            out.write(evaluate_line(arguments))
        except OSError as error:
            raise _fail("IOError", str(error)) from None

    return run_emulator(emulate, out, err)
