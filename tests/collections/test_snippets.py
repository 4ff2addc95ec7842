"""Snippets from stored texts, and from indexes without texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tampering import forge

from pippin.collections.collection import Collection, Document
from pippin.collections.index import storage as index_texts
from pippin.collections.index.index import Index, build_index, open_index
from pippin.collections.index.storage import FORMAT
from pippin.collections.text.analysis import Analyzer
from pippin.collections.text.snippets import show, snippet
from pippin.errors import DataError

LONG = "Nothing of note. " * 60

PAGES = [
    Document(
        "a", {"title": "On Pears", "body": LONG + "The gardener's pears were ripening slowly. " + LONG}, "http://a/b"
    ),
    Document("b", {"body": "Äpfel,\tund   Birnen\n(reif)"}),
    Document("c", {"title": "Only a title"}),
]


def collection(pages: list[Document]) -> Collection:
    return Collection("orchard", ("title", "body"), lambda: iter(pages), combined_fields={"whole": ("title", "body")})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(collection(PAGES), tmp_path_factory.mktemp("index") / "it")


def test_texts_are_those_of_the_documents(index: Index) -> None:
    for number, page in enumerate(PAGES):
        assert index.texts(number) == {"title": page.fields.get("title", ""), "body": page.fields.get("body", "")}
    with pytest.raises(DataError, match="from 0 to 2"):
        index.texts(3)


def test_texts_over_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_texts, "BLOCK_BYTES", 100)
    pages = [Document(f"d{i}", {"body": f"page {i} " * (i % 7)}) for i in range(200)]
    index = build_index(collection(pages), tmp_path / "it")
    for number in (0, 199, 50, 51, 49, 7):
        assert index.texts(number) == {"title": "", "body": f"page {number} " * (number % 7)}
    assert index.bytes()[1] > 0
    assert open_index(tmp_path / "it", verify=True).digest == index.digest


def test_snippet_text(index: Index) -> None:
    text = show(index, 0, index.analyse("pear ripens"), field="whole")
    assert (text.title, text.url) == ("On Pears", "http://a/b")
    assert "The gardener's pears were ripening slowly." in text.snippet
    assert text.snippet.startswith("… ")
    assert text.snippet.endswith(" …")
    assert len(text.snippet) < 180
    assert show(index, 1, ["birnen"], field="whole").snippet == "Äpfel, und Birnen (reif)"
    assert show(index, 2, ["titl"], field="whole").snippet == ""


def test_the_stretch_with_most_words_is_chosen() -> None:
    text = "apples " * 30 + LONG + "apples and pears together " + LONG
    result, hits = snippet(text, ["appl", "pear"], Analyzer())
    assert "apples and pears together" in result
    assert hits == (2, 2)
    assert snippet("x" * 500, ["y"], Analyzer())[0] == "x" * 59 + "…"
    assert snippet("", ["y"], Analyzer())[0] == ""


def test_an_index_without_texts(tmp_path: Path) -> None:
    plain = build_index(collection(PAGES), tmp_path / "plain", texts=False)
    stored = build_index(collection(PAGES), tmp_path / "kept")
    assert plain.digest == stored.digest
    assert plain.bytes() == (stored.bytes()[0], 0)
    assert plain.texts(0) is None
    assert "garden pear ripen slowli" in show(plain, 0, ["pear", "slowli"], field="whole").snippet


def test_damaged_texts_are_an_error(tmp_path: Path) -> None:
    build_index(collection(PAGES), tmp_path / "it")
    for name, content in (("texts.raw", b"\xff" * 2), ("texts.documents", b"\x09"), ("texts.packed", b"\x01\x01")):
        file = tmp_path / "it" / f"{name}.bin"
        before = file.read_bytes()
        file.write_bytes(content[: len(before)])
        forge(tmp_path / "it", FORMAT)
        with pytest.raises(DataError, match="the index is damaged: a block of texts"):
            open_index(tmp_path / "it").texts(1)
        file.write_bytes(before)
    forge(tmp_path / "it", FORMAT)
    blocks = tmp_path / "it" / "texts.blocks.bin"
    blocks.write_bytes(bytes(len(blocks.read_bytes())))
    with pytest.raises(DataError, match=r"texts\.blocks\.bin: bytes .* differ from what was written"):
        open_index(tmp_path / "it").texts(1)
    forge(tmp_path / "it", FORMAT)
    with pytest.raises(DataError, match="a block of texts"):
        open_index(tmp_path / "it").texts(1)
