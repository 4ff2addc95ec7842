"""A small LETOR-like data set with everything that evaluation tools disagree about, and two scorers for it.

What is planted: with a, b, c the first three features (uniform in 0 … 1),

    relevance = 4·(2a − 1)·(2b − 1) + c + 0.8·noise

and labels are cuts of it. The first term is an interaction: a document is good where a and b are both high or both
low. Neither a nor b alone says anything about the label, so that a linear model cannot use them and is left with c; a
tree of depth two can. Feature 4 is the same for all documents of a query (like an inverse document frequency), feature
5 is a noisy copy of c that is NULL in one of ten documents, at random; all further ones are noise.

Of every 20 queries two have a single document, four more are shorter than 10 documents, and two have no relevant
document (besides those where chance wills it). Same seed, same bytes: everything is made from the raw bits of PCG64 by
additions, multiplications and comparisons, none of which depends on NumPy's version or the machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.dataset import Dataset
from pippin.data.texts import Texts
from pippin.errors import DataError

Values = NDArray[np.float64]

# Cuts of the relevance between one label and the next, by the number of labels.
CUTS = {3: (1.2, 2.6), 5: (0.9, 1.7, 2.5, 3.4)}
SMALLEST = 5  # features: those the docstring names


class Uniform:
    """Numbers in [0, 1) from the raw bits of PCG64, whose stream is fixed for good."""

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise DataError(f"a seed is 0 or above, not {seed}")
        self._bits = np.random.PCG64(seed)

    def draw(self, *shape: int) -> Values:
        """An array of independent uniform numbers, multiples of 2^-53."""
        raw = np.asarray(self._bits.random_raw(math.prod(shape)), np.uint64).reshape(shape)
        drawn: Values = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return drawn

    def whole(self, low: int, high: int, *shape: int) -> NDArray[np.int64]:
        """An array of independent whole numbers, low ≤ n < high."""
        return low + np.floor(self.draw(*shape) * (high - low)).astype(np.int64)

    def bell(self, *shape: int) -> Values:
        """Sums of four uniform numbers, centred: a bell without a logarithm, of standard deviation 1/√3."""
        first, second, third, fourth = self.draw(4, *shape)
        total: Values = first + second + third + fourth - 2.0
        return total


def make(
    queries: int = 200,
    documents: int = 30,
    features: int = 12,
    seed: int = 1,
    *,
    labels: int = 5,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """A data set of `queries` queries with up to `documents` documents each, and labels 0–4 (or 0–2: `labels=3`).

    >>> make(queries=20, documents=15, seed=7)
    Dataset('synthetic': 20 queries, 186 documents, 12 features, float64)
    """
    if queries < 1 or documents < 1 or features < SMALLEST or labels not in CUTS:
        raise DataError(
            f"a synthetic set has queries, documents, at least {SMALLEST} features, and 3 or 5 labels; "
            f"not {queries}, {documents}, {features} and {labels}"
        )
    uniform = Uniform(seed)
    offsets = np.concatenate(([0], np.cumsum(_sizes(uniform, queries, documents)))).astype(np.int64)
    rows = int(offsets[-1])
    query = np.repeat(np.arange(queries), np.diff(offsets))
    table = uniform.draw(rows, features)
    table[:, 3] = uniform.draw(queries)[query]
    relevance = planted(table) + 0.8 * uniform.bell(rows)
    grades = np.searchsorted(np.array(CUTS[labels]), relevance, side="right").astype(np.int32)
    grades[query % 10 == 3] = 0
    table[:, 4] = 0.7 * table[:, 2] + 0.3 * table[:, 4]
    table = np.rint(table * 1e6) / 1e6  # six decimals, as LETOR prints
    table[uniform.draw(rows) < 0.1, 4] = np.nan
    query_ids = tuple(str(10_000 + 3 * q) for q in range(queries))
    return Dataset(table.astype(dtype), grades, offsets, query_ids, _document_ids(uniform, rows), name="synthetic")


def planted(table: Values) -> Values:
    """The part of the relevance that the features determine: 4·(2a − 1)·(2b − 1) + c."""
    return 4.0 * (2.0 * table[:, 0] - 1.0) * (2.0 * table[:, 1] - 1.0) + table[:, 2]


def _sizes(uniform: Uniform, queries: int, documents: int) -> NDArray[np.int64]:
    """Documents per query: by a fixed pattern some have one, some fewer than ten."""
    sizes = uniform.whole((documents + 1) // 2, documents + 1, queries)
    short = uniform.whole(2, 10, queries)
    position = np.arange(queries) % 20
    sizes = np.where(np.isin(position, (1, 5, 9, 14)), np.minimum(short, documents), sizes)
    return np.where(np.isin(position, (7, 16)), 1, sizes)


def _document_ids(uniform: Uniform, rows: int) -> Texts:
    """Ids like GX012-34-5678901, all different, in no order."""
    boxes, shelves = uniform.whole(0, 273, rows), uniform.whole(0, 100, rows)
    # 7368787 has no factor in common with 10^7, so that its multiples come back only after 10^7 documents.
    numbers = np.arange(1, rows + 1) * 7_368_787 % 10_000_000
    return Texts.of(f"GX{b:03}-{s:02}-{n:07}" for b, s, n in zip(boxes, shelves, numbers, strict=True))


def scorers(data: Dataset, seed: int = 1) -> dict[str, Values]:
    """Two scorers for a data set of `make`: `fine` sees the truth through noise, `coarse` through less, in whole steps.

    The two amounts of noise were chosen by trial on seed 1 so that the scorers are nearly as good as each other and
    tools differ on the winner: an illustration, no evidence of how often that happens (other seeds may agree on one).
    Many scores of `coarse` are tied; half of them are raised by one part in 2^40, so that some are tied in float32
    alone.
    """
    table = np.asarray(data.features, np.float64)
    if table.shape[1] < SMALLEST:
        raise DataError(f"{data.name} has {table.shape[1]} features, and a synthetic set at least {SMALLEST}")
    uniform = Uniform(seed + 0x5EED)
    truth = planted(table)
    fine = truth + 1.55 * uniform.bell(len(data))
    steps = np.floor(truth + 1.5 * uniform.bell(len(data)))
    nudged = (uniform.draw(len(data)) < 0.5) * 2.0**-40
    return {"fine": fine, "coarse": (steps + 8.0) * (1.0 + nudged)}
