"""Text analysis: tokens, stop words and stems, the same for documents and queries.

An `Analyzer` works in four steps: split the text into words, remove short words and stop words, replace words by their
stems, and truncate the text to the limit. The index does the first step natively and the others once per distinct word;
`Analyzer.analyse` does the same in Python, for queries.
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

from pippin.errors import DataError, UnknownName
from pippin.registry import Registry

# Apostrophes are removed before the lookup, so that contractions are one word here; contractions that are other words
# without it (id, ill, wed) are not in the list.
_ENGLISH = """
a an the
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves one ones
this that these those here there who whom whose which what when where why how
am is are was were be been being do does did done doing have has had having
can could may might must shall should will would ought cannot
and or but nor so yet if then else than because while although though unless until since as whether
of to in on at by for from with without within into onto upon about above below over under between among
through during before after against toward towards off out up down again further per via
not no yes all any both each either neither every few more most much many other others another some such only
own same too very just also even ever never always often however therefore thus hence
now once still already perhaps rather quite almost etc ie eg
im ive youre youve youd youll hes shes theyre theyve theyd theyll weve
isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt mustnt shouldnt wont wouldnt
thats theres whats whos heres lets
"""

STOP_WORDS: Registry[frozenset[str]] = Registry("stop list")
STOP_WORDS.register("none", frozenset())
STOP_WORDS.register("english", frozenset(_ENGLISH.split()))


WORDS = ("unicode", "ascii")
NO_STEMS = "none"
VERSION = 1  # of the rules below; part of the digest
_APOSTROPHES = "\u2019\u02bc\uff07"
# Soft hyphens, joiners and variation selectors are not part of a word.
_INVISIBLE = {0x00AD, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10)}
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_JOINED = re.compile("(?<=[0-9a-z\x80-\U0010ffff])'(?=[0-9a-z\x80-\U0010ffff])")
_RUNS = re.compile("[0-9a-z\x80-\U0010ffff]+")


class _Characters(dict[int, str]):
    """The replacement of each character beyond ASCII: itself for letters, marks and digits, else a blank."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _APOSTROPHES:
            replacement = "'"
        elif code in _INVISIBLE:
            replacement = ""
        else:
            category = unicodedata.category(character)
            replacement = character if category[0] in "LN" or category in ("Mn", "Mc") else " "
        self[code] = replacement
        return replacement


_CHARACTERS = _Characters()


@lru_cache(maxsize=16)
def _stemmer(name: str) -> Callable[[list[str]], list[str]]:
    import Stemmer

    # Without a cache of stems, because every word is stemmed once.
    return Stemmer.Stemmer(name, 0).stemWords  # type: ignore[no-any-return]


def stemmers() -> tuple[str, ...]:
    """Return the names of stemmers: "porter" is Porter's of 1980, "english" his later one, others are languages."""
    import Stemmer

    return (NO_STEMS, *Stemmer.algorithms())


@dataclass(frozen=True)
class Analyzer:
    """The rules that turn texts into words.

    Parameters
    ----------
    words : {"unicode", "ascii"}
        Words are runs of letters, marks and digits of all scripts (NFC, lower case, apostrophes inside words removed),
        or runs of [a-z0-9].
    stop : str or tuple of str, default "english"
        The name of a stop list ("english", "none") or the stop words.
    stem : str, default "porter"
        "porter", "english", another Snowball language, or "none".
    shortest : int, default 1
        Minimum number of characters of a word.
    limit : int, default 100000
        Maximum number of words of one field of a document.

    Raises
    ------
    UnknownName
        If the value of `words`, `stop` or `stem` does not exist.

    Examples
    --------
    >>> Analyzer().analyse("What's in the Café's kitchen-garden? Apples, pears.")
    ['café', 'kitchen', 'garden', 'appl', 'pear']
    >>> Analyzer(words="ascii", stop="none", stem="none").analyse("It's 2 o'clock")
    ['it', 's', '2', 'o', 'clock']
    """

    words: str = "unicode"
    stop: str | tuple[str, ...] = "english"
    stem: str = "porter"
    shortest: int = 1
    limit: int = 100_000

    def __post_init__(self) -> None:
        if self.words not in WORDS:
            raise UnknownName("tokenizer", self.words, WORDS)
        if isinstance(self.stop, str):
            STOP_WORDS[self.stop]
        else:
            object.__setattr__(self, "stop", tuple(sorted({word.lower() for word in self.stop})))
        if self.stem != NO_STEMS and self.stem not in stemmers():
            raise UnknownName("stemmer", self.stem, stemmers())
        if self.shortest < 1 or not 1 <= self.limit < 1 << 31:
            raise DataError(
                f"shortest must be at least 1 and limit from 1 to 2^31 - 1, got {self.shortest} and {self.limit}"
            )

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The stop words."""
        return STOP_WORDS[self.stop] if isinstance(self.stop, str) else frozenset(self.stop)

    @property
    def joins_apostrophes(self) -> bool:
        """Whether apostrophes inside words are removed."""
        return self.words == "unicode"

    def prepare(self, text: str) -> str:
        """Return a text whose non-ASCII characters are all parts of words, so that words can be found by bytes."""
        if text.isascii():
            return text
        if self.words == "ascii":
            return _FOREIGN.sub(" ", text.lower())
        composed = unicodedata.normalize("NFC", text).lower()
        return _FOREIGN.sub(lambda match: match[0].translate(_CHARACTERS), composed)

    def terms(self, words: list[str]) -> list[str]:
        """Return the term of each word; empty for short words and stop words."""
        stop_words = self.stop_words
        stems = words if self.stem == NO_STEMS else _stemmer(self.stem)(words)
        return [
            "" if len(word) < self.shortest or word in stop_words else stem
            for word, stem in zip(words, stems, strict=True)
        ]

    def analyse(self, text: str) -> list[str]:
        """Return the terms of a text, in order."""
        return [term for term in self.terms(self._words(text)) if term][: self.limit]

    def analyse_many(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the terms of each of several texts; each distinct word is stemmed once.

        >>> Analyzer().analyse_many(["red apples", "an apple"])
        [['red', 'appl'], ['appl']]
        """
        words = [self._words(text) for text in texts]
        distinct = list({word for of_text in words for word in of_text})
        term_of = dict(zip(distinct, self.terms(distinct), strict=True))
        return [[term for word in of_text if (term := term_of[word])][: self.limit] for of_text in words]

    def _words(self, text: str) -> list[str]:
        text = self.prepare(text).lower()
        if self.joins_apostrophes and "'" in text:
            text = _JOINED.sub("", text)
        return _RUNS.findall(text)

    def record(self) -> dict[str, Any]:
        """Return all parameters, and the digest of the stop words, which may change with a release."""
        stop = self.stop if isinstance(self.stop, str) else list(self.stop)
        return {
            "version": VERSION, "words": self.words, "stop": stop, "stop_digest": _digest(sorted(self.stop_words)),
            "stem": self.stem, "shortest": self.shortest, "limit": self.limit,
        }  # fmt: skip

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Analyzer:
        """Return the analyzer of a record; raise `DataError` if this release analyses differently."""
        try:
            stop = record["stop"] if isinstance(record["stop"], str) else tuple(map(str, record["stop"]))
            analysis = cls(record["words"], stop, record["stem"], int(record["shortest"]), int(record["limit"]))
        except (KeyError, TypeError, ValueError):
            raise DataError("the record of the analyzer is damaged") from None
        if analysis.record() != dict(record):
            raise DataError("the texts were analysed with other rules or stop words than those of this release")
        return analysis

    @property
    def digest(self) -> str:
        """SHA-256 of the record."""
        return _digest(self.record())


def _digest(value: Mapping[str, Any] | Sequence[str]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
