"""Features as LightGBM holds them, cut into bins: made once where several fits want the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.data.dataset import Dataset
from pippin.kernels.checksum import xxh3

if TYPE_CHECKING:
    import lightgbm

# What decides the bins; all else that LightGBM is told concerns the trees.
_DECISIVE = ("max_bin", "min_data_in_bin", "bin_construct_sample_cnt", "feature_pre_filter", "data_random_seed")


class Binned:
    """Training sets and their validation sets, binned. Fits of several threads may ask for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[Any, ...], tuple[lightgbm.Dataset, lightgbm.Dataset | None]] = {}

    @contextmanager
    def of(
        self, train: Dataset, valid: Dataset | None, parameters: Mapping[str, Any]
    ) -> Iterator[tuple[lightgbm.Dataset, lightgbm.Dataset | None]]:
        """Both sets, which nobody else gets before the end: what LightGBM's Python does with them is for one thread."""
        key = (*map(parameters.get, _DECISIVE), _digest(train), None if valid is None else _digest(valid))
        with self._lock:
            if key not in self._made:
                self._made[key] = bin_both(train, valid, parameters)
            yield self._made[key]


def bin_both(
    train: Dataset, valid: Dataset | None, parameters: Mapping[str, Any]
) -> tuple[lightgbm.Dataset, lightgbm.Dataset | None]:
    """A training set and its validation set; LightGBM bins them when the first ensemble asks for them."""
    import lightgbm

    data = lightgbm.Dataset(train.features, params=dict(parameters), free_raw_data=False)
    return data, None if valid is None else data.create_valid(valid.features, params=dict(parameters))


def _digest(data: Dataset) -> tuple[Any, ...]:
    """What tells features from others: bins do not look at labels."""
    features = np.ascontiguousarray(data.features)
    return features.shape, features.dtype.str, xxh3(features.view(np.uint8).ravel())
