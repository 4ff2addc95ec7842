"""Type checks of the public interface: read by `make types`, never executed.

Every line that is marked is wrong, and a mark that is not needed is an error itself: a name that became `Any` would be
noticed.
"""

# ruff: noqa: B018
from __future__ import annotations

from typing import assert_type

import pippin


def wrong() -> None:
    pippin.evaluate([1], [1.0], tool=3)  # type: ignore[call-overload]
    pippin.evaluate([1], [1.0], tool="all").per_query  # type: ignore[attr-defined]
    pippin.evaluate([1], [1.0]).left_out  # type: ignore[attr-defined]
    pippin.tools["letor4"].nothing  # type: ignore[attr-defined]
    pippin.Dataset.nothing  # type: ignore[attr-defined]
    pippin.rankers.LambdaMART(rounds="x")  # type: ignore[arg-type]
    pippin.rankers.RankSVM(D=1.0)  # type: ignore[call-arg]
    pippin.rankers.RankSVM(1.0)  # type: ignore[call-arg]
    pippin.train([], "ranksvm").nothing  # type: ignore[attr-defined]
    pippin.load("model.json").fit([], wrong=1)  # type: ignore[call-arg]
    pippin.bench("data", folds="x")  # type: ignore[arg-type]
    pippin.nothing  # type: ignore[attr-defined]


def right() -> None:
    assert_type(pippin.rankers.RankSVM().fit([[1]], [1], qid=[1]), pippin.rankers.RankSVM)
    assert_type(pippin.evaluate([1], [1.0], qid=[1]).mean["NDCG@10"], float)
    pippin.read("x")
    assert_type(pippin.tools["a"].title, str)
    pippin.rankers.LambdaMART(rounds=5, truncation_level=None).fit([], qid=[]).predict([]).shape
