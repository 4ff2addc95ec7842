"""ApproxNDCG: worked example, gradients per discount, limit and planted data."""

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

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.kernels.losses import approx_ndcg, cross_entropy
from pippin.rankers.approxndcg import ApproxNDCG, gains_and_scales
from pippin.rankers.listnet import top_one_probabilities


def smooth_ranks(scores: F64, alpha: float) -> F64:
    """1 + Σ over the others of the chance to stand below each."""
    chance = 1 / (1 + np.exp(alpha * (scores[:, None] - scores[None, :])))
    ranks: F64 = 1 + chance.sum(axis=1) - np.diag(chance)
    return ranks


def discounts(ranks: F64, discount: str) -> F64:
    if discount == "reciprocal":
        return 1 / ranks
    return 1 / (np.log2(1 + ranks) if discount == "log2" else np.maximum(1.0, np.log2(ranks)))


def test_the_worked_example() -> None:
    assert smooth_ranks(SCORES, 10.0).round(6).tolist() == [1.946209, 3.710600, 1.128368, 3.214823]
    gains, scales = gains_and_scales(ONE, Convention())
    assert gains.tolist() == [3, 0, 1, 1]
    assert (1 / scales).round(6).tolist() == [4.130930]
    assert (-approx_ndcg(SCORES, ONE.offsets, gains, scales, 10.0)[0]).round(6).tolist() == [0.804648]


@pytest.mark.parametrize("discount", ["log2", "letor", "reciprocal"])
@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_the_gradient_is_that_of_the_value(discount: str, alpha: float) -> None:
    data, scores = draw_lists(1)
    gains, scales = gains_and_scales(data, Convention(discount=discount))
    losses, gradient = approx_ndcg(scores, data.offsets, gains, scales, alpha, discount)
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        worth = gains[begin:end] @ discounts(smooth_ranks(scores[begin:end], alpha), discount) if end > begin else 0.0
        assert losses[query] == pytest.approx(-worth * scales[query])

    def loss(moved: F64) -> float:
        return float(approx_ndcg(moved, data.offsets, gains, scales, alpha, discount)[0].sum())

    assert gradient == pytest.approx(slopes(loss, scores), abs=1e-6)


@pytest.mark.parametrize("tool", ["official", "letor3"])
def test_sharp_ranks_give_ndcg_itself(tool: str) -> None:
    data, _ = draw_lists(2)
    scores = np.random.default_rng(5).permutation(len(data)).astype(float)
    judge = Objective(data, "NDCG", tool)
    gains, scales = gains_and_scales(data, judge.convention)
    values = -approx_ndcg(scores, data.offsets, gains, scales, 1e4, judge.convention.discount)[0]
    keep_mask = np.diff(data.offsets) > 0
    keep_mask[keep_mask] = np.maximum.reduceat(data.labels, data.offsets[:-1][keep_mask]) > 0
    assert values[keep_mask] == pytest.approx(judge.values(scores)[keep_mask])


def test_labels_above_the_top_gain_nothing() -> None:
    gains, _ = gains_and_scales(ONE, Convention(max_valid_label=1))
    assert gains.tolist() == [0, 0, 1, 1]


def test_a_query_that_gains_nothing_has_no_slope() -> None:
    data = Dataset(np.zeros((3, 1)), np.zeros(3, np.int32), np.array([0, 3]), ("q",))
    gains, scales = gains_and_scales(data, Convention())
    assert scales.tolist() == [0]
    assert not approx_ndcg(np.arange(3.0), data.offsets, gains, scales, 1.0)[1].any()


def test_the_first_rounds_are_listnets() -> None:
    cost = ApproxNDCG(warmup_rounds=2)._cost(ONE, 0)
    listnet = cross_entropy(SCORES, ONE.offsets, top_one_probabilities(LABELS, ONE.offsets))[1]
    assert np.array_equal(cost(SCORES, 1), listnet)
    assert not np.array_equal(cost(SCORES, 2), listnet)


@pytest.mark.parametrize("layers", [0, 1])
def test_laws(layers: int, tmp_path: Path) -> None:
    check_laws(ApproxNDCG(hidden_layers=layers, rounds=20, warmup_rounds=5), tmp_path)


def test_invalid_parameters_are_refused() -> None:
    check_parameters(ApproxNDCG, alpha=0.0, warmup_rounds=-1)


def test_a_known_ranking_is_learned() -> None:
    model = ApproxNDCG(rounds=150, measure="NDCG").fit(plant_lists(1, queries=200), eval_set=plant_lists(2))
    weights = np.array(list(model.weights().values()))
    assert weights / weights[0] == pytest.approx([1.0, -2.0, 0.5], rel=0.15)
    assert ndcg(model, plant_lists(3)) > 0.99


def test_good_on_mq2008(shared: Path, tmp_path: Path) -> None:
    """At least what RankLib's ListNet reaches."""
    map_, ndcg10 = five_fold_means(
        shared, "MQ2008", tmp_path, ApproxNDCG(), [("MAP", "letor4"), ("NDCG@10", "official")]
    )
    assert map_ >= 0.4486
    assert ndcg10 >= 0.4807
