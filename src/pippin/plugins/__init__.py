"""Plugins: items from entry points or files given with --import, and the digests of their code.

A plugin is a module that registers items when it is imported. Installed packages declare names as entry points
(`pippin.measures`, `pippin.rankers` …); such a module is imported when the name is looked up or all names are listed.
Any other module can be loaded with `--import`.

The digest of a plugin's item covers
  - the source when the item was registered: every file of its top-level package (or the file of a single module), and
    of each module that these import, except installed ones and the standard library;
  - the versions of the installed packages that they import, and of the package they belong to;
  - the state of the item: fields of data classes, defaults, closures, attributes of classes, and the constants
    (numbers, strings, tuples of them) that its functions look up in their module, so that a number from an environment
    variable counts. Files read later and mutable globals do not count.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pippin.errors import PluginError
    from pippin.plugins.entry_points import PluginEntryPoint
    from pippin.plugins.origin import Origin

_PACKAGE = __name__.partition(".")[0]


def load_modules(modules: Iterable[str]) -> None:
    """Import plugin modules by name or by the path of their file."""
    from pippin.plugins.modules import load_module

    for module in modules:
        load_module(module)


def loaded_modules() -> tuple[str, ...]:
    """Return the modules that `load_modules` has imported, for use in another process."""
    from pippin.plugins.modules import LOADED

    return tuple(LOADED)


def plugin_entry_points(group: str) -> dict[str, PluginEntryPoint]:
    """Return the entry points of a group by name; two with the same name are an error."""
    from pippin.plugins.entry_points import find_entry_points

    return find_entry_points(group, tuple(sys.path))


def calling_plugin() -> Origin | None:
    """Return the plugin module that registers an item; None while a module of Pippin is imported."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        if frame.f_code.co_name == "<module>":
            return None
        frame = frame.f_back
    if frame is None:
        return None
    from pippin.plugins.origin import origin_of

    return origin_of(frame.f_globals)


def plugin_error(error: BaseException) -> PluginError | None:
    """Return an error that names the plugin whose code failed; None if no plugin took part."""
    if "pippin.plugins.origin" not in sys.modules:  # no plugin has registered anything
        return None
    from pippin.plugins.origin import plugin_error as error_of_traceback

    return error_of_traceback(error)


def digest_of(item: object, origin: Origin) -> str:
    """Return the digest of a plugin's item."""
    from pippin.plugins.state import object_state

    return origin.digest(object_state(item, origin))
