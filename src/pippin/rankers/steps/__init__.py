"""Steps: what stands before a ranker in a chain, such as `gas(k=20) > ranksvm`; one file each, found by name.

A step is registered where it is defined, as rankers are; `step(name)` and `names()` find them all, and the classes are
here by their own names, loaded when they are first used. `base` says what a step of one's own implements.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pippin.rankers.steps.bag import Bag
    from pippin.rankers.steps.base import STEPS, Projection, Selector, Step, Transformer, register
    from pippin.rankers.steps.clicks import Clicks
    from pippin.rankers.steps.pca import PCA

_HOMES = {
    "Bag": "bag", "Clicks": "clicks", "PCA": "pca", "Projection": "base", "STEPS": "base", "Selector": "base",
    "Step": "base", "Transformer": "base", "register": "base",
}  # fmt: skip

__all__ = [
    "PCA",
    "STEPS",
    "Bag",
    "Clicks",
    "Projection",
    "Selector",
    "Step",
    "Transformer",
    "names",
    "register",
    "step",
]


@cache
def _load_all() -> None:
    """Import every file of this folder, so that each step has registered itself."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def names() -> list[str]:
    """The registered names, in alphabetical order."""
    from pippin.rankers.steps.base import STEPS

    _load_all()
    return sorted(STEPS)


def step(name: str) -> type[Step]:
    """The class registered under a name."""
    from pippin.errors import ConventionError
    from pippin.rankers import names as rankers
    from pippin.rankers.steps.base import STEPS

    _load_all()
    if name not in STEPS and name in rankers():
        raise ConventionError(f"{name} is a ranker, which stands at the end of a chain; what comes before are steps")
    return STEPS[name]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
