"""Random consistent candidate statistics for property tests and benchmarks, without an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pippin.collections.collection import Query
from pippin.collections.index.statistics import Candidates, FieldStatistics, Ints, Positions

COLLECTION = 100_000


def draw_candidates(
    documents: int,
    words: Sequence[str],
    fields: Sequence[str] = ("title", "abstract", "whole"),
    *,
    seed: int = 1,
    tokens: int = 60,
    labels: int = 3,
) -> Candidates:
    """Return a query of these words with random documents that sometimes contain them."""
    draw = np.random.default_rng(seed)
    sample = {field: _stream(draw, documents, words, tokens) for field in fields}
    ids = tuple(f"d{i}" for i in range(documents))
    graded = draw.integers(0, labels, documents).astype(np.int32)
    return Candidates(Query("1", " ".join(words)), tuple(words), ids, graded, sample)


def _stream(draw: np.random.Generator, documents: int, words: Sequence[str], tokens: int) -> FieldStatistics:
    known = list(dict.fromkeys(words))
    length = draw.integers(0, 2 * tokens, documents) * (draw.random(documents) < 0.9)
    offsets = np.concatenate(([0], np.cumsum(length)))
    text = draw.integers(0, 12 * max(1, len(known)), int(offsets[-1]))  # a number below len(known) is that word
    owners = np.repeat(np.arange(documents), length)
    tf = np.zeros((len(known), documents))
    for i in range(len(known)):
        tf[i] = np.bincount(owners[text == i], minlength=documents)
    rows = np.array([known.index(word) for word in words], np.int64)
    df = draw.integers(100, COLLECTION // 3, len(known)).astype(np.float64)
    cf = df + draw.integers(0, 10_000, len(known))
    unique = np.minimum(length, np.maximum(1, (length * 0.8).astype(np.int64)))
    return FieldStatistics(
        COLLECTION, COLLECTION * tokens, float(tokens), df[rows], cf[rows], tf[rows], length.astype(np.float64),
        unique.astype(np.float64), _positions(offsets, text, owners, len(known)),
    )  # fmt: skip


def _positions(offsets: Ints, text: Ints, owners: Ints, words: int) -> Callable[[], Positions]:
    def positions() -> Positions:
        here = np.flatnonzero(text < words)
        entries = np.concatenate(([0], np.cumsum(np.bincount(owners[here], minlength=len(offsets) - 1))))
        return Positions(entries, here - offsets[owners[here]], text[here])

    return positions
