"""How fast are the features? Pairs of query and document a second, for whole sets, on one thread and on all.

python benchmarks/features.py [queries] [--documents 1000]

The counts are random, 3 to 5 words a query, as an index would hand them over; reading the index is not measured here.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.collection.features.drawing import draw_candidates

from pippin.collection.candidates import Candidates
from pippin.collection.features import FEATURES, SETS, BoundFeature, extract, parse_features
from pippin.kernels import threads

REPEATS = 3
WORDS = ("apple", "pear", "quince", "medlar", "plum")


def sets() -> dict[str, tuple[BoundFeature, ...]]:
    """The sets whose features need no links."""
    found = {}
    for chosen in SETS.values():
        names = [text.partition("@")[0].partition("(")[0] for text in chosen.texts]
        if all(name in FEATURES and FEATURES[name].needs_stream for name in names):
            found[chosen.name] = parse_features(chosen.name)
    return found


def rate(queries: list[Candidates], features: tuple[BoundFeature, ...], workers: int) -> float:
    """Pairs a second, the best of a few runs."""
    best = float("inf")
    with ThreadPoolExecutor(workers) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter()
            list(pool.map(lambda candidates: extract(candidates, features), queries))
            best = min(best, time.perf_counter() - start)
    return sum(map(len, queries)) / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="?", type=int, default=60)
    parser.add_argument("--documents", type=int, default=1000)
    options = parser.parse_args()
    print(
        f"| set ({options.documents} documents a query) | features | pairs/s, 1 thread | pairs/s, {threads()} threads |"
    )
    print("|---|--:|--:|--:|")
    for name, features in sets().items():
        streams = sorted({bound.stream for bound in features if bound.stream})
        queries = [
            draw_candidates(options.documents, WORDS[: 3 + seed % 3], streams, seed=seed)
            for seed in range(options.queries)
        ]
        one, all_cores = rate(queries, features, 1), rate(queries, features, threads())
        print(f"| {name} | {len(features)} | {one:,.0f} | {all_cores:,.0f} |")


if __name__ == "__main__":
    main()
