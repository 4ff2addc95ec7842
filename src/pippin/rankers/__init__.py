"""Learning to rank: one file per algorithm, each an estimator as scikit-learn knows them.

A ranker is registered where it is defined; `ranker(name)` and `names()` find them all. The classes are here by their
own names too (`pippin.rankers.LambdaMART`), loaded when they are first used, and so is `select`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Any

from pippin.shelf import Shelf, make_shelf

if TYPE_CHECKING:
    from pippin.rankers.adarank import AdaRank
    from pippin.rankers.approxndcg import ApproxNDCG
    from pippin.rankers.auto import Auto
    from pippin.rankers.base import RANKERS, Ranker, register
    from pippin.rankers.best_feature import BestFeature
    from pippin.rankers.coordinate_ascent import CoordinateAscent
    from pippin.rankers.frank import FRank
    from pippin.rankers.imported import Imported
    from pippin.rankers.lambdamart import LambdaMART
    from pippin.rankers.lambdarank import LambdaRank
    from pippin.rankers.listmle import ListMLE
    from pippin.rankers.listnet import ListNet
    from pippin.rankers.mart import MART
    from pippin.rankers.parts.parameters import parameter
    from pippin.rankers.rankboost import RankBoost
    from pippin.rankers.ranknet import RankNet
    from pippin.rankers.ranksvm import RankSVM
    from pippin.rankers.regression import Regression
    from pippin.rankers.relational import Relational
    from pippin.rankers.selection import select
    from pippin.rankers.svmmap import SVMMAP
    from pippin.rankers.xendcg import XENDCG

_HOMES = {
    "AdaRank": "adarank", "ApproxNDCG": "approxndcg", "Auto": "auto", "BestFeature": "best_feature",
    "CoordinateAscent": "coordinate_ascent", "FRank": "frank", "Imported": "imported", "LambdaMART": "lambdamart",
    "LambdaRank": "lambdarank", "ListMLE": "listmle", "ListNet": "listnet", "MART": "mart", "RANKERS": "base",
    "RankBoost": "rankboost", "RankNet": "ranknet", "RankSVM": "ranksvm", "Ranker": "base", "Regression": "regression",
    "Relational": "relational", "SVMMAP": "svmmap", "XENDCG": "xendcg", "parameter": "parts.parameters",
    "register": "base", "select": "selection",
}  # fmt: skip

__all__ = [
    "MART",
    "RANKERS",
    "SVMMAP",
    "XENDCG",
    "AdaRank",
    "ApproxNDCG",
    "Auto",
    "BestFeature",
    "CoordinateAscent",
    "FRank",
    "Imported",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
    "Relational",
    "names",
    "parameter",
    "ranker",
    "register",
    "select",
]


@cache
def _load_all() -> None:
    """Import every file of this folder, so that each ranker has registered itself."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def names() -> list[str]:
    """The registered names, in alphabetical order."""
    from pippin.rankers.base import RANKERS

    _load_all()
    return sorted(RANKERS)


def ranker(name: str) -> type[Ranker]:
    """The class registered under a name; settings behind it do not matter here."""
    from pippin.rankers.base import RANKERS
    from pippin.rankers.written import plain_name

    plain = plain_name(name)
    if plain == "imported":  # on no shelf, as there is nothing to train
        from pippin.rankers.imported import Imported

        return Imported
    _load_all()
    return RANKERS[plain]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _shelf() -> Shelf[type[Ranker]]:
    """The rankers as people look at them: `pippin.rankers` shows itself as a table, `pippin.rankers["mart"]` is one."""
    from pippin.rankers.base import RANKERS

    _load_all()
    return Shelf(RANKERS, {
        "what it is": lambda cls: cls.words.partition("\n")[0],
        "looks at a measure": lambda cls: "yes" if "measure" in cls.parameters else "no",
        "takes NULL": lambda cls: "yes" if cls.takes_null else "no",
        "source": lambda cls: cls.source,
    })  # fmt: skip


make_shelf(__name__, _shelf)
