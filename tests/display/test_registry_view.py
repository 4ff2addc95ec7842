"""Registry views list registered items by name and print as tables."""

from __future__ import annotations

import pytest

import pippin
from pippin.collections.features.base import FEATURES
from pippin.errors import UnknownName
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.tools import TOOLS
from pippin.rankers.base import RANKERS


@pytest.mark.parametrize(
    ("name", "registry"),
    [("tools", TOOLS), ("measures", MEASURE_DEFINITIONS), ("features", FEATURES)],
    ids=lambda x: str(x)[:8],
)
def test_a_view_shows_what_is_registered(name: str, registry: object) -> None:
    view = getattr(pippin, name)
    assert list(view) == list(registry)  # type: ignore[call-overload]
    first = next(iter(view))
    assert view[first] is registry[first]  # type: ignore[index]
    assert first in view
    assert "nothing" not in view
    with pytest.raises(UnknownName, match="nothing"):
        view["nothing"]
    assert first in repr(view)
    assert view._repr_html_().count("<tr>") == len(view) + 1
    assert view.to_polars().height == len(view)


def test_rankers_are_listed() -> None:
    rankers = pippin.list_rankers()
    assert list(rankers) == list(RANKERS)
    assert rankers["lambdamart"] is pippin.rankers.LambdaMART
    assert "lambdamart" in repr(rankers)
    assert rankers._repr_html_().count("<tr>") == len(rankers) + 1
    with pytest.raises(UnknownName) as raised:
        rankers["lambdamrt"]
    assert (raised.value.kind, raised.value.name) == ("ranker", "lambdamrt")


def test_a_view_is_read_only() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        pippin.tools["mine"] = 1  # type: ignore[index]
