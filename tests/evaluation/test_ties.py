"""Tied documents: the closed-form expectation is the mean over all their orders, best and worst are its bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests import reference
from tests.reference import near
from tests.strategies import ASKED, GAINS, Drawn, cases, per_query
from tests.twins.shelf import value

from pippin.errors import ConventionError
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import KINDS

OPEN = [asked for asked in ASKED if KINDS[asked[1]].expected]  # what has an expectation over the orders of ties
TEXTS = [text for text, *_ in OPEN]
LONG = Drawn((0, 2, None, 1, -1, 3, 0), (1.0,) * 7, (4, 0))  # seven documents, all tied
SPLIT = Drawn((1, 0, 2, None, 0, 4, 1), (2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.0), (2,))


def over_all_orders(query: Drawn, convention: Convention) -> dict[str, list[float]]:
    """Every measure's value in every order of tied documents."""
    orders = list(reference.arrangements(reference.tie_groups(query.labels, query.scores)))
    return {
        text: [value(kind, order, query.judged, convention, cutoff, None, **own) for order in orders]
        for text, kind, cutoff, own in OPEN
    }


def check_expected(query: Drawn, convention: Convention) -> None:
    found = per_query([query], convention.replace(ties="expected"), TEXTS)
    for text, values in over_all_orders(query, convention).items():
        assert near(found[text][0], reference.mean(values)), (text, found[text], query, convention)


def check_bounds(query: Drawn, convention: Convention) -> None:
    best, worst, mean = (per_query([query], convention.replace(ties=t), TEXTS) for t in ("best", "worst", "expected"))
    higher = {text for text, kind, *_ in OPEN if KINDS[kind].better == "higher"}
    for text, values in over_all_orders(query, convention).items():
        if text not in higher:  # the best order has the least value there, or none is best
            continue
        if any(map(math.isnan, values)):
            assert math.isnan(best[text][0])
            assert math.isnan(worst[text][0])
            continue
        assert near(best[text][0], max(values)), (text, best[text], query, convention)
        assert near(worst[text][0], min(values)), (text, worst[text], query, convention)
        assert worst[text][0] - 1e-12 <= mean[text][0] <= best[text][0] + 1e-12


@settings(max_examples=80)
@given(cases(longest=6, tied=True, most=1))
def test_expected_is_the_mean_over_all_orders(case: tuple[list[Drawn], Convention]) -> None:
    (query,), convention = case
    assume(convention.ap_undefined == "pool" or convention.empty is not None)
    # The mean of rounded values is not the rounded mean, and a value of 0 that is none has no part in it.
    check_expected(query, convention.replace(held="float64", zeros="keep"))


@settings(max_examples=40)
@given(cases(longest=6, tied=True, most=1), st.sampled_from(GAINS))
def test_best_and_worst_are_the_bounds(case: tuple[list[Drawn], Convention], gain: str) -> None:
    (query,), convention = case
    # An AP that counts 1 where nothing relevant is above the cutoff has its best value in the worst order.
    # One that divides by the hits found falls with a late hit, and a chance to stop above 1 is none.
    changes: dict[str, str] = {"ap_undefined": "pool", "held": "float64", "zeros": "keep", "ap_denominator": "judged"}
    if convention.err_top == "gain":
        changes["err_top"] = "query"
    check_bounds(query, convention.replace(gain=gain, **changes))


@pytest.mark.parametrize("query", [LONG, SPLIT], ids=["seven tied", "two groups"])
def test_long_groups_of_ties(query: Drawn) -> None:
    check_expected(query, Convention())
    check_bounds(query, Convention(ap_denominator="cutoff", err_top="query", ideal="list"))


@settings(max_examples=30)
@given(cases(longest=8))
def test_without_ties_every_rule_gives_the_same(case: tuple[list[Drawn], Convention]) -> None:
    drawn, convention = case[0], case[1].replace(gain="exp2")
    found = per_query(drawn, convention, TEXTS)
    for ties in AXES["ties"].named.values():
        other = per_query(drawn, convention.replace(ties=ties), TEXTS)
        for text in TEXTS:
            assert all(map(near, other[text], found[text])), (text, ties)


def test_every_measure_has_an_expectation_or_says_so() -> None:
    query = Drawn((1, 0), (1.0, 1.0))
    for kind in KINDS.values():
        text = f"{kind.name}@5" if kind.cutoff == "required" else kind.name
        if kind.expected:
            per_query([query], Convention(), [text])
        else:
            with pytest.raises(ConventionError, match="no closed form"):
                per_query([query], Convention(), [text])


def test_worked_examples() -> None:
    # one relevant document among three tied ones: each rank with probability 1/3
    query = Drawn((0, 1, 0), (1.0, 1.0, 1.0))
    found = per_query([query], Convention(), ["RR", "AP", "P@1", "Success@2", "DCG", "ERR", "RBP(p=0.5)", "Bpref"])
    assert found["RR"] == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3)]
    assert found["AP"] == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3)]
    assert found["P@1"] == [pytest.approx(1 / 3)]
    assert found["Success@2"] == [pytest.approx(2 / 3)]
    assert found["DCG"] == [pytest.approx((1 + 1 / math.log2(3) + 1 / 2) / 3)]
    assert found["ERR"] == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3 / 16)]
    assert found["RBP(p=0.5)"] == [pytest.approx(0.5 * (1 + 0.5 + 0.25) / 3)]
    assert found["Bpref"] == [pytest.approx((1 + 0 + 0) / 3)]


def test_ap_left_undefined_by_the_cutoff_counts_as_empty_in_the_orders_where_it_is() -> None:
    query = Drawn((0, 1), (1.0, 1.0))
    rankeval = Convention(ap_undefined="cutoff", empty=1.0)
    assert per_query([query], rankeval, ["AP@1"])["AP@1"] == [1.0]  # (1 + 1) / 2
    assert per_query([query], rankeval.replace(empty=0.5), ["AP@1"])["AP@1"] == [0.75]
    with pytest.raises(ConventionError, match="some orders"):
        per_query([query], rankeval.replace(empty=None), ["AP@1"])
