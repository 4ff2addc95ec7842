"""The published feature sets in their published order, so that column 21 is feature 21.

`SETS["gov"].texts` are the features on the fields of the published collection;
`parse_features("ohsumed@title+body+whole")` replaces these by the fields of another collection.
"""

from __future__ import annotations

from pippin.collections.features.base import SETS, FeatureSet
from pippin.data.published import ABSTRACTS, EXTRACTED, GOV_TEXT, ORDERS, WEB, by_field

_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR 3.0)"
_PROXIMITY = ("min_distance", "mean_distance", "smallest_window", "ordered_bigrams", "unordered_bigrams")


def _register(
    name: str, meaning: str, source: str, fields: tuple[str, ...], texts: tuple[str, ...], left_out: str = ""
) -> None:
    SETS.register(name, FeatureSet(name, meaning, source, fields, texts, left_out))


_register(
    "ohsumed", "the 45 features of abstracts: title, abstract, and both together", f"{_LETOR3}, Table 3", ABSTRACTS,
    ORDERS["ohsumed"],
)  # fmt: skip
_register(
    "gov", "the 64 features of web pages: text, links, urls, extracted title", f"{_LETOR3}, Table 2",
    (*WEB, "extracted_title"), ORDERS["gov"],
)  # fmt: skip
_register(
    "gov_text", "the features of gov that need no links and no urls", f"{_LETOR3}, Table 2, 1–40 and 61–64",
    (*WEB, "extracted_title"), (*GOV_TEXT, *EXTRACTED), left_out="41–60: links and urls",
)  # fmt: skip
_register(
    "letor4", "the 46 features of MQ2007 and MQ2008, in the order that their values show", "LETOR 4.0; order inferred",
    WEB, ORDERS["letor4"],
)  # fmt: skip
_register(
    "mslr", "the 131 of MSLR's 136 features that a collection can give", "MSLR-WEB10K and MSLR-WEB30K, 1–131", WEB,
    ORDERS["mslr"],
    left_out="132–136: two quality classifiers and three counts of a click log; SiteRank (131) is hostrank",
)  # fmt: skip
_register(
    "proximity", "distances between the query's words in the whole document",
    "Tao, Zhai 2007; Metzler, Croft 2005", ("whole",), by_field(_PROXIMITY, ("whole",)),
)  # fmt: skip
_register(
    "query", "length and rarity of the query; the same for all its documents",
    "He, Ounis 2004; Zhao, Scholer, Tsegay 2008", ("whole",),
    by_field(("query_words", "idf_max", "idf_mean", "idf_deviation", "similarity_max"), ("whole",)),
)  # fmt: skip
_register(
    "dense", "similarity of query and document as vectors of a model (--dense FOLDER), and fused with BM25",
    "Reimers, Gurevych 2019; Cormack, Clarke, Büttcher 2009", (),
    ("dense_cosine", "dense_dot", "dense_passage", "dense_fused"),
)  # fmt: skip
_register(
    "positions", "first position of the query's words, and BM25 of their proximity, in the whole document",
    "Büttcher, Clarke, Lushman 2006", ("whole",), by_field(("first_position", "bm25_proximity"), ("whole",)),
)  # fmt: skip
