"""Steps precede the ranker in a chain, such as `gas(n_features=20) > ranksvm`.

A step is registered in its own module; `step(name)` and `names()` look them up. Classes such as
`pippin.rankers.steps.PCA` are imported on first use. `base` documents what a new step implements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.rankers.steps.attention import Attention
    from pippin.rankers.steps.base import STEPS, Projection, Selector, Step, Transformer, register
    from pippin.rankers.steps.clicks import Clicks
    from pippin.rankers.steps.projections import PCA, Norm, PairLDA, Products, RandomProjection
    from pippin.rankers.steps.query_dependent import KNN
    from pippin.rankers.steps.query_groups import Choose, Classes, Clusters
    from pippin.rankers.steps.resampling import Bag, Queries, SelfTraining
    from pippin.rankers.steps.selectors import GAS, L1, Elimination, Forward, Permutation, Without
    from pippin.rankers.steps.tournament import Tournament
    from pippin.rankers.steps.transfer import DensityRatio, Finetune, Multitask, TrAdaBoost, Transfer

_HOMES = {
    "Attention": "attention", "Bag": "resampling", "Choose": "query_groups", "Classes": "query_groups",
    "Clicks": "clicks", "Clusters": "query_groups", "DensityRatio": "transfer", "Elimination": "selectors",
    "Finetune": "transfer", "Forward": "selectors", "GAS": "selectors", "KNN": "query_dependent", "L1": "selectors",
    "Multitask": "transfer", "Norm": "projections", "PCA": "projections", "PairLDA": "projections",
    "Permutation": "selectors", "Products": "projections", "Projection": "base", "Queries": "resampling",
    "RandomProjection": "projections", "STEPS": "base", "Selector": "base", "SelfTraining": "resampling",
    "Step": "base", "Tournament": "tournament", "TrAdaBoost": "transfer", "Transfer": "transfer",
    "Transformer": "base", "Without": "selectors", "register": "base",
}  # fmt: skip

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
    """Return the registered names, sorted."""
    from pippin.rankers.steps.base import STEPS

    return sorted(STEPS)


def step(name: str) -> type[Step]:
    """Return the class registered under a name."""
    from pippin.errors import ConventionError
    from pippin.rankers.base import RANKERS
    from pippin.rankers.steps.base import STEPS

    if name not in STEPS and name in RANKERS:
        raise ConventionError(f"{name} is a ranker: only steps can precede the ranker at the end of a chain")
    return STEPS[name]


__getattr__ = lazy_attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
