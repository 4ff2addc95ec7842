"""What a build found out, for its manifest and card: features that tell nothing, what sampling lost, its ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import Collection
from pippin.collection.sampling import Sample, labels_by_query
from pippin.data.audit import first_equal_columns
from pippin.data.dataset import Dataset
from pippin.data.trec import Run
from pippin.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from pippin.collection.features import BoundFeature

CEILINGS = ["NDCG@10", "MAP", "Recall@1000"]


def find_useless(tables: Sequence[NDArray[np.float64]], features: Sequence[BoundFeature]) -> dict[str, str]:
    """Features that tell nothing over all query sets, with the reason: one value only, or a copy of an earlier one."""
    table = np.concatenate(tables)
    alike = first_equal_columns(table)
    constant = [bool(np.all(np.isnan(column)) or np.all(column == column[:1])) for column in table.T]
    return {
        bound.text: "one value only" if constant[i] else f"a copy of {features[alike[i]].text}"
        for i, bound in enumerate(features)
        if constant[i] or alike[i] != i
    }


def sampling(samples: Sequence[Sample], unjudged: Sequence[str]) -> dict[str, Any]:
    """What the sampling found, lost and added, over all queries of a set, and which of them nobody judged."""
    return {
        "unjudged": list(unjudged),
        "relevant": sum(one.relevant for one in samples),
        "lost": sum(one.lost for one in samples),
        # Queries that lost some: relevant documents in the sample, and judged.
        "partial": {one.query.id: [one.relevant - one.lost, one.relevant] for one in samples if one.lost},
        "added": sum(int(one.added.sum()) for one in samples),
        "empty": [
            one.query.id
            for one in samples
            if len(one.numbers) and not (one.labels > 0).any() and one.query.id not in set(unjudged)
        ],
        "wordless": [one.query.id for one in samples if not one.words],
        "without": [one.query.id for one in samples if one.words and not len(one.numbers)],
        "unknown": {one.query.id: list(one.unknown) for one in samples if one.unknown},
    }


def ceilings(collection: Collection, data: Dataset) -> dict[str, dict[str, float]]:
    """What the best re-ranking of the samples reaches: `sample` counts the relevant documents that were sampled alone,
    as the data set's labels do, `judged` all that were judged relevant, by the definition.
    """
    judged = collection.judgements
    if judged is None or data.document_ids is None:
        return {}
    asked = set(data.query_ids)
    ours = {query: of for query, of in labels_by_query(judged).items() if query in asked}
    perfect = Run(data.query_ids, data.offsets, data.document_ids, data.labels.astype(np.float64))
    over = {"sample": evaluate(data, perfect.scores, CEILINGS), "judged": evaluate(ours, perfect, CEILINGS)}
    return {
        name: {column.asked: float(column.mean) for column in evaluation.columns} for name, evaluation in over.items()
    }
