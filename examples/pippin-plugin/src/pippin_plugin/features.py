"""A feature: how much of the query does a text cover, rare words before common ones?

A feature is a function of one query's candidates and of one stream's counts (`field.tf` is words × documents); it
gives one value per candidate, NaN for NULL. Parameters are keywords with defaults: `idf_coverage(power=2)@body`.
"""

from __future__ import annotations

import numpy as np

from pippin.collections.features import feature
from pippin.collections.index.statistics import Candidates, FieldStatistics, Floats


@feature(
    "idf_coverage",
    kind="Q-D",
    formula="Σ_{w in q and d} ln(N/df)^power / Σ_{w in q} ln(N/df)^power, distinct w that some document has",
    source="the share of the query's weight, as search engines use it for AND-like matching",
    missing_when="where no document has any word of the query, or every document has all of them",
)
def idf_coverage(candidates: Candidates, field: FieldStatistics, *, power: float = 1.0) -> Floats:
    """The share of the query's words that the text has, each weighted by how rare it is."""
    rows = candidates.distinct
    df = field.df[rows]
    weight = np.where(df > 0, np.log(field.documents / np.maximum(df, 1)), 0.0) ** power * (df > 0)
    if not weight.sum() > 0:
        return np.full(len(candidates), np.nan)
    covered: Floats = weight @ (field.tf[rows] > 0) / weight.sum()
    return covered
