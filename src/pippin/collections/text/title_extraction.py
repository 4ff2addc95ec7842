"""Extract the visible title of a web page from the format and position of its text.

After Hu et al. 2005, who learn the weights; here they are set by hand. The body (or <main>) is divided into lines, the
texts between block elements, each with its format: size (from h1…h6, <font size>, <big>, <small>, inline CSS), weight,
centring, share of link text. Candidates are the first 30 % of the lines (at least 10, at most 40) with 2–30 words (1 in
h1 and h2) of which less than half is link text, outside of lists, forms and menus, and without phrases that titles
never have ("click here" …).
  score = 2·z(size) + 1·bold + 1.5·[h1] + 1·[h2] + 0.5·centred − 1.5·line/40
          + 0.5·Jaccard(words, <title>), unless that is bogus + 0.3·[followed by smaller text]
The best line is the title, together with following lines of the same format (three in all, 30 words) if it differs from
plain text; a second line is added if it scores at least 0.9 of the best and is another block. Below a score of 1 the
title is the first heading, else the <title> unless it is bogus (empty, "untitled …", the host's name), else empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pippin.kernels.text import split_markup

MAX_LINES, MIN_LINES, SHARE_OF_LINES = 40, 10, 0.3  # lines that are candidates
MIN_WORDS, MAX_WORDS = 2, 30
MAX_JOINED_LINES = 3
MIN_SCORE = 1.0
SECOND_SHARE = 0.9  # of the best score, for a second line
PLAIN_SIZE = 3.0  # of plain text on HTML's scale of 1 to 7

_BLOCKS = (
    "address article aside blockquote br body caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 header hr li main menu nav ol option p pre section select summary "
    "table tbody td tfoot th thead tr ul"
)
_HIDDEN = "script style noscript template title svg math iframe object textarea head"
_NO_TITLE_INSIDE = frozenset(["li", "form", "nav", "select", "button", "menu", "footer", "aside", "option"])
_BOLD = frozenset(["b", "strong", "h1", "h2", "h3", "h4", "h5", "h6", "th"])
_ATTRIBUTE = re.compile(r' ([^\s/>=]+)="([^"]*)"')
_NEVER = re.compile(
    r"under construction|welcome to our|click here|untitled|skip to|last (?:updated|modified)|home ?page|javascript|"
    r"all rights reserved|©|table of contents", re.IGNORECASE,
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_SIZES = {"xx-small": 1, "x-small": 1.5, "small": 2, "medium": 3, "large": 4, "x-large": 5, "xx-large": 6, "larger": 4}
_PIXELS = ((0, 0.5), (10, 1), (13, 2), (16, 3), (18, 4), (24, 5), (32, 6), (48, 7))  # browsers' pixels → HTML's scale
_FONT_SIZE = re.compile(r"font-size\s*:\s*([\d.]+)\s*(px|pt|em|rem|%)|font-size\s*:\s*([a-z-]+)", re.IGNORECASE)
_FONT_WEIGHT = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_CENTRED = re.compile(r"text-align\s*:\s*center", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExtractedTitle:
    """A title and its source: the format of the text, the first heading, <title>, or none."""

    text: str
    source: Literal["format", "heading", "title", "none"]


class Format(NamedTuple):
    """The format of a text, and the kind of element it is in."""

    size: float = PLAIN_SIZE
    bold: bool = False
    centred: bool = False
    heading: int = 0  # 1 to 6 inside h1 … h6
    excluded: bool = False  # in a list, form or menu
    link: bool = False


class Line(NamedTuple):
    """A text between block elements; its format is that of most of its characters."""

    text: str
    format: Format
    links: float  # share of link text


def extract_title(html: str | bytes, *, host: str = "") -> ExtractedTitle:
    """Extract the title of a page.

    >>> extract_title("<title>Untitled 1</title><p>Dept. of Fruit<center><font size=6>Growing Pippins</font></center>"
    ...     "<p>Plant them in autumn, deep and with much patience.")
    ExtractedTitle(text='Growing Pippins', source='format')
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    node = tree.css_first("title")
    title = _clean(node.text()) if node is not None else ""
    if is_bogus(title, host=host):
        title = ""
    main = tree.css_first("main") or tree.body
    lines = read_lines(main) if main is not None else []
    text = _title_by_format(lines, title)
    if text:
        return ExtractedTitle(text, "format")
    headings = [line for line in lines if line.format.heading]
    if headings:
        return ExtractedTitle(min(headings, key=lambda line: line.format.heading > 1).text, "heading")
    return ExtractedTitle(title, "title") if title else ExtractedTitle("", "none")


def is_bogus(title: str, *, host: str = "") -> bool:
    """Return whether a <title> does not describe its page."""
    plain = title.strip().lower()
    return not plain or plain in (host.lower(), f"www.{host.lower()}") or plain.startswith("untitled")


def _clean(text: str) -> str:
    return " ".join(text.split())


def read_lines(body: Any) -> list[Line]:
    """Return the lines of a page in order."""
    formats = [Format()]
    numbers = {formats[0]: 0}

    def number_of_format(tag: str, markup: str, outer: int) -> int:
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(markup)} if markup else {}
        format = _format(attributes, tag, formats[outer])
        if format not in numbers:
            numbers[format] = len(formats)
            formats.append(format)
        return numbers[format]

    lines = []
    for texts, line_formats in split_markup(body.html, _BLOCKS, _HIDDEN, 'style=" align=" size="', number_of_format):
        text = _clean(texts[0] if len(texts) == 1 else "".join(texts))
        if text:
            lines.append(_line(text, texts, line_formats, formats))
    return lines


def _line(text: str, texts: list[str], line_formats: list[int], formats: list[Format]) -> Line:
    """Return a line of several texts, with the format of most of its characters."""
    weights: dict[int, int] = {}
    for part, number in zip(texts, line_formats, strict=True):
        weights[number] = weights.get(number, 0) + len(part.strip())
    links = sum(weight for number, weight in weights.items() if formats[number].link) / max(1, sum(weights.values()))
    format = formats[max(weights, key=weights.__getitem__)]
    return Line(text, format._replace(link=False) if format.link else format, links)


def _format(attributes: Mapping[str, str], tag: str, outer: Format) -> Format:
    """Return the format of text inside an element."""
    style = attributes.get("style", "")
    heading = int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456" else outer.heading
    size = 7.0 - heading if heading != outer.heading else outer.size
    if tag == "font" and attributes.get("size"):
        size = _font_size(attributes["size"], size)
    elif tag in ("big", "small"):
        size += 1.0 if tag == "big" else -1.0
    if "font-size" in style:
        size = _css_size(style, size)
    centred = tag == "center" or attributes.get("align", "").lower() == "center" or bool(_CENTRED.search(style))
    return Format(
        size,
        outer.bold or tag in _BOLD or bool(_FONT_WEIGHT.search(style)),
        outer.centred or centred,
        heading,
        outer.excluded or tag in _NO_TITLE_INSIDE,
        outer.link or tag == "a",
    )


def _font_size(value: str, outer: float) -> float:
    """Return the size of <font size=…>: 1 to 7, or +n and −n from plain text."""
    match = re.fullmatch(r"\s*([+-]?)(\d)\s*", value)
    if match is None:
        return outer
    number = float(match[2])
    size = {"+": PLAIN_SIZE + number, "-": PLAIN_SIZE - number, "": number}[match[1]]
    return max(1.0, min(7.0, size))


def _css_size(style: str, outer: float) -> float:
    """Return an inline font-size on HTML's scale."""
    match = _FONT_SIZE.search(style)
    if match is None:
        return outer
    if match[3]:
        return _SIZES.get(match[3].lower(), outer)
    try:
        number = float(match[1])
    except ValueError:
        return outer
    pixels = number * {"px": 1.0, "pt": 4 / 3, "%": 0.16}.get(match[2].lower(), 16.0)
    for (low, level), (high, above) in pairwise(_PIXELS):
        if pixels < high:
            return level + (above - level) * (pixels - low) / (high - low)
    return 7.0


def _title_by_format(lines: list[Line], title: str) -> str:
    """Return the best line with its continuation, and a second one with nearly the same score; "" below MIN_SCORE."""
    n_candidates = min(MAX_LINES, max(MIN_LINES, math.ceil(SHARE_OF_LINES * len(lines))))
    z_sizes = _standardize([line.format.size for line in lines])
    scores = {
        i: 2.0 * z_sizes[i] + _score(lines, i, title)
        for i in range(min(n_candidates, len(lines)))
        if _may_be_title(lines[i])
    }
    if not scores:
        return ""
    best = max(scores, key=lambda i: (scores[i], -i))
    if scores[best] < MIN_SCORE:
        return ""
    title_lines = _with_continuation(lines, best)
    text = " ".join(lines[i].text for i in title_lines)
    later = [i for i in scores if i not in title_lines and i > best and scores[i] >= SECOND_SHARE * scores[best]]
    if later:
        second = max(later, key=lambda i: (scores[i], -i))
        if lines[second].text not in text:
            text += " " + lines[second].text
    return text


def _may_be_title(line: Line) -> bool:
    min_words = 1 if line.format.heading in (1, 2) else MIN_WORDS
    if not min_words <= len(_WORD.findall(line.text)) <= MAX_WORDS:
        return False
    return line.links < 0.5 and not line.format.excluded and not _NEVER.search(line.text)


def _standardize(sizes: list[float]) -> list[float]:
    """Return z-scores; 0 if all sizes are equal."""
    mean = sum(sizes) / max(1, len(sizes))
    deviation = math.sqrt(sum((size - mean) ** 2 for size in sizes) / max(1, len(sizes)))
    return [(size - mean) / deviation if deviation > 0 else 0.0 for size in sizes]


def _score(lines: list[Line], position: int, title: str) -> float:
    """Return the score of a line without the term of its size."""
    line = lines[position]
    format = line.format
    sizes = (following.format.size for following in lines[position + 1 : position + 1 + MAX_JOINED_LINES])
    next_size = next((size for size in sizes if size != format.size), format.size)  # a title may continue
    return (
        1.0 * format.bold
        + {1: 1.5, 2: 1.0}.get(format.heading, 0.0)
        + 0.5 * format.centred
        - 1.5 * position / MAX_LINES
        + 0.5 * _jaccard(line.text, title)
        + 0.3 * (next_size < format.size)
    )


def _jaccard(a: str, b: str) -> float:
    words_a, words_b = set(_WORD.findall(a.lower())), set(_WORD.findall(b.lower()))
    return len(words_a & words_b) / len(words_a | words_b) if words_a and words_b else 0.0


def _with_continuation(lines: list[Line], best: int) -> list[int]:
    """Return a line and the following ones of the same format, if that differs from plain text."""
    positions, format = [best], lines[best].format
    words = len(_WORD.findall(lines[best].text))
    is_emphasized = format.bold or format.size > PLAIN_SIZE
    while is_emphasized and len(positions) < MAX_JOINED_LINES and positions[-1] + 1 < len(lines):
        following = lines[positions[-1] + 1]
        words += len(_WORD.findall(following.text))
        if following.format != format or following.links >= 0.5 or words > MAX_WORDS:
            break
        positions.append(positions[-1] + 1)
    return positions
