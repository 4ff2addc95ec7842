"""Measure the speed of feature extraction in query-document pairs per second, on one thread and on all.

python benchmarks/features.py [queries] [--documents 1000]

The counts are random, 3 to 5 words a query, as an index would hand them over; reading the index is not measured here.
Beside the rates stands the processor's time for a pair, which is the same with one thread and with several where no
thread waits for another, and which others on the machine disturb less. The last column is how many cores were at work
in the run of several threads: fewer than its threads where one waits for another, or where others are busy on the
machine, which the load before and after tells.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.collections.features.strategies import draw_candidates

from pippin.collections.features import FEATURES, SETS, BoundFeature, extract_many, parse_features
from pippin.collections.index.statistics import Candidates
from pippin.kernels import threads

REPEATS = 5
WORDS = ("apple", "pear", "quince", "medlar", "plum")


def sets() -> dict[str, tuple[BoundFeature, ...]]:
    """The sets whose features need no links."""
    results = {}
    for chosen in SETS.values():
        names = [text.partition("@")[0].partition("(")[0] for text in chosen.texts]
        if all(name in FEATURES and FEATURES[name].needs_field for name in names):
            results[chosen.name] = parse_features(chosen.name)
    return results


def rate(queries: list[Candidates], features: tuple[BoundFeature, ...], workers: int) -> tuple[float, float, float]:
    """Pairs a second by the clock, nanoseconds of the processor for a pair, cores at work: the best of a few runs."""
    best = processor = float("inf")
    cores = 0.0
    for _ in range(REPEATS):
        start, used = time.perf_counter(), time.process_time()
        extract_many(queries, features, workers)
        clock, spent = time.perf_counter() - start, time.process_time() - used
        best, processor, cores = min(best, clock), min(processor, spent), max(cores, spent / clock)
    pairs = sum(map(len, queries))
    return pairs / best, 1e9 * processor / pairs, cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="?", type=int, default=60)
    parser.add_argument("--documents", type=int, default=1000)
    options = parser.parse_args()
    print(f"| set ({options.documents} documents a query) | features | pairs/s, 1 thread | ns of the processor | "
          f"pairs/s, {threads()} threads | ns of the processor | cores at work |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|")
    before = os.getloadavg()[0]
    for name, features in sets().items():
        fields = sorted({bound.field for bound in features if bound.field})
        queries = [
            draw_candidates(options.documents, WORDS[: 3 + seed % 3], fields, seed=seed)
            for seed in range(options.queries)
        ]
        (first, cost, _), (several, costs, cores) = (rate(queries, features, workers) for workers in (1, threads()))
        print(
            f"| {name} | {len(features)} | {first:,.0f} | {cost:,.0f} | {several:,.0f} | {costs:,.0f} | {cores:.2f} |"
        )
    print(f"Load of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after; {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
