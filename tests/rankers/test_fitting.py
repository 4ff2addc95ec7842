"""Ways to pass training data: qid or group, query weights and validation sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rankers.ranker_names import names
from tests.rankers.test_estimators import plant_sum, quick

from pippin.data.dataset import Dataset, concatenate
from pippin.errors import DataError, PippinError
from pippin.evaluation.convention import Convention
from pippin.rankers import AdaRank, BestFeature, LambdaMART, ListNet, RankSVM, ranker

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TRAIN, VALID, TEST = plant_sum(seed=1), plant_sum(12, seed=2), plant_sum(seed=3)
WEIGHTED = [name for name in names() if ranker(name).supports_sample_weight]
# Settings under which a weight k is exactly k copies of the query: no random numbers by row, no counts of documents.
EXACT: dict[str, dict[str, Any]] = {
    "lambdamart": {"min_data_in_leaf": 1, "max_bin": 1000}, "mart": {"max_bin": 1000}, "listmle": {"ties": "score"},
    "ranknet": {"batch_size": None}, "lambdarank": {"batch_size": None},
}  # fmt: skip
RANDOM = {"xendcg"}  # a copy draws numbers of its own


def repeat_queries(data: Dataset, times: list[int]) -> Dataset:
    """Repeat each query the given number of times under new names."""
    parts = []
    for copy in range(max(times)):
        part = data.select(np.flatnonzero(np.array(times) > copy))
        names_ = tuple(f"{query}-{copy}" for query in part.query_ids)
        parts.append(Dataset(part.features, part.labels, part.offsets, names_))
    return concatenate(parts)


def test_most_rankers_take_weights() -> None:
    assert set(names()) - set(WEIGHTED) == {"auto", "coordinate-ascent"}


@pytest.mark.parametrize("name", names())
def test_groups_are_as_good_as_ids(name: str) -> None:
    X, y = TRAIN.features, TRAIN.labels
    by_qid = quick(name).fit(X, y, qid=TRAIN.qid()).predict(X)
    by_group = quick(name).fit(X, y, group=np.diff(TRAIN.offsets)).predict(X)
    assert (by_qid == by_group).all()


@pytest.mark.parametrize("name", sorted(set(WEIGHTED) - RANDOM))
def test_a_weight_is_so_many_copies(name: str) -> None:
    times = [1 + (i % 3 == 0) for i in range(TRAIN.queries)]
    settings = EXACT.get(name, {})
    by_weight = quick(name, **settings).fit(TRAIN, sample_weight=times).predict(TEST)
    by_copies = quick(name, **settings).fit(repeat_queries(TRAIN, times)).predict(TEST)
    plain = quick(name, **settings).fit(TRAIN).predict(TEST)
    assert by_weight == pytest.approx(by_copies, rel=1e-4, abs=1e-6)
    if name != "best-feature":
        assert by_weight != pytest.approx(plain, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_of_nothing_leaves_the_query_out(name: str) -> None:
    weights = np.array([float(i % 4 != 0) for i in range(TRAIN.queries)])
    left = TRAIN.select(np.flatnonzero(weights))
    expected = quick(name).fit(left, sample_weight=np.ones(left.queries)).predict(TEST)
    assert (quick(name).fit(TRAIN, sample_weight=weights).predict(TEST) == expected).all()


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_one_change_nothing(name: str) -> None:
    expected = quick(name).fit(TRAIN).predict(TEST)
    assert quick(name).fit(TRAIN, sample_weight=np.ones(len(TRAIN))).predict(TEST) == pytest.approx(expected, rel=1e-6)


def test_weights_by_document_are_those_by_query() -> None:
    weights = 1.0 + np.arange(TRAIN.queries)
    by_query = RankSVM().fit(TRAIN, sample_weight=weights).coef_
    by_document = RankSVM().fit(TRAIN, sample_weight=weights[TRAIN.qid()]).coef_
    assert (by_query == by_document).all()


def test_the_best_feature_follows_the_weights() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    labels, qid = [1, 0, 0, 1], [1, 1, 2, 2]
    for weights, feature in (([3, 1], 0), ([1, 3], 1)):
        assert (
            BestFeature(directions="descending").fit(features, labels, qid=qid, sample_weight=weights).feature_
            == feature
        )


def test_a_score_can_be_weighted() -> None:
    model = RankSVM().fit(TRAIN)
    values = [model.score(TEST.select([q])) for q in range(TEST.queries)]
    weights = 1.0 + np.arange(TEST.queries)
    assert model.score(TEST, sample_weight=weights) == pytest.approx(float(np.average(values, weights=weights)))


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0] * 7, "one weight for each of the 30 queries"),
        ([-1.0] * 30, "finite and 0 or more"),
        ([np.nan] * 30, "finite and 0 or more"),
        ([0.0] * 30, "every query has weight 0"),
        (["much"] * 30, "must be numbers"),
        (list(range(360)), "differs within query q0"),
    ],
)
def test_bad_weights_get_a_sentence(weights: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        RankSVM().fit(TRAIN, sample_weight=weights)


def test_rankers_without_weights_refuse_them() -> None:
    with pytest.raises(DataError, match="coordinate-ascent does not support sample_weight"):
        quick("coordinate-ascent").fit(TRAIN, sample_weight=np.ones(TRAIN.queries))
    with pytest.raises(DataError, match="frank-wolfe does not support sample_weight"):
        quick("svmmap", solver="frank-wolfe").fit(TRAIN, sample_weight=np.ones(TRAIN.queries))


def fit_and_predict(**how: Any) -> NDArray[np.float64]:
    return (
        LambdaMART(rounds=40, early_stopping_rounds=3, min_data_in_leaf=1)
        .fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid(), **how)
        .predict(TEST.features)
    )


def test_a_validation_set_has_many_spellings() -> None:
    X, y, qid, sizes = VALID.features, VALID.labels, VALID.qid(), np.diff(VALID.offsets)
    expected = fit_and_predict(eval_set=VALID)
    assert (expected != fit_and_predict()).any()
    for method in (
        {"eval_set": (X, y, qid)},
        {"eval_set": [VALID]},
        {"eval_set": [(X, y, qid)]},
        {"eval_set": (X, y), "eval_qid": qid},
        {"eval_set": [(X, y)], "eval_qid": [qid]},
        {"eval_set": [(X, y)], "eval_group": [sizes]},
        {"eval_set": [(X, y)], "eval_group": sizes.tolist()},
    ):
        assert (fit_and_predict(**method) == expected).all()


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"eval_set": [VALID, VALID]}, "eval_set has 2 sets"),
        ({"eval_set": (VALID.features, VALID.labels)}, "qid is missing"),
        ({"eval_qid": VALID.qid()}, "need eval_set"),
        ({"eval_set": VALID.features}, "eval_set must be a Dataset"),
        ({"eval_set": VALID, "eval_qid": VALID.qid()}, "has labels and queries"),
    ],
)
def test_a_validation_set_that_cannot_be_read_is_reported(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        RankSVM().fit(TRAIN, **how)


@pytest.mark.parametrize("name", names())
def test_importances_are_shares_in_the_order_of_features(name: str) -> None:
    model = quick(name, rounds=20).fit(TRAIN)
    shares = model.feature_importances_
    assert shares.shape == (6,)
    assert shares.sum() == pytest.approx(1.0)
    if not vars(model).get("hidden_layers"):  # twenty rounds leave much of a network's first weights
        assert shares[:2].sum() > shares[2:].sum()


def test_an_unfitted_ranker_raises_not_fitted() -> None:
    from sklearn.exceptions import NotFittedError

    model = RankSVM()
    with pytest.raises(NotFittedError):
        model.predict(TEST)
    with pytest.raises(NotFittedError):
        model.score(TEST)
    with pytest.raises(NotFittedError):
        model.save("nowhere")
    assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize("name", names())
def test_labels_beyond_all_tables_get_a_sentence(name: str) -> None:
    labels = TRAIN.labels.copy()
    labels[3] = 2**31 - 1
    with pytest.raises(DataError, match="label 2147483647 is too large"):
        quick(name).fit(TRAIN.features, labels, qid=TRAIN.qid())
    with pytest.raises(DataError, match="label 2147483647 is too large"):
        quick(name).fit(Dataset(TRAIN.features, labels, TRAIN.offsets, TRAIN.query_ids))


@pytest.mark.parametrize("name", names())
def test_divergence_is_an_error(name: str) -> None:
    """Large labels and large features: a sentence that names the ranker, or a finite model."""
    labels = np.where(TRAIN.labels == 2, 100_000, TRAIN.labels)
    for features, y in ((TRAIN.features, labels), (TRAIN.features * 1e306, TRAIN.labels)):
        sentence = ""
        try:
            model = quick(name).fit(features, y, qid=TRAIN.qid())
        except PippinError as error:
            sentence = str(error)
        if sentence:
            named = sentence.startswith(f"{name}: ") and "is not finite" in sentence and "likely cause is" in sentence
            assert named or "2^100000 is too large" in sentence
        else:
            assert np.isfinite(model.predict(TRAIN.features)).all()


def test_a_training_that_failed_leaves_nothing_to_use() -> None:
    model = RankSVM()
    with pytest.raises(DataError, match="not finite"):
        model.fit(TRAIN.features * 1e306, TRAIN.labels, qid=TRAIN.qid())
    assert not hasattr(model, "feature_importances_")


def test_huge_labels_are_the_likely_cause() -> None:
    labels = np.where(TRAIN.labels == 2, 5000, TRAIN.labels)
    with pytest.raises(DataError, match=r"xendcg: .* not finite .*the likely cause is label 5000.* small grades"):
        quick("xendcg").fit(TRAIN.features, labels, qid=TRAIN.qid())


def test_a_validation_set_in_which_nothing_counts_is_an_error() -> None:
    valid = Dataset(VALID.features, np.zeros_like(VALID.labels), VALID.offsets, VALID.query_ids)
    with pytest.raises(DataError, match="undefined for every query of the validation set"):
        ListNet(convention=Convention(empty=None)).fit(TRAIN, eval_set=valid)


def test_the_first_weights_of_adarank_are_the_queries() -> None:
    weights = np.where(np.arange(TRAIN.queries) < 3, 100.0, 1.0)
    few = AdaRank(rounds=1).fit(TRAIN.select(slice(0, 3))).coef_
    assert np.argmax(AdaRank(rounds=1).fit(TRAIN, sample_weight=weights).coef_) == np.argmax(few)


def test_a_grid_search_routes_queries_by_default() -> None:
    import sklearn
    from sklearn.model_selection import GridSearchCV, GroupKFold

    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankSVM(), {"C": [1e-3, 1.0]}, cv=GroupKFold(3))
        search.fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid(), groups=TRAIN.qid())
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        asking = RankSVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weighted = GridSearchCV(asking, {"C": [1.0]}, cv=GroupKFold(3))
        weights = np.ones(len(TRAIN))
        weighted.fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid(), groups=TRAIN.qid(), sample_weight=weights)
        assert np.isfinite(weighted.best_score_)
    with pytest.raises(TypeError, match="no argument of fit is called 'weights'"):
        RankSVM().set_fit_request(weights=True)
