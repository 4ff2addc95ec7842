"""Bagging: the mean of rankers that were trained on samples of the queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of
from pippin.errors import DataError
from pippin.forms.form import Form, Linear, Trees
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.steps.base import Step, register

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@register("bag")
class Bag(Step):
    """The mean of the scores of rankers, each trained on a sample of the queries.

    A sample has as many queries as there are, drawn with replacement, so that each lacks some 37 % of them. The
    validation set stops each ranker as it would one.
    """

    source = "Breiman 1996; Ganjisaffar, Caruana & Lopes 2011"
    quick_limits: ClassVar = {"bags": 3}
    takes_null = True
    takes_weights = False
    trainings = "bags"

    bags: int = parameter(10, "samples, and so rankers")
    seed: int = parameter(1, "of the samples")

    def _check(self) -> None:
        at_least(self, bags=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        self.models_ = []
        for sample in samples(train, self.bags, self.seed):
            model = rest.fresh()
            if "seed" in model.get_params():
                model.set_params(seed=self.seed + len(self.models_))
            self.models_.append(model.fit(drawn(train, sample), eval_set=valid))

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The mean of the rankers' scores."""
        total = np.zeros(len(features))
        for model in self.models_:
            total += model.scores(features, offsets)
        mean: F64 = total / len(self.models_)
        return mean

    def _form(self, forms: Sequence[Form]) -> Form:
        return summed_form(forms, [1 / len(forms)] * len(forms), self.name)


def drawn(data: Dataset, queries: I64) -> Dataset:
    """The data set of these queries, of which one may come again; they are told by their places."""
    rows, sizes = rows_of(data.offsets, queries), np.diff(data.offsets)[queries]
    return Dataset(
        np.ascontiguousarray(data.features[rows]), np.ascontiguousarray(data.labels[rows]),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), tuple(map(str, range(len(queries)))), None,
        data.feature_names, name=data.name,
    )  # fmt: skip


def samples(train: Dataset, bags: int, seed: int) -> list[I64]:
    """Queries by position, drawn with replacement; a sample without a relevant document is drawn again."""
    generator = np.random.default_rng(seed)
    relevant = np.bincount(train.qid(), train.labels > 0, train.queries) > 0
    found: list[I64] = []
    while len(found) < bags:
        sample = np.sort(generator.integers(0, train.queries, train.queries))
        if relevant[sample].any():
            found.append(sample)
    return found


def summed_form(forms: Sequence[Any], shares: Sequence[float], name: str) -> Form:
    """Σ share · form as one form, of weighted sums or of trees."""
    names = forms[0].names
    pairs = list(zip(forms, shares, strict=True))
    if all(isinstance(form, Linear) for form in forms):
        weights: Any = sum(share * form.weights for form, share in pairs)
        return Linear(names, weights, bias=float(sum(share * (form.bias + form.start) for form, share in pairs)))
    if all(isinstance(form, Trees) and not any(form.normalisers) for form in forms):
        grown = tuple(replace(one, value=one.value * share) for form, share in pairs for one in form.flat())
        return Trees(names, (grown,))
    raise DataError(f"no engine takes a sum of networks as one model; to deploy, {name} weighted sums or trees")
