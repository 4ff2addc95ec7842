"""Experiments, from options or a TOML file, and the tasks that they consist of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from pippin.benchmarks.provenance import task_versions, versions
from pippin.errors import DataError, UnknownName
from pippin.models.importers import detect_format
from pippin.plugins import load_modules
from pippin.plugins.modules import is_path
from pippin.rankers import chains
from pippin.rankers.chains import canonical, parse_stage_parameters
from pippin.rankers.models import read_bytes
from pippin.rankers.parameters import resolve_names

_CUTOFFS = range(1, 11)
MEASURES = (*(f"NDCG@{k}" for k in _CUTOFFS), *(f"P@{k}" for k in _CUTOFFS), "MAP", "MRR", "ERR@10")
EXPERIMENT_PARAMETERS = ("seed", "convention")  # parameters of rankers that are keys of the plan

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Task:
    """One cell to compute: everything that its result depends on."""

    data: str
    fold: str
    ranker: str
    convention: str  # the training convention
    seed: int
    select: str
    parameters: Mapping[str, Any]
    grid: Grid
    tools: tuple[str, ...]
    measures: tuple[str, ...]
    digests: Mapping[str, str]  # of train, vali and test
    versions: Mapping[str, str] = field(default_factory=versions)
    sources: Mapping[str, str] = field(default_factory=dict)  # data sets of transfer learning: name → digest

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """Data, fold, ranker, convention and seed."""
        return self.data, self.fold, self.ranker, self.convention, self.seed

    @cached_property
    def address(self) -> str:
        """SHA-256 of the record, which names the folder of the cell."""
        return hashlib.sha256(canonical_json(self.to_dict())).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the task as a JSON record."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Task:
        """Return the task of a JSON record."""
        lists = {name: tuple(record[name]) for name in ("tools", "measures")}
        return cls(**{**record, **lists})


def canonical_json(record: Any) -> bytes:
    """Return JSON bytes that are equal for equal content.

    >>> canonical_json({"b": 1, "a": (1.5, None)})
    b'{"a":[1.5,null],"b":1}'
    """
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def sort_keys(value: Any) -> Any:
    """Return JSON content with the keys of every object sorted.

    >>> sort_keys({"b": 1, "a": {"d": (1.5, None), "c": 2}})
    {'a': {'c': 2, 'd': [1.5, None]}, 'b': 1}
    """
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    return [sort_keys(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Experiment:
    """A grid of cells, validated on construction."""

    data: tuple[str, ...]
    folds: int = 5
    sample: int = 1000
    vali: float | None = None  # share of the training queries to validate on, for folders without a validation part
    rankers: tuple[str, ...] = ("all",)
    conventions: tuple[str, ...] = ("official",)
    tools: tuple[str, ...] = ("classic",)
    measures: tuple[str, ...] = MEASURES
    select: str = "MAP"
    seeds: tuple[int, ...] = (1,)
    quick: bool = False
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grids: Mapping[str, Grid] = field(default_factory=dict)
    imports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from pippin.evaluation.measures.notation import parse
        from pippin.evaluation.objective import resolve
        from pippin.evaluation.tools import GROUPS, TOOLS, tools_in_group
        from pippin.rankers import names, ranker

        load_modules(self.imports)
        if "all" in self.rankers:
            object.__setattr__(self, "rankers", tuple(names()))
        if "all" in self.tools:
            object.__setattr__(self, "tools", tuple(TOOLS))
        groups = [[t.name for t in tools_in_group(name)] if name in GROUPS else [name] for name in self.tools]
        object.__setattr__(self, "tools", tuple(name for group in groups for name in group))
        object.__setattr__(self, "rankers", tuple(chains.canonical(text) for text in self.rankers))
        for key in ("data", "rankers", "conventions", "tools", "measures", "seeds"):
            _check_list(key, getattr(self, key))
        for name in self.rankers:
            ranker(name)
        for tool in (*self.tools, *self.conventions):
            TOOLS[tool]
        for measure in self.measures:
            parse(measure)
        for convention in self.conventions:
            resolve(self.select, convention)
        self._check_parameters()

    def _check_parameters(self) -> None:
        from pippin.rankers import stage

        chain_parameters = {text: chains.parse_parameters(text) for text in self.rankers}
        for source in (self.parameters, self.grids, chain_parameters):
            for name, parameters in source.items():
                defaults = {key.removesuffix("_"): value for key, value in stage(name)().get_params().items()}
                for parameter in parameters:
                    if parameter.rpartition("__")[2] in EXPERIMENT_PARAMETERS:
                        raise DataError(f"{parameter} cannot be set for {name} alone; set {parameter}s of the plan")
                    if parameter not in defaults:
                        raise UnknownName(f"parameter of {name}", parameter, defaults)
        for name, grid in self.grids.items():
            for parameter, values in grid.items():
                if not isinstance(values, (list, tuple)) or not values:
                    raise DataError(f"the grid of {name} needs a list of values for {parameter}, found {values!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a JSON record."""
        return asdict(self)

    def tasks(self, folds: Iterable[tuple[str, str, Mapping[str, str]]]) -> Iterator[Task]:
        """Yield the tasks of folds given as (data, fold, digests), in the order of the plan.

        A ranker whose training does not evaluate a measure has one cell, under the first convention, and one without a
        parameter `seed` has one under the first seed.
        """
        for data, fold, digests in folds:
            for name in self.rankers:
                defaults, fixed, grid = self._settings(name)
                uses_convention = chains.uses_convention(defaults | fixed)
                for convention in self.conventions if uses_convention else self.conventions[:1]:
                    for seed in self.seeds if "seed" in defaults else self.seeds[:1]:
                        seeded = {"seed": seed, "convention": convention}
                        parameters = {**fixed, **{key: value for key, value in seeded.items() if key in defaults}}
                        task = Task(data, fold, name, convention, seed, self.select, parameters, grid, self.tools,
                                    self.measures, digests)  # fmt: skip
                        yield replace(task, versions=task_versions(task))

    def _settings(self, name: str) -> tuple[dict[str, Any], dict[str, Any], Grid]:
        """Return the default parameters of a ranker, the fixed ones, and the grid without the fixed ones."""
        from pippin.rankers import ranker

        cls = ranker(name)
        defaults = cls().get_params()
        base_name = chains.ranker_name(name)
        fixed = {
            **parse_stage_parameters(name, self.parameters), **self.parameters.get(base_name, {}),
            **self.parameters.get(name, {}), **chains.parse_parameters(name),
        }  # fmt: skip
        fixed = resolve_names(cls.name, fixed, defaults)
        grid = self.grids.get(name, self.grids.get(base_name))
        if self.quick:
            fixed = {**_limit_parameters(defaults, cls.small_limits), **fixed}
        if grid is None:
            grid = _grid(name, cls.small_grid if self.quick else cls.grid, self.grids)
        return defaults, fixed, {key: list(values) for key, values in grid.items() if key not in fixed}


_KEYS = tuple(f.name for f in fields(Experiment))


def _grid(name: str, default_grid: Grid, grids: Mapping[str, Grid]) -> Grid:
    """Return the grid of a ranker or chain; grids of the plan replace those of the stages that they name."""
    stage_grids = parse_stage_parameters(name, grids)
    if not stage_grids:
        return default_grid
    stages = {key.split("__", 1)[0] for key in stage_grids}
    return {
        **{key: values for key, values in default_grid.items() if key.split("__", 1)[0] not in stages},
        **stage_grids,
    }


def _limit_parameters(defaults: Mapping[str, Any], limits: Mapping[str, int]) -> dict[str, Any]:
    """Return the parameters that the quick profile limits.

    >>> _limit_parameters({"rounds": 500, "num_leaves": None, "seed": 1}, {"rounds": 100, "num_leaves": 25})
    {'rounds': 100, 'num_leaves': 25}
    """
    return {key: limit for key, limit in limits.items() if key in defaults and (defaults[key] or limit + 1) > limit}


def _check_list(key: str, values: Sequence[Any]) -> None:
    if not values:
        raise DataError(f"{key} must not be empty")
    if len(set(values)) != len(values):
        repeated = next(value for i, value in enumerate(values) if value in values[:i])
        raise DataError(f"{key} of the plan contain {repeated} twice")


def read_plan(path: str | os.PathLike[str]) -> Experiment:
    """Read the experiment of a TOML file, whose keys are the fields of `Experiment`."""
    import tomllib

    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"invalid TOML: {error}", path) from None
    try:
        return Experiment(**_parse_plan(content, file.parent))
    except DataError as error:
        raise DataError(error.message, path) from None


def _parse_plan(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the keys of a plan as the fields of an experiment, with paths relative to the folder of the plan."""
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _KEYS:
            raise UnknownName("key of a plan", key, _KEYS)
        values[key] = _parse_value(key, value)
    if "data" not in values:
        raise DataError("the plan lacks data")
    values["data"] = tuple(_resolve_path(folder, text) for text in values["data"])
    imports = values.get("imports", ())
    values["imports"] = tuple(_resolve_path(folder, text) if is_path(text) else text for text in imports)
    return values


_TYPES: Mapping[str, tuple[type, str]] = {
    "folds": (int, "an integer"), "sample": (int, "an integer"), "vali": (float, "a number such as 0.25"),
    "select": (str, "a measure"), "quick": (bool, "true or false"),
    "parameters": (dict, "tables [parameters.RANKER]"), "grids": (dict, "tables [grids.RANKER]"),
}  # fmt: skip


def _parse_value(key: str, value: Any) -> Any:
    if key in _TYPES:
        expected, description = _TYPES[key]
        is_valid = type(value) is expected
        if is_valid and expected is dict:
            is_valid = all(isinstance(table, dict) for table in value.values())
        if not is_valid:
            raise DataError(f"{key} must be {description}, found {value!r}")
        return value
    if key == "seeds" and type(value) is int:
        return first_seeds(value)
    values = [value] if isinstance(value, str) and key != "seeds" else value
    item_type = int if key == "seeds" else str
    if not isinstance(values, list) or not all(type(item) is item_type for item in values):
        raise DataError(f"{key} must be a list of {'integers' if item_type is int else 'names'}, found {value!r}")
    return tuple(values)


def merge_parameters(
    first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the parameters of both by ranker; the second overrides the first.

    >>> merge_parameters({"regression": {"lambda_l2": 5}}, {"regression": {"a": 1}, "mart": {"rounds": 9}})
    {'regression': {'lambda_l2': 5, 'a': 1}, 'mart': {'rounds': 9}}
    """
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in {**first, **second}}


def parse_parameters(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return fixed parameters by ranker.

    >>> parse_parameters(["lambdamart.rounds=300", "frank.stump_selection=loss"])
    {'lambdamart': {'rounds': 300}, 'frank': {'stump_selection': 'loss'}}
    """
    parameters: dict[str, dict[str, Any]] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        name, dot, parameter = path.partition(".")
        if not equals or not dot:
            raise DataError(f"invalid parameter {text!r}; write RANKER.NAME=VALUE")
        parameters.setdefault(name, {})[parameter] = chains.parse_literal(value)
    return parameters


def first_seeds(count: int) -> tuple[int, ...]:
    """Return the seeds 1 … count."""
    return tuple(range(1, count + 1))


def _resolve_path(folder: Path, text: str) -> str:
    """Return ``[NAME=]PATH`` with a path that exists in the folder of the plan; other texts are names."""
    name, equals, path = text.rpartition("=")
    return name + equals + (str(folder / path) if (folder / path).exists() else path)


def with_models(experiment: Experiment, folder: str | os.PathLike[str]) -> Experiment:
    """Return the experiment with the models of a folder as additional rankers."""
    names, parameters = models_in(folder)
    return replace(
        experiment, rankers=(*experiment.rankers, *names), parameters={**experiment.parameters, **parameters}
    )


def models_in(folder: str | os.PathLike[str]) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Return a ranker ``imported(file=…)`` per model of a folder, and its parameters, which hold the digest.

    A model scores the test queries of every fold unchanged, so it must not have been trained on them.
    """
    if not Path(folder).is_dir():
        raise DataError("the folder of models does not exist", folder)
    parameters = {}
    for file in sorted(Path(folder).iterdir()):
        if not file.is_file() or file.name.startswith(".") or file.name.endswith(".parity.json"):
            continue
        content = read_bytes(file)
        if detect_format(content) is None:
            raise DataError("unknown model format; remove the file from the folder of models", file)
        if set(str(file)) & set("(),="):
            raise DataError("the path of a model must not contain brackets, commas or equals signs", file)
        parameters[canonical(f"imported(file={file})")] = {"digest": sha256(content).hexdigest()}
    if not parameters:
        raise DataError("this folder has no models", folder)
    return tuple(parameters), parameters
