"""Train a ranker on data of any form, and score any data with it: the verbs `pippin.train` and `pippin.rank`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import ClickLog
from pippin.data.dataset import Dataset
from pippin.data.grouped import WEIGHT, weights_beside
from pippin.data.load import as_judged
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.rankers import ranker as find_ranker
from pippin.rankers.base import Ranker
from pippin.rankers.models import aligned, load
from pippin.rankers.parts.preferred import clicked
from pippin.rankers.written import settings


def train(
    data: Any,
    ranker: str | type[Ranker] | Ranker = "lambdamart",
    *,
    valid: Any = None,
    select: Any = None,
    convention: Any = None,
    verbose: bool = False,
    clicks: Any = None,
    debias: str = "ips",
    propensities: Any = "em",
    **parameters: Any,
) -> Ranker:
    """Train a ranker; with `select`, the best point of its grid.

    data        a Dataset, a file of any form, or a frame, with features, labels and queries
    ranker      a name of `pippin.rankers`, a class, or a ranker with its parameters set
    valid       the validation set, in any of the forms of `data`; it chooses the number of rounds
    select      try the ranker's grid, and keep what is best on `valid` by this measure
    convention  the tool under whose rules measures are computed in training and selection
    clicks      a ClickLog, or the file of one, to learn from in the place of labels (lambdamart, ranksvm)
    debias      how clicks are taken: ips (weighed by one over the propensity of their rank), pairwise, or naive
    propensities  for ips: em, swaps, regression, or the propensities themselves, from rank 1 on
    parameters  of the ranker; `pippin rankers NAME` explains them

    >>> import pippin
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5], [1.5]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> data = pippin.Dataset.from_arrays(X, y, qid)
    >>> model = train(data, "ranksvm", C=0.1)
    >>> pippin.evaluate(data, pippin.rank(model, data), "NDCG@3").mean
    {'NDCG@3': 1.0}
    """
    learner = _made(ranker, convention, select, parameters)
    learner.check_packages()
    train_set = as_dataset(data)
    if clicks is not None:
        train_set = clicked(train_set, as_log(clicks), debias=debias, propensities=propensities)
    valid_set = None if valid is None else as_dataset(valid)
    weights = weights_beside(data) if isinstance(data, (str, os.PathLike)) else None
    if select is None:
        return learner.fit(train_set, eval_set=valid_set, sample_weight=weights)
    if valid_set is None:
        raise ConventionError("select chooses by a validation set; give one as valid=")
    if weights is not None:
        raise DataError("select weighs all queries alike; train with chosen parameters to use these", f"{data}{WEIGHT}")
    from pippin.evaluation.notation import text_of
    from pippin.rankers.selection import select as choose

    asked = text_of(select)
    return choose(
        learner, train_set, valid_set, measure=asked, convention=convention or "official", verbose=verbose
    ).ranker


def _made(ranker: str | type[Ranker] | Ranker, convention: Any, select: Any, parameters: dict[str, Any]) -> Ranker:
    """The ranker with its parameters, not yet trained."""
    kind: Any = find_ranker(ranker) if isinstance(ranker, str) else ranker
    made: Ranker = kind if isinstance(kind, Ranker) else kind()
    known = made.get_params()
    if isinstance(ranker, str):
        parameters = {**settings(ranker), **parameters}
    if convention is not None and ("convention" in known or select is None):
        parameters = {"convention": convention, **parameters}
    for name in parameters:
        if name not in known:
            raise UnknownName(f"parameter of {made.name}", name, known)
    fresh: Ranker = type(made)(**{**known, **parameters})
    return fresh


def as_log(clicks: Any) -> ClickLog:
    """A click log from whatever was handed over."""
    if isinstance(clicks, ClickLog):
        return clicks
    from pippin.clicks.files import read

    if not isinstance(clicks, str | os.PathLike):
        raise DataError(f"clicks are a ClickLog or the file of one, not {type(clicks).__name__}")
    return read(clicks)


def as_dataset(data: Any) -> Dataset:
    """A data set with features from whatever was handed over."""
    judged = as_judged(data)
    if not isinstance(judged, Dataset):
        raise DataError(f"{judged.name} holds judgements, which have no features to learn from")
    return judged


def rank(model: Ranker | str | os.PathLike[str], data: Any, relations: Any = None) -> NDArray[np.float64]:
    """A score per document; higher is better within a query.

    model      a trained ranker, or the file of one
    data       a Dataset, a file of any form or a frame, whose features are found by name; or a table of features alone
    relations  how alike documents are, for a model that was trained with it: `pippin.collection.relations.similar`

    >>> import pippin
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> rank(pippin.train(data, "ranksvm"), data).argsort().tolist()
    [0, 1, 2]
    """
    ranker = model if isinstance(model, Ranker) else load(model)
    if relations is None and ranker.relation_weight_:
        raise ConventionError("this model spreads scores along relations of the documents; give them as relations=")
    if relations is not None:
        from pippin.rankers.relational import Relational

        return Relational.around(ranker).predict(aligned(ranker, as_dataset(data)), relations)
    table = isinstance(data, (np.ndarray, list))
    return ranker.predict(data if table else aligned(ranker, as_dataset(data)))
