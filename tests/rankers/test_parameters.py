"""Does every parameter say what it means, and do the docs say the same?"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rankers.shelf import names

from pippin.cli.rankers import parameters
from pippin.rankers import ranker

DOCS = Path(__file__).parents[2] / "docs" / "rankers.md"


@pytest.mark.parametrize("name", names())
def test_every_parameter_has_a_meaning(name: str) -> None:
    cls = ranker(name)
    assert set(cls.parameters) == set(cls().get_params())
    assert all(one.meaning for one in cls.parameters.values())


@pytest.mark.parametrize("name", names())
def test_the_docs_have_the_parameters_as_they_are(name: str) -> None:
    section = DOCS.read_text(encoding="utf-8").split(f"### `{name}` — ")[1].split("\n### ")[0]
    assert parameters(name).render("markdown") in section
    for key, values in ranker(name).grid.items():
        assert f"{key}: {', '.join(map(str, values))}" in section
