"""Shards are one index, to the last bit, and a build by workers gives the bytes of one machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from tests.collection.test_build import SMALL, content, orchard, page

from pippin.collection import build as room
from pippin.collection import sharded
from pippin.collection.build import build
from pippin.collection.collection import Collection, Document, Query
from pippin.collection.features import extract
from pippin.collection.index import Index, build_index
from pippin.collection.shards import Shards, save_shards
from pippin.errors import DataError

T = TypeVar("T")
WORDS = [f"w{i}" for i in range(30)]


class Here:
    """Workers that are this process."""

    workers = 3

    def each(self, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        return (function(*one) for one in arguments)


def documents() -> list[Document]:
    draw = np.random.default_rng(5)
    texts = [[WORDS[i] for i in draw.zipf(1.5, draw.integers(0, 25)) % 30] for _ in range(200)]
    texts[150:] = texts[:50]  # ties, for ids to decide
    return [
        Document(hashlib.sha1(str(i).encode()).hexdigest()[:6], {"title": " ".join(text[:3]), "text": " ".join(text)})
        for i, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, Shards]:
    folder = tmp_path_factory.mktemp("shards")
    pages = documents()
    whole = Collection("drawn", ("title", "text"), lambda: iter(pages), unions={"whole": ("title", "text")})
    for name, first, last in (("a", 0, 3), ("b", 3, 120), ("c", 120, 200)):
        build_index(replace(whole, read=partial(iter, pages[first:last])), folder / name)
    return build_index(whole, folder / "whole"), save_shards(folder, ["a", "b", "c"])


def test_the_collection_is_counted_over_all_shards(both: tuple[Index, Shards]) -> None:
    index, shards = both
    assert (shards.documents, list(shards.ids)) == (index.documents, list(index.ids))
    for stream in index.streams:
        assert (shards.total(stream), shards.terms(stream)) == (index.total(stream), index.terms(stream))
        assert shards.lengths(stream).tolist() == index.lengths(stream).tolist()
        for ours, theirs in zip(shards.frequencies(stream, WORDS), index.frequencies(stream, WORDS), strict=True):
            assert ours.tolist() == theirs.tolist()
    ids = [index.ids.at(i) for i in (199, 0, 3)]
    assert shards.numbers([*ids, "none"]).tolist() == [199, 0, 3, -1]


@pytest.mark.parametrize("n", [1, 10, 60, 1000])
def test_the_best_documents_and_their_scores_are_those_of_one_index(both: tuple[Index, Shards], n: int) -> None:
    for words in (["w1"], ["w1", "w2", "w7"], ["w3", "w3", "w20", "nowhere"], ["nowhere"], []):
        for stream in both[0].streams:
            theirs, ours = (one.top(words, n, stream=stream) for one in both)
            assert ours[0].tolist() == theirs[0].tolist()
            assert ours[1].tobytes() == theirs[1].tobytes()


def test_features_have_the_bits_of_one_index(both: tuple[Index, Shards]) -> None:
    numbers = np.random.default_rng(1).permutation(200)[:90]
    for text in ("w1 w2 w7 w1", "w5 nowhere", "w29"):
        found = [one.candidates(Query("q", text), numbers, np.zeros(90, np.int32)) for one in both]
        tables = [extract(candidates, "ohsumed@title+text+whole proximity") for candidates in found]
        assert tables[0].tobytes() == tables[1].tobytes()
        assert tuple(found[0].document_ids) == tuple(found[1].document_ids)


@pytest.mark.parametrize("tasks", [("",), ("td", "hp")])
def test_a_build_by_workers_has_the_bytes_of_one_machine(
    tasks: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "PIECE_DOCUMENTS", 7)
    monkeypatch.setattr(room, "STRETCH", 2)
    recipe = replace(SMALL, features="gov", similarity=True)
    collection = replace(orchard(tasks), anchored=False)
    build(collection, tmp_path / "one", recipe)
    build(collection, tmp_path / "many", recipe, spread=Here())
    assert content(tmp_path / "many") == content(tmp_path / "one")


def test_what_a_document_says_twice_is_noticed_over_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded, "PIECE_DOCUMENTS", 5)
    twice = replace(orchard(), read=lambda: iter([page(i % 20) for i in range(40)]))
    with pytest.raises(DataError, match=r"two documents have the id 'd0'"):
        build(twice, tmp_path / "out", SMALL, spread=Here())
