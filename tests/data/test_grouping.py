"""Query ids per row and group sizes become offsets; other input is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.data.dataset import offsets_from_groups
from pippin.errors import DataError


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8))
def test_ids_and_sizes_say_the_same(sizes: list[int]) -> None:
    qid = np.repeat(np.arange(len(sizes)) + 1, sizes)
    by_ids, by_sizes = offsets_from_groups(len(qid), qid=qid), offsets_from_groups(len(qid), group=sizes)
    assert by_ids[0].tolist() == by_sizes[0].tolist() == [0, *np.cumsum(sizes)]
    assert by_ids[1] == by_sizes[1]


def test_a_group_may_be_empty_and_so_may_be_all() -> None:
    assert offsets_from_groups(2, group=[0, 2])[0].tolist() == [0, 0, 2]
    assert offsets_from_groups(0, qid=[])[0].tolist() == [0]


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({}, "qid is missing"),
        ({"qid": [1, 1, 2], "group": [2, 1]}, "pass only one of them"),
        ({"qid": [1, 2, 1]}, "the rows of query 1 are not contiguous"),
        ({"qid": [1, 2]}, "3 query ids are needed"),
        ({"group": [1, 1]}, "add up to 2, but there are 3"),
        ({"group": [4, -1]}, "a list of sizes"),
        ({"group": [1.5, 1.5]}, "a list of sizes"),
        ({"group": ["a", "b"]}, "a list of sizes"),
        ({"group": 3}, "a list of sizes"),
        ({"group": [np.nan]}, "a list of sizes"),
    ],
)
def test_invalid_grouping_is_reported(given_: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        offsets_from_groups(3, **given_)
