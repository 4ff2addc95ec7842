"""Compare two rankings by clicks on interleaved lists.

    team draft       the rankings take turns in random order, each adding its best remaining document; a click is a
                     point for the ranking that added the document (Radlinski, Kurup & Joachims 2008)
    probabilistic    each rank draws one ranking and a document from its softened distribution; the credit of a click is
                     the probability that either ranking contributed it (Hofmann, Whiteson & de Rijke 2011)

Sessions of one query are not independent, so the test is over queries: mean credit of A minus mean credit of B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import TEAMS, ClickLog, group_sum
from pippin.clicks.simulation import (
    MODELS,
    ClickModelParameters,
    check_scores,
    document_attraction,
    iter_queries,
    make_log,
)
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.significance import compare_pair
from pippin.evaluation.value_table import ValueTable

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_SOFTNESS = 3.0  # exponent of the softened distribution, 1 / rank ** 3 (Hofmann et al. 2011, section 4)
METHODS = ("team-draft", "probabilistic")


@dataclass(frozen=True)
class Interleaving:
    """The result of an interleaved comparison."""

    names: tuple[str, str]
    method: str
    sessions: int
    wins: tuple[int, int]  # sessions that A and B won; the remaining sessions are ties
    query_ids: tuple[str, ...]
    values: F64  # [query] mean outcome of the query's sessions, from -1 (all credit to B) to 1 (all credit to A)
    difference: float  # mean of `values`
    low: float  # 95 % interval of `difference`
    high: float
    p: float
    test: str

    @property
    def verdict(self) -> str:
        """Return the result as a sentence."""
        won = f"{self.wins[0]:,} sessions to {self.wins[1]:,}, {self.sessions - sum(self.wins):,} ties"
        description = (
            f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], p = {self.p:.2g} over {len(self.values):,}"
        )
        if not self.p <= 0.05:  # NaN, too
            return f"No significant preference: {won}; {description} queries."
        better, worse = self.names if self.difference > 0 else self.names[::-1]
        return f"Users prefer {better} to {worse}: {won}; {description} queries."


def interleave(
    data: Dataset,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    *,
    method: str = "team-draft",
    names: tuple[str, str] = ("A", "B"),
    click_model: str = "pbm",
    parameters: ClickModelParameters | None = None,
    sessions: int = 10,
    depth: int = 10,
    noise: float = 0.1,
    top: int | None = None,
    seed: int = 1,
    test: str = "randomization",
) -> tuple[Interleaving, ClickLog]:
    """Compare two rankings of a data set by simulated clicks on interleaved lists.

    Parameters
    ----------
    data : Dataset
        Documents with labels, from which clicks are sampled.
    a, b : array of shape (documents,)
        Scores of the two rankings.
    method : {"team-draft", "probabilistic"}, default "team-draft"
    names : (str, str), default ("A", "B")
        Names of the rankings in the result.
    click_model, parameters, sessions, depth, noise, top, seed
        As in `simulate`.
    test : str, default "randomization"
        Significance test over queries; see `pippin.compare`.

    Returns
    -------
    Interleaving
        Wins, difference, interval and p-value.
    ClickLog
        The sessions, with the team of each document.

    Raises
    ------
    DataError
        If scores do not fit the data, or only one query has documents.

    Examples
    --------
    >>> data = Dataset.from_arrays(np.zeros((40, 1)), [0, 1] * 20, np.repeat(range(20), 2))
    >>> result, log = interleave(data, np.arange(40.0), -np.arange(40.0), noise=0.0, sessions=20)
    >>> result.difference > 0.2 and result.p < 0.01
    True
    """
    if method not in METHODS:
        raise UnknownName("method of interleaving", method, METHODS)
    if sessions < 1 or depth < 1:
        raise DataError(f"sessions and depth must be at least 1, got {sessions} and {depth}")
    scores = check_scores(data, a), check_scores(data, b)
    draw, parameters, attractive = (
        MODELS[click_model],
        parameters or ClickModelParameters(),
        document_attraction(data, noise, top),
    )
    interleave_once = team_draft if method == "team-draft" else probabilistic
    documents_shown, clicks, teams, outcomes = [], [], [], []
    for rows, rng in iter_queries(data, seed):
        orders = [np.argsort(-score[rows], kind="stable") for score in scores]
        lists = [interleave_once(orders[0], orders[1], min(depth, len(rows)), rng) for _ in range(sessions)]
        documents = np.array([interleaved.documents for interleaved in lists])
        clicked = draw(attractive[rows][documents], parameters, rng)
        credit = np.array([interleaved.credit for interleaved in lists])
        documents_shown.append(rows[documents])
        clicks.append(clicked)
        teams.append(np.array([interleaved.teams for interleaved in lists], np.int8))
        outcomes.append(_outcomes((credit * clicked).sum(axis=1), ((1.0 - credit) * clicked).sum(axis=1), method))
    log = make_log(data, documents_shown, clicks, teams)
    return _compare(log, np.concatenate(outcomes), names, method, test, seed), log


def compare_log(log: ClickLog, names: tuple[str, str] = ("A", "B"), test: str = "randomization") -> Interleaving:
    """Compare two rankings by a log of interleaved lists with a team for each document.

    Parameters
    ----------
    log : ClickLog
        Interleaved lists with the team of each document.
    names : tuple of str, default ("A", "B")
        Names of the two rankings.
    test : str, default "randomization"
        Significance test over queries.

    Returns
    -------
    Interleaving
        Wins of both rankings, with interval and test.

    Examples
    --------
    >>> builder_log = ClickLog.of([("q", ["a", "b"], [True, False])])
    >>> compare_log(builder_log)
    Traceback (most recent call last):
    pippin.errors.DataError: the log has no column "team": log interleaved lists with the team of each document
    """
    if log.teams is None:
        raise DataError('the log has no column "team": log interleaved lists with the team of each document')
    session = log.session_of()
    a, b = (group_sum(session, log.clicks & (log.teams == TEAMS.index(team)), len(log)) for team in "AB")
    return _compare(log, _outcomes(a, b, "team-draft"), names, "as logged", test, 1)


def _outcomes(a: F64, b: F64, method: str) -> F64:
    """Return the outcome of each session: the winner (1, 0 or -1), or A's share of the credit minus B's."""
    if method == "team-draft":
        return np.sign(a - b)
    return np.divide(a - b, a + b, out=np.zeros(len(a)), where=a + b > 0)


def _compare(log: ClickLog, outcomes: F64, names: tuple[str, str], method: str, test: str, seed: int) -> Interleaving:
    query = log.query_of()
    queries_with_sessions = np.unique(query)
    values = group_sum(query, outcomes)[queries_with_sessions] / np.bincount(query)[queries_with_sessions]
    if len(values) < 2:
        raise DataError(
            "one query is not enough to compare rankings: its sessions are not independent. Log more queries"
        )
    if len(set(names)) < 2:
        raise ConventionError(f"both rankings are called {names[0]!r}: give them different names")
    queries = tuple(log.query_ids[query] for query in queries_with_sessions)
    table = ValueTable(np.stack((values / 2.0, -values / 2.0), 1), queries, names)
    pair = compare_pair(table, *names, test, seed=seed)
    wins = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    return Interleaving(names, method, len(log), wins, queries, values, pair.difference, pair.low, pair.high, pair.p,
                        test)  # fmt: skip


@dataclass(frozen=True)
class InterleavedList:
    """An interleaved list: documents by position in the query, their teams (1: A, 2: B), and A's share of each."""

    documents: list[int]
    teams: list[int]
    credit: list[float]


def team_draft(a: I64, b: I64, depth: int, rng: np.random.Generator) -> InterleavedList:
    """Interleave by team draft: both rankings add their best remaining document, in random order each time."""
    orders = {1: a.tolist(), 2: b.tolist()}
    documents: list[int] = []
    teams: list[int] = []
    used: set[int] = set()
    while len(documents) < depth:
        pair = (1, 2) if rng.random() < 0.5 else (2, 1)
        for team in pair[: depth - len(documents)]:
            best = next(document for document in orders[team] if document not in used)
            used.add(best)
            documents.append(best)
            teams.append(team)
    return InterleavedList(documents, teams, [float(team == 1) for team in teams])


def probabilistic(a: I64, b: I64, depth: int, rng: np.random.Generator) -> InterleavedList:
    """Interleave at random: each rank draws a team and a document of its softened distribution."""
    chances = np.zeros((2, len(a)))
    for team, order in enumerate((a, b)):
        chances[team, order] = 1.0 / np.arange(1, len(order) + 1) ** _SOFTNESS
    documents: list[int] = []
    teams: list[int] = []
    credit: list[float] = []
    for _ in range(depth):
        shares = chances / chances.sum(axis=1, keepdims=True)
        team = int(rng.random() < 0.5)
        best = min(int(np.searchsorted(np.cumsum(shares[team]), rng.random(), side="right")), len(a) - 1)
        documents.append(best)
        teams.append(team + 1)
        credit.append(float(shares[0, best] / shares[:, best].sum()))
        chances[:, best] = 0.0
    return InterleavedList(documents, teams, credit)
