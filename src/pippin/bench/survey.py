"""What are the data of a benchmark, and can they be used at all? Every fold is looked at once, before anything runs.

Refused is what no comparison survives: a test query in the training part, folds with different features, no relevant
document anywhere, one fold alone.
"""

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

from pippin.bench.ceilings import sampled_of
from pippin.bench.inputs import FoldRef, Input, Parts, stored_folds
from pippin.bench.plan import canonical
from pippin.data.dataset import Dataset, rows_of
from pippin.data.folds import PARTS, Folds
from pippin.errors import DataError

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class SurveyedFold:
    """A fold that was looked at: where it stands, the digests of its parts, and its record."""

    ref: FoldRef
    digests: Mapping[str, str]
    facts: Mapping[str, Any]
    sampled: Mapping[str, Any] | None = None  # what the sample of a built data set lost

    @property
    def digest(self) -> str:
        """The fold's own: of its name and its parts."""
        return hashlib.sha256(canonical([self.ref.data, self.ref.fold, self.digests])).hexdigest()

    def record(self, audit: Mapping[str, Any]) -> dict[str, Any]:
        """What results keep of the fold: no path, so that it is the same on every machine."""
        names = {"data": self.ref.data, "fold": self.ref.fold, "digest": self.digest}
        sampled = {} if self.sampled is None else {"sampled": dict(self.sampled)}
        return {**names, "digests": dict(self.digests), **self.facts, "audit": dict(audit), **sampled}


def survey(
    inputs: Sequence[Input],
    cache: Path,
    *,
    allow_leak: bool = False,
    allow_one_fold: bool = False,
    verbose: bool = False,
) -> Iterator[tuple[Folds, list[SurveyedFold]]]:
    """Every data set with its folds, stored and looked at; what no benchmark can use is refused."""
    from pippin.progress import progress

    with progress(len(inputs), "reading") if verbose else nullcontext() as bar:
        for source in inputs:
            folds, store = stored_folds(source, cache)
            if len(folds) == 1 and not allow_one_fold:
                raise DataError(f"{source.data} has one fold, from which no mean over folds can be taken "
                                "(--allow-one-fold goes on)", source.path)  # fmt: skip
            queries, sampled = _Queries(folds), sampled_of(source)
            surveyed = []
            for fold in folds:
                if not allow_leak:
                    queries.check_leak(source, fold.name)
                ref = FoldRef(source, fold.name, str(store.absolute()))
                digests = {part: folds.digest(fold.name, part) for part in PARTS}
                surveyed.append(SurveyedFold(ref, digests, queries.facts(fold.name), sampled))
            _check_together(source, surveyed)
            if bar is not None:
                bar.step(source.data)
            yield folds, surveyed


class _Queries:
    """The queries of all folds, each looked at once."""

    def __init__(self, folds: Folds) -> None:
        self.folds, self.data = folds, folds.data
        self.names = [folds.facts.query_ids.get(at, name) for at, name in enumerate(self.data.query_ids)]

    @cached_property
    def contents(self) -> list[bytes | None]:
        """A digest of each query's labels and features; None without both relevant and other documents, since such
        short lists are alike by chance.
        """
        digests: list[bytes | None] = []
        for first, last in zip(self.data.offsets[:-1].tolist(), self.data.offsets[1:].tolist(), strict=True):
            labels, alike = self.data.labels[first:last], None
            if len(labels) and labels.min() < labels.max():
                features = np.ascontiguousarray(self.data.features[first:last])
                alike = hashlib.sha256(labels.tobytes() + features.tobytes()).digest()
            digests.append(alike)
        return digests

    def facts(self, fold: str) -> dict[str, Any]:
        """Counts, features and labels of a fold."""
        parts = self.folds.queries[fold]
        labels = {part: self.data.labels[rows_of(self.data.offsets, parts[part])] for part in PARTS}
        counts = {
            part: {"queries": len(parts[part]), "documents": len(values), "relevant": int((values > 0).sum())}
            for part, values in labels.items()
        }
        width = self.folds.facts.widths.get(fold, self.data.features.shape[1])
        values, numbers = np.unique(np.concatenate(list(labels.values())), return_counts=True)
        return {
            "parts": counts,
            "features": width,
            "feature_names": list(self.data.feature_names[:width]),
            "labels": {str(label): int(number) for label, number in zip(values, numbers, strict=True)},
        }

    def check_leak(self, source: Input, fold: str) -> None:
        """Raise where a test query, or another query with the very same documents, is in the training part."""
        parts = self.folds.queries[fold]
        train, test = parts["train"].tolist(), parts["test"].tolist()
        seen = {self.names[at] for at in train}
        shared = [self.names[at] for at in test if self.names[at] in seen]
        if shared:
            several = f"{len(shared)} queries, {shared[0]} among them, are"
            what = f"query {shared[0]} is" if len(shared) == 1 else several
            raise DataError(f"{what} in both the training and the test part of {source.data} {fold}: a leak "
                            "(--allow-leak goes on)", source.path)  # fmt: skip
        trained = {self.contents[at]: self.names[at] for at in train if self.contents[at] is not None}
        for at in test:
            if self.contents[at] in trained:
                raise DataError(
                    f"test query {self.names[at]} of {source.data} {fold} has the very documents of training query "
                    f"{trained[self.contents[at]]}: a leak (--allow-leak goes on)", source.path,
                )  # fmt: skip


def _check_together(source: Input, folds: Sequence[SurveyedFold]) -> None:
    """What only all folds together show."""
    first = folds[0]
    for other in folds[1:]:
        for what in ("features", "feature_names"):
            if other.facts[what] != first.facts[what]:
                raise DataError(
                    f"the folds of {source.data} differ in their features: {first.ref.fold} has "
                    f"{first.facts['features']}, {other.ref.fold} has {other.facts['features']}"
                    f"{'' if what == 'features' else ' of other names'}", source.path,
                )  # fmt: skip
    if not any(part["relevant"] for fold in folds for part in fold.facts["parts"].values()):
        raise DataError(f"no document of {source.data} is relevant; there is nothing to learn", source.path)


def check_digests(ref: FoldRef, parts: Parts, digests: Mapping[str, str]) -> None:
    """Raise where the data are not those that were surveyed."""
    from pippin.data.packing import digest

    for part, data in zip(PARTS, parts, strict=True):
        if digest(data) != digests[part]:
            raise DataError(f"the {part} part of {ref.data} {ref.fold} is not what it was when the run began")


def audit_folds(folds: Folds) -> dict[str, Any]:
    """The audit of a data set, each query once, with the layout of its folds, as JSON can hold it."""
    from pippin.data.audit_files import AuditedFile
    from pippin.evaluation.audit import audit

    queries = _Queries(folds)
    width = folds.data.features.shape[1]
    layout = {
        fold: {
            part: AuditedFile(tuple(queries.names[at] for at in chosen.tolist()), folds.facts.widths.get(fold, width))
            for part, chosen in parts.items()
        }
        for fold, parts in folds.queries.items()
    }
    audited = audit(_whole(folds, queries.names), layout=layout)
    return {
        "about": audited.about, "basis": audited.basis, "clean": list(audited.clean),
        "findings": [asdict(finding) for finding in audited.findings],
    }  # fmt: skip


def _whole(folds: Folds, names: Sequence[str]) -> Dataset:
    """All queries in the order in which the folds name them; of two of one name, the first."""
    first: dict[str, int] = {}
    for parts in folds.queries.values():
        for queries in parts.values():
            for at in queries.tolist():
                first.setdefault(names[at], at)
    data = folds.data.select(np.array(list(first.values()), np.int64))
    documents = None if folds.facts.without_ids else data.document_ids
    return replace(data, query_ids=tuple(first), document_ids=documents, comments=None, lines=None, name="data")
