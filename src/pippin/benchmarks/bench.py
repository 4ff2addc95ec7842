"""Train and evaluate rankers on data sets in folds: the function `pippin.bench`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pippin.benchmarks.plan import (
    Experiment,
    first_seeds,
    merge_parameters,
    parse_parameters,
    read_plan,
    with_models,
)
from pippin.benchmarks.runner import BenchResult, Executor, run
from pippin.errors import DataError
from pippin.system import parse_size

Names = str | Sequence[str]
Parameters = Mapping[str, Mapping[str, Any]]


def bench(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] = "results",
    *,
    ranker: Names | None = None,
    convention: Names | None = None,
    tool: Names | None = None,
    measure: Names | None = None,
    select: str | None = None,
    folds: int | None = None,
    sample: int | None = None,
    vali: float | None = None,
    seeds: int | None = None,
    quick: bool = False,
    parameters: Parameters | Sequence[str] | None = None,
    grids: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    imports: Names | None = None,
    models: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    executor: Executor | None = None,
    allow_leak: bool = False,
    allow_one_fold: bool = False,
    check: bool = True,
    command: str = "pippin.bench",
    verbose: bool = False,
) -> BenchResult:
    """Train and evaluate rankers on data sets in folds, and store models, scores and values.

    Hyper-parameters are selected on the validation part of each fold. Cells that exist in `out` are not computed again,
    so the same call continues after an interruption or a failure.

    Parameters
    ----------
    data : path, name or sequence of them
        Folders with folds, files with features, collections (``NAME=PATH`` renames a data set), or one ``plan.toml``.
        Other arguments override the plan; `parameters` and `grids` are merged with those of the plan.
    out : path, default "results"
        Folder of the results, new or to continue.
    ranker : str or sequence of str, default "all"
        Rankers to train.
    convention : str or sequence of str, default "official"
        Tools under whose conventions training evaluates measures.
    tool : str or sequence of str, default "classic"
        Tools to evaluate under: names, groups such as "classic" (the tools that evaluate data sets), or "all".
    measure : str or sequence of str, default NDCG@1 … 10, P@1 … 10, MAP, MRR and ERR@10
        Measures to evaluate.
    select : str, default "MAP"
        Measure that selects hyper-parameters on the validation part.
    folds : int, default 5
        Number of folds of a plain file or a collection.
    sample : int, default 1000
        Documents per query of a collection.
    vali : float, optional
        Share of the training queries to validate on, for folders without a validation part.
    seeds : int, default 1
        Number of random seeds.
    quick : bool, default False
        Use small grids and few rounds, for a first look.
    parameters : mapping or sequence of str, optional
        Fixed parameters: ranker → parameter → value, or texts ``RANKER.NAME=VALUE``.
    grids : mapping, optional
        Ranker → parameter → values to select from.
    imports : str or sequence of str, optional
        Modules that register rankers, measures or tools.
    models : path, optional
        Folder with models of other programs, which score the test queries of every fold unchanged.
    jobs : int, default one per core
        Number of parallel jobs.
    memory : int or str, optional
        Memory for all jobs together, in bytes or as "8G".
    executor : Executor, optional
        Where cells are computed, such as a Dask cluster; by default in processes of this machine.
    allow_leak : bool, default False
        Continue although a training part contains test queries.
    allow_one_fold : bool, default False
        Continue although a data set has one fold.
    check : bool, default True
        Compare published data sets with their known counts.
    command : str, default "pippin.bench"
        Command to store with the plan.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    BenchResult
        The results, and the cells that were computed and that failed.

    Raises
    ------
    DataError
        If data are missing, leak or cannot be divided into folds, or if `out` is not a folder of results.
    UnknownName
        If a ranker, tool, measure or parameter does not exist; the message suggests the nearest name.

    Examples
    --------
    >>> import numpy, pippin, tempfile
    >>> from pippin.data.letor import write_letor
    >>> X, folder = numpy.random.default_rng(0).normal(size=(60, 3)), tempfile.mkdtemp()
    >>> write_letor(pippin.Dataset.from_arrays(X, X[:, 0] > 0, group=[4] * 15), f"{folder}/all.txt")
    >>> result = pippin.bench(f"{folder}/all.txt", f"{folder}/results", ranker="regression", tool="letor4", quick=True)
    >>> result.results.leaderboard("NDCG@3", tool="letor4").best
    'regression'
    """
    overrides = {
        "rankers": _names(ranker), "conventions": _names(convention), "tools": _names(tool),
        "measures": _names(measure), "select": select, "folds": folds, "sample": sample, "vali": vali,
        "seeds": None if seeds is None else first_seeds(seeds), "quick": quick or None,
        "parameters": parameters if parameters is None or isinstance(parameters, Mapping)
        else parse_parameters(parameters),
        "grids": grids, "imports": _names(imports) or None,
    }  # fmt: skip
    experiment = _experiment(data, {key: value for key, value in overrides.items() if value is not None})
    if models is not None:
        experiment = with_models(experiment, models)
    return run(
        experiment, out, jobs=jobs, memory=parse_size(memory) if isinstance(memory, str) else memory,
        allow_leak=allow_leak, allow_one_fold=allow_one_fold, check=check, command=command, verbose=verbose,
        executor=executor,
    )  # fmt: skip


def _names(names: Names | None) -> tuple[str, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


def _experiment(data: Any, overrides: dict[str, Any]) -> Experiment:
    """Return the experiment of the arguments, or that of a plan file with the arguments as overrides."""
    paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    texts = tuple(os.fspath(path) for path in paths)
    plans = [text for text in texts if text.endswith(".toml")]
    if not plans:
        return Experiment(texts, **overrides)
    if len(texts) > 1:
        raise DataError("a plan lists its own data sets; give no other data", plans[0])
    plan = read_plan(plans[0])
    for key in ("parameters", "grids"):
        if key in overrides:
            overrides[key] = merge_parameters(getattr(plan, key), overrides[key])
    return replace(plan, **overrides)
