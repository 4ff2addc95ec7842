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
    from pippin.rankers.parts.sources import offer
    from pippin.rankers.steps.attention import Attention
    from pippin.rankers.steps.bag import Bag
    from pippin.rankers.steps.base import STEPS, Projection, Selector, Step, Transformer, register
    from pippin.rankers.steps.choose import Choose
    from pippin.rankers.steps.classes import Classes
    from pippin.rankers.steps.clicks import Clicks
    from pippin.rankers.steps.clusters import Clusters
    from pippin.rankers.steps.density_ratio import DensityRatio
    from pippin.rankers.steps.elimination import Elimination
    from pippin.rankers.steps.forward import Forward
    from pippin.rankers.steps.gas import GAS
    from pippin.rankers.steps.knn import KNN
    from pippin.rankers.steps.l1 import L1
    from pippin.rankers.steps.multitask import Multitask
    from pippin.rankers.steps.norm import Norm
    from pippin.rankers.steps.pair_lda import PairLDA
    from pippin.rankers.steps.pca import PCA
    from pippin.rankers.steps.permutation import Permutation
    from pippin.rankers.steps.products import Products
    from pippin.rankers.steps.queries import Queries
    from pippin.rankers.steps.random_projection import RandomProjection
    from pippin.rankers.steps.self_training import SelfTraining
    from pippin.rankers.steps.tournament import Tournament
    from pippin.rankers.steps.tradaboost import TrAdaBoost
    from pippin.rankers.steps.transfer import Transfer

_HOMES = {
    "Products": "pippin.rankers.steps.products",
    "Tournament": "pippin.rankers.steps.tournament",
    "Attention": "pippin.rankers.steps.attention",
    "Norm": "pippin.rankers.steps.norm",
    "KNN": "pippin.rankers.steps.knn",
    "Clusters": "pippin.rankers.steps.clusters",
    "Classes": "pippin.rankers.steps.classes",
    "Choose": "pippin.rankers.steps.choose",
    "Bag": "pippin.rankers.steps.bag",
    "Clicks": "pippin.rankers.steps.clicks",
    "DensityRatio": "pippin.rankers.steps.density_ratio",
    "Elimination": "pippin.rankers.steps.elimination",
    "Forward": "pippin.rankers.steps.forward",
    "GAS": "pippin.rankers.steps.gas",
    "L1": "pippin.rankers.steps.l1",
    "Multitask": "pippin.rankers.steps.multitask",
    "PCA": "pippin.rankers.steps.pca",
    "PairLDA": "pippin.rankers.steps.pair_lda",
    "Permutation": "pippin.rankers.steps.permutation",
    "Projection": "pippin.rankers.steps.base",
    "Queries": "pippin.rankers.steps.queries",
    "RandomProjection": "pippin.rankers.steps.random_projection",
    "STEPS": "pippin.rankers.steps.base",
    "Selector": "pippin.rankers.steps.base",
    "SelfTraining": "pippin.rankers.steps.self_training",
    "Step": "pippin.rankers.steps.base",
    "TrAdaBoost": "pippin.rankers.steps.tradaboost",
    "Transfer": "pippin.rankers.steps.transfer",
    "Transformer": "pippin.rankers.steps.base",
    "offer": "pippin.rankers.parts.sources",
    "register": "pippin.rankers.steps.base",
}

__all__ = [
    "GAS",
    "KNN",
    "L1",
    "PCA",
    "STEPS",
    "Attention",
    "Bag",
    "Choose",
    "Classes",
    "Clicks",
    "Clusters",
    "DensityRatio",
    "Elimination",
    "Forward",
    "Multitask",
    "Norm",
    "PairLDA",
    "Permutation",
    "Products",
    "Projection",
    "Queries",
    "RandomProjection",
    "Selector",
    "SelfTraining",
    "Step",
    "Tournament",
    "TrAdaBoost",
    "Transfer",
    "Transformer",
    "names",
    "offer",
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
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
