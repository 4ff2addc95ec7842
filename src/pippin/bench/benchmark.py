"""Train and evaluate rankers on data sets in folds, and keep everything: the verb `pippin.bench`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from pippin.bench.plan import Experiment, first_seeds, read_plan
from pippin.bench.runner import run
from pippin.bench.store import Results
from pippin.errors import DataError
from pippin.machine import parse_size

Names = str | Sequence[str]


def bench(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] = "results",
    *,
    rankers: Names | None = None,
    conventions: Names | None = None,
    tools: Names | None = None,
    measures: Names | None = None,
    select: str | None = None,
    folds: int | None = None,
    sample: int | None = None,
    vali: float | None = None,
    seeds: int | None = None,
    quick: bool = False,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    grids: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    imports: Names | None = None,
    models: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    dask: str | None = None,
    allow_leak: bool = False,
    allow_one_fold: bool = False,
    check: bool = True,
    verbose: bool = False,
) -> Results:
    """Bench rankers: hyper-parameters on validation, all folds, all tools. What is done is never computed again.

    data            folders with folds, files with features, collections; or one plan.toml, over which arguments win
    output          the folder of the results, new or to go on with
    rankers, tools  names, or "all", which is what is done unless they are given; rankers whose extras are not installed
                    are then left out, with a warning
    conventions     the tools under whose rules training looks at measures
    measures        what is evaluated
    select          the measure that chooses hyper-parameters on validation
    folds, sample   folds of a plain file or a collection; documents per query of a collection
    vali            share of the training queries to validate on, where a folder has no validation part
    seeds           how many
    quick           small grids and few rounds, for a first look
    parameters      ranker → parameter → value: fixed
    grids           ranker → parameter → values to choose from
    imports         modules that register what is not Pippin's own
    models          a folder with models of other programs, which score the test queries of every fold as they are
    jobs, memory    cells at a time, and bytes (or "8G") for all of them
    dask            a scheduler's address, or "local"
    check           whether published data sets are compared with their known counts

    The Results know what failed (`failures`), and give leaderboards (`leaderboard`) and frames.

    >>> import numpy, pippin, tempfile
    >>> from pippin.data.letor import write_letor
    >>> X, place = numpy.random.default_rng(0).normal(size=(60, 3)), tempfile.mkdtemp()
    >>> write_letor(pippin.Dataset.from_arrays(X, X[:, 0] > 0, group=[4] * 15), f"{place}/all.txt")
    >>> results = pippin.bench(f"{place}/all.txt", f"{place}/results", rankers="regression", tools="letor4", quick=True)
    >>> results.leaderboard("NDCG@3", tool="letor4").best
    'regression'
    """
    given = {
        "rankers": _names(rankers), "conventions": _names(conventions), "tools": _names(tools),
        "measures": _names(measures), "select": select, "folds": folds, "sample": sample, "vali": vali,
        "seeds": None if seeds is None else first_seeds(seeds), "quick": quick or None, "parameters": parameters,
        "grids": grids, "imports": _names(imports),
    }  # fmt: skip
    experiment = _experiment(data, {key: value for key, value in given.items() if value is not None})
    if experiment.left_out:
        warnings.warn(experiment.left_out, stacklevel=2)
    if models is not None:
        from pippin.bench.foreign import with_models

        experiment = with_models(experiment, models)
    bytes_ = parse_size(memory) if isinstance(memory, str) else memory
    executor = None
    if dask is not None:
        from pippin.bench.dask.cluster import on_dask

        executor = on_dask(dask, jobs, bytes_)
    return run(
        experiment, output, jobs=jobs, memory=bytes_, allow_leak=allow_leak, allow_one_fold=allow_one_fold,
        check=check, command="pippin.bench", verbose=verbose, executor=executor,
    ).results  # fmt: skip


def _names(names: Names | None) -> tuple[str, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


def _experiment(data: Any, given: dict[str, Any]) -> Experiment:
    """The plan that the arguments describe, or a plan file with the arguments on top."""
    paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    texts = tuple(os.fspath(path) for path in paths)
    if not any(text.endswith(".toml") for text in texts):
        return Experiment(texts, **given)
    if len(texts) > 1:
        raise DataError("a plan names its data itself, so it stands alone", texts[0])
    return read_plan(texts[0]).changed(**given)
