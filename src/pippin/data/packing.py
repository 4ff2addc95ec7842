"""Data as named plain arrays, and the fingerprint of those arrays.

Which bytes are this data set? `parts` takes a data set, judgements or a run apart into NumPy arrays in one canonical
form; the store writes them to disk and `digest` hashes them. Two data sets with equal columns have equal digests,
whatever file they came from and whatever they are called.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run

Data: TypeAlias = Dataset | Judgements | Run
Scores = NDArray[np.float64]

# Rows handled at once: large enough for NumPy's speed, small enough that a mapped table is never copied as a whole.
CHUNK = 1 << 18


def kind_of_data(data: Data) -> str:
    """What the data is, in one word: dataset, judgements or run."""
    return type(data).__name__.lower()


def pack(texts: Texts) -> Texts:
    """The same texts, one after the other in a buffer of their own (a column may point into a whole file)."""
    lengths = np.ascontiguousarray(texts.lengths, np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    starts = ends - lengths
    if total == len(texts.buffer) and np.array_equal(starts, texts.starts):
        return texts
    packed = np.empty(total, np.uint8)
    for begin in range(0, len(texts), CHUNK):
        rows = slice(begin, begin + CHUNK)
        if (size := int(lengths[rows].sum(dtype=np.int64))) == 0:
            continue
        first = int(starts[begin])
        index = np.repeat(texts.starts[rows] - starts[rows], lengths[rows]) + np.arange(first, first + size)
        packed[first : first + size] = texts.buffer[index]
    return Texts(packed, starts, lengths)


def parts(data: Data) -> dict[str, NDArray[Any] | Texts | None]:
    """The columns of the data by name; a text column is packed, a missing one None."""
    columns: dict[str, NDArray[Any] | Texts | None] = {"query_ids": Texts.of(data.query_ids), "offsets": data.offsets}
    documents = data.document_ids
    columns["document_ids"] = None if documents is None else pack(documents)
    if isinstance(data, Run):
        columns["scores"] = data.scores
    else:
        columns["labels"] = data.labels
    if isinstance(data, Dataset):
        columns["features"] = data.features
        columns["comments"] = None if data.comments is None else pack(data.comments)
    return columns


def digest(data: Data) -> str:
    """SHA-256 over the columns in canonical form: little-endian, one NaN, names of files left out.

    >>> one = Judgements.of({"q1": {"d1": 1}})
    >>> digest(one) == digest(Judgements.of({"q1": {"d1": 1}}, name="other")), digest(one)[:8]
    (True, 'a8c82de0')
    """
    hashed = hashlib.sha256()
    names = data.feature_names if isinstance(data, Dataset) else ()
    hashed.update(json.dumps(["pippin", kind_of_data(data), names]).encode())
    for name, column in parts(data).items():
        if column is None:
            continue
        arrays = (column.lengths, column.buffer) if isinstance(column, Texts) else (column,)
        for array in arrays:
            hashed.update(f"|{name} {array.dtype.newbyteorder('<').str} {array.shape}|".encode())
            for chunk in canonical(array):
                hashed.update(chunk)
    return hashed.hexdigest()


def canonical(array: NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of an array, piece by piece: C order, little-endian, every NaN the same NaN."""
    if not array.size:
        return
    for begin in range(0, len(array), CHUNK):
        piece = np.ascontiguousarray(array[begin : begin + CHUNK], array.dtype.newbyteorder("<"))
        if piece.dtype.kind == "f" and (missing := np.isnan(piece)).any():
            piece = np.where(missing, piece.dtype.type(np.nan), piece)
        yield piece.data.cast("B")
