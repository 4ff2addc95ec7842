"""What strangers bring: entry points, `--import`, and the digest of everything that takes part in a result.

A plug-in is a module that registers things when it is imported. It is found in two ways. An installed package promises
names in its entry points (`pippin.measures`, `pippin.rankers` …); its modules are imported only when such a name is
asked for, or a list of all names. And any module can be named by `--import`. `registry` uses both for every shelf;
nothing here knows what stands on them.

The digest of a stranger's thing is of
  - the source as it was when the thing was registered: every file of its top-level package (or the one file of a module
    that is in none), and so on for each module that these import, unless it was installed or belongs to Python;
  - the version of every installed package that they import, and of the one they are installed by;
  - the state of the thing: fields of data classes, defaults, closures, what classes hold, and the constants (numbers,
    texts, tuples of them) that its functions look up in their module. So a number that came from an environment
    variable counts. What is read later, or kept in a dict of the module, does not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pippin.errors import PluginError
    from pippin.plugins.entry_points import Promise
    from pippin.plugins.origin import Origin

__all__ = ["blamed", "caller", "digest_of", "is_path", "load_modules", "loaded_modules", "promises"]

OWN = "pippin"


def load_modules(modules: Iterable[str]) -> None:
    """Import the modules that register what is not Pippin's own: by their names, or by the paths of their files."""
    from pippin.plugins.modules import load_module

    for module in modules:
        load_module(module)


def loaded_modules() -> tuple[str, ...]:
    """The modules that `load_modules` has imported in this process, to have them in another one, too."""
    from pippin.plugins.modules import LOADED

    return tuple(LOADED)


def is_path(module: str) -> bool:
    """Whether a module is named by its file (or by the folder of a package).

    >>> is_path("mine.measures"), is_path("measures.py"), is_path("./mine")
    (False, True, True)
    """
    return module.endswith(".py") or "/" in module or "\\" in module


def promises(group: str) -> dict[str, Promise]:
    """The names that installed packages promise for a shelf; one that two of them promise is an error."""
    from pippin.plugins.entry_points import promises_of

    return promises_of(group, tuple(sys.path))


def caller() -> Origin | None:
    """Who registers a thing: the nearest module below that is not Pippin's; None where it is Pippin itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == OWN:
        if frame.f_code.co_name == "<module>":
            return None
        frame = frame.f_back
    if frame is None:
        return None
    from pippin.plugins.origin import origin_of

    return origin_of(frame.f_globals)


def blamed(error: BaseException) -> PluginError | None:
    """What to say where the code of a stranger failed while it was used; None where none had a part in it."""
    if "pippin.plugins.origin" not in sys.modules:  # then nobody has registered anything
        return None
    from pippin.plugins.origin import blamed as by_line

    return by_line(error)


def digest_of(thing: object, origin: Origin) -> str:
    """The digest of a stranger's thing; the module says of what."""
    from pippin.plugins.state import state_of

    return origin.digest(state_of(thing, origin))
