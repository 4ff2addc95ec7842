"""At a threshold: every engine decides as training did, or the certificate names the documents that it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.data.dataset import Dataset
from pippin.deploy.certificate import changed_order, changed_sides
from pippin.deploy.target import TARGETS, targets
from pippin.deploy.thresholds import fitted
from pippin.errors import ConventionError
from pippin.forms.arithmetic import leaves
from pippin.forms.form import DOUBLE, SINGLE, Scoring, Tree, Trees, tree

targets()
STRICT = replace(SINGLE, operator="<")
SOLR = replace(SINGLE, slack=1e-6)
NUMBERS = st.floats(-1e30, 1e30, allow_nan=False, allow_infinity=False)


def stump(threshold: float, scoring: Scoring = DOUBLE) -> Trees:
    return Trees(("f",), ((tree([0], [threshold], [-1], [-2], [True], [0.0, 1.0]),),), scoring=scoring)


def goes_left(form: Trees, values: list[float]) -> list[bool]:
    return [bool(leaf == 0) for leaf in next(leaves(form, np.array(values)[:, None]))]


@given(NUMBERS, NUMBERS)
def test_a_float32_engine_decides_as_training_unless_the_value_shares_the_float32(t: float, x: float) -> None:
    for scoring in (SINGLE, STRICT):
        form = fitted(stump(t), scoring).form
        for value in (x, t, float(np.float32(t)), float(np.nextafter(np.float32(t), np.float32(np.inf))),
                      float(np.nextafter(np.float32(t), np.float32(-np.inf)))):  # fmt: skip
            if value <= t or np.float32(value) != np.float32(t):
                assert goes_left(form, [value]) == [value <= t], (t, value, scoring)


@given(NUMBERS, NUMBERS)
def test_a_double_engine_decides_as_a_float32_model_does(t: float, x: float) -> None:
    single = float(np.float32(t))
    source = stump(single, SINGLE)
    form = fitted(source, DOUBLE).form
    threshold = form.trees()[0].threshold[0]
    for value in (x, single, float(threshold), float(np.nextafter(threshold, np.inf))):
        assert goes_left(form, [value]) == goes_left(source, [value])


@given(st.floats(1e-3, 1e6))
def test_solr_adds_a_millionth_to_what_is_written(t: float) -> None:
    form = fitted(stump(t), SOLR).form
    single = np.float32(t)
    assert goes_left(form, [float(single), float(np.nextafter(single, np.float32(np.inf)))]) == [True, False]


def test_solr_refuses_a_threshold_that_nothing_reaches() -> None:
    with pytest.raises(ConventionError, match=r"the threshold 1\.23e-08 of feature f is not reached .* rescale"):
        fitted(stump(1.23e-8), SOLR)


def test_what_lightgbm_calls_zero_is_zero_for_solr() -> None:
    found = fitted(stump(1.0000000180025095e-35), SOLR)
    assert goes_left(found.form, [-1.0, 0.0, 1e-20, 1.0]) == [True, True, False, False]
    assert found.notes[-1] == "1 thresholds of 1e-35, which is how LightGBM says 0, stand as 0"


def test_a_threshold_beyond_float32_is_refused_by_name() -> None:
    with pytest.raises(ConventionError, match=r"the threshold -1e\+300 of feature f is beyond float32"):
        fitted(stump(-1e300), SINGLE)


def test_a_threshold_above_all_values_only_tells_null() -> None:
    found = fitted(stump(np.inf), SINGLE)
    assert goes_left(found.form, [0.0, 1e38, float("nan")]) == [True, True, True]
    assert "all but NULL" in found.notes[0]


def test_zero_as_missing_is_refused() -> None:
    one = tree([0], [0.5], [-1], [-2], [False], [0.0, 1.0], zero_missing=[True])
    form = Trees(("f",), ((one,),))
    assert goes_left(form, [0.0, 0.1]) == [False, True]
    with pytest.raises(ConventionError, match=r"the threshold 0\.5 of feature f takes 0 for missing"):
        fitted(form, SINGLE)


def test_the_certificate_names_the_threshold_at_which_ways_part() -> None:
    t = 0.1
    table = np.array([[0.05], [np.nextafter(t, 1)], [0.2]])  # the second is above t, and has t's float32
    form = stump(t)
    sides, places = changed_sides(form, fitted(form, SINGLE).form, table)
    assert sides == 1
    assert places == [{"feature": "f", "threshold": t, "decisions": 1}]


def test_queries_that_change_their_order_are_told_with_whether_float32_tells_apart() -> None:
    data = Dataset(np.zeros((6, 1)), np.zeros(6, np.int32), np.array([0, 2, 4, 6]), ("a", "b", "c"))
    before = np.array([1.0, 1.0 + 1e-12, 1.0, 2.0, 1.0, 2.0])
    after = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 2.0])
    assert changed_order(before, after, data) == [
        {"query": "a", "documents": 2, "equal_in_float32": True},
        {"query": "b", "documents": 2, "equal_in_float32": False},
    ]


def bad(**changes: object) -> Tree:
    parts: dict[str, object] = {"feature": [0, 0], "threshold": [0.5, 0.7], "left": [1, -1], "right": [-3, -2],
                                "missing_left": [0, 0], "value": [1.0, 2.0, 3.0]}  # fmt: skip
    return tree(**{**parts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [
    {"left": [0, -1]}, {"left": [2, -1]}, {"left": [-1, -1]}, {"right": [-3, -4]}, {"right": [1, -2]},
    {"value": [1.0, 2.0]}, {"value": [1.0, 2.0, np.inf]}, {"threshold": [np.nan, 0.7]}, {"feature": [-1, 0]},
    {"threshold": [0.5]},
])  # fmt: skip
def test_what_is_no_tree_is_refused(changes: dict[str, object]) -> None:
    bad()
    with pytest.raises(ValueError, match="tree"):
        bad(**changes)


@pytest.mark.parametrize("data", ["MQ2008", "OHSUMED/QueryLevelNorm"])
def test_no_query_of_real_data_changes_its_order_in_float32(data: str, shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("xgboost")
    from tests.rankers.planted import fold

    from pippin.deploy.exporting import export
    from pippin.rankers.lambdamart import LambdaMART

    train, valid, test = fold(shared, data, 1)
    model = LambdaMART(rounds=60, patience=20).fit(train, eval_set=valid)
    for target in ("lightgbm", "c", "xgboost", "elasticsearch-ltr", "elasticsearch", "vespa"):
        certificate = export(model, target, tmp_path / f"{target}.model", check=test).certificate
        assert [one for one in certificate.order if not one["equal_in_float32"]] == [], target
        if target in ("lightgbm", "c"):
            assert certificate.equal_bits


def test_every_target_says_where_its_convention_was_read() -> None:
    for target in TARGETS.known.values():
        assert target.source
        assert target.words()
