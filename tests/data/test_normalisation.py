"""LETOR's three versions: rounding, NULL, normalisation and text."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.data.normalisation import (
    LETOR_VERSIONS,
    make_versions,
    round_as_printed,
    to_min,
    to_query_level_norm,
    write_version,
)
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.kernels.strings import StringColumn

N = float("nan")


def data(rows: list[list[float]], sizes: list[int], names: tuple[str, ...] = ()) -> Dataset:
    table = np.array(rows, np.float64).reshape(sum(sizes), -1)
    ids = StringColumn.of(f"d{i}" for i in range(len(table)))
    queries = tuple(f"q{i}" for i in range(len(sizes)))
    return Dataset(table, np.zeros(len(table), np.int32), np.cumsum([0, *sizes]), queries, ids, names)


def reference(value: float) -> str:
    return str(Decimal(f"{value:.16e}").quantize(Decimal("0.000001"), ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (9 / 128, "0.070313"),  # a tie in binary: away from zero, not to even
        (-9 / 128, "-0.070313"),
        (1 / 128, "0.007813"),
        (0.066667 / 0.4, "0.166668"),  # a tie only after 17 digits
        (0.138889 / 0.4, "0.347222"),
        (0.333333 / 0.4, "0.833332"),
        (-4e-7, "0.000000"),
        (123456789.0000005, "123456789.000001"),
    ],
)
def test_numbers_round_as_letor_printed_them(value: float, printed: str) -> None:
    assert f"{round_as_printed(np.array([value]))[0]:.6f}" == printed


@given(st.lists(st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9).map(lambda i: i / 2**21), max_size=50))
def test_the_fast_way_is_the_reference(values: list[float]) -> None:
    expected = [float(reference(value)) for value in values]
    result = round_as_printed(np.array(values))
    assert result.tolist() == expected
    assert not np.signbit(result[result == 0]).any()
    assert round_as_printed(result).tolist() == expected


@pytest.mark.parametrize("value", [2.0**53, 1e17, -1e22, 1e300, 1.7976931348623157e308])
def test_huge_numbers_are_whole_and_stay(value: float) -> None:
    assert round_as_printed(np.array([value, 0.1])).tolist() == [value, 0.1]


def test_null_stays_and_infinity_has_no_text() -> None:
    assert np.isnan(round_as_printed(np.array([N]))).all()
    with pytest.raises(DataError, match="infinite"):
        round_as_printed(np.array([np.inf]))


NAMES = ("bm25(k1=0.9)@title", "log_bm25@title", "lmir_jm@title")
ROWS: list[list[float]] = [[2, -1, -3], [N, N, N], [1, 3, -2], [N, N, N]]


def test_null_becomes_the_minimum_but_0_in_bm25() -> None:
    assert to_min(data(ROWS, [3, 1], NAMES)).features.tolist() == [[2, -1, -3], [0, 0, -3], [1, 3, -2], [0, 0, 0]]


def test_the_rule_of_the_paper_is_the_minimum_everywhere() -> None:
    result = to_min(data(ROWS, [3, 1], NAMES), rule="min").features
    assert result.tolist() == [[2, -1, -3], [1, -1, -3], [1, 3, -2], [0, 0, 0]]


def test_columns_that_become_0_may_be_named_or_numbered() -> None:
    assert to_min(data(ROWS[:3], [3]), zero=[3]).features[1].tolist() == [1, -1, 0]
    assert to_min(data(ROWS[:3], [3], NAMES), zero=["lmir_jm@title"]).features[1].tolist() == [1, -1, 0]
    with pytest.raises(ConventionError, match=r"cannot find BM25, .* among these 3 features"):
        to_min(data(ROWS, [4]))
    with pytest.raises(ConventionError, match="no feature 4"):
        to_min(data(ROWS, [4]), zero=[4])
    with pytest.raises(UnknownName, match="no feature is called 'bm25'"):
        to_min(data(ROWS, [4], NAMES), zero=["bm25"])
    with pytest.raises(UnknownName, match="did you mean letor"):
        to_min(data(ROWS, [4], NAMES), rule="leto")  # type: ignore[arg-type]


@pytest.mark.parametrize(("width", "zeros"), [(45, {11, 12, 26, 27, 41, 42}), (64, {21, 22, 23, 24, 25, 61})])
def test_the_layouts_of_letor_3_are_known(width: int, zeros: set[int]) -> None:
    result = to_min(data([[5.0] * width, [N] * width], [2])).features[1]
    assert {i + 1 for i in np.flatnonzero(result == 0).tolist()} == zeros


def test_bm25_is_not_computed_without_null() -> None:
    assert to_min(data([[1, 2, 3]], [1])).features.tolist() == [[1, 2, 3]]


def test_normalisation_is_within_the_query() -> None:
    result = to_query_level_norm(data([[1, 7], [3, 7], [2, 7], [5, 1], [5, 2]], [3, 0, 2]))
    assert result.features.tolist() == [[0, 0], [1, 0], [0.5, 0], [0, 0], [0, 1]]
    with pytest.raises(DataError, match="NULL cannot be normalised"):
        to_query_level_norm(data([[N]], [1]))


def test_each_version_is_derived_from_the_printed_previous_version() -> None:
    result = make_versions(data([[np.log(3)], [np.log(8)], [np.log(2)]], [3]), zero=[])
    assert list(result) == list(LETOR_VERSIONS)
    low, high = 0.693147, 2.079442
    assert result["QueryLevelNorm"].features[0, 0] == round_as_printed(np.array([(1.098612 - low) / (high - low)]))[0]


def test_the_text_is_letors(tmp_path: Path) -> None:
    dataset = data([[2, N, 0], [0.5, 1 / 128, 0]], [2], ("a", "b", "nan"))
    write_version(dataset, tmp_path / "null.txt")
    assert (tmp_path / "null.txt").read_text() == (
        "0 qid:q0 1:2.000000 2:NULL 3:0.000000 #docid = d0\n0 qid:q0 1:0.500000 2:0.007813 3:0.000000 #docid = d1\n"
    )
    write_version(dataset, tmp_path / "norm.txt", constant="0")
    assert (tmp_path / "norm.txt").read_text().splitlines()[0] == "0 qid:q0 1:2.000000 2:NULL 3:0 #docid = d0"


def test_null_is_replaced_in_numbers_alone(tmp_path: Path) -> None:
    table = np.array([[N]])
    dataset = Dataset(table, np.ones(1, np.int32), np.array([0, 1]), ("nan",), StringColumn.of(["nan"]))
    write_version(dataset, tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "1 qid:nan 1:NULL #docid = nan\n"


def test_without_ids_there_is_no_comment(tmp_path: Path) -> None:
    dataset = Dataset(np.ones((1, 1)), np.ones(1, np.int32), np.array([0, 1]), ("1",))
    write_version(dataset, tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "1 qid:1 1:1.000000\n"


@pytest.mark.parametrize("part", ["S1", "S2", "S3", "S4", "S5"])
def test_the_published_versions_follow_from_feature_null(shared: Path, tmp_path: Path, part: str) -> None:
    folder = shared / "data" / "OHSUMED"
    if not folder.is_dir():
        pytest.skip("OHSUMED is not here")
    for version, numbers in make_versions(read_letor(folder / "Feature-null" / f"{part}.txt")).items():
        write_version(numbers, tmp_path / "x.txt", constant=LETOR_VERSIONS[version].constant)
        assert (tmp_path / "x.txt").read_bytes() == (folder / version / f"{part}.txt").read_bytes()
