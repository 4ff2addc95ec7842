"""A data set: what must be in the folder before a benchmark trusts it.

A `PublishedDataset` names the folds and files, the number of features, the labels and the counts; a count that is
missing is not checked. A folder called `fruits` is recognised, and so is `read_folds(path, source="fruits")`.
"""

from __future__ import annotations

from pippin.data.published import Count, PublishedDataset, register

FRUITS = register(
    PublishedDataset(
        "fruits",
        title="fruits, three folds",
        features=2,
        labels=(0, 1, 2),
        origin="made by the tests of this package",
        folds=("Fold1", "Fold2", "Fold3"),
        total=Count(queries=30, documents=120),
        aliases=("fruit-salad",),
    )
)
