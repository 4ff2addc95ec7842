"""Top-k over a complete catalogue, with the order of PyTorch's topk."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.rank import rank
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.streaming import join
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.ranking import order_lists
from pippin.kernels.strings import StringColumn

OF_ALL = Convention(ties="topk-of-all", partial_sort_depth=10, score_precision="float32", query_selection="both")
PYTORCH_30 = [23, 16, 17, 18, 19, 20, 21, 22, 28, 27]
PYTORCH_700 = [8, 9, 4, 7, 5, 3, 1, 0, 2, 6]


def make_lists(queries: int, documents: int, catalogue: int) -> tuple[Qrels, Run]:
    """Tied scores, documents that several queries have, and relevant ones that were not retrieved."""
    random = np.random.default_rng(catalogue)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q in range(queries):
        selected = [f"d{i}" for i in random.choice(catalogue, documents, replace=False)]
        qrels[f"q{q}"] = {d: int(random.integers(0, 3)) for d in selected[::2]} | {selected[-1]: 1}
        run[f"q{q}"] = {d: float(random.integers(0, 4)) for d in selected[: documents // (1 + q % 2) - q % 3]}
    return Qrels.from_dict(qrels), Run.from_dict(run)


def whole_rows(judged: Qrels, run: Run, depth: int) -> list[list[str]]:
    """Compute the definition: rank all documents of the catalogue for each query and take the first."""
    lists = {q: list(run.document_ids.slice(*run.offsets[i : i + 2].tolist())) for i, q in enumerate(run.query_ids)}
    labelled = {
        q: list(judged.document_ids.slice(*judged.offsets[i : i + 2].tolist())) for i, q in enumerate(judged.query_ids)
    }
    columns = {d: i for i, d in enumerate(dict.fromkeys(d for q in run.query_ids for d in lists[q] + labelled[q]))}
    first = []
    for i, query in enumerate(run.query_ids):
        row = np.full(len(columns), -np.inf)
        row[[columns[d] for d in lists[query]]] = run.scores[run.offsets[i] : run.offsets[i + 1]]
        labels, offsets = np.zeros(len(row), np.int32), np.array([0, len(row)])
        ranked = order_lists(row, labels, offsets, None, f"topk-given:{depth}", True)
        first.append([list(columns)[column] for column in ranked[:depth]])
    return first


def first_of(ranking: Ranking, depth: int) -> list[list[str]]:
    return [list(ranking.documents)[begin : begin + depth] for begin in ranking.offsets[:-1].tolist()]


@pytest.mark.parametrize("catalogue", [40, 400, 5000], ids=["all sorted", "some overlap", "a partial sort"])
def test_topk_equals_the_first_of_full_rows(catalogue: int) -> None:
    qrels, run = make_lists(60, 24, catalogue)
    ranking = rank(qrels, run, OF_ALL)
    assert first_of(ranking, 10) == whole_rows(qrels, run, 10)
    labels = dict(zip(zip(np.repeat(qrels.query_ids, np.diff(qrels.offsets)).tolist(), qrels.document_ids,
                          strict=True), qrels.labels.tolist(), strict=True))  # fmt: skip
    pairs = zip(np.repeat(ranking.query_ids, ranking.sizes()).tolist(), ranking.documents, strict=True)
    assert ranking.labels.tolist() == [labels.get(pair, UNJUDGED) for pair in pairs]


def test_topk_leaves_equal_items_as_pytorch_does() -> None:
    """What torch 2.13 gives for torch.topk(torch.zeros(30), 10) and for a row of 700, which it sorts in part."""
    for size, first in ((30, PYTORCH_30), (700, PYTORCH_700)):
        row, offsets = np.zeros(size), np.array([0, size])
        order = order_lists(row, np.zeros(size, np.int32), offsets, None, "topk-given:10", True)
        assert order[:10].tolist() == first


def test_a_missed_document_fills_a_short_list_and_is_a_hit() -> None:
    qrels = {"u": {"a": 1, "b": 1}, "v": {"c": 1}}
    run = {"u": {"a": 2.0}, "v": {"c": 1.0}}
    assert evaluate(qrels, run, "recall@10", tool="recbole").per_query["recall@10"] == {"u": 1.0, "v": 1.0}
    assert evaluate(qrels, run, "recall@10", tool="implicit").per_query["recall@10"]["u"] == 0.5


def test_scores_and_documents_go_with_the_list() -> None:
    qrels, run = make_lists(8, 12, 60)
    ranking = rank(qrels, run, OF_ALL)
    scores = {(q, d): s for i, q in enumerate(run.query_ids) for d, s in zip(
        run.document_ids.slice(*run.offsets[i : i + 2].tolist()), run.scores[run.offsets[i] :].tolist(), strict=False
    )}  # fmt: skip
    pairs = zip(np.repeat(ranking.query_ids, ranking.sizes()).tolist(), ranking.documents, strict=True)
    assert ranking.scores.tolist() == [scores.get(pair, -np.inf) for pair in pairs]


def test_a_data_set_without_ids_has_another_document_in_every_row() -> None:
    labels, offsets = np.array([0, 1, 1, 0, 0, 0], np.int32), np.array([0, 2, 4, 6])
    named = StringColumn.of(["a", "b", "c", "d", "e", "f"])
    scores = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    lists = [
        rank(Dataset(np.zeros((6, 1)), labels, offsets, ("p", "q", "r"), ids), scores, OF_ALL).labels.tolist()
        for ids in (None, named)
    ]
    assert lists[0] == lists[1]
    assert len(lists[0]) == 4 + 4 + 2  # the four documents of the queries with a relevant one, and r as it is


def test_lists_that_no_other_document_can_change_stay_as_they_are() -> None:
    qrels, run = {"u": {"d0": 1}, "v": {"d3": 1}}, {q: {f"d{i}": float(i) for i in range(12)} for q in "uv"}
    for measure in ("ndcg@10", "mrr@10"):
        values = [
            evaluate(qrels, run, measure, tool="recbole", ties=ties).per_query for ties in ("input", "topk-of-all")
        ]
        assert values[0] == values[1]


def test_all_of_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pippin.evaluation.full_sort._MAX_CELLS", 100)
    qrels, run = make_lists(6, 12, 60)
    with pytest.raises(ConventionError, match="limit the depth with partial_sort_depth"):
        rank(qrels, run, OF_ALL.replace(partial_sort_depth=0))


def test_parts_do_not_know_all_documents() -> None:
    part = evaluate({"u": {"a": 1}}, {"u": {"a": 1.0}}, "ndcg@10", tool="recbole")
    with pytest.raises(ConventionError, match="which an evaluation in parts does not have"):
        join([part, part])
