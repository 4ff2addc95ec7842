"""The boolean and the vector-space model, on the words of the query."""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import feature, total
from pippin.collection.features.idf import idf_of_words


@feature("boolean", kind="Q-D", many=True, formula="1 if every w ∈ q has c(w,d) > 0, else 0", source="MSLR-WEB, 96–100")
def boolean(queries: Queries, stream: StreamCounts) -> Floats:
    """Whether the stream holds the whole query; 0 for a query without words."""
    whole: Floats = np.all(stream.tf > 0, axis=0).astype(np.float64)
    return whole if len(stream.tf) else np.zeros(len(queries))


@feature(
    "vector_space",
    kind="Q-D",
    many=True,
    formula="cos((c(w,d)·idf(w))_w, (c(w,q)·idf(w))_w), distinct w",
    source="MSLR-WEB, 101–105",
)
def vector_space(queries: Queries, stream: StreamCounts) -> Floats:
    """Cosine of document and query over the words of the query; 0 where one of them is the zero vector."""
    said = queries.said
    idf = np.where(said > 0, idf_of_words(stream), 0.0)
    query = said * idf
    document = stream.tf * queries.each(idf)
    norm = np.sqrt(total(document**2) * queries.each(total(query**2)))
    product = total(document * queries.each(query))
    return np.divide(product, norm, out=np.zeros(len(queries)), where=norm > 0)
