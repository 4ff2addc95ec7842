"""Learning features: one file per family, each function registered where it is defined, and the published sets."""

from pippin.collection.features import (
    bm25,
    counts,
    idf,
    language_models,
    links,
    proximity,
    sets,
    statistics,
    vector_space,
)
from pippin.collection.features.base import (
    FEATURES,
    SETS,
    BoundFeature,
    Feature,
    FeatureSet,
    check_streams,
    extract,
    parse_features,
)

__all__ = [
    "FEATURES", "SETS", "BoundFeature", "Feature", "FeatureSet", "bm25", "check_streams", "counts", "extract", "idf",
    "language_models", "links", "parse_features", "proximity", "sets", "statistics", "vector_space",
]  # fmt: skip
