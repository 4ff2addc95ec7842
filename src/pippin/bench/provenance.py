"""Which code computes a cell: Pippin, the source of the rooms whose result it is, the libraries below them, and every
ranker, measure and tool that is not Pippin's own.
"""

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
from pippin.plugins.modules import address_of
from pippin.registry import Registry, digests_of

if TYPE_CHECKING:
    from pippin.bench.plan import Experiment, Task

ROOMS = ("kernels", "evaluation", "forms", "rankers")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm")


@cache
def versions() -> dict[str, str]:
    """Names and versions; `code` is a digest of the source files and of the native module."""
    versions_of = {"pippin": pippin.__version__, "code": _code()}
    for library in LIBRARIES:
        try:
            versions_of[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return versions_of


def _code() -> str:
    from pippin.kernels import native

    root = Path(pippin.__file__).parent
    files = [file for room in ROOMS for file in sorted((root / room).rglob("*.py"))]
    hashed = hashlib.sha256()
    for file in (*files, root / "bench" / "cell.py"):
        hashed.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    hashed.update(Path(str(native.__file__)).read_bytes())
    return hashed.hexdigest()[:16]


def versions_of(task: Task) -> dict[str, str]:
    """The versions of all that computes one cell, strangers' things by their digests."""
    return {**versions(), **digests_of(_taking_part(task))}


def _taking_part(task: Task) -> Iterator[tuple[Registry[Any], str]]:
    """Every registered thing that a cell depends on, with its shelf."""
    from pippin.evaluation.measures import KINDS
    from pippin.evaluation.notation import parse
    from pippin.evaluation.tools import TOOLS
    from pippin.rankers import ranker
    from pippin.rankers.composing import parts_of

    usual = ranker(task.ranker)().get_params()
    for shelf, name in parts_of(task.ranker):
        if name != "imported":  # whose file's digest is among its parameters
            yield shelf, name

    def named(parameter: str) -> Iterator[str]:
        for key in (key for key in usual if key.rpartition("__")[2] == parameter):
            for value in (usual[key], task.parameters.get(key), *task.grid.get(key, ())):
                if isinstance(value, str):
                    yield value

    for text in dict.fromkeys((*task.measures, task.select, *named("measure"))):
        with suppress(UnknownName):  # a ranker may have words of its own there
            yield KINDS, parse(text).kind
    for name in dict.fromkeys((*task.tools, task.convention, *named("convention"))):
        if name in TOOLS:
            yield TOOLS, name


def modules_for(experiment: Experiment, tasks: Iterable[Task]) -> tuple[str, ...]:
    """The modules that another process must import to compute these cells: those named, and those of strangers."""
    named = map(address_of, experiment.imports)
    origins = (shelf.origin(name) for task in tasks for shelf, name in _taking_part(task))
    return tuple(dict.fromkeys([*named, *(origin.address for origin in origins if origin is not None)]))
