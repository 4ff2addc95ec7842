"""Properties that every registered text feature must have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.collections.features.strategies import draw_candidates

from pippin.collections.features import FEATURES, BoundFeature, base, extract, extract_many
from pippin.collections.index.statistics import Candidates, FieldStatistics, Positions

NAMES = [items.name for items in FEATURES.values() if items.needs_field and not items.numeric]
WORDS = tuple("abcdefghiac")  # enough that the order of a sum would show


def select_candidates(candidates: Candidates, rows: list[int]) -> Candidates:
    """Return these candidates in this order."""
    fields = {name: select_field(field, rows) for name, field in candidates.fields.items()}
    ids = tuple(candidates.document_ids)
    selected = tuple(ids[i] for i in rows)
    return replace(candidates, document_ids=selected, labels=candidates.labels[rows], fields=fields)


def select_field(field: FieldStatistics, rows: list[int]) -> FieldStatistics:
    def positions() -> Positions:
        assert field.positions is not None
        result = field.positions()
        pieces = [np.arange(result.offsets[i], result.offsets[i + 1]) for i in rows]
        entries = np.concatenate([np.zeros(0, np.int64), *pieces])
        offsets = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces]))).astype(np.int64)
        return Positions(offsets, result.position[entries], result.word[entries])

    return replace(
        field,
        tf=np.ascontiguousarray(field.tf[:, rows]),
        length=field.length[rows],
        unique=field.unique[rows],
        positions=positions,
    )


def values(name: str, candidates: Candidates) -> np.ndarray:
    return BoundFeature(FEATURES[name], "title").values(candidates)


@pytest.mark.parametrize("name", NAMES)
def test_one_number_per_candidate_the_same_every_time(name: str) -> None:
    first, second = (values(name, draw_candidates(40, WORDS)) for _ in range(2))
    assert first.dtype == np.float64
    assert first.shape == (40,)
    assert first.tobytes() == second.tobytes()
    assert not np.isinf(first).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_value_depends_on_no_other_candidate(name: str) -> None:
    candidates = draw_candidates(40, WORDS)
    full = values(name, candidates)
    order = np.random.default_rng(1).permutation(40).tolist()
    assert values(name, select_candidates(candidates, order)).tobytes() == full[order].tobytes()
    for row in range(5):
        assert values(name, select_candidates(candidates, [row])).tobytes() == full[[row]].tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_into_the_counts(name: str) -> None:
    candidates = draw_candidates(5, WORDS)
    field = candidates.fields["title"]
    for array in (field.tf, field.length, field.unique, field.df, field.cf):
        array.flags.writeable = False
    out = values(name, candidates)
    out[:] = 0  # the caller's own
    assert field.length.sum() > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ["no words", "no documents", "empty streams", "empty collection", "everywhere"])
def test_the_edges_give_numbers_or_null_without_a_warning(name: str, case: str) -> None:
    documents = 0 if case == "no documents" else 4
    words = () if case == "no words" else ("a", "b", "a")
    candidates = draw_candidates(documents, words)
    field = candidates.fields["title"]
    nothing: dict[str, Any] = {"tf": field.tf * 0, "length": field.length * 0, "unique": field.unique * 0}
    none = Positions(np.zeros(documents + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    if case == "empty streams":
        field = replace(field, **nothing, positions=lambda: none)
    elif case == "empty collection":
        counts: dict[str, Any] = {"df": field.df * 0, "cf": field.cf * 0, "total": 0, "average": 0.0}
        field = replace(field, **nothing, **counts, positions=lambda: none)
    elif case == "everywhere":  # each word in every document of the collection
        field = replace(field, df=np.full(3, float(field.documents)))
    out = values(name, replace(candidates, fields={"title": field}))
    assert out.shape == (documents,)
    assert not np.isinf(out).any()
    if FEATURES[name].missing_when == "never":
        assert not np.isnan(out).any()
    if case in {"empty streams", "empty collection"} and FEATURES[name].missing_when != "never":
        assert np.isnan(out).all()


@pytest.mark.parametrize("name", [name for name in NAMES if FEATURES[name].kind == "Q"])
def test_a_feature_of_the_query_is_the_same_for_all(name: str) -> None:
    assert len(set(values(name, draw_candidates(20, WORDS)).tolist())) == 1


def queries_of_all_kinds() -> list[Candidates]:
    """Draw queries of one to six words, some repeated, some unknown, with few or no documents."""
    samples = []
    for seed in range(24):
        words = [*"abcdef"[: 1 + seed % 5], *("a" if seed % 4 == 0 else "")]
        candidates = draw_candidates(seed % 7, words, seed=seed)
        known = np.array([word != "b" or seed % 3 > 0 for word in words], np.float64)
        fields = {
            name: replace(item, df=item.df * known, cf=item.cf * known, tf=item.tf * known[:, None])
            for name, item in candidates.fields.items()
        }
        samples.append(replace(candidates, fields=fields))
    return samples


@pytest.mark.parametrize("name", NAMES)
def test_many_queries_at_once_give_the_bits_of_each_by_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PAIRS", 8)  # batches of several queries, and several batches
    queries = queries_of_all_kinds()
    alone = [values(name, candidates) for candidates in queries]
    for workers in (1, 2):
        together = extract_many(queries, [BoundFeature(FEATURES[name], "title")], workers)
        assert [table.tobytes() for table in together] == [column.tobytes() for column in alone]


def test_queries_of_different_collections_are_not_mixed() -> None:
    first = draw_candidates(5, ("a", "b"))
    other = replace(
        first, fields={name: replace(of, total=10**8, documents=10**6) for name, of in first.fields.items()}
    )
    tables = extract_many([first, other, first], "ohsumed")
    assert [table.tobytes() for table in tables] == [
        extract(query, "ohsumed").tobytes() for query in (first, other, first)
    ]
    assert tables[0].tobytes() != tables[1].tobytes()
