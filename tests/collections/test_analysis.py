"""Text analysis: the native and the Python tokenizer agree with the rules."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import build_index
from pippin.collections.text.analysis import VERSION, Analyzer, stemmers
from pippin.errors import DataError, UnknownName

PLAIN = Analyzer(stop="none", stem="none")
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
    """Tokenize a text character by character, by the documented rules."""
    if words == "ascii":
        items = [c if c.isascii() and c.isalnum() else " " for c in text.lower()]
        return "".join(items).split()
    text = "".join(c for c in unicodedata.normalize("NFC", text).lower() if c not in INVISIBLE)
    text = "".join("'" if c in "’ʼ＇" else c for c in text)

    def is_letter(c: str) -> bool:
        return c != "'" and unicodedata.category(c) in (
            "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No",
        )  # fmt: skip

    results = [""]
    for i, c in enumerate(text):
        if is_letter(c):
            results[-1] += c
        elif not (c == "'" and 0 < i < len(text) - 1 and is_letter(text[i - 1]) and is_letter(text[i + 1])):
            results.append("")
    return [word for word in results if word]


@settings(max_examples=300)
@given(TEXTS, st.sampled_from(["unicode", "ascii"]))
def test_python_follows_the_letter_of_the_rules(text: str, words: str) -> None:
    assert Analyzer(words, "none", "none").analyse(text) == letter_by_letter(text, words)


@settings(max_examples=25)
@given(
    st.lists(TEXTS, min_size=1, max_size=8), st.sampled_from(["unicode", "ascii"]), st.sampled_from(["none", "porter"])
)
def test_the_index_finds_the_words_that_python_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], words: str, stem: str
) -> None:
    analysis = Analyzer(words, "english", stem)
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
    assert Analyzer(stem="porter").analyse("generously dying skies") == ["gener", "dy", "ski"]
    assert Analyzer(stem="english").analyse("generously dying skies") == ["generous", "die", "sky"]


def test_stop_words_go_before_stems_are_made() -> None:
    assert Analyzer().analyse("the doings of others") == ["do"]
    assert Analyzer(stop=("Doings",)).analyse("the doings") == ["the"]


def test_short_words_and_long_texts() -> None:
    assert Analyzer(stop="none", stem="none", shortest=2, limit=2).analyse("a bb c dd ee") == ["bb", "dd"]


def test_a_record_gives_the_analysis_back() -> None:
    for analysis in (Analyzer(), Analyzer("ascii", ("x", "y"), "german", 2, 10)):
        assert Analyzer.of(analysis.record()) == analysis
    assert Analyzer().digest == Analyzer().digest != Analyzer(stem="english").digest


@pytest.mark.parametrize("change", [{"stop_digest": "0"}, {"version": VERSION + 1}, {"new": 1}])
def test_a_record_of_other_rules_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="with other rules or stop words"):
        Analyzer.of({**Analyzer().record(), **change})


def test_invalid_records_are_refused() -> None:
    with pytest.raises(DataError, match="the record of the analyzer is damaged"):
        Analyzer.of({"words": "unicode"})


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UnknownName, match="did you mean porter"):
        Analyzer(stem="poter")
    with pytest.raises(UnknownName, match="did you mean english"):
        Analyzer(stop="englisch")
    with pytest.raises(UnknownName, match="did you mean unicode"):
        Analyzer(words="unicod")
    with pytest.raises(DataError, match="limit from 1"):
        Analyzer(limit=0)
    assert {"none", "porter", "english", "german"} <= set(stemmers())


def test_the_words_of_letor_are_porter_stems() -> None:
    assert Analyzer().analyse("adverse effects of progesterone therapy") == [
        "advers",
        "effect",
        "progesteron",
        "therapi",
    ]
