"""Texts become words in the same way in Python, natively, and by the letter of the rules."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pippin.collection.analysis import VERSION, Analysis, stemmers
from pippin.collection.collection import Collection, Document
from pippin.collection.index import build_index
from pippin.errors import DataError, UnknownName

PLAIN = Analysis(stop="none", stem="none")
INVISIBLE = {"\u00ad", "\u200c", "\u200d", "\u2060", *map(chr, range(0xFE00, 0xFE10))}
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            ["what's", "don’t", "İstanbul", "e\u0301te\u0301", "हिन्दी", "ΟΔΟΣ", "a''b", "'x'", "½ ²", "\u212b"]
        ),
        st.text("aZ0é'’ -_\u0301\u00ad", max_size=10),
    ),
    max_size=12,
).map(" ".join)


def letter_by_letter(text: str, words: str) -> list[str]:
    """The words of a text, by the rules as they are written, one character after the other."""
    if words == "ascii":
        kept = [c if c.isascii() and c.isalnum() else " " for c in text.lower()]
        return "".join(kept).split()
    text = "".join(c for c in unicodedata.normalize("NFC", text).lower() if c not in INVISIBLE)
    text = "".join("'" if c in "’ʼ＇" else c for c in text)

    def is_letter(c: str) -> bool:
        return c != "'" and unicodedata.category(c) in (
            "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No",
        )  # fmt: skip

    found = [""]
    for i, c in enumerate(text):
        if is_letter(c):
            found[-1] += c
        elif not (c == "'" and 0 < i < len(text) - 1 and is_letter(text[i - 1]) and is_letter(text[i + 1])):
            found.append("")
    return [word for word in found if word]


@settings(max_examples=300)
@given(TEXTS, st.sampled_from(["unicode", "ascii"]))
def test_python_follows_the_letter_of_the_rules(text: str, words: str) -> None:
    assert Analysis(words, "none", "none").analyse(text) == letter_by_letter(text, words)


@settings(max_examples=25)
@given(
    st.lists(TEXTS, min_size=1, max_size=8), st.sampled_from(["unicode", "ascii"]), st.sampled_from(["none", "porter"])
)
def test_the_index_finds_the_words_that_python_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], words: str, stem: str
) -> None:
    analysis = Analysis(words, "english", stem)
    pages = [Document(str(i), {"text": text}) for i, text in enumerate(texts)]
    folder = tmp_path_factory.mktemp("index") / "it"
    index = build_index(Collection("it", ("text",), lambda: iter(pages)), folder, analysis=analysis)
    for i, text in enumerate(texts):
        _, tokens = index.tokens("text", [i])
        assert [index.vocabulary.at(term) for term in tokens.tolist()] == analysis.analyse(text)


def test_half_a_character_pair_is_no_letter() -> None:
    assert PLAIN.analyse("a\ud800b é") == ["a", "b", "é"]


def test_hyphens_split_and_underscores_too() -> None:
    assert PLAIN.analyse("state-of-the-art snake_case 3.14") == [
        "state",
        "of",
        "the",
        "art",
        "snake",
        "case",
        "3",
        "14",
    ]


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert PLAIN.analyse("caf\u00e9") == PLAIN.analyse("CAFE\u0301") == ["café"]


def test_porter_is_the_one_of_1980_and_english_the_later_one() -> None:
    assert Analysis(stem="porter").analyse("generously dying skies") == ["gener", "dy", "ski"]
    assert Analysis(stem="english").analyse("generously dying skies") == ["generous", "die", "sky"]


def test_stop_words_go_before_stems_are_made() -> None:
    assert Analysis().analyse("the doings of others") == ["do"]
    assert Analysis(stop=("Doings",)).analyse("the doings") == ["the"]


def test_short_words_and_long_texts() -> None:
    assert Analysis(stop="none", stem="none", shortest=2, limit=2).analyse("a bb c dd ee") == ["bb", "dd"]


def test_a_record_gives_the_analysis_back() -> None:
    for analysis in (Analysis(), Analysis("ascii", ("x", "y"), "german", 2, 10)):
        assert Analysis.of(analysis.record()) == analysis
    assert Analysis().digest == Analysis().digest != Analysis(stem="english").digest


@pytest.mark.parametrize("change", [{"stop_digest": "0"}, {"version": VERSION + 1}, {"new": 1}])
def test_a_record_of_other_rules_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="other rules or another stop list"):
        Analysis.of({**Analysis().record(), **change})


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(DataError, match="no record of an analysis"):
        Analysis.of({"words": "unicode"})


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UnknownName, match="did you mean porter"):
        Analysis(stem="poter")
    with pytest.raises(UnknownName, match="did you mean english"):
        Analysis(stop="englisch")
    with pytest.raises(UnknownName, match="did you mean unicode"):
        Analysis(words="unicod")
    with pytest.raises(DataError, match="at least one"):
        Analysis(limit=0)
    assert {"none", "porter", "english", "german"} <= set(stemmers())


def test_the_words_of_letor_are_porter_stems() -> None:
    assert Analysis().analyse("adverse effects of progesterone therapy") == [
        "advers",
        "effect",
        "progesteron",
        "therapi",
    ]
