"""The digest of ranking data: SHA-256 of its columns in a canonical form.

`columns_of` takes a data set, qrels or a run apart into NumPy arrays; the store writes them and `digest` hashes them.
Equal columns have equal digests, whatever file they came from and whatever their name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.qrels import Data, Run
from pippin.kernels.strings import StringColumn

_ROWS_PER_BLOCK = 1 << 18  # rows hashed at once, so that a mapped table is never copied as a whole
# Names of the types in digests and stores; they stay the same when a class is renamed.
_TYPE_NAMES = {"Dataset": "dataset", "Qrels": "judgements", "SubtopicQrels": "subtopicjudgements", "Run": "run"}


def type_name(data: Data) -> str:
    """Return the name of the data's type as digests and stores spell it."""
    return _TYPE_NAMES[type(data).__name__]


def columns_of(data: Data) -> dict[str, NDArray[Any] | StringColumn | None]:
    """Return the columns by name; string columns are packed, missing columns are None."""
    columns: dict[str, NDArray[Any] | StringColumn | None] = {
        "query_ids": StringColumn.of(data.query_ids),
        "offsets": data.offsets,
    }
    columns["document_ids"] = None if data.document_ids is None else data.document_ids.pack()
    if isinstance(data, Run):
        columns["scores"] = data.scores
    else:
        columns["labels"] = data.labels
    if isinstance(data, Dataset):
        columns["features"] = data.features
        columns["comments"] = None if data.comments is None else data.comments.pack()
    return columns


def digest(data: Data) -> str:
    """Return the SHA-256 of the columns: little-endian, one NaN, without names of files.

    >>> from pippin.data.qrels import Qrels
    >>> qrels = Qrels.from_dict({"q1": {"d1": 1}})
    >>> digest(qrels) == digest(Qrels.from_dict({"q1": {"d1": 1}}, name="copy")), digest(qrels)[:8]
    (True, 'a8c82de0')
    """
    sha256 = hashlib.sha256()
    names = data.feature_names if isinstance(data, Dataset) else ()
    sha256.update(json.dumps(["pippin", type_name(data), names]).encode())
    for name, column in columns_of(data).items():
        if column is None:
            continue
        arrays = (column.lengths, column.buffer) if isinstance(column, StringColumn) else (column,)
        for array in arrays:
            sha256.update(f"|{name} {array.dtype.newbyteorder('<').str} {array.shape}|".encode())
            for chunk in iter_canonical_bytes(array):
                sha256.update(chunk)
    return sha256.hexdigest()


def iter_canonical_bytes(array: NDArray[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array in blocks: C order, little-endian, every NaN the same NaN."""
    if not array.size:
        return
    for start in range(0, len(array), _ROWS_PER_BLOCK):
        block = np.ascontiguousarray(array[start : start + _ROWS_PER_BLOCK], array.dtype.newbyteorder("<"))
        if block.dtype.kind == "f" and (is_nan := np.isnan(block)).any():
            block = np.where(is_nan, block.dtype.type(np.nan), block)
        yield block.data.cast("B")
