"""Learning to rank: one file per algorithm, each a scikit-learn estimator.

A ranker is registered where it is defined; `ranker(name)` and `names()` find them all.
"""

from __future__ import annotations

import importlib
import pkgutil

from pippin.rankers.base import RANKERS, Ranker

__all__ = ["RANKERS", "Ranker", "names", "ranker"]


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
