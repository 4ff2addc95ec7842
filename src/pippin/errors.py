"""Exceptions. Every message says what is wrong, where, and what to do.

PippinError
├── DataError         invalid file or array (with file and line)
│   └── FractionalLabelError   a label is not a whole number
├── ConventionError   options that contradict each other or the data
│   └── RequirementNotMet      an exported model changes more than allowed
├── UnknownName       unknown tool, measure, ranker … (with "did you mean")
├── MissingDependency an optional package is not installed (with the pip command)
└── PluginError       a plugin cannot be used (with its package)

PippinWarning         a valid result that is probably not intended
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

MAX_LISTED = 24  # names in the message of an unknown one


class PippinError(Exception):
    """Base class of all errors that Pippin raises."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Not through __init__, whose arguments differ from `args`; errors are pickled between processes.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[PippinError], arguments: tuple[Any, ...], state: dict[str, Any]) -> PippinError:
    error = cls.__new__(cls, *arguments)
    error.__dict__.update(state)
    return error


class DataError(PippinError, ValueError):
    """Invalid input; the message is `file:line: message`.

    Parameters
    ----------
    message : str
        What is wrong.
    file : path, optional
        The file.
    line : int, optional
        The line, from 1.
    """

    def __init__(self, message: str, file: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        self.message = message
        self.file = None if file is None else os.fspath(file)
        self.line = line
        location = "" if self.file is None else self.file + (f":{line}" if line is not None else "") + ": "
        super().__init__(location + message)


class FractionalLabelError(DataError):
    """A label that is not a whole number."""


class ConventionError(PippinError, ValueError):
    """Options that contradict each other or the data."""


class RequirementNotMet(ConventionError):
    """An engine's scoring changes more than an export allows; `certificate` states what it changes."""

    certificate: Any


class UnknownName(PippinError):
    """An unknown name.

    Parameters
    ----------
    kind : str
        What the name stands for, such as "tool".
    name : str
        The unknown name.
    candidates : iterable of str
        All valid names.
    ending : str
        A suffix of `name` to ignore when similar names are searched, such as "@10".
    """

    def __init__(self, kind: str, name: str, candidates: Iterable[str], ending: str = "") -> None:
        import difflib

        self.kind, self.name = kind, name
        candidates = sorted(candidates)
        lowered = {k.lower(): k for k in reversed(candidates)}
        word = name.lower().removesuffix(ending)  # the suffix is appended to the suggestions
        close = [lowered[c] + ending for c in difflib.get_close_matches(word, list(lowered), n=3, cutoff=0.5)]
        if len(candidates) == 1:
            close = [candidates[0] + ending]
        more = f", … ({len(candidates)} in all)" if len(candidates) > MAX_LISTED else ""
        listed = f"known: {', '.join(candidates[:MAX_LISTED])}{more}" if candidates else "there is none yet"
        hint = f"did you mean {' or '.join(close)}?" if close else listed
        super().__init__(f"no {kind} is called {name!r}; {hint}")


class MissingDependency(PippinError):
    """An optional package that is not installed (see `pippin.dependencies`)."""

    def __init__(self, package: str, purpose: str, *install: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install {' '.join(map(repr, install))}")


class PippinWarning(UserWarning):
    """A valid result that is probably not intended; the command line prints it to standard error."""


class PluginError(PippinError, ValueError):
    """A plugin that cannot be used: a module, an entry point, or an item whose name is taken."""
