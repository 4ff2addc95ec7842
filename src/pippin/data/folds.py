"""One data set in its folds: a table of all queries, each of them once, and which of them every part is made of.

Folds come from a folder of published ones (`folders`), from a store of them (`fold_store`), or are made of one's own
data here, cut and rotated as LETOR does (Table 4): the queries are cut into parts S1 … Sk; fold i trains on all parts
but two, from S_i on and round, validates on the next part and is tested on the last.
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
from pippin.data.versions import VERSIONS, Version, version_lines
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.files import atomic_write, make_folder

if TYPE_CHECKING:
    from pippin.data.sources import Source

I64 = NDArray[np.int64]
Cut = Literal["even", "floor", "ceil"]
PARTS = ("train", "vali", "test")
_BLOCK = 1 << 20  # bytes copied at once
_SIZES = {
    "even": "sizes differ by at most one, larger parts first",
    "floor": "⌊n/k⌋ queries each, the rest to the last part, as OHSUMED",
    "ceil": "⌈n/k⌉ queries each, what is left to the last part, as LETOR 4.0",
}


@dataclass(frozen=True)
class PartFacts:
    """What the files of folds may say that one table of all their queries cannot.

    One query may have other documents in another fold, folds may differ in their number of features, and a file that
    has a line without a document id has no document ids at all.
    """

    query_ids: Mapping[int, str] = field(default_factory=dict)  # of queries that the table had to call otherwise
    widths: Mapping[str, int] = field(default_factory=dict)  # fold → features, where they are fewer
    without_ids: frozenset[int] = frozenset()  # queries with a document that has no id
    without_comments: frozenset[int] = frozenset()  # queries none of whose lines has a comment

    def restored(self, data: Dataset, fold: str, queries: I64) -> Dataset:
        """The part of a fold as its own file says it, from what was selected."""
        changed: dict[str, Any] = {}
        if self.query_ids:
            given = zip(queries.tolist(), data.query_ids, strict=True)
            changed["query_ids"] = tuple(self.query_ids.get(at, query) for at, query in given)
        if self.without_ids and not self.without_ids.isdisjoint(queries.tolist()):
            changed["document_ids"] = None
        if self.without_comments and self.without_comments.issuperset(queries.tolist()):
            changed["comments"] = None
        if fold in self.widths:
            width = self.widths[fold]
            changed["features"] = np.ascontiguousarray(data.features[:, :width])
            changed["feature_names"] = data.feature_names[:width]
        return replace(data, **changed) if changed else data


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold: its parts, each a `Dataset` when it is asked for."""

    name: str
    folds: Folds = field(repr=False)

    @property
    def parts(self) -> Mapping[str, I64]:
        """Part → the positions of its queries in the table of all."""
        return self.folds.queries[self.name]

    def __getitem__(self, part: str) -> Dataset:
        if part not in self.parts:
            raise DataError(f"{self.folds.title} has no part {part!r}; it has {', '.join(self.parts)}")
        folds, queries = self.folds, self.parts[part]
        data = folds.facts.restored(folds.data.select(queries), self.name, queries)
        return replace(data, name=" ".join(filter(None, (folds.name, self.name, part))))

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
    """A data set in its folds: `folds["Fold1"].train`, `for fold in folds`, or `folds[0]`."""

    data: Dataset  # every query once; features may be a memory map
    queries: Mapping[str, Mapping[str, I64]]  # fold → part → the positions of its queries
    name: str = ""
    source: Source | None = None  # the published data set that this is
    facts: PartFacts = field(default_factory=PartFacts, repr=False)
    digests: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)  # of parts, where known

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Fold]:
        return (Fold(name, self) for name in self.queries)

    def __getitem__(self, fold: int | str) -> Fold:
        if isinstance(fold, int):
            return Fold(list(self.queries)[fold], self)
        if fold not in self.queries:
            raise DataError(f"there is no fold {fold!r}; there are {', '.join(self.queries)}")
        return Fold(fold, self)

    @property
    def title(self) -> str:
        """What it is called for people."""
        return self.source.title if self.source is not None else self.name

    def with_validation(self, share: float, seed: int = 1) -> Folds:
        """The same with a share of each fold's training queries, drawn by the seed, as its validation part."""
        if not 0 < share < 1:
            raise DataError(f"the share of queries to validate on lies between 0 and 1, not {share:g}")
        queries: dict[str, dict[str, I64]] = {}
        for number, (fold, parts) in enumerate(self.queries.items()):
            if "vali" in parts:
                raise DataError(f"{self.title} has a validation part already")
            train = parts["train"]
            size = round(share * len(train))
            if not 0 < size < len(train):
                raise DataError(f"{len(train)} training queries leave none to train or to validate on at {share:g}")
            drawn = np.random.default_rng([seed, number]).permutation(len(train))
            queries[fold] = {"train": train[np.sort(drawn[size:])], "vali": train[np.sort(drawn[:size])],
                             **{part: held for part, held in parts.items() if part != "train"}}  # fmt: skip
        return replace(self, queries=queries, digests={})

    def digest(self, fold: str, part: str) -> str:
        """The digest of a part, kept by a store or computed now."""
        from pippin.data.packing import digest

        known = self.digests.get(fold, {}).get(part)
        return digest(self[fold][part]) if known is None else known

    def __repr__(self) -> str:
        parts = ", ".join(next(iter(self.queries.values()), {}))
        return f"Folds({self.title!r}: {len(self)} × {parts})"


def rotated(parts: Sequence[I64]) -> dict[str, dict[str, I64]]:
    """Fold → part → queries, from the queries of S1 … Sk."""
    k = len(parts)
    return {
        f"Fold{i + 1}": {part: np.concatenate([parts[s] for s in turn]) for part, turn in _turn(i, k).items()}
        for i in range(k)
    }


def _turn(fold: int, k: int) -> dict[str, list[int]]:
    """Which parts a fold is made of.

    >>> _turn(3, 5)  # Fold4 trains on S4, S5 and S1
    {'train': [3, 4, 0], 'vali': [1], 'test': [2]}
    """
    turned = [(fold + i) % k for i in range(k)]
    return {"train": turned[:-2], "vali": turned[-2:-1], "test": turned[-1:]}


def make_folds(
    data: Dataset, k: int = 5, *, seed: int | None = None, tasks: Sequence[str] | None = None, cut: Cut = "even"
) -> Folds:
    """Folds of a data set, by whole queries, in the order of the file or, with a seed, drawn by lot.

    `tasks` names the task of each query; each part then has its share of every task.

    >>> from pippin.data.synthetic import make
    >>> data = make(5)
    >>> a, b, c, d, e = data.query_ids
    >>> make_folds(data)["Fold4"].train.query_ids == (d, e, a)  # S4, S5 and S1
    True
    """
    parts = cut_queries(data.queries, k, seed=seed, tasks=tasks, cut=cut)
    return Folds(data, rotated(parts), data.name)


def cut_queries(
    queries: int, k: int = 5, *, seed: int | None = None, tasks: Sequence[str] | None = None, cut: Cut = "even"
) -> list[NDArray[np.int64]]:
    """Positions of the queries of S1 … Sk, ascending within a part.

    >>> [len(part) for part in cut_queries(106, cut="floor")], [len(part) for part in cut_queries(784, cut="ceil")]
    ([21, 21, 21, 21, 22], [157, 157, 157, 157, 156])
    """
    if k < 3:
        raise ConventionError(f"folds need at least 3 parts, to train, validate and test on, not {k}")
    if queries < k:
        there = "there is 1 query" if queries == 1 else f"there are {queries:,} queries"
        raise ConventionError(f"{k} folds need a query each at least, and {there}; ask for fewer folds or more queries")
    order = np.arange(queries) if seed is None else np.random.default_rng(seed).permutation(queries)
    if tasks is not None:
        return _by_task(order, k, tasks)
    ends = np.cumsum(_sizes(queries, k, cut))
    return [np.sort(part) for part in np.split(order, ends[:-1])]


def _sizes(queries: int, k: int, cut: str) -> list[int]:
    """How many queries each part has."""
    if cut not in _SIZES:
        raise UnknownName("cut", cut, _SIZES)
    if cut == "even":
        return [queries // k + (i < queries % k) for i in range(k)]
    each = queries // k if cut == "floor" else -(-queries // k)
    last = queries - each * (k - 1)
    if last < 1:
        raise ConventionError(f"{queries} queries in parts of {each} do not give {k} parts; cut them 'even'")
    return [each] * (k - 1) + [last]


def _by_task(order: NDArray[np.int64], k: int, tasks: Sequence[str]) -> list[NDArray[np.int64]]:
    """Queries dealt out task by task, like cards: a part's share of any task, and its size, is even up to one."""
    if len(tasks) != len(order):
        raise ConventionError(f"{len(tasks)} tasks for {len(order)} queries")
    first = {task: i for i, task in reversed(list(enumerate(tasks)))}
    dealt = order[np.argsort([first[tasks[i]] for i in order.tolist()], kind="stable")]
    return [np.sort(dealt[i::k]) for i in range(k)]


def write_folds(folds: Folds, folder: str | os.PathLike[str], version: str | Version = "QueryLevelNorm") -> list[Path]:
    """Write `Fold1/train.txt` … as LETOR names the files of a version; the files written.

    Every query is printed once, whatever the number of parts that it is in. A `Version` of one's own may name the files
    otherwise, or print a constant column as `0.000000`, as LETOR 4.0 does (`constant=None`).
    """
    if isinstance(version, str) and version not in VERSIONS:
        raise UnknownName("version", version, VERSIONS)
    layout = VERSIONS[version] if isinstance(version, str) else version
    target, written = Path(folder), []
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(prefix=".lines.", dir=target) as printed:
        ends = np.cumsum([0, *(printed.write(text) for text in version_lines(folds.data, layout.constant))])
        for fold, parts in folds.queries.items():
            make_folder(target, fold)
            for part, queries in parts.items():
                written.append(target / fold / layout.files[part])
                with atomic_write(written[-1], follow=False) as file:
                    for first, last in _stretches(queries):
                        printed.seek(ends[first])
                        file.writelines(_blocks(printed, int(ends[last] - ends[first])))
    return written


def _blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The next bytes of a file, so many of them, a piece at a time."""
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        yield block
        size -= len(block)


def _stretches(queries: I64) -> Iterator[tuple[int, int]]:
    """Queries in their order as stretches of neighbours, from the first up to the last.

    >>> list(_stretches(np.array([3, 4, 0, 1, 2])))
    [(3, 5), (0, 3)]
    """
    cuts = np.flatnonzero(np.diff(queries) != 1) + 1
    for stretch in np.split(queries, cuts):
        if len(stretch):
            yield int(stretch[0]), int(stretch[-1]) + 1
