"""Why tools disagree: shares that sum, do not depend on an order, and name the right choice."""

from __future__ import annotations

from itertools import permutations
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.errors import ConventionError
from pippin.evaluation.evaluate import Rankings, aggregate, measure_values
from pippin.evaluation.notation import parse
from pippin.evaluation.reconcile import reconcile_rankings, round_as_printed, signed
from pippin.evaluation.tools import TOOLS


def dataset(*queries: tuple[list[int], list[float]]) -> tuple[Dataset, np.ndarray]:
    labels = np.concatenate([np.array(q[0], np.int32) for q in queries])
    scores = np.concatenate([np.array(q[1], np.float64) for q in queries])
    offsets = np.concatenate(([0], np.cumsum([len(q[0]) for q in queries]))).astype(np.int64)
    names = tuple(f"q{i}" for i in range(len(queries)))
    from pippin.data.texts import Texts

    ids = Texts.of(f"d{i:03}" for i in range(len(labels)))
    return Dataset(np.zeros((len(labels), 1)), labels, offsets, names, ids), scores


MIXED = dataset(
    ([2, 0, 1, 0], [0.1, 0.4, 0.4, 0.2]),  # short, tied
    ([0, 0, 0], [0.3, 0.2, 0.1]),  # empty and short
    ([0, 1, 2, 0, 0, 1, 0, 0, 0, 2, 1], [float(i % 4) for i in range(11)]),
)


@pytest.mark.parametrize("target", [t for t in TOOLS if t != "official"])
@pytest.mark.parametrize("measure", ["NDCG@5", "MAP", "P@5", "RR", "ERR@5"])
def test_the_parts_sum_to_the_difference(measure: str, target: str) -> None:
    data, scores = MIXED
    if target == "catboost" and measure.startswith("ERR"):
        with pytest.raises(ConventionError, match="probabilit"):
            reconcile_rankings(Rankings(data, scores), measure, TOOLS["official"], TOOLS[target])
        return
    found = reconcile_rankings(Rankings(data, scores), measure, TOOLS["official"], TOOLS[target])
    assert sum(p.value for p in found.shares) == pytest.approx(found.difference, abs=1e-12)
    for part in found.shares:
        if part.axis != "digits":
            assert part.per_query.sum() == pytest.approx(part.value, abs=1e-12)


def test_shares_are_averages_over_all_orders() -> None:
    data, scores = MIXED
    rankings, measure = Rankings(data, scores), parse("NDCG@5")
    first, last = (TOOLS[t].convention_for(measure) for t in ("trec_eval10", "letor4"))
    found = reconcile_rankings(rankings, "NDCG@5", TOOLS["trec_eval10"], TOOLS["letor4"])
    parts = {p.axis: p.value for p in found.shares if p.axis != "digits"}
    total = dict.fromkeys(parts, 0.0)

    def mean(convention: object) -> float:
        return aggregate(measure_values(rankings.under(convention), measure, convention), "mean")  # type: ignore[arg-type]

    for order in permutations(parts):
        convention, before = first, mean(first)
        for axis in order:
            convention = convention.replace(**{axis: getattr(last, axis)})
            after = mean(convention)
            total[axis] += after - before
            before = after
    for axis, value in parts.items():
        assert value == pytest.approx(total[axis] / factorial(len(parts)), abs=1e-12)


def test_the_bias_of_yahoo_is_the_share_of_empty_queries() -> None:
    data, scores = MIXED
    found = reconcile_rankings(Rankings(data, scores), "NDCG@5", TOOLS["ranklib"], TOOLS["yahoo"])
    parts = {p.axis: p for p in found.shares}
    assert parts["empty"].value == pytest.approx(1 / 3, abs=1e-12)
    ((query, carried),) = found.carriers(parts["empty"])
    assert query == "q1"
    assert carried == pytest.approx(1 / 3)
    assert "1 of 3 queries have no relevant document" in found.sentence()


def test_two_names_of_one_convention_agree() -> None:
    data, scores = MIXED
    found = reconcile_rankings(Rankings(data, scores), "NDCG@5", TOOLS["ranklib"], TOOLS["ranklib"])
    assert found.difference == 0
    assert found.shares == ()
    assert "agree" in found.sentence()


def test_a_count_has_no_shares() -> None:
    data, scores = MIXED
    with pytest.raises(ConventionError, match="no mean over queries"):
        reconcile_rankings(Rankings(data, scores), "num_ret", TOOLS["official"], TOOLS["letor4"])


def test_numbers_keep_their_sign_and_small_ones_their_digits() -> None:
    assert (signed(-0.24561), signed(0.5), signed(0.00002)) == ("−0.246", "+0.500", "+0.00002")
    assert round_as_printed(0.16554, 4) == 0.1655


def test_mq2008_as_the_issue_tells_it(shared: Path) -> None:
    path = shared / "data" / "MQ2008" / "S5.txt"
    data = read_letor(path)
    scores = np.ascontiguousarray(data.features[:, 24])
    found = reconcile_rankings(Rankings(data, scores), "NDCG@10", TOOLS["trec_eval9"], TOOLS["letor4"])
    assert found.sentence().startswith("letor4 − trec_eval9 = −0.246: short lists")
    assert "76 of 156 queries have fewer than 10 documents" in found.sentence()
    for target in TOOLS.values():
        shares = reconcile_rankings(Rankings(data, scores), "NDCG@10", TOOLS["official"], target)
        assert sum(p.value for p in shares.shares) == pytest.approx(shares.difference, abs=1e-12)
