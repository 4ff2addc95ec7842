"""Where the data of a benchmark come from: DATA arguments as named data sets, and their folds in a store.

An argument is a path, or NAME=PATH to call it otherwise: a folder with folds (a published data set or a built
collection), a folder of S1 … S5 that are rotated as LETOR does, or a file with features, of which folds are made. A
collection that is not built, such as `stdlib`, is built first. Text is read once: it becomes a store of folds, known by
the digest of what it says, and every process that computes cells maps that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pippin.data.dataset import Dataset
from pippin.data.fold_store import is_fold_store, open_fold_store, text_of, write_fold_store
from pippin.data.fold_text import FoldTexts, index_texts
from pippin.data.folders import STORE
from pippin.data.folds import PARTS, Folds, make_folds, rotated
from pippin.data.grouped import WEIGHT, weights_beside
from pippin.data.sources import SOURCES
from pippin.errors import DataError
from pippin.files import remove

VERSIONS = ("QueryLevelNorm", "Feature-min", "Feature-null")  # folders of one data set, which do not tell its name
VALI_SEED = 1  # of the queries that are drawn to validate on
Form = Literal["folder", "fifths", "file", "store"]


class Parts(NamedTuple):
    """The three parts of a fold."""

    train: Dataset
    vali: Dataset
    test: Dataset


@dataclass(frozen=True)
class Input:
    """A named data set and where it stands."""

    data: str
    form: Form  # a folder of folds, a folder of S1 … S5, a file with features, or a store of a data set
    path: str
    folds: int = 5  # how many are made of a file
    check: bool = True  # compare with the counts that a published data set declares
    vali: float | None = None  # the share of training queries that is cut off to validate on

    def read(self) -> Folds:
        """The folds, from what stands there."""
        return _READERS[self.form](self)[1]()


@dataclass(frozen=True)
class FoldRef:
    """One fold of a data set and where its store stands: enough to have it in another process."""

    source: Input
    fold: str
    store: str

    @property
    def data(self) -> str:
        """The name of the data set."""
        return self.source.data

    def read(self) -> Parts:
        """The three parts, from the mapped store; where that is not to be seen, from the data themselves."""
        fold = opened(self)[self.fold]
        return Parts(*(fold[part] for part in PARTS))

    def record(self) -> dict[str, Any]:
        """The reference as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> FoldRef:
        """Undo `record`."""
        return cls(Input(**record["source"]), record["fold"], record["store"])


def opened(ref: FoldRef) -> Folds:
    """All folds of the data set that a fold is of."""
    return _opened(ref.source, ref.store)


# The last ones are kept, because folds are asked for one after the other, and some learn from another data set, too.
@lru_cache(maxsize=2)
def _opened(source: Input, store: str) -> Folds:
    if source.form != "store" and is_fold_store(store):
        return open_fold_store(store)
    return source.read()


def opened_folds(source: Input) -> Folds:
    """The folds of a data set, from the store beside its text where there is one."""
    return _opened(source, str(Path(source.path) / STORE))


def stored_folds(source: Input, cache: Path) -> tuple[Folds, Path]:
    """The folds of a data set, mapped, and where their store stands: beside the text, or in the cache, made now."""
    if source.form == "store":
        return source.read(), Path(source.path)
    text, read = _READERS[source.form](source)
    for store in (Path(source.path) / STORE, cache / text):
        folds = _mapped(store, text)
        if folds is not None:
            return folds, store
    remove(cache / text)
    write_fold_store(read(), cache / text, text)
    return open_fold_store(cache / text), cache / text


def _mapped(store: Path, text: str) -> Folds | None:
    """The folds of a store, if it is whole and was made with the text of this digest; otherwise it is made again."""
    try:
        return open_fold_store(store, verify=True) if is_fold_store(store) and text_of(store) == text else None
    except DataError:
        return None


Read = tuple[str, Callable[[], Folds]]  # the digest of what is read, and how to read it


def _read_folder(source: Input) -> Read:
    from pippin.data.folders import index_folder, read_texts, text_digest

    texts, known = index_folder(source.path, check=source.check)
    for file in (file for files in texts.files.values() for file in files.values()):
        if weights_beside(file) is not None:
            raise DataError("a bench weighs all queries alike; take this file away to go on", f"{file}{WEIGHT}")
    digest = text_digest(texts, known)
    _check_validation(texts.parts.values(), source.vali, source.path)
    if source.vali is None:
        return digest, lambda: read_texts(texts, known)
    share = source.vali
    cut = hashlib.sha256(f"{digest} vali {share!r} {VALI_SEED}".encode()).hexdigest()
    return cut, lambda: read_texts(texts, known).with_validation(share, VALI_SEED)


def _read_fifths(source: Input) -> Read:
    """S1.txt, S2.txt …, rotated."""
    files = {file.name: file for file in sorted(Path(source.path).glob("S[0-9].txt"))}
    texts = index_texts({"": files})
    ids = [texts.distinct[at].id for part in texts.parts[""].values() for at in part.tolist()]
    if len(set(ids)) < len(ids):
        raise DataError("a query is in more than one of S1, S2 …: a leak between the folds", source.path)
    return texts.digest(form="fifths"), lambda: _rotated(texts, source)


def _rotated(texts: FoldTexts, source: Input) -> Folds:
    whole = texts.parse()
    documents = None if whole.facts.without_ids else whole.data.document_ids
    data = replace(whole.data, document_ids=documents, comments=None, lines=None)
    return Folds(data, rotated(list(texts.parts[""].values())), source.data)


def _read_file(source: Input) -> Read:
    with Path(source.path).open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(f"{content} {source.folds}".encode()).hexdigest(), lambda: _made(source)


def _made(source: Input) -> Folds:
    """Folds of a file."""
    from pippin.data.load import as_judged

    data = as_judged(source.path)
    if not isinstance(data, Dataset):
        raise DataError("judgements have no features to learn from", source.path)
    return make_folds(data, source.folds)


def _read_store(source: Input) -> Read:
    return "", lambda: _made(source)


_READERS: Mapping[Form, Callable[[Input], Read]] = {
    "folder": _read_folder, "fifths": _read_fifths, "file": _read_file, "store": _read_store,
}  # fmt: skip


@dataclass(frozen=True)
class InputOptions:
    """How DATA arguments are taken: folds of a file, counts of a published set, and where collections are built."""

    folds: int = 5
    check: bool = True
    sample: int = 1000  # documents per query of a collection
    cache: Path = Path("collections")
    vali: float | None = None  # share of the training queries to validate on, where a folder has no such part
    verbose: bool = False
    features: str = "auto"  # of a collection that is built
    dense: str | None = None  # the folder of the model of its dense features


def find_inputs(arguments: Sequence[str], options: InputOptions | None = None) -> list[Input]:
    """The data sets of every DATA argument, in their order."""
    inputs = [source for text in arguments for source in _named(text, options or InputOptions())]
    seen: dict[str, str] = {}
    for source in inputs:
        if source.data in seen:
            other = seen[source.data]
            raise DataError(f"{other} and {source.path} are both called {source.data}; write NAME={source.path}")
        seen[source.data] = source.path
    return inputs


def check_inputs(arguments: Sequence[str], vali: float | None = None) -> None:
    """Raise with one sentence unless every DATA argument is there, before anything is written for it.

    A folder with folds must have a part to validate on, or `vali` cuts one off.
    """
    for text in arguments:
        _, path = _split(text)
        if is_collection(path):
            continue
        if not Path(path).exists():
            raise DataError("there is no such file or folder, and no collection of that name", path)
        if _form(Path(path)) == "folder":
            from pippin.data.folders import recognise

            _check_validation(recognise(Path(path))[1].values(), vali, path)


def _check_validation(folds: Iterable[Mapping[str, Any]], vali: float | None, path: str) -> None:
    """Raise unless all folds have a validation part, or one can be cut off."""
    whole = all("vali" in parts for parts in folds)
    if whole and vali is not None:
        raise DataError("there is a validation part already, so that none is cut off", path)
    if not whole and vali is None:
        raise DataError(
            "there is no validation part; with `pippin bench`, --vali 0.25 takes a quarter of the training queries",
            path,
        )


def _split(text: str) -> tuple[str, str]:
    """NAME=PATH apart; a path may hold a “=” of its own."""
    name, _, path = text.rpartition("=")
    return ("", text) if Path(text).exists() else (name, path)


def _named(text: str, options: InputOptions) -> Iterator[Input]:
    check_inputs([text], options.vali)
    name, path = _split(text)
    if is_collection(path):
        folders = built(path, options)
        for known, folder in folders.items():
            task = known.removeprefix(known.rpartition("-")[0]) if len(folders) > 1 else ""
            yield _input(folder, name + task if name else known, options)
    else:
        yield _input(Path(path), name, options)


def _input(path: Path, name: str, options: InputOptions) -> Input:
    whole = path.resolve()
    form = _form(whole)
    if form in ("file", "store") and options.folds < 3:
        raise DataError(f"{options.folds} folds cannot be made: one part trains, one validates and one tests", whole)
    if options.vali is not None and form != "folder":
        raise DataError("folds are made of this, with a part to validate on; no share is cut off", whole)
    return Input(name or _name(whole, form), form, str(whole), options.folds, options.check, options.vali)


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


def _form(path: Path) -> Form:
    """How a data set is laid out."""
    from pippin.data.store import is_store

    if not path.is_dir():
        return "file"
    if is_store(path):
        return "store"
    return "fifths" if any(path.glob("S[0-9].txt")) else "folder"


def _name(path: Path, form: str) -> str:
    """What a data set is called by its path: the published name, or that of the folder or file."""
    if form == "folder":
        from pippin.data.folders import recognise

        source = recognise(path)[0]
        if source.name != "folder":
            return source.name
    if form == "file":
        return path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    named = path.parent.name if path.name in VERSIONS else path.name.removesuffix(".pippin")
    published = {_plain(alias): source.name for source in SOURCES.values() for alias in (source.name, *source.aliases)}
    return published.get(_plain(named), named)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def built(path: str, options: InputOptions) -> dict[str, Path]:
    """The data sets of a collection: name to folder with folds. What is not built yet, is built in the cache."""
    from pippin.collection.build import build, identity, is_built, manifest_of, usual
    from pippin.collection.named import open_collection
    from pippin.collection.recipe import Recipe

    folder = Path(path)
    if not is_built(folder):
        collection = open_collection(path)
        recipe = Recipe(
            options.features, usual(collection), options.sample, options.folds, meta=False, dense=options.dense
        )
        folder = options.cache / f"{collection.name}-{identity(collection, recipe)[:12]}"
        if not is_built(folder):
            build(collection, folder, recipe, resume=True, verbose=options.verbose)
    manifest = manifest_of(folder)
    name, tasks = manifest["collection"]["name"], manifest["tasks"]
    if len(tasks) == 1:
        return {name: folder / VERSIONS[0]}
    return {f"{name}-{task}": folder / task / VERSIONS[0] for task in tasks}
