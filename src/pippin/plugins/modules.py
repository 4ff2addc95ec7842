"""How a stranger's module is imported, by its name or by the path of its file, and what is said where it cannot be.

What runs is what stands in the file now, because its digest is of that. Python takes bytecode for fresh by the second
and the length of the source: a number edited twice within a second would be another in the digest than in the result.
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
from pippin.plugins import OWN, is_path

# Not asked of sysconfig, which imports modules itself when it is first asked for a path.
_STANDARD = str(Path(os.__file__).parent) + os.sep
LOADED: dict[str, None] = {}  # what was imported here, as other processes can import it


def load_module(module: str) -> None:
    """Import one module; whatever goes wrong in it is one sentence."""
    heed_sources()
    try:
        _import_file(Path(module)) if is_path(module) else _import_name(module)
    except (Exception, SystemExit) as error:  # whatever a stranger's module does when it is imported
        raise PluginError(f"the module {module} cannot be imported: {reason(error)}") from error
    LOADED[address_of(module)] = None


def address_of(module: str) -> str:
    """The module as it is named for another process, which may be in another folder."""
    return str(Path(module).resolve()) if is_path(module) else module


class FromSource(SourceFileLoader):
    """Compiles a file as it is, and keeps no bytecode beside what is somebody else's."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _LocalSources:
    """Finds modules as Python does, and has those that nobody installed compiled from their source."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] == OWN:
            return None  # as Python finds it
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and not _is_kept(spec.loader.path):
            spec.loader = FromSource(name, spec.loader.path)
        return spec


def heed_sources() -> None:
    """From now on import strangers' modules from their sources."""
    if _LocalSources not in sys.meta_path:
        place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(place, _LocalSources)


def _is_kept(file: str) -> bool:
    """Whether a file is Python's, or an installer's, who replace files and do not edit them."""
    parts = Path(file).parts
    return "site-packages" in parts or "dist-packages" in parts or file.startswith(_STANDARD)


def _import_name(name: str) -> None:
    """A module that Python finds, or one in the folder where the command was typed."""
    _look_in(Path.cwd())
    importlib.import_module(name)


def _look_in(folder: Path) -> None:
    """Let modules of this folder be found, after all others."""
    importlib.invalidate_caches()  # the file may be younger than Python's last look
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _import_file(path: Path) -> None:
    """The module of a file, by its full name if it stands in a package; once, however it was imported before."""
    file = (path / "__init__.py" if path.is_dir() else path).resolve()
    if not file.is_file():
        raise FileNotFoundError("there is no such file")
    if any(_is_of(module, file) for module in list(sys.modules.values())):
        return
    folder, name = _package_of(file)
    _look_in(folder)
    if "." in name or file.name == "__init__.py":
        imported = importlib.import_module(name)
        if not _is_of(imported, file):
            raise ImportError(f"another module {name} comes first: {imported.__file__}")
        return
    if name in sys.modules:  # a file of the user's may be called like any module of Python's
        name = f"{name}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file, loader=FromSource(name, str(file)))
    if spec is None or spec.loader is None:
        raise ImportError("this is no Python module")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _is_of(module: ModuleType, file: Path) -> bool:
    """Whether a module was made from this file. What stands among modules need not be one, and may be lazy."""
    known = getattr(module, "__dict__", {}).get("__file__")
    return isinstance(known, str) and known.endswith(file.name) and Path(known).resolve() == file


def _package_of(file: Path) -> tuple[Path, str]:
    """The folder in which the top-level package of a file stands, and the file's full name as a module."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def reason(error: BaseException) -> str:
    """What went wrong, and in which line of the stranger's."""
    if isinstance(error, (PluginError, ImportError, SyntaxError, FileNotFoundError)):
        return str(error)
    ours = ("<frozen", str(Path(importlib.__file__).parent), str(Path(__file__).parent.parent))
    theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(ours)]
    place = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{place}"
