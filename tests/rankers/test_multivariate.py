"""Rankers that see several documents: tournaments of pairs and self-attention."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import combinations, pairwise
from math import ceil, log2

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.rankers import Chain, models
from pippin.rankers.steps.tournament import Tournament, make_pair_lists


@pytest.fixture(scope="module")
def data() -> Dataset:
    return plant_sum(queries=24, size=9)


@pytest.fixture(scope="module")
def test() -> Dataset:
    return plant_sum(queries=10, size=9, seed=3)


@pytest.fixture(scope="module")
def duels(data: Dataset) -> Chain:
    model = pippin.train(data, "tournament > mart(rounds=30)")
    assert isinstance(model, Chain)
    return model


def test_pairs_are_lists_of_two_in_both_orders() -> None:
    data = Dataset(np.array([[1.0], [2.0], [3.0]]), np.array([0, 2, 1], np.int32), np.array([0, 3]), ("q",))
    made = make_pair_lists(data, 10, np.random.default_rng(0))
    assert np.asarray(made.features).tolist() == [[2, 1], [1, 2], [2, 3], [3, 2], [3, 1], [1, 3]]
    assert made.labels.tolist() == [1, 0] * 3
    assert made.feature_names == ("first:1", "second:1")
    assert make_pair_lists(data, 2, np.random.default_rng(0)).queries == 2


def test_all_meet_all_and_points_are_summed(duels: Chain, test: Dataset) -> None:
    step = duels.step_
    assert isinstance(step, Tournament)
    table, scores = np.asarray(test.features), duels.predict(test)
    assert step.comparisons_ == test.queries * 9 * 8 // 2
    pair_ranker = step.estimators_[0]
    for start, end in [*pairwise(test.offsets.tolist())][:3]:
        points = dict.fromkeys(range(start, end), 0.0)
        for a, b in combinations(range(start, end), 2):
            first, second = pair_ranker.predict(np.array([[*table[a], *table[b]], [*table[b], *table[a]]]))
            won = np.tanh((first - second) / step.scale_)
            points[a] += won
            points[b] -= won
        assert np.allclose(scores[start:end], list(points.values()))


def test_a_merge_sort_takes_n_log_n_comparisons(duels: Chain, data: Dataset, test: Dataset) -> None:
    model = pippin.train(data, "tournament(sort) > mart(rounds=30)")
    assert isinstance(model, Chain)
    step, scores = model.step_, model.predict(test)
    assert isinstance(step, Tournament)
    assert 0 < step.comparisons_ <= test.queries * (9 * ceil(log2(9)) - 2 ** ceil(log2(9)) + 1)
    remaining, table = step.estimators_[0], np.asarray(test.features)
    judge = Objective(test, "NDCG@10", "official")
    assert judge.mean(scores) > 0.9
    linear = pippin.train(data, "tournament(sort) > ranksvm")  # transitive: a sort has one answer
    assert isinstance(linear, Chain)
    for start, end in pairwise(test.offsets.tolist()):
        assert sorted(scores[start:end]) == [-float(i) for i in reversed(range(9))]
        own = linear.step_

        def beats(a: int, b: int, own: Tournament = own) -> int:  # type: ignore[assignment]
            return -1 if own.margins(table, np.array([a]), np.array([b]))[0] >= 0 else 1

        order = sorted(range(start, end), key=cmp_to_key(beats))
        assert np.argsort(-linear.predict(test)[start:end]).tolist() == [row - start for row in order]
    assert remaining.feature_names_ == tuple(f"{side}:{i}" for side in ("first", "second") for i in range(1, 7))


def test_a_tournament_is_saved_and_needs_queries(duels: Chain, test: Dataset) -> None:
    loaded = models.from_bytes(models.to_bytes(duels), "model")
    assert np.array_equal(loaded.predict(test), duels.predict(test))
    with pytest.raises(DataError, match="together"):
        duels.predict(np.asarray(test.features))
    ragged = test.select([0, 1])
    first = Dataset(ragged.features, ragged.labels, np.array([0, 1, 18]), ("a", "b"), None, ragged.feature_names)
    assert duels.predict(first)[0] == 0.0


@pytest.fixture(scope="module")
def context(data: Dataset) -> Chain:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    model = pippin.train(
        data, "attention(rounds=40,d_model=8,d_ff=8,n_layers=2) > listnet", valid=plant_sum(8, 9, seed=1)
    )
    assert isinstance(model, Chain)
    return model


def test_attention_does_not_look_at_the_order_of_documents(context: Chain, test: Dataset) -> None:
    order = np.concatenate([np.random.default_rng(i).permutation(9) + 9 * i for i in range(test.queries)])
    rotated = Dataset(np.asarray(test.features)[order], test.labels[order], test.offsets, test.query_ids)
    assert np.allclose(context.predict(rotated), context.predict(test)[order], rtol=1e-9, atol=1e-12)
    table = np.asarray(test.features).copy()
    table[1] += 0.5  # a neighbour's change is seen by the first document, and by no other query
    changed = context.predict(Dataset(table, test.labels, test.offsets, test.query_ids))
    assert changed[0] != context.predict(test)[0]
    assert np.array_equal(changed[9:], context.predict(test)[9:])


def test_numpy_and_torch_encode_equally(context: Chain, test: Dataset) -> None:
    import torch

    from pippin.rankers.steps.attention import Attention, Training

    step = context.step_
    assert isinstance(step, Attention)
    offsets = np.array([0, 9, 14])  # of two sizes, so that one is padded
    table = np.asarray(test.features)[:14]
    training = Training(step._standardize(table), offsets, np.zeros(14), step.weights_, step)
    rows, there = np.array([[*range(9)], [*range(9, 14), 9, 9, 9, 9]]), np.arange(9) < np.array([[9], [5]])
    with torch.no_grad():
        theirs = training.scores(training.table[torch.from_numpy(rows)], torch.from_numpy(there), training=False)
    assert np.allclose(theirs.numpy()[there], step._training_scores(table, offsets), atol=1e-4)


def test_attention_learns_and_is_the_same_again(context: Chain, data: Dataset, test: Dataset) -> None:
    assert Objective(test, "NDCG@10", "official").mean(context.predict(test)) > 0.9
    text = "attention(rounds=3,d_model=4,d_ff=4) > listnet(rounds=5)"
    first, second = (models.to_bytes(pippin.train(data, text)) for _ in range(2))
    assert first == second
    with pytest.raises(DataError, match="multiple of heads"):
        pippin.train(data, "attention(d_model=5) > listnet")
