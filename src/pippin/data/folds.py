"""Folds of a data set: a table of all queries, each once, and the queries of every part.

Folds come from a folder of published ones (`fold_files`), from a store (`store`), or are cut here from a data set and
rotated as in LETOR (Qin et al. 2010, Table 4): the queries are cut into S1 … Sk; fold i trains on all but two of them,
starting at Si and wrapping around, validates on the next one and tests on the last.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.normalisation import LETOR_VERSIONS, LetorVersion, version_lines
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.storage.files import atomic_write, make_folder

if TYPE_CHECKING:
    from pippin.data.published import PublishedDataset

I64 = NDArray[np.int64]
Cut = Literal["even", "floor", "ceil"]
PARTS = ("train", "vali", "test")
_COPY_BYTES = 1 << 20  # bytes copied at once
_CUTS = {
    "even": "sizes differ by at most one, larger parts first",
    "floor": "⌊n/k⌋ queries each, the remainder to the last part, as in OHSUMED",
    "ceil": "⌈n/k⌉ queries each, fewer in the last part, as in LETOR 4.0",
}


@dataclass(frozen=True)
class PartStatistics:
    """Properties of fold files that one table of all queries loses.

    A query may have different documents in another fold, folds may differ in their number of features, and a file with
    a line without document id has no document ids at all.
    """

    query_ids: Mapping[int, str] = field(default_factory=dict)  # original ids of queries that were renamed
    widths: Mapping[str, int] = field(default_factory=dict)  # fold → number of features, where it is smaller
    without_ids: frozenset[int] = frozenset()  # queries with a document that has no id
    without_comments: frozenset[int] = frozenset()  # queries without any comment

    def restore(self, data: Dataset, fold: str, queries: I64) -> Dataset:
        """Return a part as its own file has it."""
        changes: dict[str, Any] = {}
        if self.query_ids:
            pairs = zip(queries.tolist(), data.query_ids, strict=True)
            changes["query_ids"] = tuple(self.query_ids.get(position, query) for position, query in pairs)
        if self.without_ids and not self.without_ids.isdisjoint(queries.tolist()):
            changes["document_ids"] = None
        if self.without_comments and self.without_comments.issuperset(queries.tolist()):
            changes["comments"] = None
        if fold in self.widths:
            width = self.widths[fold]
            changes["features"] = np.ascontiguousarray(data.features[:, :width])
            changes["feature_names"] = data.feature_names[:width]
        return replace(data, **changes) if changes else data


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold. Its parts, `train`, `vali` and `test`, are data sets."""

    name: str
    folds: Folds = field(repr=False)

    @property
    def parts(self) -> Mapping[str, I64]:
        """Part → the positions of its queries in the table of all queries."""
        return self.folds.queries[self.name]

    def __getitem__(self, part: str) -> Dataset:
        if part not in self.parts:
            raise DataError(f"{self.folds.title} has no part {part!r}; it has {', '.join(self.parts)}")
        folds, queries = self.folds, self.parts[part]
        data = folds.statistics.restore(folds.data.select(queries), self.name, queries)
        name = " ".join(filter(None, (folds.name, self.name, part)))
        return replace(data, name=name, version=folds.version or data.version)

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


@dataclass(frozen=True, eq=False)
class Folds:
    """A data set in folds: `folds["Fold1"].train`, `for fold in folds`, or `folds[0]`.

    Parameters
    ----------
    data : Dataset
        Every query once; features may be a memory map.
    queries : mapping
        Fold → part → positions of its queries.
    name : str
        Name of the data set.
    source : PublishedDataset, optional
        The published data set that this is.
    statistics : PartStatistics
        Properties of the files that one table loses.
    digests : mapping
        Fold → part → digest, where known.
    version : str
        Version of the features, if known.
    """

    data: Dataset
    queries: Mapping[str, Mapping[str, I64]]
    name: str = ""
    source: PublishedDataset | None = None
    statistics: PartStatistics = field(default_factory=PartStatistics, repr=False)
    digests: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    version: str = ""

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Fold]:
        return (Fold(name, self) for name in self.queries)

    def __getitem__(self, fold: int | str) -> Fold:
        if isinstance(fold, int):
            return Fold(list(self.queries)[fold], self)
        if fold not in self.queries:
            raise DataError(f"no fold {fold!r}; the folds are {', '.join(self.queries)}")
        return Fold(fold, self)

    @property
    def title(self) -> str:
        """The title of the published data set, or the name."""
        return self.source.title if self.source is not None else self.name

    def drop_empty(self) -> Folds:
        """Return the folds without the queries that have no relevant document (a label above 0)."""
        has_relevant = np.logical_or.reduceat(self.data.labels > 0, self.data.offsets[:-1])
        queries = {
            fold: {part: numbers[has_relevant[numbers]] for part, numbers in parts.items()}
            for fold, parts in self.queries.items()
        }
        return replace(self, queries=queries, digests={})

    def with_validation(self, share: float, seed: int = 1) -> Folds:
        """Return folds with a validation part, sampled from the training queries.

        Parameters
        ----------
        share : float
            Share of each fold's training queries, between 0 and 1.
        seed : int, default 1
            Random seed.

        Returns
        -------
        Folds
            The same queries with parts train, vali and test.
        """
        if not 0 < share < 1:
            raise DataError(f"the share of validation queries must be between 0 and 1, got {share:g}")
        queries: dict[str, dict[str, I64]] = {}
        for number, (fold, parts) in enumerate(self.queries.items()):
            if "vali" in parts:
                raise DataError(f"{self.title} has a validation part already")
            train = parts["train"]
            size = round(share * len(train))
            if not 0 < size < len(train):
                raise DataError(f"a share of {share:g} of {len(train)} training queries leaves an empty part")
            order = np.random.default_rng([seed, number]).permutation(len(train))
            unchanged = {part: positions for part, positions in parts.items() if part != "train"}
            queries[fold] = {"train": train[np.sort(order[size:])], "vali": train[np.sort(order[:size])], **unchanged}
        return replace(self, queries=queries, digests={})

    def digest(self, fold: str, part: str) -> str:
        """Return the digest of a part, from the store or computed.

        Parameters
        ----------
        fold : str
            Name of the fold, such as "Fold1".
        part : str
            Name of the part, such as "train".
        """
        stored = self.digests.get(fold, {}).get(part)
        return digest(self[fold][part]) if stored is None else stored

    def __repr__(self) -> str:
        parts = ", ".join(next(iter(self.queries.values()), {}))
        return f"Folds({self.title!r}: {len(self)} × {parts})"


def rotate_parts(parts: Sequence[I64]) -> dict[str, dict[str, I64]]:
    """Return fold → part → queries from the queries of S1 … Sk."""
    k = len(parts)
    return {
        f"Fold{i + 1}": {part: np.concatenate([parts[s] for s in numbers]) for part, numbers in _rotation(i, k).items()}
        for i in range(k)
    }


def _rotation(fold: int, k: int) -> dict[str, list[int]]:
    """Return the numbers of the subsets S1 … Sk that form each part of a fold.

    >>> _rotation(3, 5)  # Fold4 trains on S4, S5 and S1
    {'train': [3, 4, 0], 'vali': [1], 'test': [2]}
    """
    numbers = [(fold + i) % k for i in range(k)]
    return {"train": numbers[:-2], "vali": numbers[-2:-1], "test": numbers[-1:]}


def make_folds(
    data: Dataset, k: int = 5, *, seed: int | None = None, tasks: Sequence[str] | None = None, cut: Cut = "even"
) -> Folds:
    """Cut a data set into folds by whole queries.

    Parameters
    ----------
    data : Dataset
        The data set.
    k : int, default 5
        Number of folds, at least 3.
    seed : int, optional
        Random seed of the order of queries; by default the order of the file.
    tasks : sequence of str, optional
        Task of each query; each part gets its share of every task.
    cut : {"even", "floor", "ceil"}, default "even"
        Sizes of the parts.

    Returns
    -------
    Folds
        Fold1 … Foldk.

    Examples
    --------
    >>> from pippin.data.synthetic import make_dataset
    >>> data = make_dataset(5)
    >>> a, b, c, d, e = data.query_ids
    >>> make_folds(data)["Fold4"].train.query_ids == (d, e, a)  # S4, S5 and S1
    True
    """
    parts = cut_queries(data.queries, k, seed=seed, tasks=tasks, cut=cut)
    return Folds(data, rotate_parts(parts), data.name)


def cut_queries(
    queries: int, k: int = 5, *, seed: int | None = None, tasks: Sequence[str] | None = None, cut: Cut = "even"
) -> list[NDArray[np.int64]]:
    """Return the positions of the queries of S1 … Sk, ascending within a part.

    >>> [len(part) for part in cut_queries(106, cut="floor")], [len(part) for part in cut_queries(784, cut="ceil")]
    ([21, 21, 21, 21, 22], [157, 157, 157, 157, 156])
    """
    if k < 3:
        raise ConventionError(f"folds need at least 3 parts (train, vali, test), got {k}")
    if queries < k:
        count = "1 query" if queries == 1 else f"{queries:,} queries"
        raise ConventionError(f"{count} cannot be cut into {k} folds; use fewer folds or more queries")
    order = np.arange(queries) if seed is None else np.random.default_rng(seed).permutation(queries)
    if tasks is not None:
        return _stratify(order, k, tasks)
    ends = np.cumsum(_sizes(queries, k, cut))
    return [np.sort(part) for part in np.split(order, ends[:-1])]


def _sizes(queries: int, k: int, cut: str) -> list[int]:
    if cut not in _CUTS:
        raise UnknownName("cut", cut, _CUTS)
    if cut == "even":
        return [queries // k + (i < queries % k) for i in range(k)]
    size = queries // k if cut == "floor" else -(-queries // k)
    last = queries - size * (k - 1)
    if last < 1:
        raise ConventionError(f"{queries} queries in parts of {size} give fewer than {k} parts; use cut='even'")
    return [size] * (k - 1) + [last]


def _stratify(order: NDArray[np.int64], k: int, tasks: Sequence[str]) -> list[NDArray[np.int64]]:
    """Assign queries to parts in turn, task by task, so that sizes and shares of a task differ by at most one."""
    if len(tasks) != len(order):
        raise ConventionError(f"{len(tasks)} tasks for {len(order)} queries")
    first = {task: i for i, task in reversed(list(enumerate(tasks)))}
    by_task = order[np.argsort([first[tasks[i]] for i in order.tolist()], kind="stable")]
    return [np.sort(by_task[i::k]) for i in range(k)]


def write_folds(
    folds: Folds, folder: str | os.PathLike[str], version: str | LetorVersion = "QueryLevelNorm"
) -> list[Path]:
    """Write `Fold1/train.txt` … as LETOR names the files of a version; return the files.

    Every query is formatted once, however many parts it is in. Another `LetorVersion` may give other file names, or
    print a constant column as `0.000000`, as LETOR 4.0 does (`constant=None`).
    """
    if isinstance(version, str) and version not in LETOR_VERSIONS:
        raise UnknownName("version", version, LETOR_VERSIONS)
    layout = LETOR_VERSIONS[version] if isinstance(version, str) else version
    target, files = Path(folder), []
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(prefix=".lines.", dir=target) as text:
        ends = np.cumsum([0, *(text.write(lines) for lines in version_lines(folds.data, layout.constant))])
        for fold, parts in folds.queries.items():
            make_folder(target, fold)
            for part, queries in parts.items():
                files.append(target / fold / layout.files[part])
                with atomic_write(files[-1], follow=False) as file:
                    for start, stop in _ranges(queries):
                        text.seek(ends[start])
                        file.writelines(_iter_blocks(text, int(ends[stop] - ends[start])))
    return files


def _iter_blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield the next `size` bytes of a file in blocks."""
    while size > 0 and (block := file.read(min(size, _COPY_BYTES))):
        yield block
        size -= len(block)


def _ranges(queries: I64) -> Iterator[tuple[int, int]]:
    """Yield queries as ranges of consecutive numbers.

    >>> list(_ranges(np.array([3, 4, 0, 1, 2])))
    [(3, 5), (0, 3)]
    """
    for block in np.split(queries, np.flatnonzero(np.diff(queries) != 1) + 1):
        if len(block):
            yield int(block[0]), int(block[-1]) + 1
