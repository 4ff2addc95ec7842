"""Yahoo! Learning to Rank Challenge (Webscope C14), both sets."""

from __future__ import annotations

from pippin.data.sources.source import Count, Source, register

COUNTS = {
    "set1": {"train": Count(19_944, 473_134), "vali": Count(2_994, 71_083), "test": Count(6_983, 165_660)},
    "set2": {"train": Count(1_266, 34_815), "vali": Count(1_266, 34_881), "test": Count(3_798, 103_174)},
}

for _set, _counts in COUNTS.items():
    register(
        Source(
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
