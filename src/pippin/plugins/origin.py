"""The plugin module that registers an item, and the digest of its source at that time."""

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

MAIN = "__main__"
_PACKAGE = __name__.partition(".")[0]
_ROOTS: set[Path] = set()  # of all plugins of this process


@dataclass(frozen=True)
class SourceDigest:
    """The source of an item when it was registered."""

    digest: str  # of all files
    roots: frozenset[Path]  # folders of packages, and files of single modules
    installed: frozenset[str]  # top-level names of installed packages that they import


@dataclass(frozen=True)
class Origin:
    """A plugin module and its source when it registered an item."""

    module: str
    file: str | None  # None in a notebook
    execution: object = field(repr=False, compare=False)  # a new object each time the module is executed
    source: SourceDigest = field(repr=False)

    def __str__(self) -> str:
        package = _distribution(self.module)
        return f"{self.module} ({package})" if package else f"{self.module} ({self.file})" if self.file else self.module

    def is_reload_of(self, origin: Origin | None) -> bool:
        """Return whether this is the same module executed again: imported twice, reloaded, or a notebook cell."""
        if origin is None or self.file != origin.file:
            return False
        return self.module == origin.module if self.file is None else self.execution is not origin.execution

    @property
    def import_name(self) -> str:
        """The argument of `load_modules` that loads the module in another process."""
        if self.module == MAIN or self.file is None:
            raise PluginError(f"other processes cannot import what {self.module} defines; move it to a module")
        return self.module if _is_installed(_root(self.file).parent) else self.file

    @property
    def root_name(self) -> str:
        """The name of the package's folder or of the module's file, the same on every machine."""
        return self.module if self.file is None else _root(self.file).name

    def defines(self, item: FunctionType | type) -> bool:
        """Return whether a function or class is defined in this source."""
        if self.file is None:
            return item.__module__ == self.module
        file = getattr(sys.modules.get(item.__module__), "__file__", None)
        return file is not None and not self.source.roots.isdisjoint(
            {Path(file).resolve(), *Path(file).resolve().parents}
        )

    def digest(self, state: Any) -> str:
        """Return the digest of an item with this state."""
        names = {*self.source.installed, self.module.partition(".")[0]}
        versions = {name: _distribution(name) for name in sorted(names)}
        return _sha256(json.dumps([self.source.digest, versions, state], sort_keys=True))[:16]


def origin_of(namespace: Mapping[str, Any]) -> Origin:
    """Return the origin of a module, by its namespace."""
    module, file, spec = str(namespace.get("__name__", MAIN)), namespace.get("__file__"), namespace.get("__spec__")
    if file is None or not Path(file).is_file():
        return Origin(module, None, spec, SourceDigest("", frozenset(), frozenset()))
    file = str(Path(file).resolve())
    _ROOTS.add(_root(file))
    return Origin(module, file, spec, _source(_root(file)))


def plugin_error(error: BaseException) -> PluginError | None:
    """Return an error with the failing line of a plugin; None if no plugin is in the traceback."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        for root in _ROOTS & {file, *file.parents}:
            reason = f"{type(error).__name__}: {error} ({file.name}, line {frame.lineno})"
            return PluginError(f"the plugin {root.name} failed: {reason}")
    return None


def _root(file: str) -> Path:
    """Return the folder of a module's top-level package, or its file."""
    package = Path(file).parent
    if not (package / "__init__.py").is_file():
        return Path(file)
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    return package


def _files(root: Path) -> list[Path]:
    """Return the files of a package without hidden and compiled ones, or the single file."""
    if root.is_file():
        return [root]
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sorted(path for path in files if not any(part.startswith(".") for part in path.relative_to(root).parts))


def _source(root: Path) -> SourceDigest:
    """Digest a package and, recursively, the local modules that it imports; list installed ones by name."""
    digests: dict[Path, str] = {}
    installed: set[str] = set()
    queue = [root]
    while queue:
        path = queue.pop()
        if path not in digests:
            stamps = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in _files(path))
            digests[path], imports = _digest_files(path, stamps)
            sources = {name: _find_local_source(name) for name in imports}
            queue += [source for source in sources.values() if source is not None]
            installed |= {name.partition(".")[0] for name, source in sources.items() if source is None}
    by_name = sorted((path.name, digest) for path, digest in digests.items())
    return SourceDigest(_sha256(json.dumps(by_name)), frozenset(digests), frozenset(installed))


@cache
def _digest_files(root: Path, stamps: tuple[tuple[str, int, int], ...]) -> tuple[str, frozenset[str]]:
    """Return the digest of files and the names they import from elsewhere; cached until a file changes."""
    total, imports = hashlib.sha256(), set[str]()
    for file, _, _ in stamps:
        content = Path(file).read_bytes()
        total.update(f"{Path(file).relative_to(root.parent).as_posix()}\0{len(content)}\0".encode() + content)
        if file.endswith(".py"):
            imports |= set(_iter_imports(content))
    excluded = {root.stem, _PACKAGE} | sys.stdlib_module_names
    return total.hexdigest(), frozenset(name for name in imports if name.partition(".")[0] not in excluded)


def _iter_imports(source: bytes) -> Iterator[str]:
    """Yield the full names that a source imports anywhere; the last part may be a name in a module."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # not meant to be imported, such as a template
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _find_local_source(name: str) -> Path | None:
    """Return the source of an imported name if it is not installed: its first package or module with a file."""
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
            path = file.parent if spec.submodule_search_locations else file
            return None if _is_installed(path.parent) else path
    return None


@cache
def _is_installed(folder: Path) -> bool:
    """Return whether a folder contains installed packages."""
    return folder.name in ("site-packages", "dist-packages") or next(folder.glob("*.dist-info"), None) is not None


def _distribution(module: str) -> str:
    """Return the installed package of a module with its version, or an empty string."""
    owners = _distributions(tuple(sys.path)).get(module.partition(".")[0], [])
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(set(owners)))


@cache
def _distributions(path: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return top-level module → installed packages; cached while `sys.path` stays the same."""
    return metadata.packages_distributions()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
