"""The boolean and the vector-space model, on the words of the query."""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Candidates, Floats, StreamCounts
from pippin.collection.features.base import feature, total
from pippin.collection.features.idf import idf_of_words


@feature("boolean", kind="Q-D", formula="1 if every w ∈ q has c(w,d) > 0, else 0", source="MSLR-WEB, 96–100")
def boolean(candidates: Candidates, stream: StreamCounts) -> Floats:
    """Whether the stream holds the whole query; 0 for a query without words."""
    whole: Floats = np.all(stream.tf > 0, axis=0).astype(np.float64)
    return whole if len(stream.tf) else np.zeros(len(candidates))


@feature(
    "vector_space",
    kind="Q-D",
    formula="cos((c(w,d)·idf(w))_w, (c(w,q)·idf(w))_w), distinct w",
    source="MSLR-WEB, 101–105",
)
def vector_space(candidates: Candidates, stream: StreamCounts) -> Floats:
    """Cosine of document and query over the words of the query; 0 where one of them is the zero vector."""
    rows = candidates.distinct
    idf = idf_of_words(stream)[rows]
    query = candidates.multiplicity * idf
    document = stream.tf[rows] * idf[:, None]
    norm = np.sqrt(total(document**2) * total(query**2))
    product = total(document * query[:, None])
    return np.divide(product, norm, out=np.zeros(len(candidates)), where=norm > 0)
