"""URL canonicalisation."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.collections.links.urls import (
    ancestors,
    canonical,
    directory,
    follow,
    host,
    length,
    resolve,
    slashes,
    tokens,
)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("http://A.GOV", "a.gov/"),
        ("https://a.gov:443/x", "a.gov/x"),
        ("https://a.gov:80/x", "a.gov/x"),
        ("https://a.gov:8443/x", "a.gov:8443/x"),
        ("http://me:secret@a.gov/x#top", "a.gov/x"),
        ("http://www.a.gov//x//y/./../z", "www.a.gov/x/z"),
        ("http://a.gov/../../x/", "a.gov/x/"),
        ("http://a.gov/a b?c d ", "a.gov/a%20b?c%20d"),
        ("http://a.gov/%7Euser/%c3%a4", "a.gov/~user/%C3%A4"),
        ("http://a.gov/Page.CGI?Id=3&b=/../x", "a.gov/Page.CGI?Id=3&b=/../x"),
        ("a.gov/x.html", "a.gov/x.html"),
        ("//a.gov/x", "a.gov/x"),
        ("localhost:8000/x", "localhost:8000/x"),
        ("127.0.0.1/x", "127.0.0.1/x"),
        ("docs/index.html", "/docs/index.html"),
        ("index.html", "/index.html"),
        ("v1.2/notes.html", "/v1.2/notes.html"),
        ("file:///srv/x.html", "/srv/x.html"),
    ],
)
def test_canonical_forms(written: str, form: str) -> None:
    assert canonical(written) == form
    assert canonical(form) == form


@pytest.mark.parametrize("written", ["", "  ", "mailto:a@b.gov", "javascript:void(0)", "ftp://a.gov/x", "http://[::1",
                                     "http://a.gov:99999/", "http://a.gov:x/", "http:///x"])  # fmt: skip
def test_invalid_urls_have_no_canonical_form(written: str) -> None:
    assert canonical(written) == ""


@pytest.mark.parametrize(
    ("target", "form"),
    [
        ("y.html", "a.gov/d/y.html"), ("../y.html", "a.gov/y.html"), ("/y.html", "a.gov/y.html"),
        ("", "a.gov/d/x.html"), ("#part", "a.gov/d/x.html"), ("?q=1", "a.gov/d/x.html?q=1"),
        ("//b.gov/z", "b.gov/z"), ("http://[", ""),
        ("https://b.gov", "b.gov/"), ("MAILTO:x@y.gov", ""), ("../../../y", "a.gov/y"),
    ],
)  # fmt: skip
def test_links_are_resolved_against_their_page(target: str, form: str) -> None:
    assert resolve("http://a.gov/d/x.html", target) == form


def test_parts_of_an_address() -> None:
    page = canonical("http://a.gov/mars/rover.html?x=1/2")
    assert (host(page), directory(page), list(ancestors("a.gov/"))) == ("a.gov", "a.gov/mars/", [])
    assert (slashes("a.gov/mars/"), length("a.gov/mars/")) == (2, 11)
    assert tokens("http://a.gov/Mars_Rover-2.html") == ["a", "gov", "mars", "rover", "2", "html"]


@given(st.text(max_size=40), st.text(max_size=40))
def test_canonical_form_accepts_any_link_and_is_idempotent(base: str, target: str) -> None:
    for form in (canonical(base), resolve(base, target), resolve("http://a.gov/" + base, target)):
        assert not form or canonical(("file://" if form.startswith("/") else "http://") + form) == form


@given(
    st.sampled_from(["a.gov/", "a.gov/b/c.html?x=1", "/home/x.html", "a.gov:8080/d/"]),
    st.lists(
        st.sampled_from(["a", "b.html", "/", "#", "?", "q=1", "..", " ", "\u3000", "[", "http://", "b.gov"]), max_size=6
    ),
)
def test_a_place_in_a_page_changes_nothing_of_where_a_link_leads(page: str, pieces: list[str]) -> None:
    target = "".join(pieces).strip()
    try:
        expected = canonical(urljoin("file://" + page if page.startswith("/") else "http://" + page, target))
    except ValueError:
        expected = ""
    assert follow(page, target) == expected
