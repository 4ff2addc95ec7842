"""A published data set by its folder: which one it is, its folds, and their parts, read when they are first needed.

`load_folder` finds out which known data set (see `sources`) a folder holds: by `source`, by the names of the folders
above the files, or, failing that, by the number of features and the counts of the smallest file. A folder with files
that are laid out like a known data set, but are none, is loaded as well, with nothing declared and nothing to check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike

from pippin.data.buffers import open_buffer
from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.data.sources import SOURCES, Count, Source
from pippin.errors import DataError


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold: the files of its parts, each read as a `Dataset` when it is asked for, and again when it was let go."""

    name: str
    files: Mapping[str, Path]
    source: Source
    check: bool
    options: Mapping[str, Any] = field(repr=False)
    _read: WeakValueDictionary[str, Dataset] = field(default_factory=WeakValueDictionary, repr=False)
    _widths: dict[str, int] = field(default_factory=dict, repr=False)

    def __getitem__(self, part: str) -> Dataset:
        if part not in self.files:
            raise DataError(f"{self.source.title} has no part {part!r}; it has {', '.join(self.files)}")
        data = self._read.get(part)
        if data is None:
            data = self._load(part)
            self._read[part] = data
        return data

    @property
    def train(self) -> Dataset:
        """The training part."""
        return self["train"]

    @property
    def vali(self) -> Dataset:
        """The validation part."""
        return self["vali"]

    @property
    def test(self) -> Dataset:
        """The test part."""
        return self["test"]

    def _load(self, part: str) -> Dataset:
        """Read a part, compare its counts with the declared ones, and give it the width all parts share."""
        file = self.files[part]
        name = " ".join(filter(None, (self.source.name, self.name, part)))
        data = replace(read_letor(file, **self.options), name=name)
        self._widths[part] = data.features.shape[1]
        if self.check:
            check_count(Count(data.queries, len(data)), self.source.count(self.name, part), self.source, file)
            self._check_width(part)
        return _widen(data, self._width(), self.options["absent"])

    def _check_width(self, part: str) -> None:
        declared = self.source.features
        if declared is not None and self._widths[part] > declared:
            found = self._widths[part]
            raise DataError(f"{found} features where {self.source.title} has {declared}{_GO_ON}", self.files[part])

    def _width(self) -> int:
        """The number of features of every part: the declared one, or the largest there is."""
        declared = self.source.features
        if declared is None or max(self._widths.values()) > declared:
            for part in self.files:
                if part not in self._widths:
                    self._widths[part] = read_letor(self.files[part], **self.options).features.shape[1]
        return max(declared or 0, *self._widths.values())


_GO_ON = " (check=False goes on without looking)"


def check_count(found: Count, declared: Count, source: Source, place: str | os.PathLike[str]) -> None:
    """Raise with both numbers where a declared count differs from what is there."""
    for word, there, said in zip(("queries", "documents"), found, declared, strict=True):
        if said is not None and there != said:
            raise DataError(f"{there:,} {word} where {source.title} has {said:,}{_GO_ON}", place)


def _widen(data: Dataset, width: int, absent: str) -> Dataset:
    """The data set with `width` features; those that no line of its file names are absent everywhere."""
    missing = width - data.features.shape[1]
    if not missing:
        return data
    filler = np.full((len(data), missing), np.nan if absent == "null" else 0.0, data.features.dtype)
    return replace(data, features=np.hstack((data.features, filler)), feature_names=())


@dataclass(frozen=True, eq=False)
class Folds:
    """A data set in its folds: `folds["Fold1"].train`, `for fold in folds`, or `folds[0]`."""

    source: Source
    path: Path
    folds: tuple[Fold, ...]

    def __len__(self) -> int:
        return len(self.folds)

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.folds)

    def __getitem__(self, fold: int | str) -> Fold:
        if isinstance(fold, int):
            return self.folds[fold]
        for candidate in self.folds:
            if candidate.name == fold:
                return candidate
        raise DataError(f"there is no fold {fold!r}; there are {', '.join(f.name for f in self.folds)}", self.path)

    def check(self) -> None:
        """Read everything and compare every declared count, totals included."""
        for fold in self.folds:
            found = Count(0, 0)
            for part in fold.files:
                data = fold[part]
                count = Count(data.queries, len(data))
                check_count(count, self.source.count(fold.name, part), self.source, fold.files[part])
                found += count
            check_count(found, self.source.total, self.source, self.path / fold.name)

    def __repr__(self) -> str:
        parts = ", ".join(self.folds[0].files)
        return f"Folds({self.source.title!r}: {len(self.folds)} × {parts})"


def load_folder(
    path: str | os.PathLike[str],
    *,
    source: str | Source | None = None,
    check: bool = True,
    absent: Literal["zero", "null"] = "zero",
    dtype: DTypeLike = np.float64,
    merge_queries: bool = False,
) -> Folds:
    """The folds of a published data set in a folder; parts are read, and their counts checked, when first needed."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError("there is no such folder", folder)
    options = {"absent": absent, "dtype": dtype, "merge_queries": merge_queries}
    if source is not None:
        known = SOURCES[source] if isinstance(source, str) else source
        found = layout(folder, known)
        if found is None:
            raise DataError(f"this folder has no files of {known.title}, which are {_expected(known)}", folder)
    else:
        known, found = recognise(folder)
    folds = [Fold(name, files, known, check, options) for name, files in found.items()]
    return Folds(known, folder, tuple(folds))


def _expected(source: Source) -> str:
    """The files a source wants, in words."""
    folds = f"{source.folds[0]} … {source.folds[-1]}, each with " if len(source.folds) > 1 else ""
    return folds + ", ".join(" or ".join(names) for names in source.parts.values())


def layout(folder: Path, source: Source) -> dict[str, dict[str, Path]] | None:
    """Fold to part to file, or None unless every part of at least one fold is there (`.gz` counts, too)."""
    found: dict[str, dict[str, Path]] = {}
    for fold in source.folds:
        files = {part: _first(folder / fold, names) for part, names in source.parts.items()}
        present = {part: file for part, file in files.items() if file is not None}
        if len(present) == len(source.parts):
            found[fold] = present
        elif present:
            missing = next(names for part, names in source.parts.items() if part not in present)
            if len(source.folds) > 1:
                raise DataError(f"this fold has no {' or '.join(missing)}", folder / fold)
    return found or None


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    for name in names:
        for candidate in (folder / name, folder / f"{name}.gz"):
            if candidate.is_file():
                return candidate
    return None


def is_laid_out(folder: Path) -> bool:
    """Whether a folder has the files of some known layout."""
    return any(layout(folder, source) is not None for source in SOURCES.values())


def recognise(folder: Path) -> tuple[Source, dict[str, dict[str, Path]]]:
    """Which known data set a folder holds, and its files."""
    fitting = {name: files for name in SOURCES if (files := layout(folder, SOURCES[name])) is not None}
    # A folder with train, vali and test also fits where only train and test are asked for.
    most = max((len(next(iter(files.values()))) for files in fitting.values()), default=0)
    fitting = {name: files for name, files in fitting.items() if len(next(iter(files.values()))) == most}
    if not fitting:
        wanted = dict.fromkeys(_expected(source) for source in SOURCES.values())
        raise DataError(f"no known layout of files in this folder; known are {'; '.join(wanted)}", folder)
    names = [name for name in fitting if _is_named(folder, SOURCES[name])]
    if not names:
        names = [name for name, files in fitting.items() if _counts_fit(SOURCES[name], files)]
    # Two that fit equally well are as good as none.
    if len(names) == 1:
        return SOURCES[names[0]], fitting[names[0]]
    example = SOURCES[next(iter(fitting))]
    plain = Source("folder", folder.resolve().name, None, (), "", example.folds, example.parts)
    return plain, next(iter(fitting.values()))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _is_named(folder: Path, source: Source) -> bool:
    """Whether the folder, or one of the two above it, is called like the source."""
    parts = {_plain(part) for part in folder.resolve().parts[-3:]}
    return any(_plain(name) in parts for name in (source.name, *source.aliases))


def _counts_fit(source: Source, files: Mapping[str, Mapping[str, Path]]) -> bool:
    """Whether the smallest file has the width and the counts that the source declares for it."""
    sizes = [(file.stat().st_size, fold, part) for fold, parts in files.items() for part, file in parts.items()]
    _, fold, part = min(sizes)
    declared = source.count(fold, part)
    if declared.queries is None:
        return False
    rows = [line.split(b"#")[0].split() for line in open_buffer(files[fold][part]).data.tobytes().splitlines()]
    rows = [row for row in rows if len(row) > 2]
    width = max((int(row[-1].split(b":")[0]) for row in rows if row[-1].split(b":")[0].isdigit()), default=0)
    queries = len({row[1] for row in rows})
    return width == source.features and Count(queries, len(rows)) in {declared, Count(declared.queries, len(rows))}
