"""The sitemap: parent rules and forest invariants."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pippin.collections.links.sitemap import Sitemap
from pippin.errors import DataError


def parents(*urls: str) -> list[int]:
    result: list[int] = Sitemap.of_urls(urls).parent.tolist()
    return result


def test_the_nearest_directory_with_a_page_is_the_parent() -> None:
    assert parents("a.gov/", "a.gov/mars/", "a.gov/mars/rover.html") == [-1, 0, 1]
    assert parents("b.gov/index.html", "b.gov/space/law.html") == [-1, 0]  # b.gov/space/ has no page
    assert parents("c.gov/x.html", "d.gov/") == [-1, -1]  # never on another host


def test_queries_and_users_are_ordinary_parts_of_a_path() -> None:
    assert parents("a.gov/~me/", "a.gov/~me/page.cgi?id=3", "a.gov/~me/?id=/x/", "a.gov/~me/index.php?x") == [
        -1,
        0,
        0,
        0,
    ]


def test_of_several_index_pages_the_shortest_url_then_the_first_has_the_directory() -> None:
    assert parents("a.gov/welcome.html", "a.gov/home.asp", "a.gov/main.asp", "a.gov/x") == [1, -1, 1, 1]
    assert parents("a.gov/index.html", "a.gov/") == [1, -1]


def test_children_siblings_and_depth() -> None:
    tree = Sitemap.of_urls(["a.gov/", "a.gov/x", "a.gov/y/", "a.gov/y/z", ""])
    assert tree.child_counts.tolist() == [2, 0, 1, 0, 0]
    assert [tree.siblings(page).tolist() for page in range(5)] == [[], [2], [1], [], []]
    assert tree.depth.tolist() == [0, 1, 1, 2, 0]
    assert tree.with_descendants(np.array([2, 1])).tolist() == [1, 2, 3]


def test_a_cycle_is_an_error() -> None:
    with pytest.raises(DataError, match="cycle: page 1 is on it or below it"):
        Sitemap.of_parents([-1, 3, 1, 2])
    with pytest.raises(DataError, match="cycle"):
        Sitemap.of_parents([0])


def test_a_parent_that_is_not_there_is_an_error() -> None:
    with pytest.raises(DataError, match="outside −1 … 1"):
        Sitemap.of_parents([-1, 2])


def test_no_pages() -> None:
    tree = Sitemap.of_urls([])
    assert (tree.pages, tree.roots, tree.with_descendants(np.zeros(0, np.int64)).tolist()) == (0, 0, [])


def test_a_chain_of_a_hundred_thousand_pages_is_deep_not_slow() -> None:
    start = time.process_time()
    tree = Sitemap.of_parents(np.arange(-1, 99_999))
    assert tree.depth[-1] == 99_999
    assert time.process_time() - start < 5


def test_a_host_with_a_hundred_thousand_pages() -> None:
    urls = ["a.gov/", *(f"a.gov/d{i % 100}/{i}.html" for i in range(99_999))]
    start = time.process_time()
    tree = Sitemap.of_urls(urls)
    assert tree.child_counts[0] == 99_999
    assert time.process_time() - start < 10
