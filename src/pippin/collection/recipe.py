"""Every choice of a build: two builds of equal documents by equal recipes are equal, byte for byte."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from pippin.collection.analysis import Analysis
from pippin.collection.sampling import WAYS, How


@dataclass(frozen=True)
class Recipe:
    """Every choice of a build."""

    features: str = "auto"  # a set, or features one by one; auto: gov where there are urls, else ohsumed
    how: How = "top"
    size: int = 1000
    folds: int = 5
    seed: int | None = None  # None: parts are stretches of the queries in their order, as LETOR's
    stream: str = "whole"  # what is searched when documents are sampled
    query_field: str | None = None  # which field of the topic is the query; None: the query's own text
    unjudged: Literal["drop", "keep"] = "drop"  # queries that nobody judged
    drop_useless: bool = False  # leave out features with one value only, and copies of others
    min_rule: Literal["letor", "min"] = "letor"
    analysis: Analysis = Analysis()  # noqa: RUF009 - frozen
    meta: bool = True
    similarity: bool = False
    dense: str | None = None  # the folder of a sentence-transformers model; what a manifest tells is its digest

    def record(self) -> dict[str, Any]:
        """The recipe as JSON can hold it."""
        told = {**asdict(self), "analysis": self.analysis.record(), "sampling": f"{WAYS[self.how]} (N = {self.size})"}
        del told["dense"]  # a folder's name says nothing of the model
        if self.dense is not None and self.how != "judged":
            told["sampling"] += ", and as many that are nearest by their vectors"
        return told
