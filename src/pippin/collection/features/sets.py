"""The published feature sets, in their published order, so that column 21 is what everybody calls feature 21.

`SETS["gov"].texts` are the features of the set's own streams; `parse_features("ohsumed@title+body+whole")` puts a set
on the streams of another collection, in the set's order.
"""

from __future__ import annotations

from pippin.collection.features.base import SETS, FeatureSet
from pippin.data.published_orders import ABSTRACTS, EXTRACTED, GOV_TEXT, ORDERS, WEB, by_stream

_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR 3.0)"
_PROXIMITY = ("min_distance", "mean_distance", "smallest_window", "ordered_bigrams", "unordered_bigrams")


def _put(
    name: str, meaning: str, source: str, streams: tuple[str, ...], texts: tuple[str, ...], left_out: str = ""
) -> None:
    SETS.register(name, FeatureSet(name, meaning, source, streams, texts, left_out))


_put(
    "ohsumed", "the 45 features of abstracts: title, abstract, and both together", f"{_LETOR3}, Table 3", ABSTRACTS,
    ORDERS["ohsumed"],
)  # fmt: skip
_put(
    "gov", "the 64 features of web pages: text, links, urls, extracted title", f"{_LETOR3}, Table 2",
    (*WEB, "extracted_title"), ORDERS["gov"],
)  # fmt: skip
_put(
    "gov_text", "those of the 64 that need no links and no urls", f"{_LETOR3}, Table 2, 1–40 and 61–64",
    (*WEB, "extracted_title"), (*GOV_TEXT, *EXTRACTED), left_out="41–60: links and urls",
)  # fmt: skip
_put(
    "letor4", "the 46 features of MQ2007 and MQ2008, in the order that their values show", "LETOR 4.0; order inferred",
    WEB, ORDERS["letor4"],
)  # fmt: skip
_put(
    "mslr", "the 131 of MSLR's 136 features that a collection can give", "MSLR-WEB10K and MSLR-WEB30K, 1–131", WEB,
    ORDERS["mslr"],
    left_out="132–136: two quality classifiers and three counts of a click log; SiteRank (131) is hostrank",
)  # fmt: skip
_put(
    "proximity", "how close together the query's words stand, in the whole document",
    "Tao, Zhai 2007; Metzler, Croft 2005", ("whole",), by_stream(_PROXIMITY, ("whole",)),
)  # fmt: skip
_put(
    "query", "what kind of query it is, which tells queries apart and not documents",
    "He, Ounis 2004; Zhao, Scholer, Tsegay 2008", ("whole",),
    by_stream(("query_words", "idf_max", "idf_mean", "idf_deviation", "similarity_max"), ("whole",)),
)  # fmt: skip
_put(
    "dense", "what query and document mean, as vectors of a model (--dense FOLDER), and that fused with BM25",
    "Reimers, Gurevych 2019; Cormack, Clarke, Büttcher 2009", (),
    ("dense_cosine", "dense_dot", "dense_passage", "dense_fused"),
)  # fmt: skip
_put(
    "positions", "where the query's words begin, and BM25 of how close together they stand, in the whole document",
    "Büttcher, Clarke, Lushman 2006", ("whole",), by_stream(("first_position", "bm25_proximity"), ("whole",)),
)  # fmt: skip
