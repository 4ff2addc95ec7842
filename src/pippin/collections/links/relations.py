"""Relations between the documents of a query, by text similarity or by links.

LETOR has such a matrix for OHSUMED but does not say how it was computed; the weights here are ours. Rows are the
candidates in their order. A document without words has similarity 0 to all documents, itself included.

`rankers.relational.Relational` propagates scores along both kinds of relations.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pippin.collections.index.statistics import Floats, IndexReader, Ints
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.rankers.relational import Relations
from pippin.storage.files import atomic_write

if TYPE_CHECKING:
    from pippin.collections.links.link_index import LinkIndex

Weighting = Literal["tf_idf", "bm25", "jaccard"]
WEIGHTINGS = {
    "tf_idf": "cosine of (1 + ln tf)·ln(N/df)",
    "bm25": "cosine of tf(k1+1)/(tf + k1(1−b + b·|d|/avgdl))·ln(N/df), k1=1.2, b=0.75",
    "jaccard": "common words / words of either",
}
_K1, _B = 1.2, 0.75
_HEADER = "# similarity of a query's documents: {}; qdid counts them from 1\n"


def similarity(index: IndexReader, numbers: Ints, *, field: str = "whole", weighting: Weighting = "tf_idf") -> Floats:
    """Return the similarity of documents by their words in one field: [n, n], from 0 to 1, symmetric."""
    from scipy.sparse import csr_array

    if weighting not in WEIGHTINGS:
        raise UnknownName("weighting", weighting, WEIGHTINGS)
    offsets, terms = index.tokens(field, numbers)
    length = np.diff(offsets)
    vocabulary, column = np.unique(terms, return_inverse=True)
    row = np.repeat(np.arange(len(length)), length)
    counts = csr_array((np.ones(len(terms)), (row, column)), shape=(len(length), len(vocabulary)))
    counts.sum_duplicates()
    if weighting == "jaccard":
        return _jaccard(counts)
    tf, of_row = counts.data, np.repeat(np.arange(len(length)), np.diff(counts.indptr))
    if weighting == "bm25":
        norm = _K1 * (1 - _B + _B * length / (index.average_length(field) or 1.0))
        weight = tf * (_K1 + 1) / (tf + norm[of_row])
    else:
        weight = 1 + np.log(tf)
    df, _ = index.term_statistics(field, list(index.vocabulary.take(vocabulary.astype(np.int64))))
    counts.data = weight * np.log(index.documents / df)[counts.indices]
    return _cosines(counts)


def _cosines(weights: Any) -> Floats:
    """Return the cosines of the rows of a sparse matrix; the diagonal is exactly 1 for rows that are not 0."""
    norm = np.sqrt(np.asarray((weights * weights).sum(axis=1), np.float64))
    product: Floats = (weights @ weights.T).toarray()
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    out = np.minimum(product * scale[:, None] * scale, 1.0)
    np.fill_diagonal(out, norm > 0)
    # The order of the two scales changes the rounding; the maximum makes the matrix symmetric.
    return np.maximum(out, out.T)


def _jaccard(counts: Any) -> Floats:
    """Return |A ∩ B| / |A ∪ B| of the words of rows."""
    counts.data = np.ones_like(counts.data)
    intersection: Floats = (counts @ counts.T).toarray()
    size = np.diff(counts.indptr)
    union = size[:, None] + size - intersection
    out: Floats = np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0)
    return out


def write_similarity(
    path: str | os.PathLike[str],
    matrices: Mapping[str, Floats] | Iterable[tuple[str, Floats]],
    *,
    description: str = WEIGHTINGS["tf_idf"],
    top: int | None = None,
    least: float = 0.0,
) -> None:
    """Write a line `qid:<q> qdid:<i> <j>:<similarity> …` per document.

    The most similar documents come first: at most `top`, those with a similarity above `least`.
    """
    if top is not None and top < 1:
        raise ConventionError(f"top must be at least 1, got {top}")
    pairs = matrices.items() if isinstance(matrices, Mapping) else matrices
    with atomic_write(path) as file:
        file.write(_HEADER.format(description).encode())
        for query, matrix in pairs:
            order = np.argsort(-matrix, axis=1, kind="stable")[:, :top]
            file.writelines(
                f"qid:{query} qdid:{i + 1}{_row(matrix[i], order[i], least)}\n".encode() for i in range(len(matrix))
            )


def _row(values: Floats, order: Ints, least: float) -> str:
    columns = order[values[order] > least]
    return "".join(f" {j + 1}:{value:.6f}" for j, value in zip(columns.tolist(), values[columns].tolist(), strict=True))


def relations_by_links(data: Dataset, links: LinkIndex) -> Relations:
    """Return the relations between documents of a query that link to each other, in either direction."""
    if data.document_ids is None:
        raise DataError(f"{data.name} has no document ids, which relations by links need")
    pages = {name: number for number, name in enumerate(links.ids)}
    numbers = np.array([pages.get(name, -1) for name in data.document_ids], np.int64)
    if (numbers < 0).any():
        unknown = data.document_ids.at(int(np.flatnonzero(numbers < 0)[0]))
        raise DataError(f"{links.name} has no page {unknown}, which {data.name} ranks")
    queries = np.repeat(np.arange(data.queries), np.diff(data.offsets))
    by_page: dict[tuple[int, int], int] = {
        (query, page): row for row, (query, page) in enumerate(zip(queries.tolist(), numbers.tolist(), strict=True))
    }
    pairs = [
        (row, by_page[query, target])
        for (query, page), row in by_page.items()
        for target in links.graph.targets(page).tolist()
        if (query, target) in by_page
    ]
    ends = np.array([*pairs, *((target, source) for source, target in pairs)], np.int64).reshape(-1, 2)
    return Relations(data, ends[:, 0], ends[:, 1], np.ones(len(ends)))
