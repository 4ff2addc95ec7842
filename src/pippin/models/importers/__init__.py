"""Importers of models that other programs wrote, one module per format.

Files are untrusted: an importer raises ValueError (or KeyError, TypeError …) if the content is malformed, and
`read_model` turns that into a DataError. Importers execute nothing and allocate nothing by a size that a file claims.
"""

from __future__ import annotations

import importlib
import os
import struct
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from pippin.errors import DataError, PippinError, PippinWarning, UnknownName
from pippin.models.model import Model

# The module of each format, in the order of detection: formats with an unambiguous first line come first.
_MODULES = {
    "lightgbm": "lightgbm", "catboost_cbm": "catboost", "xgboost": "xgboost", "ranklib": "ranklib",
    "quickrank": "xml_ensembles", "jforests": "xml_ensembles", "svmrank": "svm", "liblinear": "svm", "pmml": "pmml",
    "catboost": "catboost", "solr": "solr", "elasticsearch": "elasticsearch", "lightgbm_json": "lightgbm",
    "onnx": "onnx",
}  # fmt: skip
FORMATS = tuple(_MODULES)
_MALFORMED = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, struct.error,
              UnicodeError, MemoryError)  # fmt: skip


class Importer(NamedTuple):
    """Functions of one format."""

    matches: Callable[[bytes], bool]  # whether the content looks like this format
    read: Callable[[bytes], Model]  # raises ValueError, KeyError, TypeError … if the content is malformed


def importer(name: str) -> Importer:
    """Return the importer of a format."""
    result: Importer = importlib.import_module(f"{__name__}.{_MODULES[name]}").IMPORTERS[name]
    return result


def detect_format(content: bytes) -> str | None:
    """Return the format of a file, or None if no importer recognises it."""
    return next((name for name in FORMATS if importer(name).matches(content)), None)


def read_model(content: bytes, path: str | os.PathLike[str], format: str | None = None) -> tuple[str, Model]:
    """Return the format and the model of another program's file."""
    name = format or detect_format(content)
    if name is None:
        raise DataError("unknown model format", path)
    if name not in FORMATS:
        raise UnknownName("format of models", name, FORMATS)
    try:
        return name, validate_features(importer(name).read(content))
    except PippinError:
        raise
    except _MALFORMED as error:
        reason = str(error) if type(error) is ValueError and str(error) else type(error).__name__
        raise DataError(f"cannot read this {name} model: {' '.join(reason.split())[:200]}", path) from None


def validate_features(model: Model) -> Model:
    """Return the model if its feature names are unique and it uses no other features; otherwise raise ValueError."""
    names = model.names
    if not names or len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("feature names are missing or not unique")
    if model.used_features() and max(model.used_features()) >= len(names):
        raise ValueError("the model uses an unknown feature")
    return model


def require_known(fields: Collection[str], known: Collection[str], place: str) -> None:
    """Raise ValueError if a field is not understood: it might change scores.

    >>> require_known(["split", "gain"], ["split"], "a tree")
    Traceback (most recent call last):
    ValueError: unknown field 'gain' in a tree
    """
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r} in {place}")


def warn_of_raw_scores(transformed: str) -> None:
    """Warn that the library's `predict` returns a transformation of the model's scores."""
    warnings.warn(
        f"scores are those before the output transformation: predict() of the library returns {transformed}; "
        "the order of documents is the same",
        PippinWarning,
        stacklevel=2,
    )


def default_feature_names(count: int, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names if there are `count` of them, otherwise numbers from 1, as in LETOR files."""
    return tuple(names) if len(names) == count and all(names) else tuple(str(i + 1) for i in range(count))
