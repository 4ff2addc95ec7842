"""A small LETOR-like data set with every case on which evaluation tools disagree, and two scorers for it.

With a, b and c the first three features (uniform in 0 … 1),

    relevance = 4·(2a − 1)·(2b − 1) + c + 0.8·noise

and labels are intervals of it. The first term is an interaction: a document is good if a and b are both high or both
low. Neither a nor b alone carries information about the label, so that a linear model can use only c; a tree of depth
two can use all three. Feature 4 is the same for all documents of a query (like an inverse document frequency), feature
5 is a noisy copy of c that is NULL in one of ten documents, at random; all other features are noise.

Of every 20 queries two have a single document, four more are shorter than 10 documents, and at least two have no
relevant document. The same seed gives the same bytes: everything is computed from the raw bits of PCG64 by additions,
multiplications and comparisons, which depend neither on NumPy's version nor on the machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn

Values = NDArray[np.float64]

# Thresholds of the relevance between labels, by the number of labels.
CUTS = {3: (1.2, 2.6), 5: (0.9, 1.7, 2.5, 3.4)}
MIN_FEATURES = 5  # the features that the docstring names


class Uniform:
    """Uniform numbers in [0, 1) from the raw bits of PCG64, whose stream never changes."""

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise DataError(f"the seed must not be negative: {seed}")
        self._bits = np.random.PCG64(seed)

    def draw(self, *shape: int) -> Values:
        """Return independent uniform numbers, multiples of 2^-53."""
        raw = np.asarray(self._bits.random_raw(math.prod(shape)), np.uint64).reshape(shape)
        numbers: Values = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return numbers

    def integers(self, low: int, high: int, *shape: int) -> NDArray[np.int64]:
        """Return independent integers n with low ≤ n < high."""
        return low + np.floor(self.draw(*shape) * (high - low)).astype(np.int64)

    def bell(self, *shape: int) -> Values:
        """Return centred sums of four uniform numbers: bell-shaped, with standard deviation 1/√3."""
        first, second, third, fourth = self.draw(4, *shape)
        total: Values = first + second + third + fourth - 2.0
        return total


def make_dataset(
    queries: int = 200,
    documents: int = 30,
    features: int = 12,
    seed: int = 1,
    *,
    labels: int = 5,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Create a synthetic data set.

    Parameters
    ----------
    queries : int, default 200
        Number of queries.
    documents : int, default 30
        Maximum number of documents per query.
    features : int, default 12
        Number of features, at least 5.
    seed : int, default 1
        Random seed.
    labels : {5, 3}, default 5
        Number of labels: 0–4 or 0–2.
    dtype : dtype, default float64
        float32 or float64.

    Returns
    -------
    Dataset
        Named `synthetic`.

    Examples
    --------
    >>> make_dataset(queries=20, documents=15, seed=7)
    Dataset('synthetic': 20 queries, 186 documents, 12 features, float64)
    """
    if queries < 1 or documents < 1 or features < MIN_FEATURES or labels not in CUTS:
        raise DataError(
            f"a synthetic data set needs at least 1 query, 1 document and {MIN_FEATURES} features, and 3 or 5 labels, "
            f"not {queries}, {documents}, {features} and {labels}"
        )
    uniform = Uniform(seed)
    offsets = np.concatenate(([0], np.cumsum(_sizes(uniform, queries, documents)))).astype(np.int64)
    rows = int(offsets[-1])
    query = np.repeat(np.arange(queries), np.diff(offsets))
    table = uniform.draw(rows, features)
    table[:, 3] = uniform.draw(queries)[query]
    relevance = true_relevance(table) + 0.8 * uniform.bell(rows)
    grades = np.searchsorted(np.array(CUTS[labels]), relevance, side="right").astype(np.int32)
    grades[query % 10 == 3] = 0
    table[:, 4] = 0.7 * table[:, 2] + 0.3 * table[:, 4]
    table = np.rint(table * 1e6) / 1e6  # six decimals, as LETOR prints
    table[uniform.draw(rows) < 0.1, 4] = np.nan
    query_ids = tuple(str(10_000 + 3 * q) for q in range(queries))
    return Dataset(table.astype(dtype), grades, offsets, query_ids, _document_ids(uniform, rows), name="synthetic")


def true_relevance(table: Values) -> Values:
    """Return the relevance without noise: 4·(2a − 1)·(2b − 1) + c."""
    return 4.0 * (2.0 * table[:, 0] - 1.0) * (2.0 * table[:, 1] - 1.0) + table[:, 2]


def _sizes(uniform: Uniform, queries: int, documents: int) -> NDArray[np.int64]:
    """Return the documents per query: by a fixed pattern some have one, some fewer than ten."""
    sizes = uniform.integers((documents + 1) // 2, documents + 1, queries)
    short = uniform.integers(2, 10, queries)
    position = np.arange(queries) % 20
    sizes = np.where(np.isin(position, (1, 5, 9, 14)), np.minimum(short, documents), sizes)
    return np.where(np.isin(position, (7, 16)), 1, sizes)


def _document_ids(uniform: Uniform, rows: int) -> StringColumn:
    """Return unique ids like GX012-34-5678901 in random order."""
    prefixes, groups = uniform.integers(0, 273, rows), uniform.integers(0, 100, rows)
    # 7368787 and 10^7 are coprime, so that its multiples repeat only after 10^7 documents.
    numbers = np.arange(1, rows + 1) * 7_368_787 % 10_000_000
    return StringColumn.of(f"GX{p:03}-{g:02}-{n:07}" for p, g, n in zip(prefixes, groups, numbers, strict=True))


def make_scores(data: Dataset, seed: int = 1) -> dict[str, Values]:
    """Return the scores of two scorers: `fine` is the relevance with noise, `coarse` with less noise but rounded down.

    The noise was chosen on seed 1 so that the scorers are nearly equal and tools disagree about the better one, as an
    illustration; other seeds may differ. Many scores of `coarse` are tied; half of them are raised by one part in 2^40,
    so that some are tied only in float32.

    Parameters
    ----------
    data : Dataset
        A data set of `make_dataset`.
    seed : int, default 1
        Random seed.

    Returns
    -------
    dict of str to ndarray
        Scores of shape (n,) by the name of the scorer.
    """
    table = np.asarray(data.features, np.float64)
    if table.shape[1] < MIN_FEATURES:
        raise DataError(f"{data.name} has {table.shape[1]} features; a synthetic data set has at least {MIN_FEATURES}")
    uniform = Uniform(seed + 0x5EED)
    truth = true_relevance(table)
    fine = truth + 1.55 * uniform.bell(len(data))
    steps = np.floor(truth + 1.5 * uniform.bell(len(data)))
    increments = (uniform.draw(len(data)) < 0.5) * 2.0**-40
    return {"fine": fine, "coarse": (steps + 8.0) * (1.0 + increments)}
