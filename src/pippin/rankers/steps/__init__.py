"""Steps: what stands before a ranker in a chain, such as `gas(k=20) > ranksvm`; one file each, found by name.

A step is registered where it is defined, as rankers are; `step(name)` and `names()` find them all, and the classes are
here by their own names, loaded when they are first used. `base` says what a step of one's own implements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.modules import attributes, load_folder

if TYPE_CHECKING:
    from pippin.rankers.steps.attention import Attention
    from pippin.rankers.steps.bag import Bag
    from pippin.rankers.steps.base import STEPS, Projection, Selector, Step, Transformer, register
    from pippin.rankers.steps.choose import Choose
    from pippin.rankers.steps.classes import Classes
    from pippin.rankers.steps.clicks import Clicks
    from pippin.rankers.steps.clusters import Clusters
    from pippin.rankers.steps.density_ratio import DensityRatio
    from pippin.rankers.steps.elimination import Elimination
    from pippin.rankers.steps.finetune import Finetune
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
    from pippin.rankers.steps.without import Without

_HOMES = {
    "Products": "products",
    "Tournament": "tournament",
    "Attention": "attention",
    "Norm": "norm",
    "KNN": "knn",
    "Clusters": "clusters",
    "Classes": "classes",
    "Choose": "choose",
    "Bag": "bag",
    "Clicks": "clicks",
    "DensityRatio": "density_ratio",
    "Elimination": "elimination",
    "Finetune": "finetune",
    "Forward": "forward",
    "GAS": "gas",
    "L1": "l1",
    "Multitask": "multitask",
    "PCA": "pca",
    "PairLDA": "pair_lda",
    "Permutation": "permutation",
    "Projection": "base",
    "Queries": "queries",
    "RandomProjection": "random_projection",
    "STEPS": "base",
    "Selector": "base",
    "SelfTraining": "self_training",
    "Step": "base",
    "TrAdaBoost": "tradaboost",
    "Transfer": "transfer",
    "Transformer": "base",
    "Without": "without",
    "register": "base",
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
    "Finetune",
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
    "Without",
    "names",
    "register",
    "step",
]


def names() -> list[str]:
    """The registered names, in alphabetical order."""
    from pippin.rankers.steps.base import STEPS

    load_folder(__name__)
    return sorted(STEPS)


def step(name: str) -> type[Step]:
    """The class registered under a name."""
    from pippin.errors import ConventionError
    from pippin.rankers import names as rankers
    from pippin.rankers.steps.base import STEPS

    load_folder(__name__)
    if name not in STEPS and name in rankers():
        raise ConventionError(f"{name} is a ranker, which stands at the end of a chain; what comes before are steps")
    return STEPS[name]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
