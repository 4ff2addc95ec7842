"""The scorer for scikit-learn's searches gives the values of `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.evaluate import evaluate
from pippin.metrics import make_scorer
from pippin.rankers import LambdaMART, RankSVM

GENERATOR = np.random.default_rng(3)
QID = np.repeat(np.arange(24), GENERATOR.integers(3, 9, 24))
X = GENERATOR.normal(size=(len(QID), 4))
Y = np.clip(np.round(X[:, 0] + GENERATOR.normal(size=len(QID)) / 2), 0, 2).astype(int)


@pytest.fixture(autouse=True, params=[False, True], ids=["routing off", "routing on"])
def settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """scikit-learn as it comes, and with its routing on already; either is as before afterwards."""
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield


@pytest.mark.parametrize(
    ("ranker", "grid"),
    [(LambdaMART(rounds=3), {"num_leaves": [2, 4]}), (RankSVM(), {"C": [0.01, 1.0]})],
    ids=["lambdamart", "ranksvm"],
)
def test_a_grid_search_gives_the_numbers_of_evaluate(ranker: Any, grid: dict[str, list[Any]]) -> None:
    scorer = make_scorer("NDCG@5", tool="letor4")
    search = GridSearchCV(ranker, grid, scoring=scorer, cv=GroupKFold(3), error_score="raise")
    search.fit(X, Y, groups=QID, qid=QID)
    (name,) = grid
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, Y, groups=QID)):
        for place, value in enumerate(grid[name]):
            model = type(ranker)(**{**ranker.get_params(), name: value}).fit(X[train], Y[train], qid=QID[train])
            mean = evaluate(Y[test], model.predict(X[test]), "NDCG@5", "letor4", qid=QID[test]).mean["NDCG@5"]
            assert search.cv_results_[f"split{fold}_test_score"][place] == mean
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == (len(X),)


def test_several_scorers_and_processes_and_pipelines() -> None:
    scorers = {
        "letor": make_scorer("NDCG@5", tool="letor4"),
        "strict": make_scorer("MAP", "yahoo", relevance_threshold=2),
    }
    queries = {"groups": QID, "qid": QID}
    pipeline = make_pipeline(StandardScaler(), RankSVM())
    alone = cross_validate(pipeline, X, Y, scoring=scorers, cv=GroupKFold(3), params=queries, error_score="raise")
    two = cross_validate(
        pipeline, X, Y, scoring=scorers, cv=GroupKFold(3), params=queries, error_score="raise", n_jobs=2
    )
    for name in ("test_letor", "test_strict"):
        assert np.isfinite(alone[name]).all()
        assert alone[name].tolist() == two[name].tolist()


def test_invalid_measures_are_reported_by_make_scorer() -> None:
    with pytest.raises(UnknownName, match="no measure is called 'NDGC@5'"):
        make_scorer("NDGC@5")
    with pytest.raises(UnknownName, match="no tool is called 'leto4'"):
        make_scorer("NDCG@5", tool="leto4")
    with pytest.raises(UnknownName, match="no axis is called 'tie'"):
        make_scorer("NDCG@5", tie="worst")  # type: ignore[call-arg]


def test_metadata_routing_is_respected() -> None:
    before = sklearn.get_config()["enable_metadata_routing"]
    scorer = make_scorer("NDCG@5", routing=False)
    assert sklearn.get_config()["enable_metadata_routing"] is before
    with pytest.raises(ConventionError, match=r"the query of each row is needed: hand qid= to fit"):
        scorer(RankSVM().fit(X, Y, qid=QID), X, Y)
    make_scorer("NDCG@5")
    assert sklearn.get_config()["enable_metadata_routing"] is True
