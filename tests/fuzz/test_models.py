"""Fuzz Pippin's model files: a model that scores, or a one-sentence error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.fuzz.harness import COUNT, alter, byte_mutants, survive
from tests.rankers.test_estimators import plant_sum, quick
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pippin.rankers import models

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# One of each kind of model file: linear, with rounds, one feature, stumps, ramps, trees, trees with a base, networks,
# and one that keeps documents of its training set, which would otherwise be most of what is damaged.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "ranksvm": ("ranksvm", {}), "adarank": ("adarank", {}), "best-feature": ("best-feature", {}),
    "rankboost": ("rankboost", {}), "ramps": ("rankboost", {"weak_learner": "continuous"}),
    "lambdamart": ("lambdamart", {"rounds": 2, "num_leaves": 4, "min_data_in_leaf": 1}),
    "mart": ("mart", {"rounds": 1, "n_bags": 2, "num_leaves": 3, "label_gain": (0.0, 1.0, 3.0)}),
    "listnet": ("listnet", {}), "ranknet": ("ranknet", {"hidden_layers": 2, "hidden_units": 3}),
    "sampled": ("best-feature", {}),
}  # fmt: skip
TABLES = np.random.default_rng(3).random((5, 64))


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads cost a thousand times what three trees do."""
    monkeypatch.setenv("PIPPIN_THREADS", "1")
    with threadpool_limits(1):
        yield


@cache
def good(kind: str) -> bytes:
    name, settings = KINDS[kind]
    model = quick(name, **settings).fit(plant_sum(10), eval_set=plant_sum(5, seed=2))
    return models.to_bytes(model, sample=kind == "sampled")


def use(content: bytes) -> None:
    """Read a model and let it score as many features as it says it has, and its importances."""
    model = models.from_bytes(content, "model")
    assert np.isfinite(model.predict(TABLES[:, : model.n_features_in_])).all()
    assert np.isfinite(model.feature_importances_).all()
    if model.sample_ is not None:
        assert model.sample_.feature_names == model.feature_names_


def sealed_mutants(kind: str, count: int) -> Iterator[bytes]:
    """Records changed in one place, whose digest says that nothing is wrong."""
    random = Random(kind)
    content, arrays = models.read_record(good(kind), kind)
    del content["sha256"]
    while count:
        record, held = content, arrays
        if arrays and random.random() < 0.3:
            name = random.choice(list(arrays))
            held = {**arrays, name: random.choice(bent(arrays[name]))}
        else:
            record = alter(content, random)
        try:
            yield models.seal(record, held)
        except (ValueError, TypeError):  # JSON cannot hold it
            continue
        count -= 1


def bent(array: Any) -> list[Any]:
    """Return invalid versions of an array: truncated, longer, of another type or shape, not finite."""
    large = array.copy()
    large.flat[0] = np.inf
    twice = np.concatenate([array, array])
    return [array[:-1], twice, array.astype(np.float16), array.ravel(), large, array.astype(int)]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_are_never_a_model(kind: str) -> None:
    content = good(kind)
    use(content)
    counts = survive((mutant for mutant in byte_mutants(content, COUNT // 5) if mutant != content), same_or(use, kind))
    assert counts["refused"] > 0.9 * (counts["read"] + counts["refused"])


def same_or(read: Any, kind: str) -> Any:
    """Read it; what is read in spite of the damage must be the model that was written: damage to spaces is none."""
    expected = models.from_bytes(good(kind), kind).predict(TABLES[:, :6])

    def check_model(content: bytes) -> None:
        read(content)
        if b'"version": 1' not in content:
            assert (models.from_bytes(content, "model").predict(TABLES[:, :6]) == expected).all()

    return check_model


@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_record_is_a_model_or_refused(kind: str) -> None:
    counts = survive(sealed_mutants(kind, COUNT // 5), use)
    assert counts["refused"] > 0
    assert counts["read"] > 0
