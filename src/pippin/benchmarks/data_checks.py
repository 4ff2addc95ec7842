"""Checks of the data before a benchmark runs: folds, leaks, digests, audit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.inputs import FoldRef, Input, Parts, cache_folds
from pippin.benchmarks.leaderboard import read_sample_losses
from pippin.benchmarks.plan import canonical_json
from pippin.data.dataset import Dataset, rows_of_queries
from pippin.data.folds import PARTS, Folds
from pippin.errors import DataError

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class CheckedFold:
    """A fold that passed the checks."""

    ref: FoldRef
    digests: Mapping[str, str]  # by part
    facts: Mapping[str, Any]  # counts, features and labels
    sampled: Mapping[str, Any] | None = None  # losses of a built data set's sample

    @property
    def digest(self) -> str:
        """SHA-256 of the fold's name and the digests of its parts."""
        return hashlib.sha256(canonical_json([self.ref.data, self.ref.fold, self.digests])).hexdigest()

    def record(self, audit: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of the fold in the results, without paths, so that it is equal on every machine."""
        names = {"data": self.ref.data, "fold": self.ref.fold, "digest": self.digest}
        sampled = {} if self.sampled is None else {"sampled": dict(self.sampled)}
        return {**names, "digests": dict(self.digests), **self.facts, "audit": dict(audit), **sampled}


def check_data(
    inputs: Sequence[Input],
    cache: Path,
    *,
    allow_leak: bool = False,
    allow_one_fold: bool = False,
    verbose: bool = False,
) -> Iterator[tuple[Folds, list[CheckedFold]]]:
    """Cache and check every data set; yield its folds."""
    from pippin.display.terminal import progress

    with progress(len(inputs), "reading") if verbose else nullcontext() as bar:
        for source in inputs:
            folds, store = cache_folds(source, cache)
            if len(folds) == 1 and not allow_one_fold:
                raise DataError(f"{source.data} has one fold, so there is no mean over folds; continue with "
                                "--allow-one-fold", source.path)  # fmt: skip
            queries, sampled = _Queries(folds), read_sample_losses(source)
            checked = []
            for fold in folds:
                if not allow_leak:
                    queries.check_leak(source, fold.name)
                ref = FoldRef(source, fold.name, str(store.absolute()))
                digests = {part: folds.digest(fold.name, part) for part in PARTS}
                checked.append(CheckedFold(ref, digests, queries.facts(fold.name), sampled))
            _check_consistency(source, checked)
            if bar is not None:
                bar.step(source.data)
            yield folds, checked


class _Queries:
    """The queries of all folds; each is digested once."""

    def __init__(self, folds: Folds) -> None:
        self.folds, self.data = folds, folds.data
        self.names = [folds.statistics.query_ids.get(at, name) for at, name in enumerate(self.data.query_ids)]

    @cached_property
    def contents(self) -> list[bytes | None]:
        """A digest of each query's labels and features; None if all labels are equal: such lists agree by chance."""
        digests: list[bytes | None] = []
        for first, last in zip(self.data.offsets[:-1].tolist(), self.data.offsets[1:].tolist(), strict=True):
            labels, content = self.data.labels[first:last], None
            if len(labels) and labels.min() < labels.max():
                features = np.ascontiguousarray(self.data.features[first:last])
                content = hashlib.sha256(labels.tobytes() + features.tobytes()).digest()
            digests.append(content)
        return digests

    def facts(self, fold: str) -> dict[str, Any]:
        """Return the counts, features and labels of a fold."""
        parts = self.folds.queries[fold]
        labels = {part: self.data.labels[rows_of_queries(self.data.offsets, parts[part])] for part in PARTS}
        counts = {
            part: {"queries": len(parts[part]), "documents": len(values), "relevant": int((values > 0).sum())}
            for part, values in labels.items()
        }
        width = self.folds.statistics.widths.get(fold, self.data.features.shape[1])
        values, numbers = np.unique(np.concatenate(list(labels.values())), return_counts=True)
        return {
            "parts": counts,
            "features": width,
            "feature_names": list(self.data.feature_names[:width]),
            "labels": {str(label): int(number) for label, number in zip(values, numbers, strict=True)},
        }

    def check_leak(self, source: Input, fold: str) -> None:
        """Raise if a test query, or a query with identical documents, is in the training part."""
        parts = self.folds.queries[fold]
        train, test = parts["train"].tolist(), parts["test"].tolist()
        training_ids = {self.names[at] for at in train}
        shared = [self.names[at] for at in test if self.names[at] in training_ids]
        if shared:
            subject = f"query {shared[0]} is" if len(shared) == 1 else f"{len(shared)} queries ({shared[0]} …) are"
            raise DataError(f"leak: {subject} in both the training and the test part of {source.data} {fold}; "
                            "continue with --allow-leak", source.path)  # fmt: skip
        training_contents = {self.contents[at]: self.names[at] for at in train if self.contents[at] is not None}
        for at in test:
            if self.contents[at] in training_contents:
                raise DataError(
                    f"leak: test query {self.names[at]} of {source.data} {fold} has the same documents as training "
                    f"query {training_contents[self.contents[at]]}; continue with --allow-leak", source.path,
                )  # fmt: skip


def _check_consistency(source: Input, folds: Sequence[CheckedFold]) -> None:
    """Raise if the folds differ in their features, or have no relevant document."""
    first = folds[0]
    for fold in folds[1:]:
        for key, kind in (("features", "number"), ("feature_names", "names")):
            if fold.facts[key] != first.facts[key]:
                differ = f"{first.ref.fold} and {fold.ref.fold} of {source.data} differ in the {kind} of their features"
                raise DataError(differ, source.path)
    if not any(part["relevant"] for fold in folds for part in fold.facts["parts"].values()):
        raise DataError(f"nothing to learn: no document of {source.data} is relevant", source.path)


def check_digests(ref: FoldRef, parts: Parts, digests: Mapping[str, str]) -> None:
    """Raise if the data have changed since `check_data`."""
    from pippin.data.digest import digest

    for part, data in zip(PARTS, parts, strict=True):
        if digest(data) != digests[part]:
            raise DataError(f"the {part} part of {ref.data} {ref.fold} has changed since the run began")


def audit_folds(folds: Folds) -> dict[str, Any]:
    """Return the audit of a data set as a JSON record; a query that is in several folds is audited once."""
    from pippin.data.quality import AuditedFile
    from pippin.evaluation.audit import audit

    queries = _Queries(folds)
    width = folds.data.features.shape[1]
    layout = {
        fold: {
            part: AuditedFile(
                tuple(queries.names[at] for at in indices.tolist()), folds.statistics.widths.get(fold, width)
            )
            for part, indices in parts.items()
        }
        for fold, parts in folds.queries.items()
    }
    result = audit(_whole(folds, queries.names), layout=layout)
    return {
        "about": result.about, "basis": result.basis, "clean": list(result.clean),
        "findings": [asdict(finding) for finding in result.findings],
    }  # fmt: skip


def _whole(folds: Folds, names: Sequence[str]) -> Dataset:
    """Return all queries in the order of the folds; of queries with the same name, the first."""
    first: dict[str, int] = {}
    for parts in folds.queries.values():
        for queries in parts.values():
            for at in queries.tolist():
                first.setdefault(names[at], at)
    data = folds.data.select(np.array(list(first.values()), np.int64))
    documents = None if folds.statistics.without_ids else data.document_ids
    return replace(data, query_ids=tuple(first), document_ids=documents, comments=None, lines=None, name="data")
