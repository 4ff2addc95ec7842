"""Score files: one number a line, in the order of the data set's documents."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Readable, open_buffer
from pippin.errors import DataError
from pippin.files import atomic_write
from pippin.kernels import text as kernel


def read_scores(
    source: Readable, rows: int | None = None, lenient: bool = False, allow_infinite: bool = False
) -> NDArray[np.float64]:
    """Scores from text (plain, gzip, `-`), as many as `rows` unless that is None.

    `lenient` reads as Perl does: the number a line begins with, 0 where there is none; lines beyond `rows` are ignored.
    """
    buffer = open_buffer(source)
    scores = kernel.read_scores(buffer.data, buffer.name, lenient=lenient, infinite=allow_infinite)
    if rows is None:
        return scores
    if len(scores) < rows:
        raise DataError(f"the file ends after {len(scores)} scores, and the data have {rows} documents",
                        buffer.name, len(scores))  # fmt: skip
    if len(scores) > rows and not lenient:
        raise DataError(f"a score too many: the data have {rows} documents, the file {len(scores)} scores",
                        buffer.name, rows + 1)  # fmt: skip
    return scores[:rows]


def write_scores(scores: NDArray[np.float64], path: str | os.PathLike[str]) -> None:
    """Write one score a line, in the shortest text that reads back the same double."""
    with atomic_write(path) as file:
        file.write(kernel.format_numbers(np.ascontiguousarray(scores, np.float64)))
