"""LambdaMART: effect of conventions bit by bit, determinism, planted data and real data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rankers.folds import five_fold_means, folds

import pippin
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.rankers import boosting, models
from pippin.rankers.lambdamart import LambdaMART
from pippin.rankers.mart import MART
from pippin.rankers.xendcg import XENDCG

F64 = NDArray[np.float64]


def plant_features(queries: int = 60, seed: int = 0, interaction: bool = False, features: int = 5) -> Dataset:
    """Return documents whose label follows the sum or the product of features 1 and 2."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(5, 20, queries)
    table = generator.normal(size=(int(sizes.sum()), features))
    truth = table[:, 0] * table[:, 1] if interaction else table[:, 0] + table[:, 1]
    labels = np.digitize(truth, [0.0, 0.7, 1.4]).astype(np.int32)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Dataset(table, labels, offsets, tuple(f"q{i}" for i in range(queries)))


def join_datasets(a: Dataset, b: Dataset) -> Dataset:
    return Dataset(
        np.concatenate((a.features, b.features)), np.concatenate((a.labels, b.labels)),
        np.concatenate((a.offsets, b.offsets[1:] + len(a))), a.query_ids + tuple(f"{q}+" for q in b.query_ids),
    )  # fmt: skip


def constant(label: int, size: int) -> Dataset:
    table = np.random.default_rng(9).normal(size=(size, 5))
    return Dataset(table, np.full(size, label, np.int32), np.array([0, size]), (f"constant{label}-{size}",))


def small(**changes: Any) -> LambdaMART:
    return LambdaMART(**{"rounds": 15, "num_leaves": 6, "min_data_in_leaf": 2, "n_bags": 2, **changes})


def text(model: LambdaMART) -> str:
    return json.dumps(model._state())


TRAIN, VALID, TEST = plant_features(seed=1), plant_features(30, seed=2), plant_features(30, seed=3)


class TestConvention:
    """What a convention can and cannot change is algebra."""

    def test_value_of_empty_queries_has_no_effect_on_the_model(self) -> None:
        train = join_datasets(join_datasets(TRAIN, constant(0, 12)), constant(0, 3))
        for drop in (True, False):
            states = {
                text(small(convention=Convention(empty=empty), drop_constant_queries=drop).fit(train))
                for empty in (0.0, 0.5, 1.0, None)
            }
            assert len(states) == 1

    def test_yahoo_and_ranklib_give_one_model(self) -> None:
        train, valid = join_datasets(TRAIN, constant(0, 12)), join_datasets(VALID, constant(0, 12))
        yahoo, ranklib = (small(convention=tool, rounds=30).fit(train, eval_set=valid) for tool in ("yahoo", "ranklib"))
        assert yahoo.rounds_ == ranklib.rounds_
        assert text(yahoo) == text(ranklib)
        assert yahoo.curve_ != ranklib.curve_  # the figures differ by a constant, the model does not

    def test_constant_queries_change_no_bit(self) -> None:
        with_constant = join_datasets(join_datasets(constant(1, 7), TRAIN), constant(0, 40))
        assert text(small().fit(with_constant)) == text(small().fit(TRAIN))
        assert text(small(drop_constant_queries=False).fit(with_constant)) != text(
            small().fit(TRAIN)
        )  # they shift bins, counts

    def test_short_zero_silences_short_queries(self) -> None:
        keep, zero = (Convention(short_lists=short) for short in ("keep", "zero"))
        long = TRAIN.select(np.flatnonzero(np.diff(TRAIN.offsets) >= 10))
        assert text(small(convention=keep).fit(long)) == text(small(convention=zero).fit(long))
        assert text(small(convention=keep).fit(TRAIN)) != text(small(convention=zero).fit(TRAIN))
        # λ = 0 there: other labels of short queries are not seen (as long as they are not all one).
        sizes = np.repeat(np.diff(TRAIN.offsets), np.diff(TRAIN.offsets))
        labels = np.where(sizes < 10, np.arange(len(TRAIN)) % 2, TRAIN.labels).astype(np.int32)
        other = Dataset(TRAIN.features, labels, TRAIN.offsets, TRAIN.query_ids)
        full = {"drop_constant_queries": False}
        assert text(small(convention=zero, **full).fit(other)) == text(small(convention=zero, **full).fit(TRAIN))
        assert text(small(convention=keep, **full).fit(other)) != text(small(convention=keep, **full).fit(TRAIN))

    @pytest.mark.parametrize("change", [{"gain": "label"}, {"discount": "letor"}], ids=str)
    def test_gain_and_discount_change_it(self, change: dict[str, Any]) -> None:
        assert text(small(convention=Convention(**change)).fit(TRAIN)) != text(
            small(convention=Convention()).fit(TRAIN)
        )

    @pytest.mark.parametrize("measure", ["NDCG@10", "NDCG@3", "AP", "ERR@10", "RR", "P@5"])
    def test_every_measure_trains(self, measure: str) -> None:
        model = small(measure=measure, rounds=40, early_stopping_rounds=20).fit(TRAIN, eval_set=VALID)
        judge = Objective(TEST, measure, "official")
        assert judge.mean(model.predict(TEST)) > judge.mean(np.zeros(len(TEST))) + 0.1


class TestLearning:
    """What it learns."""

    def test_planted_truths(self) -> None:
        for interaction, floor in ((False, 0.9), (True, 0.85)):
            train, valid, test = (plant_features(200, seed, interaction) for seed in (4, 5, 6))
            model = LambdaMART(rounds=200, early_stopping_rounds=30).fit(train, eval_set=valid)
            assert Objective(test, "NDCG@10", "official").mean(model.predict(test)) > floor
            ranked = sorted(model.importance().items(), key=lambda item: -item[1])
            assert {name for name, _ in ranked[:2]} == {"1", "2"}

    def test_separable_toy(self) -> None:
        labels = np.array([0, 1, 2] * 4, np.int32)
        data = Dataset(labels[:, None].astype(np.float64), labels, np.arange(0, 13, 3), tuple("abcd"))
        model = LambdaMART(rounds=10, min_data_in_leaf=1).fit(data)
        assert Objective(data, "NDCG", "official").mean(model.predict(data)) == 1

    def test_first_tree_is_newtons_step(self) -> None:
        """One split by hand: leaf = -learning rate · Σ gradient / Σ second derivative at scores 0."""
        data = Dataset(np.array([[0.0], [1.0]]), np.array([0, 1], np.int32), np.array([0, 2]), ("q",))
        model = LambdaMART(rounds=1, num_leaves=2, min_data_in_leaf=1, measure="RR", learning_rate=0.1).fit(data)
        assert model.predict(data) == pytest.approx([-0.1 * 0.25 / 0.125, 0.1 * 0.25 / 0.125])

    def test_null_is_handled(self) -> None:
        plan = plant_features(200, 4)
        features = plan.features.copy()
        features[features[:, 0] < -0.5, 0] = np.nan
        labels = np.where(np.isnan(features[:, 0]), 2, 0).astype(np.int32)
        data = Dataset(features, labels, plan.offsets, plan.query_ids)
        scores = LambdaMART(rounds=30).fit(data).predict(data)
        assert scores[labels == 2].min() > scores[labels == 0].max()

    def test_validation_chooses_the_rounds(self) -> None:
        model = LambdaMART(rounds=60, early_stopping_rounds=15, min_data_in_leaf=2).fit(TRAIN, eval_set=VALID)
        judge = Objective(VALID, "NDCG@10", "official")
        assert max(model.curve_) == model.curve_[model.rounds_ - 1] == judge.mean(model.predict(VALID))
        assert len(model.curve_) <= model.rounds_ + 15

    def test_interrupt_keeps_the_best(self, monkeypatch: pytest.MonkeyPatch) -> None:
        step = boosting._Growth.step

        def raise_interrupt(self: Any, objective: Any, round_: int) -> bool:
            if round_ == 5:
                raise KeyboardInterrupt
            return step(self, objective, round_)

        monkeypatch.setattr(boosting._Growth, "step", raise_interrupt)
        with pytest.warns(UserWarning, match="interrupted after 5 rounds"):
            model = small().fit(TRAIN, eval_set=VALID)
        assert 1 <= model.rounds_ <= 5
        assert len(model.predict(TEST)) == len(TEST)


class TestSteadiness:
    """What must not matter, and what must survive."""

    def test_the_seed_determines_the_bytes(self) -> None:
        train = plant_features(100, seed=12, features=20)
        first, again, other = (text(small(seed=seed, bagging_fraction=0.5).fit(train)) for seed in (1, 1, 2))
        assert first == again
        assert first != other

    def test_threads_change_no_bit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(boosting, "_SINGLE_THREAD_VALUES", 0)
        data, valid = (
            plant_features(2000, 8, features=7),
            plant_features(20, 9, features=7),
        )  # enough documents for threads
        texts = []
        for threads in ("1", "2"):
            monkeypatch.setenv("PIPPIN_THREADS", threads)
            model = small(rounds=4, num_leaves=15, bagging_fraction=0.7).fit(data, eval_set=valid)
            texts.append((text(model), model.predict(data).tobytes(), model.curve_))
        assert texts[0] == texts[1]

    def test_round_trip(self, tmp_path: Path) -> None:
        model = small().fit(TRAIN, eval_set=VALID)
        models.save(model, tmp_path / "model.json")
        again = models.load(tmp_path / "model.json")
        assert again.predict(TEST).tobytes() == model.predict(TEST).tobytes()
        assert again.importance() == model.importance()
        models.save(again, tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()

    def test_damaged_model(self, tmp_path: Path) -> None:
        models.save(small().fit(TRAIN), tmp_path / "model.json")
        content = json.loads((tmp_path / "model.json").read_text())
        content["state"]["ensembles"][0]["lightgbm"][0] = "shrub"
        (tmp_path / "model.json").write_text(json.dumps(content))
        with pytest.raises(DataError, match="damaged"):
            models.load(tmp_path / "model.json")

    def test_input_is_untouched(self) -> None:
        data = plant_features(seed=7)
        before = data.features.tobytes(), data.labels.tobytes(), data.offsets.tobytes()
        small().fit(data, eval_set=VALID).predict(data)
        assert before == (data.features.tobytes(), data.labels.tobytes(), data.offsets.tobytes())

    def test_bags_are_averaged(self) -> None:
        sampled = {"bagging_fraction": 0.8, "rounds": 5}
        two, left = small(n_bags=2, **sampled).fit(TRAIN), small(n_bags=1, **sampled).fit(TRAIN)
        assert two.boosters_[0] == left.boosters_[0]
        assert two.boosters_[1] != two.boosters_[0]
        first = left.predict(TEST)
        left.boosters_ = two.boosters_[1:]
        assert two.predict(TEST) == pytest.approx((first + left.predict(TEST)) / 2)

    def test_odd_queries_survive(self) -> None:
        empty = Dataset(np.zeros((0, 5)), np.zeros(0, np.int32), np.array([0, 0]), ("empty",))
        long = plant_features(1, seed=11)
        copies = 10_000 // len(long) + 1
        long = Dataset(
            np.tile(long.features, (copies, 1)), np.tile(long.labels, copies), np.array([0, copies * len(long)]), ("l",)
        )
        data = join_datasets(join_datasets(join_datasets(constant(2, 1), empty), long), TRAIN)
        assert np.isfinite(small().fit(data, eval_set=data).predict(data)).all()

    def test_constant_features_give_constant_scores(self) -> None:
        flat = Dataset(np.ones((len(TRAIN), 5)), TRAIN.labels, TRAIN.offsets, TRAIN.query_ids)
        model = small().fit(flat, eval_set=flat)
        assert len(set(model.predict(flat).tolist())) == 1
        assert sum(model.importance().values()) == 0


class TestBadInput:
    """A clear sentence each."""

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"rounds": 0}, "rounds must be at least 1"),
            ({"num_leaves": 1}, "num_leaves must be at least 2"),
            ({"bagging_fraction": 0.0}, "bagging_fraction must be above 0"),
            ({"feature_fraction": 1.5}, "at most 1"),
            ({"learning_rate": 0.0}, "learning_rate must be above 0"),
            ({"lambda_l2": -1.0}, "lambda_l2 must be at least 0"),
        ],
    )
    def test_parameters(self, changes: dict[str, Any], sentence: str) -> None:
        with pytest.raises(DataError, match=sentence):
            small(**changes).fit(TRAIN)

    def test_measure_without_swaps(self) -> None:
        with pytest.raises(ConventionError, match="cannot compute lambdas for"):
            small(measure="Bpref").fit(TRAIN)

    def test_nothing_to_learn(self) -> None:
        with pytest.raises(DataError, match="different labels"):
            small().fit(constant(1, 9))


@pytest.mark.parametrize(
    ("collection", "ndcg", "average_precision"),
    [("MQ2008", 0.500, 0.472), ("OHSUMED/QueryLevelNorm", 0.437, 0.435)],
)
def test_five_folds(shared: Path, tmp_path: Path, collection: str, ndcg: float, average_precision: float) -> None:
    """The floor is the mean of five folds less what another seed may cost; RankLib has .505 and .430, .478 and .438."""
    measures = [("NDCG@10", "ranklib"), ("AP", "ranklib")]
    means = five_fold_means(
        folds(shared, collection, tmp_path),
        lambda train, valid: LambdaMART(early_stopping_rounds=50).fit(train, eval_set=valid),
        measures,
    )
    assert means[0] > ndcg
    assert means[1] > average_precision


def widest(model: LambdaMART) -> int:
    """Return the largest number of leaves of a tree of the model."""
    lines = "\n".join(model.boosters_).split("\n")
    return max(int(line.removeprefix("num_leaves=")) for line in lines if line.startswith("num_leaves="))


def test_few_queries_have_small_trees_and_a_note(tmp_path: Path) -> None:
    full = plant_features(130, features=20)
    unlike = boosting.require_comparable_queries(full, "lambdamart")
    few, many = full.select(unlike[:99]), full.select(unlike[:100])
    small, usual = LambdaMART(rounds=5, min_data_in_leaf=1).fit(few), LambdaMART(rounds=5, min_data_in_leaf=1).fit(many)
    assert widest(small) == 6
    assert widest(usual) == 10
    assert small.reasons_ == (
        "only 99 training queries, so small trees: num_leaves=6, bagging_fraction=0.5, feature_fraction=0.3"
    )
    assert usual.reasons_ == ""
    same = LambdaMART(rounds=5, min_data_in_leaf=1, num_leaves=6, bagging_fraction=0.5, feature_fraction=0.3).fit(few)
    assert same.boosters_ == small.boosters_
    assert same.reasons_ == ""
    small.save(tmp_path / "model.json")
    again = pippin.load(tmp_path / "model.json")
    assert isinstance(again, LambdaMART)
    assert again.reasons_ == small.reasons_
    assert (again.resolved_["num_leaves"], again.resolved_["learning_rate"]) == (6, 0.05)


@pytest.mark.parametrize(
    ("queries", "documents", "leaves"),
    [
        (99, 1_000_000, 6),  # many documents of few queries
        (100, 130_000, 10),
        (8_000, 30_000, 10),  # short queries
        (1_600, 45_000, 15),
        (1_600, 500_000, 20),
        (30_000, 3_000_000, 31),
    ],
)
def test_leaves_follow_queries_and_documents(queries: int, documents: int, leaves: int) -> None:
    for cls in (LambdaMART, MART):
        assert cls().resolve_defaults(queries, documents)["num_leaves"] == leaves
    assert XENDCG().resolve_defaults(queries, documents)["num_leaves"] == max(10, leaves)
    assert "num_leaves" not in LambdaMART(num_leaves=12).resolve_defaults(queries, documents)


def test_many_queries_have_larger_trees_and_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_features(130, features=20)
    data = data.select(boosting.require_comparable_queries(data, "lambdamart"))
    data = data.select(np.arange(104))
    monkeypatch.setattr(boosting, "LEAF_QUERIES", 8)
    monkeypatch.setattr(boosting, "LEAF_DOCUMENTS", 10)
    model = LambdaMART(rounds=5, min_data_in_leaf=1).fit(data)
    assert widest(model) == 13
    assert f"104 training queries and {len(data):,} documents, so num_leaves=13" in model.reasons_


def test_set_parameters_do_not_depend_on_the_number_of_queries() -> None:
    model = LambdaMART(rounds=5, min_data_in_leaf=1, num_leaves=12).fit(plant_features(99, features=20))
    assert widest(model) == 12
    assert "leaves" not in model.reasons_
    assert "small trees" not in model.reasons_
    assert "random parts of the data for each tree: bagging_fraction=0.5" in model.reasons_


def test_many_documents_increase_the_learning_rate() -> None:
    assert LambdaMART().resolve_defaults(500, boosting.MANY)["learning_rate"] == 0.1
    assert LambdaMART().resolve_defaults(500, boosting.MANY - 1)["learning_rate"] == 0.05
    assert "learning_rate" not in LambdaMART(learning_rate=0.2).resolve_defaults(500, boosting.MANY)


def test_many_documents_damp_distant_pairs_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_features(40, features=5)
    data = data.select(boosting.require_comparable_queries(data, "lambdamart"))
    arguments: dict[str, Any] = {"rounds": 5, "num_leaves": 10, "bagging_fraction": 1.0, "feature_fraction": 1.0}
    plain, damped = (
        LambdaMART(**arguments, learning_rate=0.1, damp_close_scores=damp).fit(data) for damp in (False, True)
    )
    assert plain.boosters_ != damped.boosters_
    monkeypatch.setattr(boosting, "MANY", len(data) + 1)
    few = LambdaMART(**arguments, learning_rate=0.1).fit(data)
    monkeypatch.setattr(boosting, "MANY", len(data))
    many = LambdaMART(**arguments).fit(data)
    assert (few.boosters_, few.reasons_) == (plain.boosters_, "")
    assert many.boosters_ == damped.boosters_
    assert many.reasons_ == (f"{len(data):,} training documents, so learning_rate=0.1, damp_close_scores=True")
