"""Which documents of a collection stand in the data set for a query.

LETOR samples in two ways. “Gov” takes the best 1,000 documents by BM25 over the whole document and calls what nobody
judged not relevant; OHSUMED takes the judged documents and no others. `both` is the union: it saves relevant documents
that BM25 missed, at the price of a bias, because a document outside the top is there only if it was judged (Minka and
Robertson, 2008). What each way loses or adds is counted, query by query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import Query
from pippin.data.trec import Judgements

if TYPE_CHECKING:
    from pippin.collection.embeddings import Embeddings
    from pippin.collection.index import Index
    from pippin.collection.shards import Shards

How = Literal["top", "judged", "both"]
WAYS: Mapping[str, str] = {
    "top": "the best documents by BM25 over the whole document; unjudged ones are not relevant",
    "judged": "the judged documents, and no others",
    "both": "the best by BM25, and all judged documents",
}
K1, B = 2.5, 0.8  # LETOR's BM25 for “Gov”


@dataclass(frozen=True, eq=False)
class Sample:
    """The sampled documents of one query, in the order of their ids, and what the sampling did."""

    query: Query
    words: tuple[str, ...]
    numbers: NDArray[np.int64]
    labels: NDArray[np.int32]
    added: NDArray[np.bool_]  # there only because it was judged
    relevant: int  # judged relevant, in the collection
    lost: int  # of those, not in the sample
    unknown: tuple[str, ...]  # judged, but not in the collection


def labels_by_query(judgements: Judgements | None) -> dict[str, dict[str, int]]:
    """Query to document to label. A label below 0 says “not relevant” like 0."""
    if judgements is None:
        return {}
    ids = list(judgements.document_ids)
    labels = np.maximum(judgements.labels, 0).tolist()
    cuts = judgements.offsets.tolist()
    return {
        query: dict(zip(ids[start:end], labels[start:end], strict=True))
        for query, start, end in zip(judgements.query_ids, cuts, cuts[1:], strict=False)
    }


def sample(
    index: Index | Shards,
    query: Query,
    judged: Mapping[str, int],
    how: How,
    size: int,
    stream: str,
    fields: str | None = None,
    dense: Embeddings | None = None,
) -> Sample:
    """The documents for one query; `judged` maps document ids to labels. With vectors, the nearest are there, too."""
    query = asked(query, fields)
    words = tuple(index.analyse(query.text))
    ids = list(judged)
    known_numbers = index.numbers(ids)
    known = {int(number): judged[name] for number, name in zip(known_numbers, ids, strict=True) if number >= 0}
    unknown = tuple(name for number, name in zip(known_numbers, ids, strict=True) if number < 0)
    top = np.empty(0, np.int64) if how == "judged" else index.top(words, size, stream=stream, k1=K1, b=B)[0]
    if dense is not None and words and how != "judged":
        top = np.union1d(top, dense.search([query], top=size).numbers[0])
    chosen = set(top.tolist()) | (set() if how == "top" else known.keys())
    numbers = np.array(sorted(chosen, key=lambda number: natural(index.ids.at(number))), np.int64)
    relevant = {number for number, label in known.items() if label > 0}
    return Sample(
        query, words, numbers,
        np.array([known.get(number, 0) for number in numbers.tolist()], np.int32),
        ~np.isin(numbers, top) if how == "both" else np.zeros(len(numbers), bool),
        len(relevant), len(relevant - chosen), unknown,
    )  # fmt: skip


def asked(query: Query, field: str | None) -> Query:
    """The query that is asked with one field of its topic, or with its own text."""
    return query if field is None else replace(query, text=query.fields.get(field, ""))


@lru_cache(1 << 17)  # the same documents come up for many queries
def natural(text: str) -> list[tuple[int, int, str]]:
    """A key that puts d9 before d10.

    >>> sorted(["d10", "d9", "d"], key=natural)
    ['d', 'd9', 'd10']
    """
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]
