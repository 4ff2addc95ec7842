"""λ gradients equal the brute-force change of the measure for every swap and convention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError
from pippin.evaluation.axis import Axis
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures.notation import parse
from pippin.evaluation.objective import Objective
from pippin.evaluation.tools import TOOLS
from pippin.kernels import losses as kernel
from pippin.kernels.measures import Rules
from pippin.kernels.strings import StringColumn
from pippin.rankers.lambdas import Lambdas

F64 = NDArray[np.float64]

MEASURES = ["NDCG@10", "NDCG@3", "NDCG", "DCG@3", "AP", "AP@3", "ERR", "ERR@3", "RR", "RR@2", "P@3", "P@10", "Recall@3",
            "RBP", "RBP(p=0.5)@3"]  # fmt: skip
CONVENTIONS: list[str | Convention] = [
    "official", "letor3", "letor4", "mslr", "yahoo", "ranklib", "trec_eval9", "trec_eval10", "gdeval", "lightgbm",
    "xgboost", "sklearn", Convention(err_max_grade="query", short_lists="zero"), Convention(gain=(0.0, 1.0, 4.0, 5.0,
    9.0)),
    Convention(discount="reciprocal", relevance_threshold=3, ap_denominator="cutoff", ties="input"),
    Convention(gain_threshold=2, max_valid_label=3, precision_denominator="zero"),
]  # fmt: skip


def dataset(*queries: list[int]) -> Dataset:
    labels = np.array([label for query in queries for label in query], np.int32)
    offsets = np.cumsum([0] + [len(query) for query in queries]).astype(np.int64)
    ids = StringColumn.of(f"d{i:03}" for i in range(len(labels)))
    return Dataset(np.zeros((len(labels), 1)), labels, offsets, tuple(f"q{i}" for i in range(len(queries))), ids)


def brute(data: Dataset, scores: F64, measure: str, convention: str | Convention) -> list[F64]:
    """Return by query table[a, b]: the change of the value if the documents at positions a and b swap scores."""
    judge = Objective(data, measure, convention)
    before = np.nan_to_num(judge.values(scores))
    tables = []
    for q in range(data.queries):
        begin, end = data.offsets[q], data.offsets[q + 1]
        order = begin + np.argsort(-scores[begin:end], kind="stable")
        table = np.zeros((end - begin, end - begin))
        for a in range(end - begin):
            for b in range(a + 1, end - begin):
                swapped = scores.copy()
                swapped[[order[a], order[b]]] = scores[[order[b], order[a]]]
                table[a, b] = np.nan_to_num(judge.values(swapped))[q] - before[q]
        tables.append(table)
    return tables


def twin(data: Dataset, scores: F64, tables: list[F64], sigma: float) -> tuple[F64, F64]:
    """λ and its derivative from tables of changes, pair by pair."""
    gradient, hessian = np.zeros(len(data)), np.zeros(len(data))
    for q, table in enumerate(tables):
        begin, end = data.offsets[q], data.offsets[q + 1]
        order = begin + np.argsort(-scores[begin:end], kind="stable")
        for a, b in np.argwhere(np.abs(table) > 1e-14):
            better, worse = (order[b], order[a]) if table[a, b] > 0 else (order[a], order[b])
            rho = 1 / (1 + np.exp(sigma * (scores[better] - scores[worse])))
            force = sigma * abs(table[a, b]) * rho
            gradient[better] -= force
            gradient[worse] += force
            hessian[[better, worse]] += sigma * force * (1 - rho)
    return gradient, hessian


QUERIES: tuple[list[int], ...] = (
    [2, 0, 1, 1, 0, 4, 3, 0, 1, 0, 2, 0],
    [1, 0],
    [0, 0, 0],
    [3],
    [4, 2, 2, 0, 1],
    [0, 0, 0, 1],
    [2, 2, 2],
    [],
)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=str)
@pytest.mark.parametrize("measure", MEASURES)
def test_equals_brute_force_for_every_swap(measure: str, convention: str | Convention) -> None:
    queries = [[min(label, 2) for label in query] for query in QUERIES] if convention == "letor3" else list(QUERIES)
    if measure == "RR" and convention == "ranklib":
        convention = "yahoo"  # RankLib holds 1/rank in single precision, which no λ does
    if convention == "sklearn" and measure.startswith("AP"):
        convention = TOOLS["sklearn"].convention_for(parse(measure)).replace(ties="input")  # grouped ties are refused
    data = dataset(*queries)
    scores = np.random.default_rng(3).permutation(len(data)) / 7.0
    tables = brute(data, scores, measure, convention)
    lambdas = Lambdas(data, measure, convention, sigma=1.5)
    for q, table in enumerate(tables):
        assert np.allclose(lambdas.changes(q, scores), table, rtol=1e-12, atol=1e-14)
    for got, expected in zip(lambdas(scores), twin(data, scores, tables, 1.5), strict=True):
        assert np.allclose(got, expected, rtol=1e-11, atol=1e-15)


# What settles values and means after all swaps, and which values of the others to try besides the named ones.
_AFTER = ("value_rounding", "zero_values")
_TRIED: dict[str, list[Any]] = {
    "gain": [(0.0, 1.0, 4.0, 5.0, 9.0)], "max_valid_label": [2], "gain_threshold": [2], "empty": [0.5],
    "min_retrieved": [4],
    "unjudged_documents": [1], "relevance_threshold": [2], "err_max_grade": [5],
}  # fmt: skip


BEFORE = [axis for axis in AXES.values() if axis.stage not in ("mean", "print") and axis.name not in _AFTER]


@pytest.mark.parametrize("axis", BEFORE, ids=lambda axis: axis.name)
def test_every_choice_is_honoured_or_refused(axis: Axis) -> None:
    data = dataset([-1, 0, 1, 4, 0, 2], [0, -2, 1, 0], [3, 0, 3], [1, 2])
    data = replace(data, document_ids=StringColumn.of(["q0", *(f"d{i:03}" for i in range(1, len(data)))]))
    scores = np.random.default_rng(3).permutation(len(data)) / 7.0 - 0.5  # some below 0, none equal
    for value in (*axis.values.values(), *_TRIED.get(axis.name, [])):
        if value == "probability":
            continue  # of labels 0 and 1
        convention = Convention(ties="input").replace(**{axis.name: value})
        for measure in ("NDCG@2", "DCG", "AP", "AP@2", "ERR@3", "RR@2", "P@2", "Recall@2", "RBP@3"):
            try:
                lambdas = Lambdas(data, measure, convention)
            except ConventionError:
                continue
            for q, table in enumerate(brute(data, scores, measure, convention)):
                result = lambdas.changes(q, scores)
                assert np.allclose(result, table, rtol=1e-12, atol=1e-14), (value, measure, q)


@pytest.mark.parametrize("changes", [{"list_order": "given"}, {"score_floor": "zero"}, {"negative_labels": "label"},
                                     {"self_retrieval": "drop"}, {"ties": "shared-rank"}], ids=str)  # fmt: skip
def test_measures_without_swap_changes_are_refused(changes: dict[str, Any]) -> None:
    data = replace(dataset([-1, 1, 0]), document_ids=StringColumn.of(["q0", "a", "b"]))
    with pytest.raises(ConventionError, match=r"λ is not defined for|drops documents"):
        Lambdas(data, "NDCG@2", Convention(**changes))


LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=9)


@settings(max_examples=60, deadline=None)
@given(labels=LABELS, measure=st.sampled_from(MEASURES), tool=st.sampled_from(["official", "letor4", "mslr"]))
def test_swap_changes_equal_brute_force_on_any_labels(labels: list[int], measure: str, tool: str) -> None:
    data = dataset(labels)
    scores = -np.arange(len(labels), dtype=np.float64)
    expected = brute(data, scores, measure, tool)[0]
    assert np.allclose(Lambdas(data, measure, tool).changes(0, scores), expected, rtol=1e-12, atol=1e-14)


# One query of spec §16: s, y; ranks: document 2, 0, 3, 1; pairs (0,1) (0,2) (0,3) (2,1) (3,1).
SCORES = np.array([0.3, -0.1, 0.5, 0.0])
GOLDEN = dataset([2, 0, 1, 1])
PAIRS = [(0, 1), (0, 2), (0, 3), (2, 1), (3, 1)]


def pair_changes(convention: str | Convention, measure: str) -> list[float]:
    table = np.abs(Lambdas(GOLDEN, measure, convention).changes(0, SCORES))
    rank = {2: 0, 0: 1, 3: 2, 1: 3}
    return [float(table[min(rank[i], rank[j]), max(rank[i], rank[j])]) for i, j in PAIRS]


@pytest.mark.parametrize(
    ("convention", "measure", "expected"),
    [
        ("official", "NDCG@10", [0.145430, 0.178686, 0.063390, 0.137820, 0.016782]),
        ("official", "NDCG@2", [0.521296, 0.203292, 0.347531, 0.275412, 0]),
        (Convention(discount="letor"), "NDCG@10", [0.323909, 0, 0.159394, 0.107970, 0.028273]),
    ],
)
def test_golden_changes(convention: str | Convention, measure: str, expected: list[float]) -> None:
    assert pair_changes(convention, measure) == pytest.approx(expected, abs=5e-7)


def test_golden_lambdas() -> None:
    gradient, hessian = Lambdas(GOLDEN, "NDCG@10", "official")(SCORES)
    assert -gradient == pytest.approx([0.183587, -0.115170, -0.049412, -0.019004], abs=1e-6)
    assert hessian == pytest.approx([0.094665, 0.070657, 0.075759, 0.019681], abs=1e-6)


def test_golden_ranknet() -> None:
    gradient, _ = Lambdas(GOLDEN, None)(SCORES)
    assert gradient == pytest.approx([-1.376704, 1.230677, 0.195490, -0.049463], abs=1e-6)


def test_golden_average_precision() -> None:
    ranked = dataset([0, 1, 0, 1, 1])
    table = Lambdas(ranked, "AP", "official").changes(0, -np.arange(5.0))
    assert table[0, 3] == pytest.approx(1 / 3)
    assert table[1, 2] == pytest.approx((1 / 3 - 1 / 2) / 3)


def test_golden_expected_reciprocal_rank() -> None:
    ranked = dataset([1, 0, 4, 2, 0])
    assert Lambdas(ranked, "ERR", "official").changes(0, -np.arange(5.0))[0, 2] == pytest.approx(0.583333, abs=1e-6)
    assert Lambdas(ranked, "ERR@3", "official").changes(0, -np.arange(5.0))[1, 3] == pytest.approx(0.032959, abs=1e-6)


def test_ranknet_equals_finite_differences() -> None:
    """The one λ that is the gradient of a cost one can write down: Σ log(1 + exp(-σ(s_i - s_j)))."""
    data = dataset([2, 0, 1, 1], [0, 3, 3, 1, 0])
    scores, sigma, step = np.random.default_rng(0).normal(size=9), 0.7, 1e-5

    def cost(s: F64) -> float:
        total = 0.0
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            for i in range(begin, end):
                for j in range(begin, end):
                    if data.labels[i] > data.labels[j]:
                        total += np.log1p(np.exp(-sigma * (s[i] - s[j])))
        return total

    gradient, hessian = Lambdas(data, None, sigma=sigma)(scores)
    for i in range(9):
        up, down = scores.copy(), scores.copy()
        up[i] += step
        down[i] -= step
        assert gradient[i] == pytest.approx((cost(up) - cost(down)) / (2 * step), abs=1e-8)
        assert hessian[i] == pytest.approx((cost(up) - 2 * cost(scores) + cost(down)) / step**2, abs=1e-4)


def test_scores_far_apart_neither_overflow_nor_vanish() -> None:
    data = dataset([1, 0, 0])
    gradient, hessian = Lambdas(data, "RR", "official")(np.array([-1e6, 0.0, 1e6]))
    assert gradient == pytest.approx([-(1 - 1 / 3) - (1 / 2 - 1 / 3), 1 / 2 - 1 / 3, 1 - 1 / 3])  # ρ = 1
    assert (hessian == 0).all()
    near, far = (Lambdas(data, None)(np.array([-half, 0.0, half]))[0] for half in (299.0, 301.0))
    assert near == pytest.approx(far)  # both ways to the exponentials


@pytest.mark.parametrize("measure", ["NDCG@10", "AP", "ERR@10", "RR", "P@5", None])
def test_empty_value_changes_no_bit(measure: str | None) -> None:
    data = dataset(*QUERIES)
    scores = np.random.default_rng(1).normal(size=len(data))
    results = [Lambdas(data, measure, Convention(empty=empty))(scores) for empty in (0.0, 0.5, 1.0, None)]
    for gradient, hessian in results[1:]:
        assert gradient.tobytes() == results[0][0].tobytes()
        assert hessian.tobytes() == results[0][1].tobytes()


def test_short_zero_silences_short_queries_only() -> None:
    data = dataset([2, 1, 0, 0], [1, 0, 0])
    scores = np.zeros(7)
    keep, zero = (Lambdas(data, "NDCG@4", Convention(short_lists=short))(scores)[0] for short in ("keep", "zero"))
    assert (keep != 0).any()
    assert (zero[4:] == 0).all()
    assert (keep[4:] != 0).any()
    assert zero[:4].tobytes() == keep[:4].tobytes()


def test_keep_beyond_is_the_discount_of_rank_b() -> None:
    data = dataset([0, 0, 1])
    keep_mask = Lambdas(data, "NDCG@1", beyond_cutoff="keep").changes(0, -np.arange(3.0))
    assert keep_mask[0, 2] == pytest.approx(1 - 1 / 2)
    assert keep_mask[1, 2] == 0  # both beyond the cutoff


@pytest.mark.parametrize("measure", ["NDCG@3", "AP", None])
def test_normalised_forces_are_those_times_the_logarithm_of_their_sum(measure: str | None) -> None:
    data, sigma = dataset([2, 0, 1, 0, 1], [0, 0], [1, 0, 0, 2]), 1.5
    scores = np.random.default_rng(3).normal(size=len(data))
    plain = Lambdas(data, measure, "official", sigma=sigma)
    gradient, hessian = plain(scores)
    normal = Lambdas(data, measure, "official", sigma=sigma, lambda_norm=True)(scores)
    order = plain.order(scores)
    for q, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        table, rows, total = plain.changes(q, scores), order[begin:end], 0.0
        for a in range(len(rows)):
            for b in range(a + 1, len(rows)):
                better, worse = (rows[b], rows[a]) if table[a, b] > 0 else (rows[a], rows[b])
                rho = 1 / (1 + np.exp(sigma * (scores[better] - scores[worse])))
                total += 2 * sigma * abs(table[a, b]) * rho
        factor = np.log2(1 + total) / total if total > 0 else 1.0
        np.testing.assert_allclose(normal[0][begin:end], factor * gradient[begin:end], rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(normal[1][begin:end], factor * hessian[begin:end], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("measure", ["NDCG@3", "AP", None])
def test_damped_forces_weigh_a_pair_by_the_distance_of_its_scores(measure: str | None) -> None:
    data, sigma = dataset([2, 0, 1, 0, 1], [1, 0], [1, 0, 0, 2]), 1.5
    scores = np.random.default_rng(3).normal(size=len(data))
    scores[5:7] = 0.25  # all equal: LightGBM leaves such a query as it is
    plain = Lambdas(data, measure, "official", sigma=sigma)
    gradient, hessian = Lambdas(data, measure, "official", sigma=sigma, damp_close_scores=True)(scores)
    expected, curves, order = np.zeros(len(data)), np.zeros(len(data)), plain.order(scores)
    for q, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        table, rows = plain.changes(q, scores), order[begin:end]
        for a in range(len(rows)):
            for b in range(a + 1, len(rows)):
                better, worse = (rows[b], rows[a]) if table[a, b] > 0 else (rows[a], rows[b])
                rho = 1 / (1 + np.exp(sigma * (scores[better] - scores[worse])))
                weight = abs(table[a, b]) / (1 if q == 1 else 0.01 + abs(scores[better] - scores[worse]))
                expected[better] -= sigma * weight * rho
                expected[worse] += sigma * weight * rho
                curves[[better, worse]] += sigma**2 * weight * rho * (1 - rho)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(hessian, curves, rtol=1e-12, atol=1e-15)


def test_order_of_rows_changes_nothing() -> None:
    labels, scores = [2, 0, 1, 4, 0, 1, 0], np.random.default_rng(5).normal(size=7)
    shuffle = np.random.default_rng(6).permutation(7)
    for measure in ("NDCG@3", "AP", "ERR"):
        gradient, hessian = Lambdas(dataset(labels), measure)(scores)
        again = Lambdas(dataset([labels[i] for i in shuffle]), measure)(scores[shuffle])
        assert gradient[shuffle].tobytes() == again[0].tobytes()
        assert hessian[shuffle].tobytes() == again[1].tobytes()


@pytest.mark.parametrize("measure", ["NDCG@10", "AP", "ERR", "RR", None])
def test_threads_change_no_bit(measure: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    data = dataset(
        *[generator.integers(0, 5, n).tolist() for n in generator.integers(1, 60, 1000)]
    )  # enough for threads
    scores = generator.normal(size=len(data))
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        results.append([a.tobytes() for a in Lambdas(data, measure)(scores)])
    assert results[0] == results[1] == results[2]


def test_long_query() -> None:
    labels = np.random.default_rng(4).integers(0, 5, 10_000).tolist()
    gradient, hessian = Lambdas(dataset(labels), "NDCG@10")(np.zeros(10_000))
    assert np.isfinite(gradient).all()
    assert abs(gradient.sum()) < 1e-12 * np.abs(gradient).sum()
    assert (hessian >= 0).all()


def test_bad_input() -> None:
    data = dataset([1, 0])
    with pytest.raises(ConventionError, match="cannot compute lambdas for"):
        Lambdas(data, "Bpref")
    for measure in ("AP", "AP@3"):
        with pytest.raises(ConventionError, match=f"not defined for {measure} under ties=shared-rank"):
            Lambdas(data, measure, "sklearn")
    with pytest.raises(ConventionError, match="same for every ranking"):
        Lambdas(data, "P")
    with pytest.raises(ConventionError, match="positive"):
        Lambdas(data, sigma=0)
    with pytest.raises(ConventionError, match="beyond_cutoff"):
        Lambdas(data, beyond_cutoff="cut")
    with pytest.raises(DataError, match="3 scores for the 2 documents"):
        Lambdas(data)(np.zeros(3))


def test_wrong_arrays_are_refused() -> None:
    labels, offsets, order = np.array([1, 0], np.int32), np.array([0, 2]), np.arange(2)
    rules = Rules(np.arange(2.0), np.ones(2), np.ones(2))
    scales = kernel.swap_scales("ndcg", labels, offsets, rules)
    assert len(kernel.lambdas("ndcg", np.zeros(2), labels, offsets, order, scales, rules)[0]) == 2
    for bad in (
        (np.zeros(3), labels, offsets, order, scales),
        (np.zeros(2), labels + 1, offsets, order, scales),  # beyond the gains
        (np.zeros(2), labels, np.array([0, 3]), order, scales),
        (np.zeros(2), labels, offsets, order + 1, scales),
        (np.zeros(2), labels, offsets, order, np.ones(2)),
    ):
        with pytest.raises(ValueError, match=r"."):
            kernel.lambdas("ndcg", *bad, rules)
    with pytest.raises(ValueError, match="shorter than a list"):
        kernel.swap_scales("ndcg", labels, offsets, Rules(np.arange(2.0), np.ones(1), np.ones(1)))
    with pytest.raises(ValueError, match="nothing to follow"):
        kernel.swap_scales("bpref", labels, offsets, rules)
    with pytest.raises(TypeError):
        kernel.swap_scales("ndcg", labels.astype(np.int64), offsets, rules)


def test_depth_sees_further_but_counts_the_same_lists() -> None:
    data = dataset([0, 1, 0, 2, 1], [0, 0, 1])
    scores = -np.arange(8.0)
    deep = Lambdas(data, "NDCG@2", Convention(short_lists="zero"), truncation_level=4)
    assert np.allclose(deep.changes(0, scores), Lambdas(data, "NDCG@4").changes(0, scores), rtol=1e-14)
    assert np.allclose(deep.changes(1, scores), Lambdas(data, "NDCG@4").changes(1, scores), rtol=1e-14)  # 3 >= 2 count
    assert (Lambdas(data, "NDCG@4", Convention(short_lists="zero"), truncation_level=9)(scores)[0][5:] == 0).all()
    for measure in ("P@2", "Recall@2", "NDCG@5", "AP"):  # nothing to see further down
        same = [Lambdas(data, measure, truncation_level=depth)(scores)[0].tobytes() for depth in (None, 4)]
        assert same[0] == same[1]
