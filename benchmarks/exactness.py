"""Check that search equals an exhaustive scan, on real collections with all topics and several models.

python benchmarks/exactness.py [FOLDER…] [--top 10 1000]

Each folder is a collection that `pippin build` could read; without any, CACM, Cranfield and the small collections of
the shared data are taken (PIPPIN_DATA, or the folder beside the project). Every topic is asked with every model. For
BM25 the documents' texts are analysed and counted anew, without the index, and the formula is applied to all of them
in NumPy: scores must agree to twelve digits. Then all documents are scored from the index: numbers and scores of the
best must be those of a full sort of these, ties by id, to the bit. The other models rank all documents that hold a
word.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection, Query
from pippin.collections.features import parse_features
from pippin.collections.index.index import Index, build_index
from pippin.collections.readers import read_collection
from pippin.collections.search import MODEL_NAMES, search

FIELD = "whole"
BM25 = {"bm25": (2.5, 0.8), "bm25(k1=1.2, b=0.75)": (1.2, 0.75), "bm25(k1=0, b=0.4)": (0.0, 0.4)}
NAMES = ("cacm", "cran", "text/adi", "text/cisi", "text/lisa", "text/med", "text/npl", "text/time")

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Plain:
    """Counts of words in every document, from the texts alone."""

    def __init__(self, collection: Collection, index: Index) -> None:
        said = [[word for text in document.fields.values() for word in index.analyse(text)] for document in collection]
        self.lengths = np.array([len(words) for words in said], np.float64)
        self.counts: dict[str, dict[int, int]] = {}
        for number, words in enumerate(said):
            for word, count in Counter(words).items():
                self.counts.setdefault(word, {})[number] = count

    def bm25(self, words: Sequence[str], k1: float, b: float) -> tuple[Floats, Bools]:
        """The score of every document by the formula, and which of them hold a word."""
        n = len(self.lengths)
        norm = k1 * (1 - b + b * self.lengths / self.lengths.mean())
        scores, holds = np.zeros(n), np.zeros(n, bool)
        for word in dict.fromkeys(words):
            result = self.counts.get(word, {})
            at, count = np.array(list(result), np.int64), np.array(list(result.values()), np.float64)
            scores[at] += np.log((n - len(at) + 0.5) / (len(at) + 0.5)) * count * (k1 + 1) / (count + norm[at])
            holds[at] = True
        return scores, holds


def best(scores: Floats, holds: Bools, ranks: NDArray[np.uint32], top: int) -> NDArray[np.int64]:
    """The numbers of the best documents by a full sort: falling scores, then ids."""
    there = np.flatnonzero(holds & ~np.isnan(scores))
    return there[np.lexsort((ranks[there], -scores[there]))][:top]


def by_feature(index: Index, model: str, query: Query) -> Floats:
    """The score of every document by a feature."""
    bound = parse_features(f"{MODEL_NAMES[model]}@{index.resolve_field(FIELD)}")[0]
    everything = np.arange(len(index))
    return bound.values(index.candidates(query, everything, np.zeros(len(index), np.int32)))


def compare(folder: Path, tops: Sequence[int]) -> tuple[int, int]:
    """How many rankings of a collection were compared, and how many of them hold a tie."""
    collection = read_collection(folder)
    with tempfile.TemporaryDirectory() as place:
        index = build_index(collection, Path(place) / "index", texts=False)
        plain, queries = Plain(collection, index), tuple(collection.queries)
        compared = tied = 0
        for model in (*BM25, *MODEL_NAMES):
            hits = {top: search(index, queries, model=model, top=top, field=FIELD) for top in tops}
            for q, query in enumerate(queries):
                words = index.analyse(query.text)
                scores, holds = plain.bm25(words, *BM25.get(model, (1.2, 0.75)))
                if model in BM25:
                    k1, b = BM25[model]
                    exact = index.bm25(words, field=FIELD, k1=k1, b=b)
                    np.testing.assert_allclose(exact, scores, rtol=1e-12, atol=1e-12)
                else:
                    exact = by_feature(index, model, query)
                for top, item in hits.items():
                    expected = best(exact, holds, index.id_ranks, top)
                    if not np.array_equal(item.numbers[q], expected):
                        raise SystemExit(f"{folder.name}, query {query.id}, {model}, top {top}: other documents")
                    if item.scores[q].tobytes() != exact[expected].tobytes():
                        raise SystemExit(f"{folder.name}, query {query.id}, {model}, top {top}: other scores")
                    compared += 1
                    tied += len(np.unique(exact[expected])) < len(expected)
    return compared, tied


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--top", nargs="+", type=int, default=[10, 1000])
    options = parser.parse_args()
    beside = Path(os.environ.get("PIPPIN_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
    folders = options.folders or [beside / name for name in NAMES if (beside / name).is_dir()]
    if not folders:
        sys.exit("no collection is named, and there are no shared data")
    for folder in folders:
        compared, tied = compare(folder, options.top)
        print(f"{folder.name:<10} {compared:>6,} rankings equal, {tied:,} of them with ties", flush=True)


if __name__ == "__main__":
    main()
