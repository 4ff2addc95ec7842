"""Structural SVM for average precision: the most violated ranking of each query, and a pass of Frank-Wolfe."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


def most_violated(relevant: U8, offsets: I64, scores: F64) -> tuple[F64, F64]:
    """Per query Δ = 1 − AP of the ranking with the largest Δ − w·(Ψ* − Ψ), and per document its weight in Ψ* − Ψ.

    Every query has relevant (1) and other (0) documents.
    """
    losses, coefficients = np.empty(len(offsets) - 1), np.empty(len(scores))
    workers = threads(None if len(scores) > 20_000 else 1)
    native.most_violated(relevant, offsets, scores, coefficients, losses, workers)
    return losses, coefficients


def frank_wolfe_pass(
    relevant: U8, offsets: I64, features: F64, order: I64, regularisation: float, weights: F64, blocks: F64, losses: F64
) -> None:
    """One block step per query in `order`; `weights` (the sum of `blocks`), `blocks` and `losses` are changed."""
    native.frank_wolfe_pass(relevant, offsets, features, order, regularisation, weights, blocks, losses)
