"""Self-attention over a query's documents: a document's score depends on what it stands beside.

Documents are tokens of a small transformer without positions: whatever order they come in, each has the same score.
PyTorch trains it; scores are computed with NumPy in float64, so that a model's file needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.rankers.base import Features, Ranker
from pippin.rankers.listnet import chances
from pippin.rankers.parts.convex import one_blas_thread, with_pairs
from pippin.rankers.parts.finite import check_finite
from pippin.rankers.parts.network import keyed, standard
from pippin.rankers.parts.parameters import above_zero, at_least, parameter
from pippin.rankers.parts.states import array_of
from pippin.rankers.parts.watch import Watch
from pippin.rankers.steps.base import Step, fitted, register
from pippin.rankers.steps.by_query import together

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Weights = dict[str, NDArray[Any]]
_TINY = 1e-5  # under the root of a layer's normalisation, as PyTorch has it


@register("attention")
class Attention(Step):
    """Makes features that know a document's neighbours: a transformer over the query's documents, without positions.

    h = X·W + b; per block h += MultiHead(norm(h)), h += relu(norm(h)·A + a)·B + b, attention going over the documents
    of one query; the rest of the chain ranks by norm(h). The encoder is trained by Adam on batches of whole queries for
    the cross entropy of the chances to be first, with a score norm(h)·v; `attention > listnet` learns that last
    product again.
    """

    source = "Pobrotyn et al. 2020 (context-aware ranker, allRank); Pang et al. 2020 (SetRank)"
    needs = ("torch",)
    whole_queries = True
    takes_weights = False
    grid: ClassVar = {"blocks": (1, 2)}
    quick_grid: ClassVar = {"width": (32,)}
    quick_limits: ClassVar[Mapping[str, int]] = {"rounds": 50, "patience": 15}
    milliseconds = 20_000

    width: int = parameter(32, "numbers that stand for a document")
    heads: int = parameter(2, "of attention; the width is a multiple")
    blocks: int = parameter(1, "of attention and a layer")
    units: int = parameter(64, "hidden units of a block's layer")
    drop: float = parameter(0.1, "share of numbers that are left out at random in training")
    rate: float = parameter(0.002, "how far a step goes")
    batch: int = parameter(16, "queries a step")
    rounds: int = parameter(200, "passes over the training set, at most")
    patience: int | None = parameter(30, "rounds without a better validation value before training stops; None: never")
    measure: str = parameter("NDCG@10", "what validation looks at")
    convention: str | Convention = parameter("official", "under which convention")
    seed: int = parameter(0, "of the first weights, of batches, and of what is left out")
    verbose: bool = parameter(False, "show progress")

    def _check(self) -> None:
        at_least(self, width=1, heads=1, blocks=1, units=1, batch=1, rounds=1, patience=1, seed=0)
        above_zero(self, "rate")
        if self.width % self.heads or not 0 <= self.drop < 1:
            raise DataError(f"{self.name}: width is a multiple of heads, and drop from 0 to below 1")

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        data = with_pairs(train)
        if not data.queries:
            raise DataError("in every query of the training set all labels are alike; there is nothing to learn")
        self.mean_, self.factor_ = standard(data.features)
        with one_blas_thread():
            self._descend(data, None if valid is None or not valid.queries else valid)
        self.models_ = [fitted(rest, self._seen(train), None if valid is None else self._seen(valid))]

    def _seen(self, data: Dataset) -> Dataset:
        """A data set with the features that the rest sees."""
        table = self.context(np.asarray(data.features, np.float64), data.offsets)
        return replace(data, features=table, feature_names=self._names(), lines=None)

    def _names(self) -> tuple[str, ...]:
        return tuple(f"attention.{i + 1}" for i in range(self.width))

    def _descend(self, data: Dataset, valid: Dataset | None) -> None:
        from pippin.rankers.parts.attention_training import Training

        targets = chances(data.labels, data.offsets)
        training = Training(self._standardised(data.features), data.offsets, targets, self._first(), self)
        order, best = keyed(self.seed, "order"), training.weights()
        looked = data.select([]) if valid is None else valid
        table = np.asarray(looked.features, np.float64)
        with Watch(
            valid, self.measure, self.convention, self.rounds, self.patience, verbose=self.verbose, title=self.name
        ) as watch:
            for done in range(self.rounds):
                dealt = order.permutation(data.queries)
                for start in range(0, len(dealt), self.batch):
                    training.step(dealt[start : start + self.batch])
                self.weights_ = training.weights()
                check_finite("a weight", *self.weights_.values())
                stop = watch.after(lambda: self._own_scores(table, looked.offsets))
                best = self.weights_ if watch.best == done else best
                if stop:
                    break
        self.weights_ = best

    def _first(self) -> Weights:
        """Uniform in ±√(6 / (in + out)); shifts 0, scales 1."""
        random, made = keyed(self.seed, "weights"), {}
        for name, shape in shapes(self.n_features_in_, self).items():
            reach = np.sqrt(6.0 / (shape[0] + shape[-1])) if len(shape) == 2 else 0.0
            values = random.uniform(-reach, reach, shape) if reach else np.full(shape, float(name.endswith("scale")))
            made[name] = values.astype(np.float32)
        return made

    def _standardised(self, features: Any) -> F64:
        table: F64 = (features - self.mean_) * self.factor_
        return table

    def _own_scores(self, features: F64, offsets: I64) -> F64:
        scores: F64 = self.context(features, offsets) @ self.weights_["score"][:, 0].astype(np.float64)
        return scores

    def context(self, features: F64, offsets: I64) -> F64:
        """[n, width] the features that know their neighbours."""
        weights = {name: array.astype(np.float64) for name, array in self.weights_.items()}
        table, found = self._standardised(features), np.empty((len(features), self.width))
        with one_blas_thread():
            for start, end in pairwise(offsets.tolist()):
                if end > start:
                    found[start:end] = forward(table[start:end], weights, self.blocks, self.heads)
        return found

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The scores that the rest gives to the features that know their neighbours."""
        if offsets is None:
            raise together(self.name)
        return self.models_[0].scores(self.context(features, offsets), offsets)

    def _state(self) -> dict[str, Any]:
        return {"mean": self.mean_, "factor": self.factor_, **self.weights_}

    def _restore(self, state: dict[str, Any]) -> None:
        width = len(self.feature_names_)
        self.mean_, self.factor_ = (array_of(state[name], np.float64, width) for name in ("mean", "factor"))
        self.weights_ = {name: array_of(state[name], np.float32, *shape)
                         for name, shape in shapes(width, self).items()}  # fmt: skip

    def importance(self) -> dict[str, float]:
        """The size of a feature's weights in the first layer."""
        sizes = np.abs(self.weights_["input"].astype(np.float64)).sum(axis=1) * (self.factor_ > 0)
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))

    def _no_form(self) -> str:
        return "a document's score depends on the query's other documents"

    def words_of_model(self) -> str:
        """How large the encoder is, in a sentence."""
        numbers = sum(array.size for array in self.weights_.values())
        return f"attention has {self.blocks} blocks of width {self.width}, {numbers:,} weights."


def shapes(features: int, settings: Attention) -> dict[str, tuple[int, ...]]:
    """The arrays of a model, by name."""
    width, units = settings.width, settings.units
    found: dict[str, tuple[int, ...]] = {"input": (features, width), "input.shift": (width,)}
    for i in range(settings.blocks):
        for part in ("query", "key", "value", "out"):
            found |= {f"{i}.{part}": (width, width), f"{i}.{part}.shift": (width,)}
        for part in ("before", "between"):
            found |= {f"{i}.{part}.scale": (width,), f"{i}.{part}.move": (width,)}
        found |= {f"{i}.up": (width, units), f"{i}.up.shift": (units,), f"{i}.down": (units, width),
                  f"{i}.down.shift": (width,)}  # fmt: skip
    return {**found, "last.scale": (width,), "last.move": (width,), "score": (width, 1)}


def forward(table: F64, weights: Weights, blocks: int, heads: int) -> F64:
    """[n, width] what stands for each of one query's documents."""
    h = table @ weights["input"] + weights["input.shift"]
    size = h.shape[1] // heads
    for i in range(blocks):
        calm = normal(h, weights, f"{i}.before")
        q, k, v = (calm @ weights[f"{i}.{part}"] + weights[f"{i}.{part}.shift"] for part in ("query", "key", "value"))
        seen = np.empty_like(h)
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            logits = q[:, own] @ k[:, own].T / np.sqrt(size)
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            seen[:, own] = shares / shares.sum(axis=1, keepdims=True) @ v[:, own]
        h = h + seen @ weights[f"{i}.out"] + weights[f"{i}.out.shift"]
        calm = normal(h, weights, f"{i}.between")
        hidden = np.maximum(calm @ weights[f"{i}.up"] + weights[f"{i}.up.shift"], 0)
        h = h + hidden @ weights[f"{i}.down"] + weights[f"{i}.down.shift"]
    return normal(h, weights, "last")


def normal(h: F64, weights: Weights, name: str) -> F64:
    """Each row to mean 0 and deviation 1, then scaled and moved."""
    apart = h - h.mean(axis=1, keepdims=True)
    calm: F64 = apart / np.sqrt((apart**2).mean(axis=1, keepdims=True) + _TINY)
    return calm * weights[f"{name}.scale"] + weights[f"{name}.move"]
