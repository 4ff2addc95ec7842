"""Learning features, one module per family, and the published feature sets.

Every module of this package is imported with it, so a new feature is a registered function in one of them.
"""

from pippin.collections.features.base import (
    FEATURES,
    SETS,
    BoundFeature,
    Feature,
    FeatureSet,
    check_fields,
    extract,
    extract_many,
    feature,
    parse_features,
    sets_of,
)
from pippin.registry import import_submodules

import_submodules(__name__)

__all__ = [
    "FEATURES", "SETS", "BoundFeature", "Feature", "FeatureSet", "check_fields", "extract", "extract_many",
    "feature", "parse_features", "sets_of",
]  # fmt: skip
