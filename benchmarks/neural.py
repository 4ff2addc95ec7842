"""Compare the training time of RankNet, LambdaRank, ListNet, ListMLE and ApproxNDCG with RankLib.

    python benchmarks/neural.py TRAIN VALIDATION TEST      (LETOR files; MQ2008 Fold1 for the figures of RankLib)

RankLib's user seconds are those measured on MQ2008 Fold1 (its defaults: RankNet 100 epochs of one hidden layer of 10
units, ListNet 1500 epochs), with the start of the JVM and reading inside. Ours are processor seconds of `fit` with the
data in memory, once with every round run and once with early stopping.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from pippin.data.letor import read_letor
from pippin.evaluation.objective import Objective
from pippin.rankers import ranker
from pippin.rankers.base import Ranker

RANKLIB = {"ranknet": 14.0, "listnet": 15.1}  # user seconds
ROUNDS = {"ranknet": 100, "lambdarank": 100, "listnet": 1500, "listmle": 500, "approxndcg": 300}
REPEATS = 3


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least processor seconds of some runs, and what came of the last."""
    least, made = float("inf"), None
    for _ in range(REPEATS):
        begin = time.process_time()
        made = work()
        least = min(least, time.process_time() - begin)
    return least, made


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    train, valid, test = map(read_letor, sys.argv[1:])
    print(train)
    judge = Objective(test, "NDCG@10", "official")
    print(f"{'ranker':12} {'rounds':>7} {'fit s':>8} {'RankLib s':>10} {'ratio':>7}  NDCG@10 on test")
    for name, rounds in ROUNDS.items():
        for patience in (None, ranker(name)().patience):  # type: ignore[attr-defined]
            made: Ranker
            taken, made = seconds(
                lambda name=name, rounds=rounds, patience=patience: ranker(name)(rounds=rounds, patience=patience).fit(
                    train, eval_set=valid
                )
            )
            peer = RANKLIB.get(name)
            beside = f"{peer:10.1f} {peer / taken:6.0f}×" if peer else f"{'':10} {'':7}"
            value = judge.mean(made.predict(test))
            print(f"{name:12} {len(made.curve_):7} {taken:8.2f} {beside}  {value:.4f}")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
