"""The best single feature, and an explicitly named feature."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.errors import UnknownName
from pippin.rankers import BestFeature


def test_a_named_feature_is_used_even_if_another_is_better() -> None:
    features = np.array([[0.1, 3.0], [0.9, 2.0], [0.2, 1.0], [0.8, 4.0]])
    data = Dataset(features, np.array([0, 1, 0, 1], np.int32), np.array([0, 2, 4]), ("a", "b"), None, ("good", "bad"))
    assert BestFeature().fit(data).feature_ == 0
    pinned = BestFeature(feature="bad").fit(data)
    assert (pinned.feature_, pinned.importance()) == (1, {"good": 0.0, "bad": 1.0})
    with pytest.raises(UnknownName, match="no feature is called 'godo'; did you mean good"):
        BestFeature(feature="godo").fit(data)
