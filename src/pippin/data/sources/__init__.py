"""The published data sets that Pippin knows, one declaration each.

A new one is one file in this folder that calls `register`; every file here is loaded with the package.
"""

from __future__ import annotations

from pippin.data.sources.source import SOURCES, Count, Source, register, rotate
from pippin.modules import load_folder

load_folder(__name__)

__all__ = ["SOURCES", "Count", "Source", "register", "rotate"]
