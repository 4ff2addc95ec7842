"""Documents are parsed once, in the same order by any number of processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pippin.collections.collection import Collection, Document, Link
from pippin.collections.document_stream import with_cache
from pippin.collections.readers import read_collection, web
from pippin.collections.readers.web import RawPage
from pippin.collections.sources import open_collection

DOCUMENTS = [
    Document("a", {"title": "Äpfel", "body": "x" * 5000}, "http://a.org/", (Link("b", "pears"), Link("c"))),
    Document("b", {"body": "lone \ud800 surrogate"}),
    Document("c", {}),
]


def make_counting_collection(times: list[int]) -> Collection:
    def read() -> Iterator[Document]:
        times.append(1)
        yield from DOCUMENTS

    return Collection("few", ("title", "body"), read)


def test_a_second_pass_reads_the_file() -> None:
    times: list[int] = []
    collection = with_cache(make_counting_collection(times))
    assert list(collection) == list(collection) == DOCUMENTS
    assert len(times) == 1
    both = [(a.id, b.id) for a, b in zip(collection, collection, strict=True)]  # two passes at a time
    assert both == [("a", "a"), ("b", "b"), ("c", "c")]


def test_a_pass_that_stops_leaves_nothing() -> None:
    times: list[int] = []
    collection = with_cache(make_counting_collection(times))
    first = iter(collection)
    next(first)
    first.close()  # type: ignore[attr-defined]
    assert list(collection) == DOCUMENTS
    assert len(times) == 2


def site(folder: Path, number: int = 40) -> Path:
    for i in range(number):
        page = f"<title>Page {i}</title><h1>About {i}</h1><p>words <a href='{(i * 7) % number}.html'>to {i}</a>"
        (folder / f"{i}.html").write_text(page)
    return folder


def test_pages_are_parsed_once_for_all_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = web.parse_page

    def count(page: RawPage, fields: tuple[str, ...]) -> Document:
        parsed.append(page.id)
        return parse(page, fields)

    monkeypatch.setattr(web, "parse_page", count)
    collection = open_collection(site(tmp_path))
    assert list(collection) == list(collection)
    assert len(parsed) == 40


def test_several_processes_give_the_same_documents_in_the_same_order(tmp_path: Path) -> None:
    site(tmp_path)
    assert list(read_collection(tmp_path, jobs=2)) == list(read_collection(tmp_path))
