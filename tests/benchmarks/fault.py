"""Write results and fold stores and die at a chosen write; started by `test_faults` with the fault-injection library.

`python -m tests.benchmarks.fault FOLDER WORK` prints the count of moments, and what went wrong at which, for each
kind of fault. Every attempt is a child of its own, forked when all modules are loaded.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.benchmarks.small import whole

from pippin.benchmarks.inputs import Input, cache_folds
from pippin.benchmarks.plan import Experiment, Task
from pippin.benchmarks.records import Cell, cell_files
from pippin.benchmarks.store import Results
from pippin.data.folds import make_folds, write_folds
from pippin.errors import PippinError

HOWS = {"kill": 1, "torn": 2, "read-only": 3, "full": 4}
FOLDS = [("d", f"Fold{i}", {"train": "a", "vali": "b", "test": "c"}) for i in (1, 2)]
shim: Any = ctypes.CDLL(None)


@cache
def make_plan() -> tuple[Experiment, tuple[Task, ...]]:
    """Four cells, and their plan; made once, because their identity is that of all code."""
    experiment = Experiment(("d",), rankers=("best-feature", "regression"), tools=("official",), measures=("MAP",))
    return experiment, tuple(experiment.tasks(FOLDS))


def write_results(folder: Path) -> str:
    """Write what a bench writes: the folder, data records, a plan, repaired failures and four cells."""
    experiment, tasks = make_plan()
    results = Results.create(folder)
    with results.lock():
        parts = {part: {"queries": 1, "documents": 2, "relevant": 1} for part in ("train", "vali", "test")}
        for data, fold, digests in FOLDS:
            if not results.has_data(fold.lower()):
                results.write_data(fold.lower(), {
                    "data": data, "fold": fold, "digest": fold.lower(), "features": 1, "feature_names": ["1"],
                    "parts": parts, "digests": digests, "audit": {},
                })  # fmt: skip
        results.write_plan(experiment, tasks, {(data, fold): fold.lower() for data, fold, _ in FOLDS}, "command")
        for task in tasks:
            if not results.has_cell(task):
                results.write_failure(task, "not yet")
                record = {**json.loads(json.dumps(task.to_dict())), "selected": {"parameters": {}, "value": 0.5},
                          "means": {"official": {"MAP": 0.5}}, "importance": None, "warnings": []}  # fmt: skip
                files = {"values.parquet": b"v" * 9000, "scores.parquet": b"s" * 500, "model.json": b"{}"}
                results.write_cell(task.address, cell_files(record, files), dict.fromkeys(("x", "y"), 1.0))
    return results.digest()


def look_at_results(folder: Path) -> None:
    """Check that everything readable is complete."""
    results = Results.open(folder)
    for cell in results.cells:
        Cell.open(cell.path).verify()
    results.missing()


def write_store(folder: Path) -> str:
    """Write the store of folds that a bench makes of text outside the folder."""
    source = Input("small", "folder", str(folder.parent / "text"))
    folds, _ = cache_folds(source, folder)
    return "".join(digest for parts in folds.digests.values() for digest in parts.values())


def look_at_store(folder: Path) -> None:
    """Half a store is made again, which `write_store` does."""


WORKS: dict[str, tuple[Callable[[Path], str], Callable[[Path], None]]] = {
    "results": (write_results, look_at_results), "store": (write_store, look_at_store),
}  # fmt: skip


def child(work: Callable[[], Any]) -> tuple[int, Any]:
    """Do it in a process of its own: how it ended (0, or its signal), and what it said."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        try:
            result = work()
        except PippinError as error:
            result = f"sentence: {error}"
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), json.loads(content) if content else ""


def make_failing_task(work: Callable[[Path], str], folder: Path, at: int, how: int) -> Callable[[], Any]:
    def run() -> Any:
        shim.fault_arm(str(folder).encode(), ctypes.c_long(at), how)
        result = work(folder)
        calls = [shim.fault_tearable(ctypes.c_long(call)) for call in range(shim.fault_count())]
        shim.fault_arm(b"", ctypes.c_long(-1), 0)
        return [result, calls]

    return run


def try_every_write(name: str, how: str, root: Path) -> dict[str, Any]:
    """Fail at each write in turn."""
    work, look = WORKS[name]
    _, (expected, calls) = child(make_failing_task(work, root / f"quiet-{how}", -1, 0))
    wrong = []
    moments = range(0, len(calls), 1 if how == "kill" else 4)  # from when on a disk fails is less delicate
    for at in [call for call, tears in enumerate(calls) if tears] if how == "torn" else moments:
        folder = root / f"{how}-{at}"
        status, result = child(make_failing_task(work, folder, at, HOWS[how]))
        if how in ("kill", "torn"):
            ended = status == -signal.SIGKILL
        else:  # a sentence, or all was there already and nothing was lost
            ended = status == 0 and (result[:9] == "sentence:" or result[0] == expected)
        observed, again = child(partial(look, folder)), child(partial(work, folder))
        readable = observed[0] == 0 and (observed[1] is None or observed[1].startswith("sentence: "))
        if not (ended and readable and again == (0, expected)):
            wrong.append([at, status, result, observed, again])
        shutil.rmtree(folder, ignore_errors=True)
    return {"moments": sum(calls) if how == "torn" else len(moments), "wrong": wrong}


def main() -> None:
    root, name = Path(sys.argv[1]), sys.argv[2]
    root.mkdir()
    make_plan()
    write_folds(make_folds(whole(15), 3), root / "text")
    outcomes = {method: try_every_write(name, method, root) for method in HOWS}
    _, finished = child(make_failing_task(WORKS[name][0], root / "quiet-kill", 0, HOWS["read-only"]))
    json.dump({"outcomes": outcomes, "finished": finished}, sys.stdout)


if __name__ == "__main__":
    main()
