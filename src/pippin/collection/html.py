"""What does a web page say? Title, visible text, headings and links of HTML of any quality and encoding.

The mark-up is read by selectolax (lexbor), which mends it as browsers do. Whatever the bytes, a page comes out.
Elements more than `DEPTH` deep are opened no more, as in browsers: the time that lexbor takes grows with the square of
depth.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pippin.collection.collection import Link

# Elements whose content nobody sees; a title stands in its own stream.
HIDDEN = ["script", "style", "noscript", "template", "title", "noframes", "iframe", "noembed"]
# These do not part words: <b>f</b>oo is one word. All others do, so that a blank is put before them. Their names are
# spelt out in three cases, as a pattern that ignores case takes three times as long.
INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
PARTING = re.compile(rf"<(?!!|/?(?:{'|'.join(f'{INLINE} {INLINE.upper()} {INLINE.title()}'.split())})[\s/>])")
TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)[^>]*>?")
# Elements without an end, and those whose end may be left out, since the next of their kind ends them.
OPEN_ENDED = (
    "area base body br caption col colgroup dd dt embed head hr html img input li link meta optgroup option p param rp "
    "rt source tbody td tfoot th thead tr track wbr"
)
UNNESTED = frozenset(OPEN_ENDED.split())
DEPTH = 512
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
META = re.compile(rb"<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
META_WITHIN = 4096  # bytes in which a declaration is looked for
FALLBACK = "cp1252"  # windows-1252, which is what pages mean that say Latin-1
LATIN = ("iso8859-1", "ascii")
NOT_OF_PAGES = ("unicode-escape", "raw-unicode-escape", "utf-7", "idna", "punycode", "undefined")  # but known to Python
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\ufeff]+")


@dataclass(frozen=True, slots=True)
class Page:
    """What was read from a page. Links stand as written, to be resolved against `base`, or the page's url without."""

    title: str
    body: str
    headings: tuple[tuple[int, str], ...]  # level from 1 to 6, text
    links: tuple[Link, ...]
    base: str
    encoding: str  # empty where text was given


def parse_html(data: bytes | str, *, encoding: str | None = None) -> Page:
    """The page that `data` holds; `encoding` is what came with it, the charset of the HTTP header.

    >>> page = parse_html("<title>Ap&shy;ples</title><h1>On <i>p</i>ippins</h1><p>See<a href='/pears'>pears</a>")
    >>> page.body, page.headings, page.links
    ('On pippins Seepears', ((1, 'On pippins'),), (Link(target='/pears', text='pears'),))
    """
    from selectolax.lexbor import LexborHTMLParser

    text, used = (data, "") if isinstance(data, str) else decode(data, encoding)
    # Lone surrogates cannot be handed over, and NUL would end a text.
    text = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    tree = LexborHTMLParser(PARTING.sub(" <", flattened(text)))
    title = next((node for node in tree.css("title") if node.parent is None or node.parent.tag != "svg"), None)
    base = tree.css_first("base[href]")
    frames = [Link(_said(node, "src")) for node in tree.css("frame[src], iframe[src]") if _said(node, "src")]
    heading = _text(title)
    tree.strip_tags(HIDDEN)
    return Page(
        heading,
        _text(tree.body),
        tuple((int(str(node.tag)[1]), _text(node)) for node in tree.css("h1, h2, h3, h4, h5, h6")),
        (*_links(tree), *frames),
        _said(base, "href") if base else "",
        used,
    )


def flattened(text: str) -> str:
    """The mark-up without the tags of elements more than `DEPTH` deep, whose text stays; the same object where none is.

    >>> flattened("<div>" * 600 + "deep").count("<div>")
    512
    """
    if text.count("<") <= DEPTH or _depth_at_most(text) <= DEPTH:
        return text
    pieces, depth, kept = [], 0, 0
    for tag in TAG.finditer(text):
        if tag[2].lower() in UNNESTED:
            continue
        too_deep = depth > DEPTH if tag[1] else depth >= DEPTH
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if too_deep:
            pieces += [text[kept : tag.start()], " "]
            kept = tag.end()
    return "".join([*pieces, text[kept:]]) if pieces else text


def _depth_at_most(text: str) -> int:
    """A bound on how deep elements stand, with every opening tag taken for one that must be closed."""
    data = np.frombuffer(text.encode("utf-8", "replace") + b" ", np.uint8)
    after = data[np.flatnonzero(data == ord("<")) + 1]
    step = ((after | 32) - ord("a") < 26).astype(np.int64) - (after == ord("/"))
    depth = np.cumsum(np.concatenate(([0], step)))
    return int((depth - np.minimum.accumulate(depth)).max())


def _said(node: Any, attribute: str) -> str:
    return (node.attributes[attribute] or "").strip()


def _links(tree: Any) -> Iterator[Link]:
    """Links with the text inside them and the alternative texts of the images inside them; an area has its own."""
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
    """Runs of blanks and control characters as one blank, none at the ends; soft hyphens, which nobody sees, gone."""
    text = " ".join(text.split())
    if text.isprintable():
        return text
    return " ".join(UNSEEN.sub(" ", text.replace("\xad", "")).split())


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text of bytes and the encoding it was read in.

    A mark of byte order decides, then what came with the page, then what the page says of itself, then UTF-8 if the
    bytes are that, else windows-1252. A declaration that most bytes beyond ASCII contradict does not count.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    said = META.search(data, 0, META_WITHIN)
    for label in (declared, said[1].decode("ascii", "replace") if said else None):
        text = _decode_as(data, label)
        if text is not None:
            return text
    try:
        # A last character that is cut off, as in pages stored up to a limit, does not make it another encoding.
        return codecs.utf_8_decode(data, "strict", False)[0], "utf-8"
    except UnicodeDecodeError:
        return data.decode(FALLBACK, "replace"), FALLBACK


def _decode_as(data: bytes, label: str | None) -> tuple[str, str] | None:
    """The text under a declared encoding, or None if there is no such encoding or the bytes speak against it."""
    try:
        encoding = codecs.lookup((label or "").strip()).name
        encoding = FALLBACK if encoding in LATIN else encoding
        if encoding in NOT_OF_PAGES:
            return None
        if encoding.startswith(("utf-16", "utf-32")) and b"<" in data and b"\0" not in data:
            return None
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError):  # some that Python knows are no encodings of text
        return None
    wrong = text.count("\ufffd")
    return None if wrong and 2 * wrong > sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) else (text, encoding)
