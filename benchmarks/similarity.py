"""Compare the speed of feature similarity for GAS with SciPy's Kendall τ.

    python benchmarks/similarity.py DATA [features]

DATA is a file with features. SciPy does some of the pairs of features only, as all take too long; its time is told for
all of them. What both compute differs: τ_b there, the share of pairs in the same order here.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations, islice, pairwise

import numpy as np
from scipy.stats import kendalltau

import pippin
from pippin.rankers.steps.selectors import _similarity

PAIRS, TURNS = 12, 3


def main(path: str, most: str = "200") -> None:
    """Time both, in turns, and print the ratio of the medians."""
    data = pippin.read(path)
    table = np.ascontiguousarray(data.features, np.float64)[:, : int(most)]
    width = table.shape[1]
    own, theirs = [], []
    for _ in range(TURNS):
        start = time.process_time()
        _similarity(table, data.offsets)
        own.append(time.process_time() - start)
        start = time.process_time()
        for f, g in islice(combinations(range(width), 2), PAIRS):
            for a, b in pairwise(data.offsets.tolist()):
                kendalltau(table[a:b, f], table[a:b, g])
        theirs.append((time.process_time() - start) * (width * (width - 1) / 2) / PAIRS)
    ratio = float(np.median(theirs) / np.median(own))
    print(f"{data.queries} queries, {len(data)} documents, {width} features: {np.median(own):.2f} s of the processor; "
          f"SciPy {np.median(theirs):.1f} s, {ratio:.0f} times as long")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
