"""Learning features: one file per family, each function registered where it is defined, and the published sets.

A new one is a function in a file of this folder; every file here is loaded with the package.
"""

from pippin.collection.features.base import (
    FEATURES,
    SETS,
    BoundFeature,
    Feature,
    FeatureSet,
    check_streams,
    extract,
    extract_many,
    feature,
    parse_features,
    sets_of,
)
from pippin.modules import load_folder

load_folder(__name__)

__all__ = [
    "FEATURES", "SETS", "BoundFeature", "Feature", "FeatureSet", "check_streams", "extract", "extract_many",
    "feature", "parse_features", "sets_of",
]  # fmt: skip
