"""Istella LETOR and Istella-S LETOR."""

from __future__ import annotations

from pippin.data.sources.source import Count, Source, register

register(
    Source(
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
    Source(
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
