"""ListMLE: worked example, gradient, ties, depth and planted data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.rankers.lists import (
    F64,
    LABELS,
    ONE,
    SCORES,
    check_laws,
    check_parameters,
    draw_lists,
    five_fold_means,
    ndcg,
    plant_lists,
    slopes,
)

from pippin.kernels.losses import list_likelihood
from pippin.rankers.listmle import ListMLE, best_first


def likelihood(scores: F64, depth: int) -> float:
    """Return the loss of one list in its order, by definition."""
    places = range(min(depth or len(scores), len(scores)))
    return sum(float(np.logaddexp.reduce(scores[place:]) - scores[place]) for place in places)


def test_the_worked_example() -> None:
    order = np.array([0, 2, 3, 1])
    losses, gradient = list_likelihood(SCORES, ONE.offsets, order)
    assert losses.round(6).tolist() == [2.702279]
    assert gradient[order].round(6).tolist() == [-0.724711, -0.199797, 0.010327, 0.914181]


@pytest.mark.parametrize("depth", [0, 1, 3, 50])
@pytest.mark.parametrize("seed", range(2))
def test_the_gradient_is_that_of_the_loss(seed: int, depth: int) -> None:
    data, scores = draw_lists(seed)
    order = best_first(data.labels, data.qid(), np.random.default_rng(seed).random(len(data)))
    losses, gradient = list_likelihood(scores, data.offsets, order, depth)
    pieces = [order[b:e] for b, e in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
    assert losses == pytest.approx([likelihood(scores[rows], depth) for rows in pieces])
    expected = slopes(lambda s: float(list_likelihood(s, data.offsets, order, depth)[0].sum()), scores)
    assert gradient == pytest.approx(expected, abs=1e-7)


def test_scores_far_apart_overflow_nothing() -> None:
    losses, gradient = list_likelihood(np.array([-3000.0, 3000.0, 0.0]), np.array([0, 3]), np.array([0, 1, 2]))
    assert losses.tolist() == [6000.0]
    assert gradient == pytest.approx([-1.0, 1.0, 0.0])


def test_the_order_is_by_label_then_by_the_tie_rule() -> None:
    assert best_first(LABELS, np.zeros(4, np.int64), -SCORES).tolist() == [0, 2, 3, 1]
    assert best_first(LABELS, np.zeros(4, np.int64), SCORES).tolist() == [0, 3, 2, 1]
    by_score = ListMLE(ties="score")._cost(ONE, 0)
    assert by_score(SCORES, 0)[[0, 2, 3, 1]].round(6).tolist() == (
        (np.array([-0.724711, -0.199797, 0.010327, 0.914181]) / 4).round(6).tolist()
    )


def test_random_ties_differ_by_round_and_depend_on_the_seed() -> None:
    data, scores = draw_lists(1)
    cost, again, other = ListMLE()._cost(data, 0), ListMLE()._cost(data, 0), ListMLE(seed=1)._cost(data, 0)
    assert np.array_equal(cost(scores, 3), again(scores, 3))
    assert not np.array_equal(cost(scores, 3), cost(scores, 4))
    assert not np.array_equal(cost(scores, 3), other(scores, 3))
    assert not np.array_equal(cost(scores, 3), ListMLE()._cost(data, 1)(scores, 3))


@pytest.mark.parametrize("layers", [0, 1])
def test_laws(layers: int, tmp_path: Path) -> None:
    check_laws(ListMLE(hidden_layers=layers, rounds=20, top_k=5), tmp_path)


def test_invalid_parameters_are_refused() -> None:
    check_parameters(ListMLE, ties="alphabet", top_k=0)


def test_a_known_ranking_is_learned() -> None:
    model = ListMLE(rounds=300).fit(plant_lists(1, queries=300), eval_set=plant_lists(2))
    weights = np.array(list(model.weights().values()))
    assert weights / weights[0] == pytest.approx([1.0, -2.0, 0.5], rel=0.1)
    assert ndcg(model, plant_lists(3)) > 0.99


def test_good_on_ohsumed(shared: Path, tmp_path: Path) -> None:
    """At least plain regression's MAP of the LETOR paper."""
    (map_,) = five_fold_means(
        shared, "OHSUMED/QueryLevelNorm", tmp_path, ListMLE(convention="letor3"), [("MAP", "letor3")]
    )
    assert map_ >= 0.4400
