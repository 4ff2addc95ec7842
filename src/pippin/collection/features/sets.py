"""The published feature sets, in their published order, so that column 21 is what everybody calls feature 21.

`SETS["gov"].texts` are the features of the set's own streams; `parse_features("ohsumed@title+body+whole")` puts a set
on the streams of another collection, in the set's order.
"""

from __future__ import annotations

from collections.abc import Iterable

from pippin.collection.features.base import SETS, FeatureSet

_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR 3.0)"
_WEB = ("body", "anchor", "title", "url", "whole")
_ABSTRACTS = ("title", "abstract", "whole")

_LINKS = (
    "sitemap_term", "sitemap_score", "score_in", "score_out", "score_uniform", "feature_in", "feature_out",
    "feature_uniform", "authority", "hub", "pagerank", "hostrank", "topical_pagerank", "topical_authority",
    "topical_hub", "inlinks", "outlinks", "slashes", "url_length", "children",
)  # fmt: skip
_MODELS = ("bm25", "lmir_abs", "lmir_dir", "lmir_jm")  # the defaults are Gov's parameters


def _by_feature(names: Iterable[str], streams: tuple[str, ...]) -> tuple[str, ...]:
    """One feature on every stream, then the next."""
    return tuple(f"{name}@{stream}" for name in names for stream in streams)


def _by_stream(names: Iterable[str], streams: tuple[str, ...]) -> tuple[str, ...]:
    """Every feature of one stream, then the next stream."""
    return tuple(f"{name}@{stream}" for stream in streams for name in names)


_COUNTS = _by_feature(("tf", "idf", "tf_idf", "length"), _WEB)
_GOV_TEXT = (*_COUNTS, *_by_feature(_MODELS, _WEB))
_EXTRACTED = _by_stream(_MODELS, ("extracted_title",))
_OHSUMED = (
    "tf", "log_tf", "tf_share", "log_tf_share", "idf(form=plain)", "log_idf", "icf", "log_tf_idf", "tf_idf(form=plain)",
    "log_tf_icf", "bm25(k1=1.2,b=0.75,k3=7)", "log_bm25(k1=1.2,b=0.75,k3=7)", "lmir_dir(mu=50)", "lmir_jm(lambda=0.5)",
    "lmir_abs(delta=0.5)",
)  # fmt: skip
_STATISTICS = ("", "_min", "_max", "_mean", "_variance")
_MSLR = (
    "covered", "covered_ratio", "length", "idf",
    *(quantity + statistic for quantity in ("tf", "tf_share", "tf_idf") for statistic in _STATISTICS),
    "boolean", "vector_space", *(f"{model}(unmatched=value)" for model in _MODELS),
)  # fmt: skip
_MSLR_WEB = ("slashes", "url_length", "inlinks", "outlinks", "pagerank", "hostrank")
_PROXIMITY = ("min_distance", "mean_distance", "smallest_window", "ordered_bigrams", "unordered_bigrams")


def _put(
    name: str, meaning: str, source: str, streams: tuple[str, ...], texts: tuple[str, ...], left_out: str = ""
) -> None:
    SETS.register(name, FeatureSet(name, meaning, source, streams, texts, left_out))


_put(
    "ohsumed", "the 45 features of abstracts: title, abstract, and both together", f"{_LETOR3}, Table 3", _ABSTRACTS,
    _by_stream(_OHSUMED, _ABSTRACTS),
)  # fmt: skip
_put(
    "gov", "the 64 features of web pages: text, links, urls, extracted title", f"{_LETOR3}, Table 2",
    (*_WEB, "extracted_title"), (*_GOV_TEXT, *_LINKS, *_EXTRACTED),
)  # fmt: skip
_put(
    "gov_text", "those of the 64 that need no links and no urls", f"{_LETOR3}, Table 2, 1–40 and 61–64",
    (*_WEB, "extracted_title"), (*_GOV_TEXT, *_EXTRACTED), left_out="41–60: links and urls",
)  # fmt: skip
_put(
    "letor4", "the 46 features of MQ2007 and MQ2008, in the order that their values show", "LETOR 4.0; order inferred",
    _WEB,
    (*_COUNTS, *_by_stream(_MODELS, _WEB), "slashes", "url_length", "children", "pagerank", "inlinks", "outlinks"),
)  # fmt: skip
_put(
    "mslr", "the 131 of MSLR's 136 features that a collection can give", "MSLR-WEB10K and MSLR-WEB30K, 1–131", _WEB,
    (*_by_feature(_MSLR, _WEB), *_MSLR_WEB),
    left_out="132–136: two quality classifiers and three counts of a click log; SiteRank (131) is hostrank",
)  # fmt: skip
_put(
    "proximity", "how close together the query's words stand, in the whole document",
    "Tao, Zhai 2007; Metzler, Croft 2005", ("whole",), _by_stream(_PROXIMITY, ("whole",)),
)  # fmt: skip
_put(
    "query", "what kind of query it is, which tells queries apart and not documents",
    "He, Ounis 2004; Zhao, Scholer, Tsegay 2008", ("whole",),
    _by_stream(("query_words", "idf_max", "idf_mean", "idf_deviation", "similarity_max"), ("whole",)),
)  # fmt: skip
_put(
    "positions", "where the query's words begin, and BM25 of how close together they stand, in the whole document",
    "Büttcher, Clarke, Lushman 2006", ("whole",), _by_stream(("first_position", "bm25_proximity"), ("whole",)),
)  # fmt: skip
