"""The training sample stored in a model: complete queries, reproducible and exact."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum, quick

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import models
from pippin.rankers.training_data import SAMPLE_SIZE, draw_sample, pack_sample, unpack_sample


def many(queries: int, size: int) -> Dataset:
    rows = queries * size
    table = np.random.default_rng(1).random((rows, 3))
    table[::7, 1] = np.nan
    table[:, 2] = table[:, 2].astype(np.float32)
    names = tuple(f"secret{i}" for i in range(queries))
    return Dataset(table, np.arange(rows, dtype=np.int32) % 3, np.arange(0, rows + 1, size), names)


def test_the_sample_has_complete_queries_and_is_reproducible() -> None:
    data = many(90, 30)
    sample = draw_sample(data)
    assert len(sample) == 990
    assert set(np.diff(sample.offsets)) == {30}
    for start in sample.offsets[:-1]:
        first = np.flatnonzero(data.features[:, 0] == sample.features[start, 0])[0]
        assert first % 30 == 0
        np.testing.assert_array_equal(data.features[first : first + 30], sample.features[start : start + 30])
        np.testing.assert_array_equal(data.labels[first : first + 30], sample.labels[start : start + 30])
    assert draw_sample(data).features.tobytes() == sample.features.tobytes()
    assert draw_sample(data).features.base is not data.features


def test_a_query_that_is_too_long_is_cut() -> None:
    assert draw_sample(many(2, 1500)).offsets.tolist() == [0, SAMPLE_SIZE]


def test_the_text_keeps_every_bit_and_no_names() -> None:
    sample = draw_sample(many(40, 30))
    again = unpack_sample(pack_sample(sample), ("a", "b", "c"))
    assert again.features.tobytes() == sample.features.tobytes()
    assert (again.labels == sample.labels).all()
    assert (again.offsets == sample.offsets).all()
    assert again.feature_names == ("a", "b", "c")
    assert "secret1" not in again.query_ids


def test_a_model_has_it_back_from_its_file() -> None:
    model = quick("ranksvm").fit(plant_sum(10))
    content = models.to_bytes(model)
    again = models.from_bytes(content, "model")
    assert again.sample_ is not None
    assert again.sample_.features.tobytes() == plant_sum(10).features.tobytes()
    assert models.to_bytes(again) == content
    assert models.from_bytes(models.to_bytes(model, sample=False), "model").sample_ is None


@pytest.mark.parametrize("text", ["%", "QUJD", pack_sample(draw_sample(many(2, 3)))[:-40], pack_sample(many(2, 3))])
def test_an_invalid_sample_is_refused_on_access(text: str) -> None:
    content, arrays = models.to_record(quick("ranksvm").fit(plant_sum(10, features=2)))
    model = models.from_bytes(models.seal({**content, "sample": text}, arrays), "model")
    with pytest.raises(DataError):
        _ = model.sample_
