"""LETOR 4.0: the query sets of the Million Query tracks of TREC 2007 and 2008 on Gov2, supervised ranking."""

from __future__ import annotations

from pippin.data.sources.source import Count, Source, register, rotate

register(
    Source(
        "mq2007",
        "LETOR 4.0 MQ2007",
        features=46,
        labels=(0, 1, 2),
        origin="queries counted in the files, parts of ceil(n/5) queries",
        counts=rotate([Count(339), Count(339), Count(339), Count(339), Count(336)]),
        total=Count(1692),
    )
)
register(
    Source(
        "mq2008",
        "LETOR 4.0 MQ2008",
        features=46,
        labels=(0, 1, 2),
        origin="counted in the files",
        counts=rotate([Count(157, 2933), Count(157, 3635), Count(157, 3062), Count(157, 2707), Count(156, 2874)]),
        total=Count(784, 15_211),
    )
)
