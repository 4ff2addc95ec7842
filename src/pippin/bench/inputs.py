"""Where the data of a benchmark come from: DATA arguments as named folds, read again wherever a cell is computed.

An argument is a path, or NAME=PATH to call it otherwise: a folder with folds (a published data set or a built
collection), a folder of S1 … S5 that are rotated as LETOR does, or a file with features, of which folds are made. A
collection that is not built, such as `stdlib`, is built first. `survey` reads everything once, refuses what cannot be
compared, and says what the data are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pippin.bench.plan import canonical
from pippin.data.dataset import Dataset
from pippin.data.folds import PARTS, MadeFolds, make_folds
from pippin.data.sources import SOURCES
from pippin.errors import DataError

VERSIONS = ("QueryLevelNorm", "Feature-min", "Feature-null")  # folders of one data set, which do not tell its name


class Parts(NamedTuple):
    """The three parts of a fold."""

    train: Dataset
    vali: Dataset
    test: Dataset


@dataclass(frozen=True)
class FoldRef:
    """One fold of one data set and where it stands: enough to read it in another process."""

    data: str
    fold: str
    form: str  # "folder" of folds, "fifths" (S1 … S5), or "file"
    path: str
    folds: int = 5
    check: bool = True  # compare with the counts that a published data set declares

    def read(self) -> Parts:
        """Read the three parts."""
        if self.form == "folder":
            from pippin.data.folders import load_folder

            fold = load_folder(self.path, check=self.check)[self.fold]
            return Parts(*(fold[part] for part in PARTS))
        made = _fifths(self.path) if self.form == "fifths" else _made(self.path, self.folds)
        return Parts(*(made[self.fold][part] for part in PARTS))


# The last one is kept, because its folds are asked for one after the other.
@lru_cache(maxsize=1)
def _made(path: str, folds: int) -> MadeFolds:
    """Folds of a file."""
    from pippin.data.load import as_judged

    data = as_judged(path)
    if not isinstance(data, Dataset):
        raise DataError("judgements have no features to learn from", path)
    return make_folds(data, folds)


@lru_cache(maxsize=1)
def _fifths(path: str) -> MadeFolds:
    """Folds of a folder of S1.txt, S2.txt …, rotated."""
    from pippin.data.dataset import concatenate
    from pippin.data.letor import read_letor

    parts = [read_letor(file) for file in sorted(Path(path).glob("S[0-9].txt"))]
    ends = np.cumsum([part.queries for part in parts])
    whole = concatenate(parts)
    if whole.queries != ends[-1]:
        raise DataError("a query is in more than one of S1, S2 …: a leak between the folds", path)
    return MadeFolds(whole, tuple(np.split(np.arange(whole.queries), ends[:-1])))


@dataclass(frozen=True)
class InputOptions:
    """How DATA arguments are taken: folds of a file, counts of a published set, and where collections are built."""

    folds: int = 5
    check: bool = True
    sample: int = 1000  # documents per query of a collection
    cache: Path = Path("collections")
    verbose: bool = False


def find_folds(arguments: Sequence[str], options: InputOptions | None = None) -> list[FoldRef]:
    """The folds of every DATA argument, in their order."""
    refs = [ref for text in arguments for ref in _named_folds(text, options or InputOptions())]
    seen: dict[tuple[str, str], str] = {}
    for ref in refs:
        if (ref.data, ref.fold) in seen:
            other = seen[ref.data, ref.fold]
            raise DataError(f"{other} and {ref.path} are both called {ref.data}; write NAME={ref.path}")
        seen[ref.data, ref.fold] = ref.path
    return refs


def _named_folds(text: str, options: InputOptions) -> Iterator[FoldRef]:
    name, _, path = text.rpartition("=")
    if Path(text).exists():  # a path may hold a “=” of its own
        name, path = "", text
    if is_collection(path):
        folders = built(path, options)
        for known, folder in folders.items():
            task = known.removeprefix(known.rpartition("-")[0]) if len(folders) > 1 else ""
            yield from _folds(folder, name + task if name else known, options)
    elif Path(path).exists():
        yield from _folds(Path(path), name, options)
    else:
        raise DataError("there is no such file or folder, and no collection of that name", path)


def _folds(path: Path, name: str, options: InputOptions) -> Iterator[FoldRef]:
    whole = path.resolve()
    form, names = _form(whole, options.folds)
    data = name or _name(whole, form)
    for fold in names:
        yield FoldRef(data, fold, form, str(whole), len(names), options.check)


def is_collection(path: str) -> bool:
    """Whether this is a collection: one that Pippin carries, one that was built, or a folder that a reader knows."""
    from pippin.collection.build import is_built
    from pippin.collection.named import is_named
    from pippin.collection.readers import READERS
    from pippin.data.folders import is_laid_out
    from pippin.data.store import is_store

    folder = Path(path)
    if is_named(path) or is_built(folder):
        return True
    if not folder.is_dir() or is_store(folder) or is_laid_out(folder) or any(folder.glob("S[0-9].txt")):
        return False
    return any(reader.recognise(folder) for reader in READERS.values())


def _form(path: Path, folds: int) -> tuple[str, list[str]]:
    """How a data set is laid out, and the names of its folds."""
    from pippin.data.folders import load_folder
    from pippin.data.store import is_store

    if path.is_dir() and not is_store(path):
        fifths = len(list(path.glob("S[0-9].txt")))
        if fifths:
            return "fifths", _made_names(fifths, path)
        return "folder", [fold.name for fold in load_folder(path)]
    return "file", _made_names(folds, path)


def _made_names(folds: int, path: Path) -> list[str]:
    if folds < 3:
        raise DataError(f"{folds} folds cannot be made: one part trains, one validates and one tests", path)
    return [f"Fold{i + 1}" for i in range(folds)]


def _name(path: Path, form: str) -> str:
    """What a data set is called by its path: the published name, or that of the folder or file."""
    if form == "folder":
        from pippin.data.folders import recognise

        source = recognise(path)[0]
        if source.name != "folder":
            return source.name
    if form == "file" and path.is_file():
        return path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    named = path.parent.name if path.name in VERSIONS else path.name.removesuffix(".pippin")
    published = {_plain(alias): source.name for source in SOURCES.values() for alias in (source.name, *source.aliases)}
    return published.get(_plain(named), named)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def built(path: str, options: InputOptions) -> dict[str, Path]:
    """The data sets of a collection: name to folder with folds. What is not built yet, is built in the cache."""
    from pippin.collection.build import Recipe, build, identity, is_built, manifest_of, usual
    from pippin.collection.named import open_collection

    folder = Path(path)
    if not is_built(folder):
        collection = open_collection(path)
        recipe = Recipe(how=usual(collection), size=options.sample, folds=options.folds, meta=False)
        folder = options.cache / f"{collection.name}-{identity(collection, recipe)[:12]}"
        if not is_built(folder):
            build(collection, folder, recipe, resume=True, verbose=options.verbose)
    manifest = manifest_of(folder)
    name, tasks = manifest["collection"]["name"], manifest["tasks"]
    if len(tasks) == 1:
        return {name: folder / VERSIONS[0]}
    return {f"{name}-{task}": folder / task / VERSIONS[0] for task in tasks}


@dataclass(frozen=True)
class Surveyed:
    """A fold that was read: where it stands, the digests of its parts, and its record."""

    ref: FoldRef
    digests: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The fold's own: of its name and its parts."""
        return hashlib.sha256(canonical([self.ref.data, self.ref.fold, self.digests])).hexdigest()

    def record(self, audit: Mapping[str, Any]) -> dict[str, Any]:
        """What results keep of the fold: no path, so that it is the same on every machine."""
        names = {"data": self.ref.data, "fold": self.ref.fold, "digest": self.digest}
        return {**names, "digests": dict(self.digests), **self.facts, "audit": dict(audit)}


def survey(
    refs: Sequence[FoldRef], *, allow_leak: bool = False, allow_one_fold: bool = False, verbose: bool = False
) -> Iterator[list[Surveyed]]:
    """Read every fold once, data set by data set, and refuse what no benchmark can use."""
    from pippin.progress import progress

    with progress(len(refs), "reading") if verbose else nullcontext() as bar:
        for data in dict.fromkeys(ref.data for ref in refs):
            same = [ref for ref in refs if ref.data == data]
            if len(same) == 1 and not allow_one_fold:
                raise DataError(f"{data} has one fold, from which no mean over folds can be taken "
                                "(--allow-one-fold goes on)", same[0].path)  # fmt: skip
            surveyed = []
            for ref in same:
                surveyed.append(_survey(ref, allow_leak))
                if bar is not None:
                    bar.step(f"{data} {ref.fold}")
            _check_together(surveyed)
            yield surveyed


def _survey(ref: FoldRef, allow_leak: bool) -> Surveyed:
    from pippin.data.packing import digest

    parts = ref.read()
    if not allow_leak:
        check_leak(ref, parts)
    _check_width(ref, parts)
    counts = {
        part: {"queries": data.queries, "documents": len(data), "relevant": int((data.labels > 0).sum())}
        for part, data in zip(PARTS, parts, strict=True)
    }
    labels = np.concatenate([data.labels for data in parts])
    facts = {
        "parts": counts,
        "features": parts.train.features.shape[1],
        "feature_names": list(parts.train.feature_names),
        "labels": {
            str(label): int(number) for label, number in zip(*np.unique(labels, return_counts=True), strict=True)
        },
    }
    return Surveyed(ref, {part: digest(data) for part, data in zip(PARTS, parts, strict=True)}, facts)


def _check_width(ref: FoldRef, parts: Parts) -> None:
    widths = {data.features.shape[1] for data in parts}
    if len(widths) > 1:
        shown = ", ".join(f"{part} {data.features.shape[1]}" for part, data in zip(PARTS, parts, strict=True))
        raise DataError(f"the parts of {ref.data} {ref.fold} differ in their number of features: {shown}", ref.path)


def _check_together(folds: Sequence[Surveyed]) -> None:
    """What only all folds together show."""
    first = folds[0]
    for other in folds[1:]:
        for what in ("features", "feature_names"):
            if other.facts[what] != first.facts[what]:
                raise DataError(
                    f"the folds of {first.ref.data} differ in their features: {first.ref.fold} has "
                    f"{first.facts['features']}, {other.ref.fold} has {other.facts['features']}"
                    f"{'' if what == 'features' else ' of other names'}", first.ref.path,
                )  # fmt: skip
    if not any(part["relevant"] for fold in folds for part in fold.facts["parts"].values()):
        raise DataError(f"no document of {first.ref.data} is relevant; there is nothing to learn", first.ref.path)


def check_leak(ref: FoldRef, parts: Parts) -> None:
    """Raise where a test query, or another query with the very same documents, is in the training part."""
    train, test = parts.train, parts.test
    seen = set(train.query_ids)
    shared = [query for query in test.query_ids if query in seen]
    if shared:
        what = f"query {shared[0]} is" if len(shared) == 1 else f"{len(shared)} queries, {shared[0]} among them, are"
        raise DataError(f"{what} in both the training and the test part of {ref.data} {ref.fold}: a leak "
                        "(--allow-leak goes on)", ref.path)  # fmt: skip
    contents = {content: query for query, content in _contents(train)}
    for query, content in _contents(test):
        if content in contents:
            raise DataError(
                f"test query {query} of {ref.data} {ref.fold} has the very documents of training query "
                f"{contents[content]}: a leak (--allow-leak goes on)", ref.path,
            )  # fmt: skip


def _contents(data: Dataset) -> Iterator[tuple[str, bytes]]:
    """Queries with a digest of their labels and features; one without both relevant and other documents is left out,
    since such short lists are alike by chance.
    """
    for i, query in enumerate(data.query_ids):
        rows = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
        labels = data.labels[rows]
        if len(labels) and labels.min() < labels.max():
            yield query, hashlib.sha256(labels.tobytes() + np.ascontiguousarray(data.features[rows]).tobytes()).digest()


def check_digests(ref: FoldRef, parts: Parts, digests: Mapping[str, str]) -> None:
    """Raise where the data are not those that were surveyed."""
    from pippin.data.packing import digest

    for part, data in zip(PARTS, parts, strict=True):
        if digest(data) != digests[part]:
            raise DataError(f"the {part} part of {ref.data} {ref.fold} is not what it was when the run began")


def audit_folds(folds: Sequence[FoldRef]) -> dict[str, Any]:
    """The audit of a data set, each query once, with the layout of its folds, as JSON can hold it."""
    from pippin.data.audit_files import AuditedFile
    from pippin.data.dataset import concatenate
    from pippin.evaluation.audit import audit

    layout: dict[str, dict[str, AuditedFile]] = {}

    def parts() -> Iterator[Dataset]:
        for ref in folds:
            for name, part in zip(PARTS, ref.read(), strict=True):
                layout.setdefault(ref.fold, {})[name] = AuditedFile(part.query_ids, part.features.shape[1])
                yield part

    whole = concatenate(parts())
    audited = audit(whole, layout=layout)
    return {
        "about": audited.about, "basis": audited.basis, "clean": list(audited.clean),
        "findings": [asdict(finding) for finding in audited.findings],
    }  # fmt: skip
