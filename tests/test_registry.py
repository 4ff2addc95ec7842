"""Registries keep their order, refuse duplicate names and suggest names."""

from __future__ import annotations

import pytest

from pippin.errors import UnknownName
from pippin.registry import Registry


def make_registry() -> Registry[int]:
    fruits = Registry[int]("fruit")
    for number, name in enumerate(("pippin", "quince", "apple")):
        fruits.register(name, number)
    return fruits


def test_registry_is_an_ordered_mapping() -> None:
    fruits = make_registry()
    assert list(fruits) == ["pippin", "quince", "apple"]
    assert fruits.values() == [0, 1, 2]
    assert fruits["quince"] == 1
    assert len(fruits) == 3
    assert "apple" in fruits
    assert "Apple" not in fruits


def test_register_returns_the_object() -> None:
    assert make_registry().register("pear", 7) == 7


def test_duplicate_names_are_refused() -> None:
    fruits = make_registry()
    with pytest.raises(ValueError, match="the fruit 'apple' is registered twice"):
        fruits.register("apple", 9)
    assert fruits["apple"] == 2


def test_an_unknown_name_gets_a_near_one_or_all() -> None:
    with pytest.raises(UnknownName, match=r"^no fruit is called 'aple'; did you mean apple\?$"):
        make_registry()["aple"]
    with pytest.raises(UnknownName, match=r"^no fruit is called 'xyz'; known: apple, pippin, quince$"):
        make_registry()["xyz"]


def test_values_returns_a_copy() -> None:
    fruits = make_registry()
    fruits.values().clear()
    assert len(fruits) == 3
