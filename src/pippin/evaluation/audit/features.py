"""Checks of feature vectors: features that a model cannot learn from, and documents that it cannot tell apart."""

from __future__ import annotations

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.quality import BoolArray, IdenticalDocuments, IntArray, count_per_query, first_equal_columns
from pippin.evaluation.audit.base import (
    AXIS_BEHAVIOUR,
    NO_CHANGE,
    AuditInput,
    Effects,
    Finding,
    check,
    count_of,
    first_names,
)
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import RankingCache
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.ranking import Ranking


def _has_features(audited: AuditInput) -> bool:
    return isinstance(audited.qrels, Dataset) and audited.qrels.features.shape[1] > 0


class ByMeanGain(RankingCache):
    """Rankings in which documents with the same feature vector are tied, and these groups are ordered by mean gain.

    Every model ties such documents. DCG is linear in the gain, so this order has the largest expectation.
    """

    def __init__(self, data: Dataset, first: IntArray) -> None:
        super().__init__(data, np.empty(0))
        self.data, self.first = data, first
        self._by_gain: dict[object, RankingCache] = {}

    def for_convention(self, convention: Convention) -> Ranking:
        """Return the ranking by the gains of a convention."""
        key = (convention.gain, convention.gain_threshold, convention.max_valid_label)
        if key not in self._by_gain:
            labels = np.maximum(self.data.labels, 0)
            if convention.max_valid_label is not None:
                labels = np.where(labels > convention.max_valid_label, 0, labels)
            gains = convention.gains(int(labels.max(initial=0)))[labels]
            sums, sizes = np.bincount(self.first, gains), np.bincount(self.first)
            self._by_gain[key] = RankingCache(self.data, sums[self.first] / sizes[self.first])
        return self._by_gain[key].for_convention(convention)


@check("twins", "identical feature vectors with different labels in a query", _has_features)
def check_conflicting_vectors(audited: AuditInput) -> Finding | None:
    """Count documents of a query with equal features and different labels, and the loss that they cause every model."""
    data, first = audited.data, audited.identical.within
    flags = IdenticalDocuments.with_conflicting_labels(first, data.labels)
    number = int(flags.sum())
    if not number:
        return None
    queries = int((count_per_query(flags, data.offsets) > 0).sum())
    gaining = tuple(m for m in audited.measures if "gain" in MEASURE_DEFINITIONS[m.kind].axes)
    best = Effects(ByMeanGain(data, first), gaining, audited.base)
    effects = best.compared_to(audited.ceiling, lambda convention: AXIS_BEHAVIOUR["ties"](convention.ties))
    rows = np.flatnonzero(flags & (first != np.arange(len(first))))[:5]
    has_loss = any(abs(effect.amount or 0) >= NO_CHANGE for effect in effects)
    loss = (
        "amounts are the loss against a perfect ranking of a model that ranks documents with equal features by their "
        "mean gain, the best possible one; "
    )
    return Finding(
        "twins", "warning", number, len(data),
        f"{count_of(number, len(data), 'documents')}, in {queries:,} {'query' if queries == 1 else 'queries'}, have "
        "the same features as a document of their query with another label: every model gives them tied scores",
        effects,
        f"{loss if has_loss else ''}Busa-Fekete et al. 2012, §3: neither the sort nor the document id should decide "
        "the order of ties",
        first_names([
            f"{audited.document(int(r))} = {audited.document(int(first[r])).split(', ', 1)[1]}" for r in rows
        ]),
    )  # fmt: skip


@check("same_vectors", "identical feature vectors", _has_features)
def check_same_vectors(audited: AuditInput) -> Finding | None:
    """Count documents with identical features, in a query or anywhere."""
    data = audited.data
    anywhere, within = (
        IdenticalDocuments.with_duplicates(first) for first in (audited.identical.anywhere, audited.identical.within)
    )
    number = int(anywhere.sum())
    if not number:
        return None
    conflicting = int(IdenticalDocuments.with_conflicting_labels(audited.identical.anywhere, data.labels).sum())
    return Finding(
        "same_vectors", "info", number, len(data),
        f"{count_of(number, len(data), 'documents', 'share')} the feature vector with another, {int(within.sum()):,} "
        f"of them within the query; {conflicting:,} with a document of another label",
    )  # fmt: skip


@check("constant_features", "features with one value only", _has_features)
def check_constant_features(audited: AuditInput) -> Finding | None:
    """Count features with the same value everywhere."""
    flags = ~audited.feature_counts.varies
    return _describe_features(
        audited, "constant_features", "warning", flags,
        "have", "the same value everywhere and can be dropped",
    )  # fmt: skip


@check("copied_features", "features that copy others", _has_features)
def check_copied_features(audited: AuditInput) -> Finding | None:
    """Count features that equal an earlier feature in every document."""
    first, data = first_equal_columns(audited.data.features), audited.data
    copies = np.flatnonzero((first != np.arange(len(first))) & audited.feature_counts.varies)
    number = len(copies)
    if not number:
        return None
    return Finding(
        "copied_features", "warning", number, len(first),
        f"{count_of(number, len(first), 'features', 'copy')} another in every document and can be "
        "dropped",
        examples=first_names([f"{data.feature_names[i]} = {data.feature_names[first[i]]}" for i in copies], 20),
    )  # fmt: skip


@check("query_features", "features that only depend on the query", _has_features)
def check_query_features(audited: AuditInput) -> Finding | None:
    """Count features that are constant within every query (LETOR's class Q)."""
    counts = audited.feature_counts
    return _describe_features(
        audited, "query_features", "info", counts.varies & ~counts.varies_within,
        "are", "constant within every query (LETOR's class Q): useless for a linear model, not for trees and networks",
    )  # fmt: skip


def _describe_features(
    audited: AuditInput, key: str, severity: str, flags: BoolArray, verb: str, property: str
) -> Finding | None:
    number, total = int(flags.sum()), len(flags)
    if not number:
        return None
    names = [audited.data.feature_names[i] for i in np.flatnonzero(flags)]
    return Finding(
        key,
        severity,
        number,
        total,
        f"{count_of(number, total, 'features', verb)} {property}",
        examples=first_names(names, 20),
    )


@check("nulls", "features without a value (NULL)", _has_features)
def check_nulls(audited: AuditInput) -> Finding | None:
    """Count values that are NULL, by feature."""
    counts, data = audited.feature_counts.nulls, audited.data
    number, total = int(counts.sum()), data.features.size
    if not number:
        return None
    worst = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    return Finding(
        "nulls", "warning", number, total,
        f"{count_of(number, total, 'values')} are NULL, in {len(worst)} of {len(counts)} features (shares below)",
        recommendation="LETOR (Qin et al. 2010, §3.5) replaces NULL by the smallest value of the feature in the query "
        "before training (Feature_MIN, then QueryLevelNorm)",
        examples=first_names([data.feature_names[i] for i in worst]),
        parts=tuple((f"feature {data.feature_names[i]}", float(counts[i] / len(data))) for i in worst),
    )  # fmt: skip
