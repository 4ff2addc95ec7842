"""A run judged and put in rank order while its text is read, in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads
from pippin.kernels.rank import ties_code

if TYPE_CHECKING:
    from pippin.data.texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

RankedText = native.RankedText


def rank_run(
    text: U8,
    judged: tuple[Texts, I32, I64],
    queries: Texts,
    ties: str,
    float32: bool,
    *,
    lenient: bool,
    comments: bool,
    infinite: bool,
) -> RankedText:
    """The queries of a text of whole queries, judged by those of the same id: labels in rank order, and ties.

    `judged` are ids of documents, labels and offsets of the queries whose ids are `queries`. Whatever a run should not
    have (a line that is none, a document twice in a query, a NaN) makes the result `irregular`, and nothing else.
    """
    ids, labels, offsets = judged
    return native.rank_run(
        text, ids.buffer, ids.starts, ids.lengths, labels, offsets, queries.buffer, queries.starts, queries.lengths,
        ties_code(ties), float32, lenient, comments, infinite, threads(),
    )  # fmt: skip


def copy_ranked(text: RankedText, to: I64, labels: I32, tied: U8) -> None:
    """Copy the ranked labels and ties of query q to `to[q]` and after; -1 leaves a query out."""
    native.copy_ranked(text, to, labels, tied, threads())
