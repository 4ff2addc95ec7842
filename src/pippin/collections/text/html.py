"""Extract title, visible text, headings and links from HTML of any quality and encoding.

selectolax (lexbor) parses the markup and repairs it like browsers, so any bytes give a page. Elements nested more than
`DEPTH` deep are flattened, as in browsers, because the time of lexbor grows with the square of the depth.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pippin.collections.collection import Link

# Elements without visible content; the title has its own field.
HIDDEN = ["script", "style", "noscript", "template", "title", "noframes", "iframe", "noembed"]
# Inline elements do not separate words: <b>f</b>oo is one word. A blank is inserted before all others. The names are
# written in three cases, because a pattern that ignores case takes three times as long.
INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
SEPARATING = re.compile(rf"<(?!!|/?(?:{'|'.join(f'{INLINE} {INLINE.upper()} {INLINE.title()}'.split())})[\s/>])")
TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)[^>]*>?")
# Elements without end tag, and those whose end tag may be omitted, because the next one ends them.
OPEN_ENDED = (
    "area base body br caption col colgroup dd dt embed head hr html img input li link meta optgroup option p param rp "
    "rt source tbody td tfoot th thead tr track wbr"
)
UNNESTED = frozenset(OPEN_ENDED.split())
DEPTH = 512
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
META = re.compile(rb"<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
META_WITHIN = 4096  # bytes that are searched for a declaration
FALLBACK = "cp1252"  # windows-1252, which pages that declare Latin-1 mean
LATIN = ("iso8859-1", "ascii")
NO_PAGE_ENCODINGS = ("unicode-escape", "raw-unicode-escape", "utf-7", "idna", "punycode", "undefined")
INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\ufeff]+")


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page; links are as written, relative to `base` or else the page's URL."""

    title: str
    body: str
    headings: tuple[tuple[int, str], ...]  # level from 1 to 6, text
    links: tuple[Link, ...]
    base: str
    encoding: str  # empty if the page was a str


def parse_html(data: bytes | str, *, encoding: str | None = None) -> Page:
    """Parse a page; `encoding` is the charset of its HTTP header.

    >>> page = parse_html("<title>Ap&shy;ples</title><h1>On <i>p</i>ippins</h1><p>See<a href='/pears'>pears</a>")
    >>> page.body, page.headings, page.links
    ('On pippins Seepears', ((1, 'On pippins'),), (Link(target='/pears', text='pears'),))
    """
    from selectolax.lexbor import LexborHTMLParser

    text, used = (data, "") if isinstance(data, str) else decode(data, encoding)
    # The parser accepts no lone surrogates, and NUL would end the text.
    text = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    tree = LexborHTMLParser(SEPARATING.sub(" <", flatten(text)))
    title = next((node for node in tree.css("title") if node.parent is None or node.parent.tag != "svg"), None)
    base = tree.css_first("base[href]")
    frames = [Link(src) for node in tree.css("frame[src], iframe[src]") if (src := _attribute(node, "src"))]
    heading = _text(title)
    tree.strip_tags(HIDDEN)
    return Page(
        heading,
        _text(tree.body),
        tuple((int(str(node.tag)[1]), _text(node)) for node in tree.css("h1, h2, h3, h4, h5, h6")),
        (*_links(tree), *frames),
        _attribute(base, "href") if base else "",
        used,
    )


def flatten(text: str) -> str:
    """Remove the tags of elements nested more than `DEPTH` deep; return the same object if there are none.

    >>> flatten("<div>" * 600 + "deep").count("<div>")
    512
    """
    if text.count("<") <= DEPTH or _max_depth(text) <= DEPTH:
        return text
    parts, depth, end = [], 0, 0
    for tag in TAG.finditer(text):
        if tag[2].lower() in UNNESTED:
            continue
        is_too_deep = depth > DEPTH if tag[1] else depth >= DEPTH
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if is_too_deep:
            parts += [text[end : tag.start()], " "]
            end = tag.end()
    return "".join([*parts, text[end:]]) if parts else text


def _max_depth(text: str) -> int:
    """Return an upper bound of the depth of elements, as if every start tag needed an end tag."""
    data = np.frombuffer(text.encode("utf-8", "replace") + b" ", np.uint8)
    next_bytes = data[np.flatnonzero(data == ord("<")) + 1]
    step = ((next_bytes | 32) - ord("a") < 26).astype(np.int64) - (next_bytes == ord("/"))
    depth = np.cumsum(np.concatenate(([0], step)))
    return int((depth - np.minimum.accumulate(depth)).max())


def _attribute(node: Any, name: str) -> str:
    return (node.attributes[name] or "").strip()


def _links(tree: Any) -> Iterator[Link]:
    """Yield the links with their texts and the alternative texts of images inside them; areas have their own."""
    images: dict[int, str] = {}
    for image in tree.css("a[href] img[alt]"):
        node = image.parent
        while node.tag != "a":
            node = node.parent
        images[node.mem_id] = f"{images.get(node.mem_id, '')} {image.attributes['alt'] or ''}"
    for node in tree.css("a[href], area[href]"):
        attributes = node.attributes
        target = (attributes["href"] or "").strip()
        if target:
            inside = images.get(node.mem_id, "") if node.tag == "a" else attributes.get("alt") or ""
            yield Link(target, clean(f"{node.text()} {inside}"))


def _text(node: Any) -> str:
    return "" if node is None else clean(node.text())


def clean(text: str) -> str:
    """Collapse blanks and control characters to single blanks, and remove soft hyphens."""
    text = " ".join(text.split())
    if text.isprintable():
        return text
    return " ".join(INVISIBLE.sub(" ", text.replace("\xad", "")).split())


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """Return the text of a page and its encoding.

    In this order: a byte order mark, the encoding `declared` with the page, the declaration in the page, UTF-8 if the
    bytes are valid, else windows-1252. A declaration that most bytes beyond ASCII contradict is ignored.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    match = META.search(data, 0, META_WITHIN)
    for label in (declared, match[1].decode("ascii", "replace") if match else None):
        text = _decode_as(data, label)
        if text is not None:
            return text
    try:
        # The last character may be truncated, as in pages stored up to a limit.
        return codecs.utf_8_decode(data, "strict", False)[0], "utf-8"
    except UnicodeDecodeError:
        return data.decode(FALLBACK, "replace"), FALLBACK


def _decode_as(data: bytes, label: str | None) -> tuple[str, str] | None:
    """Return the text in a declared encoding; None if the encoding does not exist or the bytes contradict it."""
    try:
        encoding = codecs.lookup((label or "").strip()).name
        encoding = FALLBACK if encoding in LATIN else encoding
        if encoding in NO_PAGE_ENCODINGS:
            return None
        if encoding.startswith(("utf-16", "utf-32")) and b"<" in data and b"\0" not in data:
            return None
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError):  # Python also has codecs that do not decode text
        return None
    n_invalid = text.count("\ufffd")
    n_non_ascii = sum(map(len, re.findall(r"[^\x00-\x7f]+", text)))
    return None if n_invalid and 2 * n_invalid > n_non_ascii else (text, encoding)
