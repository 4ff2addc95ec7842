"""The native objective equals evaluation under every convention and detects queries that cannot change."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.strategies import rule_of

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention, changes_text
from pippin.evaluation.evaluation import mean_of, measure_values
from pippin.evaluation.measures import MEASURE_DEFINITIONS, KernelMeasure, MeasureDefinition
from pippin.evaluation.objective import Objective, resolve
from pippin.evaluation.rank import rank
from pippin.evaluation.tools import TOOLS
from pippin.kernels.measures import has_measure
from pippin.kernels.strings import StringColumn

MEASURES = [
    kind.name if cutoff is None else f"{kind.name}@{cutoff}"
    for kind in MEASURE_DEFINITIONS.values()
    if kind.aggregate == "mean" and kind.run_function is None
    for cutoff in {"never": (None,), "required": (4,)}.get(kind.cutoff, (None, 4))
]


@cache
def some(seed: int, queries: int = 40, longest: int = 14, labels: int = 3, features: int = 3) -> Dataset:
    """Draw queries of 1 to `longest` documents with coarse, tied features; some have no relevant document."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, queries)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = int(offsets[-1])
    result = rng.integers(0, labels, rows) * np.repeat(rng.random(queries) > 0.25, sizes)
    table = np.round(rng.random((rows, features)), 1)
    ids = StringColumn.of([f"d{i}" for i in rng.permutation(rows)])
    return Dataset(table, result.astype(np.int32), offsets, tuple(f"q{i}" for i in range(queries)), ids)


def through_evaluation(
    data: Dataset, scores: NDArray[np.float64], measure: str, tool: str | Convention
) -> NDArray[np.float64]:
    parsed, convention = resolve(measure, tool)
    return measure_values(rank(data, scores, convention), parsed, convention)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_bits_are_those_of_evaluation(measure: str) -> None:
    tools = {rule_of(tool, measure): tool.name for tool in TOOLS.values()}
    assert len(tools) > 5
    for tool in tools.values():
        check_bits(measure, tool)


def check_bits(measure: str, tool: str | Convention) -> None:
    parsed, convention = resolve(measure, tool)
    data = some(1, labels=2 if convention.err_max_grade == "probability" else 3)
    objective = Objective(data, parsed, convention)
    if convention.ties == "expected" and not MEASURE_DEFINITIONS[parsed.kind].supports_expected_ties:
        assert objective.native is None
        return
    for feature in range(3):
        scores = data.features[:, feature].astype(np.float64)
        expected = through_evaluation(data, scores, measure, tool)
        result = objective.values(scores)
        assert result[~np.isnan(result)].tobytes() == expected[~np.isnan(expected)].tobytes()
        mean = mean_of(rank(data, scores, convention), parsed, convention, expected)
        assert Objective(data, measure, tool).mean(scores) == pytest.approx(mean, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("kind", MEASURE_DEFINITIONS.values(), ids=list(MEASURE_DEFINITIONS))
def test_native_measures_exist_in_the_kernel(kind: MeasureDefinition) -> None:
    settled = kind.native(Convention(ties="input"))
    # Where the number of a run is no mean over its queries, no kernel's values alone make it.
    assert settled is (
        kind.function if isinstance(kind.function, KernelMeasure) and kind.run_function is None else None
    )
    assert settled is None or has_measure(settled.name)
    assert (kind.native(Convention(ties="expected")) is None) == (settled is None or not kind.supports_expected_ties)


def test_undefined_kernel_values_follow_the_measure() -> None:
    """Where nothing is relevant, trec_eval's measures are 0 whatever an empty query counts."""
    check_bits("iprec_at_recall", Convention(ties="input", empty=1.0))
    check_bits("bpref_5", Convention(ties="input", empty=1.0))


def test_average_precision_undefined_for_some_orders_is_not_native() -> None:
    rankeval = Convention(ties="expected", ap_undefined="cutoff", empty=1.0)
    assert Objective(some(1), "AP@2", rankeval).native is None
    check_bits("AP@2", rankeval)


def test_queries_without_a_relevant_document_can_be_left_out() -> None:
    data = some(2)
    empty = np.array([not (data.labels[a:b] > 0).any() for a, b in zip(data.offsets, data.offsets[1:], strict=False)])
    assert empty.any()
    for convention in (Convention(empty=None), Convention(query_selection="relevant")):
        values = Objective(data, "NDCG@5", convention).values(np.zeros(len(data)))
        assert np.isnan(values).tolist() == empty.tolist()


def test_the_table_of_features_has_both_directions() -> None:
    data = some(3)
    objective = Objective(data, "MAP", "official")
    table = objective.features()
    assert table.shape == (6, data.queries)
    for feature in range(3):
        for s, sign in enumerate((1.0, -1.0)):
            expected = objective.values((sign * data.features[:, feature]).astype(np.float64))
            assert table[2 * feature + s].tobytes() == expected.tobytes()


def test_a_measure_that_is_no_kernel_has_a_table_of_features_too() -> None:
    data = some(3)
    objective = Objective(data, "11pt_avg", "ranklib")
    assert objective.native is None
    for row, (feature, sign) in zip(objective.features(), product(range(3), (1.0, -1.0)), strict=True):
        scores = (sign * data.features[:, feature]).astype(np.float64)
        assert row.tobytes() == through_evaluation(data, scores, "11pt_avg", "ranklib").tobytes()


@pytest.mark.parametrize("measure", ["num_ret", "nAUC_ndcg@10", "TopRR"])
def test_measures_that_are_not_means_cannot_be_optimised(measure: str) -> None:
    with pytest.raises(ConventionError, match=f"{measure} is not a mean over queries"):
        resolve(measure, "official")


@pytest.mark.parametrize("changes", [
    {"min_retrieved": 5}, {"min_retrieved": 1, "unjudged_documents": "drop", "negative_labels": "unjudged"},
    {"query_selection": "relevant-or-lost"},
    {"query_selection": "relevant", "min_retrieved": 5}, {"zero_values": "drop"}, {"unjudged_documents": "drop",
    "negative_labels": "unjudged"},
    {"negative_labels": "unjudged", "pool_source": "list"}, {"all_relevant_lists": "drop"},
], ids=changes_text)  # fmt: skip
def test_queries_and_documents_that_a_convention_leaves_out_are_left_out(changes: dict[str, Any]) -> None:
    """A value stands at its query's place, as evaluation has it by the query's id."""
    full = some(7)
    lost = np.insert(full.offsets, 9, full.offsets[9])  # a query without documents
    labels = np.where(np.arange(len(full)) % 5 == 0, -1, full.labels).astype(np.int32)
    names = tuple(f"q{i}" for i in range(len(lost) - 1))
    data = Dataset(full.features, labels, lost, names, full.document_ids)
    scores = data.features[:, 0].astype(np.float64)
    for measure, ties in product(("AP@4", "P@4", "NDCG"), ("input", "expected")):
        parsed, convention = resolve(measure, Convention(ties=ties, **changes))
        ranking = rank(data, scores, convention)
        expected = dict(zip(ranking.query_ids, measure_values(ranking, parsed, convention), strict=True))
        values = Objective(data, parsed, convention).values(scores)
        assert values.tolist() == pytest.approx([expected.get(q, np.nan) for q in names], rel=0, abs=0, nan_ok=True)


def test_varies_flags_queries_that_some_order_changes() -> None:
    labels = np.array([0, 0, 1, 1, 1, 0, 2, 1, 1, 0, 1], np.int32)
    data = Dataset(np.zeros((11, 1)), labels, np.array([0, 2, 4, 6, 9, 10, 11]), tuple("abcdef"))
    assert Objective(data, "NDCG@5", "official").require_native().varies().tolist() == [
        False, False, True, True, False, False,
    ]  # fmt: skip
    # MAP sees no difference between labels 1 and 2, and from label 2 on only query d has both kinds.
    assert Objective(data, "MAP", "official").require_native().varies().tolist() == [
        False, False, True, False, False, False,
    ]  # fmt: skip
    strict = Convention(relevance_threshold=2)
    assert Objective(data, "MAP", strict).require_native().varies().tolist() == [
        False, False, False, True, False, False,
    ]  # fmt: skip
    # Lists shorter than the cutoff count 0 whatever their order.
    assert not Objective(data, "NDCG@5", "letor4").require_native().varies().any()


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    data = some(4, queries=900)
    scores = data.features[:, 0].astype(np.float64)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        objective = Objective(data, "NDCG@10", "official")
        results.append(objective.values(scores).tobytes() + objective.features().tobytes())
    assert results[0] == results[1]


def test_scores_of_another_length_and_wrong_types_are_refused() -> None:
    native = Objective(some(5), "MAP", "official").require_native()
    with pytest.raises(ValueError, match="3 scores for"):
        native.values(np.zeros(3))
    with pytest.raises(TypeError):
        native.values(np.zeros(native.rows, np.float32))


def test_ids_are_needed_only_where_ties_want_them() -> None:
    data = some(6)
    nameless = Dataset(data.features, data.labels, data.offsets, data.query_ids)
    untied = np.arange(len(data), dtype=np.float64)
    assert np.isfinite(Objective(nameless, "MAP", "trec_eval9").mean(untied))
    with pytest.raises(ConventionError, match="needs document ids"):
        Objective(nameless, "MAP", "trec_eval9").mean(np.zeros(len(data)))
    with pytest.raises(ConventionError, match="cannot be optimised"):
        Objective(nameless, "MAP", "trec_eval9").require_native()
