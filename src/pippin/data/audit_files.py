"""What an audit reads: one file, several as one data set, or a folder of folds with who is in which part.

Nothing is refused here that an audit should report: declared counts are not checked, a query may be in several parts,
and parts may differ in width.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pippin.data.dataset import Dataset, concatenate
from pippin.data.trec import Judgements
from pippin.errors import DataError

LEARNT = "QueryLevelNorm"


@dataclass(frozen=True)
class AuditedFile:
    """One file of a fold: its queries and how many features it has."""

    query_ids: tuple[str, ...]
    features: int


# fold → train, vali, test → file; several files that are no folds are one fold without a name
Layout = Mapping[str, Mapping[str, AuditedFile]]


def load_audited(paths: Sequence[str], *, merge_queries: bool = False) -> tuple[Dataset | Judgements, Layout | None]:
    """The data set of these files (or this folder), each query once, and its parts where there are several."""
    from pippin.data.load import as_judged

    files: dict[tuple[str, str], str] = {}
    for path in paths:
        files |= _files(path)
    if len(files) == 1:
        return as_judged(next(iter(files.values())), merge_queries=merge_queries), None
    layout: dict[str, dict[str, AuditedFile]] = {}
    known: dict[str, dict[bytes, str]] = {}

    def parts() -> Iterator[Dataset]:
        for (fold, name), file in files.items():
            part = as_judged(file, merge_queries=merge_queries)
            if not isinstance(part, Dataset):
                raise DataError("several files are audited as one data set, and this one holds judgements", file)
            layout.setdefault(fold, {})[name] = AuditedFile(part.query_ids, part.features.shape[1])
            yield replace(part, query_ids=_told_apart(part, known))

    places = {path if len(paths) == 1 else path.parent for path in map(Path, paths)}
    name = places.pop().resolve().name if len(places) == 1 else f"{len(files)} files"
    return replace(concatenate(parts()), name=name), layout


def _told_apart(part: Dataset, known: dict[str, dict[bytes, str]]) -> tuple[str, ...]:
    """The query ids of a part; one that an earlier part had with other documents is numbered, so that all count.

    `known` holds for every id what its documents were, and what they are called. The same query in another fold keeps
    its id.
    """
    names = []
    for query, (first, last) in zip(part.query_ids, itertools.pairwise(part.offsets.tolist()), strict=True):
        features = part.features[first:last]
        row, column = np.nonzero(features)  # files may differ in their number of features
        contents = (part.labels[first:last], row, column, features[row, column].astype(np.float64))
        digest = hashlib.sha256(b"".join(array.tobytes() for array in contents)).digest()
        before = known.setdefault(query, {})
        names.append(before.setdefault(digest, f"{query} ({len(before) + 1})" if before else query))
    return tuple(names)


def _files(path: str) -> dict[tuple[str, str], str]:
    """(fold, part) → file: of a folder of folds, of a folder of S1.txt, S2.txt …, or the path itself."""
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return {("", path): path}
    from pippin.data.store import is_store

    if is_store(folder):
        return {("", path): path}
    folder = _version(folder)
    fifths = sorted(folder.glob("S[0-9].txt"))
    if fifths:
        return {("", file.name): str(file) for file in fifths}
    from pippin.data.folders import recognise

    _, folds = recognise(folder)
    return {(fold, part): str(file) for fold, files in folds.items() for part, file in files.items()}


def _version(folder: Path) -> Path:
    """Of a data set that was built, the version that rankers learn from; any other folder is itself."""
    versions = (
        sorted(folder.glob(f"**/{LEARNT}")) if (folder / "dataset.json").is_file() or (folder / LEARNT).is_dir() else []
    )
    if len(versions) > 1:
        names = ", ".join(str(version.relative_to(folder)) for version in versions)
        raise DataError(f"this data set has several query sets; name one of {names}", folder)
    return versions[0] if versions else folder
