"""How alike the candidates of a query are: a matrix for rankers that look at documents together, and its text file.

LETOR gives such a matrix for OHSUMED and does not say how it was computed; the weights here are ours. Rows are the
candidates in their order. A document without weight is like nothing, not even itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.collection.candidates import Floats, Ints
from pippin.data.buffers import open_buffer
from pippin.data.texts import Texts
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.extras import need
from pippin.files import atomic_write

Weighting = Literal["tf_idf", "bm25", "jaccard"]
WEIGHTINGS = {
    "tf_idf": "cosine of (1 + ln tf)·ln(N/df)",
    "bm25": "cosine of tf(k1+1)/(tf + k1(1−b + b·|d|/avgdl))·ln(N/df), k1=1.2, b=0.75",
    "jaccard": "common words / words of either",
}
_K1, _B = 1.2, 0.75
_HEADER = "# similarity of a query's documents: {what}; qdid counts them from 1\n"


class Forward(Protocol):
    """What similarity asks of an index."""

    @property
    def documents(self) -> int:
        """How many documents there are."""

    def tokens(self, stream: str, numbers: Ints) -> tuple[Ints, NDArray[np.integer[Any]]]:
        """Offsets, and the term numbers of these documents' words, one document after the other."""

    @property
    def vocabulary(self) -> Texts:
        """The terms by number."""

    def frequencies(self, stream: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        """How many documents hold each word in the stream, and how often it occurs there."""

    def average(self, stream: str) -> float:
        """Mean words of the stream over all documents."""


def similarity(index: Forward, numbers: Ints, *, stream: str = "whole", weighting: Weighting = "tf_idf") -> Floats:
    """[n, n] how alike documents are, by their words in one stream: from 0 to 1, symmetric."""
    need("the similarity of documents", "scipy")
    from scipy.sparse import csr_array

    if weighting not in WEIGHTINGS:
        raise UnknownName("weighting", weighting, WEIGHTINGS)
    offsets, terms = index.tokens(stream, numbers)
    length = np.diff(offsets)
    known, column = np.unique(terms, return_inverse=True)
    row = np.repeat(np.arange(len(length)), length)
    counts = csr_array((np.ones(len(terms)), (row, column)), shape=(len(length), len(known)))
    counts.sum_duplicates()
    if weighting == "jaccard":
        return _jaccard(counts)
    tf, of_row = counts.data, np.repeat(np.arange(len(length)), np.diff(counts.indptr))
    if weighting == "bm25":
        norm = _K1 * (1 - _B + _B * length / (index.average(stream) or 1.0))
        weight = tf * (_K1 + 1) / (tf + norm[of_row])
    else:
        weight = 1 + np.log(tf)
    df, _ = index.frequencies(stream, list(index.vocabulary.take(known)))
    counts.data = weight * np.log(index.documents / df)[counts.indices]
    return _cosines(counts)


def _cosines(weights: Any) -> Floats:
    """Cosines of the rows of a sparse matrix; exactly 1 on the diagonal of rows that are not 0."""
    norm = np.sqrt(np.asarray((weights * weights).sum(axis=1), np.float64))
    product: Floats = (weights @ weights.T).toarray()
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    out = np.minimum(product * scale[:, None] * scale, 1.0)
    np.fill_diagonal(out, norm > 0)
    # The two halves are rounded alike, whichever scale came first.
    return np.maximum(out, out.T)


def _jaccard(counts: Any) -> Floats:
    """|A ∩ B| / |A ∪ B| of the rows' words."""
    counts.data = np.ones_like(counts.data)
    both: Floats = (counts @ counts.T).toarray()
    size = np.diff(counts.indptr)
    either = size[:, None] + size - both
    out: Floats = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    return out


def write_similarity(
    path: str | os.PathLike[str],
    matrices: Mapping[str, Floats] | Iterable[tuple[str, Floats]],
    *,
    what: str = WEIGHTINGS["tf_idf"],
    top: int | None = None,
    least: float = 0.0,
) -> None:
    """Write `qid:<q> qdid:<i> <j>:<similarity> …` per document, the most alike first, above `least`, at most `top`."""
    if top is not None and top < 1:
        raise ConventionError(f"top is at least 1, not {top}")
    pairs = matrices.items() if isinstance(matrices, Mapping) else matrices
    with atomic_write(path) as file:
        file.write(_HEADER.format(what=what).encode())
        for query, matrix in pairs:
            order = np.argsort(-matrix, axis=1, kind="stable")[:, :top]
            file.writelines(
                f"qid:{query} qdid:{i + 1}{_row(matrix[i], order[i], least)}\n".encode() for i in range(len(matrix))
            )


def _row(similar: Floats, order: Ints, least: float) -> str:
    kept = order[similar[order] > least]
    return "".join(f" {j + 1}:{value:.6f}" for j, value in zip(kept.tolist(), similar[kept].tolist(), strict=True))


def read_similarity(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """Matrices by query; what the file leaves out is 0."""
    buffer = open_buffer(path)
    rows: dict[str, list[tuple[int, list[str]]]] = {}
    for number, line in enumerate(buffer.data.tobytes().decode("utf-8", "replace").splitlines(), 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) < 2 or not fields[0].startswith("qid:") or not fields[1].startswith("qdid:"):
            raise DataError("a line begins with qid:<query> qdid:<document>", buffer.name, number)
        query = rows.setdefault(fields[0][4:], [])
        if fields[1][5:] != str(len(query) + 1):
            wanted = f"document {len(query) + 1} of query {fields[0][4:]}"
            raise DataError(f"{wanted} is expected, not qdid {fields[1][5:]!r}", buffer.name, number)
        query.append((number, fields[2:]))
    return {query: _matrix(lines, buffer.name) for query, lines in rows.items()}


def _matrix(lines: list[tuple[int, list[str]]], file: str) -> Floats:
    out = np.zeros((len(lines), len(lines)))
    for row, (number, entries) in enumerate(lines):
        for entry in entries:
            column, _, value = entry.partition(":")
            try:
                other, alike = int(column), float(value)
            except ValueError:
                raise DataError(f"an entry is <document>:<similarity>, not {entry!r}", file, number) from None
            if not (1 <= other <= len(lines) and np.isfinite(alike)):
                raise DataError(f"{entry!r} is not of the {len(lines)} documents of this query", file, number)
            out[row, other - 1] = alike
    return out
