"""Microsoft's MSLR-WEB10K and MSLR-WEB30K."""

from __future__ import annotations

from pippin.data.sources.source import Count, Source, register, rotate

_WEB30K = rotate([Count(6307), Count(6306), Count(6306), Count(6306), Count(6306)])
_WEB30K["Fold1", "train"] = Count(18_919, 2_270_296)

register(
    Source(
        "mslr-web10k",
        "MSLR-WEB10K",
        features=136,
        labels=(0, 1, 2, 3, 4),
        origin="Microsoft Learning to Rank Datasets; queries of each fold as TensorFlow Datasets counts them",
        counts=rotate([Count(2000)] * 5),
        total=Count(10_000),
        aliases=("web10k", "msn10k"),
    )
)
register(
    Source(
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
