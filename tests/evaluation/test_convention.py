"""Conventions accept only valid choices and report invalid ones."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.display.tables import render_all
from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.axis import Axis, GainTable, Integer, UnitNumber
from pippin.evaluation.convention import AXES, Convention, exponential_gains, parse_overrides
from pippin.evaluation.measures.notation import parse
from pippin.evaluation.tools import TOOLS
from pippin.reports.catalogue import tool_parts, tools_table

INVALID: list[tuple[str, Any]] = [
    ("gain", "exp"), ("gain", ()), ("gain", (1.0, 2.0)), ("gain", (0.0, -1.0)), ("gain", (0.0, math.inf)),
    ("gain", (0.0, math.nan)), ("gain", 3), ("gain", ("a",)), ("gain", None),
    ("max_valid_label", -1), ("max_valid_label", 2.5), ("max_valid_label", "none"),
    ("gain_threshold", -1), ("gain_threshold", 1.5), ("gain_threshold", "2"),
    ("discount", "ln"), ("discount", None), ("ideal_source", "pool"), ("short_lists", "skip"), ("precision_denominator",
    "k"),
    ("empty", -0.1), ("empty", 1.1), ("empty", math.nan), ("empty", "skip"), ("empty", True),
    ("query_selection", "all"), ("ties", "random"), ("ties", "id"), ("score_precision", "float16"), ("score_precision",
    32),
    ("relevance_threshold", 0), ("relevance_threshold", -1), ("relevance_threshold", 1.5), ("relevance_threshold", "1"),
    ("relevance_threshold", None),
    ("ap_denominator", "R"), ("ap_undefined", "list"),
    ("err_max_grade", "max"), ("err_max_grade", -1), ("err_max_grade", 4.5), ("err_max_grade", None),
    ("apply_cutoff", "no"), ("apply_cutoff", 0), ("value_rounding", "float16"), ("value_rounding", -1),
    ("value_rounding", 2.5), ("value_rounding", None),
    ("printed_digits", -1), ("printed_digits", "4"), ("printed_digits", None),
]  # fmt: skip

# what is typed for values that are not named, by their form
TYPED: dict[type, dict[str, Any]] = {
    Integer: {"2": 2, "15": 15},
    UnitNumber: {"0.25": 0.25, "1": 1.0},
    GainTable: {"0,1,2.5": (0.0, 1.0, 2.5)},
    type(None): {},
}


def typed_values(name: str) -> dict[str, Any]:
    """Return the accepted texts of an axis with their values."""
    return {**AXES[name].values, **TYPED[type(AXES[name].value_type)]}


def another(name: str) -> tuple[Any, str]:
    """Return a value of an axis that is not the default, and its text."""
    default = getattr(Convention(), name)
    return next((value, text) for text, value in typed_values(name).items() if value != default)


OTHER = {axis: another(axis) for axis in AXES}


@pytest.mark.parametrize(("axis", "value"), INVALID)
def test_an_invalid_choice_is_reported(axis: str, value: Any) -> None:
    with pytest.raises(ConventionError, match=r"^\w[^\n]*$"):
        Convention(**{axis: value})
    with pytest.raises(ConventionError, match=r"^\w[^\n]*$"):
        Convention().replace(**{axis: value})


def test_the_sentence_names_the_choices() -> None:
    with pytest.raises(ConventionError, match=r"^empty must be None \(skip\) or a number from 0 to 1, got 2$"):
        Convention(empty=2)
    with pytest.raises(ConventionError, match=r"^empty must be skip or a number from 0 to 1, got '2'$"):
        AXES["empty"].parse("2")
    with pytest.raises(ConventionError, match=r"^relevance_threshold must be a whole number, at least 1, got '0'$"):
        AXES["relevance_threshold"].parse("0")
    with pytest.raises(ConventionError, match=r"^ideal_source must be one of list, judged, got 'pool'$"):
        Convention(ideal_source="pool")


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_bounds_need_gains_that_grow(ties: str) -> None:
    with pytest.raises(ConventionError, match=f"ties={ties} needs gains that grow"):
        Convention(gain=(0.0, 2.0, 1.0), ties=ties)
    assert Convention(gain=(0.0, 1.0, 1.0), ties=ties).ties == ties


def test_every_field_is_an_axis_and_every_axis_a_field() -> None:
    assert tuple(AXES) == tuple(f.name for f in fields(Convention))


@pytest.mark.parametrize("axis", AXES)
def test_each_axis_can_be_typed_changed_and_told_apart(axis: str) -> None:
    value, typed = OTHER[axis]
    assert AXES[axis].parse(typed) == value
    changed = Convention().replace(**{axis: value})
    assert getattr(changed, axis) == value
    assert Convention().differences(changed) == {axis: (getattr(Convention(), axis), value)}
    assert changed.differences(changed) == {}
    assert changed != Convention()


@pytest.mark.parametrize("axis", AXES)
def test_accepted_texts_are_valid(axis: str) -> None:
    for text, value in typed_values(axis).items():
        assert AXES[axis].parse(text) == value
        assert AXES[axis].parse(AXES[axis].text(value)) == value
        assert getattr(Convention().replace(**{axis: value}), axis) == value


@pytest.mark.parametrize("axis", AXES.values(), ids=list(AXES))
def test_an_axis_says_what_it_is(axis: Axis) -> None:
    assert axis.label
    assert axis.description
    assert axis.values or axis.value_type
    assert axis.placeholder.split("|")[: len(axis.values)] == list(axis.values)


def test_an_axis_is_one_declaration() -> None:
    """What the command line, the notation and the page need of a new axis comes from its field alone."""
    names = [name for name, axis in AXES.items() if axis.heading]
    printed = list(tools_table(TOOLS.values()).headers)
    assert printed == ["tool", "version", *(AXES[name].heading for name in names)]
    for name, axis in AXES.items():
        assert axis.description in render_all(tool_parts(TOOLS["official"]))
        for argument in (name, *axis.arguments):
            assert parse(f"P({argument}={OTHER[name][1]})@5").overrides == ((name, OTHER[name][0]),)


def test_the_docs_tell_every_axis() -> None:
    page = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text()
    table = page.partition("## The axes\n")[2].partition("\n\n")[0].splitlines()[2:]
    assert table == [f"| {name} | {a.placeholder.replace('|', ', ')} | {a.description} |" for name, a in AXES.items()]


def test_numbers_of_any_type_become_plain_ones() -> None:
    convention = Convention(relevance_threshold=np.int64(2), empty=np.float32(0.5), gain=np.array([0, 1]))  # type: ignore[arg-type]
    assert json.loads(json.dumps(convention.as_dict()))["relevance_threshold"] == 2
    assert [type(value) for value in (convention.relevance_threshold, convention.empty, convention.gain)] == [
        int,
        float,
        tuple,
    ]


@pytest.mark.parametrize(
    ("axis", "text"),
    [("empty", "none"), ("empty", ""), ("gain", "exp"), ("gain", "0,,1"), ("relevance_threshold", "1.0"),
    ("gain_threshold", "x"),
     ("printed_digits", ""), ("max_valid_label", "skip"), ("apply_cutoff", "true")],
)  # fmt: skip
def test_unreadable_files_are_refused(axis: str, text: str) -> None:
    with pytest.raises(ConventionError, match=f"^{axis} must be "):
        AXES[axis].parse(text)


def test_parse_other_values() -> None:
    assert AXES["max_valid_label"].parse("none") is None
    assert AXES["gain"].parse("exp2") == "exp2"
    assert AXES["err_max_grade"].parse("3") == 3
    assert AXES["value_rounding"].parse("float32") == "float32"
    assert AXES["apply_cutoff"].parse("yes") is True
    assert parse_overrides({"empty": "0.5", "ties": None, "gain": "label"}) == {"empty": 0.5, "gain": "label"}


def test_unknown_axes_are_reported() -> None:
    with pytest.raises(UnknownName, match="no axis is called 'tie'; did you mean ties"):
        Convention().replace(tie="best")


def test_a_convention_is_a_frozen_value() -> None:
    convention = Convention(gain=[0, 1, 3])  # type: ignore[arg-type]
    assert convention == Convention(gain=(0.0, 1.0, 3.0)) == Convention(gain=np.array([0, 1, 3]))  # type: ignore[arg-type]
    assert hash(convention) == hash(Convention(gain=(0.0, 1.0, 3.0)))
    with pytest.raises(FrozenInstanceError):
        convention.empty = 1.0  # type: ignore[misc]


def test_as_dict_goes_through_json() -> None:
    convention = Convention(gain=(0.0, 1.0, 3.0), empty=None)
    record = json.loads(json.dumps(convention.as_dict()))
    assert list(record) == list(AXES)
    assert Convention(**record) == convention


def test_gains() -> None:
    assert Convention(gain="label").gains(3).tolist() == [0, 1, 2, 3]
    assert Convention(gain="exp2").gains(4).tolist() == [2**label - 1 for label in range(5)]
    assert Convention(gain=(0.0, 1.0, 3.0)).gains(1).tolist() == [0, 1]
    assert Convention(gain_threshold=2).gains(3).tolist() == [0, 0, 3, 7]
    assert Convention(gain_threshold=0).gains(1).tolist() == [0, 1]
    assert Convention().gains(-1).tolist() == [0]


def test_gains_beyond_reason_are_refused() -> None:
    with pytest.raises(ConventionError, match="label 3 is beyond the gain table of 3 labels"):
        Convention(gain=(0.0, 1.0, 3.0)).gains(3)
    with pytest.raises(ConventionError, match="2\\^1001 is too large"):
        Convention().gains(1001)
    with pytest.raises(ConventionError, match="too large"):
        Convention(gain="label").gains(2**30)
    assert exponential_gains(1000)[-1] == 2.0**1000


@pytest.mark.parametrize(
    ("discount", "expected"),
    [
        ("log2", [1, 1 / math.log2(3), 1 / 2, 1 / math.log2(5)]),
        ("letor", [1, 1, 1 / math.log2(3), 1 / 2]),
        ("reciprocal", [1, 1 / 2, 1 / 3, 1 / 4]),
    ],
)
def test_discounts(discount: str, expected: list[float]) -> None:
    multipliers, divisors = Convention(discount=discount).discounts(4)
    assert (multipliers / divisors).tolist() == pytest.approx(expected, rel=1e-15)
    assert len(Convention(discount=discount).discounts(0)[1]) == 1
