"""The link graph: internal, external and self links."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collections.six_pages import MICRO, PAGES

from pippin.collections.collection import Collection, Document, Link
from pippin.collections.links.graph import Graph, add_anchor_texts, gather
from pippin.collections.links.urls import DocumentUrls
from pippin.errors import DataError


def collection(*pages: Document) -> Collection:
    return Collection("some", ("body",), lambda: iter(pages))


def test_the_graph_of_the_worked_example() -> None:
    graph = Graph.of_collection(MICRO)
    pairs = [(p, int(q)) for p in range(6) for q in graph.targets(p)]
    assert pairs == [(0, 1), (0, 2), (0, 4), (1, 0), (1, 2), (2, 1), (3, 0), (4, 3)]
    assert [graph.sources(p).tolist() for p in range(6)] == [[1, 3], [0, 2], [0, 1], [4], [0], []]


def test_links_to_unknown_pages_are_counted_and_kept_as_outside() -> None:
    graph = Graph.of_collection(collection(
        Document("a", {}, "http://a.gov/", (Link("b"), Link("http://x.gov"), Link("http://x.gov/"), Link("mailto:me"))),
        Document("b", {}, "", (Link("nowhere"), Link("a"))),
    ))  # fmt: skip
    assert graph.links == 2
    assert graph.outside.tolist() == [2, 1]
    assert list(zip(graph.outside_urls, graph.outside_counts.tolist(), strict=True)) == [("x.gov/", 2), ("nowhere", 1)]


def test_a_page_that_links_to_itself_ten_thousand_times() -> None:
    page = Document("a", {}, "http://a.gov/x", (Link("x", "me"), Link("#top", "me")) * 5000)
    other = Document("b", {}, "http://a.gov/y", (Link("x", "that"),) * 10_000)
    graph = Graph.of_collection(collection(page, other))
    assert (graph.links, graph.self_links, graph.repeats) == (1, 10_000, 9_999)
    first = next(iter(add_anchor_texts(collection(page, other))))
    assert first.fields["anchor"].split() == ["that"] * 10_000


@pytest.mark.parametrize("pages", [(), PAGES[5:]])
def test_an_empty_graph(pages: tuple[Document, ...]) -> None:
    graph = Graph.of_collection(collection(*pages))
    assert (graph.pages, graph.links, len(graph.matrix().columns)) == (len(pages), 0, 0)


def test_ids_urls_and_directories_all_lead_to_the_page() -> None:
    book = DocumentUrls.from_urls(
        ["d1", "d2", "d3"], ["http://a.gov/x/index.html", "http://a.gov/x/welcome.html", "http://a.gov/d1"]
    )
    expected = {
        "d1": 2,
        "x/": 0,
        "x": 0,
        "/x/default.asp": 0,
        "x/welcome.html": 1,
        "http://a.gov/d1": 2,
        "d2": 1,
        "q": -1,
    }
    assert {target: book.find("a.gov/", target) for target in expected} == expected
    assert [book.find("", target) for target in ("d1", "http://a.gov/x", "a.gov/d1")] == [0, 0, 2]


def test_urls_that_do_not_parse_are_counted() -> None:
    book = DocumentUrls.from_urls(["a", "b", "c"], ["http://[", "", "http://a.gov:x/"])
    assert (book.urls, book.unparsed) == (("", "", ""), 2)


def test_one_id_for_two_documents_is_an_error() -> None:
    with pytest.raises(DataError, match="two documents have the id 'a'"):
        DocumentUrls.from_urls(["a", "a"], ["", ""])


def test_a_collection_that_changes_is_noticed() -> None:
    turn = iter((PAGES, PAGES[1:], PAGES[:2]))
    changing = Collection("changing", ("body",), lambda: iter(next(turn)))
    with pytest.raises(DataError, match="changed between two passes"):
        Graph.of_collection(changing)
    turn = iter((PAGES, PAGES[:2]))
    with pytest.raises(DataError, match="changed between two passes"):
        Graph.of_collection(changing)


@pytest.mark.parametrize(("sources", "targets", "sentence"), [
    ([0], [3], "outside 0 … 2"), ([-1], [0], "outside 0 … 2"), ([0, 1], [1], "links have 2 sources and 1 targets"),
])  # fmt: skip
def test_links_that_cannot_be(sources: list[int], targets: list[int], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Graph.of(3, sources, targets)


edges = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
)


@given(edges)
def test_both_sides_of_the_graph_say_the_same(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    pages, links = drawn
    graph = Graph.of(pages, [a for a, _ in links], [b for _, b in links])
    expected = {(a, b) for a, b in links if a != b}
    assert [(p, int(q)) for p in range(pages) for q in graph.targets(p)] == sorted(expected)
    assert {(int(q), p) for p in range(pages) for q in graph.sources(p)} == expected
    assert graph.links + graph.self_links + graph.repeats == len(links)
    dense = graph.matrix().toarray()
    assert np.array_equal(dense.sum(axis=1), graph.outdegree)
    assert np.array_equal(dense.sum(axis=0), graph.indegree)


def test_gathering_takes_the_first_few_of_each_list() -> None:
    graph = Graph.of(4, [0, 0, 0, 2], [1, 2, 3, 0])
    position, column = gather(graph.out_offsets, graph.out_targets, np.array([2, 1, 0]), limit=2)
    assert (position.tolist(), column.tolist()) == ([0, 2, 2], [0, 1, 2])


def test_anchors_of_the_worked_example() -> None:
    full = add_anchor_texts(MICRO)
    assert full.fields == ("body", "title", "url", "anchor")
    texts = [document.fields["anchor"] for document in full]
    assert texts == ["home\nspace agency", "mars\nmars missions", "rover\nrover page", "health", "law", ""]
    assert [document.fields["anchor"] for document in add_anchor_texts(full)] == texts


def test_anchors_are_read_lazily() -> None:
    reads = []

    def read() -> Iterator[Document]:
        for page in PAGES:
            reads.append(page.id)
            yield page

    full = add_anchor_texts(Collection("counted", ("body",), read))
    assert len(reads) == 2 * len(PAGES)
    next(iter(full))
    assert len(reads) == 2 * len(PAGES) + 1
