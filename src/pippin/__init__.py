"""Pippin: an apple-to-apple learning-to-rank workbench.

Names are loaded when they are first used, so that `import pippin` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pippin import shown

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pippin.data.dataset import Dataset
    from pippin.data.trec import Judgements, Run
    from pippin.errors import ConventionError, DataError, MissingExtra, PippinError, UnknownName
    from pippin.evaluation.convention import Convention
    from pippin.evaluation.evaluate import Evaluation, evaluate

shown.introduce("pippin.report.presenters")

_HOMES = {
    "Convention": "pippin.evaluation.convention",
    "ConventionError": "pippin.errors",
    "DataError": "pippin.errors",
    "Dataset": "pippin.data.dataset",
    "Evaluation": "pippin.evaluation.evaluate",
    "Judgements": "pippin.data.trec",
    "MissingExtra": "pippin.errors",
    "PippinError": "pippin.errors",
    "Run": "pippin.data.trec",
    "UnknownName": "pippin.errors",
    "evaluate": "pippin.evaluation.evaluate",
}

__all__ = [
    "Convention",
    "ConventionError",
    "DataError",
    "Dataset",
    "Evaluation",
    "Judgements",
    "MissingExtra",
    "PippinError",
    "Run",
    "UnknownName",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    try:
        return importlib.import_module(f"pippin.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"pippin.{name}":
            raise
        raise AttributeError(f"module 'pippin' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
