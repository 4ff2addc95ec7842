"""The docstrings of the public interface follow the NumPy style, as numpydoc validates it."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from tests.rankers.ranker_names import names as ranker_names

import pippin
from pippin import rankers
from pippin.rankers import steps

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed")

SUMMARY = {
    "GL08": "the object has a docstring", "SS01": "it has a summary", "SS02": "that starts with a capital",
    "SS03": "ends with a period", "SS05": "and is imperative", "PR02": "documented parameters exist",
    "PR03": "in the order of the signature", "PR07": "and have a description",
}  # fmt: skip
METHOD = {**SUMMARY, "PR01": "all parameters are documented"}
COMPONENT = {**METHOD, "EX01": "and there is an example"}  # registered rankers and steps
FUNCTION = {**COMPONENT, "RT01": "there is a Returns section", "RT03": "with a description"}  # fmt: skip


def public_objects() -> Iterator[tuple[str, set[str]]]:
    """Yield the path of every public function, class, method and property, and its checks."""
    paths = set()
    for package in (pippin, *(getattr(pippin, name) for name in pippin._PACKAGES)):
        for name in getattr(package, "__all__", ()):
            item: Any = getattr(package, name)
            if not (inspect.isfunction(item) or inspect.isclass(item)):
                continue
            path = f"{item.__module__}.{item.__qualname__}"
            if path in paths:
                continue
            paths.add(path)
            yield path, set(FUNCTION if inspect.isfunction(item) else SUMMARY)
            if inspect.isclass(item):
                for member, value in vars(item).items():
                    is_method = inspect.isfunction(value) or isinstance(value, classmethod | staticmethod | property)
                    if is_method and not member.startswith("_"):
                        yield f"{path}.{member}", set(SUMMARY if isinstance(value, property) else METHOD)
    for component in components():
        yield f"{component.__module__}.{component.__qualname__}", set(COMPONENT)


def components() -> list[type[Any]]:
    """Return the classes of all built-in rankers and steps."""
    return [*map(rankers.ranker, ranker_names()), *map(steps.step, steps.names())]


def test_public_docstrings_are_valid() -> None:
    objects = list(public_objects())
    assert len(objects) > 300
    errors = [
        f"{path}: {code} {message}"
        for path, checks in objects
        for code, message in validate.validate(path)["errors"]
        if code in checks
    ]
    assert errors == []


@pytest.mark.parametrize("component", components(), ids=lambda component: component.__name__)
def test_examples_of_rankers_and_steps_run(component: type[Any]) -> None:
    test = doctest.DocTestParser().get_doctest(str(component.__doc__), {}, component.__name__, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0
