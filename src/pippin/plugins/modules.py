"""Import of plugin modules by name or by the path of their file.

The code that runs must match the source file, whose digest identifies the results. Python reuses bytecode if the second
and the length of the source agree, so that a number edited twice within a second could differ between digest and
result; local modules are therefore compiled from source.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from pippin.errors import PluginError

# Not from sysconfig, which imports further modules.
_STANDARD_LIBRARY = str(Path(os.__file__).parent) + os.sep
_PACKAGE = __name__.partition(".")[0]
LOADED: dict[str, None] = {}  # imported modules, by a name that other processes can import


def is_path(module: str) -> bool:
    """Return whether a module is given as a file or the folder of a package.

    >>> is_path("mine.measures"), is_path("measures.py"), is_path("./mine")
    (False, True, True)
    """
    return module.endswith(".py") or "/" in module or "\\" in module


def load_module(module: str) -> None:
    """Import a module; any error in it becomes a PluginError."""
    import_local_sources()
    try:
        _import_file(Path(module)) if is_path(module) else _import_name(module)
    except (Exception, SystemExit) as error:  # a plugin may raise anything
        raise PluginError(f"the module {module} cannot be imported: {describe_import_error(error)}") from error
    LOADED[import_name(module)] = None


def import_name(module: str) -> str:
    """Return the name by which a process in another folder can import the module."""
    return str(Path(module).resolve()) if is_path(module) else module


class UncachedLoader(SourceFileLoader):
    """Compiles the source and neither reads nor writes bytecode."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _LocalFinder:
    """Finds modules as Python does; modules that are not installed are compiled from source."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] == _PACKAGE:
            return None  # left to Python
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and not _is_installed(spec.loader.path):
            spec.loader = UncachedLoader(name, spec.loader.path)
        return spec


def import_local_sources() -> None:
    """Compile modules that are not installed from source from now on."""
    if _LocalFinder not in sys.meta_path:
        position = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(position, _LocalFinder)


def _is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or an installed package, which are replaced and not edited."""
    parts = Path(file).parts
    return "site-packages" in parts or "dist-packages" in parts or file.startswith(_STANDARD_LIBRARY)


def _import_name(name: str) -> None:
    """Import a module from Python's path or from the current folder."""
    _append_to_path(Path.cwd())
    importlib.import_module(name)


def _append_to_path(folder: Path) -> None:
    importlib.invalidate_caches()  # the file may be newer than Python's caches
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _import_file(path: Path) -> None:
    """Import a file once, by its full name if it is in a package."""
    file = (path / "__init__.py" if path.is_dir() else path).resolve()
    if not file.is_file():
        raise FileNotFoundError("there is no such file")
    if any(_is_of(module, file) for module in list(sys.modules.values())):
        return
    folder, name = _package_of(file)
    _append_to_path(folder)
    if "." in name or file.name == "__init__.py":
        imported = importlib.import_module(name)
        if not _is_of(imported, file):
            raise ImportError(f"the module {name} is shadowed by {imported.__file__}")
        return
    if name in sys.modules:  # the file may have the name of a module of Python
        name = f"{name}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file, loader=UncachedLoader(name, str(file)))
    if spec is None or spec.loader is None:
        raise ImportError("not a Python module")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _is_of(module: ModuleType, file: Path) -> bool:
    """Return whether a module comes from this file. Items of `sys.modules` may be lazy or not modules at all."""
    path = getattr(module, "__dict__", {}).get("__file__")
    return isinstance(path, str) and path.endswith(file.name) and Path(path).resolve() == file


def _package_of(file: Path) -> tuple[Path, str]:
    """Return the folder that contains the top-level package of a file, and the full module name."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def describe_import_error(error: BaseException) -> str:
    """Return the message of an error with the line of the plugin."""
    if isinstance(error, (PluginError, ImportError, SyntaxError, FileNotFoundError)):
        return str(error)
    internal = ("<frozen", str(Path(importlib.__file__).parent), str(Path(__file__).parent.parent))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(internal)]
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{location}"
