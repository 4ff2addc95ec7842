"""Boards: the public files, the hidden labels, and the split of the test queries.

    boards/NAME/         public part, with a manifest of checksums
      board.json         tool, measure, counts, limits, digest of the data, commitment to the labels
      train.txt vali.txt labelled data, if the data set has these parts; test.txt without labels; features.txt, names
      queries.txt        instead of these files, for boards of qrels, which accept runs
    hidden/NAME/         hidden part, for the scorer only: labels, split of the test queries, salt

The test queries are split once into public and final queries, by a secret seed and stratified by the number of relevant
documents. The documents of each test query are shuffled, because files are often sorted by label.
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

from pippin.data.dataset import Dataset, rows_of_queries
from pippin.data.digest import digest
from pippin.data.folds import Folds
from pippin.data.letor import read_letor, write_letor
from pippin.data.qrels import Qrels, parse_qrels, write_qrels
from pippin.data.read import read
from pippin.errors import ConventionError, DataError
from pippin.evaluation.tools import TOOLS, Tool
from pippin.storage.files import atomic_folder, write_new
from pippin.storage.manifest import FolderFormat, dump_with_checksum, matches_schema, read_with_checksum

FORMAT = FolderFormat("pippin board", 1, "board", "make it again with `pippin board new`", "board.json")
SPLITS = ("public", "final")
Split = Literal["public", "final"]
LabelledData = Dataset | Qrels
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_RECORD = {
    "name": str, "title": str, "about": str, "kind": str, "tool": str, "measure": str, "ladder": bool, "data": str,
    "commitment": str, "key": str, "features": [str], "counts": {str: int}, "share": (float, int),
    "limits": {"bytes": int, "per_day": int, "per_account": int, "seconds": int, "memory": int},
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """Limits of a submission, and of the number of submissions per account."""

    bytes: int = 20_000_000  # of the file, compressed and decompressed
    per_day: int = 20
    per_account: int = 500
    seconds: int = 60  # of processor time
    memory: int = 2_000_000_000


@dataclass(frozen=True, eq=False)
class Board:
    """The public part of a board."""

    folder: Path
    record: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Board:
        """Open a board; verify its manifest. Files are verified when they are read."""
        record = FORMAT.read(folder).record
        if not matches_schema(record, _RECORD):
            raise DataError("invalid board.json", folder)
        return cls(Path(folder), record)

    @property
    def name(self) -> str:
        """Name in addresses and commands."""
        return str(self.record["name"])

    @property
    def kind(self) -> str:
        """`dataset` (accepts scores, runs and models) or `qrels` (accepts runs)."""
        return str(self.record["kind"])

    @property
    def tool(self) -> Tool:
        """Tool that evaluates submissions."""
        return TOOLS[str(self.record["tool"])]

    @property
    def measure(self) -> str:
        """Measure of the leaderboard."""
        return str(self.record["measure"])

    @property
    def limits(self) -> Limits:
        """Limits of submissions."""
        return Limits(**self.record["limits"])

    @property
    def files(self) -> dict[str, int]:
        """Files that participants download, with their sizes."""
        return dict(self.record["checksums"]["bytes"])

    @cached_property
    def test(self) -> Dataset:
        """Test data without labels (queries only, for a board of qrels), verified against its digest."""
        if self.kind == "qrels":
            data = _queries_only(tuple((self.folder / "queries.txt").read_text(encoding="utf-8").split()))
        else:
            names = tuple(map(str, self.record["features"]))
            absent = str(self.record["absent"])
            data = read_letor(self.folder / "test.txt", features=len(names), missing_value=absent)
            data = replace(data, feature_names=names, name=self.name, comments=None, lines=None)
        if digest(data) != self.record["data"]:
            raise DataError("the data of the board have changed since it was created; restore them from a copy, or "
                            "create a new board", self.folder)  # fmt: skip
        return data

    def verify(self) -> None:
        """Verify the checksums of all files."""
        FORMAT.read(self.folder).verify()


@dataclass(frozen=True, eq=False)
class HiddenLabels:
    """The hidden part of a board: labelled test data, and the positions of public and final queries."""

    board: Board
    data: LabelledData
    queries: Mapping[str, NDArray[np.int64]]  # split → positions of its queries
    salt: str
    seed: int

    @classmethod
    def open(cls, board: Board, folder: Path) -> HiddenLabels:
        """Read the labels; raise an error if they do not match the board's commitment."""
        record = read_with_checksum(folder / "split.json")
        if board.kind == "qrels":
            data: LabelledData = parse_qrels(folder / "qrels.txt")
        else:
            data = replace(board.test, labels=np.load(folder / "labels.npy", allow_pickle=False))
        if commitment(data, record["salt"]) != board.record["commitment"]:
            raise DataError("the labels of the board have changed since it was created", folder)
        final = np.array(record["final"], np.int64)
        public = np.setdiff1d(np.arange(len(data.query_ids)), final)
        return cls(board, data, {"public": public, "final": final}, record["salt"], int(record["seed"]))

    @cached_property
    def parts(self) -> dict[str, LabelledData]:
        """Labelled data of each split."""
        return {split: select_queries(self.data, positions) for split, positions in self.queries.items()}


def commitment(data: LabelledData, salt: str) -> str:
    """Return the hash of labels and salt that a board publishes; it can be checked once the salt is published."""
    return hashlib.sha256(f"{salt} {digest(data)}".encode()).hexdigest()


def select_queries(data: LabelledData, positions: NDArray[np.int64]) -> LabelledData:
    """Return the data of some queries."""
    if isinstance(data, Dataset):
        return data.select(positions)
    rows = rows_of_queries(data.offsets, positions)
    offsets = np.concatenate(([0], np.cumsum(np.diff(data.offsets)[positions]))).astype(np.int64)
    ids = tuple(data.query_ids[q] for q in positions.tolist())
    return Qrels(ids, offsets, data.document_ids.take(rows), data.labels[rows], data.name)


def split_queries(relevant: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Return the positions of the final queries: a share of all queries, stratified by `relevant` documents per query.

    Queries are sorted by number of relevant documents, ties in random order, and every n-th query is taken.

    >>> split_queries(np.array([0, 0, 0, 0, 9, 9, 9, 9]), 0.5, seed=1).tolist()
    [2, 3, 4, 5]
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(relevant)), relevant))
    counts = np.floor((np.arange(len(relevant) + 1)) * share + rng.random() * (share < 1) * 0.999)
    final: NDArray[np.int64] = np.sort(order[np.diff(counts) > 0]).astype(np.int64)
    return final


def check_name(name: str) -> None:
    """Raise an error if a board name is invalid."""
    if not _NAME.fullmatch(name):
        raise DataError(f"invalid board name {name!r}: use 1–40 lower-case letters, digits or hyphens")


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
    test_fraction: float | None = None,
    final_fraction: float = 0.5,
    seed: int | None = None,
    ladder: bool = True,
    limits: Limits | None = None,
    key: str = "",
) -> Board:
    """Write the files of a board: the public part in `boards/NAME`, the hidden part in `hidden/NAME`.

    The parameters are those of `pippin.boards.create`; `key` is the public key of the site.
    """
    check_name(name)
    if not 0 < final_fraction < 1:
        raise ConventionError(f"final_fraction must be between 0 and 1, got {final_fraction:g}")
    evaluator = TOOLS[tool]
    convention = evaluator.convention_for(evaluator.measure(measure))
    seed = secrets.randbits(63) if seed is None else seed
    target, hidden_folder = Path(folder) / "boards" / name, Path(folder) / "hidden" / name
    test, parts = _split_data(data, fold, test_fraction, seed)
    relevant = np.add.reduceat(np.append(test.labels >= convention.relevance_threshold, False), test.offsets[:-1])
    relevant = np.where(np.diff(test.offsets) > 0, relevant, 0).astype(np.int64)
    final = split_queries(relevant, final_fraction, seed)
    if min(len(final), len(test.query_ids) - len(final)) < 2:
        raise ConventionError(f"cannot split {len(test.query_ids)} test queries into public and final queries")
    salt = secrets.token_hex(16)
    kind = "qrels" if isinstance(test, Qrels) else "dataset"
    public = (
        _queries_only(test.query_ids) if isinstance(test, Qrels) else replace(test, labels=np.zeros_like(test.labels))
    )
    record = {
        "name": name, "title": title or name, "about": about, "tool": tool, "kind": kind,
        "tool_version": evaluator.version, "measure": measure, "ladder": ladder, "share": final_fraction, "key": key,
        "counts": {"queries": len(test.query_ids), "documents": len(test.labels),
                   "features": public.features.shape[1], **{part: data.queries for part, data in parts.items()}},
        "features": list(public.feature_names), "absent": "null" if np.isnan(public.features).any() else "zero",
        "limits": asdict(limits or Limits()), "data": digest(public), "commitment": commitment(test, salt),
    }  # fmt: skip
    _write_hidden_part(hidden_folder, test, {"final": final.tolist(), "salt": salt, "seed": seed})
    with FORMAT.new_folder(target) as new:
        if kind == "qrels":
            write_new(new / "queries.txt", "".join(f"{query}\n" for query in public.query_ids).encode())
        else:
            for part, part_data in {**parts, "test": public}.items():
                write_letor(part_data, new / f"{part}.txt")
            write_new(new / "features.txt", "".join(f"{name}\n" for name in public.feature_names).encode())
        FORMAT.write(new, record)
    return Board.open(target)


def _split_data(
    source: Any, fold: str | None, test_fraction: float | None, seed: int
) -> tuple[LabelledData, dict[str, Dataset]]:
    """Return the test data, documents shuffled, and the parts that are published with labels."""
    data = source if isinstance(source, Folds | Dataset | Qrels) else read(source)
    if isinstance(data, Folds):
        rotation = data[fold if fold is not None else 0]
        parts = {part: rotation[part] for part in rotation.parts if part != "test"}
        return _shuffle_documents(rotation.test, seed), parts
    if fold is not None:
        raise ConventionError("fold has no effect: the data have no folds")
    if isinstance(data, Qrels):
        return data, {}
    if not isinstance(data, Dataset):
        raise DataError("cannot create a board from a run or scores: expected a data set, folds or qrels")
    if test_fraction is None:
        return _shuffle_documents(data, seed), {}
    if not 0 < test_fraction < 1:
        raise ConventionError(f"test_fraction must be between 0 and 1, got {test_fraction:g}")
    order = np.random.default_rng([seed, 2]).permutation(data.queries)
    size = round(test_fraction * data.queries)
    train = data.select(np.sort(order[size:]))
    return _shuffle_documents(data.select(np.sort(order[:size])), seed), {"train": train}


def _shuffle_documents(data: Dataset, seed: int) -> Dataset:
    """Shuffle the documents of each query; drop comments, which may reveal labels."""
    rng = np.random.default_rng([seed, 1])
    rows = np.lexsort((rng.random(len(data)), data.qid()))
    ids = None if data.document_ids is None else data.document_ids.take(rows)
    return replace(data, features=np.ascontiguousarray(data.features[rows], np.float64), labels=data.labels[rows],
                   document_ids=ids, comments=None, lines=None)  # fmt: skip


def _queries_only(ids: tuple[str, ...]) -> Dataset:
    """Return a data set of one nameless document per query: the public part of a board of qrels."""
    offsets = np.arange(len(ids) + 1, dtype=np.int64)
    return Dataset(np.empty((len(ids), 0)), np.zeros(len(ids), np.int32), offsets, ids)


def _write_hidden_part(folder: Path, data: LabelledData, split: Mapping[str, Any]) -> None:
    with atomic_folder(folder) as new:
        if isinstance(data, Qrels):
            write_qrels(data, new / "qrels.txt")
        else:
            np.save(new / "labels.npy", data.labels, allow_pickle=False)
        write_new(new / "split.json", dump_with_checksum(dict(split)))
        (new / "values").mkdir()
        for file in new.rglob("*"):
            file.chmod(0o700 if file.is_dir() else 0o600)
    folder.chmod(0o700)


def convention_text(board: Board) -> str:
    """Return the convention of a board as JSON text, for receipts."""
    convention = board.tool.convention_for(board.tool.measure(board.measure))
    return json.dumps(asdict(convention), sort_keys=True, default=str)
