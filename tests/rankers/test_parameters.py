"""Every parameter has a description, and every ranker a formula in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rankers.ranker_names import names

from pippin.rankers import ranker

DOCS = Path(__file__).parents[2] / "docs" / "mathematics.md"


@pytest.mark.parametrize("name", names())
def test_every_parameter_has_a_meaning(name: str) -> None:
    cls = ranker(name)
    assert set(cls.parameters) == set(cls().get_params())
    assert all(parameter.meaning for parameter in cls.parameters.values())


@pytest.mark.parametrize("name", names())
def test_the_docs_have_the_formula(name: str) -> None:
    section = DOCS.read_text(encoding="utf-8").split(f"\n### {name}\n")[1].split("\n### ")[0]
    assert section.count("$$") == 2
    assert ranker(name).source.split()[0].strip(",") in section  # its first author
