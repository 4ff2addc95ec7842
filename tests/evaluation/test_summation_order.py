"""Order of operations: sums and rates equal the original tool's to the last digit."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import pippin
from pippin.evaluation.streaming import evaluate_stream
from pippin.evaluation.tools import TOOLS

HITS = [1, 7, 7, 7, 7, *[0] * 27]  # relevant documents among ten, by query: (0.1 + 4 · 0.7) / 32 is 0.090625
JUDGED = {f"q{q}": {f"d{d}": int(d < value) for d in range(10)} for q, value in enumerate(HITS)}
RUN = {query: dict.fromkeys(listed, 1.0) for query, listed in JUDGED.items()}
BACKWARDS = dict(reversed(RUN.items()))


@pytest.mark.parametrize("tool", ["mteb", "beir"])
def test_a_rounded_mean_adds_queries_in_the_order_of_the_run(tool: str) -> None:
    """The sum of 32 tenths is above or below the half, as the queries follow each other; read from both tools."""
    assert pippin.evaluate(JUDGED, RUN, "P@10", tool=tool).mean == {"P@10": 0.09063}
    assert pippin.evaluate(JUDGED, BACKWARDS, "P@10", tool=tool).mean == {"P@10": 0.09062}


@pytest.mark.parametrize("run", [RUN, BACKWARDS])
def test_so_does_a_stream(run: dict[str, dict[str, float]], tmp_path: Path) -> None:
    qrels, scored = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {d} {label}\n" for q, of in JUDGED.items() for d, label in of.items()))
    scored.write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, of in run.items() for d, score in of.items()))
    (streamed,) = evaluate_stream(qrels, scored, ["P@10"], [(TOOLS["mteb"], {})], size=300)
    assert streamed.mean == pippin.evaluate(JUDGED, run, "P@10", tool="mteb").mean


def test_rates_of_abstention_are_multiples_of_a_rounded_tenth() -> None:
    """Of 15 queries MTEB leaves out 5 at the rate 0.3, which is 0.30000000000000004 there, and 11 at 0.7."""
    qrels = {f"q{q}": {"a": 1, "b": 0} for q in range(15)}
    good = {0, 1, 2, 3, 4, 6, 9, 13}
    run = {f"q{q}": {"a": 2.0 + q, "b": 1.0} if q in good else {"a": 1.0, "b": 2.0 + q} for q in range(15)}
    left = [0, 2, 3, 5, 6, 8, 9, 11, 12, 14]

    def area(values: list[int]) -> float:
        means = [sum(values[gone:]) / (15 - gone) for gone in left]
        return sum((item + other) / 20 for item, other in itertools.pairwise(means))

    values = [int(q in good) for q in range(15)]
    flat = 0.9 * len(good) / 15
    expected = (area(values) - flat) / (area(sorted(values)) - flat)
    assert expected == pytest.approx(-0.619352425287835)
    found = pippin.evaluate(qrels, run, ["nauc_mrr_at_10_max", "nauc_mrr_at_10_diff1"], tool="mteb").mean
    assert list(found.values()) == pytest.approx([expected, expected], abs=1e-12)


def test_numpy_rounds_what_it_has_multiplied() -> None:
    """RecBole: 1/160 as a decimal is a little more than 0.00625, and ten thousand times as much is 62.5, a half."""
    qrels = {f"u{u}": {f"u{u}-{i}": int(i == 0) for i in range(12)} for u in range(16)}
    run = {user: {item: 1 - place / 100 for place, item in enumerate(listed)} for user, listed in qrels.items()}
    for user, items in run.items():
        items[f"{user}-0"] = 2.0 if user == "u0" else -1.0  # one hit above rank 10
    assert pippin.evaluate(qrels, run, "precision@10", tool="recbole").mean == {"precision@10": 0.0062}
    decimal = pippin.evaluate(qrels, run, "precision@10", tool="recbole", mean_rounding="decimal")
    assert decimal.mean == {"precision@10": 0.0063}


def test_a_deviation_adds_scores_as_they_were_given() -> None:
    """The same six scores in two orders deviate by 1.795054935711501 and …5013: MTEB calls one query less sure."""
    orders = [[0.0, 0.0, 1.0, 3.0, 5.0, 1.0], [5.0, 3.0, 1.0, 1.0, 0.0, 0.0]]
    run, qrels = {}, {}
    for query, (order, right) in enumerate([(0, True), (1, False), (0, True), (1, True), (0, False)]):
        run[f"q{query}"] = {f"d{place}": score for place, score in enumerate(orders[order])}
        first = orders[order].index(5.0)
        qrels[f"q{query}"] = {f"d{place}": int(place == (first if right else (first + 1) % 6)) for place in range(6)}
    measures = ["nauc_recall_at_1_std", "nauc_recall_at_1_max"]
    means = pippin.evaluate(qrels, run, measures, tool="mteb").mean
    assert list(means.values()) == pytest.approx([-2 / 11, 0.0], abs=1e-12)  # as MTEB gave them


def test_lists_that_were_made_longer_have_no_given_scores() -> None:
    """What was missed is appended, and the deviation is of the scores in the order of their ranks."""
    qrels, run = {"q": {"a": 1, "b": 1, "c": 0}, "r": {"d": 1}}, {"q": {"a": 1.0, "c": 2.0}, "r": {"d": 1.0}}
    means = pippin.evaluate(qrels, run, "nauc_mrr_at_10_std", tool="mteb", unretrieved_relevant="append")
    assert list(means.per_query["nauc_mrr_at_10_std"]) == ["q", "r"]
