"""How often the words of the query stand in the document: raw, damped and per word of the document."""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import feature, total

_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR)"


@feature("tf", kind="Q-D", many=True, formula="Σ c(w,d)", source=f"{_LETOR3}, Tables 2 and 3")
def tf(queries: Queries, stream: StreamCounts) -> Floats:
    """Occurrences of the query's words."""
    return total(stream.tf)


@feature("log_tf", kind="Q-D", many=True, formula="Σ ln(c(w,d) + 1)", source=f"{_LETOR3}, Table 3")
def log_tf(queries: Queries, stream: StreamCounts) -> Floats:
    """Occurrences, each further one counting less."""
    return total(np.log(stream.tf + 1))


@feature("tf_share", kind="Q-D", many=True, formula="Σ c(w,d)/|d|", source=f"{_LETOR3}, Table 3")
def tf_share(queries: Queries, stream: StreamCounts) -> Floats:
    """Occurrences per word of the stream."""
    return total(stream.shares)


@feature("log_tf_share", kind="Q-D", many=True, formula="Σ ln(c(w,d)/|d| + 1)", source=f"{_LETOR3}, Table 3")
def log_tf_share(queries: Queries, stream: StreamCounts) -> Floats:
    """Occurrences per word of the stream, damped."""
    return total(np.log(stream.shares + 1))


@feature("length", kind="D", many=True, formula="|d|", source=f"{_LETOR3}, Table 2")
def length(queries: Queries, stream: StreamCounts) -> Floats:
    """Words of the stream."""
    return stream.length.copy()


@feature("covered", kind="Q-D", many=True, formula="|{w ∈ q : c(w,d) > 0}|", source="MSLR-WEB, 1–5")
def covered(queries: Queries, stream: StreamCounts) -> Floats:
    """How many words of the query the stream holds."""
    return total((stream.tf > 0).astype(np.float64))


@feature("covered_ratio", kind="Q-D", many=True, formula="|{w ∈ q : c(w,d) > 0}| / |q|", source="MSLR-WEB, 6–10")
def covered_ratio(queries: Queries, stream: StreamCounts) -> Floats:
    """Which part of the query the stream holds."""
    return covered(queries, stream) / max(len(stream.tf), 1)
