"""Compare MAP of BM25 on Cranfield and CACM with bm25s on the same tokens.

    python benchmarks/bm25_quality.py [FOLDER with cran and cacm]

Both sides get the same analysed words; documents are the best 1,000, judged by trec_eval's rules over all queries with
a relevant document.
"""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import bm25s  # type: ignore[import-untyped]
import numpy as np

from pippin import Run, evaluate
from pippin.collections.index.index import build_index
from pippin.collections.readers import read_collection

SETTINGS = ((1.2, 0.75), (0.9, 0.4), (2.5, 0.8))


def main(folder: Path) -> None:
    print(f"{'collection':10} {'k1':>4} {'b':>5} {'pippin':>8} {'bm25s robertson':>16} {'bm25s lucene':>13}")
    for name in ("cran", "cacm"):
        collection = read_collection(folder / name)
        with tempfile.TemporaryDirectory() as scratch:
            index = build_index(collection, Path(scratch) / "index")
            queries = {query.id: index.analyse(query.text) for query in collection.queries}
            ids = list(index.ids)
            offsets, terms = index.tokens("whole", np.arange(index.documents))
            words = list(index.vocabulary)
            documents = [[words[t] for t in terms[a:b]] for a, b in pairwise(offsets)]
            for k1, b in SETTINGS:
                own = {}
                for query, asked in queries.items():
                    numbers, scores = index.search_terms(asked, 1000, field="whole", k1=k1, b=b)
                    own[query] = {ids[n]: float(s) for n, s in zip(numbers, scores, strict=True)}
                values = [quality(collection.qrels, own)]
                for method in ("robertson", "lucene"):
                    peer = bm25s.BM25(method=method, k1=k1, b=b)
                    peer.index(documents, show_progress=False)
                    asked = [sorted(set(w)) for w in queries.values()]
                    result, scores = peer.retrieve(asked, k=1000, sorted=True, show_progress=False)
                    other = {
                        query: {ids[n]: float(s) for n, s in zip(result[i], scores[i], strict=True) if s != 0}
                        for i, query in enumerate(queries)
                    }
                    values.append(quality(collection.qrels, other))
                print(f"{name:10} {k1:4} {b:5} {values[0]:8.4f} {values[1]:16.4f} {values[2]:13.4f}")


def quality(qrels: object, run: dict[str, dict[str, float]]) -> float:
    return evaluate(qrels, Run.from_dict(run), measures=["MAP"], tool="trec_eval9").mean["MAP"]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PIPPIN_DATA", "../shared/data")))
