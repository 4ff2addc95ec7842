"""Checks of feature vectors: what no model could learn from, or could not tell apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.quality import BoolArray, IdenticalDocuments, IntArray, count_per_query, first_equal_columns
from pippin.evaluation.audit.base import AXIS_BEHAVIOUR, AuditInput, Effects, Finding, check, moving, of, some, verb
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import RankingCache
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.ranking import Ranking


def _has_features(audited: AuditInput) -> bool:
    return isinstance(audited.judged, Dataset) and audited.judged.features.shape[1] > 0


class ByMeanGain(RankingCache):
    """Rankings in which documents with one feature vector are tied, and groups of them are ordered by mean gain.

    Every model ties them, and DCG is linear in the gain, so that no other order has a greater expectation.
    """

    def __init__(self, data: Dataset, first: IntArray) -> None:
        super().__init__(data, np.empty(0))
        self.data, self.first = data, first
        self._by_gain: dict[object, RankingCache] = {}

    def for_convention(self, convention: Convention) -> Ranking:
        """The ranking by this convention's gains."""
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
def twins(audited: AuditInput) -> Finding | None:
    """Documents of a query that no scorer can tell apart although their labels differ: a ceiling for every model."""
    data, first = audited.data, audited.twins.within
    flags = IdenticalDocuments.with_conflicting_labels(first, data.labels)
    number = int(flags.sum())
    if not number:
        return None
    queries = int((count_per_query(flags, data.offsets) > 0).sum())
    gaining = tuple(m for m in audited.measures if "gain" in MEASURE_DEFINITIONS[m.kind].axes)
    best = Effects(ByMeanGain(data, first), gaining, settled=False)
    effects = moving(best.against(audited.ceiling, lambda convention: AXIS_BEHAVIOUR["ties"](convention.ties)))
    rows = np.flatnonzero(flags & (first != np.arange(len(first))))[:5]
    lost = (
        "an amount here is what a model loses against a perfect ranking that orders groups of equals by their mean "
        "gain, the best that can be expected; "
    )
    return Finding(
        "twins", "warning", number, len(data),
        f"{of(number, len(data), 'documents')}, in {queries:,} {verb(queries, 'queries', 'query')}, have the same "
        "features as a document of their query with another label: every model gives them tied scores",
        effects,
        f"{lost if effects else ''}Busa-Fekete et al. 2012, §3: neither the sort nor the document id should decide "
        "between equals",
        some([f"{audited.document(int(r))} = {audited.document(int(first[r])).split(', ', 1)[1]}" for r in rows]),
    )  # fmt: skip


@check("same_vectors", "identical feature vectors", _has_features)
def same_vectors(audited: AuditInput) -> Finding | None:
    """Documents with identical features, in a query or anywhere."""
    data = audited.data
    anywhere, within = (
        IdenticalDocuments.with_duplicates(first) for first in (audited.twins.anywhere, audited.twins.within)
    )
    number = int(anywhere.sum())
    if not number:
        return None
    conflicting = int(IdenticalDocuments.with_conflicting_labels(audited.twins.anywhere, data.labels).sum())
    return Finding(
        "same_vectors", "info", number, len(data),
        f"{of(number, len(data), 'documents')} share their feature vector with another, {int(within.sum()):,} of them "
        f"within their query; {conflicting:,} with a document of another label",
    )  # fmt: skip


@check("constant_features", "features with one value only", _has_features)
def constant_features(audited: AuditInput) -> Finding | None:
    """Features that have the same value everywhere."""
    flags = ~audited.feature_counts.varies
    return _features(
        audited, "constant_features", "warning", flags,
        lambda n: f"{verb(n, 'have', 'has')} the same value everywhere and can be dropped",
    )  # fmt: skip


@check("copied_features", "features that copy others", _has_features)
def copied_features(audited: AuditInput) -> Finding | None:
    """Features that have the value of an earlier one in every document."""
    first, data = first_equal_columns(audited.data.features), audited.data
    copies = np.flatnonzero((first != np.arange(len(first))) & audited.feature_counts.varies)
    number = len(copies)
    if not number:
        return None
    return Finding(
        "copied_features", "warning", number, len(first),
        f"{of(number, len(first), 'features')} {verb(number, 'copy', 'copies')} another in every document and can be "
        "dropped",
        examples=some([f"{data.feature_names[i]} = {data.feature_names[first[i]]}" for i in copies], 20),
    )  # fmt: skip


@check("query_features", "features that only depend on the query", _has_features)
def query_features(audited: AuditInput) -> Finding | None:
    """Features that are constant within every query (LETOR's class Q)."""
    counts = audited.feature_counts
    return _features(
        audited, "query_features", "info", counts.varies & ~counts.varies_within,
        lambda n: f"{verb(n, 'are', 'is')} constant within every query (LETOR's class Q): a linear model cannot use "
        f"{verb(n, 'them', 'it')}, trees and networks can",
    )  # fmt: skip


def _features(
    audited: AuditInput, key: str, severity: str, flags: BoolArray, says: Callable[[int], str]
) -> Finding | None:
    number, total = int(flags.sum()), len(flags)
    if not number:
        return None
    names = [audited.data.feature_names[i] for i in np.flatnonzero(flags)]
    return Finding(
        key, severity, number, total, f"{of(number, total, 'features')} {says(number)}", examples=some(names, 20)
    )


@check("nulls", "features without a value (NULL)", _has_features)
def nulls(audited: AuditInput) -> Finding | None:
    """Values that are NULL, by feature."""
    counts, data = audited.feature_counts.nulls, audited.data
    number, total = int(counts.sum()), data.features.size
    if not number:
        return None
    worst = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    return Finding(
        "nulls", "warning", number, total,
        f"{of(number, total, 'values')} are NULL, in {len(worst)} of {len(counts)} features (shares below)",
        recommendation="LETOR (Qin et al. 2010, §3.5) replaces NULL by the least value of the feature in the query "
        "before learning (Feature_MIN, then QueryLevelNorm)",
        examples=some([data.feature_names[i] for i in worst]),
        parts=tuple((f"feature {data.feature_names[i]}", float(counts[i] / len(data))) for i in worst),
    )  # fmt: skip
