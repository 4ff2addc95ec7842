"""Joining data and scores: labels in rank order, pools, missing queries and documents, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import RankingCache
from pippin.evaluation.rank import rank, to_qrels
from pippin.evaluation.ranking import Ranking
from pippin.kernels import ranking as ranking_kernel
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.strings import StringColumn


def dataset(labels: list[list[int]], ids: list[str] | None = None) -> Dataset:
    flat = [label for query in labels for label in query]
    offsets = np.concatenate(([0], np.cumsum([len(q) for q in labels]))).astype(np.int64)
    texts = None if ids is None else StringColumn.of(ids)
    queries = tuple(f"q{i}" for i in range(len(labels)))
    return Dataset(np.zeros((len(flat), 1)), np.array(flat, np.int32), offsets, queries, texts)


def of_query(ranking: Ranking, query: int) -> list[int]:
    return list(map(int, ranking.labels[ranking.offsets[query] : ranking.offsets[query + 1]]))


def pool_of(ranking: Ranking, query: int) -> list[int]:
    return list(map(int, ranking.pool[ranking.pool_offsets[query] : ranking.pool_offsets[query + 1]]))


def test_labels_come_in_rank_order_with_their_pool() -> None:
    ranking = rank(dataset([[0, 2, 1], [], [1, 0]]), np.array([1.0, 3.0, 2.0, 5.0, 6.0]), Convention())
    assert [of_query(ranking, q) for q in range(3)] == [[2, 1, 0], [], [0, 1]]
    assert [pool_of(ranking, q) for q in range(3)] == [[2, 1, 0], [], [1, 0]]
    assert ranking.tied.tolist() == [0] * 5
    assert ranking.sizes().tolist() == [3, 0, 2]
    assert (ranking.longest, ranking.largest_label) == (3, 2)
    assert ranking.relevant_queries().tolist() == [True, False, True]
    assert ranking.relevant_queries(2).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("input", [0, 1, 2]),
        ("expected", [0, 1, 2]),
        ("reversed", [2, 1, 0]),
        ("id-ascending", [1, 0, 2]),
        ("id-descending", [2, 0, 1]),
        ("best", [2, 1, 0]),
        ("worst", [0, 1, 2]),
    ],
)
def test_rules_for_ties(ties: str, expected: list[int]) -> None:
    convention = Convention(ties=ties, query_selection="both")
    data = dataset([[0, 1, 2]], ["b", "a", "c"])
    run = Run.from_dict({"q0": {"b": 1.0, "a": 1.0, "c": 1.0}})
    for ranking in (rank(data, np.ones(3), convention), rank(data, run, convention)):
        assert ranking.labels.tolist() == expected
        assert ranking.tied.tolist() == [0, 1, 1]
        assert ranking.expected == (ties == "expected")
        assert ranking.tied_queries().tolist() == [True]


def test_precision_of_scores() -> None:
    data, scores = dataset([[1, 2]], ["a", "b"]), np.array([1.0, 1.0 + 2**-30])
    assert rank(data, scores, Convention(ties="input")).labels.tolist() == [2, 1]
    single = rank(data, scores, Convention(ties="input", score_precision="float32"))
    assert single.labels.tolist() == [1, 2]
    assert single.tied.tolist() == [0, 1]


def test_labels_above_the_top_count_as_nothing() -> None:
    ranking = rank(dataset([[3, 2, 1]]), np.array([3.0, 2.0, 1.0]), Convention(max_valid_label=2))
    assert ranking.labels.tolist() == [0, 2, 1]
    assert ranking.pool.tolist() == [2, 1, 0]


JUDGED = {"1": {"a": 2, "b": 0}, "2": {"c": 1}, "3": {"d": -1, "e": 0}}
RUN = {"3": {"e": 2.0, "x": 3.0}, "1": {"b": 1.0, "z": 2.0, "a": 0.5}, "9": {"a": 1.0}}


@pytest.mark.parametrize(
    ("queries", "expected"), [("both", ("1", "3")), ("judged", ("1", "2", "3")), ("relevant", ("1", "2"))]
)
def test_which_queries_count(queries: str, expected: tuple[str, ...]) -> None:
    ranking = rank(Qrels.from_dict(JUDGED), Run.from_dict(RUN), Convention(query_selection=queries))
    assert ranking.query_ids == expected
    assert of_query(ranking, 0) == [UNJUDGED, 0, 2]
    assert pool_of(ranking, 0) == [2, 0]


def test_missing_and_unjudged() -> None:
    ranking = rank(Qrels.from_dict(JUDGED), Run.from_dict(RUN), Convention())
    assert [of_query(ranking, q) for q in range(3)] == [[UNJUDGED, 0, 2], [], [UNJUDGED, 0]]
    assert [pool_of(ranking, q) for q in range(3)] == [[2, 0], [1], [0, -1]]
    assert ranking.largest_label == 2


def test_which_queries_count_by_the_relevance_level() -> None:
    ranking = rank(
        Qrels.from_dict(JUDGED), Run.from_dict(RUN), Convention(query_selection="relevant", relevance_threshold=2)
    )
    assert ranking.query_ids == ("1",)
    data = dataset([[1], [2], [0]])
    assert rank(data, np.zeros(3), Convention(query_selection="relevant")).query_ids == ("q0", "q1")


def test_select_keeps_everything_of_a_query() -> None:
    ranking = rank(Qrels.from_dict(JUDGED), Run.from_dict(RUN), Convention())
    rotated = ranking.select(np.array([2, 0]))
    assert rotated.query_ids == ("3", "1")
    assert [of_query(rotated, q) for q in (0, 1)] == [of_query(ranking, q) for q in (2, 0)]
    assert [pool_of(rotated, q) for q in (0, 1)] == [pool_of(ranking, q) for q in (2, 0)]
    assert ranking.select(np.empty(0, np.int64)).query_ids == ()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_are_finite(value: float) -> None:
    with pytest.raises(DataError, match="the score of document 2 is"):
        rank(dataset([[0, 1]]), np.array([1.0, value]), Convention())
    with pytest.raises(DataError, match=r"^run: the score of document a in query 1 is .*; scores must be finite$"):
        rank(Qrels.from_dict({"1": {"a": 1}}), Run.from_dict({"1": {"b": 1.0, "a": value}}), Convention())


def test_as_many_scores_as_documents() -> None:
    with pytest.raises(DataError, match="2 scores for the 3 documents of data"):
        rank(dataset([[0, 1, 2]]), np.zeros(2), Convention())


def test_scores_of_another_type_are_used() -> None:
    data = dataset([[0, 1, 2]])
    inputs: list[Any] = [np.array([1, 2, 3]), np.array([1, 2, 3], np.float32), np.arange(6.0)[::2]]
    for scores in inputs:
        assert rank(data, scores, Convention()).labels.tolist() == [2, 1, 0]


def test_a_run_without_a_common_query_is_refused() -> None:
    with pytest.raises(DataError, match="have no query in common"):
        rank(Qrels.from_dict({"1": {"a": 1}}), Run.from_dict({"2": {"a": 1.0}}), Convention())


def test_duplicate_documents_are_reported() -> None:
    run = Run(("1", "2"), np.array([0, 1, 4]), StringColumn.of(["a", "b", "c", "b"]), np.zeros(4))
    with pytest.raises(DataError, match=r"^run: document b is listed twice in query 2$"):
        rank(Qrels.from_dict({"1": {"a": 1}, "2": {"b": 1}}), run, Convention())


def test_ties_by_id_need_ids_only_where_there_are_ties() -> None:
    convention = Convention(ties="id-descending")
    assert rank(dataset([[0, 1]]), np.array([1.0, 2.0]), convention).labels.tolist() == [1, 0]
    with pytest.raises(ConventionError, match="ties=id-descending needs document ids, and data has none"):
        rank(dataset([[0, 1]]), np.ones(2), convention)


def test_a_run_needs_documents_with_names() -> None:
    with pytest.raises(DataError, match="has no document ids"):
        rank(dataset([[0, 1]]), Run.from_dict({"q0": {"a": 1.0}}), Convention())
    assert to_qrels(dataset([[0, 1]], ["a", "b"])).labels.tolist() == [0, 1]


def test_scores_need_a_data_set() -> None:
    with pytest.raises(DataError, match="scores need the data set"):
        rank(Qrels.from_dict(JUDGED), np.zeros(5), Convention())


def test_infinite_scores_are_ranked_where_they_are_allowed() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 2}}
    run = {"q": {"a": -np.inf, "b": 1.0, "c": np.inf}}
    with pytest.raises(DataError, match=r"is -inf; scores must be finite"):
        evaluate(qrels, run, "RR")
    evaluation = evaluate(qrels, run, "NDCG", "official", allow_infinite=True).mean["NDCG"]
    assert evaluation == pytest.approx((3 + 1 / 2) / (3 + 1 / np.log2(3)))
    data = Dataset.from_arrays(np.zeros((3, 1)), [1, 0, 2], [1, 1, 1])
    assert evaluate(data, [np.inf, 3.0, -np.inf], "RR", allow_infinite=True).mean["RR"] == 1
    with pytest.raises(DataError, match=r"is nan; scores must be finite"):
        evaluate(data, [np.nan, 3.0, -np.inf], "RR", allow_infinite=True)


@pytest.mark.parametrize("tied", [0, 3, 30])
def test_joint_evaluation_equals_separate_evaluations(tied: int) -> None:
    """Orders share a sort and values where no score is tied; some scores are equal in single precision alone."""
    generator = np.random.default_rng(tied)
    offsets = np.arange(0, 41 * 20, 20)
    scores = generator.permutation(800) / 8
    for query in range(tied):
        of_query = scores[offsets[query] : offsets[query + 1]]
        of_query[:] = generator.integers(0, 5, 20) + (generator.integers(0, 2, 20) * 1e-9 if query % 3 else 0)
    labels = generator.integers(0, 4, 800).astype(np.int32)
    labels[offsets[5] : offsets[6]] = 0
    ids = StringColumn.of(f"d{i}" for i in generator.permutation(800))
    data = Dataset(np.empty((800, 0)), labels, offsets, tuple(map(str, range(40))), ids)
    measures = ["NDCG@5", "MAP", "RR", "P@5", "ERR@10"]
    together = evaluate(data, scores, measures, "classic", err_max_grade=4)
    assert len(together) > 15
    for tool, value in together.items():
        alone = evaluate(data, scores, measures, tool, err_max_grade=4)
        assert value.counts == alone.counts
        for ours, theirs in zip(value.columns, alone.columns, strict=True):
            assert ours.values.tobytes() == theirs.values.tobytes(), (tool, ours.requested_name)


def test_a_list_as_given_is_another_ranking_though_its_labels_are_those_by_score() -> None:
    """Equal labels are the same in every order, but a floor looks at the score that goes with each."""
    by_score = Convention(ties="input", score_floor="zero")
    rankings = RankingCache(dataset([[1, 1]]), np.array([-1.0, 2.0]))
    assert rankings.for_convention(by_score.replace(list_order="given")).labels.tolist() == [0, 1]
    assert rankings.for_convention(by_score).labels.tolist() == [1, 0]


def sorts_of_all_tools(monkeypatch: pytest.MonkeyPatch, judged: Any, scored: Any) -> list[tuple[str, str, bool]]:
    """Return each sort of an evaluation under all tools: kernel, rule for ties, and single precision or not.

    A list that keeps the order in which it was given is none.
    """
    sorts = []

    def count_calls(name: str, of_scores: Callable[..., Any]) -> Callable[..., Any]:
        kernel = getattr(ranking_kernel, name)

        def counting(*given: Any) -> Any:
            if not (np.diff(of_scores(*given)) == -1).mean() > 0.9:
                sorts.append((name, *given[-2:]))
            return kernel(*given)

        return counting

    for name, of_scores in (
        ("rank_lists", lambda scores, *_: scores),
        ("rank_again", lambda _, scores, *__: scores),
        ("judge_and_rank", lambda run, *_: run[1]),
    ):
        monkeypatch.setattr(ranking_kernel, name, count_calls(name, of_scores))
    evaluated = evaluate(judged, scored, ["NDCG@10", "AP", "RR", "P@5"], "all")
    assert len(evaluated) > 45
    return sorts


def test_all_tools_at_once_share_one_sort_per_order_of_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    scores, labels = generator.integers(0, 30, 400) / 8, generator.integers(0, 2, 400).astype(np.int32)
    ids = [f"d{i}" for i in range(400)]
    data = Dataset(np.zeros((400, 1)), labels, np.arange(0, 401, 20), tuple(map(str, range(20))), StringColumn.of(ids))
    rows = [(str(q), range(20 * q, 20 * q + 20)) for q in range(20)]
    with monkeypatch.context() as patch:
        of_data = sorts_of_all_tools(patch, data, scores)
    assert len(of_data) == len(set(of_data))
    assert [name for name, *_ in of_data].count("rank_lists") == 1  # the others look at queries with ties again
    of_run = sorts_of_all_tools(
        monkeypatch,
        {q: {ids[i]: int(labels[i]) for i in each} for q, each in rows},
        {q: {ids[i]: float(scores[i]) for i in each} for q, each in rows},
    )
    assert len(of_run) == len(set(of_run))
    assert {rule[1:] for rule in of_run} == {rule[1:] for rule in of_data}
