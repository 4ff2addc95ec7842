"""Every measure under every convention equals its definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference
from tests.reference import near
from tests.strategies import ASKED, Drawn, conventions, per_query, queries

from pippin.evaluation.convention import Convention


@settings(max_examples=150)
@given(st.lists(queries(), min_size=1, max_size=6), conventions)
def test_every_measure_equals_its_definition(drawn: list[Drawn], convention: Convention) -> None:
    found = per_query(drawn, convention, [text for text, *_ in ASKED])
    for text, kind, cutoff, own in ASKED:
        for query, value in zip(drawn, found[text], strict=True):
            expected = reference.value(kind, query.ranked, query.judged, convention, cutoff, **own)
            assert near(value, expected), (text, value, expected, query, convention)
