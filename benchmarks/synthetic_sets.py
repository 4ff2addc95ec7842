"""Generate synthetic data sets that differ from those on which the defaults were chosen, and evaluate rankers on them.

`heavy` has what tables of real engines have before anyone has normalised them: tails that are heavy, scales from 0.01
to 1,000,000, counts, features that are mostly 0, the same twice, constant, of the query alone, or of no use, and labels
by rules with thresholds. `letor_like` has the shape of MQ2007: five fields with eight features each that say much the
same, three labels, three quarters of them 0, and features normalised by query.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def heavy(
    seed: int,
    queries: int = 1500,
    features: int = 60,
    *,
    sizes: tuple[int, int] = (20, 120),
    normalised: bool = False,
    nulls: bool = False,
) -> Dataset:
    """Return queries of so many documents, labels 0 to 4, six in ten 0.

    With `nulls` a fifth of every fourth feature is NULL.
    """
    generator = np.random.default_rng(seed)
    offsets, query = _queries(generator.integers(sizes[0], sizes[1] + 1, queries))
    latent = generator.standard_normal((len(query), 6)) + 0.7 * generator.standard_normal((queries, 6))[query]
    labels = _label(generator, latent, queries, query)
    columns = [_observe(generator, latent, kind % 5) for kind in range(features - 15)]
    for _ in range(4):
        columns.append(columns[generator.integers(0, len(columns))])
    columns += [np.full(len(query), value) for value in (0.0, 7.0)]
    columns += [np.exp(generator.standard_normal(queries))[query] for _ in range(3)]
    columns += [generator.pareto(1.1, len(query)) * 1e3 for _ in range(6)]
    table = np.stack(columns, 1)
    if normalised:
        _normalise(table, offsets)
    for column in range(0, features, 4) if nulls else ():
        table[generator.random(len(query)) < 0.2, column] = np.nan
    return Dataset(table, labels, offsets, tuple(map(str, range(queries))), name="heavy")


def _label(generator: np.random.Generator, latent: F64, queries: int, query: I64) -> NDArray[np.int32]:
    """Labels by what is latent: match, quality where it matches, length, age, spam, and clicks, unlike by query."""
    match, quality, length, age, spam, clicks = latent.T
    trusted = np.where(generator.standard_normal(queries)[query] > 0, 1, -0.3)
    truth = np.tanh(match) + 0.6 * quality * (match > 0) - 1.2 * (spam > 1.3) + 0.5 * np.abs(age)
    truth = truth + 0.4 * clicks * trusted + 0.3 * np.minimum(length, 0)
    truth = truth + generator.standard_normal(len(query)) + 0.5 * generator.standard_normal(queries)[query]
    return np.digitize(truth, np.quantile(truth, (0.60, 0.82, 0.94, 0.985))).astype(np.int32)


def _observe(generator: np.random.Generator, latent: F64, kind: int) -> F64:
    """A feature that tells something of one latent value, in one of five ways."""
    which = latent[:, generator.integers(0, 6)]
    value: Any = which * generator.uniform(0.5, 1.5)
    value = value + generator.uniform(0.3, 1.5) * generator.standard_normal(len(latent))
    if kind == 0:
        value = np.exp(2 * value) * 10.0 ** generator.integers(-2, 7)
    elif kind == 1:
        value = np.floor(np.exp(np.maximum(value, -3)))
    elif kind == 2:
        value = -np.exp(-value)
    elif kind == 3:
        value = np.where(generator.random(len(latent)) < 0.7, 0.0, np.exp(value))
    return np.asarray(value, np.float64)


def letor_like(seed: int, queries: int = 1692) -> Dataset:
    """Queries of about 41 documents, 46 features, labels 0 to 2; how much a field counts is unlike by query."""
    generator = np.random.default_rng(seed)
    offsets, query = _queries(np.clip(generator.normal(41, 10, queries).astype(np.int64), 6, 147))
    field = generator.standard_normal((len(query), 5))
    authority = np.exp(generator.standard_normal(len(query)))
    counts = 1 + 0.5 * generator.standard_normal((queries, 5))
    truth = (counts[query] * field) @ np.array([0.5, 0.15, 0.25, 0.05, 0.4])
    truth += 0.25 * np.log(authority) * (field @ np.array([0.5, 0.2, 0.25, 0.1, 0.45]) > 0)
    truth += 1.6 * generator.standard_normal(len(query)) + 0.8 * generator.standard_normal(queries)[query]
    labels = np.digitize(truth, np.quantile(truth, (0.745, 0.945))).astype(np.int32)
    columns = []
    for kind in range(8):
        for item in field.T:
            value = item + (0.3 + 0.15 * kind) * generator.standard_normal(len(query))
            columns.append(value if kind < 3 else np.exp(1.2 * value) if kind < 6 else np.maximum(value, 0))
    columns += [authority, authority * np.exp(generator.standard_normal(len(query))), np.floor(4 * authority)]
    columns += [generator.standard_normal(len(query)), np.zeros(len(query)), generator.pareto(1, len(query))]
    table = np.stack(columns, 1)
    _normalise(table, offsets)
    return Dataset(table, labels, offsets, tuple(map(str, range(queries))), name="letor-like")


def _queries(sizes: I64) -> tuple[I64, I64]:
    """Where queries of these sizes start and end, and each document's query."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), np.repeat(np.arange(len(sizes)), sizes)


def _normalise(table: F64, offsets: I64) -> None:
    """(x − min) / (max − min) within each query, in place."""
    for start, end in pairwise(offsets):
        low = table[start:end].min(axis=0)
        width = table[start:end].max(axis=0) - low
        table[start:end] = (table[start:end] - low) / np.where(width > 0, width, 1.0)
