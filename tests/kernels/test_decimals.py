"""Six-decimal formatting equals Python's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pippin.data.normalisation import round_as_printed
from pippin.kernels.text import format_decimals


def test_numbers_print_as_python_prints_them() -> None:
    rng = np.random.default_rng(0)
    wide = rng.standard_normal(5000) * 10.0 ** rng.integers(-8, 14, 5000)
    numbers = round_as_printed(
        np.concatenate((wide, [0.0, 1.0, -1.0, 0.000001, -0.000001, 999_999_999.999999, 1e9, 1e15]))
    )
    text, ends = format_decimals(numbers[:, None], [" "], np.array([True]))
    assert text.decode().split() == [f"{number:.6f}" for number in numbers.tolist()]
    assert ends[-1] == len(text)


def test_omitted_columns_print_only_their_prefix() -> None:
    text, ends = format_decimals(np.array([[np.nan, 3.0]]), [" 1:", " 2:0"], np.array([True, False]))
    assert (text, ends.tolist()) == (b" 1:NULL 2:0", [11])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (200, 7)])
def test_rows_are_their_columns_one_after_the_other(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    table = round_as_printed(rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 11, shape))
    table[rng.random(shape) < 0.2] = np.nan
    before, printed = [f" {i}:" for i in range(shape[1])], rng.random(shape[1]) < 0.7
    rows = [
        "".join(
            name + (("NULL" if math.isnan(number) else f"{number:.6f}") if items else "")
            for name, number, items in zip(before, row, printed.tolist(), strict=True)
        )
        for row in table.tolist()
    ]
    text, ends = format_decimals(table, before, printed)
    assert text.decode() == "".join(rows)
    assert ends.tolist() == np.cumsum([len(row) for row in rows], dtype=int).tolist()


def test_zero_below_zero_and_both_sides_of_a_billion() -> None:
    numbers = [-0.0, -0.5, 999_999_999.5, -999_999_999.5, 1_000_000_000.0, 1_000_000_000.25, -1e12, 2.0**53]
    text, _ = format_decimals(np.array(numbers)[:, None], [" "], np.array([True]))
    assert text.decode().split() == [f"{number:.6f}" for number in numbers]
