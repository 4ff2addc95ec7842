"""Hypothesis strategies for small data sets, judgements and runs, and their equality."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.kernels.strings import StringColumn

# Ids that every form can hold: no blanks, nothing a line of text takes for something else.
plain_ids = st.text(st.characters(categories=["L", "N"], include_characters="-_.:"), min_size=1, max_size=8)
# Ids that a table can hold: blanks, quotes, newlines, nothing at all.
any_ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def offsets_of(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@st.composite
def datasets(draw: st.DrawFn, ids: st.SearchStrategy[str] = plain_ids, lowest: int = -2) -> Dataset:
    query_ids = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    sizes = draw(st.lists(st.integers(1, 4), min_size=len(query_ids), max_size=len(query_ids)))
    rows, width, single = sum(sizes), draw(st.integers(1, 3)), draw(st.booleans())
    values = st.floats(width=32 if single else 64, allow_infinity=False)
    cells = draw(st.lists(values, min_size=rows * width, max_size=rows * width))
    features: NDArray[Any] = np.array(cells, "f4" if single else "f8").reshape(rows, width)
    labels = draw(st.lists(st.integers(lowest, 4), min_size=rows, max_size=rows))
    documents = draw(st.none() | st.lists(ids, min_size=rows, max_size=rows, unique=True).map(StringColumn.of))
    return Dataset(features, np.array(labels, np.int32), offsets_of(sizes), tuple(query_ids), documents)


@st.composite
def nested_dicts(
    draw: st.DrawFn, values: st.SearchStrategy[Any], ids: st.SearchStrategy[str]
) -> dict[str, dict[str, Any]]:
    return draw(st.dictionaries(ids, st.dictionaries(ids, values, min_size=1, max_size=4), min_size=1, max_size=4))


def judgements(ids: st.SearchStrategy[str] = plain_ids) -> st.SearchStrategy[Qrels]:
    return nested_dicts(st.integers(-2, 4), ids).map(Qrels.from_dict)


def runs(ids: st.SearchStrategy[str] = plain_ids) -> st.SearchStrategy[Run]:
    return nested_dicts(st.floats(allow_nan=False, allow_infinity=False), ids).map(Run.from_dict)


def same(one: object, other: object) -> bool:
    """Return whether two data sets, judgements or runs have the same values and types; names may differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    assert dataclasses.is_dataclass(one)
    for field in dataclasses.fields(one):
        if field.name in {"name", "tag", "file", "lines", "version"}:
            continue
        a, b = getattr(one, field.name), getattr(other, field.name)
        if not (same(np.asarray(a), np.asarray(b)) if isinstance(a, np.ndarray) else a == b):
            return False
    return True
