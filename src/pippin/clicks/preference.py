"""What clicks say of pairs of documents: which should stand above which, and how much that counts.

    naive      a click is taken at its word: the document should stand above all that was shown with it
    ips        the same, but a click counts one over the propensity of its rank (Joachims, Swaminathan & Schnabel 2017)
    pairwise   a clicked document should stand above one that was not clicked; training finds out how much the ranks of
               both are to be trusted (Hu et al. 2019)

Sessions are added up, so that what training does costs as much for a thousand of them as for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import ClickLog, summed
from pippin.clicks.propensity import Propensities
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
DEBIASING = ("ips", "pairwise", "naive")


@dataclass(frozen=True, eq=False)
class Preferences:
    """Pairs of rows of a data set: `better` should stand above `worse`, which counts `weights`.

    With `ranks`, [pair, 2], the ranks where both were shown, the weights are mere counts of sessions, and how far they
    are to be trusted is left to training.
    """

    better: I64
    worse: I64
    weights: F64
    ranks: I64 | None = None
    power: float = 0.0  # of pairs with ranks: how far trust is drawn towards 1, as the exponent 1 / (1 + power)

    def __len__(self) -> int:
        return len(self.better)

    def moved(self, places: I64) -> Preferences:
        """The same pairs after row r went to places[r]; pairs of a row that went nowhere (-1) are left out."""
        kept = (places[self.better] >= 0) & (places[self.worse] >= 0)
        ranks = None if self.ranks is None else self.ranks[kept]
        return Preferences(places[self.better[kept]], places[self.worse[kept]], self.weights[kept], ranks, self.power)


def preferences(
    log: ClickLog, data: Dataset, debias: str = "ips", propensities: Propensities | None = None, clip: float = 0.01
) -> Preferences:
    """The pairs that a log prefers among the documents of a data set; documents that it has not are left out.

    A pair of `ips` counts the clicks on the better one in sessions that showed both, each divided by the propensity of
    its rank (but never by less than `clip`), over the mean number of sessions of a query.

    >>> data = Dataset.from_arrays(np.zeros((2, 1)), [0, 0], ["q", "q"], document_ids=["a", "b"])
    >>> log = ClickLog.of([("q", ["a", "b"], [False, True])])
    >>> pairs = preferences(log, data, "ips", Propensities(np.array([1.0, 0.5]), "given"))
    >>> pairs.better.tolist(), pairs.worse.tolist(), pairs.weights.tolist()
    ([1], [0], [2.0])
    """
    if debias not in DEBIASING:
        raise ConventionError(f"clicks are debiased by {' or '.join(DEBIASING)}, not {debias!r}")
    if (debias == "ips") != (propensities is not None):
        raise ConventionError(f"propensities are for ips, and {debias} is asked for {'without' * (debias == 'ips')}")
    if not 0 < clip <= 1:
        raise DataError(f"clip is above 0 and at most 1, not {clip}")
    rows = log.rows_in(data)[log.items]
    if not (log.clicks & (rows >= 0)).any():
        raise DataError(f"no document of {data.name} is clicked in the log; are queries and documents called alike?")
    first, second = _pairs(log, rows, only_unclicked=debias == "pairwise")
    weights = np.ones(len(log.items)) if propensities is None else 1.0 / np.maximum(propensities.at(log.ranks), clip)
    ranks = np.stack((log.ranks[first], log.ranks[second]), 1).astype(np.int64) if debias == "pairwise" else None
    return _added(rows[first], rows[second], weights[first], ranks, len(data), len(log) / log.queries)


def _pairs(log: ClickLog, rows: I64, only_unclicked: bool) -> tuple[I64, I64]:
    """Each click with each other document of its session, both by where they stand in the log."""
    clicked = np.flatnonzero(log.clicks & (rows >= 0))
    session = np.searchsorted(log.offsets, clicked, side="right") - 1
    sizes = np.diff(log.offsets)[session]
    first = np.repeat(clicked, sizes)
    ends = np.cumsum(sizes)
    second = np.arange(int(sizes.sum())) + np.repeat(log.offsets[:-1][session] - (ends - sizes), sizes)
    kept = (first != second) & (rows[second] >= 0)
    if only_unclicked:
        kept &= ~log.clicks[second]
    return first[kept], second[kept]


def _added(better: I64, worse: I64, weights: F64, ranks: I64 | None, size: int, sessions: float) -> Preferences:
    """Pairs of all sessions together: each once, with the sum of what it counts."""
    keys = better * size + worse
    if ranks is None:
        found, inverse = np.unique(keys, return_inverse=True)
        return Preferences(found // size, found % size, summed(inverse, weights) / sessions)
    deepest = int(ranks.max(initial=0)) + 1
    keys = (keys * deepest + ranks[:, 0]) * deepest + ranks[:, 1]
    found, inverse = np.unique(keys, return_inverse=True)
    at = np.stack((found // deepest % deepest, found % deepest), 1)
    found //= deepest**2
    return Preferences(found // size, found % size, summed(inverse, weights) / sessions, at)
