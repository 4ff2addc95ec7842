"""The published data sets that Pippin knows, one declaration each.

A new one is one file in this folder that calls `register`; every file here is loaded with the package.
"""

from __future__ import annotations

import importlib
import pkgutil

from pippin.data.sources.source import SOURCES, Count, Source, register, rotate

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["SOURCES", "Count", "Source", "register", "rotate"]
