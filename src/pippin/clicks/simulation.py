"""Clicks that people would leave on rankings of labelled documents: seeded, so that everyone sees the same ones.

Every query has random numbers of its own, from the seed and its id: a part of a data set is clicked as it is in the
whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import ClickLog, names_of
from pippin.clicks.models import MODELS, Habits, attraction
from pippin.data.dataset import Dataset
from pippin.errors import DataError

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def simulate(
    data: Dataset,
    scores: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    *,
    people: str = "pbm",
    habits: Habits | None = None,
    sessions: int = 10,
    depth: int = 10,
    noise: float = 0.1,
    swaps: float = 0.0,
    top: int | None = None,
    seed: int = 1,
) -> ClickLog:
    """A log of clicks on a data set that is ranked by scores.

    data      documents with labels, from which clicks are drawn
    scores    what the documents are ranked by; of several rankings, each session draws one
    people    how they click: pbm, cascade, dcm or trust
    habits    what is known about them: `Habits(eta=1.0, persistence=0.5, trust=0.3)`
    sessions  how often each query is asked
    depth     how many documents are shown
    noise     the chance that a document without any relevance is clicked once it is looked at
    swaps     share of the sessions in which the first document and one of a random rank change places
    top       the label of a document that is always clicked once it is looked at; None: the data's highest
    seed      where random numbers start

    >>> data = Dataset.from_arrays(np.zeros((3, 1)), [0, 2, 1], [1, 1, 1])
    >>> log = simulate(data, np.array([3.0, 2.0, 1.0]), sessions=1000, noise=0.0, seed=1)
    >>> counts = log.counts()
    >>> (counts.clicked / counts.shown).round(2).tolist()  # 0, 1/2 · 1 and 1/3 · 1/3
    [0.0, 0.51, 0.12]
    """
    rankings = [checked_scores(data, one) for one in ([scores] if isinstance(scores, np.ndarray) else scores)]
    if not rankings:
        raise DataError("a ranking at least is needed, and there are no scores")
    if sessions < 1 or depth < 1:
        raise DataError(f"a query has a session at least, with a document: not {sessions} of {depth}")
    if not 0 <= swaps <= 1:
        raise DataError(f"swaps is a share between 0 and 1, not {swaps}")
    draw, told, attractive = MODELS[people], habits or Habits(), attraction_of(data, noise, top)
    shown: list[I64] = []
    clicks: list[NDArray[np.bool_]] = []
    for rows, rng in queries_of(data, seed):
        lists = _lists([ranking[rows] for ranking in rankings], sessions, min(depth, len(rows)), swaps, rng)
        shown.append(rows[lists])
        clicks.append(draw(attractive[rows][lists], told, rng))
    return log_of(data, shown, clicks)


def checked_scores(data: Dataset, scores: NDArray[np.float64]) -> F64:
    """Scores, if there is a finite one for each document."""
    ranking = np.asarray(scores, np.float64)
    if not len(data) or ranking.shape != (len(data),) or not np.isfinite(ranking).all():
        raise DataError(f"a finite score is needed for each of the {len(data):,} documents of {data.name}")
    return ranking


def attraction_of(data: Dataset, noise: float, top: int | None) -> F64:
    """How attractive each document is by its label; `top` None is the highest label there is."""
    highest = int(data.labels.max(initial=0)) if top is None else top
    if highest < 1:
        raise DataError(f"no document of {data.name} is relevant; nobody would click for a reason")
    return attraction(data.labels, noise, highest)


def queries_of(data: Dataset, seed: int) -> Iterator[tuple[I64, np.random.Generator]]:
    """The rows of each query that has any, and its random numbers."""
    for query, (begin, end) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        if end > begin:
            yield np.arange(begin, end), query_numbers(seed, data.query_ids[query])


def query_numbers(seed: int, query: str) -> np.random.Generator:
    """Random numbers that belong to a query."""
    return np.random.default_rng([seed, crc32(query.encode())])


def _lists(
    scores: Sequence[F64], sessions: int, depth: int, swaps: float, rng: np.random.Generator
) -> I64:  # fmt: skip
    """[session, rank]: the documents shown, by their place in the query."""
    orders = np.array([np.argsort(-one, kind="stable")[:depth] for one in scores])
    lists: I64 = orders[rng.integers(len(orders), size=sessions)]
    swapped = np.flatnonzero(rng.random(sessions) < swaps)
    if depth > 1:
        with_rank = rng.integers(1, depth, len(swapped))
        first = lists[swapped, 0].copy()
        lists[swapped, 0] = lists[swapped, with_rank]
        lists[swapped, with_rank] = first
    return lists


def log_of(
    data: Dataset, shown: list[I64], clicks: list[NDArray[np.bool_]], teams: list[NDArray[np.int8]] | None = None
) -> ClickLog:
    """The log of [session, rank] tables of rows, a table a query; its items are all documents of the data set."""
    depths = np.concatenate([np.full(len(table), table.shape[1]) for table in shown])
    offsets = np.concatenate(([0], np.cumsum(depths))).astype(np.int64)
    ranks = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], depths)
    return ClickLog(
        data.query_ids, data.qid(), tuple(names_of(data)), offsets,
        np.concatenate([table.ravel() for table in shown]), ranks.astype(np.int32),
        np.concatenate([table.ravel() for table in clicks]),
        None if teams is None else np.concatenate([table.ravel() for table in teams]),
    )  # fmt: skip
