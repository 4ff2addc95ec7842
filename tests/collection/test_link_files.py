"""LETOR's link files: written, read again, and refused where they contradict themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.collection.micro import micro_web

from pippin.collection.link_files import read_docmap, read_linkgraph, read_sitemap, write_link_files
from pippin.errors import DataError


def test_the_files_of_the_worked_example(tmp_path: Path) -> None:
    write_link_files(micro_web(), tmp_path / "letor")
    folder = tmp_path / "letor"
    assert (folder / "linkgraph.txt").read_text() == (
        "# page in-links source …\n0 2 1 3\n1 2 0 2\n2 2 0 1\n3 1 4\n4 1 0\n5 0\n"
    )
    assert (folder / "sitemap.txt").read_text() == (
        "# page depth url-length children parent\n0 0 6 1 -1\n1 1 11 1 0\n2 1 21 0 1\n3 0 16 1 -1\n4 1 20 0 3\n"
        "5 0 12 0 -1\n"
    )
    assert (folder / "docmap.txt").read_text() == "# page document\n0 d1\n1 d2\n2 d3\n3 d4\n4 d5\n5 d6\n"
    schema = json.loads((folder / "links.schema.json").read_text())
    assert [f["name"] for f in schema["sitemap.txt"]["fields"]] == ["page", "depth", "url-length", "children", "parent"]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    web = micro_web()
    write_link_files(web, tmp_path)
    graph, site = read_linkgraph(tmp_path / "linkgraph.txt"), read_sitemap(tmp_path / "sitemap.txt")
    assert np.array_equal(graph.out_targets, web.graph.out_targets)
    assert np.array_equal(graph.in_offsets, web.graph.in_offsets)
    assert np.array_equal(site.sitemap.parent, web.sitemap.parent)
    assert np.array_equal(site.url_lengths, web.url_lengths)
    assert site.depth.tolist() == [0, 1, 1, 0, 1, 0]
    assert list(read_docmap(tmp_path / "docmap.txt")) == list(web.ids)


@pytest.mark.parametrize(("text", "sentence"), [
    ("0 1 1\n1 0 5\n", ":2: page 1 has 1 in-links where it says 0"),
    ("0\n", ":1: page 0 has 0 in-links where it says 0"),
    ("0 1 7\n", "page 0 has an in-link from a page outside 0 … 0"),
    ("0 0\n2 0\n", ":2: page 1 is expected here, not '2'"),
    ("0 1 x\n", ":1: a field is no whole number"),
])  # fmt: skip
def test_link_graphs_that_cannot_be(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "linkgraph.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=sentence):
        read_linkgraph(file)


@pytest.mark.parametrize(("text", "sentence"), [
    ("0 0 5 1 1\n1 0 5 1 0\n", "the sitemap has a cycle: page 0"),
    ("0 0 5 1 4\n", "a parent outside −1 … 0"),
    ("0 0 5 2 -1\n1 0 5 0 0\n", "page 0 says 2 children, but is the parent of 1"),
    ("0 0 5\n", ":1: page 0 has 3 fields, not 5"),
])  # fmt: skip
def test_sitemaps_that_cannot_be(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "sitemap.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=sentence) as raised:
        read_sitemap(file)
    assert raised.value.file == str(file)


def test_a_page_without_a_document(tmp_path: Path) -> None:
    (tmp_path / "docmap.txt").write_text("0 d1\n1\n")
    with pytest.raises(DataError, match=":2: page 1 has no document id"):
        read_docmap(tmp_path / "docmap.txt")
