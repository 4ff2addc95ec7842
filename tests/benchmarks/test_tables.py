"""Parquet tables of cells: compatible with other readers, with stable row order."""

from __future__ import annotations

import json
import math
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from pyarrow import Table, parquet

from pippin.benchmarks.records import Cell, cell_files, write_table
from pippin.benchmarks.tables import distinct, encode, group_rows, make_table, select_rows, split_rows, table_rows
from pippin.errors import DataError


def columns(rows: int) -> dict[str, Any]:
    values = np.arange(rows) / 7
    values[::3] = np.nan
    return {
        "tool": [f"tööl {i // 5}" for i in range(rows)], "document": [None if i % 2 else f"d{i}" for i in range(rows)],
        "label": np.arange(rows, dtype=np.int32), "value": values,
    }  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1, 8, 9, 700])
def test_every_reader_of_parquet_gets_what_was_written(rows: int) -> None:
    content = write_table(columns(rows))
    assert content == write_table(columns(rows))
    expected = {
        name: [None if isinstance(v, float) and math.isnan(v) else v for v in column]
        for name, column in columns(rows).items()
    }
    assert polars.read_parquet(BytesIO(content)).to_dict(as_series=False) == expected
    assert parquet.read_table(BytesIO(content)).to_pydict() == expected


def cell(folder: Path, content: bytes) -> Cell:
    """A cell whose checksums fit, whatever its table holds."""
    (folder / "values.parquet").write_bytes(content)
    return Cell(folder, json.loads(cell_files({}, {"values.parquet": content})["cell.json"]))


def values(tool: Any = ("a", "b")) -> dict[str, Any]:
    return {"tool": tool, "measure": ["m", "m"], "query": ["q", "q"], "value": np.array([0.5, np.nan])}


def test_a_cell_gives_its_values(tmp_path: Path) -> None:
    table = cell(tmp_path, write_table(values())).values()
    assert table_rows(table, "tool", "value") == [("a", 0.5), ("b", None)]


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", write_table({"tool": ["a"]}), write_table(values(np.arange(2.0))), write_table(values())[:90]],
)
def test_a_damaged_table_is_an_error_with_the_name_of_the_file(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"values\.parquet: damaged"):
        cell(tmp_path, content).values()


TABLE = make_table([("b", 1, 0.5), ("a", 1, 0.25), ("b", 2, None), ("b", 1, 1.0)], name=str, seed=int, value=float)


def test_groups_come_in_the_order_of_their_first_rows() -> None:
    parts = split_rows(TABLE, "name", "seed")
    assert list(parts) == [("b", 1), ("a", 1), ("b", 2)]
    assert table_rows(parts["b", 1], "value") == [(0.5,), (1.0,)]
    first, group = group_rows(TABLE, "name", "seed")
    assert first.tolist() == [0, 1, 2]
    assert group.tolist() == [0, 1, 2, 0]
    assert split_rows(TABLE.slice(0, 0), "name") == {}


def test_rows_are_selected_by_text() -> None:
    assert distinct(TABLE, "name") == ["b", "a"]
    assert table_rows(select_rows(TABLE, name="b"), "seed", "value") == [(1, 0.5), (2, None), (1, 1.0)]
    assert len(select_rows(TABLE, name=())) == 0


def test_a_filtered_dictionary_forgets_the_values_that_no_row_has() -> None:
    coded = Table.from_arrays([TABLE["name"].dictionary_encode(), TABLE["seed"]], names=["name", "seed"])
    names, codes = encode(select_rows(coded, name="a"), "name")
    assert (names, codes.tolist()) == (["a"], [0])
