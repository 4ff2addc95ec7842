"""Learning from preference pairs equals learning from equivalent labels, and slow loops otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import pippin
from pippin.clicks.propensity import Preferences
from pippin.clicks.simulation import simulate
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError
from pippin.kernels.losses import Pairs, grade_labels
from pippin.rankers import LambdaMART, ListNet, RankSVM
from pippin.rankers.lambdas import Lambdas, PreferredLambdas, PreferredPairs
from pippin.rankers.training_data import from_clicks, preferences_of, with_preferences

F64 = NDArray[np.float64]


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 300)
    features = np.column_stack((labels + rng.normal(size=300), rng.normal(size=(300, 3))))
    return Dataset.from_arrays(features, labels, np.repeat(range(30), 10))


def all_pairs(data: Dataset) -> Preferences:
    """Return every pair of different labels with weight 1."""
    pairs = [
        (i, j)
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True)
        for i in range(begin, end) for j in range(begin, end) if data.labels[i] > data.labels[j]
    ]  # fmt: skip
    better, worse = np.array(pairs).T
    return Preferences(better, worse, np.ones(len(pairs)))


def test_losses_of_listed_pairs_are_those_of_labels(data: Dataset) -> None:
    scores = np.random.default_rng(2).normal(size=300)
    levels, counts = grade_labels(data.labels, data.offsets)
    by_labels = Pairs(levels, data.offsets, np.ones_like(counts))
    listed = PreferredPairs.of(data, all_pairs(data), by_query=False)
    for squared in (False, True):
        first, second = by_labels.loss(scores, squared=squared), listed.loss(scores, squared=squared)
        assert second.value == pytest.approx(first.value)
        assert second.gradient == pytest.approx(first.gradient)
    table = np.random.default_rng(3).normal(size=(300, 4))
    order = by_labels.loss(scores, squared=True).order
    assert listed.product(scores, order, table) == pytest.approx(by_labels.product(scores, order, table))
    part = slice(int(data.offsets[4]), int(data.offsets[9]))
    assert listed.part(4, 9).product(scores[part], order[part], table[part]) == pytest.approx(
        by_labels.part(4, 9).product(scores[part], order[part], table[part])
    )


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_ranksvm_learns_the_same_from_pairs_as_from_labels(data: Dataset, loss: str) -> None:
    first = RankSVM(C=0.01, loss=loss, tol=1e-6).fit(data)
    two = RankSVM(C=0.01, loss=loss, tol=1e-6).fit(with_preferences(data, all_pairs(data)))
    assert two.coef_ == pytest.approx(first.coef_, rel=1e-3)


def single(data: Dataset) -> Dataset:
    """Return a data set with one relevant document of label 1 per query."""
    labels = np.zeros(300, np.int32)
    labels[data.offsets[:-1] + np.random.default_rng(4).integers(0, 10, 30)] = 1
    return Dataset(data.features, labels, data.offsets, data.query_ids)


@pytest.mark.parametrize("normalise", [False, True])
def test_pair_lambdas_equal_label_lambdas_for_one_relevant_document(data: Dataset, normalise: bool) -> None:
    one_hot = single(data)
    scores = np.random.default_rng(5).normal(size=300)
    lambdas = Lambdas(one_hot, "NDCG@5", sigma=1.5, lambda_norm=normalise)
    gradient, hessian = lambdas(scores)
    by_pairs = PreferredLambdas(one_hot, all_pairs(one_hot), lambdas, normalise)(scores)
    assert by_pairs[0] == pytest.approx(gradient)
    assert by_pairs[1] == pytest.approx(hessian)


def test_trust_in_ranks_follows_the_losses_as_in_a_loop() -> None:
    """Two rounds of Hu et al. 2019, equations (30) and (31), pair by pair."""
    data = Dataset.from_arrays(np.zeros((4, 1)), [1, 0, 0, 1], ["a", "a", "b", "b"])
    better, worse, counts = [0, 0, 3, 1], [1, 1, 2, 0], [5.0, 2.0, 3.0, 1.0]
    ranks = np.array([[1, 2], [2, 1], [2, 1], [1, 2]])
    pairs = Preferences(np.array(better), np.array(worse), np.array(counts), ranks, power=0.5)
    force = PreferredLambdas(data, pairs, Lambdas(data, "NDCG@2"), normalise=False)
    plus, minus = [1.0, 1.0], [1.0, 1.0]
    for scores in (np.array([0.3, -0.2, 0.1, 0.4]), np.array([0.5, 0.0, 0.6, -0.4])):
        gradient, _ = force(scores)
        slow, sums = np.zeros(4), np.zeros((2, 2))
        for i, j, count, (a, b) in zip(better, worse, counts, ranks - 1, strict=True):
            worth = count * (1 - 1 / math.log2(3))  # the two documents of a query stand at ranks 1 and 2
            margin = scores[i] - scores[j]
            pull = worth / (plus[a] * minus[b]) / (1 + math.exp(margin))
            slow[i] -= pull
            slow[j] += pull
            loss = worth * math.log(1 + math.exp(-margin))
            sums[0, a] += loss / minus[b]
            sums[1, b] += loss / plus[a]
        assert gradient == pytest.approx(slow)
        plus, minus = ([(item / own[0]) ** (1 / 1.5) for item in own] for own in sums)
        assert force.clicked_trust == pytest.approx(plus)
        assert force.other_trust == pytest.approx(minus)


def test_a_selection_of_queries_has_its_pairs(data: Dataset) -> None:
    full = with_preferences(data, all_pairs(data))
    part = full.select([7, 2])
    assert repr(part) == "Dataset('data': 2 queries, 20 documents, 4 features, float64)"
    own = preferences_of(part)
    assert own is not None
    assert full.preferences is not None
    assert len(own) == sum((full.preferences.better // 10 == q).sum() for q in (7, 2))
    shift = {0: 70, 1: 20 - 10}
    moved = sorted((int(b) + shift[int(b) // 10], int(w) + shift[int(w) // 10])
                   for b, w in zip(own.better, own.worse, strict=True))  # fmt: skip
    folder = sorted((int(b), int(w)) for b, w in zip(full.preferences.better, full.preferences.worse, strict=True)
                  if b // 10 in (2, 7))  # fmt: skip
    assert moved == folder


@pytest.mark.parametrize("debias", ["ips", "dr", "pairwise", "naive"])
def test_clicks_replace_labels(data: Dataset, debias: str) -> None:
    log = simulate(data, np.random.default_rng(6).random(300), sessions=200, swap_rate=0.5)
    blind = Dataset(data.features, np.zeros(300, np.int32), data.offsets, data.query_ids)
    model = pippin.train(blind, "lambdamart", clicks=log, debias=debias, rounds=20, min_data_in_leaf=5)
    again = pippin.train(data, "lambdamart", clicks=log, debias=debias, rounds=20, min_data_in_leaf=5)
    scores = pippin.rank(model, blind)
    assert scores.tobytes() == pippin.rank(again, data).tobytes()
    assert pippin.evaluate(data, scores, "NDCG@10").mean["NDCG@10"] > 0.85


def test_propensities_can_be_passed(data: Dataset) -> None:
    log = simulate(data, np.random.default_rng(6).random(300), sessions=20)
    flat = preferences_of(from_clicks(data, log, propensities=np.ones(10)))
    naive = preferences_of(from_clicks(data, log, debias="naive"))
    assert flat is not None
    assert naive is not None
    assert flat.weights.tobytes() == naive.weights.tobytes()


def test_many_documents_with_pairs_are_not_damped(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = with_preferences(data, all_pairs(data))
    usual = LambdaMART(rounds=3, damp_close_scores=False, learning_rate=0.1).fit(pairs)
    monkeypatch.setattr("pippin.rankers.boosting.MANY", 1)
    assert LambdaMART(rounds=3).fit(pairs).boosters_ == usual.boosters_


def test_ranksvm_divides_the_weight_of_a_query_among_its_pairs(data: Dataset) -> None:
    """Twice the clicks on every query change nothing; with pair_weighting="pair" they are twice the cost."""
    pairs = all_pairs(data)
    doubled = Preferences(pairs.better, pairs.worse, 2 * pairs.weights)
    fits = {
        (weighting, i): RankSVM(pair_weighting=weighting, C=C, tol=1e-9).fit(with_preferences(data, preferences)).coef_
        for weighting, C in (("query", 0.1), ("pair", 0.1))
        for i, preferences in enumerate((pairs, doubled))
    }
    assert fits["query", 0] == pytest.approx(fits["query", 1], rel=1e-6)
    twice = RankSVM(pair_weighting="pair", C=0.2, tol=1e-9).fit(with_preferences(data, pairs)).coef_
    assert fits["pair", 1] == pytest.approx(twice, rel=1e-6)
    labels = RankSVM(C=0.1, tol=1e-9).fit(data).coef_
    assert fits["query", 0] == pytest.approx(labels, rel=1e-6)


def test_rankers_without_pairs_refuse_them(data: Dataset) -> None:
    pairs = with_preferences(data, all_pairs(data))
    with pytest.raises(DataError, match="listnet does not support preference pairs"):
        ListNet().fit(pairs)
    with pytest.raises(DataError, match="fit without sample_weight"):
        RankSVM().fit(pairs, sample_weight=np.ones(30))
    with pytest.raises(ConventionError, match="needs labels"):
        LambdaMART(damp_close_scores=True).fit(pairs)
    with pytest.raises(ConventionError, match="need the measure NDCG or DCG"):
        LambdaMART(measure="MAP").fit(pairs)
    log = simulate(data, np.zeros(300), sessions=5)
    with pytest.raises(ConventionError, match="pairwise debiasing estimates trust by boosting"):
        RankSVM().fit(from_clicks(data, log, debias="pairwise"))
    with pytest.raises(DataError, match="clicks must be a ClickLog"):
        pippin.train(data, "ranksvm", clicks=[])
