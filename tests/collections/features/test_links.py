"""Link features 41–60: the worked example, and propagation on five pages by hand."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.collections.six_pages import PlainIndex, micro_candidates

from pippin.collections.collection import Collection, Document, Link
from pippin.collections.features import extract
from pippin.collections.features.links import cache_of
from pippin.collections.index.statistics import Candidates
from pippin.collections.links.link_index import LinkIndex
from pippin.errors import ConventionError

WORKED = {
    "sitemap_term": (0.352347, 1.322520, 0.822901, 0, 0, 0),
    "sitemap_score": (0.129958, 1.299576, 0.787884, 0, 0, 0),
    "score_in": (0, 1.293691, 0.938167, 0, 0, 0),
    "score_out": (0.173136, 1.293691, 0.938167, 0, 0, 0),
    "score_uniform": (0.108094, 1.230727, 0.928722, 0.016214, 0.002432, 0),
    "feature_in": (0, 1.313806, 0.993511, 0, 0, 0),
    "feature_out": (0.398073, 1.313806, 0.993511, 0, 0, 0),
    "feature_uniform": (0.260321, 1.299531, 0.988550, 0.051174, 0.006684, 0),
    "authority": (0.335070, 0.542155, 0.655496, 0, 0.405119, 0),
    "hub": (0.805799, 0.498011, 0.272571, 0.168458, 0, 0),
    "pagerank": (24808.848648, 28794.240335, 22179.347285, 11363.147231, 9941.795143, 2912.621359),
    "hostrank": (465.116279, 465.116279, 465.116279, 465.116279, 465.116279, 69.767442),
    "topical_pagerank": (16652.945030, 22792.334850, 17490.245512, 3653.246992, 5572.771338, 1456.310680),
    "inlinks": (2, 2, 2, 1, 1, 0),
    "outlinks": (3, 2, 1, 1, 1, 0),
    "slashes": (1, 2, 2, 1, 2, 1),
    "url_length": (6, 11, 21, 16, 20, 12),
    "children": (1, 1, 0, 1, 0, 0),
}


@pytest.fixture(scope="module")
def candidates() -> Candidates:
    return micro_candidates()


def test_the_index_of_the_worked_example_counts_as_it_should(candidates: Candidates) -> None:
    counts = candidates.fields["whole"]
    assert counts.length.tolist() == [11, 13, 11, 9, 11, 5]
    assert counts.tf.tolist() == [[0, 6, 2, 0, 0, 0], [4, 1, 0, 0, 3, 0]]


@pytest.mark.parametrize("name", WORKED)
def test_the_worked_example_to_six_digits(candidates: Candidates, name: str) -> None:
    values = extract(candidates, name)[:, 0]
    assert np.abs(values - WORKED[name]).max() <= 5.1e-7


# Five pages of ten words each, so that BM25 = idf·c·3.5/(c + 2.5); apple stands in pages 1 (twice) and 2 (once).
# Links 0 → 1, 0 → 2, 1 → 2, 3 → 0; page 4 is alone. Sitemap: 1 and 2 below 0, 3 below 1, 4 on another host.
COUNTS = (0, 2, 1, 0, 0)
URLS = ("a.gov/", "a.gov/x/", "a.gov/y", "a.gov/x/z", "b.gov/")
LINKS = (("d2", "d3"), ("d3",), (), ("d1",), ())
IDF = np.log((5 - 2 + 0.5) / (2 + 0.5))


def saturate(count: float) -> float:
    return float(IDF * count * 3.5 / (count + 2.5))


S1, S2 = saturate(2), saturate(1)
A, B = 0.85, 0.15
# Weighted: all of 0's links lead to words, 1's too, 3's to none.
OUT_2 = A * S2
OUT_1 = A * S1 + B * OUT_2
OUT_0 = B * (S1 * OUT_1 + S2 * OUT_2) / (S1 + S2)
UNIFORM_0 = B * (OUT_1 + OUT_2) / 2
F2 = A * 1
F1 = A * 2 + B * F2
F0 = B * (S1 * F1 + S2 * F2) / (S1 + S2)
U0 = B * (F1 + F2) / 2
BY_HAND = {
    "sitemap_score": (0.1 * (0.9 * S1 + 0.9 * S2) / 2, 0.9 * S1, 0.9 * S2, 0, 0),
    "sitemap_term": (saturate(0.1 * (0.9 * 2 + 0.9 * 1) / 2), saturate(0.9 * 2), saturate(0.9 * 1), 0, 0),
    "score_in": (0, A * S1, A * S2 + B * (A * S1), 0, 0),
    "score_out": (OUT_0, OUT_1, OUT_2, 0, 0),
    "score_uniform": (UNIFORM_0, OUT_1, OUT_2, B * UNIFORM_0, 0),
    "feature_in": (0, saturate(A * 2), saturate(A * 1 + B * A * 2), 0, 0),
    "feature_out": (saturate(F0), saturate(F1), saturate(F2), 0, 0),
    "feature_uniform": (saturate(U0), saturate(F1), saturate(F2), saturate(B * U0), 0),
}


def five_pages() -> Collection:
    pages = [
        Document(f"d{i + 1}", {"body": " ".join(["apple"] * c + ["pear"] * (10 - c))}, url, tuple(map(Link, links)))
        for i, (c, url, links) in enumerate(zip(COUNTS, URLS, LINKS, strict=True))
    ]
    return Collection("five", ("body",), lambda: iter(pages))


def five_candidates(words: str = "apple") -> Candidates:
    return PlainIndex(five_pages(), ("body",)).candidates(words, range(5), LinkIndex.of(five_pages()))


@pytest.mark.parametrize("name", BY_HAND)
def test_propagation_on_five_pages_by_hand(name: str) -> None:
    assert extract(five_candidates(), name)[:, 0] == pytest.approx(BY_HAND[name], abs=1e-8)


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("swapped", ["alpha=1", "alpha=0,alpha_is_self=0"])
def test_all_weight_on_itself_gives_back_bm25(candidates: Candidates, name: str, swapped: str) -> None:
    values = extract(candidates, f"{name}({swapped}) bm25(unmatched=value)@whole")
    assert values[:, 0] == pytest.approx(values[:, 1], abs=1e-15)


def test_levels_of_the_sitemap() -> None:
    values = extract(five_candidates(), "sitemap_score(levels=1) sitemap_score")
    assert values[0].tolist() == pytest.approx([0.1 * (S1 + S2) / 2, BY_HAND["sitemap_score"][0]])


def test_repeated_query_words_count_once_in_bm25() -> None:
    once, twice = five_candidates("apple"), five_candidates("apple apple")
    for name in ("score_out", "feature_out", "sitemap_term"):
        assert np.array_equal(extract(once, name), extract(twice, name))


def test_other_parameters_are_other_scores(candidates: Candidates) -> None:
    assert not np.array_equal(extract(candidates, "score_out(k1=0.9)"), extract(candidates, "score_out"))
    assert not np.array_equal(extract(candidates, "score_out(alpha=0.5)"), extract(candidates, "score_out"))


def test_fewer_candidates_have_the_values_of_their_pages() -> None:
    # d2 and its neighbours d1, d3: the whole of what reaches d2 in one step, and d5 is too far away to matter much
    few = extract(micro_candidates([1]), "pagerank inlinks children sitemap_score sitemap_term")
    all_ = extract(micro_candidates(), "pagerank inlinks children sitemap_score sitemap_term")
    assert few[0] == pytest.approx(all_[1])


def test_queries_without_a_known_word_have_zeros() -> None:
    values = extract(five_candidates("plum"), " ".join(BY_HAND))
    assert not values.any()


def test_a_candidate_list_may_be_empty() -> None:
    none = PlainIndex(five_pages(), ("body",)).candidates("apple", [], LinkIndex.of(five_pages()))
    assert extract(none, " ".join(BY_HAND) + " authority topical_hub inlinks").shape == (0, 11)


def test_shared_values_are_computed_once_per_candidates() -> None:
    candidates = five_candidates()
    assert cache_of(candidates) is cache_of(candidates)
    assert cache_of(candidates).around is cache_of(candidates).around
    gone = weakref.ref(cache_of(candidates))
    del candidates
    gc.collect()
    assert gone() is None


def test_features_without_a_web_or_an_index_say_so() -> None:
    bare = PlainIndex(five_pages(), ("body",)).candidates("apple", range(5), None)
    with pytest.raises(ConventionError, match="need the links and urls of the collection"):
        extract(bare, "pagerank")
    full = five_candidates()
    with pytest.raises(ConventionError, match="need an index"):
        extract(replace(full, index=None), "score_in")
    with pytest.raises(ConventionError, match="the field 'body', which the collection does not have"):
        extract(full, "score_in(field=body)")


def test_saved_webs_give_the_same_features(tmp_path: Path) -> None:
    web = LinkIndex.of(five_pages())
    web.save(tmp_path / "web")
    names = " ".join(WORKED) + " topical_authority topical_hub"
    index = PlainIndex(five_pages(), ("body",))
    values = [extract(index.candidates("apple", range(5), w), names) for w in (web, LinkIndex.open(tmp_path / "web"))]
    assert np.array_equal(values[0], values[1])
