"""Cross-validation folds of one's own data, cut and rotated as LETOR cuts and rotates its own (Table 4).

The queries are cut into parts S1 … Sk. Fold i trains on all parts but two, from S_i on and round, validates on the
next part and is tested on the last. Made folds answer as published ones that are loaded from a folder do.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import atomic_write
from pippin.data.dataset import Dataset
from pippin.data.versions import VERSIONS, Version, write_version
from pippin.errors import ConventionError, DataError, UnknownName

Cut = Literal["even", "floor", "ceil"]
PARTS = ("train", "vali", "test")
_SIZES = {
    "even": "sizes differ by at most one, larger parts first",
    "floor": "⌊n/k⌋ queries each, the rest to the last part, as OHSUMED",
    "ceil": "⌈n/k⌉ queries each, what is left to the last part, as LETOR 4.0",
}


@dataclass(frozen=True, eq=False)
class MadeFold:
    """One fold: which parts it trains, validates and is tested on."""

    name: str
    data: Dataset
    queries: dict[str, NDArray[np.int64]]  # part to positions of its queries

    def __getitem__(self, part: str) -> Dataset:
        if part not in self.queries:
            raise DataError(f"there is no part {part!r}; there are {', '.join(self.queries)}")
        return self.data.select(self.queries[part])

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
class MadeFolds:
    """A data set in its folds: `folds["Fold1"].train`, `for fold in folds`, or `folds[0]`."""

    data: Dataset
    parts: tuple[NDArray[np.int64], ...]  # S1 … Sk: positions of their queries

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[MadeFold]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, fold: int | str) -> MadeFold:
        names = [f"Fold{i + 1}" for i in range(len(self))]
        if isinstance(fold, str):
            if fold not in names:
                raise DataError(f"there is no fold {fold!r}; there are {', '.join(names)}")
            fold = names.index(fold)
        turns = {part: np.concatenate([self.parts[i] for i in turn]) for part, turn in _turn(fold, len(self)).items()}
        return MadeFold(names[fold], self.data, turns)

    def __repr__(self) -> str:
        return f"MadeFolds({self.data.name!r}: {len(self)} × train, vali, test)"


def _turn(fold: int, k: int) -> dict[str, list[int]]:
    """Which parts a fold is made of.

    >>> _turn(3, 5)  # Fold4 trains on S4, S5 and S1
    {'train': [3, 4, 0], 'vali': [1], 'test': [2]}
    """
    turned = [(fold + i) % k for i in range(k)]
    return {"train": turned[:-2], "vali": turned[-2:-1], "test": turned[-1:]}


def make_folds(
    data: Dataset, k: int = 5, *, seed: int | None = None, tasks: Sequence[str] | None = None, cut: Cut = "even"
) -> MadeFolds:
    """Folds of a data set, by whole queries, in the order of the file or, with a seed, drawn by lot.

    `tasks` names the task of each query; each part then has its share of every task.

    >>> from pippin.data.synthetic import make
    >>> data = make(5)
    >>> a, b, c, d, e = data.query_ids
    >>> make_folds(data)["Fold4"].train.query_ids == (d, e, a)  # S4, S5 and S1
    True
    """
    return MadeFolds(data, tuple(cut_queries(data.queries, k, seed=seed, tasks=tasks, cut=cut)))


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
        raise ConventionError(f"{queries} queries cannot be cut into {k} parts")
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


def write_folds(
    folds: MadeFolds, folder: str | os.PathLike[str], version: str | Version = "QueryLevelNorm"
) -> list[Path]:
    """Write `Fold1/train.txt` … as LETOR names the files of a version; the files written.

    Every fold is the same parts in another order, so each part is printed once. A `Version` of one's own may name the
    files otherwise, or print a constant column as `0.000000`, as LETOR 4.0 does (`constant=None`).
    """
    if isinstance(version, str) and version not in VERSIONS:
        raise UnknownName("version", version, VERSIONS)
    layout = VERSIONS[version] if isinstance(version, str) else version
    target, written = Path(folder), []
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".parts.", dir=target) as scratch:
        printed = [Path(scratch) / f"S{i + 1}.txt" for i in range(len(folds))]
        for part, file in zip(folds.parts, printed, strict=True):
            write_version(folds.data.select(part), file, constant=layout.constant)
        for fold in range(len(folds)):
            (target / f"Fold{fold + 1}").mkdir(exist_ok=True)
            for name, turn in _turn(fold, len(folds)).items():
                written.append(target / f"Fold{fold + 1}" / layout.files[name])
                _join([printed[i] for i in turn], written[-1])
    return written


def _join(files: list[Path], target: Path) -> None:
    with atomic_write(target) as whole:
        for file in files:
            with file.open("rb") as part:
                shutil.copyfileobj(part, whole)
