"""Thresholds: engines decide as training did, or the certificate lists the changed documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.models.certificate import compare_leaves, compare_orders
from pippin.models.exporters.base import EXPORTERS
from pippin.models.model import FLOAT32, FLOAT64, ScoringRules, Tree, TreeEnsemble, make_tree
from pippin.models.scoring import reach_leaves
from pippin.models.thresholds import adapt_thresholds

STRICT = replace(FLOAT32, operator="<")
SOLR = replace(FLOAT32, slack=1e-6)
NUMBERS = st.floats(-1e30, 1e30, allow_nan=False, allow_infinity=False)


def stump(threshold: float, scoring: ScoringRules = FLOAT64) -> TreeEnsemble:
    return TreeEnsemble(("f",), ((make_tree([0], [threshold], [-1], [-2], [True], [0.0, 1.0]),),), scoring=scoring)


def goes_left(model: TreeEnsemble, values: list[float]) -> list[bool]:
    return [bool(leaf == 0) for leaf in next(reach_leaves(model, np.array(values)[:, None]))]


@given(NUMBERS, NUMBERS)
def test_float32_engine_decides_as_training_unless_value_and_threshold_are_equal_in_float32(t: float, x: float) -> None:
    below = float(np.nextafter(np.float32(t), np.float32(-np.inf)))
    middle = below / 2 + float(np.float32(t)) / 2
    assume(not middle <= t <= np.nextafter(middle, np.inf))  # which becomes the float32 below
    for scoring in (FLOAT32, STRICT):
        model = adapt_thresholds(stump(t), scoring).model
        for value in (x, t, float(np.float32(t)), float(np.nextafter(np.float32(t), np.float32(np.inf))),
                      below):  # fmt: skip
            if value <= t or np.float32(value) != np.float32(t):
                assert goes_left(model, [value]) == [value <= t], (t, value, scoring)


@given(st.floats(-(2.0**100), 2.0**100, width=32), st.sampled_from([-1, 0, 1]))
@example(0.0, 0)
@example(float(np.nextafter(np.float32(2), np.float32(0))), 1)
def test_neighbouring_float32_values_stay_on_their_sides_of_a_threshold_halfway(lower: float, step: int) -> None:
    upper = float(np.nextafter(np.float32(lower), np.float32(np.inf)))
    t = lower / 2 + upper / 2
    t = float(np.nextafter(t, step * np.inf)) if step else t
    for scoring in (FLOAT32, STRICT):
        model = adapt_thresholds(stump(t), scoring).model
        assert goes_left(model, [lower, upper]) == [True, False], (t, scoring)


@pytest.mark.parametrize("target", ["elasticsearch-ltr", "ranklib", "xgboost"])
def test_model_of_float32_data_decides_as_in_training(target: str, tmp_path: Path) -> None:
    if target == "xgboost":
        pytest.importorskip("xgboost")
    from pippin.rankers.export import export
    from pippin.rankers.mart import MART

    values = (np.float32(20) + np.arange(400, dtype=np.float32) * np.spacing(np.float32(20))).astype(np.float64)
    labels = (np.arange(400) // 3 % 3).astype(np.int32)
    data = Dataset(values[:, None], labels, np.arange(0, 401, 20), tuple(map(str, range(20))))
    model = MART(rounds=5, num_leaves=20, min_data_in_leaf=1).fit(data)
    certificate = export(model, target, tmp_path / "model", check=data).certificate
    assert certificate.branch_changes == 0


@given(NUMBERS, NUMBERS)
def test_float64_engine_decides_as_a_float32_model(t: float, x: float) -> None:
    single = float(np.float32(t))
    source = stump(single, FLOAT32)
    model = adapt_thresholds(source, FLOAT64).model
    threshold = model.trees()[0].threshold[0]
    for value in (x, single, float(threshold), float(np.nextafter(threshold, np.inf))):
        assert goes_left(model, [value]) == goes_left(source, [value])


@given(st.floats(1e-3, 1e6))
def test_solr_adds_a_millionth_to_thresholds(t: float) -> None:
    model = adapt_thresholds(stump(t), SOLR).model
    single = np.float32(t)
    assert goes_left(model, [float(single), float(np.nextafter(single, np.float32(np.inf)))]) == [True, False]


def test_unreachable_threshold_for_solr_is_an_error() -> None:
    with pytest.raises(ConventionError, match=r"the threshold 1\.23e-08 of feature f is not the sum .* rescale"):
        adapt_thresholds(stump(1.23e-8), SOLR)


def test_lightgbm_zero_is_zero_for_solr() -> None:
    adapted = adapt_thresholds(stump(1.0000000180025095e-35), SOLR)
    assert goes_left(adapted.model, [-1.0, 0.0, 1e-20, 1.0]) == [True, True, False, False]
    assert adapted.notes[-1] == "1 thresholds of 1e-35, LightGBM's notation for 0, are written as 0"


def test_threshold_beyond_float32_is_an_error() -> None:
    with pytest.raises(ConventionError, match=r"the threshold -1e\+300 of feature f exceeds float32"):
        adapt_thresholds(stump(-1e300), FLOAT32)


def test_infinite_threshold_sends_all_values_left() -> None:
    adapted = adapt_thresholds(stump(np.inf), FLOAT32)
    assert goes_left(adapted.model, [0.0, 1e38, float("nan")]) == [True, True, True]
    assert "all values" in adapted.notes[0]


def test_zero_as_missing_is_an_error() -> None:
    tree = make_tree([0], [0.5], [-1], [-2], [False], [0.0, 1.0], zero_missing=[True])
    model = TreeEnsemble(("f",), ((tree,),))
    assert goes_left(model, [0.0, 0.1]) == [False, True]
    with pytest.raises(ConventionError, match=r"the threshold 0\.5 of feature f treats 0 as missing"):
        adapt_thresholds(model, FLOAT32)


def test_certificate_lists_thresholds_of_branch_changes() -> None:
    t = 0.1
    table = np.array([[0.05], [np.nextafter(t, 1)], [0.2]])  # the second is above t, and has t's float32
    model = stump(t)
    branch_changes, thresholds = compare_leaves(model, adapt_thresholds(model, FLOAT32).model, table)
    assert branch_changes == 1
    assert thresholds == [{"feature": "f", "threshold": t, "decisions": 1}]


def test_reordered_queries_state_whether_scores_are_equal_in_float32() -> None:
    data = Dataset(np.zeros((6, 1)), np.zeros(6, np.int32), np.array([0, 2, 4, 6]), ("a", "b", "c"))
    before = np.array([1.0, 1.0 + 1e-12, 1.0, 2.0, 1.0, 2.0])
    after = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 2.0])
    assert compare_orders(before, after, data) == [
        {"query": "a", "documents": 2, "equal_in_float32": True},
        {"query": "b", "documents": 2, "equal_in_float32": False},
    ]


def make_changed_tree(**changes: object) -> Tree:
    parts: dict[str, object] = {"feature": [0, 0], "threshold": [0.5, 0.7], "left": [1, -1], "right": [-3, -2],
                                "missing_left": [0, 0], "value": [1.0, 2.0, 3.0]}  # fmt: skip
    return make_tree(**{**parts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [
    {"left": [0, -1]}, {"left": [2, -1]}, {"left": [-1, -1]}, {"right": [-3, -4]}, {"right": [1, -2]},
    {"value": [1.0, 2.0]}, {"value": [1.0, 2.0, np.inf]}, {"threshold": [np.nan, 0.7]}, {"feature": [-1, 0]},
    {"threshold": [0.5]},
])  # fmt: skip
def test_malformed_trees_are_errors(changes: dict[str, object]) -> None:
    make_changed_tree()
    with pytest.raises(ValueError, match="malformed tree"):
        make_changed_tree(**changes)


@pytest.mark.parametrize("data", ["MQ2008", "OHSUMED/QueryLevelNorm"])
def test_no_query_of_real_data_changes_its_order_beyond_float32_ties(data: str, shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("xgboost")
    from tests.rankers.planted import fold

    from pippin.rankers.export import export
    from pippin.rankers.lambdamart import LambdaMART

    train, valid, test = fold(shared, data, 1)
    model = LambdaMART(rounds=60, early_stopping_rounds=20).fit(train, eval_set=valid)
    for target in ("lightgbm", "c", "xgboost", "elasticsearch-ltr", "elasticsearch", "vespa"):
        certificate = export(model, target, tmp_path / f"{target}.model", check=test, force=True).certificate
        assert [query for query in certificate.reordered_queries if not query["equal_in_float32"]] == [], target
        if target in ("lightgbm", "c"):
            assert certificate.has_equal_scores


def test_every_exporter_states_its_source() -> None:
    for target in EXPORTERS.values():
        assert target.source
        assert target.describe_scoring()
