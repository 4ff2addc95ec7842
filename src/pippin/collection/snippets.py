"""Which of a document's own words show best why it was found? A title, an address, and a stretch of its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pippin.collection.analysis import Analysis
from pippin.collection.collection import ANCHOR

if TYPE_CHECKING:
    from pippin.collection.index import Index

TITLES = ("title", "extracted_title")
NOT_TEXT = (*TITLES, "url", ANCHOR)
CHARACTERS = 160
BEFORE = 4  # words in front of the first word that was looked for
MOST_WORDS = 20_000  # of a text that are looked through
MOST_PLACES = 2_000
LONGEST = 60
_PIECES = re.compile(r"\S+")


@dataclass(frozen=True)
class Shown:
    """What is shown of a document; empty where it has none."""

    title: str
    url: str
    snippet: str


def show(index: Index, number: int, words: Sequence[str], *, stream: str) -> Shown:
    """What shows best why a document was found; analysed words where the index keeps no texts."""
    url = index.urls.at(number)
    texts = index.texts(number)
    if texts is None:
        _, tokens = index.tokens(stream, [number])
        return Shown(
            "",
            url,
            snippet(" ".join(index.vocabulary.take(tokens[:MOST_WORDS].astype(np.int64))), words, _AS_THEY_ARE)[0],
        )
    title = next((" ".join(texts[name].split()) for name in TITLES if texts.get(name, "").strip()), "")
    return Shown(cut(title, CHARACTERS), url, _best(index, texts, words, stream))


def _best(index: Index, texts: Mapping[str, str], words: Sequence[str], stream: str) -> str:
    """The best stretch of the streams that were searched and are not shown in other ways, or else of any text."""
    members = index.manifest["streams"][index.stream(stream)]["union"] or [stream]
    for names in (members, texts):
        found = [
            snippet(texts[name], words, index.analysis) for name in names if name not in NOT_TEXT and name in texts
        ]
        found = [(text, hits) for text, hits in found if text]
        if found:
            return max(found, key=lambda one: one[1])[0]
    return ""


_AS_THEY_ARE = Analysis(stop="none", stem="none")


def snippet(text: str, words: Sequence[str], analysis: Analysis) -> tuple[str, tuple[int, int]]:
    """The stretch of a text with most of the analysed words, and how many different ones and how many in all it has.

    >>> snippet("Red apples. " * 20 + "A pear hangs with the apples there.", ["appl", "pear"], Analysis())[1]
    (2, 14)
    """
    wanted = set(words)
    pieces: list[str] = []
    for match in _PIECES.finditer(text):
        pieces.append(match.group())
        if len(pieces) == MOST_WORDS:
            break
    known = {piece: wanted.intersection(analysis.analyse(piece)) for piece in set(pieces)}
    places = [i for i, piece in enumerate(pieces) if known[piece]][:MOST_PLACES]
    stretches = [_stretch(pieces, max(0, place - BEFORE)) for place in places] or [_stretch(pieces, 0)]
    hits = [[word for piece in pieces[first:last] for word in known[piece]] for first, last in stretches]
    scores = [(len(set(found)), len(found)) for found in hits]
    best = max(range(len(scores)), key=scores.__getitem__)
    first, last = stretches[best]
    said = " ".join(cut(piece, LONGEST) for piece in pieces[first:last])
    return ("… " if first else "") + said + (" …" if last < len(pieces) else ""), scores[best]


def _stretch(pieces: Sequence[str], first: int) -> tuple[int, int]:
    """From a piece on, as many as have room."""
    last, room = first, CHARACTERS
    while last < len(pieces) and (last == first or room >= len(pieces[last])):
        room -= min(len(pieces[last]), LONGEST) + 1
        last += 1
    return first, last


def cut(text: str, most: int) -> str:
    """A text, or its beginning if it is too long.

    >>> cut("a long title", 6), cut("short", 6)
    ('a lon…', 'short')
    """
    return text if len(text) <= most else text[: most - 1] + "…"
