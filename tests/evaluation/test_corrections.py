"""Corrections for multiple tests against hand computation and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.errors import DataError, UnknownName
from pippin.evaluation.paired_tests import CORRECTIONS, adjust

P = [0.01, 0.04, 0.03, 0.005]
families = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_bonferroni_by_hand() -> None:
    assert adjust([*P, 0.5], "bonferroni").tolist() == [5 * 0.01, 5 * 0.04, 5 * 0.03, 5 * 0.005, 1.0]


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 = 0.02, 0.03, 0.06, 0.04, then the running maximum.
    assert adjust(P, "holm").tolist() == [3 * 0.01, 2 * 0.03, 2 * 0.03, 4 * 0.005]


def test_benjamini_hochberg_by_hand() -> None:
    # Sorted times 4/1, 4/2, 4/3, 4/4 = 0.02, 0.02, 0.04, 0.04; running minimum from the right.
    assert adjust(P, "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02], rel=1e-15)
    # 3·0.019 = 0.057 is above 3/2·0.02 = 0.03: the larger p pulls the smaller one down.
    assert adjust([0.02, 0.019, 0.5], "benjamini-hochberg") == pytest.approx([0.03, 0.03, 0.5], rel=1e-15)


def test_benjamini_hochberg_is_scipys() -> None:
    from scipy import stats

    p = np.random.default_rng(1).random(200) ** 3
    np.testing.assert_allclose(adjust(p, "bh"), stats.false_discovery_control(p), rtol=1e-14)


@pytest.mark.parametrize("name", list(CORRECTIONS))
@given(p=families)
def test_laws(name: str, p: list[float]) -> None:
    adjusted = adjust(p, name)
    assert ((adjusted >= np.array(p)) & (adjusted <= 1)).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjust(p[::-1], name).tolist() == adjusted[::-1].tolist()


@given(p=families)
def test_holm_is_never_above_bonferroni_nor_below_bh(p: list[float]) -> None:
    slack = 1e-15
    assert (adjust(p, "holm") <= adjust(p, "bonferroni") + slack).all()
    assert (adjust(p, "bh") <= adjust(p, "holm") + slack).all()


def test_nan_stays_and_does_not_count() -> None:
    adjusted = adjust([0.01, math.nan, 0.04], "bonferroni")
    assert adjusted[[0, 2]].tolist() == [0.02, 0.08]
    assert math.isnan(adjusted[1])
    assert np.isnan(adjust([math.nan], "holm")).all()
    assert adjust([], "holm").tolist() == []


def test_bad_input_is_reported() -> None:
    with pytest.raises(UnknownName, match="did you mean holm"):
        adjust(P, "hulm")
    with pytest.raises(DataError, match="between 0 and 1"):
        adjust([1.5])
    with pytest.raises(DataError, match="must have one dimension, got 2"):
        adjust([[0.1]])
