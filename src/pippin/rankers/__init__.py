"""Learning to rank: one file per algorithm, each an estimator as scikit-learn knows them.

A ranker is registered where it is defined; `ranker(name)` and `names()` find them all. The classes are here by their
own names too (`pippin.rankers.LambdaMART`), loaded when they are first used, and so is `select`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.errors import ConventionError
from pippin.modules import attributes, load_folder
from pippin.shelf import Shelf, make_shelf

if TYPE_CHECKING:
    from pippin.rankers.adarank import AdaRank
    from pippin.rankers.approxndcg import ApproxNDCG
    from pippin.rankers.auto import Auto
    from pippin.rankers.base import RANKERS, Ranker, register
    from pippin.rankers.best_feature import BestFeature
    from pippin.rankers.composing import Chain, chain
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
    from pippin.rankers.steps.base import Step
    from pippin.rankers.svmmap import SVMMAP
    from pippin.rankers.xendcg import XENDCG

_HOMES = {
    "AdaRank": "adarank", "ApproxNDCG": "approxndcg", "Auto": "auto", "BestFeature": "best_feature",
    "Chain": "composing", "chain": "composing",
    "CoordinateAscent": "coordinate_ascent", "FRank": "frank", "Imported": "imported", "LambdaMART": "lambdamart",
    "LambdaRank": "lambdarank", "ListMLE": "listmle", "ListNet": "listnet", "MART": "mart", "RANKERS": "base",
    "RankBoost": "rankboost", "RankNet": "ranknet", "RankSVM": "ranksvm", "Ranker": "base", "Regression": "regression",
    "Relational": "relational", "Step": "steps.base", "SVMMAP": "svmmap", "XENDCG": "xendcg",
    "parameter": "parts.parameters", "register": "base", "select": "selection",
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
    "Chain",
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
    "Step",
    "chain",
    "names",
    "parameter",
    "ranker",
    "register",
    "select",
    "stage",
]


def names() -> list[str]:
    """The registered names, in alphabetical order."""
    from pippin.rankers.base import RANKERS

    load_folder(__name__)
    return sorted(RANKERS)


def ranker(name: str) -> type[Ranker]:
    """The class registered under a name, or of a chain; settings behind names do not matter here."""
    from pippin.rankers.base import RANKERS
    from pippin.rankers.written import ARROW, plain_name

    plain = plain_name(name)
    if ARROW in plain:
        from pippin.rankers.composing import class_of

        return class_of(plain.split(ARROW))
    if plain == "imported":  # on no shelf, as there is nothing to train
        from pippin.rankers.imported import Imported

        return Imported
    load_folder(__name__)
    if plain not in RANKERS and plain in _steps():
        raise ConventionError(f"{plain} is a step, which needs a ranker behind it: {plain} > ranksvm")
    return RANKERS[plain]


def _steps() -> list[str]:
    from pippin.rankers.steps import names

    return names()


def stage(name: str) -> type[Ranker] | type[Step]:
    """The class of a ranker, a chain or a step, for those who look at parameters."""
    from pippin.rankers.steps import step

    return step(name) if name in _steps() else ranker(name)


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


def _shelf() -> Shelf[type[Ranker]]:
    """The rankers as people look at them: `pippin.rankers` shows itself as a table, `pippin.rankers["mart"]` is one."""
    from pippin.rankers.base import RANKERS

    load_folder(__name__)
    return Shelf(RANKERS, {
        "what it is": lambda cls: cls.words.partition("\n")[0],
        "looks at a measure": lambda cls: "yes" if "measure" in cls.parameters else "no",
        "takes NULL": lambda cls: "yes" if cls.takes_null else "no",
        "source": lambda cls: cls.source,
    })  # fmt: skip


make_shelf(__name__, _shelf)
