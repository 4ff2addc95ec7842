"""A model that another program trained, as a ranker: it scores bit for bit as that program does.

It stands on no shelf, as there is nothing to train. `pippin.load` reads other programs' files into one; written
`imported(file=model.txt)` it takes part in a benchmark, where fitting it reads the file and finds its features.
"""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.forms.form import Form, Layer, Linear, Network, Trees, linear_of
from pippin.forms.importers import read_form
from pippin.forms.native import Scorer, scorer
from pippin.forms.state import from_state, to_state
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.parameters import parameter

NAME = "imported"


class Imported(Ranker):
    """A model of another program, which is read and not trained."""

    name = NAME
    source = "the program that wrote the file"
    takes_null = True

    file: str | None = parameter(None, "the model's file")
    digest: str | None = parameter(None, "SHA-256 that the file must have")

    @classmethod
    def of(cls, form: Form, origin: str = "") -> Self:
        """The ranker of a form."""
        model = cls()
        model.form_, model.origin_ = form, origin
        model.feature_names_ = form.names
        model.n_features_in_ = len(form.names)
        model.curve_ = []
        return model

    @classmethod
    def from_estimator(cls, estimator: Any, features: tuple[str, ...] = ()) -> Self:
        """The ranker of a fitted estimator of scikit-learn, by its public attributes."""
        from pippin.forms.importers.scikit import from_estimator

        return cls.of(from_estimator(estimator, tuple(features)), f"scikit-learn {type(estimator).__name__}")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        if self.file is None:
            raise DataError("a model of another program is not trained here; give its file, imported(file=…)")
        content = content_of(self.file)
        if self.digest is not None and sha256(content).hexdigest() != self.digest:
            raise DataError("this is not the model that the plan was made with", self.file)
        self.origin_, form = read_form(content, self.file)
        lacking = [form.names[i] for i in form.used() if form.names[i] not in train.feature_names]
        if lacking:
            raise DataError(
                f"{train.name} lacks {len(lacking)} features of the model, among them {lacking[0]}", self.file
            )
        self.form_ = placed(form, train.feature_names)

    def _predict(self, features: Features) -> NDArray[np.float64]:
        held: tuple[Form, Scorer] | None = vars(self).get("_scorer")
        if held is None or held[0] is not self.form_:
            held = self._scorer = (self.form_, scorer(self.form_))
        return held[1](features)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_scorer"}

    def _state(self) -> dict[str, Any]:
        return {"origin": self.origin_, "form": to_state(self.form_)}

    def _restore(self, state: dict[str, Any]) -> None:
        if not isinstance(state["origin"], str):
            raise ValueError("it does not say where it comes from")
        self.origin_ = state["origin"]
        self.form_ = from_state(state["form"], self.feature_names_)

    def importance(self) -> dict[str, float]:
        """How often trees ask about each feature; otherwise the size of its weights."""
        sizes = np.zeros(len(self.feature_names_))
        if isinstance(self.form_, Trees):
            for one in self.form_.trees():
                np.add.at(sizes, one.feature, 1.0)
        elif isinstance(self.form_, Linear):
            sizes = np.abs(self.form_.weights)
        elif isinstance(self.form_, Network):
            sizes = np.abs(self.form_.layers[0].matrix).sum(axis=1)
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))


def placed(form: Form, names: tuple[str, ...]) -> Form:
    """The same form over other features, which its own are among: each by its name."""
    if form.names == names:
        return form
    place = {name: i for i, name in enumerate(names)}
    moved = np.array([place.get(name, 0) for name in form.names], np.int32)  # what is not used may lack
    normalisers: list[Any] = [None] * len(names) if any(form.normalisers) else []
    for name, one in zip(form.names, form.normalisers, strict=False):
        if one is not None:
            normalisers[place[name]] = one
    if isinstance(form, Trees):
        bags = tuple(tuple(replace(one, feature=moved[one.feature]) for one in bag) for bag in form.bags)
        return replace(form, bags=bags, names=names, normalisers=tuple(normalisers))
    if isinstance(form, Linear):
        terms = form.terms or tuple((i, float(form.weights[i])) for i in form.used())
        made = linear_of(names, [(int(moved[i]), weight) for i, weight in terms], form.scoring, form.start)
        return replace(made, bias=form.bias, normalisers=tuple(normalisers))
    if not isinstance(form, Network):
        raise TypeError(f"{type(form).__name__} is no form")
    matrix = np.zeros((len(names), form.layers[0].matrix.shape[1]))
    mean, factor = np.zeros(len(names)), np.ones(len(names))
    used = form.used()
    matrix[moved[used]] = form.layers[0].matrix[used]
    mean[moved[used]], factor[moved[used]] = form.mean[used], form.factor[used]
    layers = (Layer(matrix, form.layers[0].bias, form.layers[0].activation), *form.layers[1:])
    return replace(form, layers=layers, mean=mean, factor=factor, names=names, normalisers=tuple(normalisers))


def content_of(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model's file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror})", path) from None
