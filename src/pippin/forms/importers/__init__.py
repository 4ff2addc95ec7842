"""Other people's models: one file per format, which says whether it knows a file, and turns it into a form.

Files are hostile: an importer raises ValueError (or KeyError, TypeError …) at whatever is not as it should be, and
`read_form` makes one sentence of it. Nothing is executed, and nothing is allocated by a size that a file claims.
"""

from __future__ import annotations

import importlib
import os
import struct
from collections.abc import Sequence
from typing import Any, Protocol, cast

from pippin.errors import DataError, PippinError
from pippin.forms.form import Form

# In the order in which they are asked: those that know their own from the first bytes on come first.
NAMES = ("lightgbm", "xgboost", "ranklib", "quickrank", "jforests", "svmrank", "liblinear", "pmml", "catboost", "solr",
         "elasticsearch", "lightgbm_json", "onnx")  # fmt: skip
_WRONG = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, struct.error,
          UnicodeError, MemoryError)  # fmt: skip


class Importer(Protocol):
    """What every importer's module offers."""

    def recognises(self, content: bytes) -> bool:
        """Whether a file looks like this format."""

    def read(self, content: bytes) -> Form:
        """The form of a model; ValueError and its brothers where it is none."""


def importer(name: str) -> Importer:
    """The importer of a format."""
    return cast(Importer, importlib.import_module(f"{__name__}.{name}"))


def recognised(content: bytes) -> str | None:
    """The format of a file, if one of the importers knows it."""
    return next((name for name in NAMES if importer(name).recognises(content)), None)


def read_form(content: bytes, path: str | os.PathLike[str], format: str | None = None) -> tuple[str, Form]:
    """The format and the form of a model that another program wrote."""
    name = format or recognised(content)
    if name is None:
        raise DataError("this is no model that Pippin can read", path)
    if name not in NAMES:
        from pippin.errors import UnknownName

        raise UnknownName("format of models", name, NAMES)
    try:
        form = checked(importer(name).read(content))
    except PippinError:
        raise
    except _WRONG as error:
        reason = str(error) if type(error) is ValueError and str(error) else type(error).__name__
        raise DataError(f"this is no {name} model that can be read ({' '.join(reason.split())[:200]})", path) from None
    return name, form


def checked(form: Any) -> Form:
    """A form whose features are there and have names of their own; ValueError where they are not."""
    names = form.names
    if not names or len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("it names no features, or two alike")
    if form.used() and max(form.used()) >= len(names):
        raise ValueError("it looks at a feature that is not there")
    found: Form = form
    return found


def numbered(count: int, given: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of features by position, as LETOR numbers them from 1; or those given, where there are as many."""
    names = tuple(given)
    return names if len(names) == count and all(names) else tuple(str(i + 1) for i in range(count))
