"""Tables of cells: what is written is what others read, what is read is what was written, and no byte breaks it."""

from __future__ import annotations

import math
import random
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow
import pytest
from pyarrow import parquet

from pippin.bench.frame import Frame
from pippin.bench.parquet import read_table, write_table
from pippin.errors import DataError

HERE = Path("values.parquet")


def table(rows: int) -> dict[str, Any]:
    values = np.arange(rows) / 7
    values[::3] = np.nan
    return {
        "tool": [f"tööl {i // 5}" for i in range(rows)], "document": [None if i % 2 else f"d{i}" for i in range(rows)],
        "label": np.arange(rows, dtype=np.int32), "value": values,
    }  # fmt: skip


def read(content: bytes) -> Frame:
    return read_table(content, HERE, ("tool",), ("label", "value"), optional=("document",))


@pytest.mark.parametrize("rows", [0, 1, 8, 9, 700])
def test_what_is_written_is_what_everybody_reads(rows: int) -> None:
    given = table(rows)
    content = write_table(given)
    assert content == write_table(given)
    wanted = {
        name: [None if isinstance(v, float) and math.isnan(v) else v for v in column] for name, column in given.items()
    }
    assert polars.read_parquet(BytesIO(content)).to_dict(as_series=False) == wanted
    assert parquet.read_table(BytesIO(content)).to_pydict() == wanted
    assert {name: read(content).to_dict()[name] for name in wanted} == wanted


def test_results_of_an_earlier_version_are_read() -> None:
    out = BytesIO()
    parquet.write_table(pyarrow.table(table(30)), out, compression="zstd")
    assert read(out.getvalue()).rows("tool", "label", "document") == read(write_table(table(30))).rows(
        "tool", "label", "document"
    )


def test_a_column_of_another_kind_is_refused() -> None:
    content = write_table({**table(5), "tool": np.arange(5.0)})
    with pytest.raises(DataError, match="damaged: this is no table of a cell"):
        read(content)


def test_no_byte_breaks_the_reader() -> None:
    content, chance = write_table(table(40)), random.Random(1)
    told = 0
    for _ in range(800):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 1, 3))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if chance.random() < 0.1:
            del damaged[chance.randrange(len(damaged)) :]
        try:
            read(bytes(damaged))
        except DataError:
            told += 1
    assert told > 400


def test_groups_come_in_the_order_of_their_first_rows() -> None:
    frame = Frame.of([("b", 1, 0.5), ("a", 1, 0.25), ("b", 2, None), ("b", 1, 1.0)], name=str, seed=int, value=float)
    assert list(frame.by("name", "seed")) == [("b", 1), ("a", 1), ("b", 2)]
    assert frame.by("name", "seed")["b", 1].rows("value") == [(0.5,), (1.0,)]
    assert frame.names("name") == ["b", "a"]
    assert frame.where(name="b").names("name") == ["b"]
    assert frame.to_polars()["value"].to_list() == [0.5, 0.25, None, 1.0]
    joined = Frame.joined([frame.where(name="a"), frame.where(name="c"), frame.where(name="b")])
    assert joined.rows("name", "seed") == [("a", 1), ("b", 1), ("b", 2), ("b", 1)]
