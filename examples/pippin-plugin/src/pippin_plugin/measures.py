"""A measure: how many pairs of documents stand in the right order?

A measure is a `MeasureDefinition`: a description, and a function from a ranking, a convention and the measure to one
value per query, NaN where there is none. Order and ties are settled in the ranking already.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure, MeasureDefinition, register
from pippin.evaluation.ranking import Ranking


def pair_accuracy(ranking: Ranking, convention: Convention, measure: Measure) -> NDArray[np.float64]:
    """Pairs of different labels with the better document first, over all such pairs; NaN where there are none."""
    values = np.full(len(ranking.query_ids), np.nan)
    for query, (start, end) in enumerate(zip(ranking.offsets[:-1], ranking.offsets[1:], strict=True)):
        labels = ranking.labels[start:end]
        better = labels[:, None] > labels[None, :]
        if better.any():
            # Where ties are taken in expectation, tied documents share a place, and their pairs are half right.
            places = np.cumsum(ranking.tied[start:end] == 0) if ranking.expected else np.arange(end - start)
            right = np.sign(places[None, :] - places[:, None]) / 2 + 0.5  # 1 where the row stands above the column
            values[query] = right[better].mean()
    return values


PAIR_ACCURACY = register(
    MeasureDefinition(
        "PairAccuracy",
        description="the share of pairs of documents with different labels that stand in the right order",
        formula="|{(a, b): label a > label b, a above b}| / |{(a, b): label a > label b}|",
        source="Cohen, Schapire & Singer 1999",
        function=pair_accuracy,
        axes=("empty",),
        cutoff="never",
        aliases=("pairwise_accuracy",),
    )
)
