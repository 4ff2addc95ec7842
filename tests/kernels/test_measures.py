"""The contract of measure kernels: exact dtypes, unmodified inputs, thread-independent bits."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.errors import PippinError
from pippin.evaluation.measures import MEASURE_DEFINITIONS, KernelMeasure
from pippin.kernels import measures, threads
from pippin.kernels.measures import UNJUDGED, Rules, measure_lists

NAMES = sorted(
    {kind.function.name for kind in MEASURE_DEFINITIONS.values() if isinstance(kind.function, KernelMeasure)}
)


def rules(depth: int = 64, **changes: Any) -> Rules:
    ranks = np.arange(1.0, depth + 1)
    start = Rules(np.array([0.0, 1.0, 3.0, 7.0, 15.0]), np.ones(depth), np.log2(ranks + 1), parameter=0.5)
    return replace(start, **changes)


def lists(
    queries: int = 500,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Ranked lists with ties and unjudged documents, and their pools."""
    random = np.random.default_rng(11)
    sizes = random.integers(0, 40, queries)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    labels = random.choice(np.array([UNJUDGED, -1, 0, 0, 1, 2, 3, 4], np.int32), int(offsets[-1]))
    tied = (random.random(len(labels)) < 0.5).astype(np.uint8)
    tied[offsets[:-1][sizes > 0]] = 0
    pools = [np.sort(labels[a:b][labels[a:b] != UNJUDGED])[::-1] for a, b in itertools.pairwise(offsets.tolist())]
    pool_offsets = np.concatenate(([0], np.cumsum([len(p) for p in pools]))).astype(np.int64)
    return labels, tied, offsets, np.concatenate(pools), pool_offsets


def test_every_name_is_known() -> None:
    assert all(map(measures.has_measure, NAMES))
    assert not measures.has_measure("")
    with pytest.raises(ValueError, match="no measure named nothing"):
        measure_lists("nothing", *lists(1), rules())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cutoff", [0, 5])
def test_threads_change_no_bit_and_inputs_stay(name: str, cutoff: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = lists()
    before = [a.tobytes() for a in data]
    for column in data:
        column.flags.writeable = False
    for settled in (False, True):
        arguments = (data[0], np.empty(0, np.uint8) if settled else data[1], *data[2:])
        results = []
        for number in ("1", "2", "3"):
            monkeypatch.setenv("PIPPIN_THREADS", number)
            results.append(measure_lists(name, *arguments, rules(cutoff=cutoff)).tobytes())
        assert results[0] == results[1] == results[2]
    assert [a.tobytes() for a in data] == before


def columns(data: Any, wrong: int, bad: Any) -> Any:
    """Return the columns with one replaced."""
    return (*data[:wrong], bad, *data[wrong + 1 :])


@pytest.mark.parametrize("wrong", range(5))
def test_wrong_types_are_refused(wrong: int) -> None:
    data, call = lists(3), cast(Any, measure_lists)
    for bad in (data[wrong].astype(np.float64), data[wrong].astype(np.int16), np.repeat(data[wrong], 2)[::2]):
        with pytest.raises(TypeError):
            call("ndcg", *columns(data, wrong, bad), rules())


@pytest.mark.parametrize("table", ["gains", "multipliers", "divisors"])
def test_tables_of_another_type_are_refused(table: str) -> None:
    wrong: dict[str, Any] = {table: np.ones(64, np.float32)}
    ruling = replace(rules(), **wrong)
    with pytest.raises(TypeError):
        measure_lists("ndcg", *lists(3), ruling)


@pytest.mark.parametrize("name", NAMES)
def test_no_query_and_no_document(name: str) -> None:
    nothing, none = np.empty(0, np.int32), np.empty(0, np.uint8)
    zero = np.zeros(1, np.int64)
    assert len(measure_lists(name, nothing, none, zero, nothing, zero, rules())) == 0
    first = np.zeros(2, np.int64)  # one query, no document, nothing judged
    value = measure_lists(name, nothing, none, first, nothing, first, rules(cutoff=10))[0]
    assert np.isnan(value) or value == 0


def test_the_number_of_threads_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", "3")
    assert threads() == 3
    assert threads(2) == 2
    assert threads(0) == 1
    monkeypatch.setenv("PIPPIN_THREADS", "0")
    assert threads() >= 1
    monkeypatch.setenv("PIPPIN_THREADS", "many")
    with pytest.raises(PippinError, match="PIPPIN_THREADS must be a non-negative integer, got 'many'"):
        threads()
    monkeypatch.delenv("PIPPIN_THREADS")
    assert threads() >= 1
