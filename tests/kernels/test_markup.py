"""Lines of HTML pages equal those of a plain walk over the parsed tree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from pippin.kernels.text import split_markup

BLOCKS, UNSEEN, MATTER = "body br div hr li p td th", "head object script style svg template textarea title", 'style="'
PIECES = [
    "<p>text",
    "<br>",
    "<b>bold",
    "</b>",
    "<i class=x>leaning</i>",
    "<p style='a>b'>",
    '<div style="q\'&quot;>">',
    "</div>",
    "&amp;lt; &nbsp;&lt;p&gt; &#34;",
    "<!-- <p> -->",
    "<?php <b> ?>",
    '<p a"b =c=d>odd',
    "<a<b>name</a<b>",
    "<img alt='>'>",
    "<object><object>in</object>out</object>",
    "<object><script>'</object>'</script>k</object>",
    "<textarea><b>x</textarea>",
    "<svg><style>.a{}</style><link></link><p>",
    "<xmp><b>raw</b> &amp;</xmp>",
    "<noembed><p></noembed>",
    "<iframe><p></iframe>",
    "<script>if (a < b) '<p>'</script>",
    "<template><p>x</template>",
    "<table><tr><td>a<th>b</table>",
    "<",
    "\u2003wide\x85é𝒳 ",
    "<ul><li>one<li>two</ul>",
    "<input size=3>",
    "<select><option>a",
]


def look_of(name: str, written: str, outer: int) -> int:
    """Return a number that identifies all elements around a text."""
    return (outer * 31 + len(name) + 7 * len(written)) % 10_007


def by_tree(body: Any) -> list[tuple[list[str], list[int]]]:
    """Return the same lines node by node."""
    lines: list[list[tuple[str, int]]] = [[]]

    def walk(node: Any, outer: int) -> None:
        tag = node.tag
        if tag == "-text":
            lines[-1].append((node.text(deep=False), outer))
        elif tag is not None and not tag.startswith("-") and tag not in UNSEEN.split():
            if tag in BLOCKS.split():
                lines.append([])
            style = node.attributes.get("style")
            written = (
                ""
                if style is None
                else "".join(f' {name}="{escape_value(value or "")}"' for name, value in node.attributes.items())
            )
            for child in node.iter(include_text=True):
                walk(child, look_of(tag, written, outer))
            if tag in BLOCKS.split():
                lines.append([])

    walk(body, 0)
    seen = (line for line in lines if "".join(text for text, _ in line).strip(" \t\n\r\f"))
    return [merge_styles(line) for line in seen]


def escape_value(value: str) -> str:
    for plain, written in (("&", "&amp;"), ("\xa0", "&nbsp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        value = value.replace(plain, written)
    return value


def merge_styles(line: list[tuple[str, int]]) -> tuple[list[str], list[int]]:
    texts, looks = map(list, zip(*line, strict=True))
    return (["".join(texts)], looks[:1]) if len(set(looks)) == 1 else (texts, looks)


def check(page: str) -> None:
    body = LexborHTMLParser(page).body
    assert body is not None
    assert split_markup(body.html or "", BLOCKS, UNSEEN, MATTER, look_of) == by_tree(body)


@pytest.mark.parametrize("piece", PIECES)
def test_each_piece_alone(piece: str) -> None:
    check(f"<body>before{piece}after")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_pieces_in_any_order(page: str) -> None:
    check(page)


@given(st.text("<>/!?-=\"'& abp\n", max_size=60))
def test_hand_written_text_is_accepted(page: str) -> None:
    for texts, looks in split_markup(page, BLOCKS, UNSEEN, MATTER, look_of):
        assert len(texts) == len(looks) > 0
