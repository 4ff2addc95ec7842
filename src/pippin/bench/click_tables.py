"""What directions of research count of clicks: the gap that is closed, other libraries, and how near propensities are.

Other libraries learn from the same clicks as the lines of the benchmark, a row for every document shown, as their users
have them: LightGBM with and without `position`, XGBoost with and without `lambdarank_unbiased`. They have trees of as
many leaves as ours at most, and the validation part chooses how many trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.bench.gaps import chance, closed
from pippin.bench.inputs import Input, opened_folds
from pippin.bench.leaderboard import leaderboard
from pippin.bench.store import Results
from pippin.clicks.log import ClickLog
from pippin.clicks.models import examination
from pippin.clicks.propensity import METHODS, propensities
from pippin.data.dataset import Dataset
from pippin.data.folds import Fold
from pippin.errors import DataError
from pippin.evaluation.objective import Judge
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable
from pippin.extras import lacking
from pippin.rankers.steps.clicks import Clicks
from pippin.tables import Table

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Grown = Callable[[Dataset, int], F64]  # scores of a data set by so many trees
TREES = 100  # of others at most, at rate 0.1: they have a row for every document shown, and take their time
_NAIVE = "clicks(naive) > lambdamart"
_ALPHA = 0.05  # below which labels are ahead of naive clicks, so that there is a gap to close
_SEEDS = 3  # logs that propensities are estimated of


def gap_table(
    results: Results, inputs: Sequence[Input], lines: Sequence[tuple[str, Sequence[str], str]], measure: str
) -> Table:
    """By data set: how much of the gap between a naive line and labels each line closes; `lines` are naive, those
    between, and labels.
    """
    rows: list[list[str]] = []
    for source in inputs:
        board = leaderboard(results, source.data, measure, "official")
        for naive, between, labels in lines:
            there = [one for one in (naive, *between, labels) if one in board.by_ranker]
            if naive in there and labels in there:
                values = {one: board.values[:, board.rankers.index(one)] for one in there}
                rows += _gap_rows(source.data, values, naive, labels)
    heads = ["data", "ranker", "labels against naive clicks", "p", "closed"]
    notes = ["Closed: the part of the gap between clicks at their word and labels, where there is one (t over queries, "
             "0.05), with a 95 % interval that draws queries anew."]  # fmt: skip
    return Table(heads, rows, names=2, keys=2, notes=notes)


def _gap_rows(data: str, values: Mapping[str, F64], naive: str, labels: str) -> Iterator[list[str]]:
    p, gap = tested_against(values, naive)[labels], np.nanmean(values[labels] - values[naive])
    for name, own in values.items():
        if name not in (naive, labels):
            share = str(closed(own, values[naive], values[labels])) if gap > 0 and p <= _ALPHA else "no gap"
            yield [data, name, f"{gap:+.4f}", chance(p), share]


def tested_against(values: Mapping[str, F64], baseline: str) -> dict[str, float]:
    """p of every line against the baseline, t over the queries that all have a value for, after Holm."""
    table = np.stack(list(values.values()), axis=1)
    ids = [str(i) for i in range(len(table))]
    rows = ValueTable.from_arrays(table, systems=list(values), query_ids=ids, undefined="drop")
    return {pair.a: pair.p_adjusted for pair in compare_systems(rows, "t", baseline=baseline, power=None).pairs}


def peers_table(results: Results, inputs: Sequence[Input], ours: Sequence[str], labels: str, measure: str) -> Table:
    """Other libraries' ways with clicks beside ours, on the very clicks of our lines (their first seed)."""
    rows, known = [], {name: peer for name, peer in PEERS.items() if not lacking(peer[0])}
    for source in inputs:
        board = leaderboard(results, source.data, measure, "official")
        if not {_NAIVE, labels} <= set(board.by_ranker):
            continue
        values: dict[str, dict[str, float]] = {
            one: board.by_query(one) for one in (*ours, labels) if one in board.by_ranker
        }
        for name, (_, grow, debiased) in known.items():
            values[name] = {}
            for fold in opened_folds(source):
                values[name] |= _judged(fold, grow, debiased, measure)
        rows += _peer_rows(source.data, values, labels)
    without = [name for name in PEERS if name not in known]
    notes = ["The same clicks for all, 100 sessions a query; means over all test queries, p against clicks at their "
             "word (t over queries, Holm)."]  # fmt: skip
    notes += [f"Not installed, and left out: {', '.join(without)}."] if without else []
    return Table(["data", "line", measure, "p", "closed"], rows, names=2, keys=2, notes=notes)


def _peer_rows(data: str, values: Mapping[str, Mapping[str, float]], labels: str) -> list[list[str]]:
    queries = list(values[_NAIVE])
    table = {name: np.array([own.get(query, np.nan) for query in queries]) for name, own in values.items()}
    tested = tested_against(table, _NAIVE)
    open_ = tested[labels] <= _ALPHA and np.nanmean(table[labels] - table[_NAIVE]) > 0
    rows = []
    for name, own in table.items():
        p = "" if name == _NAIVE else chance(tested[name])
        share = "" if name in (_NAIVE, labels) or not open_ else str(closed(own, table[_NAIVE], table[labels]))
        rows.append([data, name, f"{np.nanmean(own):.4f}", p, share])
    return rows


def _judged(fold: Fold, grow: Callable[..., Grown], debiased: bool, measure: str) -> dict[str, float]:
    """The values of a fold's test queries."""
    train, vali, test = fold["train"], fold["vali"], fold["test"]
    step = Clicks()
    scores = chosen_trees(train, vali, step.log(train), grow, debiased, step.sessions, measure)(test)
    found = Judge(test, measure, "official").values(scores)
    return {f"{fold.name}/{query}": float(value) for query, value in zip(test.query_ids, found, strict=True)}


def chosen_trees(
    train: Dataset, vali: Dataset, log: ClickLog, grow: Callable[..., Grown], debiased: bool, sessions: int,
    measure: str,
) -> Callable[[Dataset], F64]:  # fmt: skip
    """What another library learns from a log; the validation part says how many trees."""
    features = np.asarray(train.features, np.float32)[log.rows_in(train)[log.items]]
    grown = grow(features, log.clicks.astype(int), log.ranks, np.diff(log.offsets), debiased, 20 * sessions)
    judge = Judge(vali, measure, "official")
    best = max(range(5, TREES + 1, 5), key=lambda trees: judge.mean(grown(vali, trees)))
    return lambda data: grown(data, best)


def by_lightgbm(X: Any, y: Any, ranks: Any, sizes: Any, debiased: bool, least: int) -> Grown:
    """So many trees of LightGBM; `least` rows are in a leaf."""
    import lightgbm

    data = lightgbm.Dataset(X, y, group=sizes, position=ranks - 1 if debiased else None)
    settings = {"objective": "lambdarank", "learning_rate": 0.1, "num_leaves": 10, "min_data_in_leaf": least,
                "label_gain": [0, 1], "verbosity": -1, "num_threads": 1, "deterministic": True, "seed": 1}  # fmt: skip
    booster = lightgbm.train(settings, data, TREES)
    return lambda part, trees: np.asarray(booster.predict(part.features, num_iteration=trees), np.float64)


def by_xgboost(X: Any, y: Any, ranks: Any, sizes: Any, debiased: bool, least: int) -> Grown:
    """So many trees of XGBoost; rows of a group stand as they were shown, which is where it takes positions from."""
    import importlib

    xgboost: Any = importlib.import_module("xgboost")
    data = xgboost.DMatrix(X, y, qid=np.repeat(np.arange(len(sizes)), sizes))
    settings = {"objective": "rank:ndcg", "eta": 0.1, "grow_policy": "lossguide", "max_leaves": 10, "max_depth": 0,
                "tree_method": "hist", "ndcg_exp_gain": False, "lambdarank_unbiased": debiased, "nthread": 1,
                "seed": 1}  # fmt: skip
    booster = xgboost.Booster(settings, [data])
    for round_ in range(TREES):
        booster.update(data, round_)

    def scores(part: Dataset, trees: int) -> F64:
        table = xgboost.DMatrix(np.asarray(part.features))
        return np.asarray(booster.predict(table, iteration_range=(0, trees)), np.float64)

    return scores


# What it is called → the module, how it is grown, and whether it debiases
PEERS: Mapping[str, tuple[str, Callable[..., Grown], bool]] = {
    "LightGBM lambdarank": ("lightgbm", by_lightgbm, False),
    "LightGBM, position": ("lightgbm", by_lightgbm, True),
    "XGBoost rank:ndcg": ("xgboost", by_xgboost, False),
    "XGBoost, lambdarank_unbiased": ("xgboost", by_xgboost, True),
}


def propensities_table(inputs: Sequence[Input], swaps: Sequence[float] = (0.1, 1.0)) -> Table:
    """How far estimated propensities are from the truth, on the training part of each data set's first fold."""
    rows = []
    for source in inputs:
        train = next(iter(opened_folds(source)))["train"]
        for share in swaps:
            logs = [Clicks(swaps=share, seed=seed).log(train) for seed in range(1, _SEEDS + 1)]
            clicks = np.mean([int(log.clicks.sum()) for log in logs])
            errors = [cell for method in METHODS for cell in _errors(logs, method, train)]
            rows.append([source.data, f"{share:.0%}", f"{clicks:,.0f}", *errors])
    heads = ["data", "swapped sessions", "clicks", *(head for method in METHODS for head in (method, "worst"))]
    notes = [f"Relative errors over ranks 2 to 10, people by position with eta 1, 100 sessions a query: the mean, and "
             f"the worst rank, over {_SEEDS} seeds."]  # fmt: skip
    return Table(heads, rows, names=1, notes=notes)


def _errors(logs: Sequence[ClickLog], method: str, train: Dataset) -> Iterator[str]:
    """The mean and the worst relative error of a method; why there is none."""
    found = []
    for log in logs:
        try:
            values = propensities(log, method, data=train if method == "regression" else None).values
        except DataError:  # some rank had no click, or no document moved
            yield from ("refused", "")
            return
        found.append(np.abs(values / examination(len(values), 1.0) - 1)[1:])
    yield f"{100 * np.mean(found):.1f}%"
    yield f"{100 * np.max(found):.1f}%"
