"""Every error is a PippinError with one sentence, and the docstring's tree is complete."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import pytest

from pippin import errors
from pippin.errors import ConventionError, DataError, MissingDependency, PippinError, UnknownName

ALL = [
    DataError("a label is missing", "a.txt", 3),
    ConventionError("these two do not go together"),
    UnknownName("tool", "letor5", ["letor4", "mslr"]),
    MissingDependency("pandas", "a data frame", "pippin[pandas]"),
]


def test_the_drawn_tree_is_the_tree() -> None:
    drawn = re.findall(r"^\s*(?:│\s+)?(?:[├└]── )?([A-Z]\w+)(?:\s|$)", str(errors.__doc__), re.MULTILINE)
    there = [name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, PippinError)]
    assert [name for name in drawn if name.endswith(("Error", "Name", "Dependency", "NotMet"))] == there


@pytest.mark.parametrize("error", ALL, ids=lambda e: type(e).__name__)
def test_every_error_is_reported(error: PippinError) -> None:
    assert isinstance(error, PippinError)
    assert str(error)
    assert "\n" not in str(error)


def test_a_data_error_names_the_place() -> None:
    assert str(DataError("a label is missing", "a.txt", 3)) == "a.txt:3: a label is missing"
    assert str(DataError("it is empty", Path("a.txt"))) == "a.txt: it is empty"
    assert str(DataError("two lengths differ")) == "two lengths differ"
    error = DataError("a label is missing", Path("a.txt"), 3)
    assert (error.message, error.file, error.line) == ("a label is missing", "a.txt", 3)


def test_unknown_names_get_a_hint_whatever_the_case() -> None:
    assert str(UnknownName("tool", "LETOR4", ["letor4", "mslr"])) == "no tool is called 'LETOR4'; did you mean letor4?"
    assert str(UnknownName("tool", "zzz", ["b", "a"])) == "no tool is called 'zzz'; known: a, b"
    names = [f"a{i:03}" for i in range(180)]
    assert str(UnknownName("tool", "zzz", names)).endswith("a022, a023, … (180 in all)")
    error = UnknownName("tool", "x", ["a"])
    assert (error.kind, error.name) == ("tool", "x")


def test_a_missing_extra_names_the_extra() -> None:
    assert str(ALL[3]) == "a data frame needs pandas: pip install 'pippin[pandas]'"


@pytest.mark.parametrize("error", ALL, ids=lambda e: type(e).__name__)
def test_errors_come_back_from_another_process(error: PippinError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_empty_registries_show_no_list() -> None:
    assert str(UnknownName("board", "cup", ())) == "no board is called 'cup'; there is none yet"
