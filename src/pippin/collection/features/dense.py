"""What a document means beside what it says: a query and a document as vectors of one model.

The vectors stand beside the index (`collection.embeddings`); these features ask for them by document, so that a
collection without vectors has none of them.
"""

from __future__ import annotations

import weakref

from pippin.collection.candidates import Candidates, Floats
from pippin.collection.features.base import feature
from pippin.errors import ConventionError

_REIMERS = "Reimers, Gurevych 2019"
_TABLES: weakref.WeakKeyDictionary[Candidates, Floats] = weakref.WeakKeyDictionary()


def _table(candidates: Candidates) -> Floats:
    """[n, 4] all dense features of a query's candidates, worked out once."""
    found = _TABLES.get(candidates)
    if found is None:
        if candidates.dense is None or candidates.numbers is None:
            raise ConventionError("this feature needs vectors of the documents, of a model that --dense FOLDER names")
        found = candidates.dense.table(candidates.query, candidates.words, candidates.numbers)
        _TABLES[candidates] = found
    return found


@feature("dense_cosine", kind="Q-D", formula="cos(v(q), mean of v(p) over passages p of d)", source=_REIMERS)
def dense_cosine(candidates: Candidates) -> Floats:
    """The cosine of query and document; 0 for a document without text, as for the three others."""
    return _table(candidates)[:, 0]


@feature("dense_dot", kind="Q-D", formula="v(q) · mean of v(p) over passages p of d", source=_REIMERS)
def dense_dot(candidates: Candidates) -> Floats:
    """The dot product of query and document."""
    return _table(candidates)[:, 1]


@feature("dense_passage", kind="Q-D", formula="max over passages p of d of cos(v(q), v(p))", source=_REIMERS)
def dense_passage(candidates: Candidates) -> Floats:
    """The cosine of the query and the document's nearest passage."""
    return _table(candidates)[:, 2]


@feature(
    "dense_fused", kind="Q-D", formula="1/(60 + rank by BM25) + 1/(60 + rank by dense_passage), of the best 1,000 each",
    source="Cormack, Clarke, Büttcher 2009",
)  # fmt: skip
def dense_fused(candidates: Candidates) -> Floats:
    """Reciprocal-rank fusion with BM25 over the whole collection."""
    return _table(candidates)[:, 3]
