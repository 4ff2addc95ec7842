"""The docstrings of the public interface follow the NumPy style, as numpydoc validates it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import pippin

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed")

SUMMARY = {
    "GL08": "the object has a docstring", "SS01": "it has a summary", "SS02": "that starts with a capital",
    "SS03": "ends with a period", "SS05": "and is imperative", "PR02": "documented parameters exist",
    "PR03": "in the order of the signature",
}  # fmt: skip
FUNCTION = {
    **SUMMARY, "PR01": "all parameters are documented", "PR07": "with a description",
    "RT01": "there is a Returns section", "RT03": "with a description", "EX01": "and an example",
}  # fmt: skip


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
            yield path, set(FUNCTION) if inspect.isfunction(item) else {*SUMMARY, "PR07"}
            if inspect.isclass(item):
                for member, value in vars(item).items():
                    is_method = inspect.isfunction(value) or isinstance(value, classmethod | staticmethod | property)
                    if is_method and not member.startswith("_"):
                        yield f"{path}.{member}", set(SUMMARY)


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
