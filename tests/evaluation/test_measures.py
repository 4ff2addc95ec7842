"""Every measure under every convention equals its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.definitions.registry import TWINS
from tests.strategies import Plottable, cases, max_label_under, measure_variants, unlike_their_twins, values_of

from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import MEASURE_DEFINITIONS, MeasureDefinition


def test_every_kind_has_a_twin() -> None:
    """A measure whose formula nobody wrote down a second time could be wrong in silence."""
    assert set(TWINS) == set(MEASURE_DEFINITIONS)


@settings(max_examples=60)
@given(cases(tied=None))
def test_every_measure_equals_its_definition(case: tuple[list[Plottable], Convention]) -> None:
    assert not unlike_their_twins(*case)


def long_lists(seed: int, most: int) -> list[Plottable]:
    """Lists of up to 200 documents, in which the measures that count far down have something to count."""
    random = np.random.default_rng(seed)
    samples = []
    for size in (16, 17, 31, 60, 200):
        labels = [(None, -1, 0, 0, 0, 0, 0, 0, 1, most)[i] for i in random.integers(0, 10, size)]
        samples.append(Plottable(tuple(labels), tuple(map(float, range(size, 0, -1))), (1, most, 0, 0)))
    return samples


@pytest.mark.parametrize("seed", range(4))
def test_long_lists_too(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = {name: values_of(name) for name in AXES if name != "ties"}
    convention = Convention(
        ties="input", **{name: listed[random.integers(len(listed))] for name, listed in values.items()}
    )
    assert not unlike_their_twins(long_lists(seed, max_label_under(convention)), convention)


@pytest.mark.parametrize("kind", MEASURE_DEFINITIONS.values(), ids=list(MEASURE_DEFINITIONS))
def test_the_law_would_notice(kind: MeasureDefinition, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is off by a millionth part is found in a handful of lists, for every kind."""
    wrong = replace(kind, function=lambda *given: kind.function(*given) * (1 + 1e-6))
    monkeypatch.setitem(MEASURE_DEFINITIONS._items, kind.name, wrong)
    lists = long_lists(0, 4)
    assert any(
        unlike_their_twins(lists, Convention(ties="input", apply_cutoff=cut), measure_variants(kind))
        for cut in (True, False)
    )
