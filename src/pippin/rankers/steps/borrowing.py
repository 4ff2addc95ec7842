"""What the steps share that learn from another data set beside their own: which one, and its features by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, concatenate
from pippin.errors import DataError
from pippin.rankers.base import Ranker
from pippin.rankers.parts.narrowing import narrowed
from pippin.rankers.parts.parameters import parameter
from pippin.rankers.parts.sources import borrowed, matched
from pippin.rankers.steps.base import Step

F64 = NDArray[np.float64]


class Borrowing(Step):
    """A step that learns from another data set, too."""

    takes_weights = False

    from_: str | None = parameter(None, "the data set to learn from: a name of the benchmark's, or a file")
    digest: str | None = parameter(None, "the digest that it must have; a benchmark writes it into its plan")
    names: str | None = parameter(None, "whose order numbered features follow: ohsumed, gov, letor4 or mslr")

    def _check(self) -> None:
        if self.from_ is None:
            raise DataError(f"{self.name} learns from another data set: {self.name}(from=NAME)")

    def _source(self) -> Dataset:
        """The other data set."""
        return borrowed(str(self.from_), self.digest)

    def words_of_model(self) -> str:
        """Where it learned from."""
        return f"{self.name} learned from {self.from_}, too"


def shared_features(source: Dataset, target: Dataset, names: str | None) -> tuple[Dataset, list[int]]:
    """The source with the features that both have, under the target's names, and the target's columns of them."""
    common = matched(source, target, names)
    columns = [ours for ours, _ in common]
    called = tuple(target.feature_names[i] for i in columns)
    return replace(narrowed(source, [theirs for _, theirs in common]), feature_names=called), columns


def in_features_of(source: Dataset, target: Dataset, names: str | None) -> Dataset:
    """The source with the target's features; one that it lacks is 0. Its queries get names of their own."""
    shared, columns = shared_features(source, target, names)
    table = np.zeros((len(source), len(target.feature_names)))
    table[:, columns] = shared.features
    return Dataset(
        table, source.labels, source.offsets, tuple(f"from {query}" for query in source.query_ids), None,
        target.feature_names, name=source.name,
    )  # fmt: skip


def both(target: Dataset, source: Dataset) -> Dataset:
    """Both data sets as one, the target first."""
    bare = replace(target, query_ids=tuple(f"own {query}" for query in target.query_ids), document_ids=None,
                   comments=None, lines=None)  # fmt: skip
    return concatenate([bare, source])


def need_weights(step: Step, rest: Ranker) -> None:
    """Raise where the rest cannot weigh queries."""
    if not rest.takes_weights:
        raise DataError(f"{step.name} weighs queries, which {rest.name} does not; ranksvm and lambdamart do")
