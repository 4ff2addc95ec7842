"""Do two sets of labels agree: those of people and those of a model, or of any two judges?

Counted over the documents that both judged. Cohen's κ asks how much of the agreement is more than chance, with
disagreements weighed alike, by their distance, or by its square; Krippendorff's α does so with one scale for both
judges, by nominal, ordinal or interval distance. 1 is perfect, 0 is chance, and NaN says that there is nothing to
agree about, for all labels are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.data.dataset import Dataset
from pippin.data.load import as_judged
from pippin.data.trec import Judgements
from pippin.errors import DataError, UnknownName
from pippin.evaluation.ranking import as_judgements
from pippin.shown import in_columns

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

WEIGHTS: dict[str, Callable[[F64], F64]] = {
    "plain": lambda apart: (apart != 0).astype(np.float64), "linear": np.abs, "quadratic": np.square,
}  # fmt: skip
SCALES = ("nominal", "ordinal", "interval")


def confusion(a: ArrayLike, b: ArrayLike) -> tuple[I64, I64]:
    """The grades that occur, and how often the first judge gave one (row) where the second gave another (column).

    >>> grades, counts = confusion([0, 2, 2], [0, 2, 0])
    >>> grades.tolist(), counts.tolist()
    ([0, 2], [[1, 0], [1, 1]])
    """
    first, second = np.asarray(a, np.int64), np.asarray(b, np.int64)
    if first.shape != second.shape or first.ndim != 1:
        raise DataError(f"two judges label the same documents, not {first.shape} and {second.shape}")
    grades, codes = np.unique(np.concatenate((first, second)), return_inverse=True)
    counts = np.zeros((len(grades), len(grades)), np.int64)
    np.add.at(counts, (codes[: len(first)], codes[len(first) :]), 1)
    return grades, counts


def cohen_kappa(a: ArrayLike, b: ArrayLike, weights: str = "plain") -> float:
    """1 − Σ w·observed / Σ w·expected, expected from the two judges' own margins. Cohen 1960, 1968.

    >>> round(cohen_kappa([0, 1, 2, 2, 1, 0, 3, 1], [0, 1, 1, 2, 2, 0, 3, 0], "quadratic"), 6)
    0.818182
    """
    if weights not in WEIGHTS:
        raise UnknownName("weight of kappa", weights, WEIGHTS)
    return _kappa(*confusion(a, b), weights)


def _kappa(grades: I64, counts: I64, weights: str) -> float:
    weigh = WEIGHTS[weights]((grades[:, None] - grades[None, :]).astype(np.float64))
    total = counts.sum()
    expected = float((weigh * np.outer(counts.sum(1), counts.sum(0))).sum())
    return 1 - float((weigh * counts).sum() * total) / expected if expected else float("nan")


def krippendorff_alpha(a: ArrayLike, b: ArrayLike, scale: str = "ordinal") -> float:
    """1 − observed / expected disagreement of two judges, from the coincidence matrix. Krippendorff 2004.

    >>> round(krippendorff_alpha([0, 1, 2, 2, 1, 0, 3, 1], [0, 1, 1, 2, 2, 0, 3, 0]), 6)
    0.80475
    """
    if scale not in SCALES:
        raise UnknownName("scale of alpha", scale, SCALES)
    return _alpha(*confusion(a, b), scale)


def _alpha(grades: I64, counts: I64, scale: str) -> float:
    coincidences = (counts + counts.T).astype(np.float64)
    margins = coincidences.sum(0)
    n = margins.sum()
    apart = _distances(grades, margins, scale)
    expected = float((np.outer(margins, margins) * apart).sum())
    return 1 - float((coincidences * apart).sum() * (n - 1)) / expected if expected else float("nan")


def _distances(grades: I64, margins: F64, scale: str) -> F64:
    """δ² of every two grades; on the ordinal scale what lies between them, each end counted half."""
    if scale == "nominal":
        return 1.0 - np.eye(len(grades))
    place = np.cumsum(margins) - margins / 2 if scale == "ordinal" else grades.astype(np.float64)
    return np.square(place[:, None] - place[None, :])


@dataclass(frozen=True, eq=False)
class Agreement:
    """How two judges' labels agree, over the documents that both judged."""

    names: tuple[str, str]
    query_ids: tuple[str, ...]  # those with a document that both judged
    sizes: I64  # documents that both judged, by query
    a: I64
    b: I64
    alone: tuple[int, int]  # documents that only the first judged, and only the second

    @cached_property
    def table(self) -> tuple[I64, I64]:
        """The grades and the confusion matrix, the first judge's labels down and the second's across."""
        return confusion(self.a, self.b)

    @cached_property
    def kappa(self) -> dict[str, float]:
        """Cohen's κ by its weights."""
        return {weights: _kappa(*self.table, weights) for weights in WEIGHTS}

    @cached_property
    def alpha(self) -> dict[str, float]:
        """Krippendorff's α by its scale."""
        return {scale: _alpha(*self.table, scale) for scale in SCALES}

    def by_grade(self) -> dict[str, Any]:
        """A row per grade: how often each judge gave it, both gave it to one document, and κ of it against the rest."""
        rows = []
        grades, counts = self.table
        for i, grade in enumerate(grades.tolist()):
            kappa = cohen_kappa(self.a == grade, self.b == grade)
            rows.append((grade, int(counts[i].sum()), int(counts[:, i].sum()), int(counts[i, i]), kappa))
        return in_columns(rows, "grade", "first", "second", "both", "kappa")

    def to_dict(self) -> dict[str, Any]:
        """A row per query: documents that both judged, the share of equal labels, quadratic κ and ordinal α."""
        rows, start = [], 0
        for query, size in zip(self.query_ids, self.sizes.tolist(), strict=True):
            a, b = self.a[start : start + size], self.b[start : start + size]
            rows.append((query, size, float((a == b).mean()), cohen_kappa(a, b, "quadratic"), krippendorff_alpha(a, b)))
            start += size
        return in_columns(rows, "query", "documents", "equal", "kappa", "alpha")


def read_labels(labels: Any, merge_queries: bool = False) -> Judgements:
    """Judgements by document id, from whatever people hand over."""
    data = as_judged(labels, merge_queries=merge_queries)
    return as_judgements(data) if isinstance(data, Dataset) else data


def both_labels(a: Any, b: Any) -> tuple[Judgements, Judgements]:
    """The labels of two judges, who have names of their own."""
    first, second = read_labels(a), read_labels(b)
    if first.name == second.name:
        return replace(first, name="the first"), replace(second, name="the second")
    return first, second


def agreement(a: Any, b: Any) -> Agreement:
    """How the labels of two judges agree.

    a, b    judgements, as in `evaluate`: matched by query and document

    >>> found = agreement({"q": {"x": 0, "y": 1, "z": 2}}, {"q": {"x": 0, "y": 1, "w": 2}})
    >>> found.kappa["plain"], found.alone
    (1.0, (1, 1))
    """
    first, second = both_labels(a, b)
    tables = [_nested(one) for one in (first, second)]
    queries, sizes, pairs = [], [], []
    for query, labels in tables[0].items():
        other = tables[1].get(query, {})
        both = [(label, other[document]) for document, label in labels.items() if document in other]
        if both:
            queries.append(query)
            sizes.append(len(both))
            pairs += both
    if not pairs:
        raise DataError(f"{first.name} and {second.name} have no document in common that both judged")
    columns = np.array(pairs, np.int64)
    alone = (len(first.labels) - len(pairs), len(second.labels) - len(pairs))
    return Agreement(
        (first.name, second.name), tuple(queries), np.array(sizes), columns[:, 0].copy(), columns[:, 1].copy(), alone
    )


def _nested(judged: Judgements) -> dict[str, dict[str, int]]:
    """Query → document → label."""
    ends = judged.offsets.tolist()
    return {
        query: dict(zip(judged.document_ids.slice(i, j), judged.labels[i:j].tolist(), strict=True))
        for query, i, j in zip(judged.query_ids, ends[:-1], ends[1:], strict=True)
    }


__all__ = ["Agreement", "agreement", "cohen_kappa", "confusion", "krippendorff_alpha", "read_labels"]
