"""The results folder of a benchmark: atomic writes of cells, and tables of all cells.

    results.json           format and version of the folder
    plan.json              commands, plans, and the cells that they consist of
    cells/ADDRESS/         cell.json, values.parquet, scores.parquet, model.json or model.safetensors
    data/DIGEST.json       one fold of one data set: counts, digests, audit
    costs/ADDRESS.json     seconds and memory, which differ between runs
    failures/ADDRESS.json  the reason why a cell failed
    locations.json         paths of the data

The same plan gives the same bytes in `cells` and `data` on every run. The address of a cell is a digest of everything
that its result depends on. If a later plan has another cell of the same key (data, fold, ranker, convention, seed), the
later one is shown and the older one stays in its folder. Everything is verified when it is read (see `records`). A run
computes damaged cells again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.benchmarks.plan import Experiment, Task
from pippin.benchmarks.records import COSTS, FORMAT, KEY, Cell, is_intact, read_record
from pippin.benchmarks.tables import make_table, select_rows
from pippin.errors import DataError
from pippin.storage.files import check_no_links, open_lock, remove_path, write_new
from pippin.storage.manifest import dump_with_checksum
from pippin.system import try_lock

if TYPE_CHECKING:
    from pyarrow import Table

    from pippin.benchmarks.leaderboard import Ceiling, Leaderboard
    from pippin.benchmarks.published import Leaderboards
    from pippin.data.dataset import Dataset

_LOCK_ATTEMPTS, _LOCK_WAIT = 10, 0.1  # seconds; the workers of a run that was just killed take a moment to end
FOLDERS = ("cells", "data", "costs", "failures")


class DiskFull(DataError):
    """The disk is full: the run ends, and finished cells are kept."""


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else DataError
        reason = "disk full" if kind is DiskFull else f"cannot write ({error.strerror})"
        raise kind(f"{reason}; finished cells are kept, run the same command again to continue", path) from None


class Results:
    """A folder of benchmark results."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._last_values: tuple[dict[str, tuple[str, ...]], Table] | None = None  # arguments and result of `values`

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Open an existing folder of this version.

        Parameters
        ----------
        path : str or path
            Folder of results.
        """
        FORMAT.read_record(Path(path))
        return cls(Path(path))

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Results:
        """Open an existing folder of results, or create one in a new or empty folder.

        Parameters
        ----------
        path : str or path
            Folder of results, or a new or empty folder.
        """
        folder = Path(path)
        with _translate_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            check_no_links(folder)
            (folder / ".new").mkdir(exist_ok=True)
            if not (folder / FORMAT.file).exists():
                if any(not file.name.startswith(".") for file in folder.iterdir()):
                    raise DataError("not a folder of results; choose another folder", path)
                cls(folder)._write_record(FORMAT.file, FORMAT.head)
            results = cls.open(folder)
            for name in FOLDERS:
                (folder / name).mkdir(exist_ok=True)
        return results

    @staticmethod
    def training_sample(model: str | os.PathLike[str]) -> Dataset | None:
        """Return a sample of the training set of a model in a folder of results.

        None if the file is in no such folder, or if the data were moved or have changed.

        Parameters
        ----------
        model : str or path
            Model file in a folder of results.
        """
        from pippin.data.digest import digest
        from pippin.data.store import is_fold_store, open_fold_store
        from pippin.rankers.training_data import draw_sample

        folder = Path(model).resolve().parent
        if not (folder / "cell.json").is_file() or not (folder.parent.parent / "locations.json").is_file():
            return None
        record = Cell.open(folder).record
        results = Results(folder.parent.parent)
        store = results.path / results.locations().get(record["data"], {}).get("store", "")
        if not is_fold_store(store):
            return None
        train = open_fold_store(store)[record["fold"]]["train"]
        return draw_sample(train) if digest(train) == record["digests"].get("train") else None

    @contextmanager
    def lock(self) -> Iterator[int]:
        """Lock the folder, remove leftovers of a killed process, and yield the descriptor of the lock file.

        Workers inherit the descriptor, so the lock is released when the last of them has ended.
        """
        with open_lock(self.path / ".lock") as lock:
            for remaining in range(_LOCK_ATTEMPTS, -1, -1):
                if try_lock(lock):
                    break
                if not remaining:
                    raise DataError("another process is writing to these results; wait until it has ended", self.path)
                time.sleep(_LOCK_WAIT)
            with _translate_errors(self.path):
                for leftover in (self.path / ".new").iterdir():
                    remove_path(leftover)
            yield lock.fileno()

    # Writing

    def write_cell(self, address: str, files: Mapping[str, bytes], cost: Mapping[str, Any]) -> None:
        """Write a cell atomically; its cost is written first, so that no cell lacks one.

        Parameters
        ----------
        address : str
            Address of the cell.
        files : dict of bytes
            Content of the cell's files by name.
        cost : dict
            Time and memory of the cell.
        """
        target = self.path / "cells" / address
        with _translate_errors(target):
            self._write_record(f"costs/{address}.json", cost)
            folder = self.path / ".new" / f"{address}.{os.getpid()}"
            try:
                folder.mkdir()
                for name, content in files.items():
                    write_new(folder / name, content)
                if os.path.lexists(target) and not is_intact(target):
                    remove_path(target)
                try:
                    folder.rename(target)
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another worker wrote the same cell first
                        raise
            finally:
                remove_path(folder)
            (self.path / "failures" / f"{address}.json").unlink(missing_ok=True)

    def write_failure(self, task: Task, reason: str) -> None:
        """Record why a cell failed.

        Parameters
        ----------
        task : Task
            Task of the cell.
        reason : str
            Error message.
        """
        record = {**dict(zip(KEY, task.key, strict=True)), "address": task.address, "reason": reason}
        self._write_record(f"failures/{task.address}.json", record)

    def write_data(self, digest: str, record: Mapping[str, Any]) -> None:
        """Record the counts, digests and audit of a fold.

        Parameters
        ----------
        digest : str
            Digest of the fold.
        record : dict
            Counts, digests and audit.
        """
        self._write_record(f"data/{digest}.json", record)

    def write_locations(self, locations: Mapping[str, Mapping[str, Path]]) -> None:
        """Record the paths of data sets; paths within this folder are relative, so that the folder can be moved.

        Parameters
        ----------
        locations : dict of dicts of path
            Path by data set and fold.
        """
        root = self.path.resolve()
        records = {
            data: {kind: str(p.relative_to(root) if (p := path.resolve()).is_relative_to(root) else p)
                   for kind, path in paths.items()}
            for data, paths in locations.items()
        }  # fmt: skip
        self._write_record("locations.json", {"locations": {**self.locations(), **records}})

    def locations(self) -> dict[str, dict[str, str]]:
        """Return the paths of each data set: its "store", and "built" if it was built from a collection."""
        file = self.path / "locations.json"
        return dict(read_record(file, "locations")["locations"]) if file.exists() else {}

    def has_data(self, digest: str) -> bool:
        """Return whether a fold is recorded.

        Parameters
        ----------
        digest : str
            Digest of the fold.
        """
        return (self.path / "data" / f"{digest}.json").is_file()

    def write_plan(self, experiment: Experiment | Mapping[str, Any], tasks: Sequence[Task],
                   digests: Mapping[tuple[str, str], str], command: str) -> None:  # fmt: skip
        """Add a plan and its cells; they replace earlier cells of the same keys and of changed data.

        Parameters
        ----------
        experiment : Experiment or dict
            Experiment of the plan, or its record.
        tasks : sequence of Task
            Tasks of all cells.
        digests : dict of str
            Digest by data set and fold.
        command : str
            Command that reproduces the plan.
        """
        stored = self._plan_file()
        keys, datasets = {task.key for task in tasks}, {data for data, _ in digests}
        kept_entries = [
            entry for entry in stored["cells"]
            if tuple(entry[name] for name in KEY) not in keys
            and (entry["data"] not in datasets or digests.get((entry["data"], entry["fold"])) == entry["digest"])
        ]  # fmt: skip
        new_entries = [
            {**dict(zip(KEY, task.key, strict=True)), "address": task.address,
             "digest": digests[task.data, task.fold]}
            for task in tasks
        ]  # fmt: skip
        plan = experiment.to_dict() if isinstance(experiment, Experiment) else dict(experiment)
        run = {"command": command, "plan": plan}
        runs = [entry for entry in stored["runs"] if entry != run] + [run]
        self._write_record("plan.json", {"runs": runs, "cells": sorted(kept_entries + new_entries, key=_sort_key)})

    def _write_record(self, name: str, record: Mapping[str, Any]) -> None:
        temporary = self.path / ".new" / f"{name.replace('/', '-')}.{os.getpid()}"
        with _translate_errors(self.path / name):
            try:
                write_new(temporary, dump_with_checksum(dict(record)))
                temporary.replace(self.path / name)
            finally:
                temporary.unlink(missing_ok=True)

    def has_cell(self, task: Task) -> bool:
        """Return whether the cell exists and is intact.

        Parameters
        ----------
        task : Task
            Task of the cell.
        """
        return is_intact(self.path / "cells" / task.address)

    # Reading

    def _plan_file(self) -> dict[str, Any]:
        file = self.path / "plan.json"
        return read_record(file, "plan") if file.exists() else {"runs": [], "cells": []}

    @cached_property
    def _entries(self) -> list[dict[str, Any]]:
        return list(self._plan_file()["cells"])

    @cached_property
    def cells(self) -> list[Cell]:
        """The finished cells of all plans, ordered by data, fold, ranker, convention and seed."""
        folders = [self.path / "cells" / entry["address"] for entry in self._entries]
        return [Cell.open(folder) for folder in folders if folder.is_dir()]

    def missing(self) -> list[dict[str, Any]]:
        """Return the plan entries of cells that failed or were not computed yet."""
        return [entry for entry in self._entries if not (self.path / "cells" / entry["address"]).is_dir()]

    def plan(self) -> dict[str, Any]:
        """Return the union of all plans, and the commands that were run."""
        runs = self._plan_file()["runs"]
        merged: dict[str, Any] = {name: _unique(entry[name] for entry in self._entries) for name in KEY}
        for name in ("tools", "measures", "select"):
            values = [run["plan"][name] for run in runs]
            merged[name] = _unique(v for value in values for v in ([value] if isinstance(value, str) else value))
        return {**merged, "cells": len(self._entries), "commands": [run["command"] for run in runs],
                "plans": [run["plan"] for run in runs]}  # fmt: skip

    @property
    def versions(self) -> dict[str, list[str]]:
        """The versions of each package that computed cells."""
        versions: dict[str, list[str]] = {}
        for cell in self.cells:
            for name, version in cell.record["versions"].items():
                if version not in versions.setdefault(name, []):
                    versions[name].append(version)
        return versions

    def leaderboard(
        self, measure: str = "NDCG@10", tool: str = "official", data: str | None = None, convention: str | None = None
    ) -> Leaderboard:
        """Return the leaderboard of a data set (by default the only one) under a measure and a tool.

        Parameters
        ----------
        measure : str, default 'NDCG@10'
            Name of a measure.
        tool : str, default 'official'
            Name of a tool.
        data : str, optional
            Name of a data set; may be omitted if there is only one.
        convention : str, optional
            Training convention; by default that of the plan.
        """
        from pippin.benchmarks.leaderboard import leaderboard

        names = sorted({entry["data"] for entry in self._entries})
        if data is None and len(names) != 1:
            raise DataError(f"choose a data set with data=; found {', '.join(names) or 'none'}", self.path)
        return leaderboard(self, data or names[0], measure, tool, convention=convention)

    def leaderboards(
        self,
        *,
        data: Sequence[str] | None = None,
        tool: str | Sequence[str] = "official",
        measure: str | Sequence[str] = "NDCG@10",
        convention: str | None = None,
        published: str | os.PathLike[str] | None = None,
        test: str = "t",
        correction: str = "holm",
        alpha: float = 0.05,
    ) -> Leaderboards:
        """Return all leaderboards of these results: LETOR's measures and the requested ones, on every data set.

        Parameters
        ----------
        data : sequence of str, default all
            Data sets to show.
        tool : str or sequence of str, default "official"
            Tools to show; the first is compared with all others. "all" stands for every tool of the results.
        measure : str or sequence of str, default "NDCG@10"
            Measures to show in full and under every tool.
        convention : str, optional
            Training convention, if the results have several.
        published : path, optional
            CSV file of published values with the columns dataset, ranker, measure and value.
        test : str, default "t"
            Significance test.
        correction : str, default "holm"
            Correction for multiple comparisons.
        alpha : float, default 0.05
            Significance level.

        Returns
        -------
        Leaderboards
            The boards, what every tool says, published values beside ours, and upper bounds of samples.

        Raises
        ------
        DataError
            If the folder is empty, or no published value belongs to these data sets and measures.
        UnknownName
            If a data set, tool, measure, test or correction does not exist.
        """
        from pippin.benchmarks.published import make_leaderboards

        return make_leaderboards(
            self, data=data, tool=tool, measure=measure, convention=convention, published=published, test=test,
            correction=correction, alpha=alpha,
        )  # fmt: skip

    @classmethod
    def watch(cls, path: str | os.PathLike[str], seconds: float = 2.0) -> Iterator[Results]:
        """Yield the results of a folder each time a cell has finished or failed, until none is missing.

        The folder is read every `seconds` seconds.

        Parameters
        ----------
        path : str or path
            Folder of results.
        seconds : float, default 2.0
            Time between two readings.
        """
        last_state: tuple[int, int, int] | None = None
        while True:
            results = cls.open(path)
            # Count the cells once: more may finish meanwhile.
            finished = len(results.cells)
            pending = results.plan()["cells"] - finished
            failed = sum(results._failure_file(entry).exists() for entry in results.missing())
            state = finished, pending, failed
            if state != last_state:
                last_state = state
                yield results
            if finished + pending and failed == pending:
                return
            time.sleep(seconds)

    def __repr__(self) -> str:
        failed = len(self.failures())
        parts = [f"{len(self.cells):,} of {len(self._entries):,} cells", *([f"{failed:,} failed"] if failed else [])]
        return f"Results({os.fspath(self.path)!r}: {', '.join(parts)})"

    def means(self) -> Table:
        """Return data, fold, ranker, convention, seed, tool, measure and mean of every cell."""
        return self._means

    @cached_property
    def _means(self) -> Table:
        rows = [
            (*key, tool, measure, mean)
            for cell in self.cells for key in (cell.key,)
            for tool, means in cell.record["means"].items() for measure, mean in means.items()
        ]  # fmt: skip
        return _cell_table(rows, tool=str, measure=str, mean=float)

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> Table:
        """Return the same columns with query and value; the value is null if the query does not count.

        Parameters
        ----------
        tools : sequence of str, optional
            Names of tools; by default all.
        measures : sequence of str, optional
            Names of measures; by default all.
        """
        import pyarrow

        filters = {name: tuple(names) for name, names in (("tool", tools), ("measure", measures)) if names is not None}
        if self._last_values is not None and self._last_values[0] == filters:
            return self._last_values[1]
        tables = [_add_key(select_rows(cell.values(), **filters), cell.key) for cell in self.cells]
        if not tables:
            return _cell_table([], tool=str, measure=str, query=str, value=float)
        table = pyarrow.concat_tables(tables).unify_dictionaries()
        self._last_values = filters, table
        return table

    def costs(self) -> Table:
        """Return the seconds to select (the whole grid), to train the selected point and to predict, and peak bytes.

        `…_processor_seconds` are processor time over all cores, the others wall-clock time.
        """
        seconds = dict.fromkeys((name for name in COSTS if name != "peak_bytes"), float)
        rows = []
        for cell in self.cells:
            cost = read_record(self.path / "costs" / f"{cell.address}.json", "cost")
            rows.append((*cell.key, *(cost[name] for name in (*seconds, "peak_bytes"))))
        return _cell_table(rows, **seconds, peak_bytes=int)

    def failures(self) -> Table:
        """Return the key and reason of every cell that failed."""
        files = [(entry, self._failure_file(entry)) for entry in self.missing()]
        rows = [
            (*(entry[name] for name in KEY), read_record(file, "failure")["reason"])
            for entry, file in files if file.exists()
        ]  # fmt: skip
        return _cell_table(rows, reason=str)

    def _failure_file(self, entry: Mapping[str, Any]) -> Path:
        return self.path / "failures" / f"{entry['address']}.json"

    def importances(self) -> Table:
        """Return the feature importances of the models that have them."""
        rows = [
            (*cell.key, feature, importance)
            for cell in self.cells for feature, importance in (cell.record["importance"] or {}).items()
        ]  # fmt: skip
        return _cell_table(rows, feature=str, importance=float)

    def _data(self) -> list[dict[str, Any]]:
        digests = _unique(entry["digest"] for entry in self._entries)
        return [read_record(self.path / "data" / f"{digest}.json", "data") for digest in digests]

    def datasets(self) -> Table:
        """Return a row per fold: digests, and counts of queries, documents and features of the fold and its parts."""
        rows = []
        for record in self._data():
            parts = record["parts"]
            row = {name: record[name] for name in ("data", "fold", "digest")}
            row |= {
                count: sum(part[count] for part in parts.values()) for count in ("queries", "documents", "relevant")
            }
            row["features"] = record["features"]
            row |= {f"{part}_{count}": counts[count] for part, counts in parts.items() for count in counts}
            row |= {f"{part}_digest": digest for part, digest in record["digests"].items()}
            rows.append(row)
        types = {name: type(value) for row in rows for name, value in row.items()}  # not every data set has all parts
        defaults = {name: "" if kind is str else None for name, kind in types.items()}
        return make_table([tuple((defaults | row).values()) for row in rows], **types)

    def audits(self) -> dict[str, dict[str, Any]]:
        """Return the audit of each data set: about, basis, findings, clean."""
        return {record["data"]: record["audit"] for record in self._data()}

    def ceilings(self) -> dict[str, Ceiling]:
        """Return the upper bounds of each data set that is a sample of a collection."""
        from pippin.benchmarks.leaderboard import Ceiling

        samples = {record["data"]: record["sampled"] for record in self._data() if "sampled" in record}
        return {data: Ceiling.from_dict(data, record) for data, record in samples.items()}

    def feature_names(self) -> dict[str, list[str]]:
        """Return the feature names of each data set."""
        return {record["data"]: record["feature_names"] for record in self._data()}

    def digest(self) -> str:
        """Return the SHA-256 of `cells` and `data`, which are the same bytes on every run."""
        hashed = hashlib.sha256()
        files = [file for name in ("cells", "data") for file in (self.path / name).rglob("*") if file.is_file()]
        for name, file in sorted((file.relative_to(self.path).as_posix(), file) for file in files):
            hashed.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
        return hashed.hexdigest()


def _sort_key(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """Order by key, with Fold10 after Fold2."""
    return entry["data"], len(entry["fold"]), *(entry[name] for name in KEY), entry["address"]


def _unique(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))


def _cell_table(rows: Sequence[tuple[Any, ...]], **columns: type) -> Table:
    """Return rows that begin with a cell's key as a table."""
    return make_table(rows, **dict.fromkeys(KEY[:-1], str), seed=int, **columns)


def _add_key(table: Table, key: Sequence[str | int]) -> Table:
    """Return a table with the key of its cell in the first columns."""
    import pyarrow

    columns = {
        name: pyarrow.array([value] * len(table), pyarrow.string()).dictionary_encode()
        if isinstance(value, str)
        else pyarrow.array(np.full(len(table), value))
        for name, value in zip(KEY, key, strict=True)
    }
    return pyarrow.table({**columns, **dict(zip(table.column_names, table.columns, strict=True))})
