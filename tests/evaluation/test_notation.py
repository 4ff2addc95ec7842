"""Measure notations, and suggestions for unknown measures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.test_convention import OTHER

from pippin.errors import ConventionError, PippinError, UnknownName
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Measure
from pippin.evaluation.measures.notation import parse


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("ndcg@10", "NDCG@10"),
        ("nDCG@10", "NDCG@10"),
        ("ndcg_cut_10", "NDCG@10"),
        ("ndcg_cut.10", "NDCG@10"),
        (" ndcg@10 ", "NDCG@10"),
        ("ndcg", "NDCG"),
        ("map", "AP"),
        ("MAP@10", "AP@10"),
        ("map_cut_10", "AP@10"),
        ("MRR@10", "RR@10"),
        ("recip_rank", "RR"),
        ("P_5", "P@5"),
        ("pre@10", "P@10"),
        ("precision@5", "P@5"),
        ("precision@5-l2", "P(rel=2)@5"),
        ("ndcg@10-l2", "NDCG(gain_threshold=2)@10"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("P(min_rel=2)@5", "P(rel=2)@5"),
        ("P(relevance_threshold=2)@5", "P(rel=2)@5"),
        ("recall_10", "Recall@10"),
        ("R@10", "Recall@10"),
        ("r-precision", "Rprec"),
        ("bpref", "Bpref"),
        ("success_5", "Success@5"),
        ("hit_rate@5", "Success@5"),
        ("F1@5", "F1@5"),
        ("F1(beta=2)@5", "F1(beta=2)@5"),
        ("RBP(p=0.5)", "RBP(p=0.5)"),
        ("RBP(p=0.5,rel=2)@10", "RBP(p=0.5,rel=2)@10"),
        ("nDCG(dcg='exp-log2')@10", "NDCG(gain=exp2)@10"),
        ("nDCG(dcg='log2')@10", "NDCG(gain=label)@10"),
        ("ndcg_burges@5", "NDCG(gain=exp2)@5"),
        ("ndcg_burges", "NDCG(gain=exp2)"),
        ("dcg_burges@5", "DCG(gain=exp2)@5"),
        ("ndcg@10-", "NDCG(empty=0)@10"),
        ("NDCG(gain=0,1,3,discount=letor)@10", "NDCG(discount=letor,gain=0,1,3)@10"),
        ("NDCG(empty=skip)@10", "NDCG(empty=skip)@10"),
        ("num_rel_ret", "num_rel_ret"),
    ],
)
def test_accepted_notations(typed: str, text: str) -> None:
    assert parse(typed).text == text
    assert parse(text) == parse(typed)


@pytest.mark.parametrize("axis", AXES)
def test_any_axis_can_be_an_argument(axis: str) -> None:
    value, typed = OTHER[axis]
    measure = parse(f"NDCG({axis}={typed})@10")
    assert measure.overrides == ((axis, value),)
    assert parse(measure.text) == measure
    assert measure.under(Convention()) == Convention().replace(**{axis: value})


@pytest.mark.parametrize("axis", AXES)
def test_axis_text_is_what_is_typed(axis: str) -> None:
    for value in (OTHER[axis][0], getattr(Convention(), axis)):
        assert AXES[axis].parse(AXES[axis].text(value)) == value


@given(st.floats(0, 1), st.lists(st.floats(0, 100), max_size=3))
def test_numbers_keep_every_digit(p: float, gains: list[float]) -> None:
    for measure in (Measure("RBP", 10, (("p", p),)), Measure("NDCG", 10, overrides=(("gain", (0.0, *gains)),))):
        assert parse(measure.text) == measure


@pytest.mark.parametrize(
    ("typed", "hint"), [("ndgc@10", "NDCG|ndcg"), ("mapp", "map"), ("presicion@5", "precision"), ("brief", "")]
)
def test_unknown_measures_get_a_hint(typed: str, hint: str) -> None:
    with pytest.raises(UnknownName, match=f"no measure is called '{typed}'.*({hint})"):
        parse(typed)


@pytest.mark.parametrize("typed", ["", "@10", "ndcg(", "ndcg)@10", "10"])
def test_invalid_notations_are_refused(typed: str) -> None:
    with pytest.raises(UnknownName):
        parse(typed)


@pytest.mark.parametrize("typed", ["ndcg@", "ndcg@ten", "ndcg@-1", "ndcg@10@5"])
def test_invalid_cutoffs_are_reported(typed: str) -> None:
    with pytest.raises(ConventionError, match=f"^{typed}: the cutoff must be a whole number, as in ndcg@10$"):
        parse(typed)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("Rprec@5", "Rprec@5: Rprec does not take a cutoff"),
        ("MeanNDCG@5", "MeanNDCG@5: MeanNDCG does not take a cutoff"),
        ("NDCG@0", "NDCG@0: the cutoff must be at least 1; omit it to evaluate complete lists"),
        ("unranked_avg_prec", "unranked_avg_prec: unranked_avg_prec needs a cutoff, as in unranked_avg_prec@10"),
        ("P(2)@5", r"P\(2\)@5: write arguments as name=value"),
        ("RBP(p=high)", r"RBP\(p=high\): p must be a number, got 'high'"),
        ("RBP(p=nan)", r"RBP\(p=nan\): p must be a finite number of 0 or more, got nan"),
        ("F1(beta=-1)", r"F1\(beta=-1\): beta must be a finite number of 0 or more, got -1"),
        ("P(rel=two)@5", "relevance_threshold must be a whole number, at least 1, got 'two'"),
        ("NDCG(empty=none)", "empty must be skip or a number from 0 to 1, got 'none'"),
    ],
)
def test_arguments_without_a_meaning(typed: str, sentence: str) -> None:
    with pytest.raises(ConventionError, match=f"^{sentence}$"):
        parse(typed)


def test_unknown_arguments_are_reported() -> None:
    with pytest.raises(UnknownName, match="no argument of P is called 'level'"):
        parse("P(level=2)@5")


def round_trip(text: str) -> None:
    """Check that a parsed text keeps its identity, or is refused with a ConventionError."""
    try:
        measure = parse(text)
    except PippinError:
        return
    assert measure.kind in MEASURE_DEFINITIONS
    assert parse(measure.text) == measure


@given(st.text(max_size=20))
def test_any_text_is_a_measure_or_refused(text: str) -> None:
    round_trip(text)


@given(st.sampled_from(sorted(MEASURE_DEFINITIONS)), st.text("(),=@_.-0123456789lrep'\"", max_size=14))
def test_any_ending_is_a_measure_or_refused(name: str, ending: str) -> None:
    round_trip(name + ending)


def test_rbp_with_a_point_is_ranxs_p() -> None:
    assert parse("rbp.95") == parse("RBP(p=0.95)")
    assert parse("rbp.8-l2") == parse("RBP(p=0.8,rel=2)")
    assert parse("RBP@10").cutoff == 10
    assert parse("RBP(p=0.5)@10").parameter("p") == 0.5
