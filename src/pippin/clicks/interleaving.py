"""Which of two rankings do people prefer? Both are shown as one list, and clicks say whose documents they take.

    team draft       as captains choose teams: the two take turns in random order, each its best document that is left;
                     a click is a point for the team (Radlinski, Kurup & Joachims 2008)
    probabilistic    each rank draws one of the two and a document from its softened ranking; a click is shared by how
                     likely either was to bring the document there (Hofmann, Whiteson & de Rijke 2011)

Sessions of one query are not independent, so that the verdict is over queries: the mean credit of A minus that of B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import TEAMS, ClickLog, summed
from pippin.clicks.models import MODELS, Habits
from pippin.clicks.simulation import attraction_of, checked_scores, log_of, queries_of
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.significance import compare_pair
from pippin.evaluation.value_table import ValueTable

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_SOFTNESS = 3.0  # a document of rank r is drawn by 1 / r ** 3, as Hofmann et al. chose
METHODS = ("team-draft", "probabilistic")


@dataclass(frozen=True)
class Interleaving:
    """What clicks on interleaved lists say of two rankings."""

    names: tuple[str, str]
    method: str
    sessions: int
    wins: tuple[int, int]  # sessions in which either had more credit; the rest are ties
    query_ids: tuple[str, ...]
    values: F64  # by query: mean over its sessions of the outcome, from -1 (B alone) to 1 (A alone)
    difference: float  # the mean of these
    low: float  # its 95 % interval
    high: float
    p: float
    test: str

    @property
    def verdict(self) -> str:
        """Who is preferred, in a sentence."""
        won = f"{self.wins[0]:,} sessions to {self.wins[1]:,}, {self.sessions - sum(self.wins):,} ties"
        told = f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], p = {self.p:.2g} over {len(self.values):,}"
        if not self.p <= 0.05:  # NaN, too
            return f"Neither is preferred for sure: {won}; {told} queries."
        better, other = self.names if self.difference > 0 else self.names[::-1]
        return f"People prefer {better} to {other}: {won}; {told} queries."


def interleave(
    data: Dataset,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    *,
    method: str = "team-draft",
    names: tuple[str, str] = ("A", "B"),
    people: str = "pbm",
    habits: Habits | None = None,
    sessions: int = 10,
    depth: int = 10,
    noise: float = 0.1,
    top: int | None = None,
    seed: int = 1,
    test: str = "randomization",
) -> tuple[Interleaving, ClickLog]:
    """Interleave two rankings of a data set by scores, simulate clicks on the lists, and say who is preferred.

    Arguments are those of `simulate`; `method` is team-draft or probabilistic, `test` one of significance. The log
    tells whose each document was.

    >>> data = Dataset.from_arrays(np.zeros((40, 1)), [0, 1] * 20, np.repeat(range(20), 2))
    >>> found, log = interleave(data, np.arange(40.0), -np.arange(40.0), noise=0.0, sessions=20)
    >>> found.difference > 0.2 and found.p < 0.01
    True
    """
    if method not in METHODS:
        raise UnknownName("method of interleaving", method, METHODS)
    if sessions < 1 or depth < 1:
        raise DataError(f"a query has a session at least, with a document: not {sessions} of {depth}")
    scores = checked_scores(data, a), checked_scores(data, b)
    draw, told, attractive = MODELS[people], habits or Habits(), attraction_of(data, noise, top)
    make = team_draft if method == "team-draft" else probabilistic
    shown, clicks, teams, outcomes = [], [], [], []
    for rows, rng in queries_of(data, seed):
        orders = [np.argsort(-one[rows], kind="stable") for one in scores]
        lists = [make(orders[0], orders[1], min(depth, len(rows)), rng) for _ in range(sessions)]
        documents = np.array([one.documents for one in lists])
        clicked = draw(attractive[rows][documents], told, rng)
        credit = np.array([one.credit for one in lists])
        shown.append(rows[documents])
        clicks.append(clicked)
        teams.append(np.array([one.teams for one in lists], np.int8))
        outcomes.append(_outcomes((credit * clicked).sum(axis=1), ((1.0 - credit) * clicked).sum(axis=1), method))
    log = log_of(data, shown, clicks, teams)
    return _verdict(log, np.concatenate(outcomes), names, method, test, seed), log


def judge_log(log: ClickLog, names: tuple[str, str] = ("A", "B"), test: str = "randomization") -> Interleaving:
    """Who is preferred by a log of interleaved lists that tells whose each document was.

    >>> builder_log = ClickLog.of([("q", ["a", "b"], [True, False])])
    >>> judge_log(builder_log)
    Traceback (most recent call last):
    pippin.errors.DataError: the log does not say whose the documents were; interleaved lists have a column team
    """
    if log.teams is None:
        raise DataError("the log does not say whose the documents were; interleaved lists have a column team")
    session = log.session_of()
    a, b = (summed(session, log.clicks & (log.teams == TEAMS.index(team)), len(log)) for team in "AB")
    return _verdict(log, _outcomes(a, b, "team-draft"), names, "as logged", test, 1)


def _outcomes(a: F64, b: F64, method: str) -> F64:
    """What each session says: its winner (1, 0 or -1) or, of credit in parts, the share of A minus that of B."""
    if method == "team-draft":
        return np.sign(a - b)
    return np.divide(a - b, a + b, out=np.zeros(len(a)), where=a + b > 0)


def _verdict(log: ClickLog, outcomes: F64, names: tuple[str, str], method: str, test: str, seed: int) -> Interleaving:
    query = log.query_of()
    asked = np.unique(query)
    values = summed(query, outcomes)[asked] / np.bincount(query)[asked]
    if len(values) < 2:
        raise DataError("one query is not enough for a verdict; sessions of one query are no independent witnesses")
    if len(set(names)) < 2:
        raise ConventionError(f"both rankings are called {names[0]!r}; tell them apart")
    queries = tuple(log.query_ids[one] for one in asked)
    table = ValueTable(np.stack((values / 2.0, -values / 2.0), 1), queries, names)
    pair = compare_pair(table, *names, test, seed=seed)
    wins = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    return Interleaving(names, method, len(log), wins, queries, values, pair.difference, pair.low, pair.high, pair.p,
                        test)  # fmt: skip


@dataclass(frozen=True)
class Interleaved:
    """One list of two rankings: documents by their places, whose each is (1: A, 2: B), and how much of it is A's."""

    documents: list[int]
    teams: list[int]
    credit: list[float]


def team_draft(a: I64, b: I64, depth: int, rng: np.random.Generator) -> Interleaved:
    """The captains take turns, in random order each time, and take their best document that is left."""
    orders = {1: a.tolist(), 2: b.tolist()}
    documents: list[int] = []
    teams: list[int] = []
    taken: set[int] = set()
    while len(documents) < depth:
        pair = (1, 2) if rng.random() < 0.5 else (2, 1)
        for team in pair[: depth - len(documents)]:
            best = next(document for document in orders[team] if document not in taken)
            taken.add(best)
            documents.append(best)
            teams.append(team)
    return Interleaved(documents, teams, [float(team == 1) for team in teams])


def probabilistic(a: I64, b: I64, depth: int, rng: np.random.Generator) -> Interleaved:
    """Each rank draws a team, and a document of its softened ranking; credit is how likely it was A's."""
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
    return Interleaved(documents, teams, credit)
