"""What can go wrong, as types. Each carries one sentence that a user can act on.

PippinError
├── DataError         a file or an array is not what it should be (with file and line where there is one)
├── ConventionError   choices that have no meaning together, or that this data cannot answer
├── UnknownName       no tool, measure, ranker … of that name (with “did you mean”)
├── MissingExtra      an optional package is needed (with the line to type)
└── PluginError       what somebody else brought cannot be used (with the plug-in and its package)
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any


class PippinError(Exception):
    """Any error that Pippin raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Not through __init__, whose arguments are not the sentence: errors must come home from other processes.
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[PippinError], arguments: tuple[Any, ...], state: dict[str, Any]) -> PippinError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class DataError(PippinError, ValueError):
    """Input that is not what it should be: `file:line: sentence`."""

    def __init__(self, message: str, file: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        self.message = message
        self.file = None if file is None else os.fspath(file)
        self.line = line
        place = "" if self.file is None else self.file + (f":{line}" if line is not None else "") + ": "
        super().__init__(place + message)


class ConventionError(PippinError, ValueError):
    """Choices that have no meaning together, or that this data cannot answer."""


class UnknownName(PippinError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: str, known: Iterable[str], ending: str = "") -> None:
        import difflib

        self.kind, self.name = kind, name
        known = sorted(known)
        lowered = {k.lower(): k for k in reversed(known)}
        word = name.lower().removesuffix(ending)  # what follows it, such as @10, is given back with what was meant
        close = [lowered[c] + ending for c in difflib.get_close_matches(word, list(lowered), n=3, cutoff=0.5)]
        if len(known) == 1:
            close = [known[0] + ending]
        listed = f"known: {', '.join(known)}" if known else "there is none yet"
        hint = f"did you mean {' or '.join(close)}?" if close else listed
        super().__init__(f"no {kind} is called {name!r}; {hint}")


class MissingExtra(PippinError):
    """An optional package that is not installed; `pippin.extras` knows which are."""

    def __init__(self, package: str, purpose: str, install: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install {install!r}")


class PluginError(PippinError, ValueError):
    """Something that is not Pippin's own and cannot be used: a module, an entry point, a thing under a taken name."""
