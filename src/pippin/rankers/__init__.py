"""Learning to rank: one file per algorithm, each a scikit-learn estimator.

A ranker is registered where it is defined; `ranker(name)` and `names()` find them all. The classes are here by their
own names too (`pippin.rankers.LambdaMART`), and so is `select`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from pippin.rankers.base import RANKERS, Ranker, meanings, register

if TYPE_CHECKING:
    from pippin.rankers.selection import select

__all__ = ["RANKERS", "Ranker", "meanings", "names", "ranker", "register", "select"]


def _load_all() -> None:
    """Import every file of this folder, so that each ranker has registered itself."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def names() -> list[str]:
    """The registered names, in alphabetical order."""
    _load_all()
    return sorted(RANKERS)


def ranker(name: str) -> type[Ranker]:
    """The class registered under a name."""
    _load_all()
    return RANKERS[name]


def __getattr__(name: str) -> Any:
    if name == "select":
        return importlib.import_module(f"{__name__}.selection").select
    if name[:1].isupper():
        _load_all()
        for cls in RANKERS.values():
            if cls.__name__ == name:
                return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
