"""Comparisons of systems against SciPy, full enumeration and properties, and errors."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation import paired_tests as anova_module
from pippin.evaluation.paired_tests import ALTERNATIVES, TESTS, Alternative, anova
from pippin.evaluation.significance import compare_pair, compare_systems, system_intervals
from pippin.evaluation.value_table import ValueTable

FloatArray = NDArray[np.float64]


def scores(queries: int = 30, systems: int = 4, seed: int = 0, digits: int = 16) -> ValueTable:
    rng = np.random.default_rng(seed)
    values = rng.random((queries, 1)) + rng.normal(0, 0.2, (queries, systems)) + 0.03 * np.arange(systems)
    return ValueTable.from_arrays(np.round(values, digits), systems=[f"s{i}" for i in range(systems)])


def column(table: ValueTable, name: str) -> FloatArray:
    return table.values[:, table.index(name)]


SAMPLED = [name for name in TESTS if compare_systems(scores(), name, resamples=100).pairs[0].p_error is not None]
ONE_SIDED = [name for name, test in zip(TESTS, TESTS.values(), strict=True) if not test.familywise]


def test_every_test_can_be_read_up() -> None:
    assert all(test.summary and test.source for test in TESTS.values())


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_t_is_scipys(alternative: Alternative) -> None:
    table = scores()
    for pair in compare_systems(table, "t", alternative=alternative).pairs:
        a, b = column(table, pair.a), column(table, pair.b)
        expected = stats.ttest_rel(a, b, alternative=alternative)
        assert pair.statistic == pytest.approx(float(expected.statistic), rel=1e-12)
        assert pair.p == pytest.approx(float(expected.pvalue), rel=1e-10)
        interval = stats.ttest_rel(a, b).confidence_interval(0.95)
        assert (pair.low, pair.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
        d = a - b
        assert pair.difference == pytest.approx(d.mean(), rel=1e-12)
        assert pair.effect == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
        assert pair.hedges == pytest.approx(pair.effect * (1 - 3 / (4 * 29 - 1)), rel=1e-3)
        assert pair.p_error is None


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("queries", "digits"), [(30, 16), (60, 16), (30, 1), (9, 1), (9, 16)])
def test_wilcoxon_is_scipys_pair_by_pair(alternative: Alternative, queries: int, digits: int) -> None:
    table = scores(queries, digits=digits)
    for pair in compare_systems(table, "wilcoxon", alternative=alternative).pairs:
        d = np.round(column(table, pair.a) - column(table, pair.b), 12)
        expected = stats.wilcoxon(d, alternative=alternative)
        assert pair.statistic == float(expected.statistic)
        assert pair.p == pytest.approx(float(expected.pvalue), rel=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sign_is_the_exact_binomial(alternative: Alternative) -> None:
    table = scores(digits=1)
    for pair in compare_systems(table, "sign", alternative=alternative).pairs:
        d = np.round(column(table, pair.a) - column(table, pair.b), 12)
        wins, decided = int((d > 0).sum()), int((d != 0).sum())
        expected = stats.binomtest(wins, decided, 0.5, alternative=alternative)
        assert pair.statistic == wins
        assert pair.p == pytest.approx(float(expected.pvalue), rel=1e-12)


def exact_p(d: list[int], alternative: Alternative) -> float:
    """Full enumeration in integers, where ties are ties."""
    observed = sum(d)
    reached = 0
    for signs in product([1, -1], repeat=len(d)):
        value = sum(s * x for s, x in zip(signs, d, strict=True))
        if alternative == "two-sided":
            reached += abs(value) >= abs(observed)
        elif alternative == "greater":
            reached += value >= observed
        else:
            reached += value <= observed
    return float(reached / 2 ** len(d))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@given(
    tenths=st.lists(
        st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=8
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_exact_randomization_sees_ties_as_ties(alternative: Alternative, tenths: list[tuple[int, int]]) -> None:
    # Tenths are not dyadic: 0.1 + 0.2 − 0.3 is not 0 in floating point, but it is in the enumeration.
    table = ValueTable.from_arrays(np.array(tenths) / 10, systems=["a", "b"])
    pair = compare_pair(table, "a", "b", "randomization", alternative=alternative)
    assert pair.p == exact_p([a - b for a, b in tenths], alternative)
    assert pair.p_error is None


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sampled_randomization_agrees_with_the_exact_one_on_tied_data(alternative: Alternative) -> None:
    rng = np.random.default_rng(4)
    table = ValueTable.from_arrays(rng.integers(0, 4, (14, 3)) / 10 + np.array([0.0, 0.1, 0.1]))
    exact = compare_systems(table, "randomization", alternative=alternative, resamples=2**14)
    sampled = compare_systems(table, "randomization", alternative=alternative, resamples=2**14 - 1)
    assert exact.method.startswith("exact: all 16384 ")
    assert sampled.method.startswith("Monte Carlo: 16383 ")
    for e, s in zip(exact.pairs, sampled.pairs, strict=True):
        assert s.p_error is not None
        assert s.p_error == math.sqrt(s.p * (1 - s.p) / 16383)
        assert abs(e.p - s.p) < 5 * s.p_error + 1 / 16383


def test_randomization_agrees_with_scipys_permutation_test() -> None:
    table = scores(10, 2)
    d = column(table, "s0") - column(table, "s1")
    expected = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert compare_pair(table, "s0", "s1", "randomization").p == expected.pvalue


@pytest.mark.parametrize("test", SAMPLED)
def test_seed_decides_and_threads_and_order_do_not(test: str) -> None:
    table = scores()
    first = compare_systems(table, test, resamples=3000, seed=7, threads=1)
    assert compare_systems(table, test, resamples=3000, seed=7, threads=2).pairs == first.pairs
    assert compare_systems(table, test, resamples=3000, seed=8).pairs != first.pairs
    shuffled = np.random.default_rng(0).permutation(30)
    other = ValueTable(table.values[shuffled], tuple(table.query_ids[q] for q in shuffled), table.systems)
    assert compare_systems(other, test, resamples=3000, seed=7).pairs == first.pairs


def test_pairs_share_signs_so_a_pair_alone_has_the_same_p() -> None:
    table = scores()
    family = compare_systems(table, "randomization", resamples=5000, seed=3)
    alone = compare_pair(table, "s1", "s3", "randomization", resamples=5000, seed=3)
    assert alone.p == family.pair("s1", "s3").p == family.pair("s3", "s1").p


@pytest.mark.parametrize("test", ONE_SIDED)
def test_directions_mirror_each_other(test: str) -> None:
    table = scores(12)
    greater = compare_pair(table, "s0", "s3", test, alternative="greater", resamples=2**12)
    less = compare_pair(table, "s3", "s0", test, alternative="less", resamples=2**12)
    assert greater.p == pytest.approx(less.p, rel=1e-12)
    # s3 is better than s0, so that no number of queries shows the opposite.
    assert greater.difference < 0
    assert greater.queries_needed is None
    assert compare_pair(table, "s3", "s0", test, alternative="greater", resamples=9).queries_needed is not None


def test_bootstrap_intervals_agree_with_scipy() -> None:
    table = scores(40, 2, seed=3)
    d = column(table, "s0") - column(table, "s1")
    for kind, scipys in (("percentile", "percentile"), ("bca", "BCa")):
        pair = compare_pair(table, "s0", "s1", "t", interval=kind, resamples=40_000)  # type: ignore[arg-type]
        expected = stats.bootstrap((d,), np.mean, method=scipys, n_resamples=40_000, rng=1).confidence_interval
        assert (pair.low, pair.high) == pytest.approx((expected.low, expected.high), abs=0.02 * d.std())
        first = system_intervals(table, kind, resamples=40_000)[0]  # type: ignore[arg-type]
        x = column(table, "s0")
        expected = stats.bootstrap((x,), np.mean, method=scipys, n_resamples=40_000, rng=1).confidence_interval
        assert (first.low, first.high) == pytest.approx((expected.low, expected.high), abs=0.02 * x.std())


def test_bca_is_more_than_a_percentile_interval_on_skewed_values() -> None:
    rng = np.random.default_rng(0)
    table = ValueTable.from_arrays(rng.exponential(1.0, (25, 1)) ** 2)
    percentile = system_intervals(table, "percentile")[0]
    bca = system_intervals(table, "bca")[0]
    assert bca.low > percentile.low
    assert bca.high > percentile.high


def test_t_interval_of_a_mean() -> None:
    table = scores(20, 1)
    x = table.values[:, 0]
    first = system_intervals(table, "t", alpha=0.1)[0]
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (first.low, first.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert first.mean == pytest.approx(x.mean(), rel=1e-14)


def test_bootstrap_p_counts_shifted_means() -> None:
    # d = 1, 0: the mean of two draws is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4; shifted by its mean 1/2
    # it reaches ±1/2 with probability 1/2, and +1/2 with probability 1/4.
    table = ValueTable.from_arrays([[1.0, 0.0], [0.3, 0.3]], systems=["a", "b"])
    two_sided = compare_pair(table, "a", "b", "bootstrap", resamples=20_000)
    assert two_sided.p == pytest.approx(1 / 2, abs=5 * 0.0036)
    greater = compare_pair(table, "a", "b", "bootstrap", alternative="greater", resamples=20_000)
    assert greater.p == pytest.approx(1 / 4, abs=5 * 0.0031)


def test_anova_of_two_systems_is_the_paired_t() -> None:
    table = scores(30, 2)
    t = stats.ttest_rel(table.values[:, 0], table.values[:, 1])
    row = anova(table).systems
    assert row.f == pytest.approx(float(t.statistic) ** 2, rel=1e-10)
    assert row.p == pytest.approx(float(t.pvalue), rel=1e-10)
    # Two systems: the studentized range is √2·|t|, and its tail is the two-sided p of t.
    pair = compare_pair(table, "s0", "s1", "tukey")
    assert pair.statistic == pytest.approx(math.sqrt(2) * abs(float(t.statistic)), rel=1e-10)
    assert pair.p == pytest.approx(float(t.pvalue), rel=1e-6)
    assert (pair.low, pair.high) == pytest.approx(tuple(t.confidence_interval()), rel=1e-6)


def test_anova_by_hand() -> None:
    # Rows 1 2 / 3 6 / 5 7: mean 4, systems 3 and 5, queries 1.5, 4.5, 6.
    table = anova(ValueTable.from_arrays([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]]))
    assert table.systems.sum_of_squares == pytest.approx(3 * (1 + 1))
    assert table.queries.sum_of_squares == pytest.approx(2 * (2.5**2 + 0.5**2 + 2**2))
    assert table.residual.sum_of_squares == pytest.approx(9 + 4 + 1 + 4 + 1 + 9 - 6 - 21)
    assert (table.systems.df, table.queries.df, table.residual.df) == (1, 2, 2)
    assert table.systems.f == pytest.approx(6 / (1 / 2))
    assert math.isnan(table.residual.f)


def test_tukey_of_many_pairs_equals_the_direct_tail() -> None:
    q = np.linspace(0.0, 9.0, anova_module.DIRECT_RANGES + 1)
    for k, df in ((12, 11), (12, 11 * 49)):
        tail = anova_module._range_tail(q, k, df)
        np.testing.assert_allclose(tail[::8], stats.studentized_range.sf(q[::8], k, df), atol=1e-8)


def test_tukey_randomization_of_two_systems_is_fishers_test() -> None:
    # Permuting two systems within a query flips the sign of its difference, or not.
    table = scores(10, 2)
    exact = compare_pair(table, "s0", "s1", "randomization")
    sampled = compare_pair(table, "s0", "s1", "tukey-randomization", resamples=20_000)
    assert sampled.p_error is not None
    assert abs(exact.p - sampled.p) < 5 * sampled.p_error
    assert sampled.low < sampled.difference < sampled.high


def test_tukey_randomization_is_close_to_tukey() -> None:
    table = scores(40, 5)
    classical = compare_systems(table, "tukey")
    sampled = compare_systems(table, "tukey-randomization", resamples=20_000)
    for c, s in zip(classical.pairs, sampled.pairs, strict=True):
        # The permuted null keeps the systems' own spread in the yardstick, Tukey's residual does not.
        assert s.p == pytest.approx(c.p, abs=0.06)
        assert s.p_adjusted == s.p
    assert (classical.correction, sampled.correction) == ("tukey", "tukey-randomization")


def test_correction_over_all_pairs_or_against_a_baseline() -> None:
    table = scores()
    every = compare_systems(table, "t", correction="bonferroni")
    assert len(every.pairs) == 4 * 3 / 2
    assert [pair.p_adjusted for pair in every.pairs] == [min(1, 6 * pair.p) for pair in every.pairs]
    against = compare_systems(table, "t", baseline="s2", correction="bonferroni")
    assert [(pair.a, pair.b) for pair in against.pairs] == [("s0", "s2"), ("s1", "s2"), ("s3", "s2")]
    assert [pair.p_adjusted for pair in against.pairs] == [min(1, 3 * pair.p) for pair in against.pairs]
    with pytest.raises(ConventionError, match="only pairs with s2 were"):
        against.pair("s0", "s1")
    assert all(pair.p_adjusted <= 0.05 for pair in every.significant())


def test_several_baselines_are_compared_with_every_system_and_each_other() -> None:
    table = scores()
    tests = compare_systems(table, "t", baseline=["s2", "s0"], correction="holm")
    assert [(pair.a, pair.b) for pair in tests.pairs] == [
        ("s0", "s2"), ("s1", "s2"), ("s3", "s2"), ("s1", "s0"), ("s3", "s0")
    ]  # fmt: skip
    expected = [stats.ttest_rel(column(table, pair.a), column(table, pair.b)).pvalue for pair in tests.pairs]
    assert [pair.p for pair in tests.pairs] == pytest.approx(expected, rel=1e-10)
    order = np.argsort(expected)
    stepped = np.maximum.accumulate(np.sort(expected) * np.arange(5, 0, -1))
    assert [tests.pairs[i].p_adjusted for i in order] == pytest.approx(np.minimum(stepped, 1).tolist())
    assert compare_systems(table, "t", baseline=["s2", "s2"]).baselines == ("s2",)
    with pytest.raises(UnknownName, match="did you mean"):
        compare_systems(table, baseline=["s2", "s9"])


def test_too_few_samples_for_the_family_are_pointed_out() -> None:
    table = scores(30, 12)
    few = compare_systems(table, "randomization", resamples=1000)
    assert few.notes == (
        "1000 samples cannot make any of 66 pairs significant at 0.05 after the correction holm: "
        "the smallest p is 1/1001; take at least 1320 samples, or tukey-randomization",
    )
    assert compare_systems(table, "randomization", resamples=1320).notes == ()


def test_dropped_and_filled_queries_are_reported() -> None:
    values = {str(q): q / 10 for q in range(5)}
    systems = {"a": values, "b": {**{k: v**2 for k, v in values.items()}, "9": 1.0}}
    dropped = compare_systems(ValueTable.from_systems(systems, missing="drop"))
    assert dropped.notes[0].startswith("1 queries were dropped")
    assert dropped.pairs[0].n == 5
    filled = compare_systems(ValueTable.from_systems(systems, missing=0.0))
    assert filled.notes == ("1 missing values were filled in",)
    assert filled.pairs[0].n == 6


def test_queries_needed_is_for_the_observed_effect() -> None:
    d = np.array([0.5 + math.sqrt(0.5 * 9), 0.5 - math.sqrt(0.5 * 9)] + [0.5] * 8)
    table = ValueTable.from_arrays(np.column_stack([d, np.zeros(10)]), systems=["a", "b"])
    pair = compare_pair(table, "a", "b")
    assert pair.effect == pytest.approx(0.5, rel=1e-12)
    assert pair.queries_needed == 34


@pytest.mark.parametrize("test", list(TESTS))
def test_identical_systems(test: str) -> None:
    values = np.random.default_rng(0).random((20, 1))
    result = compare_systems(ValueTable.from_arrays(np.hstack([values] * 3)), test, resamples=500)
    for pair in result.pairs:
        assert pair.difference == 0
        assert pair.queries_needed is None
        if test in SAMPLED:
            assert (pair.p, pair.reason) == (1.0, "")
        else:
            assert math.isnan(pair.p)
            assert math.isnan(pair.p_adjusted)
            assert pair.reason
    assert result.significant() == ()


def test_equal_differences_leave_t_without_variance() -> None:
    base = np.arange(6) / 10
    pair = compare_pair(ValueTable.from_arrays(np.column_stack([base + 0.3, base]), systems=["a", "b"]), "a", "b")
    assert math.isnan(pair.p)
    assert pair.reason == (
        "the difference is constant, +0.3 for all 6 queries, so t is undefined; the exact sign and randomization tests "
        "give p = 0.0312"
    )


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("shift", [0.25, -0.25])
def test_the_p_of_a_constant_difference_is_that_of_the_exact_tests(alternative: Alternative, shift: float) -> None:
    base = np.array([0.5, 0.25, 0.375, 0.75, 0.625])
    table = ValueTable.from_arrays(np.column_stack([base + shift, base]), systems=["a", "b"])
    reason = compare_pair(table, "a", "b", alternative=alternative).reason
    expected = stats.binomtest(5 if shift > 0 else 0, 5, alternative=alternative).pvalue
    assert reason.endswith(f"give p = {expected:.3g}")
    for test in ("sign", "randomization"):
        assert compare_pair(table, "a", "b", test, alternative=alternative).p == pytest.approx(expected)


def test_remarks_on_constant_differences_name_a_test_that_works() -> None:
    base = np.arange(6) / 10
    table = ValueTable.from_arrays(np.column_stack([base + 0.25, base]), systems=["a", "b"])
    for test in ("bootstrap", "tukey"):
        assert compare_systems(table, test).pairs[0].reason.endswith("use the test sign or randomization")
    equal = ValueTable.from_arrays(np.column_stack([base, base]), systems=["a", "b"])
    assert compare_systems(equal, "bootstrap").pairs[0].reason == ""


def test_bad_input_is_a_sentence() -> None:
    table = scores(5, 2)
    with pytest.raises(UnknownName, match="no test is called 'randomisation'; did you mean randomization"):
        compare_systems(table, "randomisation")
    with pytest.raises(UnknownName, match="did you mean holm"):
        compare_systems(table, correction="holms")
    with pytest.raises(UnknownName, match="did you mean greater"):
        compare_systems(table, alternative="greatest")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean bca"):
        compare_systems(table, interval="bac")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean s0"):
        compare_systems(table, baseline="s00")
    with pytest.raises(DataError, match="at least two systems; there is only 's0'"):
        compare_systems(scores(5, 1))
    with pytest.raises(DataError, match="at least 2 queries, got 1"):
        compare_systems(scores(1, 2))
    with pytest.raises(DataError, match="alpha must be between 0 and 1, got 5"):
        compare_systems(table, alpha=5)
    with pytest.raises(DataError, match="seed must be a whole number"):
        compare_systems(table, seed=-1)
    with pytest.raises(DataError, match="at least 1 sample, got 0"):
        compare_systems(table, "bootstrap", resamples=0)
    with pytest.raises(ConventionError, match="cannot be compared with itself"):
        compare_pair(table, "s0", "s0")
    with pytest.raises(DataError, match="2 systems and 2 queries, got 1 and 5"):
        anova(scores(5, 1))
    for test in ("tukey", "tukey-randomization"):
        with pytest.raises(ConventionError, match="two-sided only"):
            compare_systems(table, test, alternative="less")


@pytest.mark.parametrize("test", list(TESTS))
def test_two_queries_are_enough(test: str) -> None:
    table = ValueTable.from_arrays([[0.1, 0.4], [0.2, 0.3]], systems=["a", "b"])
    pair = compare_pair(table, "a", "b", test, resamples=100)
    assert 0 <= pair.p <= 1
    assert math.isnan(pair.hedges)


def test_progress_reaches_the_end() -> None:
    calls: list[tuple[int, int]] = []
    compare_systems(scores(), "randomization", resamples=1000, progress=lambda *done: calls.append(done))
    assert calls[-1] == (1000, 1000)


@pytest.mark.parametrize("file", ["adhoc8_ap", "web2013_err20", "web2013_ndcg20"])
def test_real_matrices_under_every_test(shared: Path, file: str) -> None:
    path = shared / "data" / "matrices" / f"{file}.csv"
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    with path.open() as lines:
        names = next(lines).strip().split(",")
    table = ValueTable.from_arrays(values, systems=names)
    results = {test: compare_systems(table, test, resamples=2000) for test in TESTS}
    pairs = len(names) * (len(names) - 1) // 2
    assert {len(result.pairs) for result in results.values()} == {pairs}
    t = np.array([pair.p for pair in results["t"].pairs])
    randomization = np.array([pair.p for pair in results["randomization"].pairs])
    known = ~np.isnan(t)
    # Where one query outweighs the others the two differ rightly; over all pairs they hardly do.
    assert np.quantile(np.abs(t - randomization)[known], 0.99) < 0.06
    assert (randomization[~known] == 1).all()
