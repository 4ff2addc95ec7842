"""Which words does a text consist of? One record says it for documents and queries alike, and is stored with them.

A text goes through four steps: words are found, short ones and stop words are left out, stems take the place of words,
and what exceeds the limit is cut off. The index does the first step natively and the others once per distinct word; the
`analyse` of this module is the same in plain Python, for queries and for looking.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pippin.collection.stopwords import STOP_WORDS
from pippin.errors import DataError, UnknownName

WORDS = ("unicode", "ascii")
NO_STEMS = "none"
VERSION = 1  # of the rules below: another number, another digest
_APOSTROPHES = "\u2019\u02bc\uff07"
# Soft hyphens, joiners and variation selectors shape a word but are no part of it.
_INVISIBLE = {0x00AD, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10)}
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_JOINED = re.compile("(?<=[0-9a-z\x80-\U0010ffff])'(?=[0-9a-z\x80-\U0010ffff])")
_RUNS = re.compile("[0-9a-z\x80-\U0010ffff]+")


class _Characters(dict[int, str]):
    """What takes the place of a character beyond ASCII: itself if it is a letter, a mark or a digit, else a blank."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _APOSTROPHES:
            kept = "'"
        elif code in _INVISIBLE:
            kept = ""
        else:
            category = unicodedata.category(character)
            kept = character if category[0] in "LN" or category in ("Mn", "Mc") else " "
        self[code] = kept
        return kept


_CHARACTERS = _Characters()


@lru_cache(maxsize=16)
def _stemmer(name: str) -> Callable[[list[str]], list[str]]:
    import Stemmer

    # Words come once each, so that a memory of stems would never be asked.
    return Stemmer.Stemmer(name, 0).stemWords  # type: ignore[no-any-return]


def stemmers() -> tuple[str, ...]:
    """The names of stemmers: "porter" is Porter's of 1980, "english" his later one, others are languages."""
    import Stemmer

    return (NO_STEMS, *Stemmer.algorithms())


@dataclass(frozen=True)
class Analysis:
    """How texts become words.

    words: "unicode" runs of letters, marks and digits of all scripts (composed by NFC, lower case, apostrophes inside
    words joined), or "ascii" runs of [a-z0-9]. stop: the name of a stop list ("english", "none") or the words
    themselves. stem: "porter", "english", another Snowball language, or "none". shortest: words with fewer characters
    are left out. limit: words kept of one stream of a document.

    >>> Analysis().analyse("What's in the Café's kitchen-garden? Apples, pears.")
    ['café', 'kitchen', 'garden', 'appl', 'pear']
    >>> Analysis(words="ascii", stop="none", stem="none").analyse("It's 2 o'clock")
    ['it', 's', '2', 'o', 'clock']
    """

    words: str = "unicode"
    stop: str | tuple[str, ...] = "english"
    stem: str = "porter"
    shortest: int = 1
    limit: int = 100_000

    def __post_init__(self) -> None:
        if self.words not in WORDS:
            raise UnknownName("way to find words", self.words, WORDS)
        if isinstance(self.stop, str):
            STOP_WORDS[self.stop]
        else:
            object.__setattr__(self, "stop", tuple(sorted({word.lower() for word in self.stop})))
        if self.stem != NO_STEMS and self.stem not in stemmers():
            raise UnknownName("stemmer", self.stem, stemmers())
        if self.shortest < 1 or not 1 <= self.limit < 1 << 31:
            raise DataError("words have at least one letter, and a limit keeps at least one word and fewer than 2^31")

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The words left out."""
        return STOP_WORDS[self.stop] if isinstance(self.stop, str) else frozenset(self.stop)

    @property
    def joined(self) -> bool:
        """Whether an apostrophe inside a word is passed over."""
        return self.words == "unicode"

    def prepare(self, text: str) -> str:
        """A text in which what is not ASCII is a letter, so that its words can be found byte by byte."""
        if text.isascii():
            return text
        if self.words == "ascii":
            return _FOREIGN.sub(" ", text.lower())
        composed = unicodedata.normalize("NFC", text).lower()
        return _FOREIGN.sub(lambda match: match[0].translate(_CHARACTERS), composed)

    def terms(self, words: list[str]) -> list[str]:
        """What each word becomes; empty if it is left out."""
        stopped = self.stop_words
        stems = words if self.stem == NO_STEMS else _stemmer(self.stem)(words)
        return [
            "" if len(word) < self.shortest or word in stopped else stem
            for word, stem in zip(words, stems, strict=True)
        ]

    def analyse(self, text: str) -> list[str]:
        """The words of a text, in order."""
        return [term for term in self.terms(self._words(text)) if term][: self.limit]

    def analyse_many(self, texts: Iterable[str]) -> list[list[str]]:
        """`analyse` for each of several texts; each distinct word is stemmed once.

        >>> Analysis().analyse_many(["red apples", "an apple"])
        [['red', 'appl'], ['appl']]
        """
        words = [self._words(text) for text in texts]
        distinct = list({word for some in words for word in some})
        term_of = dict(zip(distinct, self.terms(distinct), strict=True))
        return [[term for word in some if (term := term_of[word])][: self.limit] for some in words]

    def _words(self, text: str) -> list[str]:
        text = self.prepare(text).lower()
        if self.joined and "'" in text:
            text = _JOINED.sub("", text)
        return _RUNS.findall(text)

    def record(self) -> dict[str, Any]:
        """What is stored: every choice, and the digest of the stop words, whose list may change with a release."""
        stop = self.stop if isinstance(self.stop, str) else list(self.stop)
        return {
            "version": VERSION, "words": self.words, "stop": stop, "stop_digest": _digest(sorted(self.stop_words)),
            "stem": self.stem, "shortest": self.shortest, "limit": self.limit,
        }  # fmt: skip

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Analysis:
        """The analysis that a record describes, if this release still does the same."""
        try:
            stop = record["stop"] if isinstance(record["stop"], str) else tuple(map(str, record["stop"]))
            analysis = cls(record["words"], stop, record["stem"], int(record["shortest"]), int(record["limit"]))
        except (KeyError, TypeError, ValueError):
            raise DataError("this is no record of an analysis") from None
        if analysis.record() != dict(record):
            raise DataError("the texts were analysed by other rules or another stop list than this release has")
        return analysis

    @property
    def digest(self) -> str:
        """SHA-256 of the record."""
        return _digest(self.record())


def _digest(value: Mapping[str, Any] | Sequence[str]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
