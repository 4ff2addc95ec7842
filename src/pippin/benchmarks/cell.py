"""Compute one cell: select parameters, train, score the test part, and evaluate under every tool.

The files of a cell depend on the task and the data only; times and memory are returned apart from them.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import pippin
from pippin.benchmarks.data_checks import check_digests
from pippin.benchmarks.inputs import FoldRef, Parts, open_folds
from pippin.benchmarks.plan import Task, sort_keys
from pippin.benchmarks.provenance import task_versions
from pippin.benchmarks.records import KEY, cell_files, write_table
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.errors import ConventionError, DataError, PippinError
from pippin.evaluation.evaluation import MeasureResult, RankingCache, evaluate_rankings
from pippin.evaluation.tools import TOOLS
from pippin.plugins import load_modules
from pippin.system import peak_memory, reset_peak_memory

if TYPE_CHECKING:
    from pippin.rankers.base import Ranker
    from pippin.rankers.training import SelectionResult

Columns = Mapping[str, Mapping[str, MeasureResult]]  # tool → measure → values


@dataclass(frozen=True)
class Job:
    """A task and the locations of its data."""

    task: Task
    fold: FoldRef
    documents: int  # in the training part
    sources: Mapping[str, FoldRef] = field(default_factory=dict)  # of those `task.sources` that are not plain files

    def to_dict(self) -> dict[str, Any]:
        """Return the job as a JSON record."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Job:
        """Return the job of a JSON record."""
        sources = {name: FoldRef.from_dict(source) for name, source in record["sources"].items()}
        task, fold = Task.from_dict(record["task"]), FoldRef.from_dict(record["fold"])
        return cls(task, fold, record["documents"], sources)

    @cached_property
    def weight(self) -> float:
        """A rough estimate of the time, to start the longest jobs first: grid points × rounds × documents."""
        from pippin.rankers import ranker
        from pippin.rankers.chains import estimate_cost

        parameters = ranker(self.task.ranker)().get_params() | dict(self.task.parameters)
        points = math.prod(map(len, self.task.grid.values()))
        return estimate_cost(self.task.ranker, parameters, self.task.grid) * points * self.documents


@dataclass(frozen=True)
class CellFiles:
    """The files of a cell's folder by name, and the time and memory that the cell took."""

    files: Mapping[str, bytes]
    cost: Mapping[str, Any]


def make_job(task: Task, fold: FoldRef, documents: int, refs: Mapping[str, FoldRef]) -> Job | None:
    """Return the job of a task with its transfer sources resolved; None where a data set would be its own source.

    A parameter ``…__source_data`` names a data set of the experiment or a file.
    """
    values = (value for key, value in task.parameters.items() if key.endswith("__source_data"))
    names = [str(value) for value in values if value is not None]
    if task.data in names:
        return None
    sources = {name: refs[name] for name in names if name in refs}
    digests = {name: _source_digest(name, sources.get(name)) for name in names}
    return Job(replace(task, sources=digests), fold, documents, sources)


@cache
def _source_digest(name: str, ref: FoldRef | None) -> str:
    return digest(_read_source(name, ref))


def _read_source(name: str, ref: FoldRef | None, expected: str | None = None) -> Dataset:
    """Return all queries of a source data set, from its store or from a file."""
    from pippin.rankers.steps.transfer import load_source

    source = load_source(name, None) if ref is None else open_folds(ref).data
    if expected is not None and digest(source) != expected:
        raise DataError("the source data set differs from that of the plan", name)
    return source


@lru_cache(maxsize=2)
def load_fold(ref: FoldRef, digests: tuple[tuple[str, str], ...]) -> Parts:
    """Read a fold and check its digests; the last two are cached because consecutive cells share their fold."""
    parts = ref.read()
    check_digests(ref, parts, dict(digests))
    return parts


_cell_lock = threading.Lock()  # a worker may have several threads, and warnings and memory belong to one cell


def compute_job(job: Job, modules: Sequence[str] = ()) -> CellFiles:
    """Compute the cell of a job, after importing the plugin modules that it needs."""
    from pippin.rankers.steps.transfer import register_source

    load_modules(modules)
    with _cell_lock:
        for name, expected in job.task.sources.items():
            if name in job.sources:
                register_source(name, partial(_read_source, name, job.sources[name], expected))
            else:
                _read_source(name, None, expected)
        return compute_cell(job.task, load_fold(job.fold, tuple(job.task.digests.items())))


def describe_error(error: BaseException) -> str:
    """Return why a cell failed as one sentence.

    >>> describe_error(MemoryError()), describe_error(KeyError("x"))
    ('out of memory', "KeyError: 'x'")
    """
    if isinstance(error, MemoryError):
        return "out of memory"
    return str(error) if isinstance(error, PippinError) else f"{type(error).__name__}: {error}"


def compute_cell(task: Task, parts: Parts) -> CellFiles:
    """Select parameters, train, score the test part and evaluate under every tool."""
    from pippin.rankers import models, ranker
    from pippin.rankers.training import select

    check_versions(task)
    reset_peak_memory()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = _Stopwatch()
        selection = select(
            ranker(task.ranker)(**task.parameters), parts.train, parts.vali,
            grid=task.grid, measure=task.select, convention=task.convention,
        )  # fmt: skip
        watch.lap("select")
        scores = selection.ranker.predict(models.align_features(selection.ranker, parts.test))
        watch.lap("predict")
    columns = evaluate_scores(task, parts.test, scores)
    watch.lap("evaluate")
    files = {
        "values.parquet": _values(columns),
        "scores.parquet": _scores(parts.test, scores),
        **_model(selection.ranker, task.digests["train"]),
    }
    trained = next(c for c in selection.candidates if c.parameters == selection.parameters)
    cost = {
        **dict(zip(KEY, task.key, strict=True)),
        **watch.laps,
        "train_seconds": trained.seconds,
        "train_processor_seconds": trained.processor_seconds,
        "peak_bytes": peak_memory(),
    }
    return CellFiles(cell_files(_record(task, selection, columns, caught), files), cost)


def cell_from_scores(task: Task, test: Dataset, scores: NDArray[np.float64]) -> dict[str, bytes]:
    """Return the files of a cell whose scores were computed elsewhere, without a model or selected parameters."""
    columns = evaluate_scores(task, test, scores)
    record = {
        **sort_keys(task.to_dict()),
        "selected": {"parameters": {}, "value": None, "candidates": []},
        "means": {tool: {m: _number(c.mean) for m, c in by_measure.items()} for tool, by_measure in columns.items()},
        "importance": None,
        "warnings": [],
    }
    return cell_files(record, {"values.parquet": _values(columns), "scores.parquet": _scores(test, scores)})


class _Stopwatch:
    """Wall-clock and processor seconds by name of a lap."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        """Record the seconds since the last lap."""
        clock, processor = time.perf_counter(), time.process_time()
        self.laps |= {f"{name}_seconds": clock - self._clock, f"{name}_processor_seconds": processor - self._processor}
        self._clock, self._processor = clock, processor


def _record(
    task: Task, selection: SelectionResult, columns: Columns, caught: Sequence[warnings.WarningMessage]
) -> dict[str, Any]:
    """Return the content of cell.json."""
    return {
        **sort_keys(task.to_dict()),  # the order of options must not change the bytes
        "selected": _selection(selection),
        "means": {tool: {m: _number(c.mean) for m, c in by_measure.items()} for tool, by_measure in columns.items()},
        "importance": _importance(selection.ranker),
        "warnings": list(dict.fromkeys(str(warning.message) for warning in caught if _is_from_pippin(warning))),
    }


def _is_from_pippin(warning: warnings.WarningMessage) -> bool:
    """Return whether a warning is from Pippin; libraries warn at their first import, which differs between runs."""
    is_pippin = Path(pippin.__file__).parent in Path(warning.filename).parents
    return is_pippin and issubclass(warning.category, UserWarning | RuntimeWarning)


def check_versions(task: Task) -> None:
    """Raise if the code of this process, plugins included, differs from that of the plan."""
    current = task_versions(task)
    for name in {**task.versions, **current}:
        if task.versions.get(name) != current.get(name):
            planned = task.versions.get(name)
            raise PippinError(f"this worker has {name} {current.get(name)}, but the plan was made with {planned}")


def evaluate_scores(task: Task, test: Dataset, scores: NDArray[np.float64]) -> Columns:
    """Evaluate every measure under every tool; measures that a tool cannot compute are left out."""
    rankings = RankingCache(test, scores)
    columns: dict[str, dict[str, MeasureResult]] = {}
    for tool in task.tools:
        try:
            computed = evaluate_rankings(rankings, task.measures, TOOLS[tool], {}, task.ranker).columns
        except ConventionError:
            computed = tuple(_evaluate_separately(rankings, task, tool))
        columns[tool] = {column.requested_name: column for column in computed}
    return columns


def _evaluate_separately(rankings: RankingCache, task: Task, tool: str) -> Iterator[MeasureResult]:
    for measure in task.measures:
        with suppress(ConventionError):
            yield from evaluate_rankings(rankings, [measure], TOOLS[tool], {}, task.ranker).columns


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _selection(selection: SelectionResult) -> dict[str, Any]:
    return {
        "parameters": selection.parameters,
        "value": _number(selection.value),
        "candidates": [{"parameters": c.parameters, "value": _number(c.value)} for c in selection.candidates],
    }


def _importance(model: Ranker) -> dict[str, float] | None:
    try:
        return {feature: float(value) for feature, value in model.importance().items()}
    except DataError:
        return None


def _model(model: Ranker, data: str) -> dict[str, bytes]:
    """Return the model's file by name, without a sample: `training_sample` finds the training set by the results."""
    from pippin.rankers import models

    arrays = any(isinstance(value, np.ndarray) for value in model._state().values())
    name = "model.safetensors" if arrays else "model.json"
    return {name: models.to_bytes(model, data, sample=False)}


def _values(columns: Columns) -> bytes:
    """Return a table of tool, measure, query and value (null if the query does not count)."""
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
