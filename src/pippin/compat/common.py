"""Functions that several emulators use: exit status, data sets from label lists, scores, baselines, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.rank import rank
from pippin.evaluation.ranking import Ranking, offsets_of
from pippin.kernels.strings import StringColumn
from pippin.storage.files import atomic_write


class ToolExit(Exception):
    """Ends an emulator with this exit status and output."""

    def __init__(self, status: int, out: str = "", err: str = "") -> None:
        self.status, self.out, self.err = status, out, err
        super().__init__(f"status {status}")


def run_emulator(emulate: Callable[[], None], out: TextIO, err: TextIO) -> int:
    """Run an emulator and return its exit status."""
    try:
        emulate()
    except ToolExit as stop:
        out.write(stop.out)
        err.write(stop.err)
        return stop.status
    return 0


def as_dataset(
    labels: Sequence[int] | NDArray[np.int32],
    sizes: Sequence[int] | NDArray[np.int64],
    names: Iterable[str],
    file: str,
    documents: Sequence[bytes] | None = None,
) -> Dataset:
    """Return lists of labels as a data set without features; `sizes` are the lengths of the lists."""
    labels = np.asarray(labels, np.int32)
    offsets = offsets_of(np.asarray(sizes, np.int64))
    ids = None
    if documents is not None:
        lengths = np.fromiter(map(len, documents), np.int32, len(documents))
        ids = StringColumn(
            np.frombuffer(b"".join(documents), np.uint8), offsets_of(lengths.astype(np.int64))[:-1], lengths
        )
    return Dataset(np.empty((len(labels), 0), np.float32), labels, offsets, tuple(names), ids, name=file)


def with_pools(ranking: Ranking, pools: Dataset, indices: Sequence[int]) -> Ranking:
    """Return the ranking with other judgements: list q gets the labels of query indices[q] of `pools`."""
    pool_ranking = rank(pools, np.zeros(len(pools)), Convention(ties="input")).select(np.array(indices, np.int64))
    return replace(ranking, pool=pool_ranking.pool, pool_offsets=pool_ranking.pool_offsets)


def weigh_difference(value: float, baseline: float, risk_alpha: float) -> float:
    """Return the difference from a baseline, losses multiplied by ``1 + risk_alpha`` (TREC Web track 2013)."""
    difference = value - baseline
    return (1 + risk_alpha) * difference if value < baseline else difference


def comparable(scores: NDArray[np.float64], file: str) -> NDArray[np.float64]:
    """Replace infinite scores, which the original tools accept, by finite scores in the same order.

    >>> comparable(np.array([0.5, -np.inf, 0.5, np.inf]), "scores").tolist()
    [1.0, 0.0, 1.0, 2.0]
    """
    if np.isfinite(scores).all():
        return scores
    if np.isnan(scores).any():
        row = int(np.flatnonzero(np.isnan(scores))[0])
        raise DataError("score is NaN: the original tool's ranking of it is undefined", file, row + 1)
    return np.unique(scores, return_inverse=True)[1].astype(np.float64)


def write_text(path: str, text: str) -> None:
    """Write a result file atomically; bytes that are not UTF-8 are written unchanged."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
