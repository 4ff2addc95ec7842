"""A folder of results: cells that are written at once or not at all, and the tables that are read from them.

    results.json         the format and the version that made the folder
    plan.json            what was asked for, and which cells answer it
    cells/ADDRESS/       cell.json, values.parquet, scores.parquet, model.json or model.safetensors
    data/DIGEST.json     one fold of one data set: counts, digests, audit
    costs/ADDRESS.json   seconds and memory, which differ from run to run
    failures/ADDRESS.json  why a cell is not there
    places.json          where the data were found, for those who want to look at them again

`cells` and `data` are the same bytes for the same plan on every run. A cell is known by everything its result depends
on; where a later plan asks for another cell of the same name (data, fold, ranker, convention, seed), the later one is
shown, and the older one stays in its folder. What is read is verified (see `records`); a cell that is damaged counts
as not there when a run looks for what is left to do, and is computed again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.bench.frame import Frame
from pippin.bench.plan import Experiment, Task
from pippin.bench.records import COSTS, FORMAT, KEY, Cell, is_whole, read_record
from pippin.errors import DataError
from pippin.files import open_lock, refuse_links, remove, write_new
from pippin.machine import try_lock
from pippin.manifest import seal

if TYPE_CHECKING:
    from pippin.bench.ceilings import Ceiling
    from pippin.bench.leaderboard import Leaderboard

_TRIES, _WAIT = 10, 0.1  # the workers of a run that was just killed need a moment to go
FOLDERS = ("cells", "data", "costs", "failures")


class DiskFull(DataError):
    """Nothing more can be written: the run ends, and every cell that is there counts."""


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else DataError
        words = "the disk is full" if kind is DiskFull else f"cannot be written ({error.strerror})"
        raise kind(f"{words}; what was finished is kept, and the same command goes on from there", path) from None


class Results:
    """A folder of results, to read and to write."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """A folder that is there; one of another version is refused."""
        FORMAT.read_record(Path(path))
        return cls(Path(path))

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Results:
        """A folder that is there, or a new one; a folder with anything else in it is refused."""
        folder = Path(path)
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder)
            (folder / ".new").mkdir(exist_ok=True)
            if not (folder / FORMAT.file).exists():
                if any(not file.name.startswith(".") for file in folder.iterdir()):
                    raise DataError("this folder holds something else than results; name another", path)
                cls(folder)._put(FORMAT.file, FORMAT.head)
            results = cls.open(folder)
            for name in FOLDERS:
                (folder / name).mkdir(exist_ok=True)
        return results

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the folder alone; what a killed process left half-written is swept away.

        The lock's file is for the workers to inherit: it is free when the last of them is gone.
        """
        with open_lock(self.path / ".lock") as lock:
            for last in range(_TRIES, -1, -1):
                if try_lock(lock):
                    break
                if not last:
                    raise DataError("another process is writing to these results; wait for it", self.path)
                time.sleep(_WAIT)
            with _writing(self.path):
                for left in (self.path / ".new").iterdir():
                    remove(left)
            yield lock.fileno()

    # Writing

    def write_cell(self, address: str, files: Mapping[str, bytes], cost: Mapping[str, Any]) -> None:
        """Put a cell in its place at once; the cost goes first, so that a cell never lacks one."""
        target = self.path / "cells" / address
        with _writing(target):
            self._put(f"costs/{address}.json", cost)
            folder = self.path / ".new" / f"{address}.{os.getpid()}"
            try:
                folder.mkdir()
                for name, content in files.items():
                    write_new(folder / name, content)
                if os.path.lexists(target) and not is_whole(target):
                    remove(target)
                with suppress(FileExistsError):  # somebody else was faster, with the same bytes
                    _rename_new(folder, target)
            finally:
                remove(folder)
            (self.path / "failures" / f"{address}.json").unlink(missing_ok=True)

    def write_failure(self, task: Task, reason: str) -> None:
        """Say why a cell is not there."""
        record = {**dict(zip(KEY, task.key, strict=True)), "address": task.address, "reason": reason}
        with _writing(self.path / "failures"):
            self._put(f"failures/{task.address}.json", record)

    def write_data(self, digest: str, record: Mapping[str, Any]) -> None:
        """Keep what a fold is."""
        with _writing(self.path / "data"):
            self._put(f"data/{digest}.json", record)

    def write_places(self, places: Mapping[str, Mapping[str, str | Path]]) -> None:
        """Remember where the data were found: within this folder as it can be moved, elsewhere as it stands."""
        here = self.path.resolve()
        told = {
            data: {what: _within(Path(path).resolve(), here) for what, path in own.items()}
            for data, own in places.items()
        }
        with _writing(self.path / "places.json"):
            self._put("places.json", {"places": {**self.places(), **told}})

    def places(self) -> dict[str, dict[str, str]]:
        """Data → where its store and its words were found, relative to this folder or absolute."""
        file = self.path / "places.json"
        return dict(read_record(file, "places")["places"]) if file.exists() else {}

    def has_data(self, digest: str) -> bool:
        """Whether a fold is known."""
        return (self.path / "data" / f"{digest}.json").is_file()

    def write_plan(self, experiment: Experiment | Mapping[str, Any], tasks: Sequence[Task],
                   digests: Mapping[tuple[str, str], str], command: str) -> None:  # fmt: skip
        """Say which cells are wanted now; what another plan asked for stays, unless this one has it anew."""
        old = self._plan_file()
        named, present = {task.key for task in tasks}, {data for data, _ in digests}
        kept = [
            entry for entry in old["cells"]
            if tuple(entry[name] for name in KEY) not in named
            and (entry["data"] not in present or digests.get((entry["data"], entry["fold"])) == entry["digest"])
        ]  # fmt: skip
        new = [
            {**dict(zip(KEY, task.key, strict=True)), "address": task.address,
             "digest": digests[task.data, task.fold]}
            for task in tasks
        ]  # fmt: skip
        plan = experiment.record() if isinstance(experiment, Experiment) else dict(experiment)
        run = {"command": command, "plan": plan}
        runs = [entry for entry in old["runs"] if entry != run] + [run]
        with _writing(self.path / "plan.json"):
            self._put("plan.json", {"runs": runs, "cells": sorted(kept + new, key=_order)})

    def _put(self, name: str, record: Mapping[str, Any]) -> None:
        temporary = self.path / ".new" / f"{name.replace('/', '-')}.{os.getpid()}"
        try:
            write_new(temporary, seal(dict(record)))
            temporary.replace(self.path / name)
        finally:
            temporary.unlink(missing_ok=True)

    def has(self, task: Task) -> bool:
        """Whether the cell is there, whole."""
        return is_whole(self.path / "cells" / task.address)

    # Reading

    def _plan_file(self) -> dict[str, Any]:
        file = self.path / "plan.json"
        return read_record(file, "plan") if file.exists() else {"runs": [], "cells": []}

    @cached_property
    def _wanted(self) -> list[dict[str, Any]]:
        return list(self._plan_file()["cells"])

    @cached_property
    def cells(self) -> list[Cell]:
        """The finished cells of all plans, by data, fold, ranker, convention, seed."""
        folders = [self.path / "cells" / entry["address"] for entry in self._wanted]
        return [Cell.open(folder) for folder in folders if folder.is_dir()]

    def missing(self) -> list[dict[str, Any]]:
        """The cells that plans ask for and that are not there, failed or not yet computed."""
        return [entry for entry in self._wanted if not (self.path / "cells" / entry["address"]).is_dir()]

    def plan(self) -> dict[str, Any]:
        """What all plans together ask for, and the commands that asked."""
        runs = self._plan_file()["runs"]
        merged: dict[str, Any] = {name: _unique(entry[name] for entry in self._wanted) for name in KEY}
        for name in ("tools", "measures", "select"):
            merged[name] = _unique(
                value for run in runs for value in _listed(run["plan"][name])
            )  # fmt: skip
        return {**merged, "cells": len(self._wanted), "commands": [run["command"] for run in runs],
                "plans": [run["plan"] for run in runs]}  # fmt: skip

    @property
    def versions(self) -> dict[str, list[str]]:
        """Package → the versions that computed the cells."""
        versions: dict[str, list[str]] = {}
        for cell in self.cells:
            for name, version in cell.record["versions"].items():
                if version not in versions.setdefault(name, []):
                    versions[name].append(version)
        return versions

    def leaderboard(
        self, measure: str = "NDCG@10", tool: str = "official", data: str | None = None, convention: str | None = None
    ) -> Leaderboard:
        """Who leads on a data set (the only one unless named) under a measure and a tool."""
        from pippin.bench.leaderboard import leaderboard

        known = sorted({entry["data"] for entry in self._wanted})
        if data is None and len(known) != 1:
            raise DataError(f"say which data set is meant, data=; there are {', '.join(known) or 'none'}", self.path)
        return leaderboard(self, data or known[0], measure, tool, convention=convention)

    def __repr__(self) -> str:
        failed = len(self.failures())
        parts = [f"{len(self.cells):,} of {len(self._wanted):,} cells", *([f"{failed:,} failed"] if failed else [])]
        return f"Results({os.fspath(self.path)!r}: {', '.join(parts)})"

    def means(self) -> Frame:
        """Data, fold, ranker, convention, seed, tool, measure, mean."""
        return self._means

    @cached_property
    def _means(self) -> Frame:
        rows = [
            (*key, tool, measure, mean)
            for cell in self.cells for key in (cell.key,)
            for tool, means in cell.record["means"].items() for measure, mean in means.items()
        ]  # fmt: skip
        return _frame(rows, tool=str, measure=str, mean=float)

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> Frame:
        """The same per query; the value is NaN where a query does not count under the tool."""
        wanted = {name: names for name, names in (("tool", tools), ("measure", measures)) if names is not None}
        frames = [_frame([], tool=str, measure=str, query=str, value=float)]
        for cell in self.cells:
            frames.append(cell.values().where(**wanted).headed(KEY, cell.key))
        return Frame.joined(frames)

    def costs(self) -> Frame:
        """Seconds to select (all points of the grid), to train the chosen one, and to predict; peak bytes.

        `…_processor_seconds` are those that the process was at work, on however many cores; the others are the clock's.
        """
        seconds = dict.fromkeys((name for name in COSTS if name != "peak_bytes"), float)
        rows = []
        for cell in self.cells:
            cost = read_record(self.path / "costs" / f"{cell.address}.json", "cost")
            rows.append((*cell.key, *(cost[name] for name in (*seconds, "peak_bytes"))))
        return _frame(rows, **seconds, peak_bytes=int)

    def failures(self) -> Frame:
        """Why cells that are asked for are not there."""
        rows = []
        for entry in self.missing():
            file = self.path / "failures" / f"{entry['address']}.json"
            if file.exists():
                rows.append((*(entry[name] for name in KEY), read_record(file, "failure")["reason"]))
        return _frame(rows, reason=str)

    def importances(self) -> Frame:
        """How much each feature counts in each model that says so."""
        rows = [
            (*cell.key, feature, importance)
            for cell in self.cells for feature, importance in (cell.record["importance"] or {}).items()
        ]  # fmt: skip
        return _frame(rows, feature=str, importance=float)

    def _data(self) -> list[dict[str, Any]]:
        digests = _unique(entry["digest"] for entry in self._wanted)
        return [read_record(self.path / "data" / f"{digest}.json", "data") for digest in digests]

    def datasets(self) -> Frame:
        """The folds: their digests, and how many queries, documents and features they and their parts have."""
        rows = []
        for record in self._data():
            parts = record["parts"]
            row = {name: record[name] for name in ("data", "fold", "digest")}
            row |= {what: sum(part[what] for part in parts.values()) for what in ("queries", "documents", "relevant")}
            row["features"] = record["features"]
            row |= {f"{part}_{what}": counts[what] for part, counts in parts.items() for what in counts}
            row |= {f"{part}_digest": digest for part, digest in record["digests"].items()}
            rows.append(row)
        kinds = {name: type(value) for row in rows for name, value in row.items()}  # not every data set has all parts
        lacking = {name: "" if kind is str else None for name, kind in kinds.items()}
        return Frame.of([tuple((lacking | row).values()) for row in rows], **kinds)

    def audits(self) -> dict[str, dict[str, Any]]:
        """Data → its audit: about, basis, findings, clean."""
        return {record["data"]: record["audit"] for record in self._data()}

    def ceilings(self) -> dict[str, Ceiling]:
        """Data → what the sample of a built data set lost, and what that leaves to be reached."""
        from pippin.bench.ceilings import Ceiling

        known = {record["data"]: record["sampled"] for record in self._data() if "sampled" in record}
        return {data: Ceiling.of(data, record) for data, record in known.items()}

    def feature_names(self) -> dict[str, list[str]]:
        """Data → the names of its features."""
        return {record["data"]: record["feature_names"] for record in self._data()}

    def digest(self) -> str:
        """SHA-256 over everything that must be the same bytes on every run."""
        hashed = hashlib.sha256()
        files = [file for name in ("cells", "data") for file in (self.path / name).rglob("*") if file.is_file()]
        for name, file in sorted((file.relative_to(self.path).as_posix(), file) for file in files):
            hashed.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
        return hashed.hexdigest()


def _within(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def _rename_new(folder: Path, target: Path) -> None:
    """Rename, unless the target is there."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise FileExistsError(target) from None
        raise


def _order(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """By key; Fold10 comes after Fold2."""
    return entry["data"], len(entry["fold"]), *(entry[name] for name in KEY), entry["address"]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _unique(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))


def _frame(rows: Sequence[tuple[Any, ...]], **columns: type) -> Frame:
    """Rows that begin with a cell's key, as a table."""
    return Frame.of(rows, **dict.fromkeys(KEY[:-1], str), seed=int, **columns)
