"""Published data sets: their files, widths, labels and counts, and the order of their features.

Counts come from the publications and from the files; a count that is not certain is None and is not checked. To add a
data set, call `register` here or in a plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pippin.registry import Registry

FIVE_FOLDS = ("Fold1", "Fold2", "Fold3", "Fold4", "Fold5")
# The names LETOR 4.0 and MSLR use, then those of LETOR 3.0's Feature-null and Feature-min.
LETOR_FILES = {
    "train": ("train.txt", "trainingset.txt"),
    "vali": ("vali.txt", "validationset.txt"),
    "test": ("test.txt", "testset.txt"),
}


class Count(NamedTuple):
    """Numbers of queries and documents; None if unknown."""

    queries: int | None = None
    documents: int | None = None

    def __add__(self, other: object) -> Count:
        if not isinstance(other, Count):
            return NotImplemented
        pairs = zip(self, other, strict=True)
        return Count(*(None if a is None or b is None else a + b for a, b in pairs))


UNKNOWN = Count()


@dataclass(frozen=True)
class PublishedDataset:
    """Files and counts of a published data set.

    Parameters
    ----------
    name : str
        Name in commands.
    title : str
        Name in tables and errors.
    features : int, optional
        Number of features.
    labels : tuple of int
        All labels.
    origin : str
        Source of the counts.
    folds : tuple of str
        Folder of each fold; ``("",)`` if there is one.
    parts : mapping
        Part → possible file names.
    counts : mapping
        (fold, part) → count.
    total : Count
        Sum over the parts of one fold.
    aliases : tuple of str
        Other names of its folder.
    """

    name: str
    title: str
    features: int | None
    labels: tuple[int, ...]
    origin: str
    folds: tuple[str, ...] = FIVE_FOLDS
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: LETOR_FILES)
    counts: Mapping[tuple[str, str], Count] = field(default_factory=dict)
    total: Count = UNKNOWN
    aliases: tuple[str, ...] = ()

    def count(self, fold: str, part: str) -> Count:
        """Return the declared counts of a part."""
        return self.counts.get((fold, part), UNKNOWN)


PUBLISHED_DATASETS: Registry[PublishedDataset] = Registry("data set", "pippin.datasets", PublishedDataset)


def register(source: PublishedDataset) -> PublishedDataset:
    """Register a data set.

    Parameters
    ----------
    source : PublishedDataset
        Its declaration.

    Returns
    -------
    PublishedDataset
        The same.
    """
    return PUBLISHED_DATASETS.register(source.name, source)


def rotate_counts(fifths: Sequence[Count]) -> dict[tuple[str, str], Count]:
    """Return the counts of all folds from those of S1 … S5: fold k trains on three of them, starting at Sk.

    Source: LETOR 3.0, Table 4.

    >>> rotate_counts([Count(1), Count(2), Count(3), Count(4), Count(5)])["Fold4", "train"].queries  # S4 + S5 + S1
    10
    """
    counts = {}
    for k, fold in enumerate(FIVE_FOLDS):
        rotated = [*fifths[k:], *fifths[:k]]
        counts[fold, "train"] = rotated[0] + rotated[1] + rotated[2]
        counts[fold, "vali"], counts[fold, "test"] = rotated[3], rotated[4]
    return counts


register(
    PublishedDataset(
        "istella",
        "Istella LETOR",
        features=220,
        labels=(0, 1, 2, 3, 4),
        origin="queries and features: README of the data set; documents, and queries of each part: TensorFlow Datasets",
        folds=("",),
        parts={"train": ("train.txt",), "test": ("test.txt",)},
        counts={("", "train"): Count(23_219), ("", "test"): Count(9_799)},
        total=Count(33_018, 10_454_629),
        aliases=("istella-letor",),
    )
)
register(
    PublishedDataset(
        "istella-s",
        "Istella-S LETOR",
        features=220,
        labels=(0, 1, 2, 3, 4),
        origin="README of the data set",
        folds=("",),
        parts={"train": ("train.txt",), "vali": ("vali.txt",), "test": ("test.txt",)},
        total=Count(33_018, 3_408_630),
        aliases=("istella-s-letor",),
    )
)


register(
    PublishedDataset(
        "ohsumed",
        "LETOR 3.0 OHSUMED",
        features=45,
        labels=(0, 1, 2),
        origin="Qin, Liu, Xu and Li 2010, LETOR; counted in the files",
        counts=rotate_counts([Count(21, 2570), Count(21, 3076), Count(21, 3573), Count(21, 3538), Count(22, 3383)]),
        total=Count(106, 16_140),
    )
)

TASKS = {"td": "topic distillation", "hp": "homepage finding", "np": "named page finding"}
QUERIES = {"td2003": 50, "td2004": 75, "hp2003": 150, "hp2004": 75, "np2003": 150, "np2004": 75}

for _name, _queries in QUERIES.items():
    _task, _year = _name[:2], _name[2:]
    register(
        PublishedDataset(
            _name,
            f"LETOR 3.0 {_name.upper()} ({TASKS[_task]}, TREC {_year})",
            features=64,
            labels=(0, 1),
            origin="Qin, Liu, Xu and Li 2010, LETOR, Tables 1 and 2",
            total=Count(_queries),
            aliases=(f"{_year}_{_task}_dataset",),
        )
    )


register(
    PublishedDataset(
        "mq2007",
        "LETOR 4.0 MQ2007",
        features=46,
        labels=(0, 1, 2),
        origin="queries counted in the files, parts of ceil(n/5) queries",
        counts=rotate_counts([Count(339), Count(339), Count(339), Count(339), Count(336)]),
        total=Count(1692),
    )
)
register(
    PublishedDataset(
        "mq2008",
        "LETOR 4.0 MQ2008",
        features=46,
        labels=(0, 1, 2),
        origin="counted in the files",
        counts=rotate_counts(
            [Count(157, 2933), Count(157, 3635), Count(157, 3062), Count(157, 2707), Count(156, 2874)]
        ),
        total=Count(784, 15_211),
    )
)


_WEB30K = rotate_counts([Count(6307), Count(6306), Count(6306), Count(6306), Count(6306)])
_WEB30K["Fold1", "train"] = Count(18_919, 2_270_296)

register(
    PublishedDataset(
        "mslr-web10k",
        "MSLR-WEB10K",
        features=136,
        labels=(0, 1, 2, 3, 4),
        origin="Microsoft Learning to Rank Datasets; queries of each fold as TensorFlow Datasets counts them",
        counts=rotate_counts([Count(2000)] * 5),
        total=Count(10_000),
        aliases=("web10k", "msn10k"),
    )
)
register(
    PublishedDataset(
        "mslr-web30k",
        "MSLR-WEB30K",
        features=136,
        labels=(0, 1, 2, 3, 4),
        origin="Microsoft Learning to Rank Datasets; queries of each fold as TensorFlow Datasets counts them, "
        "documents of the first training set as LightGBM's experiments do",
        counts=_WEB30K,
        total=Count(31_531),
        aliases=("web30k", "msn30k"),
    )
)


COUNTS = {
    "set1": {"train": Count(19_944, 473_134), "vali": Count(2_994, 71_083), "test": Count(6_983, 165_660)},
    "set2": {"train": Count(1_266, 34_815), "vali": Count(1_266, 34_881), "test": Count(3_798, 103_174)},
}

for _set, _counts in COUNTS.items():
    register(
        PublishedDataset(
            f"yahoo-{_set}",
            f"Yahoo! Learning to Rank Challenge, {_set[:3]} {_set[3]}",
            features=700,
            labels=(0, 1, 2, 3, 4),
            origin="table of both sets on the LETOR site's page about the challenge",
            folds=("",),
            parts={
                "train": (f"{_set}.train.txt",),
                "vali": (f"{_set}.valid.txt",),
                "test": (f"{_set}.test.txt",),
            },
            counts={("", part): count for part, count in _counts.items()},
            total=_counts["train"] + _counts["vali"] + _counts["test"],
        )
    )


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
    """Return feature names, all streams of one feature after another."""
    return tuple(f"{name}@{stream}" for name in names for stream in streams)


def by_field(names: Iterable[str], streams: tuple[str, ...]) -> tuple[str, ...]:
    """Return feature names, all features of one stream after another."""
    return tuple(f"{name}@{stream}" for stream in streams for name in names)


_COUNTS = by_feature(("tf", "idf", "tf_idf", "length"), WEB)
GOV_TEXT = (*_COUNTS, *by_feature(MODELS, WEB))
EXTRACTED = by_field(MODELS, ("extracted_title",))
ORDERS: dict[str, tuple[str, ...]] = {
    "ohsumed": by_field(_OHSUMED, ABSTRACTS),
    "gov": (*GOV_TEXT, *_LINKS, *EXTRACTED),
    "letor4": (*_COUNTS, *by_field(MODELS, WEB), "slashes", "url_length", "children", "pagerank", "inlinks",
               "outlinks"),
    "mslr": (*by_feature(_MSLR, WEB), *_MSLR_WEB),
}  # fmt: skip
