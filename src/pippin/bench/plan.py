"""What is to be computed: an experiment, from options or a TOML file, and its cells in their order.

A plan file has these keys, all but `data` optional:

    data = ["OHSUMED", "mine=folder/with/folds", "all.txt"]   # paths from the plan's folder, or names of collections
    folds = 5                        # how many are made of a plain file or a collection
    sample = 1000                    # documents per query of a collection that is built
    vali = 0.25                      # share of the training queries to validate on, of folders without such a part
    rankers = "all"                  # that this install can train, or a list of names
    conventions = ["official"]       # whose measures training and selection look at
    tools = "classic"                # under whose conventions results are evaluated: a group, "all", or a list
    measures = ["NDCG@10", "MAP"]    # default: NDCG@1 … 10, P@1 … 10, MAP, MRR, ERR@10
    select = "MAP"                   # the measure that chooses hyper-parameters on the validation part
    seeds = 1                        # how many, or a list of them
    quick = false                    # small grids and few rounds, for a first look
    imports = ["my_rankers"]         # modules, or paths of their files, that register rankers, measures … of your own
    [parameters.lambdamart]          # fixed parameters of one ranker
    rounds = 300
    [grids.ranksvm]                  # what is tried on validation instead of the ranker's own grid
    C = [0.01, 0.1, 1.0]
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pippin.bench.provenance import versions, versions_of
from pippin.errors import DataError, UnknownName
from pippin.extras import lacking, missing_extra
from pippin.plugins import is_path, load_modules
from pippin.rankers import written
from pippin.rankers.composing import stage_settings

TEN = range(1, 11)
MEASURES = (*(f"NDCG@{k}" for k in TEN), *(f"P@{k}" for k in TEN), "MAP", "MRR", "ERR@10")
PLANNED = ("seed", "convention")  # parameters of rankers that belong to the plan

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Task:
    """One cell to compute: everything that its result depends on, and so its address."""

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

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What a cell is called: data, fold, ranker, convention, seed."""
        return self.data, self.fold, self.ranker, self.convention, self.seed

    @cached_property
    def address(self) -> str:
        """SHA-256 of the record: the name of the cell's folder."""
        return hashlib.sha256(canonical(self.record())).hexdigest()

    def record(self) -> dict[str, Any]:
        """The task as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Task:
        """Undo `record`."""
        lists = {name: tuple(record[name]) for name in ("tools", "measures")}
        return cls(**{**record, **lists})


def canonical(record: Any) -> bytes:
    """JSON with one spelling for one content.

    >>> canonical({"b": 1, "a": (1.5, None)})
    b'{"a":[1.5,null],"b":1}'
    """
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Experiment:
    """A grid of cells, checked when it is made."""

    data: tuple[str, ...]
    folds: int = 5
    sample: int = 1000
    vali: float | None = None  # share of the training queries to validate on, where a folder has no validation part
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
    left_out: str = ""  # a sentence on the rankers that "all" would mean, were their extras here; no key of a plan

    def __post_init__(self) -> None:
        from pippin.evaluation.notation import parse
        from pippin.evaluation.objective import resolve
        from pippin.evaluation.tools import GROUPS, TOOLS, named
        from pippin.rankers import ranker

        load_modules(self.imports)
        if "all" in self.rankers:
            here, left_out = all_trainable()
            object.__setattr__(self, "rankers", here)
            object.__setattr__(self, "left_out", left_out)
        if "all" in self.tools:
            object.__setattr__(self, "tools", tuple(TOOLS))
        groups = [[t.name for t in named(name)] if name in GROUPS else [name] for name in self.tools]
        object.__setattr__(self, "tools", tuple(name for group in groups for name in group))
        object.__setattr__(self, "rankers", tuple(written.canonical(text) for text in self.rankers))
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

        inside = {text: written.settings(text) for text in self.rankers}
        for kind in (self.parameters, self.grids, inside):
            for name, given in kind.items():
                known = {key.removesuffix("_"): value for key, value in stage(name)().get_params().items()}
                for parameter in given:
                    if parameter.rpartition("__")[2] in PLANNED:
                        raise DataError(f"{parameter} of {name} is the plan's own: use its {parameter}s")
                    if parameter not in known:
                        raise UnknownName(f"parameter of {name}", parameter, known)
        for name, grid in self.grids.items():
            for parameter, values in grid.items():
                if not isinstance(values, (list, tuple)) or not values:
                    raise DataError(f"the grid of {name} needs a list of values for {parameter}, not {values!r}")

    def changed(self, **given: Any) -> Experiment:
        """The plan with other fields; what it left out was left out of its own rankers."""
        return replace(self, **({"left_out": "", **given} if "rankers" in given else given))

    def record(self) -> dict[str, Any]:
        """The plan as JSON can hold it."""
        return {name: value for name, value in asdict(self).items() if name in _KEYS}

    def tasks(self, folds: Iterable[tuple[str, str, Mapping[str, str]]]) -> Iterator[Task]:
        """Every cell over the folds given as (data, fold, digests), in the order of the plan.

        A ranker whose training looks at no measure is the same under every convention, and one without a seed for
        every seed: each has one cell, under the first.
        """
        for data, fold, digests in folds:
            for name in self.rankers:
                known, fixed, grid = self._settings(name)
                for convention in self.conventions if "convention" in known else self.conventions[:1]:
                    for seed in self.seeds if "seed" in known else self.seeds[:1]:
                        planned = {"seed": seed, "convention": convention}
                        parameters = {**fixed, **{key: value for key, value in planned.items() if key in known}}
                        task = Task(data, fold, name, convention, seed, self.select, parameters, grid, self.tools,
                                    self.measures, digests)  # fmt: skip
                        yield replace(task, versions=versions_of(task))

    def _settings(self, name: str) -> tuple[dict[str, Any], dict[str, Any], Grid]:
        """A ranker's parameters with their defaults, those fixed, and the grid; what is fixed is not tried."""
        from pippin.rankers import ranker

        cls = ranker(name)
        known = cls().get_params()
        plain = written.plain_name(name)
        fixed = {
            **stage_settings(name, self.parameters), **self.parameters.get(plain, {}), **self.parameters.get(name, {}),
            **written.settings(name),
        }  # fmt: skip
        grid = self.grids.get(name, self.grids.get(plain))
        if self.quick:
            fixed = {**_limited(known, cls.quick_limits), **fixed}
        if grid is None:
            grid = _grid(name, cls.quick_grid if self.quick else cls.grid, self.grids)
        return known, fixed, {key: list(values) for key, values in grid.items() if key not in fixed}


_KEYS = {one.name: one for one in fields(Experiment) if one.name != "left_out"}  # of a plan


def all_trainable() -> tuple[tuple[str, ...], str]:
    """The rankers that this install can train, and a sentence on the others."""
    from pippin.rankers import names, ranker

    missing = {name: lacking(*ranker(name).needs) for name in names()}
    here = tuple(name for name, modules in missing.items() if not modules)
    others = [name for name in missing if name not in here]
    if not others:
        return here, ""
    why = missing_extra("their training", *dict.fromkeys(module for modules in missing.values() for module in modules))
    return here, f"Left out: {', '.join(others)}, as {why}; the same command then adds them."


def _grid(name: str, usual: Grid, grids: Mapping[str, Grid]) -> Grid:
    """The usual grid of a ranker or chain; a stage of a chain whose name has a grid in the plan is tried by that."""
    given = stage_settings(name, grids)
    if not given:
        return usual
    stages = {key.split("__", 1)[0] for key in given}
    return {**{key: values for key, values in usual.items() if key.split("__", 1)[0] not in stages}, **given}


def _limited(known: Mapping[str, Any], limits: Mapping[str, int]) -> dict[str, Any]:
    """The parameters that the quick profile cuts.

    >>> _limited({"rounds": 500, "patience": None, "seed": 1}, {"rounds": 100, "patience": 25, "passes": 5})
    {'rounds': 100, 'patience': 25}
    """
    return {key: most for key, most in limits.items() if key in known and (known[key] or most + 1) > most}


def _check_list(key: str, values: Sequence[Any]) -> None:
    if not values:
        raise DataError(f"the plan names no {key}")
    if len(set(values)) != len(values):
        again = next(value for i, value in enumerate(values) if value in values[:i])
        raise DataError(f"the plan names {again} twice among its {key}")


def read_plan(path: str | os.PathLike[str]) -> Experiment:
    """The experiment of a TOML file; the module says which keys there are."""
    import tomllib

    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"this is no TOML: {error}", path) from None
    try:
        return Experiment(**_fitted(content, file.parent))
    except DataError as error:
        raise DataError(error.message, path) from None


def _fitted(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The keys of a plan as the fields of an experiment."""
    fitted: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _KEYS:
            raise UnknownName("key of a plan", key, _KEYS)
        fitted[key] = _value(key, value)
    if "data" not in fitted:
        raise DataError("the plan names no data")
    fitted["data"] = tuple(_beside(folder, text) for text in fitted["data"])
    fitted["imports"] = tuple(_beside(folder, text) if is_path(text) else text for text in fitted.get("imports", ()))
    return fitted


_KINDS: Mapping[str, tuple[type, str]] = {
    "folds": (int, "a whole number"), "sample": (int, "a whole number"), "vali": (float, "a number such as 0.25"),
    "select": (str, "a measure"), "quick": (bool, "true or false"),
    "parameters": (dict, "tables [parameters.RANKER]"), "grids": (dict, "tables [grids.RANKER]"),
}  # fmt: skip


def _value(key: str, value: Any) -> Any:
    if key in _KINDS:
        kind, words = _KINDS[key]
        nested = kind is not dict or (isinstance(value, dict) and all(isinstance(v, dict) for v in value.values()))
        if type(value) is not kind or not nested:
            raise DataError(f"{key} is {words}, not {value!r}")
        return value
    if key == "seeds" and type(value) is int:
        return first_seeds(value)
    values = [value] if isinstance(value, str) and key != "seeds" else value
    kind = int if key == "seeds" else str
    if not isinstance(values, list) or not all(type(v) is kind for v in values):
        raise DataError(f"{key} is a list of {'whole numbers' if kind is int else 'names'}, not {value!r}")
    return tuple(values)


def first_seeds(count: int) -> tuple[int, ...]:
    """The seeds 1 … count."""
    return tuple(range(1, count + 1))


def _beside(folder: Path, text: str) -> str:
    """A path of a plan, which is written from the plan's folder; what is not there is left as a name."""
    name, equals, path = text.rpartition("=")
    return name + equals + (str(folder / path) if (folder / path).exists() else path)
