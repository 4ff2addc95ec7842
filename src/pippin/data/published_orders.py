"""Which feature has which number? The features of the published data sets, in the order of their columns.

Files of LETOR and MSLR number their features; what stands under a number is told in their papers and pages, and for
LETOR 4.0 by the values themselves. Names are those of `pippin features`, so that column 21 of “Gov” is `bm25@body`, and
two data sets with other numbers can be matched feature by feature.
"""

from __future__ import annotations

from collections.abc import Iterable

WEB = ("body", "anchor", "title", "url", "whole")
ABSTRACTS = ("title", "abstract", "whole")
MODELS = ("bm25", "lmir_abs", "lmir_dir", "lmir_jm")  # the defaults are Gov's parameters
_LINKS = (
    "sitemap_term", "sitemap_score", "score_in", "score_out", "score_uniform", "feature_in", "feature_out",
    "feature_uniform", "authority", "hub", "pagerank", "hostrank", "topical_pagerank", "topical_authority",
    "topical_hub", "inlinks", "outlinks", "slashes", "url_length", "children",
)  # fmt: skip
_OHSUMED = (
    "tf", "log_tf", "tf_share", "log_tf_share", "idf(form=plain)", "log_idf", "icf", "log_tf_idf", "tf_idf(form=plain)",
    "log_tf_icf", "bm25(k1=1.2,b=0.75,k3=7)", "log_bm25(k1=1.2,b=0.75,k3=7)", "lmir_dir(mu=50)", "lmir_jm(lambda=0.5)",
    "lmir_abs(delta=0.5)",
)  # fmt: skip
_STATISTICS = ("", "_min", "_max", "_mean", "_variance")
_MSLR = (
    "covered", "covered_ratio", "length", "idf",
    *(quantity + statistic for quantity in ("tf", "tf_share", "tf_idf") for statistic in _STATISTICS),
    "boolean", "vector_space", *(f"{model}(unmatched=value)" for model in MODELS),
)  # fmt: skip
_MSLR_WEB = ("slashes", "url_length", "inlinks", "outlinks", "pagerank", "hostrank")


def by_feature(names: Iterable[str], streams: tuple[str, ...]) -> tuple[str, ...]:
    """One feature on every stream, then the next."""
    return tuple(f"{name}@{stream}" for name in names for stream in streams)


def by_stream(names: Iterable[str], streams: tuple[str, ...]) -> tuple[str, ...]:
    """Every feature of one stream, then the next stream."""
    return tuple(f"{name}@{stream}" for stream in streams for name in names)


_COUNTS = by_feature(("tf", "idf", "tf_idf", "length"), WEB)
GOV_TEXT = (*_COUNTS, *by_feature(MODELS, WEB))
EXTRACTED = by_stream(MODELS, ("extracted_title",))
ORDERS: dict[str, tuple[str, ...]] = {
    "ohsumed": by_stream(_OHSUMED, ABSTRACTS),
    "gov": (*GOV_TEXT, *_LINKS, *EXTRACTED),
    "letor4": (*_COUNTS, *by_stream(MODELS, WEB), "slashes", "url_length", "children", "pagerank", "inlinks",
               "outlinks"),
    "mslr": (*by_feature(_MSLR, WEB), *_MSLR_WEB),
}  # fmt: skip
