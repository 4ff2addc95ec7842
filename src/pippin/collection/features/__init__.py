"""Learning features: one file per family, each function registered where it is defined, and the published sets.

A new one is a function in a file of this folder; every file here is loaded with the package.
"""

import importlib
import pkgutil

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

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "FEATURES", "SETS", "BoundFeature", "Feature", "FeatureSet", "check_streams", "extract", "extract_many",
    "feature", "parse_features", "sets_of",
]  # fmt: skip
