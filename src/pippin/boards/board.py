"""How does a data set become a board: what is public, what is hidden, and which queries are kept for the end?

    boards/NAME/         the public part, with a manifest that knows the checksum of every file
      board.json         what is asked: tool, measure, counts, limits, digest of the data, commitment to the labels
      train.txt vali.txt with their labels, where the data come in parts; test.txt, without; features.txt, their names
      queries.txt        instead, where the board is made of judgements and takes runs
    hidden/NAME/         the hidden part, for the scorer's eyes: labels, the split of the test queries, the salt

The test queries are split once into a public and a final half, drawn by a hidden seed and stratified by the number of
relevant documents. The documents of a test query are shuffled, for files are often sorted by label.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.data.folds import Folds
from pippin.data.letor import read_letor, write_letor
from pippin.data.packing import digest
from pippin.data.read import read
from pippin.data.trec import Judgements
from pippin.data.trec_text import read_judgements, write_judgements
from pippin.errors import ConventionError, DataError
from pippin.evaluation.tools import TOOLS, Tool
from pippin.files import atomic_folder, write_new
from pippin.manifest import Format, fits, read_sealed, seal

FORMAT = Format("pippin board", 1, "board", "make it again with `pippin board new`", "board.json")
HALVES = ("public", "final")
Half = Literal["public", "final"]
Judged = Dataset | Judgements
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_RECORD = {
    "name": str, "title": str, "about": str, "kind": str, "tool": str, "measure": str, "ladder": bool, "data": str,
    "commitment": str, "key": str, "features": [str], "counts": {str: int}, "share": (float, int),
    "limits": {"bytes": int, "per_day": int, "per_account": int, "seconds": int, "memory": int},
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What one submission may take, and how many an account may send to a board."""

    bytes: int = 20_000_000  # of the file, packed and unpacked
    per_day: int = 20
    per_account: int = 500
    seconds: int = 60  # of the processor
    memory: int = 2_000_000_000


@dataclass(frozen=True, eq=False)
class Board:
    """The public part of a board: all that anybody may know."""

    folder: Path
    record: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Board:
        """A board that stands in a folder; its manifest is verified, its files where they are read."""
        record = FORMAT.read(folder).record
        if not fits(record, _RECORD):
            raise DataError("damaged: this board.json does not describe a board", folder)
        return cls(Path(folder), record)

    @property
    def name(self) -> str:
        """What it is called in addresses and commands."""
        return str(self.record["name"])

    @property
    def kind(self) -> str:
        """What it was made of: `dataset`, which takes scores, runs and models, or `judgements`, which takes runs."""
        return str(self.record["kind"])

    @property
    def tool(self) -> Tool:
        """The tool whose convention counts."""
        return TOOLS[str(self.record["tool"])]

    @property
    def measure(self) -> str:
        """The measure that orders the leaderboard."""
        return str(self.record["measure"])

    @property
    def limits(self) -> Limits:
        """What a submission may take."""
        return Limits(**self.record["limits"])

    @property
    def files(self) -> dict[str, int]:
        """The files that participants download, with their sizes."""
        return dict(self.record["checksums"]["bytes"])

    @cached_property
    def test(self) -> Dataset:
        """The test part without its labels: of a board of judgements, queries alone; verified against its digest."""
        data = _queries(self.folder / "queries.txt") if self.kind == "judgements" else self._documents()
        if digest(data) != self.record["data"]:
            raise DataError("the data of this board are not those it was made with; bring them back from a copy, or "
                            "make a new board", self.folder)  # fmt: skip
        return data

    def _documents(self) -> Dataset:
        names = tuple(map(str, self.record["features"]))
        data = read_letor(self.folder / "test.txt", features=len(names), absent=str(self.record.get("absent", "zero")))
        return replace(data, feature_names=names, name=self.name, comments=None, lines=None)

    def verify(self) -> None:
        """Read every byte and compare it with what was written."""
        FORMAT.read(self.folder).verify()


@dataclass(frozen=True, eq=False)
class Hidden:
    """The hidden part of a board, in memory: labels, and which test queries are in which half."""

    board: Board
    judged: Judged
    halves: Mapping[str, NDArray[np.int64]]  # half → positions of its queries
    salt: str
    seed: int

    @classmethod
    def open(cls, board: Board, folder: Path) -> Hidden:
        """What the scorer reads; labels that are not those the board committed itself to are refused."""
        record = read_sealed(folder / "split.json")
        if board.kind == "judgements":
            judged: Judged = read_judgements(folder / "qrels.txt")
        else:
            judged = replace(board.test, labels=np.load(folder / "labels.npy", allow_pickle=False))
        if commitment(judged, record["salt"]) != board.record["commitment"]:
            raise DataError("the labels of this board are not those it was made with", folder)
        final = np.array(record["final"], np.int64)
        public = np.setdiff1d(np.arange(len(judged.query_ids)), final)
        return cls(board, judged, {"public": public, "final": final}, record["salt"], int(record["seed"]))

    @cached_property
    def parts(self) -> dict[str, Judged]:
        """Half → its judged queries."""
        return {half: selected(self.judged, queries) for half, queries in self.halves.items()}


def commitment(judged: Judged, salt: str) -> str:
    """What a board says of its labels before they are shown: anybody can check it once labels and salt are known."""
    return hashlib.sha256(f"{salt} {digest(judged)}".encode()).hexdigest()


def selected(judged: Judged, queries: NDArray[np.int64]) -> Judged:
    """The data of some queries."""
    if isinstance(judged, Dataset):
        return judged.select(queries)
    rows = rows_of(judged.offsets, queries)
    offsets = np.concatenate(([0], np.cumsum(np.diff(judged.offsets)[queries]))).astype(np.int64)
    ids = tuple(judged.query_ids[q] for q in queries.tolist())
    return Judgements(ids, offsets, judged.document_ids.take(rows), judged.labels[rows], judged.name)


def split(relevant: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """The positions of the final queries: a share of all, and of those with as many relevant documents.

    Queries stand in the order of that number, equal ones drawn by lot, and every so-manieth is taken.

    >>> split(np.array([0, 0, 0, 0, 9, 9, 9, 9]), 0.5, seed=1).tolist()
    [2, 3, 4, 5]
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(relevant)), relevant))
    counts = np.floor((np.arange(len(relevant) + 1)) * share + rng.random() * (share < 1) * 0.999)
    chosen: NDArray[np.int64] = np.sort(order[np.diff(counts) > 0]).astype(np.int64)
    return chosen


def check_name(name: str) -> None:
    """Raise where a board cannot be called so."""
    if not _NAME.fullmatch(name):
        raise DataError(f"a board is called by small letters, digits and hyphens, at most 40, not {name!r}")


def make_board(
    folder: str | os.PathLike[str],
    name: str,
    data: Any,
    *,
    tool: str = "official",
    measure: str = "NDCG@10",
    title: str = "",
    about: str = "",
    fold: str | None = None,
    test: float | None = None,
    final: float = 0.5,
    seed: int | None = None,
    ladder: bool = True,
    limits: Limits | None = None,
    key: str = "",
) -> Board:
    """Make a board in the folder of a site; what is hidden goes to `hidden/NAME` beside `boards/NAME`.

    data     a path of whatever `pippin.read` reads, or what it gave: folds (one of them counts), a data set, judgements
    fold     which fold's test part is asked for; its other parts are published with their labels
    test     of a data set without parts: the share of its queries that is asked for; the rest is published to train on
    final    the share of the test queries whose values are kept for the end
    seed     for the same split and order again; a drawn one is better kept secret, and None draws one
    ladder   whether values are shown by the Ladder's rule; off, they can be climbed
    key      the public key of the site, for the record
    """
    check_name(name)
    if not 0 < final < 1:
        raise ConventionError(f"the share of queries for the end lies between 0 and 1, not {final:g}")
    asked = TOOLS[tool]
    convention = asked.convention_for(asked.measure(measure))
    drawn = secrets.randbits(63) if seed is None else seed
    target, hidden = Path(folder) / "boards" / name, Path(folder) / "hidden" / name
    if target.exists() or hidden.exists():
        raise DataError("a board of this name is there already; choose another name", target)
    judged, parts = _parts(data, fold, test, drawn)
    relevant = np.add.reduceat(np.append(judged.labels >= convention.relevant_at, False), judged.offsets[:-1])
    relevant = np.where(np.diff(judged.offsets) > 0, relevant, 0).astype(np.int64)
    finals = split(relevant, final, drawn)
    if min(len(finals), len(judged.query_ids) - len(finals)) < 2:
        raise ConventionError(f"{len(judged.query_ids)} test queries are too few for a public and a final half")
    salt = secrets.token_hex(16)
    public = _blank(judged)
    record = {
        "name": name, "title": title or name, "about": about, "kind": type(judged).__name__.lower(), "tool": tool,
        "tool_version": asked.version, "measure": measure, "ladder": ladder, "share": final, "key": key,
        "counts": {"queries": len(judged.query_ids), "documents": len(judged.labels),
                   "features": public.features.shape[1], **{part: held.queries for part, held in parts.items()}},
        "features": list(public.feature_names), "absent": "null" if np.isnan(public.features).any() else "zero",
        "limits": asdict(limits or Limits()), "data": digest(public), "commitment": commitment(judged, salt),
    }  # fmt: skip
    _write_hidden(hidden, judged, finals, salt, drawn)
    with FORMAT.new_folder(target) as new:
        _write_public(new, public, parts)
        FORMAT.write(new, record)
    return Board.open(target)


def _parts(data: Any, fold: str | None, test: float | None, seed: int) -> tuple[Judged, dict[str, Dataset]]:
    """What is asked for, its documents in no order that tells, and what is published with labels."""
    found = data if isinstance(data, Folds | Dataset | Judgements) else read(data)
    if isinstance(found, Folds):
        chosen = found[fold if fold is not None else 0]
        parts = {part: chosen[part] for part in chosen.parts if part != "test"}
        return _shuffled(chosen.test, seed), parts
    if fold is not None:
        raise ConventionError("a fold can be named only where the data come in folds")
    if isinstance(found, Judgements):
        return found, {}
    if not isinstance(found, Dataset):
        raise DataError("a board is made of a data set, folds or judgements, and this is a run or scores")
    if test is None:
        return _shuffled(found, seed), {}
    if not 0 < test < 1:
        raise ConventionError(f"the share of test queries lies between 0 and 1, not {test:g}")
    order = np.random.default_rng([seed, 2]).permutation(found.queries)
    size = round(test * found.queries)
    rest = found.select(np.sort(order[size:]))
    return _shuffled(found.select(np.sort(order[:size])), seed), {"train": rest}


def _shuffled(data: Dataset, seed: int) -> Dataset:
    """The documents of every query in an order drawn by lot; comments, which may tell, are left out."""
    rng = np.random.default_rng([seed, 1])
    rows = np.lexsort((rng.random(len(data)), data.qid()))
    ids = None if data.document_ids is None else data.document_ids.take(rows)
    return replace(data, features=np.ascontiguousarray(data.features[rows], np.float64), labels=data.labels[rows],
                   document_ids=ids, comments=None, lines=None)  # fmt: skip


def _blank(judged: Judged) -> Dataset:
    """The same without labels; of judgements the queries alone, as those of one document each that nobody names."""
    if isinstance(judged, Dataset):
        return replace(judged, labels=np.zeros(len(judged), np.int32))
    return _of_queries(judged.query_ids)


def _of_queries(ids: tuple[str, ...]) -> Dataset:
    each = np.arange(len(ids) + 1, dtype=np.int64)
    return Dataset(np.empty((len(ids), 0)), np.zeros(len(ids), np.int32), each, ids)


def _queries(file: Path) -> Dataset:
    return _of_queries(tuple(file.read_text(encoding="utf-8").split()))


def _write_public(folder: Path, public: Dataset, parts: Mapping[str, Dataset]) -> None:
    if not public.features.shape[1] and public.document_ids is None and len(public) == public.queries:
        write_new(folder / "queries.txt", "".join(f"{query}\n" for query in public.query_ids).encode())
        return
    for part, data in {**parts, "test": public}.items():
        write_letor(data, folder / f"{part}.txt")
    write_new(folder / "features.txt", "".join(f"{name}\n" for name in public.feature_names).encode())


def _write_hidden(folder: Path, judged: Judged, final: NDArray[np.int64], salt: str, seed: int) -> None:
    with atomic_folder(folder) as new:
        if isinstance(judged, Judgements):
            write_judgements(judged, new / "qrels.txt")
        else:
            np.save(new / "labels.npy", judged.labels, allow_pickle=False)
        write_new(new / "split.json", seal({"final": final.tolist(), "salt": salt, "seed": seed}))
        (new / "values").mkdir()
        for file in new.rglob("*"):
            file.chmod(0o700 if file.is_dir() else 0o600)
    folder.chmod(0o700)


def rules(board: Board) -> str:
    """The convention of a board as one text, for receipts."""
    convention = board.tool.convention_for(board.tool.measure(board.measure))
    return json.dumps(asdict(convention), sort_keys=True, default=str)
