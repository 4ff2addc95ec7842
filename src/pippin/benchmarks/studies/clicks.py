"""Tables of learning from clicks: closed gaps, other libraries, accuracy of propensities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.inputs import Input, open_source_folds
from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.store import Results
from pippin.benchmarks.studies.baselines import closed_share, format_p
from pippin.clicks.logs import ClickLog
from pippin.clicks.propensity import METHODS, propensities
from pippin.clicks.simulation import examination
from pippin.data.dataset import Dataset
from pippin.data.folds import Fold
from pippin.dependencies import missing_modules
from pippin.display.tables import Table
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable
from pippin.rankers.steps.clicks import Clicks

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Predict = Callable[[Dataset, int], F64]  # scores of a data set by the first n trees
MAX_TREES = 100  # of other libraries, which train on a row per impression
_NAIVE = "clicks(naive) > lambdamart"
_ALPHA = 0.05  # level at which labels beat naive clicks, so that there is a gap to close
_SEEDS = 3  # logs per estimate of propensities


def gap_table(
    results: Results, inputs: Sequence[Input], lines: Sequence[tuple[str, Sequence[str], str]], measure: str
) -> Table:
    """Return the share of the gap between naive clicks and labels that rankers close, by data set.

    `lines` are triples of the naive ranker, the rankers between, and the ranker trained on labels.
    """
    rows: list[list[str]] = []
    for source in inputs:
        board = leaderboard(results, source.data, measure, "official")
        for naive, between, labels in lines:
            available = [name for name in (naive, *between, labels) if name in board.by_ranker]
            if naive in available and labels in available:
                values = {name: board.values[:, board.rankers.index(name)] for name in available}
                rows += _gap_rows(source.data, values, naive, labels)
    header = ["data", "ranker", "labels − naive clicks", "p", "closed"]
    notes = ["Closed: the share of the gap between naive clicks and labels, if the gap is significant (t over queries, "
             "0.05), with a 95 % bootstrap interval over queries."]  # fmt: skip
    return Table(header, rows, text_columns=2, repeated_columns=2, notes=notes)


def _gap_rows(data: str, values: Mapping[str, F64], naive: str, labels: str) -> Iterator[list[str]]:
    p, gap = p_values_against(values, naive)[labels], np.nanmean(values[labels] - values[naive])
    for name, line in values.items():
        if name not in (naive, labels):
            share = str(closed_share(line, values[naive], values[labels])) if gap > 0 and p <= _ALPHA else "no gap"
            yield [data, name, f"{gap:+.4f}", format_p(p), share]


def p_values_against(values: Mapping[str, F64], baseline: str) -> dict[str, float]:
    """Return the p-value of every system against the baseline: t over common queries, corrected by Holm."""
    table = np.stack(list(values.values()), axis=1)
    ids = [str(i) for i in range(len(table))]
    rows = ValueTable.from_arrays(table, systems=list(values), query_ids=ids, undefined="drop")
    return {pair.a: pair.p_adjusted for pair in compare_systems(rows, "t", baseline=baseline, power=None).pairs}


def peers_table(results: Results, inputs: Sequence[Input], ours: Sequence[str], labels: str, measure: str) -> Table:
    """Compare the click rankers of other libraries with ours on the same clicks (the first seed)."""
    rows, installed = [], {name: peer for name, peer in PEERS.items() if not missing_modules(peer[0])}
    for source in inputs:
        board = leaderboard(results, source.data, measure, "official")
        if not {_NAIVE, labels} <= set(board.by_ranker):
            continue
        values: dict[str, dict[str, float]] = {
            name: board.by_query(name) for name in (*ours, labels) if name in board.by_ranker
        }
        for name, (_, train_trees, debiased) in installed.items():
            values[name] = {}
            for fold in open_source_folds(source):
                values[name] |= _evaluate_fold(fold, train_trees, debiased, measure)
        rows += _peer_rows(source.data, values, labels)
    absent = [name for name in PEERS if name not in installed]
    notes = ["The same clicks for all, 100 sessions per query; means over all test queries, p against naive clicks "
             "(t over queries, Holm)."]  # fmt: skip
    notes += [f"Not installed: {', '.join(absent)}."] if absent else []
    return Table(["data", "line", measure, "p", "closed"], rows, text_columns=2, repeated_columns=2, notes=notes)


def _peer_rows(data: str, values: Mapping[str, Mapping[str, float]], labels: str) -> list[list[str]]:
    queries = list(values[_NAIVE])
    table = {name: np.array([line.get(query, np.nan) for query in queries]) for name, line in values.items()}
    p_values = p_values_against(table, _NAIVE)
    has_gap = p_values[labels] <= _ALPHA and np.nanmean(table[labels] - table[_NAIVE]) > 0
    rows = []
    for name, line in table.items():
        p = "" if name == _NAIVE else format_p(p_values[name])
        share = "" if name in (_NAIVE, labels) or not has_gap else str(closed_share(line, table[_NAIVE], table[labels]))
        rows.append([data, name, f"{np.nanmean(line):.4f}", p, share])
    return rows


def _evaluate_fold(fold: Fold, train_trees: Callable[..., Predict], debiased: bool, measure: str) -> dict[str, float]:
    """Train another library on a fold's clicks and return the values of its test queries."""
    train, vali, test = fold["train"], fold["vali"], fold["test"]
    step = Clicks()
    scores = select_trees(train, vali, step.log(train), train_trees, debiased, step.sessions, measure)(test)
    values = Objective(test, measure, "official").values(scores)
    return {f"{fold.name}/{query}": float(value) for query, value in zip(test.query_ids, values, strict=True)}


def select_trees(
    train: Dataset, vali: Dataset, log: ClickLog, train_trees: Callable[..., Predict], debiased: bool, sessions: int,
    measure: str,
) -> Callable[[Dataset], F64]:  # fmt: skip
    """Train another library on a log and select the number of trees on the validation part."""
    features = np.asarray(train.features, np.float32)[log.rows_in(train)[log.items]]
    predict = train_trees(features, log.clicks.astype(int), log.ranks, np.diff(log.offsets), debiased, 20 * sessions)
    judge = Objective(vali, measure, "official")
    n_trees = max(range(5, MAX_TREES + 1, 5), key=lambda trees: judge.mean(predict(vali, trees)))
    return lambda data: predict(data, n_trees)


def train_lightgbm(X: Any, y: Any, ranks: Any, sizes: Any, debiased: bool, min_rows: int) -> Predict:
    """Train LightGBM with at least `min_rows` rows per leaf."""
    import lightgbm

    data = lightgbm.Dataset(X, y, group=sizes, position=ranks - 1 if debiased else None)
    settings = {"objective": "lambdarank", "learning_rate": 0.1, "num_leaves": 10, "min_data_in_leaf": min_rows,
                "label_gain": [0, 1], "verbosity": -1, "num_threads": 1, "deterministic": True, "seed": 1}  # fmt: skip
    booster = lightgbm.train(settings, data, MAX_TREES)
    return lambda part, trees: np.asarray(booster.predict(part.features, num_iteration=trees), np.float64)


def train_xgboost(X: Any, y: Any, ranks: Any, sizes: Any, debiased: bool, min_rows: int) -> Predict:
    """Train XGBoost, which takes the order of a group's rows as their ranks."""
    import importlib

    xgboost: Any = importlib.import_module("xgboost")
    data = xgboost.DMatrix(X, y, qid=np.repeat(np.arange(len(sizes)), sizes))
    settings = {"objective": "rank:ndcg", "eta": 0.1, "grow_policy": "lossguide", "max_leaves": 10, "max_depth": 0,
                "tree_method": "hist", "ndcg_exp_gain": False, "lambdarank_unbiased": debiased, "nthread": 1,
                "seed": 1}  # fmt: skip
    booster = xgboost.Booster(settings, [data])
    for round_ in range(MAX_TREES):
        booster.update(data, round_)

    def scores(part: Dataset, trees: int) -> F64:
        table = xgboost.DMatrix(np.asarray(part.features))
        return np.asarray(booster.predict(table, iteration_range=(0, trees)), np.float64)

    return scores


# Name → module, training function, and whether it corrects position bias
PEERS: Mapping[str, tuple[str, Callable[..., Predict], bool]] = {
    "LightGBM lambdarank": ("lightgbm", train_lightgbm, False),
    "LightGBM, position": ("lightgbm", train_lightgbm, True),
    "XGBoost rank:ndcg": ("xgboost", train_xgboost, False),
    "XGBoost, lambdarank_unbiased": ("xgboost", train_xgboost, True),
}


def propensities_table(inputs: Sequence[Input], swaps: Sequence[float] = (0.1, 1.0)) -> Table:
    """Return the errors of estimated propensities on the training part of each data set's first fold."""
    rows = []
    for source in inputs:
        train = next(iter(open_source_folds(source)))["train"]
        for share in swaps:
            logs = [Clicks(swap_rate=share, seed=seed).log(train) for seed in range(1, _SEEDS + 1)]
            clicks = np.mean([int(log.clicks.sum()) for log in logs])
            errors = [cell for method in METHODS for cell in _errors(logs, method, train)]
            rows.append([source.data, f"{share:.0%}", f"{clicks:,.0f}", *errors])
    header = ["data", "swapped sessions", "clicks", *(head for method in METHODS for head in (method, "worst"))]
    notes = [f"Relative errors over ranks 2 to 10 of position-based users with eta 1, 100 sessions per query: mean and "
             f"worst rank over {_SEEDS} seeds."]  # fmt: skip
    return Table(header, rows, text_columns=1, notes=notes)


def _errors(logs: Sequence[ClickLog], method: str, train: Dataset) -> Iterator[str]:
    """Yield the mean and the worst relative error of a method, or "refused"."""
    errors = []
    for log in logs:
        try:
            values = propensities(log, method, data=train if method == "regression" else None).values
        except DataError:  # a rank without clicks, or no document was moved
            yield from ("refused", "")
            return
        errors.append(np.abs(values / examination(len(values), 1.0) - 1)[1:])
    yield f"{100 * np.mean(errors):.1f}%"
    yield f"{100 * np.max(errors):.1f}%"
