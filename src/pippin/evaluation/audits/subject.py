"""What an audit looks at: judged data, perhaps scores or folds, and the ranking on which effects are measured.

Without scores the ranking is a perfect one (the label is the score), so that an effect is what a tool takes from, or
gives to, a system that made no mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.data.audit import FeatureCounts, Flags, Ints, Twins, count_features, find_twins
from pippin.data.audit_files import Layout
from pippin.data.dataset import Dataset
from pippin.data.trec import Judgements, Run
from pippin.evaluation.audits.effects import Effects
from pippin.evaluation.evaluate import Rankings
from pippin.evaluation.measures import Measure
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools import OFFICIAL


@dataclass(frozen=True, eq=False)
class Subject:
    """Judged data under audit."""

    judged: Dataset | Judgements
    scored: NDArray[np.float64] | Run | None
    measures: tuple[Measure, ...]
    cutoffs: tuple[int, ...]
    layout: Layout | None = None
    other: Run | None = None  # a second run, to be held against the first

    @property
    def run(self) -> Run | None:
        """The run under audit, if what was scored is one."""
        return self.scored if isinstance(self.scored, Run) else None

    @property
    def data(self) -> Dataset:
        """The data set under audit; only checks that apply to data sets ask for it."""
        if not isinstance(self.judged, Dataset):
            raise TypeError("judgements have no features")
        return self.judged

    @property
    def queries(self) -> int:
        """The number of judged queries."""
        return len(self.judged.query_ids)

    @cached_property
    def perfect(self) -> Rankings:
        """The rankings in which a higher label is always first."""
        scores = self.judged.labels.astype(np.float64)
        if isinstance(self.judged, Dataset):
            return Rankings(self.judged, scores)
        judged = self.judged
        return Rankings(judged, Run(judged.query_ids, judged.offsets, judged.document_ids, scores, "perfect"))

    @cached_property
    def rankings(self) -> Rankings:
        """The rankings of what was scored, else the perfect ones."""
        return self.perfect if self.scored is None else Rankings(self.judged, self.scored)

    @cached_property
    def effects(self) -> Effects:
        """What tools do with this ranking."""
        return Effects(self.rankings, self.measures, settled=self.scored is None)

    @cached_property
    def ceiling(self) -> Effects:
        """What tools do with a perfect ranking."""
        return self.effects if self.scored is None else Effects(self.perfect, self.measures, settled=True)

    @cached_property
    def ranking(self) -> Ranking:
        """The lists of queries that are judged and scored, in rank order (ties as in the file)."""
        return self.rankings.under(OFFICIAL.replace(ties="input", queries="both"))

    @cached_property
    def twins(self) -> Twins:
        """Documents with identical feature vectors."""
        return find_twins(self.data)

    @cached_property
    def feature_counts(self) -> FeatureCounts:
        """NULLs and constancy by feature."""
        return count_features(self.data)

    def names(self, queries: Flags | Ints) -> list[str]:
        """Ids of judged queries, from flags or positions."""
        positions = np.flatnonzero(queries) if queries.dtype == np.bool_ else queries
        return [self.judged.query_ids[q] for q in positions]

    def document(self, row: int) -> str:
        """A document of the judged data, as a reader can find it."""
        query = self.judged.query_ids[int(np.searchsorted(self.judged.offsets, row, side="right")) - 1]
        ids = self.judged.document_ids
        return f"query {query}, {f'row {row + 1}' if ids is None else ids.at(row)}"


def largest_cutoff(measures: Sequence[Measure]) -> int:
    """The largest cutoff asked for; 10 where none is."""
    return max((m.cutoff for m in measures if m.cutoff is not None), default=10)
