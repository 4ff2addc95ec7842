"""Shelves list what there is to choose from, by name, and show themselves as tables."""

from __future__ import annotations

from typing import Any

import pytest

import pippin
from pippin.collection.features.base import FEATURES
from pippin.errors import UnknownName
from pippin.evaluation.measures import KINDS
from pippin.evaluation.tools import TOOLS
from pippin.rankers.base import RANKERS


@pytest.mark.parametrize(
    ("name", "registry"), [("tools", TOOLS), ("measures", KINDS), ("features", FEATURES)], ids=lambda x: str(x)[:8]
)
def test_a_shelf_is_what_is_registered(name: str, registry: object) -> None:
    shelf = getattr(pippin, name)
    assert list(shelf) == list(registry)  # type: ignore[call-overload]
    first = next(iter(shelf))
    assert shelf[first] is registry[first]  # type: ignore[index]
    assert first in shelf
    assert "nothing" not in shelf
    with pytest.raises(UnknownName, match="nothing"):
        shelf["nothing"]
    assert first in repr(shelf)
    assert shelf._repr_html_().count("<tr>") == len(shelf) + 1
    assert shelf.to_polars().height == len(shelf)


def test_the_package_of_rankers_is_their_shelf() -> None:
    rankers: Any = pippin.rankers
    assert list(rankers) == list(RANKERS)
    assert len(rankers) == len(RANKERS)
    assert rankers["lambdamart"] is rankers.LambdaMART
    assert "lambdamart" in rankers
    assert "lambdamart" in repr(rankers)
    assert rankers._repr_html_().count("<tr>") == len(rankers) + 1
    assert rankers.lambdamart.LambdaMART is rankers.LambdaMART, "it is still the package of their files"
    with pytest.raises(UnknownName, match="no ranker is called 'lambdamrt'; did you mean lambdamart"):
        rankers["lambdamrt"]


def test_nothing_is_put_on_a_shelf() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        pippin.tools["mine"] = 1  # type: ignore[index]
