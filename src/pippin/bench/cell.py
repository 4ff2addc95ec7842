"""One cell: select, train, score, evaluate under every tool; the files that are kept, as bytes, and what it cost.

The bytes depend on the task and on the data alone; times and memory are told apart from them.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import pippin
from pippin.bench.inputs import Parts
from pippin.bench.parquet import write_table
from pippin.bench.plan import Task, canonical
from pippin.bench.provenance import versions_of
from pippin.bench.records import KEY, cell_files
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, PippinError
from pippin.evaluation.evaluate import Column, Rankings, evaluate_rankings
from pippin.evaluation.tools import TOOLS
from pippin.machine import peak_memory, reset_peak_memory

if TYPE_CHECKING:
    from pippin.rankers.base import Ranker
    from pippin.rankers.selection import Selected

Columns = Mapping[str, Mapping[str, Column]]  # tool → measure → values


@dataclass(frozen=True)
class Computed:
    """What a cell's folder will hold, and what it cost."""

    files: Mapping[str, bytes]
    cost: Mapping[str, Any]


def compute(task: Task, parts: Parts) -> Computed:
    """Do all the work of one cell."""
    from pippin.rankers import models, ranker
    from pippin.rankers.selection import select

    check_versions(task)
    reset_peak_memory()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        watch = _Watch()
        chosen = select(
            ranker(task.ranker)(**task.parameters), parts.train, parts.vali,
            grid=task.grid, measure=task.select, convention=task.convention,
        )  # fmt: skip
        watch.lap("select")
        scores = chosen.ranker.predict(models.aligned(chosen.ranker, parts.test))
        watch.lap("predict")
    columns = evaluated(task, parts.test, scores)
    watch.lap("evaluate")
    files = {
        "values.parquet": _values(columns),
        "scores.parquet": _scores(parts.test, scores),
        **_model(chosen.ranker, task.digests["train"]),
    }
    trained = next(c for c in chosen.candidates if c.parameters == chosen.parameters)
    cost = {
        **dict(zip(KEY, task.key, strict=True)),
        **watch.laps,
        "train_seconds": trained.seconds,
        "train_processor_seconds": trained.processor_seconds,
        "peak_bytes": peak_memory(),
    }
    return Computed(cell_files(_record(task, chosen, columns, said), files), cost)


def cell_of_scores(task: Task, test: Dataset, scores: NDArray[np.float64]) -> dict[str, bytes]:
    """The files of a cell whose scores were computed elsewhere: nothing chosen, no model."""
    columns = evaluated(task, test, scores)
    record = {
        **json.loads(canonical(task.record())),
        "selected": {"parameters": {}, "value": None, "candidates": []},
        "means": {tool: {m: _number(c.mean) for m, c in by_measure.items()} for tool, by_measure in columns.items()},
        "importance": None,
        "warnings": [],
    }
    return cell_files(record, {"values.parquet": _values(columns), "scores.parquet": _scores(test, scores)})


class _Watch:
    """Seconds of the clock, and of the processor: what a process was at work, whatever else the machine did."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        """What went by since the last lap."""
        clock, processor = time.perf_counter(), time.process_time()
        self.laps |= {f"{name}_seconds": clock - self._clock, f"{name}_processor_seconds": processor - self._processor}
        self._clock, self._processor = clock, processor


def _record(task: Task, chosen: Selected, columns: Columns, said: Sequence[warnings.WarningMessage]) -> dict[str, Any]:
    """What cell.json holds."""
    return {
        **json.loads(canonical(task.record())),  # in one order, whatever order the options had
        "selected": _selection(chosen),
        "means": {tool: {m: _number(c.mean) for m, c in by_measure.items()} for tool, by_measure in columns.items()},
        "importance": _importance(chosen.ranker),
        "warnings": list(dict.fromkeys(str(warning.message) for warning in said if _is_own(warning))),
    }


def _is_own(warning: warnings.WarningMessage) -> bool:
    """Whether Pippin warns. Libraries do so when they are first imported, which is in another cell on every run."""
    is_pippin = Path(pippin.__file__).parent in Path(warning.filename).parents
    return is_pippin and issubclass(warning.category, UserWarning | RuntimeWarning)


def check_versions(task: Task) -> None:
    """Raise where this process has other code than the plan was made with, be it a stranger's."""
    here = versions_of(task)
    for name in {**task.versions, **here}:
        if task.versions.get(name) != here.get(name):
            planned = task.versions.get(name)
            raise PippinError(f"this worker has {name} {here.get(name)}, and the plan was made with {planned}")


def evaluated(task: Task, test: Dataset, scores: NDArray[np.float64]) -> Columns:
    """Every measure under every tool; what a tool cannot compute is left out."""
    rankings = Rankings(test, scores)
    columns: dict[str, dict[str, Column]] = {}
    for tool in task.tools:
        try:
            computed = evaluate_rankings(rankings, task.measures, TOOLS[tool], {}, task.ranker).columns
        except ConventionError:
            computed = tuple(_one_by_one(rankings, task, tool))
        columns[tool] = {column.asked: column for column in computed}
    return columns


def _one_by_one(rankings: Rankings, task: Task, tool: str) -> Iterator[Column]:
    for measure in task.measures:
        with suppress(ConventionError):
            yield from evaluate_rankings(rankings, [measure], TOOLS[tool], {}, task.ranker).columns


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _selection(chosen: Selected) -> dict[str, Any]:
    return {
        "parameters": chosen.parameters,
        "value": _number(chosen.value),
        "candidates": [{"parameters": c.parameters, "value": _number(c.value)} for c in chosen.candidates],
    }


def _importance(model: Ranker) -> dict[str, float] | None:
    try:
        return {feature: float(value) for feature, value in model.importance().items()}
    except DataError:
        return None


def _model(model: Ranker, data: str) -> dict[str, bytes]:
    """The model's file by its name; whoever exports it finds the training set where the results say it is."""
    from pippin.rankers import models

    arrays = any(isinstance(value, np.ndarray) for value in model._state().values())
    name = "model.safetensors" if arrays else "model.json"
    with tempfile.TemporaryDirectory() as folder:
        models.save(model, Path(folder) / name, data, sample=False)
        return {name: (Path(folder) / name).read_bytes()}


def _values(columns: Columns) -> bytes:
    """Tool, measure, query, value; null where a query does not count."""
    flat = [(tool, measure, column) for tool, by_measure in columns.items() for measure, column in by_measure.items()]
    values = np.concatenate([column.values for _, _, column in flat])
    return write_table({
        "tool": [tool for tool, _, column in flat for _ in column.query_ids],
        "measure": [measure for _, measure, column in flat for _ in column.query_ids],
        "query": [query for _, _, column in flat for query in column.query_ids],
        "value": values,
    })  # fmt: skip


def _scores(test: Dataset, scores: NDArray[np.float64]) -> bytes:
    queries = np.asarray(test.query_ids, object)[test.qid()]
    documents = [None] * len(test) if test.document_ids is None else list(test.document_ids)
    return write_table({"query": list(queries), "document": documents, "label": test.labels, "score": scores})
