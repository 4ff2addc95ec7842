"""Rankers: one module per algorithm, each a scikit-learn estimator.

A ranker is registered in its own module; `ranker(name)` and `names()` look them up. Classes such as
`pippin.rankers.LambdaMART` are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.display.registry_view import RegistryView
from pippin.errors import ConventionError
from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.rankers.adarank import AdaRank
    from pippin.rankers.approxndcg import ApproxNDCG
    from pippin.rankers.auto import Auto
    from pippin.rankers.base import RANKERS, Ranker, register
    from pippin.rankers.best_feature import BestFeature
    from pippin.rankers.chains import Chain, chain
    from pippin.rankers.coordinate_ascent import CoordinateAscent
    from pippin.rankers.explaining import explain
    from pippin.rankers.frank import FRank
    from pippin.rankers.lambdamart import LambdaMART
    from pippin.rankers.lambdarank import LambdaRank
    from pippin.rankers.listmle import ListMLE
    from pippin.rankers.listnet import ListNet
    from pippin.rankers.mart import MART
    from pippin.rankers.models import ImportedModel, import_model
    from pippin.rankers.parameters import parameter
    from pippin.rankers.rankboost import RankBoost
    from pippin.rankers.ranknet import RankNet
    from pippin.rankers.ranksvm import RankSVM
    from pippin.rankers.regression import Regression
    from pippin.rankers.relational import Relational
    from pippin.rankers.steps.base import Step
    from pippin.rankers.svmmap import SVMMAP
    from pippin.rankers.training import as_dataset, document_scores, select
    from pippin.rankers.xendcg import XENDCG

_HOMES = {
    "AdaRank": "adarank", "ApproxNDCG": "approxndcg", "Auto": "auto", "BestFeature": "best_feature",
    "Chain": "chains", "chain": "chains",
    "CoordinateAscent": "coordinate_ascent", "FRank": "frank", "ImportedModel": "models", "LambdaMART": "lambdamart",
    "LambdaRank": "lambdarank", "ListMLE": "listmle", "ListNet": "listnet", "MART": "mart", "RANKERS": "base",
    "RankBoost": "rankboost", "RankNet": "ranknet", "RankSVM": "ranksvm", "Ranker": "base", "Regression": "regression",
    "Relational": "relational", "Step": "steps.base", "SVMMAP": "svmmap", "XENDCG": "xendcg",
    "as_dataset": "training", "document_scores": "training", "explain": "explaining", "import_model": "models",
    "parameter": "parameters", "register": "base", "select": "training",
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
    "ImportedModel",
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
    "as_dataset",
    "chain",
    "document_scores",
    "explain",
    "import_model",
    "list_rankers",
    "names",
    "parameter",
    "ranker",
    "register",
    "select",
    "stage",
]


def names() -> list[str]:
    """Return the names of the registered rankers.

    Returns
    -------
    list of str
        Names, sorted.

    Examples
    --------
    >>> "ranksvm" in names()
    True
    """
    from pippin.rankers.base import RANKERS

    return sorted(RANKERS)


def ranker(name: str) -> type[Ranker]:
    """Return the class of a ranker or chain; parameters in the text are ignored.

    Parameters
    ----------
    name : str
        Name of a ranker, or a chain such as ``pca(10) > ranksvm``.

    Returns
    -------
    type
        A subclass of Ranker.

    Examples
    --------
    >>> ranker("ranksvm").__name__
    'RankSVM'
    """
    from pippin.rankers.base import RANKERS
    from pippin.rankers.chains import ARROW, ranker_name
    from pippin.rankers.steps.base import STEPS

    plain = ranker_name(name)
    if ARROW in plain:
        from pippin.rankers.chains import chain_class

        return chain_class(plain.split(ARROW))
    if plain == "imported":  # not registered because it cannot be trained
        from pippin.rankers.models import ImportedModel

        return ImportedModel
    if plain not in RANKERS and plain in STEPS:
        raise ConventionError(f"{plain} is a step, not a ranker: add a ranker, for example {plain} > ranksvm")
    return RANKERS[plain]


def stage(name: str) -> type[Ranker] | type[Step]:
    """Return the class of a ranker, a chain or a step.

    Parameters
    ----------
    name : str
        Name of a ranker, chain or step.

    Returns
    -------
    type
        A subclass of Ranker or Step.

    Examples
    --------
    >>> stage("pca").__name__
    'PCA'
    """
    from pippin.rankers.base import RANKERS
    from pippin.rankers.steps.base import STEPS

    return STEPS[name] if name not in RANKERS and name in STEPS else ranker(name)


__getattr__ = lazy_attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


def list_rankers() -> RegistryView[type[Ranker]]:
    """Return the registered rankers as a read-only mapping that prints as a table.

    Returns
    -------
    RegistryView
        Ranker classes by name, plugins included.

    Examples
    --------
    >>> import pippin
    >>> pippin.list_rankers()["ranksvm"].__name__
    'RankSVM'
    """
    from pippin.rankers.base import RANKERS

    return RegistryView(RANKERS, {
        "description": lambda cls: cls.summary.partition("\n")[0],
        "uses a measure": lambda cls: "yes" if "measure" in cls.parameters else "no",
        "accepts NULL": lambda cls: "yes" if cls.allow_nan else "no",
        "source": lambda cls: cls.source,
    })  # fmt: skip
