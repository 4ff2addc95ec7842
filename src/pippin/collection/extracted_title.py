"""What would a reader call this page? The title that stands on the page, found by how it looks and where.

After Hu et al. 2005, who learn it from such signs; here the signs are weighed by hand. The body (what stands in <main>
where a page has one) is cut into lines, the texts between block elements, each with its format: size (from h1…h6, <font
size>, <big>, <small>, inline CSS), weight, centring, share of link text. Considered are the first 30 % of the lines (at
least 10, at most 40) with 2–30 words (1 will do in h1 and h2) of which less than half is link text, not in lists,
forms, menus, not on many pages of the host, and not saying what titles never say ("click here" …).
  score = 2·z(size) + 1·bold + 1.5·[h1] + 1·[h2] + 0.5·centred − 1.5·line/40
          + 0.5·Jaccard(words, <title>), unless that is bogus + 0.3·[followed by smaller text]
The best line is the title, with following lines of the same striking format (three in all, 30 words); a second one
counts too where it scores at least 0.9 of the best and is another block. Below a score of 1 the first heading is taken,
else the <title> unless it is bogus (empty, "untitled …", the host's name, or shared by many pages of the host), else
nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pippin.kernels.markup import markup_lines

MOST_LINES, LEAST_LINES, SHARE_OF_LINES = 40, 10, 0.3
LEAST_WORDS, MOST_WORDS = 2, 30
MOST_JOINED = 3
LEAST_SCORE = 1.0
SECOND = 0.9
PLAIN = 3.0  # size of plain text on HTML's scale of 1 to 7

_BLOCKS = (
    "address article aside blockquote br body caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 header hr li main menu nav ol option p pre section select summary "
    "table tbody td tfoot th thead tr ul"
)
_UNSEEN = "script style noscript template title svg math iframe object textarea head"
_APART = frozenset(["li", "form", "nav", "select", "button", "menu", "footer", "aside", "option"])
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
    """A title and where it was found: by its looks, in the first heading, in <title>, or nowhere."""

    text: str
    found: Literal["looks", "heading", "title", "nowhere"]


class Format(NamedTuple):
    """How text looks, and where it stands."""

    size: float = PLAIN
    bold: bool = False
    centred: bool = False
    heading: int = 0  # 1 to 6 inside h1 … h6
    apart: bool = False  # in a list, form or menu
    link: bool = False


class Line(NamedTuple):
    """A text between block elements; its format is that of most of its characters."""

    text: str
    format: Format
    links: float  # share of link text


def extract_title(html: str | bytes, *, host: str = "", shared: Collection[str] = ()) -> ExtractedTitle:
    """The title of a page; `shared` are texts that name no page, because many pages of the host have them.

    >>> extract_title("<title>Untitled 1</title><p>Dept. of Fruit<center><font size=6>Growing Pippins</font></center>"
    ...     "<p>Plant them in autumn, deep and with much patience.")
    ExtractedTitle(text='Growing Pippins', found='looks')
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    node = tree.css_first("title")
    title = _clean(node.text()) if node is not None else ""
    if is_bogus(title, host=host, shared=shared):
        title = ""
    main = tree.css_first("main") or tree.body
    lines = read_lines(main) if main is not None else []
    text = _by_looks([line for line in lines if line.text not in shared], title)
    if text:
        return ExtractedTitle(text, "looks")
    headings = [line for line in lines if line.format.heading and line.text not in shared]
    if headings:
        return ExtractedTitle(min(headings, key=lambda line: line.format.heading > 1).text, "heading")
    return ExtractedTitle(title, "title") if title else ExtractedTitle("", "nowhere")


def is_bogus(title: str, *, host: str = "", shared: Collection[str] = ()) -> bool:
    """Whether a <title> says nothing about its page."""
    plain = title.strip().lower()
    named = plain in (host.lower(), f"www.{host.lower()}")
    return not plain or named or plain.startswith("untitled") or title in shared


def shared_titles(
    titles: Iterable[tuple[str, str]], *, share: float = 0.05, least: int = 10
) -> dict[str, frozenset[str]]:
    """Per host the texts on more than `share` of its pages, for hosts of at least `least` pages, from (host, text).

    >>> shared_titles([("a.gov", "Fruit Agency")] * 2 + [("a.gov", f"Page {i}") for i in range(20)])
    {'a.gov': frozenset({'Fruit Agency'})}
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for host, title in titles:
        counts[host][_clean(title)] += 1
    return {
        host: frozenset(title for title, times in times_of.items() if times > max(1.0, share * times_of.total()))
        for host, times_of in counts.items()
        if times_of.total() >= least
    }


def _clean(text: str) -> str:
    return " ".join(text.split())


def read_lines(body: Any) -> list[Line]:
    """The lines of a page in order."""
    formats = [Format()]
    numbers = {formats[0]: 0}

    def look_of(tag: str, written: str, outer: int) -> int:
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(written)} if written else {}
        look = _format(attributes, tag, formats[outer])
        if look not in numbers:
            numbers[look] = len(formats)
            formats.append(look)
        return numbers[look]

    lines = []
    for texts, looks in markup_lines(body.html, _BLOCKS, _UNSEEN, 'style=" align=" size="', look_of):
        text = _clean(texts[0] if len(texts) == 1 else "".join(texts))
        if text:
            lines.append(_line(text, texts, looks, formats))
    return lines


def _line(text: str, texts: list[str], looks: list[int], formats: list[Format]) -> Line:
    """A line of several texts, in the format of most of its characters."""
    if len(looks) == 1:
        look = formats[looks[0]]
        return Line(text, look._replace(link=False), 1.0) if look.link else Line(text, look, 0.0)
    weights: dict[int, int] = {}
    for piece, number in zip(texts, looks, strict=True):
        weights[number] = weights.get(number, 0) + len(piece.strip())
    links = sum(weight for number, weight in weights.items() if formats[number].link) / max(1, sum(weights.values()))
    look = formats[max(weights, key=weights.__getitem__)]
    return Line(text, look._replace(link=False) if look.link else look, links)


def _format(attributes: Mapping[str, str], tag: str, outer: Format) -> Format:
    """How text inside an element looks."""
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
        outer.apart or tag in _APART,
        outer.link or tag == "a",
    )


def _font_size(said: str, outer: float) -> float:
    """<font size=…>: 1 to 7, or +n and −n from plain text."""
    match = re.fullmatch(r"\s*([+-]?)(\d)\s*", said)
    if match is None:
        return outer
    number = float(match[2])
    return max(1.0, min(7.0, PLAIN + number if match[1] == "+" else PLAIN - number if match[1] == "-" else number))


def _css_size(style: str, outer: float) -> float:
    """An inline font-size on HTML's scale."""
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


def _by_looks(lines: list[Line], title: str) -> str:
    """The best line with those that continue it, and a second one nearly as good; empty if none is good enough."""
    first = min(MOST_LINES, max(LEAST_LINES, math.ceil(SHARE_OF_LINES * len(lines))))
    larger = _standard([line.format.size for line in lines])
    scores = {
        i: 2.0 * larger[i] + _score(lines, i, title) for i in range(min(first, len(lines))) if _may_be_title(lines[i])
    }
    if not scores:
        return ""
    best = max(scores, key=lambda i: (scores[i], -i))
    if scores[best] < LEAST_SCORE:
        return ""
    chosen = _continued(lines, best)
    text = " ".join(lines[i].text for i in chosen)
    rest = [i for i in scores if i not in chosen and i > best and scores[i] >= SECOND * scores[best]]
    if rest:
        second = max(rest, key=lambda i: (scores[i], -i))
        if lines[second].text not in text:
            text += " " + lines[second].text
    return text


def _may_be_title(line: Line) -> bool:
    least = 1 if line.format.heading in (1, 2) else LEAST_WORDS
    if not least <= len(_WORD.findall(line.text)) <= MOST_WORDS:
        return False
    return line.links < 0.5 and not line.format.apart and not _NEVER.search(line.text)


def _standard(sizes: list[float]) -> list[float]:
    """z: distances from the mean in standard deviations; 0 where all are alike."""
    mean = sum(sizes) / max(1, len(sizes))
    spread = math.sqrt(sum((size - mean) ** 2 for size in sizes) / max(1, len(sizes)))
    return [(size - mean) / spread if spread > 0 else 0.0 for size in sizes]


def _score(lines: list[Line], position: int, title: str) -> float:
    """The score without what the size of all lines adds."""
    line = lines[position]
    look = line.format
    sizes = (other.format.size for other in lines[position + 1 : position + 1 + MOST_JOINED])
    after = next((size for size in sizes if size != look.size), look.size)  # a title may go on in the same size
    return (
        1.0 * look.bold
        + {1: 1.5, 2: 1.0}.get(look.heading, 0.0)
        + 0.5 * look.centred
        - 1.5 * position / MOST_LINES
        + 0.5 * _jaccard(line.text, title)
        + 0.3 * (after < look.size)
    )


def _jaccard(a: str, b: str) -> float:
    ours, theirs = set(_WORD.findall(a.lower())), set(_WORD.findall(b.lower()))
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


def _continued(lines: list[Line], best: int) -> list[int]:
    """The line and those after it in the same format, where that differs from plain text."""
    chosen, look = [best], lines[best].format
    words = len(_WORD.findall(lines[best].text))
    striking = look.bold or look.size > PLAIN
    while striking and len(chosen) < MOST_JOINED and chosen[-1] + 1 < len(lines):
        following = lines[chosen[-1] + 1]
        words += len(_WORD.findall(following.text))
        if following.format != look or following.links >= 0.5 or words > MOST_WORDS:
            break
        chosen.append(chosen[-1] + 1)
    return chosen
