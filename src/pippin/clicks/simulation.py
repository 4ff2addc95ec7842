"""Simulate clicks on rankings of labelled documents with a click model.

A click model samples the clicks of many sessions on one ranking from the attractiveness of each document, which
`attraction` computes from labels.

Every query has a random generator of its own, seeded by the seed and the query id, so a part of a data set gets the
same clicks as in the whole data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import ClickLog, document_keys
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.registry import Registry

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Clicks = NDArray[np.bool_]


@dataclass(frozen=True)
class ClickModelParameters:
    """Parameters of click models; each model uses those that it has."""

    eta: float = 1.0  # exponent of the examination probability, (1 / rank) ** eta
    persistence: float = 0.5  # probability of reading on after a click
    trust: float = 0.3  # probability of clicking an irrelevant document at rank 1; trust / k at rank k

    def __post_init__(self) -> None:
        if not 0 <= self.eta < np.inf:
            raise DataError(f"eta must be at least 0, got {self.eta}")
        for name in ("persistence", "trust"):
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{name} must be between 0 and 1, got {getattr(self, name)}")


# (attraction [session, rank], parameters, generator) → clicks [session, rank]
Model = Callable[[F64, ClickModelParameters, np.random.Generator], Clicks]
MODELS: Registry[Model] = Registry("click model")


def examination(ranks: int | NDArray[Any], eta: float) -> F64:
    """Return the examination probability of ranks (or of the ranks up to a number): (1 / rank) ** eta.

    >>> examination(4, 1.0).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """
    rank_numbers = np.arange(1, ranks + 1) if isinstance(ranks, int) else np.asarray(ranks)
    probabilities: F64 = (1.0 / rank_numbers) ** eta
    return probabilities


def attraction(labels: NDArray[np.int32], noise: float, top: int) -> F64:
    """Return the click probability of an examined document: noise + (1 - noise) (2^label - 1) / (2^top - 1).

    Source: Chapelle et al. 2009 for the grades, Ai et al. 2018 for the noise.

    >>> attraction(np.array([0, 1, 2], np.int32), 0.1, 2).round(6).tolist()
    [0.1, 0.4, 1.0]
    """
    if not 0 <= noise < 1:
        raise DataError(f"noise must be at least 0 and below 1, got {noise}")
    grades = np.clip(labels, 0, top).astype(np.float64)
    result: F64 = noise + (1.0 - noise) * (2.0**grades - 1.0) / (2.0**top - 1.0)
    return result


def pbm(attraction: F64, parameters: ClickModelParameters, rng: np.random.Generator) -> Clicks:
    """Position-based model: each rank is examined independently of other clicks (Richardson et al. 2007)."""
    examined = examination(attraction.shape[1], parameters.eta)
    clicks: Clicks = rng.random(attraction.shape) < examined * attraction
    return clicks


def cascade(attraction: F64, parameters: ClickModelParameters, rng: np.random.Generator) -> Clicks:
    """Cascade model: users read from the top, click the first attractive document and stop (Craswell et al. 2008)."""
    attracts: Clicks = rng.random(attraction.shape) < attraction
    first: Clicks = attracts & (np.cumsum(attracts, axis=1) == 1)
    return first


def dcm(attraction: F64, parameters: ClickModelParameters, rng: np.random.Generator) -> Clicks:
    """Dependent click model: a cascade that goes on after a click with `persistence` (Guo et al. 2009)."""
    attracts: Clicks = rng.random(attraction.shape) < attraction
    leaves: Clicks = attracts & (rng.random(attraction.shape) >= parameters.persistence)
    times_left = np.cumsum(leaves, axis=1)  # at this rank or before it
    clicks: Clicks = attracts & (times_left == leaves)
    return clicks


def trust(attraction: F64, parameters: ClickModelParameters, rng: np.random.Generator) -> Clicks:
    """Position-based model in which high ranks attract clicks themselves (trust bias, Agarwal et al. 2019)."""
    ranks = np.arange(1, attraction.shape[1] + 1)
    return pbm(attraction + (1.0 - attraction) * parameters.trust / ranks, parameters, rng)


for _model in (pbm, cascade, dcm, trust):
    MODELS.register(_model.__name__, _model)


def simulate(
    data: Dataset,
    scores: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    *,
    click_model: str = "pbm",
    parameters: ClickModelParameters | None = None,
    sessions: int = 10,
    depth: int = 10,
    noise: float = 0.1,
    swap_rate: float = 0.0,
    top: int | None = None,
    seed: int = 1,
) -> ClickLog:
    """Simulate clicks on a data set that is ranked by scores.

    Parameters
    ----------
    data : Dataset
        Documents with labels, from which clicks are sampled.
    scores : array of shape (documents,), or a list of such arrays
        Documents are ranked by these scores; with several rankings, each session samples one.
    click_model : {"pbm", "cascade", "dcm", "trust"}, default "pbm"
        How users examine and click; see `ClickModelParameters`.
    parameters : ClickModelParameters, optional
        Parameters of the click model.
    sessions : int, default 10
        Sessions per query.
    depth : int, default 10
        Documents shown per session.
    noise : float, default 0.1
        Probability of a click on an examined document without any relevance.
    swap_rate : float, default 0.0
        Share of the sessions in which the first document is swapped with one of a random rank.
    top : int, optional
        Label of a document that is always clicked if it is examined. Default: the highest label of the data.
    seed : int, default 1
        Seed of the clicks.

    Returns
    -------
    ClickLog
        The simulated sessions.

    Raises
    ------
    DataError
        If the scores do not fit the data, no document is relevant, or a parameter is out of range.

    Examples
    --------
    >>> data = Dataset.from_arrays(np.zeros((3, 1)), [0, 2, 1], [1, 1, 1])
    >>> log = simulate(data, np.array([3.0, 2.0, 1.0]), sessions=1000, noise=0.0, seed=1)
    >>> counts = log.counts()
    >>> (counts.clicks / counts.views).round(2).tolist()  # 0, 1/2 · 1 and 1/3 · 1/3
    [0.0, 0.51, 0.12]
    """
    rankings = [check_scores(data, ranking) for ranking in ([scores] if isinstance(scores, np.ndarray) else scores)]
    if not rankings:
        raise DataError("no scores: at least one ranking is needed")
    if sessions < 1 or depth < 1:
        raise DataError(f"sessions and depth must be at least 1, got {sessions} and {depth}")
    if not 0 <= swap_rate <= 1:
        raise DataError(f"swap_rate must be between 0 and 1, got {swap_rate}")
    draw, parameters, attractive = (
        MODELS[click_model],
        parameters or ClickModelParameters(),
        document_attraction(data, noise, top),
    )
    documents_shown: list[I64] = []
    clicks: list[NDArray[np.bool_]] = []
    for rows, rng in iter_queries(data, seed):
        lists = _lists([ranking[rows] for ranking in rankings], sessions, min(depth, len(rows)), swap_rate, rng)
        documents_shown.append(rows[lists])
        clicks.append(draw(attractive[rows][lists], parameters, rng))
    return make_log(data, documents_shown, clicks)


def check_scores(data: Dataset, scores: NDArray[np.float64]) -> F64:
    """Return the scores; raise DataError unless every document has a finite one."""
    ranking = np.asarray(scores, np.float64)
    if not len(data) or ranking.shape != (len(data),) or not np.isfinite(ranking).all():
        raise DataError(f"scores must be {len(data):,} finite numbers, one for each document of {data.name}")
    return ranking


def document_attraction(data: Dataset, noise: float, top: int | None) -> F64:
    """Return the attractiveness of each document; `top` is the label with attractiveness 1, by default the highest."""
    highest = int(data.labels.max(initial=0)) if top is None else top
    if highest < 1:
        raise DataError(f"no document of {data.name} is relevant, so clicks would be noise only")
    return attraction(data.labels, noise, highest)


def iter_queries(data: Dataset, seed: int) -> Iterator[tuple[I64, np.random.Generator]]:
    """Yield the rows and the random generator of each query that has documents."""
    for query, (begin, end) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        if end > begin:
            yield np.arange(begin, end), query_rng(seed, data.query_ids[query])


def query_rng(seed: int, query: str) -> np.random.Generator:
    """Return the random generator of a query."""
    return np.random.default_rng([seed, crc32(query.encode())])


def _lists(
    scores: Sequence[F64], sessions: int, depth: int, swap_rate: float, rng: np.random.Generator
) -> I64:  # fmt: skip
    """Return the documents shown [session, rank], by position in the query."""
    orders = np.array([np.argsort(-score, kind="stable")[:depth] for score in scores])
    lists: I64 = orders[rng.integers(len(orders), size=sessions)]
    swapped = np.flatnonzero(rng.random(sessions) < swap_rate)
    if depth > 1:
        with_rank = rng.integers(1, depth, len(swapped))
        first = lists[swapped, 0].copy()
        lists[swapped, 0] = lists[swapped, with_rank]
        lists[swapped, with_rank] = first
    return lists


def make_log(
    data: Dataset,
    documents_shown: list[I64],
    clicks: list[NDArray[np.bool_]],
    teams: list[NDArray[np.int8]] | None = None,
) -> ClickLog:
    """Return the log of one [session, rank] table of rows per query; its items are all documents of the data set."""
    depths = np.concatenate([np.full(len(table), table.shape[1]) for table in documents_shown])
    offsets = np.concatenate(([0], np.cumsum(depths))).astype(np.int64)
    ranks = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], depths)
    return ClickLog(
        data.query_ids, data.qid(), tuple(document_keys(data)), offsets,
        np.concatenate([table.ravel() for table in documents_shown]), ranks.astype(np.int32),
        np.concatenate([table.ravel() for table in clicks]),
        None if teams is None else np.concatenate([table.ravel() for table in teams]),
    )  # fmt: skip
