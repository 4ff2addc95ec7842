"""Ordering, judging and pooling kernels equal their definitions on any number of threads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference

from pippin.evaluation.convention import DETERMINISTIC_TIES as RULES
from pippin.kernels import ranking
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.strings import StringColumn

DETERMINISTIC_TIES = (
    *RULES,
    "best",
    "worst",
)  # what sorts of other libraries leave has no definition but their own steps
# scores that tie exactly, only as zeros, or only in single precision (2^-30 vanishes beside 1)
SCORES = [-1.5, -0.0, 0.0, 1.0, 1.0 + 2**-30, 1.0 - 2**-30, 2.5, 1e300, -1e300, 5e-324]
IDS = ["", "a", "b", "ab", "d10", "d9", "D9", "zz", "é", "d1234", "d1235", "d123456", "eight by"]
IDS += ["eight bytes and more", "eight bytes and most"]


@st.composite
def offsets_of(draw: st.DrawFn) -> list[int]:
    sizes = draw(st.lists(st.integers(0, 9), max_size=6))
    return list(itertools.accumulate(sizes, initial=0))


@st.composite
def columns(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.int32], list[int], list[str]]:
    offsets = draw(offsets_of())
    rows = offsets[-1]
    scores = draw(st.lists(st.sampled_from(SCORES), min_size=rows, max_size=rows))
    labels = draw(st.lists(st.sampled_from([UNJUDGED, -1, 0, 1, 2, 3]), min_size=rows, max_size=rows))
    ids: list[str] = []
    for first, last in itertools.pairwise(offsets):
        ids += draw(st.permutations(IDS))[: last - first]
    return np.array(scores, np.float64), np.array(labels, np.int32), offsets, ids


@settings(max_examples=60)
@given(columns(), st.booleans())
def test_order_and_rank_equal_their_twins(
    drawn: tuple[NDArray[np.float64], NDArray[np.int32], list[int], list[str]], float32: bool
) -> None:
    scores, labels, offsets, ids = drawn
    cut = np.array(offsets, np.int64)
    with np.errstate(over="ignore"):
        for ties in DETERMINISTIC_TIES:
            order = reference.order(scores, labels, offsets, ids, ties, float32)
            tied = reference.tied(scores, offsets, order, float32)
            assert ranking.order_lists(scores, labels, cut, StringColumn.of(ids), ties, float32).tolist() == order
            result, flags, _ = ranking.rank_lists(scores, labels, cut, StringColumn.of(ids), ties, float32)
            assert result.tolist() == labels[order].tolist()
            assert flags.tolist() == tied


def test_zeros_of_either_sign_are_one_score() -> None:
    scores, labels = np.array([-0.0, 0.0, -0.0]), np.array([1, 2, 3], np.int32)
    ranked, tied, _ = ranking.rank_lists(scores, labels, np.array([0, 3]), None, "input", False)
    assert ranked.tolist() == [1, 2, 3]
    assert tied.tolist() == [0, 1, 1]


def test_single_precision_ties_what_double_tells_apart() -> None:
    scores, labels, offsets = np.array([1.0, 1.0 + 2**-30]), np.array([1, 2], np.int32), np.array([0, 2])
    assert ranking.rank_lists(scores, labels, offsets, None, "input", False)[0].tolist() == [2, 1]
    assert ranking.rank_lists(scores, labels, offsets, None, "input", True)[0].tolist() == [1, 2]


def test_ids_compare_as_bytes() -> None:
    scores, labels = np.zeros(4), np.array([0, 1, 2, 3], np.int32)
    ids = StringColumn.of(["d9", "D9", "d10", "é"])  # bytes: D9 < d10 < d9 < é
    ranked, _, _ = ranking.rank_lists(scores, labels, np.array([0, 4]), ids, "id-ascending", False)
    assert ranked.tolist() == [1, 2, 0, 3]


def judge_twin(
    run: tuple[list[str], NDArray[np.float64], list[int]],
    judged: tuple[list[str], NDArray[np.int32], list[int]],
    pairs: list[tuple[int, int]],
    ties: str,
    float32: bool,
) -> tuple[list[int], list[int]]:
    """Return labels and ties of each (run query, judged query), -1 for a missing query."""
    ranked, tied = [], []
    for source, judge in pairs:
        if source < 0:
            continue
        rows = range(*run[2][source : source + 2])
        filled = {} if judge < 0 else {judged[0][j]: int(judged[1][j]) for j in range(*judged[2][judge : judge + 2])}
        ids = [run[0][r] for r in rows]
        labels = np.array([filled.get(i, UNJUDGED) for i in ids], np.int32)
        scores = run[1][list(rows)]
        order = reference.order(scores, labels, [0, len(ids)], ids, ties, float32)
        ranked += labels[order].tolist()
        tied += reference.tied(scores, [0], order, float32)
    return ranked, tied


@settings(max_examples=60)
@given(columns(), columns(), st.data(), st.booleans())
def test_judging_equals_its_twin(a: Any, b: Any, data: st.DataObject, float32: bool) -> None:
    scores, _, run_offsets, run_ids = a
    _, labels, judged_offsets, judged_ids = b
    first = st.tuples(st.integers(-1, len(run_offsets) - 2), st.integers(-1, len(judged_offsets) - 2))
    pairs = data.draw(st.lists(first, max_size=6))
    sizes = [0 if q < 0 else run_offsets[q + 1] - run_offsets[q] for q, _ in pairs]
    offsets = np.array(list(itertools.accumulate(sizes, initial=0)), np.int64)
    run_of, judged_of = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    with np.errstate(over="ignore"):
        for ties in DETERMINISTIC_TIES:
            ranked, tied, twice = ranking.judge_and_rank(
                (StringColumn.of(run_ids), scores, np.array(run_offsets, np.int64)),
                (StringColumn.of(judged_ids), labels, np.array(judged_offsets, np.int64)),
                run_of, judged_of, offsets, ties, float32,
            )  # fmt: skip
            expected = judge_twin(
                (run_ids, scores, run_offsets), (judged_ids, labels, judged_offsets), pairs, ties, float32
            )
            assert (ranked.tolist(), tied.tolist()) == expected
            assert twice == (-1, -1)


@settings(max_examples=100)
@given(st.lists(st.lists(st.sampled_from(IDS), max_size=8), max_size=6))
def test_duplicates_equal_their_twin(queries: list[list[str]]) -> None:
    offsets = list(itertools.accumulate(map(len, queries), initial=0))
    ids = [i for query in queries for i in query]
    cut = np.array(offsets, np.int64)
    assert ranking.find_duplicate(StringColumn.of(ids), cut) == reference.duplicate(ids, offsets)
    each = np.arange(len(queries), dtype=np.int64)
    qrels = (StringColumn.of([]), np.empty(0, np.int32), np.zeros(2, np.int64))
    none = np.full(len(queries), -1, np.int64)
    result = ranking.judge_and_rank(
        (StringColumn.of(ids), np.zeros(len(ids)), cut), qrels, each, none, cut, "input", False
    )
    assert result[2] == reference.duplicate(ids, offsets)


@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_the_first_duplicate_of_the_file_is_found_whatever_the_thread(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", threads)
    queries, size = 1000, 8
    ids = [f"d{i}" for _ in range(queries) for i in range(size)]
    for query in (900, 333, 640, 120):  # four queries repeat their third document at the end
        ids[query * size + 7] = "d2"
    offsets = np.arange(0, queries * size + 1, size)
    assert ranking.find_duplicate(StringColumn.of(ids), offsets) == (120 * size + 2, 120 * size + 7)


@settings(max_examples=60)
@given(columns(), st.data())
def test_pools_equal_their_twin(drawn: Any, data: st.DataObject) -> None:
    _, labels, offsets, _ = drawn
    queries = data.draw(st.lists(st.integers(-1, len(offsets) - 2), max_size=6))
    pools = [[] if q < 0 else sorted(labels[offsets[q] : offsets[q + 1]].tolist(), reverse=True) for q in queries]
    out = np.array(list(itertools.accumulate(map(len, pools), initial=0)), np.int64)
    result = ranking.sort_pools(labels, np.array(offsets, np.int64), np.array(queries, np.int64), out)
    assert result.tolist() == [label for pool in pools for label in pool]


def many() -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], StringColumn]:
    """Draw enough queries for all threads."""
    random = np.random.default_rng(7)
    sizes = random.integers(0, 30, 700)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = int(offsets[-1])
    ids = StringColumn.of(f"d{i}" for i in random.permutation(rows))
    return random.integers(0, 6, rows) / 4, random.integers(-1, 4, rows).astype(np.int32), offsets, ids


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labels, offsets, ids = many()
    queries = np.arange(len(offsets) - 1)

    def everything() -> list[bytes]:
        out = []
        for ties in DETERMINISTIC_TIES:
            out.append(ranking.order_lists(scores, labels, offsets, ids, ties, False).tobytes())
            out += [a.tobytes() for a in ranking.rank_lists(scores, labels, offsets, ids, ties, True)]
            result = ranking.judge_and_rank(
                (ids, scores, offsets), (ids, labels, offsets), queries, queries, offsets, ties, False
            )
            out += [a.tobytes() for a in result[:2]]
        return [*out, ranking.sort_pools(labels, offsets, queries, offsets).tobytes()]

    before = [a.tobytes() for a in (scores, labels, offsets, ids.buffer, ids.starts, ids.lengths)]
    monkeypatch.setenv("PIPPIN_THREADS", "1")
    alone = everything()
    monkeypatch.setenv("PIPPIN_THREADS", "2")
    assert everything() == alone
    assert [a.tobytes() for a in (scores, labels, offsets, ids.buffer, ids.starts, ids.lengths)] == before


def test_wrong_types_are_refused() -> None:
    scores, labels, offsets = np.zeros(2), np.zeros(2, np.int32), np.array([0, 2])
    wrong: list[tuple[Any, Any, Any]] = [
        (scores.astype(np.float32), labels, offsets),
        (scores, labels.astype(np.int64), offsets),
        (scores, labels, offsets.astype(np.int32)),
        (np.zeros(4)[::2], labels, offsets),
        (scores.tolist(), labels, offsets),
    ]
    for arguments in wrong:
        for kernel in (ranking.rank_lists, ranking.order_lists):
            with pytest.raises(TypeError):
                kernel(*arguments, None, "input", False)
    with pytest.raises(TypeError):
        ranking.sort_pools(labels.astype(np.int64), offsets, np.array([0]), offsets)
    with pytest.raises(TypeError):
        ranking.find_duplicate(StringColumn(np.zeros(2, np.int8), offsets[:1], labels[:1]), offsets)


@pytest.mark.parametrize("ties", ranking.TIES)
@pytest.mark.parametrize("float32", [False, True])
@pytest.mark.parametrize("before", [("input", False), ("id-descending", True)])
def test_one_order_gives_every_other(ties: str, float32: bool, before: tuple[str, bool]) -> None:
    generator = np.random.default_rng(5)
    offsets = np.array([0, 1, 1, 60, 400, 450, 500], np.int64)
    scores = generator.integers(0, 40, 500) / 8 + generator.integers(0, 2, 500) * 1e-9
    scores[400:] = generator.permutation(100)
    scores[450] = scores[451] + 1e-9  # tied in float32 alone, as some above; the query before has no ties at all
    labels = generator.integers(-1, 3, 500).astype(np.int32)
    ids = StringColumn.of(f"d{i}" for i in generator.permutation(500))
    ranking_before = ranking.rank_lists(scores, labels, offsets, ids, *before)
    assert ranking_before[2].tolist() == [0, 0, 1, 1, 0, 1]
    result = ranking.rank_again(ranking_before, scores, labels, offsets, ids, ties, float32)
    for ours, sorted_anew in zip(result, ranking.rank_lists(scores, labels, offsets, ids, ties, float32), strict=True):
        np.testing.assert_array_equal(ours, sorted_anew)


@pytest.mark.parametrize("labels", [[2, 0, 1, 15, 0], [3, -1, 2], [16, 2, 16], []])
def test_pools_hold_all_labels_highest_first(labels: list[int]) -> None:
    grades, offsets = np.array(labels, np.int32), np.array([0, len(labels)], np.int64)
    assert ranking.sort_pools(grades, offsets, np.array([0]), offsets).tolist() == sorted(labels, reverse=True)


def test_an_unstable_sort_leaves_ties_as_the_original_does() -> None:
    labels, offsets = np.zeros(18, np.int32), np.array([0, 18], np.int64)
    sorted_zeros = [9, *range(17, 9, -1), 0, *range(8, 0, -1)]  # torch.argsort of 18 zeros, downwards
    assert ranking.order_lists(np.zeros(18), labels, offsets, None, "introsort", False).tolist() == sorted_zeros
    labels[17] = 1  # which then stands first, and all others one further down
    given = [17, *range(17)]
    order = ranking.order_lists(np.zeros(18), labels, offsets, None, "introsort-relevant-first", False)
    assert order.tolist() == [given[place] for place in sorted_zeros]
    # torch.sort of ten zeros and ten of minus infinity, downwards
    filled = ranking.order_lists(np.zeros(10), labels[:10], np.array([0, 10]), None, "introsort:20", True)
    assert filled.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]


@pytest.mark.parametrize(("depth", "first"), [
    (1, [8]), (3, [8, 0, 5]), (5, [8, 0, 5, 7, 9]), (10, [8, 5, 9, 7, 0, 3, 2, 1, 4, 6]),
    (0, [8, 5, 9, 7, 0, 3, 2, 1, 4, 6]),
])  # fmt: skip
def test_a_partial_sort_leaves_ties_as_torch_topk_does(depth: int, first: list[int]) -> None:
    scores, offsets = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 2, 1]), np.array([0, 10], np.int64)
    order = ranking.order_lists(scores, np.zeros(10, np.int32), offsets, None, f"topk:{depth}", True)
    assert order[: len(first)].tolist() == first
    assert sorted(order.tolist()) == list(range(10))


def test_argsort_leaves_ties_as_numpy_does() -> None:
    """What NumPy 2.4 gives with AVX2 and with AVX-512, turned round; beyond 256 documents they stay as given."""
    scores, labels = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 2, 1]), np.zeros(300, np.int32)
    order = ranking.order_lists(scores, labels[:10], np.array([0, 10]), None, "argsort", False)
    assert order.tolist() == [8, 9, 7, 5, 2, 3, 0, 6, 4, 1]
    labels[5] = labels[4] = 1  # which then stand first: np.argsort of 0 1 1 0 1 1 0 1 2 1
    given = [4, 5, 0, 1, 2, 3, 6, 7, 8, 9]
    order = ranking.order_lists(scores, labels[:10], np.array([0, 10]), None, "argsort-relevant-first", False)
    assert order.tolist() == [given[place] for place in [8, 9, 7, 5, 4, 2, 1, 6, 3, 0]]
    for size, expected in ((18, list(range(17, -1, -1))), (300, list(range(300)))):
        offsets = np.array([0, size], np.int64)
        assert ranking.order_lists(np.zeros(size), labels[:size], offsets, None, "argsort", False).tolist() == expected


@pytest.mark.parametrize(("depth", "first"), [
    (1, [8]), (3, [8, 9, 3]), (5, [8, 9, 3, 2, 5]), (10, [8, 9, 7, 2, 5, 0, 3, 6, 4, 1]),
    (0, [8, 9, 7, 2, 5, 0, 3, 6, 4, 1]),
])  # fmt: skip
def test_argpartition_leaves_ties_as_numpy_does(depth: int, first: list[int]) -> None:
    """np.argpartition(scores, range(-depth, 0)), the last of it turned round."""
    scores, offsets = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 2, 1]), np.array([0, 10], np.int64)
    order = ranking.order_lists(scores, np.zeros(10, np.int32), offsets, None, f"argpartition:{depth}", False)
    assert order[: len(first)].tolist() == first
    assert sorted(order.tolist()) == list(range(10))
    assert (np.diff(scores[order]) <= 0).all()


@pytest.mark.parametrize(("size", "top", "first", "last"), [
    (20, 3, [3, 4, 7, 8, 14, 15, 18, 19, 1], [10, 12, 16, 17, 0, 2, 9, 11, 13]),  # by insertion, as given
    (22, 3, [3, 7, 4, 8, 14, 18, 15, 19, 5], [17, 12, 21, 2, 0, 9, 13, 11, 20]),  # networks for 9
    (30, 3, [4, 8, 3, 7, 14, 15, 25, 18, 19], [28, 2, 9, 11, 0, 13, 24, 22, 20]),  # and for 13
    (60, 2, [1, 10, 12, 21, 23, 32, 34, 43, 45], [52, 53, 2, 55, 11, 57, 58, 59, 36]),  # split before
    (200, 5, [91, 14, 19, 25, 30, 36, 41, 47, 52], [192, 193, 6, 33, 0, 44, 198, 60, 170]),  # at a median of medians
])  # fmt: skip
def test_ipnsort_leaves_ties_as_rust_does(size: int, top: int, first: list[int], last: list[int]) -> None:
    """What argsort_descending of lenskit 2025.8.1 gives, which is sort_unstable_by_key of Rust."""
    scores = np.arange(size) ** 2 * 7 % 11 % top
    order = ranking.order_lists(
        scores.astype(float), np.zeros(size, np.int32), np.array([0, size]), None, "ipnsort", False
    ).tolist()
    assert (order[:9], order[-9:]) == (first, last)


def test_ipnsort_falls_back_on_a_heap_as_rust_does() -> None:
    """Scores that make every pivot a bad one; the order is that of lenskit 2025.8.1."""
    below = [
        0, 2, 16, 4, 14, 6, 14, 8, 15, 10, 16, 12, 16, 14, 15, 14, 15, 14, 16, 20, 15, *[19] * 8, *[18] * 8, *[17] * 8,
        16, 16, 16, 16, 1, 9, 3, 11, 5, 13, 7, 14, 15, 15, 15, 15, 14, 14,
    ]  # fmt: skip
    expected = [
        0, 49, 1, 51, 3, 53, 5, 55, 7, 50, 9, 52, 11, 54, 13, 62, 17, 4, 6, 56, 15, 61, 57, 60, 14, 8, 20, 58, 59, 16,
        18, 47, 45, 10, 2, 48, 12, 46, 44, 43, 40, 39, 41, 38, 37, 42, 29, 30, 35, 32, 36, 34, 33, 31, 28, 21, 27, 26,
        25, 24, 23, 22, 19,
    ]  # fmt: skip
    order = ranking.order_lists(
        -np.array(below, float), np.zeros(63, np.int32), np.array([0, 63]), None, "ipnsort", True
    )
    assert order.tolist() == expected


@pytest.mark.parametrize("downwards", [True, False])
def test_ipnsort_leaves_a_sorted_list_alone_and_turns_round_one_that_strictly_rises(downwards: bool) -> None:
    scores = -np.repeat(np.arange(15.0), 2) if downwards else np.arange(30.0)
    order = ranking.order_lists(scores, np.zeros(30, np.int32), np.array([0, 30]), None, "ipnsort", True)
    assert order.tolist() == (list(range(30)) if downwards else list(range(29, -1, -1)))
