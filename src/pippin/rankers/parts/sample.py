"""On which documents is an exported model checked where nobody names any? A thousand of those it was trained on.

They are drawn in whole queries, so that orders can be compared, always the same ones of the same data. A model's file
holds them as LETOR text, packed: features by number and labels, and no name of a query, a document or a feature.
"""

from __future__ import annotations

import base64
import bz2
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.data.buffers import Buffer
from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor, text_of
from pippin.errors import DataError
from pippin.packed import unpack

DOCUMENTS = 1000  # at most
_SEED = 1
_NAME = "the sample of its training set"


def drawn(data: Dataset, most: int = DOCUMENTS) -> Dataset:
    """Random queries of a data set, whole, with so many documents together at most; part of one where none fits.

    >>> data = Dataset.from_arrays(np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1], group=[2, 3, 1])
    >>> drawn(data, 4).features.ravel().tolist(), drawn(data, 1).offsets.tolist()
    ([0.0, 1.0, 5.0], [0, 1])
    """
    sizes = np.diff(data.offsets)
    random = np.random.default_rng(_SEED)
    chosen, room = [], most
    for query in random.permutation(data.queries).tolist():
        if 0 < sizes[query] <= room:
            chosen.append(query)
            room -= int(sizes[query])
    if chosen:
        return _bare(data.select(np.sort(chosen)))
    longest = data.select([int(np.argmax(sizes))])
    rows = np.sort(random.permutation(len(longest))[:most])
    return _bare(Dataset(longest.features[rows], longest.labels[rows], np.array([0, len(rows)]), ("1",)))


def _bare(data: Dataset) -> Dataset:
    """Features and labels in an array of their own; queries are numbered."""
    numbered = tuple(str(i + 1) for i in range(data.queries))
    return Dataset(np.array(data.features, np.float64), data.labels.copy(), data.offsets.copy(), numbered, name=_NAME)


def packed(sample: Dataset) -> str:
    """A sample as a model's file holds it."""
    return base64.b64encode(bz2.compress(b"".join(text_of(replace(sample, feature_names=()))))).decode()


def unpacked(text: str, names: tuple[str, ...]) -> Dataset:
    """Undo `packed`, with the features' names; DataError where that is no sample of so many features."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DataError(f"it is not what was written: {error}", _NAME) from None
    plain: Any = np.frombuffer(unpack(memoryview(content), "bzip2", _NAME), np.uint8)
    data = read_letor(Buffer(plain, _NAME), features=len(names))
    return replace(_bare(data), feature_names=names)
