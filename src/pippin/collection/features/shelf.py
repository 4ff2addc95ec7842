"""The features as people look at them: `pippin.features`."""

from __future__ import annotations

from pippin.collection.features.base import FEATURES, Feature
from pippin.shelf import Shelf

features: Shelf[Feature] = Shelf(
    FEATURES,
    {
        "of": lambda feature: feature.kind,
        "formula": lambda feature: feature.formula,
        "source": lambda feature: feature.source,
        "NULL": lambda feature: feature.null,
    },
)
