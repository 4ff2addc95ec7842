"""RankNet: worked example, pairwise gradient and published quality on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.lists import (
    F64,
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

from pippin.data.dataset import Dataset
from pippin.kernels.losses import tied_pairs
from pippin.rankers.ranknet import RankNet, pair_cost, pair_counts, pair_loss


def cost(data: Dataset, scores: F64, sigma: float, by_query: bool, ties: bool) -> float:
    """Return the cost by definition, pair by pair."""
    total = 0.0
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        sums, count = 0.0, 0
        for i in range(begin, end):
            for j in range(begin, end):
                apart = sigma * (scores[i] - scores[j])
                if data.labels[i] > data.labels[j]:
                    sums, count = sums + np.logaddexp(0.0, -apart), count + 1
                elif ties and data.labels[i] == data.labels[j] and i < j:
                    sums, count = sums + 0.5 * apart + np.logaddexp(0.0, -apart), count + 1
        total += sums / max(count, 1) if by_query else sums
    return total


def test_the_worked_example() -> None:
    assert cost(ONE, SCORES, 1.0, False, False) == pytest.approx(2.947394, abs=5e-7)
    gradient = pair_cost(ONE, weighting="pair")(SCORES, 0)
    assert gradient.round(6).tolist() == [-1.376704, 1.230677, 0.195490, -0.049463]
    assert pair_counts(ONE).tolist() == [5]
    assert pair_cost(ONE)(SCORES, 0) == pytest.approx(gradient / 5)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("by_query", [False, True])
def test_the_gradient_is_that_of_the_cost(seed: int, by_query: bool, ties: bool) -> None:
    data, scores = draw_lists(seed)
    result = pair_cost(data, 1.7, "query" if by_query else "pair", ties)(scores, 0)
    expected = slopes(lambda s: cost(data, s, 1.7, by_query, ties), scores)
    assert result == pytest.approx(expected, abs=1e-7)


def test_the_cost_of_tied_pairs() -> None:
    losses, gradient = tied_pairs(np.array([3.0, 1.0, 0.0]), np.array([0, 3]), np.array([1, 1, 0], np.int32), 0.5)
    assert losses == pytest.approx([np.log(2 * np.cosh(0.5 * 0.5 * 2.0))])
    assert gradient == pytest.approx([0.25 * np.tanh(0.5), -0.25 * np.tanh(0.5), 0.0])


@pytest.mark.parametrize("layers", [0, 1])
def test_laws(layers: int, tmp_path: Path) -> None:
    check_laws(RankNet(hidden_layers=layers, rounds=10), tmp_path)


def test_invalid_parameters_are_refused() -> None:
    check_parameters(RankNet, sigma=0.0)


def test_a_known_interaction_is_learned() -> None:
    train, valid, test = (plant_lists(seed, interaction=True, queries=100) for seed in (1, 2, 3))
    model = RankNet(hidden_units=20, learning_rate=0.03).fit(train, eval_set=valid)
    assert ndcg(model, test) > 0.95
    assert ndcg(RankNet(hidden_layers=0).fit(train, eval_set=valid), test) < 0.86  # the mean of a random order is 0.83
    importance = model.importance()
    assert importance["3"] < min(importance["1"], importance["2"])


def test_seeds_differ() -> None:
    first, second = (RankNet(rounds=2, seed=seed).fit(plant_lists(1)).weights_[0] for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_better_than_ranklib_on_mq2008(shared: Path, tmp_path: Path) -> None:
    map_, ndcg10 = five_fold_means(
        shared, "MQ2008", tmp_path, RankNet(convention="letor4"), [("MAP", "letor4"), ("NDCG@10", "official")]
    )
    assert map_ >= 0.4501
    assert ndcg10 >= 0.4803


def test_as_good_as_ranklib_on_ohsumed(shared: Path, tmp_path: Path) -> None:
    map_, ndcg10 = five_fold_means(
        shared, "OHSUMED/QueryLevelNorm", tmp_path, RankNet(convention="letor3"),
        [("MAP", "letor3"), ("NDCG@10", "official")],
    )  # fmt: skip
    assert map_ >= 0.4407
    assert ndcg10 >= 0.4319


@pytest.mark.parametrize("weighting", ["query", "pair"])
def test_early_stopping_by_the_loss_does_not_depend_on_the_convention(weighting: str) -> None:
    train, valid = plant_lists(1), plant_lists(2)
    options: dict[str, Any] = {"measure": "loss", "rounds": 8, "early_stopping_rounds": 2, "pair_weighting": weighting}
    ranker = RankNet(**options, convention="official").fit(train, eval_set=valid)
    losses = [-value for value in ranker.curve_]
    assert min(losses) == pytest.approx(
        cost(valid, ranker.predict(valid), 1.0, weighting == "query", ties=False), rel=1e-5
    )
    assert min(losses) == pytest.approx(pair_loss(valid, ranker.predict(valid), 1.0, weighting), rel=1e-5)
    same = RankNet(**options, convention="letor4").fit(train, eval_set=valid)
    assert (same.predict(valid) == ranker.predict(valid)).all()
