"""Measure learning from clicks: propensities, rankers, peers and interleaving.

    python benchmarks/clicks.py MQ2008 [propensities] [learning] [peers] [interleaving] [selection] [--seeds 3]
        [--sessions 100] [--worlds cascade …] [--rankers ranksvm …]

MQ2008 is a folder with folds, or with S1.txt … S5.txt. Clicks are simulated from training labels alone, on the lists of
a RankSVM that saw five queries. Rounds and C are chosen on the validation part by NDCG@10 (official). Values are means
over all test queries and seeds; `closed` is the part of the gap between naive clicks and true labels that is closed,
with a 95 % interval by drawing queries anew; p is of a paired randomisation test against naive, after Holm.
`selection` uses `synthetic_sets.letor_like` instead: curves over the number of sessions, with true propensities,
complete lists and no clipping as controls.
Peers learn from one row per document shown; their number of trees is chosen on the same validation part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from synthetic_sets import letor_like

from pippin.benchmarks.studies.baselines import closed_share
from pippin.benchmarks.studies.clicks import PEERS, Predict, select_trees
from pippin.clicks.interleaving import interleave
from pippin.clicks.logs import ClickLog
from pippin.clicks.propensity import propensities
from pippin.clicks.simulation import examination
from pippin.data.dataset import Dataset, concatenate
from pippin.data.fold_files import read_folds
from pippin.data.inputs import coerce_judgements
from pippin.evaluation.objective import Objective
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable
from pippin.rankers import LambdaMART, RankSVM
from pippin.rankers.steps.clicks import Clicks
from pippin.rankers.training_data import from_clicks

F64 = NDArray[np.float64]
Parts = tuple[Dataset, Dataset, Dataset]  # train, vali, test
MEASURE = ("NDCG@10", "official")
RANKS = 10
# What people do → what the step is told
WORLDS: Mapping[str, Mapping[str, Any]] = {
    "position-based, eta 1": {},
    "position-based, eta 2": {"eta": 2.0},
    "position-based, noise 0.3": {"noise": 0.3},
    "trust in high ranks": {"click_model": "trust"},
    "dependent clicks": {"click_model": "dcm"},
    "cascade": {"click_model": "cascade"},
}
# How clicks are taken → what `clicked` is told; a number is the eta that is believed in
LINES: Mapping[str, Mapping[str, Any]] = {
    "naive": {"debias": "naive"},
    "ips, em": {"propensities": "em"},
    "ips, swaps": {"propensities": "swaps"},
    "ips, regression": {"propensities": "regression"},
    "ips, true eta": {"propensities": "true"},
    "ips, eta 0.5 believed": {"propensities": 0.5},
    "ips, eta 2 believed": {"propensities": 2.0},
    "dr, em": {"debias": "dr"},
    "pairwise": {"debias": "pairwise"},
}


def folds_of(place: Path) -> Iterator[Parts]:
    """Train, vali and test of every fold."""
    parts = [place / f"S{i}.txt" for i in range(1, 6)]
    if not parts[0].exists():
        yield from ((fold.train, fold.vali, fold.test) for fold in read_folds(place))
        return
    sets = [coerce_judgements(part) for part in parts]
    for first in range(5):
        left, right, three, vali, test = (sets[(first + i) % 5] for i in range(5))
        yield concatenate([left, right, three]), vali, test


def train_ranker(ranker: str, data: Dataset, vali: Dataset) -> Any:
    """A model, chosen on the validation part."""
    if ranker == "lambdamart":
        return LambdaMART().fit(data, eval_set=vali)
    judge = Objective(vali, *MEASURE)
    models = [RankSVM(C=C).fit(data) for C in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)]
    return max(models, key=lambda model: judge.mean(model.predict(vali)))


def training_set(train: Dataset, log: ClickLog, line: str, eta: float) -> Dataset:
    record = dict(LINES[line])
    believed = record.get("propensities")
    if believed == "true":
        believed = eta
    if isinstance(believed, float):
        record["propensities"] = examination(RANKS, believed)
    return from_clicks(train, log, **record)


def holm(values: Mapping[str, F64], baseline: str) -> dict[str, float]:
    """p of every line against the baseline."""
    names, rows = tuple(values), np.stack(list(values.values()), 1)
    keep_mask = ~np.isnan(rows).any(axis=1)
    table = ValueTable(rows[keep_mask], tuple(map(str, range(int(keep_mask.sum())))), names)
    tested = compare_systems(table, "randomization", baseline=baseline, correction="holm", seed=1)
    return {(pair.a if pair.b == baseline else pair.b): pair.p_adjusted for pair in tested.pairs}


def show(title: str, values: Mapping[str, F64]) -> None:
    """A table of lines against naive and true labels."""
    p = holm(values, "naive")
    print(f"\n### {title}\n\n| line | NDCG@10 | closed | p |\n|---|--:|--:|--:|")
    for line, own in values.items():
        share = ""
        if line not in ("naive", "true labels"):
            share = str(closed_share(own, values["naive"], values["true labels"]))
        print(f"| {line} | {np.nanmean(own):.4f} | {share} | {'' if line == 'naive' else f'{p[line]:.2g}'} |")
    sys.stdout.flush()


def by_query(
    folds: Sequence[Parts], seeds: int, sessions: int, world: str, trained: Mapping[str, Callable[..., F64]]
) -> dict[str, F64]:
    """Values of all test queries by line, each the mean over seeds; all lines learn from the same clicks."""
    values: dict[str, list[F64]] = {line: [] for line in trained}
    for parts in folds:
        drawn: dict[str, list[F64]] = {line: [] for line in trained}
        for seed in range(1, seeds + 1):
            log = Clicks(sessions=sessions, seed=seed, **WORLDS[world]).log(parts[0])
            for line, scores in trained.items():
                drawn[line].append(Objective(parts[2], *MEASURE).values(scores(parts, log)))
        for line, own in drawn.items():
            values[line].append(np.mean(own, axis=0))
    return {line: np.concatenate(own) for line, own in values.items()}


def show_propensities(folds: Sequence[Parts], seeds: int) -> None:
    """The largest and the mean relative error by rank, of the mean over seeds."""
    print("\n### Propensities against the truth, eta 1\n")
    methods = ("em", "swaps", "regression")
    print("| sessions | swaps | clicks | " + " | ".join(f"{m}: mean | worst" for m in methods) + " |")
    print("|--:|--:|--:" + "|--:|--:" * 3 + "|")
    true = examination(RANKS, 1.0)
    train = folds[0][0]
    for sessions, swaps in ((10, 1.0), (100, 0.0), (100, 0.1), (100, 1.0), (1000, 0.1), (1000, 1.0)):
        cells, clicks = [], []
        for method in methods:
            errors = []
            for seed in range(1, seeds + 1):
                log = Clicks(sessions=sessions, swap_rate=swaps, seed=seed).log(train)
                clicks.append(int(log.clicks.sum()))
                if swaps or method == "regression":
                    estimate = propensities(log, method, data=train if method == "regression" else None)
                    errors.append(np.abs(estimate.values / true - 1)[1:])
            cells += [f"{100 * np.mean(errors):.1f} % | {100 * np.max(errors):.1f} %" if errors else "refused |"]
        print(f"| {sessions} | {swaps:g} | {np.mean(clicks):,.0f} | " + " | ".join(cells) + " |")
        sys.stdout.flush()


def show_learning(folds: Sequence[Parts], options: argparse.Namespace) -> None:
    """Every line in every world, for both rankers."""
    for ranker in options.rankers:
        true = true_labels(folds, ranker)
        for world in options.worlds:
            trained = {line: _ours(ranker, line, WORLDS[world].get("eta", 1.0)) for line in lines_of(world, ranker)}
            values = by_query(folds, options.seeds, options.sessions, world, trained)
            show(f"{ranker}: {world}", {**values, "true labels": true})


def lines_of(world: str, ranker: str) -> list[str]:
    """Return the lines that apply: assumed values of eta only if there is one, all lines in the first world."""
    items = ["naive", "ips, em", "dr, em", "pairwise"]
    if "eta" in world:
        items += ["ips, true eta", "ips, swaps"]
    if world == next(iter(WORLDS)):
        items = list(LINES)
    return [line for line in LINES if line in items and (ranker == "lambdamart" or line != "pairwise")]


def true_labels(folds: Sequence[Parts], ranker: str) -> F64:
    """The values of what learned from labels."""
    return np.concatenate([
        Objective(test, *MEASURE).values(train_ranker(ranker, train, vali).predict(test)) for train, vali, test in folds
    ])  # fmt: skip


def _ours(ranker: str, line: str, eta: float) -> Callable[[Parts, ClickLog], F64]:
    def scores(parts: Parts, log: ClickLog) -> F64:
        train, vali, test = parts
        result: F64 = train_ranker(ranker, training_set(train, log, line, eta), vali).predict(test)
        return result

    return scores


def show_peers(folds: Sequence[Parts], options: argparse.Namespace) -> None:
    """LightGBM's `position` and XGBoost's `lambdarank_unbiased` on the same clicks."""
    true = true_labels(folds, "lambdamart")
    for world in options.worlds:
        trained = {line: _ours("lambdamart", line, 1.0) for line in ("naive", "ips, em", "pairwise")}
        trained |= {name: _peer(grow, debiased, options.sessions) for name, (_, grow, debiased) in PEERS.items()}
        show(
            f"peers: {world}", {**by_query(folds, options.seeds, options.sessions, world, trained), "true labels": true}
        )


def _peer(grow: Callable[..., Predict], debiased: bool, sessions: int) -> Callable[[Parts, ClickLog], F64]:
    def scores(parts: Parts, log: ClickLog) -> F64:
        train, vali, test = parts
        return select_trees(train, vali, log, grow, debiased, sessions, MEASURE[0])(test)

    return scores


def show_selection(options: argparse.Namespace) -> None:
    """Curves over sessions where lists are longer than what is shown, with controls, for one seed."""
    train, valid, test = letor_like(12, 500), letor_like(14, 200), letor_like(13, 1500)
    whole = int(np.diff(train.offsets).max())
    lines: Mapping[str, tuple[int, Mapping[str, Any]]] = {
        "naive": (RANKS, {"debias": "naive"}), "ips, em": (RANKS, {}),
        "ips, true propensities": (RANKS, {"propensities": examination(RANKS, 1.0)}),
        "ips, true propensities, all documents shown": (whole, {"propensities": examination(whole, 1.0)}),
        "the same without clipping": (whole, {"propensities": examination(whole, 1.0), "clip": 1e-9}),
        "dr, em": (RANKS, {"debias": "dr"}),
    }  # fmt: skip
    for ranker in options.rankers:

        def value(data: Dataset, ranker: str = ranker) -> str:
            if ranker == "lambdamart":
                model: Any = LambdaMART(rounds=300, early_stopping_rounds=50).fit(data, eval_set=valid)
            else:
                model = train_ranker(ranker, data, valid)
            return f"{Objective(test, *MEASURE).mean(model.predict(test)):.4f}"

        print(
            f"\n### {ranker}: true labels {value(train)}\n\n| people | line | 10 | 100 | 1,000 |\n|---|---|--:|--:|--:|"
        )
        for world in options.worlds:
            for line, (depth, learning) in lines.items():
                if world != "position-based, eta 1" and "propensities" in learning:
                    continue  # the controls are those of one click model
                cells = []
                for sessions in (10, 100, 1000):
                    log = Clicks(sessions=sessions, depth=depth, **WORLDS[world]).log(train)
                    cells.append(value(from_clicks(train, log, **learning)))
                print(f"| {world} | {line} | {' | '.join(cells)} |", flush=True)


def show_interleaving(folds: Sequence[Parts]) -> None:
    """Do clicks on interleaved lists prefer what NDCG prefers?"""
    names = ("lambdamart", "ranksvm", "five queries")
    scores: dict[str, list[F64]] = {name: [] for name in names}
    for train, vali, test in folds:
        made = (train_ranker("lambdamart", train, vali), train_ranker("ranksvm", train, vali), Clicks()._in_use(train))
        for name, model in zip(names, made, strict=True):
            scores[name].append(model.predict(test))
    full = concatenate([test for _, _, test in folds])
    joined = {name: np.concatenate(parts) for name, parts in scores.items()}
    values = {name: Objective(full, *MEASURE).values(item) for name, item in joined.items()}
    print("\n### Interleaving against NDCG@10, all test queries, 10 sessions each\n")
    print("| A | B | people | NDCG@10 of A - B (p) | team draft | p | probabilistic | p |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    for a, b in (("lambdamart", "five queries"), ("ranksvm", "five queries"), ("lambdamart", "ranksvm")):
        for people in ("pbm", "cascade"):
            cells = []
            for method in ("team-draft", "probabilistic"):
                result, _ = interleave(full, joined[a], joined[b], method=method, click_model=people)
                cells.append(f"{result.difference:+.3f} [{result.low:+.3f}, {result.high:+.3f}] | {result.p:.2g}")
            difference, p = np.nanmean(values[a] - values[b]), holm({a: values[a], b: values[b]}, b)[a]
            print(f"| {a} | {b} | {people} | {difference:+.4f} ({p:.2g}) | " + " | ".join(cells) + " |")
            sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("parts", nargs="*", default=["propensities", "learning", "peers", "interleaving"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS), metavar="WORLD")
    parser.add_argument("--rankers", nargs="+", default=["lambdamart", "ranksvm"], metavar="RANKER")
    options = parser.parse_args()
    folds = list(folds_of(options.data))
    print(f"{options.data.name}: {len(folds)} folds, {options.seeds} seeds, {options.sessions} sessions")
    if "propensities" in options.parts:
        show_propensities(folds, options.seeds)
    if "learning" in options.parts:
        show_learning(folds, options)
    if "peers" in options.parts:
        show_peers(folds, options)
    if "selection" in options.parts:
        show_selection(options)
    if "interleaving" in options.parts:
        show_interleaving(folds)


if __name__ == "__main__":
    main()
