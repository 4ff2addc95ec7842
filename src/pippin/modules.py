"""Modules that come when they are asked for: what keeps `import pippin` fast and needs no list of files.

A folder whose files register what they define (rankers, steps, features, data sets, targets) is loaded as a whole with
`load_folder`; a package whose names live in files of their own finds them with `attributes`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any


@cache
def load_folder(package: str) -> None:
    """Import every file of a package, so that what they define has registered itself."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports a name's file, below the package, when the name is first used."""

    def get(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
