"""A shelf keeps its order, refuses a taken name and says what is near an unknown one."""

from __future__ import annotations

import pytest

from pippin.errors import UnknownName
from pippin.registry import Registry


def shelf() -> Registry[int]:
    fruits = Registry[int]("fruit")
    for number, name in enumerate(("pippin", "quince", "apple")):
        fruits.register(name, number)
    return fruits


def test_a_shelf_is_an_ordered_mapping() -> None:
    fruits = shelf()
    assert list(fruits) == ["pippin", "quince", "apple"]
    assert fruits.values() == [0, 1, 2]
    assert fruits["quince"] == 1
    assert len(fruits) == 3
    assert "apple" in fruits
    assert "Apple" not in fruits


def test_register_gives_the_thing_back() -> None:
    assert shelf().register("pear", 7) == 7


def test_a_taken_name_is_refused_and_the_first_stays() -> None:
    fruits = shelf()
    with pytest.raises(ValueError, match="the fruit 'apple' is registered twice"):
        fruits.register("apple", 9)
    assert fruits["apple"] == 2


def test_an_unknown_name_gets_a_near_one_or_all() -> None:
    with pytest.raises(UnknownName, match=r"^no fruit is called 'aple'; did you mean apple\?$"):
        shelf()["aple"]
    with pytest.raises(UnknownName, match=r"^no fruit is called 'xyz'; known: apple, pippin, quince$"):
        shelf()["xyz"]


def test_what_values_gives_is_a_copy() -> None:
    fruits = shelf()
    fruits.values().clear()
    assert len(fruits) == 3
