"""Versions and digests of all code that takes part in a cell: Pippin, libraries and plugins."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pippin
from pippin.errors import UnknownName
from pippin.plugins.modules import import_name
from pippin.registry import Registry, plugin_digests

if TYPE_CHECKING:
    from pippin.benchmarks.plan import Experiment, Task

# Packages and files that can change a number of a cell; exporters and certificates cannot.
HASHED_SOURCES = (
    "kernels", "evaluation", "models/model.py", "models/scoring.py", "models/tree_builder.py", "models/importers",
    "rankers", "benchmarks/cell.py",
)  # fmt: skip
LIBRARIES = ("numpy", "scipy", "pyarrow", "scikit-learn", "lightgbm")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Pippin and its libraries; `code` is a digest of the sources and the native module."""
    from pippin.kernels import native

    digest = hash_sources(Path(pippin.__file__).parent)
    digest.update(Path(str(native.__file__)).read_bytes())
    libraries = {library: metadata.version(library) for library in LIBRARIES}
    return {"pippin": pippin.__version__, "code": digest.hexdigest()[:16], **libraries}


def hash_sources(root: Path) -> hashlib._Hash:
    """Hash the Python files of `HASHED_SOURCES` below the package folder `root`; a missing file is an error."""
    digest = hashlib.sha256()
    for name in HASHED_SOURCES:
        path = root / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        if not files:
            raise FileNotFoundError(f"{path}: no Python file to hash")
        for file in files:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest


def task_versions(task: Task) -> dict[str, str]:
    """Return the versions of the code that computes one cell, with the digests of plugins."""
    return {**versions(), **plugin_digests(_registered_parts(task))}


def _registered_parts(task: Task) -> Iterator[tuple[Registry[Any], str]]:
    """Yield the registry and name of every ranker, step, measure and tool that a cell depends on."""
    from pippin.evaluation.measures import MEASURE_DEFINITIONS
    from pippin.evaluation.measures.notation import parse
    from pippin.evaluation.tools import TOOLS
    from pippin.rankers import ranker
    from pippin.rankers.chains import registered_stages

    defaults = ranker(task.ranker)().get_params()
    for registry, name in registered_stages(task.ranker):
        if name != "imported":  # the digest of an imported model is one of its parameters
            yield registry, name

    def parameter_values(parameter: str) -> Iterator[str]:
        for key in (key for key in defaults if key.rpartition("__")[2] == parameter):
            for value in (defaults[key], task.parameters.get(key), *task.grid.get(key, ())):
                if isinstance(value, str):
                    yield value

    for text in dict.fromkeys((*task.measures, task.select, *parameter_values("measure"))):
        with suppress(UnknownName):  # a ranker may have other values for a parameter of this name
            yield MEASURE_DEFINITIONS, parse(text).kind
    for name in dict.fromkeys((*task.tools, task.convention, *parameter_values("convention"))):
        if name in TOOLS:
            yield TOOLS, name


def plugin_modules(experiment: Experiment, tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the modules that a process must import to compute these tasks: `imports`, and those of plugins."""
    imports = map(import_name, experiment.imports)
    origins = (registry.origin(name) for task in tasks for registry, name in _registered_parts(task))
    return tuple(dict.fromkeys([*imports, *(origin.import_name for origin in origins if origin is not None)]))
