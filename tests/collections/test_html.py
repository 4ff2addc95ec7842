"""HTML of any quality: visible text, links and encoding."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.collections.collection import Link
from pippin.collections.text.html import DEPTH, decode, flatten, parse_html

PAGE = b"""<!DOCTYPE html><html><head><title>Apples &amp;
 pears</title><base href=" http://fruit.example/ "><style>p{}</style><script>if (a<p>b) hidden()</script></head>
<body><!-- hidden --><h1>All about <em>ap</em>ples</h1><p>One<br>two<b>th</b>ree&nbsp;four</p>
<noscript>hidden</noscript><template><p>hidden</p></template><table><tr><td>a</td><td>b</td></tr></table>
<H2>Sorts</H2><a href=" /pippin?x=1&amp;y=2 ">Cox  <img src=x alt="a pippin"></a><a name=x>no link</a><a href>empty</a>
<map><area href="/area" alt="an area"></map><iframe src="/frame">hidden</iframe></body></html>"""


def test_a_page() -> None:
    page = parse_html(PAGE)
    assert page.title == "Apples & pears"
    assert page.body == "All about apples One twothree four a b Sorts Cox no linkempty"
    assert page.headings == ((1, "All about apples"), (2, "Sorts"))
    assert page.links == (
        Link("/pippin?x=1&y=2", "Cox a pippin"),
        Link("/area", "an area"),
        Link("/frame"),
    )
    assert (page.base, page.encoding) == ("http://fruit.example/", "utf-8")


def test_a_page_of_frames_has_links_and_no_body() -> None:
    page = parse_html("<title>t</title><frameset><frame src=a><frame src=b><noframes>none</noframes></frameset>")
    assert (page.title, page.body, page.links) == ("t", "", (Link("a"), Link("b")))


def test_the_title_of_a_drawing_is_not_the_page_s() -> None:
    assert parse_html("<body><svg><title>drawing</title></svg>text").title == ""


@pytest.mark.parametrize(
    "broken",
    [
        "<p>one<p>two</p></p></div>",
        "one</b> <i>two",
        "<html><body><html><body>one <td>two",
        "<table>one<tr>two",
        "one two<a href='x",
        "<body>one two<!-- never closed",
    ],
)
def test_broken_mark_up_survives(broken: str) -> None:
    assert parse_html(broken).body.split()[:2] == ["one", "two"]


def test_an_open_title_swallows_the_page_as_in_browsers() -> None:
    assert parse_html("<title>one<p>two").title == "one <p>two"


@pytest.mark.parametrize(
    ("data", "declared", "encoding"),
    [
        ("größe".encode(), None, "utf-8"),
        ("größe".encode("latin-1"), None, "cp1252"),
        ("größe".encode("latin-1"), "ISO-8859-1", "cp1252"),
        ("größe".encode("latin-1"), "utf-8", "cp1252"),  # declared wrongly
        ("größe".encode(), "no-such-encoding", "utf-8"),
        ("größe".encode(), "hex", "utf-8"),  # known to Python, but not of text
        ("größe".encode(), "unicode_escape", "utf-8"),
        (b"<meta charset='iso-8859-15'>" + "größe".encode("iso-8859-15"), None, "iso8859-15"),
        (b'<meta http-equiv=content-type content="text/html; charset=cp437">' + "größe".encode("cp437"), None, "cp437"),
        (b"<?xml version='1.0' encoding='mac_roman'?>" + "größe".encode("mac_roman"), None, "mac-roman"),
        (b"<meta charset=utf-16>" + "größe".encode(), None, "utf-8"),  # it could not be read if it were so
        (b"<meta charset=cp437>" + "größe".encode(), "utf-8", "utf-8"),  # the header goes before the page
        (codecs.BOM_UTF8 + "größe".encode(), "latin-1", "utf-8"),
        (codecs.BOM_UTF16_LE + "größe".encode("utf-16-le"), None, "utf-16-le"),
        (codecs.BOM_UTF16_BE + "größe".encode("utf-16-be"), "utf-8", "utf-16-be"),
    ],
)
def test_encodings(data: bytes, declared: str | None, encoding: str) -> None:
    page = parse_html(data, encoding=declared)
    assert (page.body, page.encoding) == ("größe", encoding)


def test_a_character_cut_off_at_the_end_does_not_change_the_encoding() -> None:
    assert decode("größe und Güte ü".encode()[:-1]) == ("größe und Güte ", "utf-8")


def test_one_bad_byte_does_not_change_a_declared_encoding() -> None:
    text, encoding = decode("größe über alles".encode() + b"\xff", "utf-8")
    assert (text, encoding) == ("größe über alles\ufffd", "utf-8")


def test_text_with_what_utf_8_cannot_hold() -> None:
    assert parse_html("a\ud800b \0 c").body == "a?b \ufffd c"


@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "shift_jis", "utf-16", "utf-7", "idna", "\0", "rot13"]))
def test_any_bytes_are_a_page(data: bytes, encoding: str | None) -> None:
    page = parse_html(data, encoding=encoding)
    page.body.encode()
    assert page.body == " ".join(page.body.split())


MARKUP = st.lists(
    st.sampled_from(
        ["<a href=x>", "<a href='", "</a>", "<p>", "<table>", "<td>", "<title>", "</title>", "<!--", "-->", "<script>",
         "</script>", "<frameset>", "<template>", "</template>", "<svg>", "<base href=q>", "<h2>", "<img alt=k>",
         "&#0;", "&#xd800;", "&amp", "\0", "word", " ", "<area href>", "<iframe src=z>", "<math>",
         "<select>", "<body>", "</html>"]
    )
)  # fmt: skip


@given(MARKUP)
def test_any_mark_up_is_a_page(parts: list[str]) -> None:
    page = parse_html("".join(parts))
    assert all(isinstance(link.target, str) and link.target for link in page.links)
    page.body.encode()


def test_deep_nesting_survives() -> None:
    assert parse_html("<b>" * 50_000 + "deep").body == "deep"


@pytest.mark.parametrize("opened", ["<div>", "<ul><li>", "<p><b>", "<A HREF=x>", "<div><br>"])
def test_elements_are_opened_to_a_depth(opened: str) -> None:
    deep = "start " + f"{opened}text " * 600 + "</div>" * 600 + "<i>end</i>"
    flat = flatten(deep)
    assert flat.count(opened) == DEPTH
    page = parse_html(deep)
    assert page.body.split() == ["start", *["text"] * 600, "end"]


@pytest.mark.parametrize(
    "text",
    [
        "<div>a</div>" * 2000, "<p>a" * 2000, "<ul>" + "<li>a" * 2000, "a<br>" * 2000, "</div>" * 2000,
        "<!-- -->" * 2000, "<div>" * DEPTH, "1 < 2 " * 2000, "<table>" + "<tr><td>a" * 1000,
    ],
)  # fmt: skip
def test_shallow_archives_are_unchanged(text: str) -> None:
    assert flatten(text) is text
