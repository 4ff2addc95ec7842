"""Resolve DATA arguments to named data sets, and cache their folds.

An argument is a path, or NAME=PATH to rename the data set. A path is a folder with folds (a published data set or a
built collection), a folder of S1 … S5 to be rotated as LETOR does, or a file with features to be divided into folds. A
collection that is not built, such as `stdlib`, is built first. Text is parsed once, into a store of folds that is
identified by the digest of the text; the processes that compute cells map the store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pippin.data.buffers import WEIGHT, read_weights
from pippin.data.dataset import Dataset
from pippin.data.fold_files import STORE, FoldTexts, index_texts
from pippin.data.folds import PARTS, Folds, make_folds, rotate_parts
from pippin.data.published import PUBLISHED_DATASETS
from pippin.data.store import fold_store_text, is_fold_store, open_fold_store, write_fold_store
from pippin.errors import DataError
from pippin.storage.files import remove_path

VERSIONS = ("QueryLevelNorm", "Feature-min", "Feature-null")  # folders inside a data set that do not name it
VALI_SEED = 1  # random seed of the queries to validate on
Layout = Literal["folder", "fifths", "file", "store"]


class Parts(NamedTuple):
    """The three parts of a fold."""

    train: Dataset
    vali: Dataset
    test: Dataset


@dataclass(frozen=True)
class Input:
    """A named data set and its path."""

    data: str
    layout: Layout  # a folder of folds, a folder of S1 … S5, a file with features, or a store of a data set
    path: str
    folds: int = 5  # number of folds of a file
    check: bool = True  # compare with the counts that a published data set declares
    vali: float | None = None  # share of the training queries to validate on

    def read(self) -> Folds:
        """Read the folds from the source."""
        return _READERS[self.layout](self)[1]()


@dataclass(frozen=True)
class FoldRef:
    """One fold of a data set and the path of its store: enough to open it in another process."""

    source: Input
    fold: str
    store: str

    @property
    def data(self) -> str:
        """The name of the data set."""
        return self.source.data

    def read(self) -> Parts:
        """Return the three parts from the mapped store, or from the source if the store is not visible."""
        fold = open_folds(self)[self.fold]
        return Parts(*(fold[part] for part in PARTS))

    def to_dict(self) -> dict[str, Any]:
        """Return the reference as a JSON record."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> FoldRef:
        """Return the reference of a JSON record."""
        return cls(Input(**record["source"]), record["fold"], record["store"])


def open_folds(ref: FoldRef) -> Folds:
    """Open all folds of the data set that a fold belongs to."""
    return _open_folds(ref.source, ref.store)


# Two are cached: consecutive cells share their data set, and transfer learning reads a second one.
@lru_cache(maxsize=2)
def _open_folds(source: Input, store: str) -> Folds:
    if source.layout != "store" and is_fold_store(store):
        return open_fold_store(store)
    return source.read()


def open_source_folds(source: Input) -> Folds:
    """Open the folds of a data set, from the store beside its text if there is one."""
    return _open_folds(source, str(Path(source.path) / STORE))


def cache_folds(source: Input, cache: Path) -> tuple[Folds, Path]:
    """Return the mapped folds of a data set and the path of their store, which is created in the cache if needed."""
    if source.layout == "store":
        return source.read(), Path(source.path)
    digest, read = _READERS[source.layout](source)
    for store in (Path(source.path) / STORE, cache / digest):
        with suppress(DataError):  # a damaged store is created again
            if is_fold_store(store) and fold_store_text(store) == digest:
                return open_fold_store(store, verify=True), store
    remove_path(cache / digest)
    write_fold_store(read(), cache / digest, digest)
    return open_fold_store(cache / digest), cache / digest


Reader = tuple[str, Callable[[], Folds]]  # the digest of the source, and a function that reads it


def _read_folder(source: Input) -> Reader:
    from pippin.data.fold_files import index_folder, parse_texts, text_digest

    texts, source_of_folds = index_folder(source.path, check=source.check)
    for file in (file for files in texts.files.values() for file in files.values()):
        if read_weights(file) is not None:
            raise DataError("benchmarks do not support query weights; remove this file", f"{file}{WEIGHT}")
    digest = text_digest(texts, source_of_folds)
    _check_validation(texts.parts.values(), source.vali, source.path)
    if source.vali is None:
        return digest, lambda: parse_texts(texts, source_of_folds)
    share = source.vali
    cut = hashlib.sha256(f"{digest} vali {share!r} {VALI_SEED}".encode()).hexdigest()
    return cut, lambda: parse_texts(texts, source_of_folds).with_validation(share, VALI_SEED)


def _read_fifths(source: Input) -> Reader:
    """Read S1.txt, S2.txt … and rotate them."""
    files = {file.name: file for file in sorted(Path(source.path).glob("S[0-9].txt"))}
    texts = index_texts({"": files})
    ids = [texts.distinct[at].id for part in texts.parts[""].values() for at in part.tolist()]
    if len(set(ids)) < len(ids):
        raise DataError("leak between the folds: a query is in more than one of S1, S2 …", source.path)
    return texts.digest(form="fifths"), lambda: _rotate(texts, source)


def _rotate(texts: FoldTexts, source: Input) -> Folds:
    parsed = texts.parse()
    documents = None if parsed.statistics.without_ids else parsed.data.document_ids
    data = replace(parsed.data, document_ids=documents, comments=None, lines=None)
    return Folds(data, rotate_parts(list(texts.parts[""].values())), source.data)


def _read_file(source: Input) -> Reader:
    with Path(source.path).open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(f"{content} {source.folds}".encode()).hexdigest(), lambda: _divide(source)


def _divide(source: Input) -> Folds:
    """Divide a file into folds."""
    from pippin.data.inputs import coerce_judgements

    data = coerce_judgements(source.path)
    if not isinstance(data, Dataset):
        raise DataError("found judgements; expected features to learn from", source.path)
    return make_folds(data, source.folds)


def _read_store(source: Input) -> Reader:
    return "", lambda: _divide(source)


_READERS: Mapping[Layout, Callable[[Input], Reader]] = {
    "folder": _read_folder, "fifths": _read_fifths, "file": _read_file, "store": _read_store,
}  # fmt: skip


@dataclass(frozen=True)
class InputOptions:
    """Options of `resolve_inputs`."""

    folds: int = 5  # of a file or a collection
    check: bool = True  # compare published data sets with their declared counts
    sample: int = 1000  # documents per query of a collection
    cache: Path = Path("collections")  # where collections are built
    vali: float | None = None  # share of the training queries to validate on, for folders without a validation part
    verbose: bool = False
    features: str = "auto"  # of a collection
    dense: str | None = None  # folder of the model of dense features


def resolve_inputs(arguments: Sequence[str], options: InputOptions | None = None) -> list[Input]:
    """Return the data sets of all DATA arguments, in their order."""
    inputs = [source for text in arguments for source in _resolve_input(text, options or InputOptions())]
    paths: dict[str, str] = {}
    for source in inputs:
        if source.data in paths:
            first = paths[source.data]
            raise DataError(f"{first} and {source.path} are both named {source.data}; write NAME={source.path}")
        paths[source.data] = source.path
    return inputs


def check_inputs(arguments: Sequence[str], vali: float | None = None) -> None:
    """Raise unless every DATA argument exists and has a validation part, or `vali` takes one from the training part."""
    for text in arguments:
        _, path = _split(text)
        if is_collection(path):
            continue
        if not Path(path).exists():
            raise DataError("no such file, folder or collection", path)
        if _layout(Path(path)) == "folder":
            from pippin.data.fold_files import detect_source

            _check_validation(detect_source(Path(path))[1].values(), vali, path)


def _check_validation(folds: Iterable[Mapping[str, Any]], vali: float | None, path: str) -> None:
    """Raise unless all folds have a validation part, or none has and `vali` takes one from the training part."""
    has_validation = all("vali" in parts for parts in folds)
    if has_validation and vali is not None:
        raise DataError("the data set has a validation part; remove --vali", path)
    if not has_validation and vali is None:
        sentence = "validation part missing; --vali 0.25 of `pippin bench` takes a quarter of the training queries"
        raise DataError(sentence, path)


def _split(text: str) -> tuple[str, str]:
    """Split NAME=PATH; an existing path may contain "="."""
    name, _, path = text.rpartition("=")
    return ("", text) if Path(text).exists() else (name, path)


def _resolve_input(text: str, options: InputOptions) -> Iterator[Input]:
    check_inputs([text], options.vali)
    name, path = _split(text)
    if is_collection(path):
        folders = build_collection(path, options)
        for default_name, folder in folders.items():
            task = default_name.removeprefix(default_name.rpartition("-")[0]) if len(folders) > 1 else ""
            yield _input(folder, name + task if name else default_name, options)
    else:
        yield _input(Path(path), name, options)


def _input(path: Path, name: str, options: InputOptions) -> Input:
    resolved = path.resolve()
    layout = _layout(resolved)
    if layout in ("file", "store") and options.folds < 3:
        raise DataError(f"found {options.folds} folds; at least 3 are needed to train, validate and test", resolved)
    if options.vali is not None and layout != "folder":
        raise DataError("folds of this data set have a validation part; remove --vali", resolved)
    return Input(name or _name(resolved, layout), layout, str(resolved), options.folds, options.check, options.vali)


def is_collection(path: str) -> bool:
    """Return whether this is a collection: a builtin one, a built one, or a folder that a reader recognises."""
    from pippin.collections.build import is_built
    from pippin.collections.readers import READERS
    from pippin.collections.sources import is_builtin
    from pippin.data.fold_files import is_fold_folder
    from pippin.data.store import is_store

    folder = Path(path)
    if is_builtin(path) or is_built(folder):
        return True
    if not folder.is_dir() or is_store(folder) or is_fold_folder(folder) or any(folder.glob("S[0-9].txt")):
        return False
    return any(reader.matches(folder) for reader in READERS.values())


def _layout(path: Path) -> Layout:
    from pippin.data.store import is_store

    if not path.is_dir():
        return "file"
    if is_store(path):
        return "store"
    return "fifths" if any(path.glob("S[0-9].txt")) else "folder"


def _name(path: Path, layout: str) -> str:
    """Return the name of a data set: the published name, or that of the folder or file."""
    if layout == "folder":
        from pippin.data.fold_files import detect_source

        source = detect_source(path)[0]
        if source.name != "folder":
            return source.name
    if layout == "file":
        return path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    folder_name = path.parent.name if path.name in VERSIONS else path.name.removesuffix(".pippin")
    published = {
        _plain(alias): source.name for source in PUBLISHED_DATASETS.values() for alias in (source.name, *source.aliases)
    }
    return published.get(_plain(folder_name), folder_name)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def build_collection(path: str, options: InputOptions) -> dict[str, Path]:
    """Return the data sets of a collection by name, as folders with folds; build them in the cache if needed."""
    from pippin.collections.build import build_dataset, default_sampling, identity, is_built, read_manifest
    from pippin.collections.letor.sampling import BuildOptions
    from pippin.collections.sources import open_collection

    folder = Path(path)
    if not is_built(folder):
        collection = open_collection(path)
        sampling = default_sampling(collection)
        recipe = BuildOptions(
            options.features, sampling, options.sample, options.folds, meta=False, dense=options.dense
        )
        folder = options.cache / f"{collection.name}-{identity(collection, recipe)[:12]}"
        if not is_built(folder):
            build_dataset(collection, folder, recipe, resume=True, verbose=options.verbose)
    manifest = read_manifest(folder)
    name, tasks = manifest["collection"]["name"], manifest["tasks"]
    if len(tasks) == 1:
        return {name: folder / VERSIONS[0]}
    return {f"{name}-{task}": folder / task / VERSIONS[0] for task in tasks}
