"""Feature expressions: parsing, errors and extraction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.collections.features.strategies import draw_candidates

from pippin.collections.features import FEATURES, SETS, BoundFeature, extract, parse_features
from pippin.collections.features.base import feature
from pippin.collections.index.statistics import Candidates, FieldStatistics, Floats
from pippin.errors import ConventionError, PippinError, PluginError, UnknownName


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("bm25(b=0.4,k1=0.9)@title", "bm25(k1=0.9,b=0.4)@title"),
        ("bm25(k1=2.5)@title", "bm25@title"),
        (" lmir_jm( lambda = 0.5 )@whole ", "lmir_jm(lambda=0.5)@whole"),
        ("idf(form=plain)@title", "idf(form=plain)@title"),
        ("unordered_bigrams(window=4)@body", "unordered_bigrams(window=4)@body"),
        ("bm25(k1=0.30000000000000004)@title", "bm25(k1=0.30000000000000004)@title"),
    ],
)
def test_a_text_is_an_identity(text: str, canonical: str) -> None:
    (bound,) = parse_features([text])
    assert bound.text == canonical
    assert parse_features(canonical) == (bound,)


def test_several_features_stand_between_commas_or_blanks() -> None:
    result = parse_features("bm25(k1=0.9, b=0.4)@title, tf@body\nlength@body")
    assert [str(bound) for bound in result] == ["bm25(k1=0.9,b=0.4)@title", "tf@body", "length@body"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no features are given"),
        ("bm26@title", "no feature is called 'bm26'; did you mean bm25"),
        ("gof@title", "no feature is called 'gof'; did you mean gov"),
        ("tf", "tf needs a field, as in tf@title"),
        ("tf@title, tf@title", "the feature tf@title is given twice"),
        ("tf@", "invalid feature"),
        ("bm25(k9=1)@title", "no parameter of bm25 is called 'k9'; did you mean"),
        ("bm25(0.9)@title", "parameters are written name=value"),
        ("bm25(b=0.1,b=0.2)@title", "b is given twice"),
        ("bm25(b=2)@title", r"b must be a number in \[0, 1\], got '2'"),
        ("bm25(k1=inf)@title", r"k1 must be a number in \[0, inf\), got 'inf'"),
        ("bm25(k1=nan)@title", r"k1 must be a number in"),
        ("lmir_jm(lambda=0)@title", r"lambda must be a number in \(0, 1\], got '0'"),
        ("unordered_bigrams(window=2.5)@title", "window must be a whole number in"),
        ("idf(form=odd)@title", "form must be probabilistic or plain, got 'odd'"),
        ("ohsumed(k1=1)", "a feature set has no parameters"),
        ("ohsumed@title", r"needs 3 fields, as in @title\+abstract\+whole"),
    ],
)
def test_a_mistake_is_reported(text: str, sentence: str) -> None:
    with pytest.raises(PippinError, match=sentence):
        parse_features(text)


def test_a_set_goes_on_other_streams() -> None:
    moved = [bound.field for bound in parse_features("ohsumed@name+text+whole")]
    assert moved == ["name"] * 15 + ["text"] * 15 + ["whole"] * 15


def test_a_missing_stream_is_reported_with_those_there() -> None:
    candidates = draw_candidates(3, ("a",), ("title",))
    with pytest.raises(ConventionError, match=r"tf@body needs the field 'body', .* its fields: title"):
        extract(candidates, "tf@body")
    with pytest.raises(ConventionError, match="does not have"):
        parse_features("tf@body")[0].values(candidates)


def test_extraction_is_a_table_of_the_features_in_their_order() -> None:
    candidates = draw_candidates(7, ("a", "b"))
    table = extract(candidates, "tf@title, length@whole")
    assert table.shape == (7, 2)
    assert table.flags.c_contiguous
    assert (table[:, 0] == candidates.fields["title"].tf.sum(axis=0)).all()
    assert (table[:, 1] == candidates.fields["whole"].length).all()


def test_the_sets_have_their_published_sizes_and_orders() -> None:
    sizes = {name: len(SETS[name]) for name in SETS}
    assert sizes == {"ohsumed": 45, "gov": 64, "gov_text": 44, "letor4": 46, "mslr": 131, "proximity": 5, "query": 5,
                     "positions": 2, "dense": 4}  # fmt: skip
    gov = SETS["gov"].texts
    assert (gov[0], gov[20]) == ("tf@body", "bm25@body")
    assert (gov[40], gov[50], gov[59], gov[60]) == ("sitemap_term", "pagerank", "children", "bm25@extracted_title")
    assert SETS["ohsumed"].texts[25] == "bm25(k1=1.2,b=0.75,k3=7)@abstract"
    mslr = SETS["mslr"].texts
    assert (mslr[40], mslr[95], mslr[105], mslr[120]) == (
        "tf_variance@body", "boolean@body", "bm25(unmatched=value)@body", "lmir_jm(unmatched=value)@body",
    )  # fmt: skip
    assert (mslr[125], mslr[129], mslr[130]) == ("slashes", "pagerank", "hostrank")


@pytest.mark.parametrize("name", list(FEATURES))
def test_every_feature_says_what_it_is(name: str) -> None:
    items = FEATURES[name]
    assert items.formula
    assert items.source
    assert items.compute.__doc__


def test_a_feature_gives_a_value_per_candidate() -> None:
    candidates = draw_candidates(3, ("a",))
    few = replace(FEATURES["tf"], compute=lambda candidates, field: np.zeros(1))
    with pytest.raises(PluginError, match=rf"must return one value per candidate, {len(candidates)}, got \(1,\)"):
        extract(candidates, [BoundFeature(few, "title")])


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):

        @feature("tf", kind="Q-D", formula="", source="")
        def again(candidates: Candidates, field: FieldStatistics) -> Floats:
            return np.zeros(len(candidates))


def test_an_unknown_set_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        SETS["gov3"]
