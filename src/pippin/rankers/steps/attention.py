"""Self-attention over the documents of a query.

Documents are the tokens of a small transformer without positions, so scores do not depend on their order. PyTorch
trains it; NumPy computes scores in float64, so scoring does not need PyTorch.
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
from pippin.rankers.base import EarlyStopping, Features, Ranker, check_finite, read_array
from pippin.rankers.linear import drop_constant_queries, one_blas_thread
from pippin.rankers.listnet import top_one_probabilities
from pippin.rankers.networks import derive_rng, fit_scaler
from pippin.rankers.parameters import above_zero, check_minima, parameter
from pippin.rankers.steps.base import Step, fit_clone, register
from pippin.rankers.steps.query_dependent import missing_queries_error

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Weights = dict[str, NDArray[Any]]
_EPSILON = 1e-5  # of layer normalisation, as in PyTorch


@register("attention")
class Attention(Step):
    """Encodes documents in the context of their query by a transformer without positions.

    h = X·W + b; per block h += MultiHead(norm(h)), h += relu(norm(h)·A + a)·B + b, with attention over the documents
    of one query (Pobrotyn et al. 2020, section 3). The next ranker gets the features norm(h). The encoder is trained
    with a score norm(h)·v by Adam for the cross entropy of top-one probabilities; `attention > listnet` fits that
    last product again.
    """

    source = "Pobrotyn et al. 2020 (context-aware ranker, allRank); Pang et al. 2020 (SetRank)"
    requires = ("torch",)
    needs_query_groups = True
    supports_sample_weight = False
    grid: ClassVar = {"n_layers": (1, 2)}
    small_grid: ClassVar = {"d_model": (32,)}
    small_limits: ClassVar[Mapping[str, int]] = {"rounds": 50, "early_stopping_rounds": 15}
    cost_ms = 20_000

    d_model: int = parameter(32, "size of the encoding of a document")
    n_heads: int = parameter(2, "attention heads; d_model is a multiple")
    n_layers: int = parameter(1, "blocks of attention and a feed-forward layer")
    d_ff: int = parameter(64, "hidden units of the feed-forward layers")
    dropout: float = parameter(0.1, "dropout rate")
    learning_rate: float = parameter(0.002, "step size of Adam")
    batch_size: int = parameter(16, "queries per step")
    rounds: int = parameter(200, "maximum number of passes over the training set")
    early_stopping_rounds: int | None = parameter(
        30, "rounds without improvement on the validation set before training stops; None: never"
    )
    measure: str = parameter("NDCG@10", "measure for early stopping")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(0, "seed of initial weights, batches and dropout")
    verbose: bool = parameter(False, "show progress")

    def _check(self) -> None:
        check_minima(
            self, d_model=1, n_heads=1, n_layers=1, d_ff=1, batch_size=1, rounds=1, early_stopping_rounds=1, seed=0
        )
        above_zero(self, "learning_rate")
        if self.d_model % self.n_heads or not 0 <= self.dropout < 1:
            raise DataError(f"{self.name}: d_model must be a multiple of n_heads, and dropout at least 0 and below 1")

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        data = drop_constant_queries(train)
        if not data.queries:
            raise DataError("every query of the training set has labels of only one class: nothing to learn")
        self.mean_, self.factor_ = fit_scaler(data.features)
        with one_blas_thread():
            self._descend(data, None if valid is None or not valid.queries else valid)
        self.estimators_ = [fit_clone(next_ranker, self._encode(train), None if valid is None else self._encode(valid))]

    def _encode(self, data: Dataset) -> Dataset:
        """Return a data set with encoded features."""
        table = self.context(np.asarray(data.features, np.float64), data.offsets)
        return replace(data, features=table, feature_names=self._names(), lines=None)

    def _names(self) -> tuple[str, ...]:
        return tuple(f"attention.{i + 1}" for i in range(self.d_model))

    def _descend(self, data: Dataset, valid: Dataset | None) -> None:
        targets = top_one_probabilities(data.labels, data.offsets)
        training = Training(self._standardize(data.features), data.offsets, targets, self._initial_weights(), self)
        order, best = derive_rng(self.seed, "order"), training.weights()
        valid_data = data.select([]) if valid is None else valid
        table = np.asarray(valid_data.features, np.float64)
        with EarlyStopping.of(self, valid) as watch:
            for done in range(self.rounds):
                shuffled_queries = order.permutation(data.queries)
                for start in range(0, len(shuffled_queries), self.batch_size):
                    training.step(shuffled_queries[start : start + self.batch_size])
                self.weights_ = training.weights()
                check_finite("a weight", *self.weights_.values())
                stop = watch.update(lambda: self._training_scores(table, valid_data.offsets))
                best = self.weights_ if watch.best == done else best
                if stop:
                    break
        self.weights_ = best

    def _initial_weights(self) -> Weights:
        """Return initial weights: uniform in ±√(6 / (in + out)) (Glorot & Bengio 2010), biases 0, scales 1."""
        random, weights = derive_rng(self.seed, "weights"), {}
        for name, shape in weight_shapes(self.n_features_in_, self).items():
            limit = np.sqrt(6.0 / (shape[0] + shape[-1])) if len(shape) == 2 else 0.0
            values = random.uniform(-limit, limit, shape) if limit else np.full(shape, float(name.endswith("scale")))
            weights[name] = values.astype(np.float32)
        return weights

    def _standardize(self, features: Any) -> F64:
        table: F64 = (features - self.mean_) * self.factor_
        return table

    def _training_scores(self, features: F64, offsets: I64) -> F64:
        scores: F64 = self.context(features, offsets) @ self.weights_["score"][:, 0].astype(np.float64)
        return scores

    def context(self, features: F64, offsets: I64) -> F64:
        """Return the encoded features [document, d_model]."""
        weights = {name: array.astype(np.float64) for name, array in self.weights_.items()}
        table, encoded = self._standardize(features), np.empty((len(features), self.d_model))
        with one_blas_thread():
            for start, end in pairwise(offsets.tolist()):
                if end > start:
                    encoded[start:end] = forward(table[start:end], weights, self.n_layers, self.n_heads)
        return encoded

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the next ranker's scores of the encoded features."""
        if offsets is None:
            raise missing_queries_error(self.name)
        return self.estimators_[0].scores(self.context(features, offsets), offsets)

    def _state(self) -> dict[str, Any]:
        return {"mean": self.mean_, "factor": self.factor_, **self.weights_}

    def _restore(self, state: dict[str, Any]) -> None:
        width = len(self.feature_names_)
        self.mean_, self.factor_ = (read_array(state[name], np.float64, width) for name in ("mean", "factor"))
        self.weights_ = {name: read_array(state[name], np.float32, *shape)
                         for name, shape in weight_shapes(width, self).items()}  # fmt: skip

    def importance(self) -> dict[str, float]:
        """Return the absolute sum of each feature's weights in the first layer."""
        sizes = np.abs(self.weights_["input"].astype(np.float64)).sum(axis=1) * (self.factor_ > 0)
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))

    def _no_model_reason(self) -> str:
        return "a score depends on the other documents of the query"

    def describe(self) -> str:
        """Return a sentence about the size of the encoder."""
        numbers = sum(array.size for array in self.weights_.values())
        return f"attention has {self.n_layers} blocks of width {self.d_model}, {numbers:,} weights."


def weight_shapes(features: int, settings: Attention) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights, by name."""
    width, units = settings.d_model, settings.d_ff
    result: dict[str, tuple[int, ...]] = {"input": (features, width), "input.shift": (width,)}
    for i in range(settings.n_layers):
        for part in ("query", "key", "value", "out"):
            result |= {f"{i}.{part}": (width, width), f"{i}.{part}.shift": (width,)}
        for part in ("before", "between"):
            result |= {f"{i}.{part}.scale": (width,), f"{i}.{part}.move": (width,)}
        result |= {f"{i}.up": (width, units), f"{i}.up.shift": (units,), f"{i}.down": (units, width),
                  f"{i}.down.shift": (width,)}  # fmt: skip
    return {**result, "last.scale": (width,), "last.move": (width,), "score": (width, 1)}


def forward(table: F64, weights: Weights, blocks: int, heads: int) -> F64:
    """Return the encoding [document, d_model] of the documents of one query."""
    h = table @ weights["input"] + weights["input.shift"]
    size = h.shape[1] // heads
    for i in range(blocks):
        normed = layer_norm(h, weights, f"{i}.before")
        q, k, v = (normed @ weights[f"{i}.{part}"] + weights[f"{i}.{part}.shift"] for part in ("query", "key", "value"))
        attended = np.empty_like(h)
        for head in range(heads):
            head_slice = slice(head * size, (head + 1) * size)
            logits = q[:, head_slice] @ k[:, head_slice].T / np.sqrt(size)
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            attended[:, head_slice] = shares / shares.sum(axis=1, keepdims=True) @ v[:, head_slice]
        h = h + attended @ weights[f"{i}.out"] + weights[f"{i}.out.shift"]
        normed = layer_norm(h, weights, f"{i}.between")
        activations = np.maximum(normed @ weights[f"{i}.up"] + weights[f"{i}.up.shift"], 0)
        h = h + activations @ weights[f"{i}.down"] + weights[f"{i}.down.shift"]
    return layer_norm(h, weights, "last")


def layer_norm(h: F64, weights: Weights, name: str) -> F64:
    """Normalise each row to mean 0 and deviation 1, then scale and shift it."""
    centered = h - h.mean(axis=1, keepdims=True)
    normed: F64 = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + _EPSILON)
    return normed * weights[f"{name}.scale"] + weights[f"{name}.move"]


class Training:
    """Training state in PyTorch; one thread and one seed, for reproducible bits."""

    def __init__(
        self, table: F64, offsets: I64, targets: F64, first: dict[str, NDArray[Any]], settings: Attention
    ) -> None:
        import torch

        self.torch: Any = torch
        self.settings, self.offsets = settings, offsets
        self.table = torch.from_numpy(table.astype(np.float32))
        self.targets = torch.from_numpy(targets.astype(np.float32))
        self.parameters: dict[str, Any] = {
            name: torch.from_numpy(array.copy()).requires_grad_() for name, array in first.items()
        }
        self.adam = torch.optim.Adam(self.parameters.values(), lr=settings.learning_rate)
        self.generator = torch.Generator().manual_seed(settings.seed)

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return a copy of the weights."""
        return {name: tensor.detach().numpy().copy() for name, tensor in self.parameters.items()}

    def step(self, queries: I64) -> None:
        """Update the weights by the mean loss of these queries."""
        torch, threads = self.torch, self.torch.get_num_threads()
        torch.set_num_threads(1)  # sums in one order
        try:
            sizes = np.diff(self.offsets)[queries]
            positions = self.offsets[:-1][queries][:, None] + np.arange(sizes.max())
            is_document = np.arange(sizes.max()) < sizes[:, None]
            rows = torch.from_numpy(np.where(is_document, positions, self.offsets[:-1][queries][:, None]))
            mask = torch.from_numpy(is_document)
            scores = self.scores(self.table[rows], mask)
            targets = self.targets[rows].masked_fill(~mask, 0.0)
            loss = -(targets * torch.log_softmax(scores, dim=1).masked_fill(~mask, 0.0)).sum() / len(queries)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
        finally:
            torch.set_num_threads(threads)

    def scores(self, x: Any, mask: Any, training: bool = True) -> Any:
        """Return scores [query, document] of padded queries; −∞ in the padding."""
        weights, settings = self.parameters, self.settings
        dropout = settings.dropout if training else 0.0
        h = x @ weights["input"] + weights["input.shift"]
        count, longest, width = h.shape
        for i in range(settings.n_layers):
            normed = self._normal(h, f"{i}.before")
            q, k, v = (
                (normed @ weights[f"{i}.{part}"] + weights[f"{i}.{part}.shift"])
                .view(count, longest, settings.n_heads, width // settings.n_heads).transpose(1, 2)
                for part in ("query", "key", "value")
            )  # fmt: skip
            logits = (q @ k.transpose(2, 3) / (width // settings.n_heads) ** 0.5).masked_fill(
                ~mask[:, None, None, :], float("-inf")
            )
            attended = (self.torch.softmax(logits, dim=3) @ v).transpose(1, 2).reshape(count, longest, width)
            h = h + self._dropout(attended @ weights[f"{i}.out"] + weights[f"{i}.out.shift"], dropout)
            activations = self.torch.relu(
                self._normal(h, f"{i}.between") @ weights[f"{i}.up"] + weights[f"{i}.up.shift"]
            )
            h = h + self._dropout(activations @ weights[f"{i}.down"] + weights[f"{i}.down.shift"], dropout)
        return (self._normal(h, "last") @ weights["score"])[..., 0].masked_fill(~mask, float("-inf"))

    def _normal(self, h: Any, name: str) -> Any:
        scale, move = self.parameters[f"{name}.scale"], self.parameters[f"{name}.move"]
        return self.torch.nn.functional.layer_norm(h, h.shape[-1:], scale, move)

    def _dropout(self, h: Any, dropout: float) -> Any:
        if not dropout:
            return h
        is_kept = self.torch.rand(h.shape, generator=self.generator) >= dropout
        return h * is_kept / (1 - dropout)
