"""Whose thing is it, and of which source? What is known of a stranger's module when it registers something."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

from pippin.errors import PluginError
from pippin.plugins import OWN

MAIN = "__main__"
_ROOTS: set[Path] = set()  # of all that registered something here


@dataclass(frozen=True)
class Code:
    """The source behind a thing, as it was when it was registered."""

    digest: str  # of all files
    roots: frozenset[Path]  # the folders of packages, and the files of modules that are in none
    installed: frozenset[str]  # what they import that was installed, by its top-level name


@dataclass(frozen=True)
class Origin:
    """Which stranger's module registered a thing, and its source at that time."""

    module: str
    file: str | None  # None where there is none, as in a notebook
    execution: object = field(repr=False, compare=False)  # another one each time the module is executed
    source: Code = field(repr=False)

    def __str__(self) -> str:
        package = _distribution(self.module)
        return f"{self.module} ({package})" if package else f"{self.module} ({self.file})" if self.file else self.module

    def repeats(self, other: Origin | None) -> bool:
        """Whether this is the module of `other` executed once more: imported twice, reloaded, or a notebook's cell."""
        if other is None or self.file != other.file:
            return False
        return self.module == other.module if self.file is None else self.execution is not other.execution

    @property
    def address(self) -> str:
        """What `load_modules` must be given in another process to have the same things there."""
        if self.module == MAIN or self.file is None:
            raise PluginError(f"what {self.module} defines cannot be had in another process: put it into a module")
        return self.module if _is_installed(_root(self.file).parent) else self.file

    @property
    def place(self) -> str:
        """The name of the package's folder, or of the module's file: on every machine the same."""
        return self.module if self.file is None else _root(self.file).name

    def wrote(self, thing: FunctionType | type) -> bool:
        """Whether a function or class is of this source."""
        if self.file is None:
            return thing.__module__ == self.module
        file = getattr(sys.modules.get(thing.__module__), "__file__", None)
        return file is not None and not self.source.roots.isdisjoint(
            {Path(file).resolve(), *Path(file).resolve().parents}
        )

    def digest(self, state: Any) -> str:
        """The digest of a thing of this origin that has this state."""
        names = {*self.source.installed, self.module.partition(".")[0]}
        versions = {name: _distribution(name) for name in sorted(names)}
        return _sha256(json.dumps([self.source.digest, versions, state], sort_keys=True))[:16]


def origin_of(known: Mapping[str, Any]) -> Origin:
    """The origin of what a module registers, by the module's own names."""
    module, file, spec = str(known.get("__name__", MAIN)), known.get("__file__"), known.get("__spec__")
    if file is None or not Path(file).is_file():
        return Origin(module, None, spec, Code("", frozenset(), frozenset()))
    file = str(Path(file).resolve())
    _ROOTS.add(_root(file))
    return Origin(module, file, spec, _source(_root(file)))


def blamed(error: BaseException) -> PluginError | None:
    """Which stranger's line failed, as a sentence; None where no stranger had a part in it."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        for root in _ROOTS & {file, *file.parents}:
            what = f"{type(error).__name__}: {error} ({file.name}, line {frame.lineno})"
            return PluginError(f"the plug-in {root.name} failed: {what}")
    return None


def _root(file: str) -> Path:
    """What holds all source of a module: the folder of its top-level package, or its own file."""
    package = Path(file).parent
    if not (package / "__init__.py").is_file():
        return Path(file)
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    return package


def _files(root: Path) -> list[Path]:
    """The files of a package, hidden and compiled ones left out, or the one file."""
    if root.is_file():
        return [root]
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sorted(path for path in files if not any(part.startswith(".") for part in path.relative_to(root).parts))


def _source(root: Path) -> Code:
    """The files of a package and of the local modules that it imports, and so on; what is installed, by name."""
    digests: dict[Path, str] = {}
    installed: set[str] = set()
    waiting = [root]
    while waiting:
        place = waiting.pop()
        if place not in digests:
            stamps = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in _files(place))
            digests[place], imported = _hashed(place, stamps)
            sources = {name: _local(name) for name in imported}
            waiting += [local for local in sources.values() if local is not None]
            installed |= {name.partition(".")[0] for name, local in sources.items() if local is None}
    named = sorted((place.name, digest) for place, digest in digests.items())
    return Code(_sha256(json.dumps(named)), frozenset(digests), frozenset(installed))


@cache
def _hashed(root: Path, stamps: tuple[tuple[str, int, int], ...]) -> tuple[str, frozenset[str]]:
    """The digest of these files, and what they import from elsewhere. Read again only where a file has changed."""
    total, imported = hashlib.sha256(), set[str]()
    for file, _, _ in stamps:
        content = Path(file).read_bytes()
        total.update(f"{Path(file).relative_to(root.parent).as_posix()}\0{len(content)}\0".encode() + content)
        if file.endswith(".py"):
            imported |= set(_imports(content))
    known = {root.stem, OWN} | sys.stdlib_module_names
    return total.hexdigest(), frozenset(name for name in imported if name.partition(".")[0] not in known)


def _imports(source: bytes) -> Iterator[str]:
    """The full names that a source imports, wherever it does; the last part may be a name in a module."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a file that is not meant to be imported here, such as a template
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _local(name: str) -> Path | None:
    """Where the source behind an imported name stands, if nobody has installed it: the first package or module on the
    way down that is more than a folder.
    """
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        try:
            spec = find_spec(".".join(parts[:end]))
        except (ImportError, ValueError, AttributeError):
            return None
        if spec is None:
            return None
        if spec.origin is not None and spec.has_location:
            file = Path(spec.origin).resolve()
            place = file.parent if spec.submodule_search_locations else file
            return None if _is_installed(place.parent) else place
    return None


@cache
def _is_installed(folder: Path) -> bool:
    """Whether an installer puts packages into this folder."""
    return folder.name in ("site-packages", "dist-packages") or next(folder.glob("*.dist-info"), None) is not None


def _distribution(module: str) -> str:
    """The installed package that a module belongs to, with its version; empty where there is none."""
    owners = _distributions(tuple(sys.path)).get(module.partition(".")[0], [])
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(set(owners)))


@cache
def _distributions(path: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Top-level modules and the installed packages they are of, as long as Python looks there for them."""
    return metadata.packages_distributions()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
