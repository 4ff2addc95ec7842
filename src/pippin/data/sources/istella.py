"""Istella LETOR and Istella-S LETOR."""

from __future__ import annotations

from pippin.data.sources.source import Count, Source, register

register(
    Source(
        "istella",
        "Istella LETOR",
        features=220,
        labels=(0, 1, 2, 3, 4),
        origin="Dato et al. 2016, Fast Ranking with Additive Ensembles of Oblivious and Non-Oblivious Regression "
        "Trees, and its README; queries of each part as TensorFlow Datasets counts them",
        folds=("",),
        parts={"train": ("train.txt",), "test": ("test.txt",)},
        counts={("", "train"): Count(23_219), ("", "test"): Count(9_799)},
        total=Count(33_018, 10_454_629),
        aliases=("istella-letor", "full"),
    )
)
register(
    Source(
        "istella-s",
        "Istella-S LETOR",
        features=220,
        labels=(0, 1, 2, 3, 4),
        origin="Lucchese et al. 2016, Post-Learning Optimization of Tree Ensembles for Efficient Ranking, "
        "and its README",
        folds=("",),
        parts={"train": ("train.txt",), "vali": ("vali.txt",), "test": ("test.txt",)},
        total=Count(33_018, 3_408_630),
        aliases=("istella-s-letor", "sample"),
    )
)
