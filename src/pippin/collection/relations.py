"""Which documents of a query are related: by their words (similarity) or by their links, for dependent ranking.

Both give `Relations` of a data set, along which `rankers.relational.Relational` spreads scores.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.collection.similarity import read_similarity
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.relational import Relations

if TYPE_CHECKING:
    from pippin.collection.web import Web

TOP = 10  # how many of a document's most alike count; the many faint likenesses of long lists only blur


def similar(data: Dataset, path: str | os.PathLike[str], *, top: int = TOP) -> Relations:
    """Relations by a similarity file, whose lines count the documents of each query as the data set does."""
    matrices = read_similarity(path)
    rows, columns, weights = [], [], []
    for query, first, last in zip(data.query_ids, data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        if query not in matrices:
            raise DataError(f"the query {query} of {data.name} is not in this file", path)
        matrix = matrices[query].copy()
        if len(matrix) != last - first:
            raise DataError(f"query {query} has {len(matrix)} documents here and {last - first} in {data.name}", path)
        np.fill_diagonal(matrix, 0.0)
        near = np.argsort(-matrix, axis=1, kind="stable")[:, :top]
        here = np.repeat(np.arange(len(matrix)), near.shape[1])
        strength = matrix[here, near.ravel()]
        rows.append(first + here[strength > 0])
        columns.append(first + near.ravel()[strength > 0])
        weights.append(strength[strength > 0])
    return Relations(data, _joined(rows), _joined(columns), np.concatenate([*weights, np.empty(0)]))


def linked(data: Dataset, web: Web) -> Relations:
    """Relations by links, in either direction, of the documents' ids."""
    if data.document_ids is None:
        raise DataError(f"{data.name} has no document ids, so nobody knows which pages they are")
    pages = {name: number for number, name in enumerate(web.ids)}
    numbers = np.array([pages.get(name, -1) for name in data.document_ids], np.int64)
    if (numbers < 0).any():
        unknown = data.document_ids.at(int(np.flatnonzero(numbers < 0)[0]))
        raise DataError(f"{web.name} has no page {unknown}, which {data.name} ranks")
    offsets, targets = np.asarray(web.graph.out_offsets), np.asarray(web.graph.out_targets)
    place = np.full(web.pages, -1, np.int64)
    rows, columns = [], []
    for first, last in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        ranked = numbers[first:last]
        place[ranked] = np.arange(first, last)
        sizes = offsets[ranked + 1] - offsets[ranked]
        ends = np.concatenate([targets[offsets[page] : offsets[page + 1]] for page in ranked.tolist()])
        start = np.repeat(np.arange(first, last), sizes)
        inside = place[ends] >= 0
        rows += [start[inside], place[ends[inside]]]
        columns += [place[ends[inside]], start[inside]]
        place[ranked] = -1
    sources, others = _joined(rows), _joined(columns)
    return Relations(data, sources, others, np.ones(len(sources)))


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([*parts, np.empty(0, np.int64)])
