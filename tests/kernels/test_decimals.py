"""Six decimals: what Python's own format prints."""

from __future__ import annotations

import numpy as np

from pippin.data.versions import as_printed
from pippin.kernels.decimals import format_decimals


def test_numbers_print_as_python_prints_them() -> None:
    rng = np.random.default_rng(0)
    wide = rng.standard_normal(5000) * 10.0 ** rng.integers(-8, 14, 5000)
    numbers = as_printed(np.concatenate((wide, [0.0, 1.0, -1.0, 0.000001, -0.000001, 999_999_999.999999, 1e9, 1e15])))
    text, ends = format_decimals(numbers[:, None], [" "], np.array([True]))
    assert text.decode().split() == [f"{number:.6f}" for number in numbers.tolist()]
    assert ends[-1] == len(text)


def test_a_column_not_printed_is_what_stands_before_it() -> None:
    text, ends = format_decimals(np.array([[np.nan, 3.0]]), [" 1:", " 2:0"], np.array([True, False]))
    assert (text, ends.tolist()) == (b" 1:NULL 2:0", [11])
