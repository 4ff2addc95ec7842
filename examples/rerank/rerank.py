"""Re-rank what a search engine found: python rerank.py MODEL < hits > reranked

A line of hits is a query, a document and its features in the model's order, between tabs; `-` is a missing value.
A query's hits stand together. What comes out is query, document and score, the best first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

import pippin


def rerank(model: pippin.Ranker, lines: Iterable[str]) -> Iterator[str]:
    """The lines of each query from the highest score on; documents of one score stay as they were."""
    hits = (line.rstrip("\n").split("\t") for line in lines)
    for query, group in groupby(hits, key=lambda hit: hit[0]):
        results = list(group)
        table = [[float("nan") if value == "-" else float(value) for value in hit[2:]] for hit in results]
        scores = model.predict(table).tolist()
        for score, hit in sorted(zip(scores, results, strict=True), key=lambda pair: -pair[0]):
            yield f"{query}\t{hit[1]}\t{score!r}"


if __name__ == "__main__":
    for line in rerank(pippin.load(sys.argv[1]), sys.stdin):
        print(line)
