"""LETOR's t-test: p-values of all public golden lines, and edge cases."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pippin.compat.letor_ttest import format_p, paired_t_letor, upper_t
from pippin.errors import DataError

Values = dict[str, dict[int, float]]


def read_letor3(file: Path) -> Values:
    """Read lines such as `NDCG of query3:` with one value per position of the query's documents."""
    names = {"precision": "prec@", "NDCG": "ndcg@", "Map": "map"}
    values: Values = {}
    for line in file.read_text().splitlines():
        match = re.match(r"(\w+) of query(\d+):\s*(.*)", line)
        if match:
            name = names[match[1]]
            for position, text in enumerate(match[3].split(), 1):
                key = name + str(position) if name.endswith("@") else name
                values.setdefault(key, {})[int(match[2])] = float(text)
    return values


def read_letor4(file: Path) -> Values:
    """Two tables with a header line that starts with qid."""
    values: Values = {}
    header: list[str] = []
    for line in file.read_text().splitlines():
        cells = line.split("\t")
        if cells[0] == "qid":
            header = cells[1:]
        elif cells[0].isdigit():
            for name, text in zip(header, cells[1:], strict=True):
                values.setdefault(name, {})[int(cells[0])] = float(text)
    return values


@pytest.mark.parametrize("tool", ["letor3", "letor4", "mslr"])
def test_golden_p_values_to_the_byte(golden_folder: Path, tool: str) -> None:
    golden = golden_folder
    read = read_letor3 if tool == "letor3" else read_letor4
    lines = 0
    for file in sorted((golden / "outputs" / f"{tool}-ttest").glob("*.ttest.txt")):
        text = file.read_text().splitlines()
        names = re.fullmatch(r".* A: (\S+) and B: (\S+)", text[0])
        assert names is not None
        a, b = (read(golden / name) for name in names.groups())
        for line in text[4:]:
            measure, n, mean_a, mean_b, t, p = line.split("\t")
            queries = sorted(a[measure])
            result = paired_t_letor([a[measure][q] for q in queries], [b[measure][q] for q in queries])
            assert (result.n, result.p_text) == (int(n), p), (file.name, line)
            assert result.mean_a == pytest.approx(float(mean_a), rel=1e-13)
            assert result.mean_b == pytest.approx(float(mean_b), rel=1e-13)
            # Where all differences are equal t is rounding noise, and depends on the order of summation.
            if abs(float(t)) < 1e6:
                assert result.t == pytest.approx(float(t), rel=1e-10, abs=1e-14)
            lines += 1
    assert lines >= 506


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 20, 49, 1000])
def test_upper_t_is_student_t(df: int) -> None:
    for t in (-30.0, -2.0, -0.1, 0.0, 0.5, 1.96, 5.0):
        assert upper_t(df, t) == pytest.approx(float(stats.t.sf(t, df)), abs=1e-10)


def test_rounded_pi_shows_for_odd_df() -> None:
    assert upper_t(3, -1e9) != 1.0
    assert upper_t(4, -1e9) == 1.0


def test_identical_systems_have_t_zero_and_p_half() -> None:
    result = paired_t_letor([0.1, 0.2, 0.7], [0.1, 0.2, 0.7])
    assert (result.t, result.p_text, result.df) == (0.0, "0.50000", 2)


def test_equal_differences_have_no_variance() -> None:
    # d = 1, 1, 1, 1: Σd² − n·mean² = 4 − 4 = 0, and t is 0 by LETOR's rule.
    assert paired_t_letor([2.0] * 4, [1.0] * 4).t == 0.0


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1.0, "1.00000"),
        (0.5, "0.50000"),
        (0.099999, "0.099999"),
        (0.051783, "0.051783"),
        (2e-7, "0.00000020000"),
    ],
)
def test_five_significant_digits(p: float, text: str) -> None:
    assert format_p(p) == text


def test_bad_input_is_reported() -> None:
    with pytest.raises(DataError, match="found 2 and 1"):
        paired_t_letor([1.0, 2.0], [1.0])
    with pytest.raises(DataError, match="at least two queries, found 1"):
        paired_t_letor([1.0], [1.0])
    with pytest.raises(DataError, match="finite values"):
        paired_t_letor([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(DataError, match="degree of freedom"):
        upper_t(0, 1.0)


def test_accepts_arrays() -> None:
    a, b = np.random.default_rng(0).random((2, 30))
    expected = stats.ttest_rel(a, b, alternative="greater")
    result = paired_t_letor(a.tolist(), b.tolist())
    assert result.t == pytest.approx(float(expected.statistic), rel=1e-12)
    assert result.p == pytest.approx(float(expected.pvalue), abs=1e-9)
