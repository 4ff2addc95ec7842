"""What the drop-ins for list-based tools share: lists of labels as a data set, scores that can be compared, files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.ranking import Ranking, rank
from pippin.files import atomic_write


def as_dataset(
    labels: Sequence[int] | NDArray[np.int32],
    sizes: Sequence[int] | NDArray[np.int64],
    names: Iterable[str],
    file: str,
    documents: Sequence[bytes] | None = None,
) -> Dataset:
    """Lists of labels as a data set without features; `sizes` are the lengths of the lists."""
    labels = np.asarray(labels, np.int32)
    offsets = _offsets(np.asarray(sizes, np.int64))
    ids = None
    if documents is not None:
        lengths = np.fromiter(map(len, documents), np.int32, len(documents))
        ids = Texts(np.frombuffer(b"".join(documents), np.uint8), _offsets(lengths)[:-1], lengths)
    return Dataset(np.empty((len(labels), 0), np.float32), labels, offsets, tuple(names), ids, name=file)


def _offsets(sizes: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def with_pools(ranking: Ranking, pools: Dataset, chosen: Sequence[int]) -> Ranking:
    """The same ranked lists against other judgements: list q against the labels of query chosen[q] of `pools`."""
    judged = rank(pools, np.zeros(len(pools)), Convention(ties="input")).select(np.array(chosen, np.int64))
    return replace(ranking, pool=judged.pool, pool_offsets=judged.pool_offsets)


def comparable(scores: NDArray[np.float64], file: str) -> NDArray[np.float64]:
    """Finite scores in the same order: the originals take an infinite score, and so does their drop-in.

    >>> comparable(np.array([0.5, -np.inf, 0.5, np.inf]), "scores").tolist()
    [1.0, 0.0, 1.0, 2.0]
    """
    if np.isfinite(scores).all():
        return scores
    if np.isnan(scores).any():
        row = int(np.flatnonzero(np.isnan(scores))[0])
        raise DataError(
            "the score is not a number; the original's ranking would be an accident of its sort", file, row + 1
        )
    return np.unique(scores, return_inverse=True)[1].astype(np.float64)


def write_text(path: str, text: str) -> None:
    """Write a result file, whole or not at all; bytes that were no text come out as they came in."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
