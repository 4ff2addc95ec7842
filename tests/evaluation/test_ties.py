"""Ties: the closed-form expectation is the mean over all orders; best and worst are its bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests import reference
from tests.definitions.registry import value
from tests.reference import near
from tests.strategies import GAINS, Plottable, cases, measure_variants, per_query

from pippin.errors import ConventionError
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import MEASURE_DEFINITIONS, MeasureDefinition

OPEN = [kind for kind in MEASURE_DEFINITIONS.values() if kind.supports_expected_ties]
ORDERED = [kind for kind in OPEN if kind.better]  # what calls an order better than another
TEXTS = [text for kind in OPEN for text, *_ in measure_variants(kind)]
SHARES = 8  # of what can be asked for, so that one example need not ask for everything
LONG = Plottable((0, 2, None, 1, -1, 3, 0), (1.0,) * 7, (4, 0))  # seven documents, all tied
SPLIT = Plottable((1, 0, 2, None, 0, 4, 1), (2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.0), (2,))


def over_all_orders(kind: MeasureDefinition, query: Plottable, convention: Convention) -> dict[str, list[float]]:
    """Return the values of a measure for every order of tied documents, by variant."""
    orders = list(reference.arrangements(reference.tie_groups(query.labels, query.scores)))
    return {
        text: [value(name, order, query.judged, convention, cutoff, None, **own) for order in orders]
        for text, name, cutoff, own in measure_variants(kind)
    }


def check_expected(kind: MeasureDefinition, query: Plottable, convention: Convention) -> None:
    expected = over_all_orders(kind, query, convention)
    result = per_query([query], convention.replace(ties="expected"), list(expected))
    for text, values in expected.items():
        assert near(result[text][0], reference.mean(values)), (text, result[text], query, convention)


def check_bounds(kind: MeasureDefinition, query: Plottable, convention: Convention) -> None:
    expected = over_all_orders(kind, query, convention)
    best, worst, mean = (
        per_query([query], convention.replace(ties=ties), list(expected)) for ties in ("best", "worst", "expected")
    )
    for text, values in expected.items():
        low, high = worst[text][0], best[text][0]
        if any(map(math.isnan, values)):
            assert math.isnan(high)
            assert math.isnan(low)
            continue
        if kind.better == "lower":  # the best order has the least value
            low, high = high, low
        if (
            kind.name in ("NDCG", "nAUC_ndcg") and convention.negative_labels == "label"
        ):  # over an ideal below 0, turned round
            low, high = sorted((low, high))
        assert near(high, max(values)), (text, high, max(values), query, convention)
        assert near(low, min(values)), (text, low, min(values), query, convention)
        assert low - 1e-12 <= mean[text][0] <= high + 1e-12


@pytest.mark.parametrize("kind", OPEN, ids=lambda kind: kind.name)
@settings(max_examples=12)
@given(st.data())
def test_expected_is_the_mean_over_all_orders(kind: MeasureDefinition, data: st.DataObject) -> None:
    (query,), convention = data.draw(cases(longest=6, tied=True, most=1, kind=kind))
    assume(convention.ap_undefined == "pool" or convention.empty is not None)
    # The mean of rounded values is not the rounded mean, and a value of 0 that is none has no part in it.
    check_expected(kind, query, convention.replace(value_rounding="float64", zero_values="keep"))


def test_gains_that_cancel_leave_nothing_to_divide_by() -> None:
    # Two thirds three times less 1 twice is 0, or a rounding error, by the order in which they are added.
    query = Plottable((2, 1, 2, -1, 3, 2), (1.0, 0.25, 1.5, 0.25, 1.0, 1.5), (-1,))
    check_expected(
        MEASURE_DEFINITIONS["NDCG"],
        query,
        Convention(gain="share", max_valid_label=2, gain_threshold=2, negative_labels="label"),
    )


@pytest.mark.parametrize("kind", ORDERED, ids=lambda kind: kind.name)
@settings(max_examples=12)
@given(st.data())
def test_best_and_worst_are_the_bounds(kind: MeasureDefinition, data: st.DataObject) -> None:
    (query,), convention = data.draw(cases(longest=6, tied=True, most=1, kind=kind))
    # An AP that counts 1 where nothing relevant is above the cutoff has its best value in the worst order.
    # One that divides by the hits found falls with a late hit, and a chance to stop above 1 is none.
    changes: dict[str, str] = {
        "ap_undefined": "pool",
        "value_rounding": "float64",
        "zero_values": "keep",
        "ap_denominator": "judged",
    }
    if convention.err_max_grade == "gain":
        changes["err_max_grade"] = "query"
    check_bounds(kind, query, convention.replace(gain=data.draw(st.sampled_from(GAINS)), **changes))


@pytest.mark.parametrize("query", [LONG, SPLIT], ids=["seven tied", "two groups"])
def test_long_groups_of_ties(query: Plottable) -> None:
    for kind in OPEN:
        check_expected(kind, query, Convention())
    for kind in ORDERED:
        check_bounds(kind, query, Convention(ap_denominator="cutoff", err_max_grade="query", ideal_source="list"))


def test_best_order_ranks_unjudged_above_negative_labels() -> None:
    query = Plottable((-1, None, 0), (1.0, 1.0, 1.0))
    signed = Convention(negative_labels="label")
    assert per_query([query], signed.replace(ties="best"), ["DCG"])["DCG"] == [pytest.approx(-1 / 2)]
    assert per_query([query], signed.replace(ties="worst"), ["DCG"])["DCG"] == [-1.0]


@pytest.mark.parametrize("share", range(SHARES))
@settings(max_examples=6)
@given(cases(longest=8))
def test_without_ties_every_rule_gives_the_same(share: int, case: tuple[list[Plottable], Convention]) -> None:
    drawn, convention, texts = case[0], case[1].replace(gain="exp2"), TEXTS[share::SHARES]
    result = per_query(drawn, convention, texts)
    for ties in set(AXES["ties"].values.values()) - {"topk-of-all"}:  # which ranks documents that no list holds
        other = per_query(drawn, convention.replace(ties=ties), texts)
        for text in texts:
            assert all(map(near, other[text], result[text])), (text, ties)


def test_every_measure_has_an_expectation_or_says_so() -> None:
    query = Plottable((1, 0), (1.0, 1.0))
    for kind in MEASURE_DEFINITIONS.values():
        text = f"{kind.name}@5" if kind.cutoff == "required" else kind.name
        if kind.supports_expected_ties:
            per_query([query], Convention(), [text])
        else:
            with pytest.raises(ConventionError, match="lacks a closed form"):
                per_query([query], Convention(), [text])


def test_worked_examples() -> None:
    # one relevant document among three tied ones: each rank with probability 1/3
    query = Plottable((0, 1, 0), (1.0, 1.0, 1.0))
    result = per_query([query], Convention(), ["RR", "AP", "P@1", "Success@2", "DCG", "ERR", "RBP(p=0.5)", "Bpref"])
    assert result["RR"] == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3)]
    assert result["AP"] == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3)]
    assert result["P@1"] == [pytest.approx(1 / 3)]
    assert result["Success@2"] == [pytest.approx(2 / 3)]
    assert result["DCG"] == [pytest.approx((1 + 1 / math.log2(3) + 1 / 2) / 3)]
    assert result["ERR"] == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3 / 2)]
    assert result["RBP(p=0.5)"] == [pytest.approx(0.5 * (1 + 0.5 + 0.25) / 3)]
    assert result["Bpref"] == [pytest.approx((1 + 0 + 0) / 3)]


def test_ap_left_undefined_by_the_cutoff_counts_as_empty_in_the_orders_where_it_is() -> None:
    query = Plottable((0, 1), (1.0, 1.0))
    rankeval = Convention(ap_undefined="cutoff", empty=1.0)
    assert per_query([query], rankeval, ["AP@1"])["AP@1"] == [1.0]  # (1 + 1) / 2
    assert per_query([query], rankeval.replace(empty=0.5), ["AP@1"])["AP@1"] == [0.75]
    with pytest.raises(ConventionError, match="some orders"):
        per_query([query], rankeval.replace(empty=None), ["AP@1"])
