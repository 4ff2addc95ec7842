"""Agreement of two judges against plain Python and published examples, and its effect on systems."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from pippin.errors import DataError, UnknownName
from pippin.evaluation.agreement import agree, agreement, cohen_kappa, krippendorff_alpha, measure_system_bias

HUMAN, MODEL = [0, 1, 2, 2, 1, 0, 3, 1], [0, 1, 1, 2, 2, 0, 3, 0]


def kappa_twin(a: list[int], b: list[int], weight: str) -> float:
    """1 less the mean disagreement of the pairs over that of all pairs of one label of each."""
    far = {"plain": lambda x, y: x != y, "linear": lambda x, y: abs(x - y), "quadratic": lambda x, y: (x - y) ** 2}
    observed = sum(far[weight](x, y) for x, y in zip(a, b, strict=True)) / len(a)
    expected = sum(far[weight](x, y) for x in a for y in b) / len(a) ** 2
    return 1 - observed / expected if expected else math.nan


def alpha_twin(a: list[int], b: list[int], scale: str) -> float:
    """1 less the mean distance within documents over that of any two of all labels."""
    every = [*a, *b]
    count = Counter(every)

    def far(x: int, y: int) -> float:
        if scale == "nominal":
            return float(x != y)
        if scale == "interval":
            return float((x - y) ** 2)
        low, high = min(x, y), max(x, y)
        return (sum(c for g, c in count.items() if low <= g <= high) - (count[x] + count[y]) / 2) ** 2

    observed = sum(far(x, y) for x, y in zip(a, b, strict=True)) / len(a)
    expected = sum(far(x, y) for x, y in permutations(every, 2)) / (len(every) * (len(every) - 1))
    return 1 - observed / expected if expected else math.nan


def test_the_worked_values_hold() -> None:
    kappas = [cohen_kappa(HUMAN, MODEL, weight) for weight in ("plain", "linear", "quadratic")]
    assert kappas == pytest.approx([0.489362, 0.666667, 0.818182], abs=5e-7)
    alphas = [krippendorff_alpha(HUMAN, MODEL, scale) for scale in ("nominal", "ordinal", "interval")]
    assert alphas == pytest.approx([0.516129, 0.804750, 0.828897], abs=5e-7)


def test_coefficients_are_those_of_their_definitions() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        size = int(rng.integers(2, 12))
        a = [int(x) for x in rng.choice([0, 1, 3, 4], size)]
        b = [int(x) if rng.random() < 0.6 else int(rng.integers(0, 5)) for x in a]
        for weight in ("plain", "linear", "quadratic"):
            assert cohen_kappa(a, b, weight) == pytest.approx(kappa_twin(a, b, weight), nan_ok=True)
        for scale in ("nominal", "ordinal", "interval"):
            assert krippendorff_alpha(a, b, scale) == pytest.approx(alpha_twin(a, b, scale), nan_ok=True)


def test_peers_agree() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 4, (2, 200))
    for ours, theirs in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
        assert cohen_kappa(a, b, ours) == pytest.approx(sklearn.cohen_kappa_score(a, b, weights=theirs))


def test_agreement_is_undefined_for_constant_judges() -> None:
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))
    assert math.isnan(krippendorff_alpha([1, 1], [1, 1]))
    with pytest.raises(UnknownName):
        cohen_kappa([1], [1], "cubic")
    with pytest.raises(UnknownName):
        krippendorff_alpha([1], [1], "ratio")
    with pytest.raises(DataError, match="the same documents"):
        cohen_kappa([1], [1, 2])


def test_labels_are_matched_by_query_and_document() -> None:
    people = {"q1": {"a": 0, "b": 2}, "q2": {"a": 1}, "q3": {"a": 1}}
    model = {"q2": {"a": 1, "z": 0}, "q1": {"b": 1, "a": 0}}
    agreement_table = agreement(people, model)
    assert agreement_table.query_ids == ("q1", "q2")
    assert agreement_table.alone == (1, 1)
    grades, counts = agreement_table.table
    assert grades.tolist() == [0, 1, 2]
    assert counts.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert agreement_table.by_grade()["both"] == [1, 1, 0]
    assert agreement_table.by_grade()["kappa"][0] == 1.0
    assert agreement_table.to_dict()["equal"] == [0.5, 1.0]
    assert agreement_table.to_dict()["kappa"][0] == pytest.approx(kappa_twin([0, 2], [0, 1], "quadratic"))
    with pytest.raises(DataError, match="no document in common"):
        agreement({"q": {"a": 1}}, {"q": {"b": 1}})


def test_biased_judge_is_detected() -> None:
    rng = np.random.default_rng(4)
    first = rng.random((40, 4))
    second = first + rng.normal(0, 0.02, first.shape) + 0.1  # generous to all alike
    alike = measure_system_bias(first, second, ("a", "b", "c", "d"))
    assert all(system.p_adjusted > 0.05 for system in alike)
    second[:, 2] += 0.05
    result = measure_system_bias(first, second, ("a", "b", "c", "d"))
    assert result[2].p_adjusted < 0.001
    assert result[2].lift == pytest.approx(0.05, abs=0.02)
    assert result[2].p_adjusted >= result[2].p


def test_bias_tests_keep_their_level() -> None:
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        first = rng.random((20, 3))
        second = first + rng.normal(0, 0.05, first.shape)
        wrong += any(system.p_adjusted <= 0.05 for system in measure_system_bias(first, second, ("a", "b", "c")))
    assert wrong / 400 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_leaderboards_under_both_labels() -> None:
    rng = np.random.default_rng(6)
    documents = [f"d{i}" for i in range(12)]
    people = {f"q{q}": {d: int(rng.integers(0, 3)) for d in documents} for q in range(12)}
    model = {q: dict(labels) for q, labels in people.items()}
    model |= {f"more{q}": {d: int(rng.integers(0, 3)) for d in documents} for q in range(20)}
    runs = {
        name: {q: {d: label + noise * rng.normal() for d, label in labels.items()} for q, labels in model.items()}
        for name, noise in (("good", 0.2), ("fair", 1.0), ("poor", 5.0))
    }
    result = agree(people, model, runs, resamples=50)
    assert [c.name for c in result.correlations] == ["tau_b", "tau_ap_b"]
    assert all(c.value == c.low == c.high == 1.0 for c in result.correlations)
    assert len(result.queries) == 12
    assert set(result.estimates) == {"good", "fair", "poor", "good − fair", "good − poor", "fair − poor"}
    human, ppi, plus = result.estimates["good − poor"]
    assert human.weight == 0.0
    assert ppi.weight == 1.0
    assert 0 < plus.weight <= 1
    assert plus.low > 0
    assert agree(people, people, runs, resamples=5).estimates == {}
    with pytest.raises(DataError, match="2 or more are needed"):
        agree({"q1": people["q1"]}, model, runs)


def test_judges_without_names_are_the_first_and_the_second() -> None:
    assert "only by the first: 0; only by the second: 1" in repr(agree({"q": {"a": 1}}, {"q": {"a": 1, "b": 0}}))
