"""Proximity features against their plain definitions."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from tests.collections.features.strategies import draw_candidates

from pippin.collections.features import extract, parse_features
from pippin.errors import ConventionError

WORDS = ("a", "b", "c", "a")


def by_definition(places: dict[int, list[int]], query: list[int], window: int = 8) -> list[float]:
    """min and mean distance, smallest window, ordered and unordered bigrams of one document."""
    pairs = [min(abs(p - q) for p, q in product(places[a], places[b])) for a, b in combinations(places, 2)]
    every = sorted(p for value in places.values() for p in value)
    spans = [
        last - first + 1
        for first, last in product(every, every)
        if first <= last and all(any(first <= p <= last for p in value) for value in places.values())
    ]
    follow = set(pairwise(query))
    either = follow | {(b, a) for a, b in follow}
    tokens = sorted((p, word) for word, value in places.items() for p in value)
    ordered = sum((a, b) in follow and q == p + 1 for (p, a), (q, b) in product(tokens, tokens))
    near = sum((a, b) in either and q - p < window for (p, a), (q, b) in combinations(tokens, 2))
    nothing = math.nan
    return [min(pairs, default=nothing), sum(pairs) / len(pairs) if pairs else nothing, min(spans, default=nothing),
            ordered, near]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_all_five_losses_equal_their_definitions(seed: int) -> None:
    candidates = draw_candidates(60, WORDS, ("whole",), seed=seed, tokens=40)
    positions = candidates.fields["whole"].positions
    assert positions is not None
    result = positions()
    expected = []
    for first, last in pairwise(result.offsets.tolist()):
        places: dict[int, list[int]] = {}
        for place, word in zip(result.position[first:last].tolist(), result.word[first:last].tolist(), strict=True):
            places.setdefault(word, []).append(place)
        expected.append(by_definition(places, [0, 1, 2, 0]))
    np.testing.assert_allclose(extract(candidates, "proximity"), np.array(expected))


def test_meta_information_has_no_positions() -> None:
    from dataclasses import replace

    candidates = draw_candidates(3, WORDS, ("whole",))
    bare = replace(candidates, fields={"whole": replace(candidates.fields["whole"], positions=None)})
    with pytest.raises(ConventionError, match="need an index"):
        parse_features("min_distance@whole")[0].values(bare)


@pytest.mark.parametrize("seed", range(2))
def test_positions_equal_their_definition(seed: int) -> None:
    candidates = draw_candidates(40, WORDS, ("whole",), seed=seed, tokens=30)
    field = candidates.fields["whole"]
    assert field.positions is not None
    positions = field.positions()
    idf = [math.log(field.documents / df) if df else 0.0 for df in field.df[candidates.distinct]]
    expected = []
    for document, (first, last) in enumerate(pairwise(positions.offsets.tolist())):
        tokens = [*zip(positions.position[first:last].tolist(), positions.word[first:last].tolist(), strict=True)]
        gathered = [0.0] * len(idf)
        for (p, a), (q, b) in pairwise(tokens):
            if a != b:
                gathered[a] += idf[b] / (q - p) ** 2
                gathered[b] += idf[a] / (q - p) ** 2
        damping = 1.2 * (1 - 0.5 + 0.5 * field.length[document] / field.average)
        score = sum(min(1.0, w) * a * 2.2 / (a + damping) for w, a in zip(idf, gathered, strict=True))
        expected.append([tokens[0][0] if tokens else math.nan, score])
    np.testing.assert_allclose(extract(candidates, "positions"), np.array(expected))
