"""A published data set by its folder: which one it is, and its folds, whose lines are each read once.

`load_folder` finds out which known data set (see `sources`) a folder holds: by `source`, by the names of the folders
above the files, or, failing that, by the number of features and the counts of the smallest file. A folder with files
that are laid out like a known data set, but are none, is loaded as well, with nothing declared and nothing to check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from pippin.data.buffers import open_buffer
from pippin.data.built import built_names
from pippin.data.fold_store import is_fold_store, open_fold_store, text_of
from pippin.data.fold_text import FoldTexts, index_texts
from pippin.data.folds import Folds
from pippin.data.sources import SOURCES, Count, Source
from pippin.errors import DataError
from pippin.kernels.text import find_queries

# Layouts that no published data set has: files named as in LightGBM's examples, with `rank.train.query` beside them.
_RANK_FILES = {"train": ("rank.train",), "vali": ("rank.vali", "rank.valid"), "test": ("rank.test",)}
PLAIN = tuple(
    Source("folder", "LightGBM's layout", None, (), "", ("",), {part: _RANK_FILES[part] for part in parts})
    for parts in (("train", "vali", "test"), ("train", "test"))
)
STORE = "folds.pippin"  # the folds of a folder as a store, beside their text
_GO_ON = " (check=False goes on without looking)"


def check_counts(texts: FoldTexts, source: Source, folder: Path) -> None:
    """Raise with both numbers where a declared count or width differs from what is there."""
    for fold, files in texts.files.items():
        total = Count(0, 0)
        for part, file in files.items():
            count = texts.count(fold, part)
            _check_count(count, source.count(fold, part), source, file)
            total += count
            width = texts.width(fold, part)
            if source.features is not None and width > source.features:
                raise DataError(f"{width} features where {source.title} has {source.features}{_GO_ON}", file)
        _check_count(total, source.total, source, folder / fold)


def _check_count(there: Count, declared: Count, source: Source, where: Path) -> None:
    for word, number, said in zip(("queries", "documents"), there, declared, strict=True):
        if said is not None and number != said:
            raise DataError(f"{number:,} {word} where {source.title} has {said:,}{_GO_ON}", where)


def load_folder(
    path: str | os.PathLike[str],
    *,
    source: str | Source | None = None,
    check: bool = True,
    absent: Literal["zero", "null"] = "zero",
    dtype: DTypeLike = np.float64,
    merge_queries: bool = False,
) -> Folds:
    """The folds of a published data set in a folder, their counts checked; each line is read once.

    The store that `pippin build` wrote beside its text is mapped instead, while the text is what it was made with.
    """
    texts, known = index_folder(path, source=source, check=check, merge_queries=merge_queries)
    store = Path(path) / STORE
    if is_fold_store(store) and text_of(store) == text_digest(texts, known, absent, dtype):
        return replace(open_fold_store(store), name=known.name, source=known)
    return read_texts(texts, known, absent=absent, dtype=dtype)


def index_folder(
    path: str | os.PathLike[str], *, source: str | Source | None = None, check: bool = True, merge_queries: bool = False
) -> tuple[FoldTexts, Source]:
    """The first pass over the text of a folder, and which data set it is."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError("there is no such folder", folder)
    if source is not None:
        known = SOURCES[source] if isinstance(source, str) else source
        files = layout(folder, known)
        if files is None:
            raise DataError(f"this folder has no files of {known.title}, which are {_expected(known)}", folder)
    else:
        known, files = recognise(folder)
    texts = index_texts(files, merge_queries=merge_queries)
    if check:
        check_counts(texts, known, folder)
    return texts, known


def text_digest(
    texts: FoldTexts, source: Source, absent: str = "zero", dtype: DTypeLike = np.float64, names: Sequence[str] = ()
) -> str:
    """What the folds of a text are known by. The features' names are those of the data set that `pippin build` made."""
    first = next(file for files in texts.files.values() for file in files.values())
    widest = max(texts.width(fold, part) for fold, files in texts.files.items() for part in files)
    return texts.digest(
        absent=absent, dtype=np.dtype(dtype).name, features=source.features,
        names=list(names or built_names(first, max(widest, source.features or 0))),
    )  # fmt: skip


def read_texts(texts: FoldTexts, source: Source, *, absent: str = "zero", dtype: DTypeLike = np.float64) -> Folds:
    """The second pass."""
    return replace(texts.parse(absent=absent, dtype=dtype, features=source.features), name=source.name, source=source)


def _expected(source: Source) -> str:
    """The files a source wants, in words."""
    folds = f"{source.folds[0]} … {source.folds[-1]}, each with " if len(source.folds) > 1 else ""
    return folds + ", ".join(" or ".join(names) for names in source.parts.values())


def layout(folder: Path, source: Source) -> dict[str, dict[str, Path]] | None:
    """Fold to part to file, or None unless every part of at least one fold is there (`.gz` counts, too)."""
    folds: dict[str, dict[str, Path]] = {}
    for fold in source.folds:
        files = {part: _first(folder / fold, names) for part, names in source.parts.items()}
        present = {part: file for part, file in files.items() if file is not None}
        if len(present) == len(source.parts):
            folds[fold] = present
        elif present:
            missing = next(names for part, names in source.parts.items() if part not in present)
            if len(source.folds) > 1:
                raise DataError(f"this fold has no {' or '.join(missing)}", folder / fold)
    return folds or None


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    for name in names:
        for candidate in (folder / name, folder / f"{name}.gz"):
            if candidate.is_file():
                return candidate
    return None


def is_laid_out(folder: Path) -> bool:
    """Whether a folder has the files of some known layout."""
    return any(layout(folder, source) is not None for source in (*SOURCES.values(), *PLAIN))


def laid_out(folder: Path) -> list[Path]:
    """The parts of the first fold in a folder of some known layout; none of another."""
    found = (layout(folder, source) for source in (*SOURCES.values(), *PLAIN))
    return next((list(next(iter(folds.values())).values()) for folds in found if folds), [])


def recognise(folder: Path) -> tuple[Source, dict[str, dict[str, Path]]]:
    """Which known data set a folder holds, and its files."""
    fitting = {name: files for name in SOURCES if (files := layout(folder, SOURCES[name])) is not None}
    # A folder with train, vali and test also fits where only train and test are asked for.
    most = max((len(next(iter(files.values()))) for files in fitting.values()), default=0)
    fitting = {name: files for name, files in fitting.items() if len(next(iter(files.values()))) == most}
    if not fitting:
        for plain in PLAIN:
            if (files := layout(folder, plain)) is not None:
                return replace(plain, title=folder.resolve().name), files
        wanted = dict.fromkeys(_expected(source) for source in (*SOURCES.values(), *PLAIN))
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
    buffer = open_buffer(files[fold][part])
    try:
        queries = find_queries(buffer.data, buffer.name)
    except DataError:  # what is wrong with it is said when it is read
        return False
    ids = {
        buffer.data[s : s + n].tobytes() for s, n in zip(queries.starts.tolist(), queries.lengths.tolist(), strict=True)
    }
    return len(ids) == declared.queries and int(queries.widths.max(initial=0)) == source.features
