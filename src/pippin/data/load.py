"""What people hand to `evaluate` as judged or scored data: files of any kind, dicts, arrays, frames, data set ids.

Text files are recognised by their first line of data: `qid:` in it is LETOR, four columns are judgements, six a run,
one column scores. Converted here, once; everything after knows `Dataset`, `Judgements`, `Run` and arrays alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer, Source, open_buffer
from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.data.scores import read_scores
from pippin.data.trec import Judgements, Run
from pippin.data.trec_text import read_judgements, read_run
from pippin.errors import DataError

Kind = Literal["letor", "judgements", "run", "scores"]

COLUMN_FILES = (".parquet", ".csv", ".arrow", ".feather", ".ipc")
_FRAMES = {"pandas", "polars", "pyarrow"}
_KINDS: dict[int, Kind] = {1: "scores", 4: "judgements", 6: "run"}
_NAMES = {"letor": "LETOR text", "judgements": "judgements", "run": "a run", "scores": "scores"}
_ENOUGH = 1 << 16  # bytes of a line that tell what it is


def kind_of(source: Source) -> Kind:
    """What kind of ranking text a file holds, by its first line of data."""
    buffer = open_buffer(source)
    start, size, number = 0, len(buffer.data), 0
    if buffer.data[:3].tobytes() == b"\xef\xbb\xbf":
        start = 3
    while start < size:
        window = buffer.data[start : start + _ENOUGH].tobytes()
        line, newline, _ = window.partition(b"\n")
        number += 1
        columns = line.split()
        if columns and not columns[0].startswith(b"#"):
            return _kind_of_columns(columns, buffer, number)
        if not newline:  # a long blank or comment line
            ends = np.flatnonzero(buffer.data[start:] == 10)
            start += int(ends[0]) + 1 if len(ends) else size
        else:
            start += len(line) + 1
    raise DataError("the file has no line of data", buffer.name)


def _kind_of_columns(columns: list[bytes], buffer: Buffer, line: int) -> Kind:
    if any(column.startswith(b"qid:") for column in columns[:2]):
        return "letor"
    if len(columns) in _KINDS:
        return _KINDS[len(columns)]
    raise DataError(
        f"{len(columns)} columns in this line: neither LETOR (label qid:…), nor judgements (4), a run (6) or scores (1)",
        buffer.name,
        line,
    )


def as_judged(x: Any, *, merge_queries: bool = False) -> Dataset | Judgements:
    """Judged data: a `Dataset` or `Judgements`, or a dict of dicts, file, frame or `irds:ID` that becomes one."""
    if isinstance(x, (Dataset, Judgements)):
        return x
    if isinstance(x, Mapping):
        return Judgements.of(x)
    if isinstance(x, str) and x.startswith("irds:"):
        from pippin.data import irds

        return irds.read_judged(x.removeprefix("irds:"))
    if isinstance(x, (str, os.PathLike, Buffer)):
        return _judged_file(x, merge_queries)
    if _is_frame(x):
        from pippin.data import columns

        return columns.from_frame_judged(x)
    what = "a run" if isinstance(x, Run) else f"{type(x).__name__}"
    raise DataError(f"judged data are a LETOR file, judgements, a dict of dicts or a table, not {what}")


def _judged_file(x: Source, merge_queries: bool) -> Dataset | Judgements:
    if not isinstance(x, Buffer) and os.fspath(x) != "-":
        path = Path(x)
        if path.is_dir():
            from pippin.data import store

            return store.read_store(path)
        if path.suffix in COLUMN_FILES:
            from pippin.data import columns

            return columns.read_judged(path)
    buffer = open_buffer(x)
    kind = kind_of(buffer)
    if kind == "letor":
        return read_letor(buffer, merge_queries=merge_queries)
    if kind == "judgements":
        return read_judgements(buffer, merge_queries=merge_queries)
    raise DataError(f"judgements or LETOR text are expected, and this is {_NAMES[kind]}", buffer.name)


def as_scored(x: Any, judged: Dataset | Judgements, *, merge_queries: bool = False) -> NDArray[np.float64] | Run:
    """Scored data for `judged`: a `Run`, or one score per document of a `Dataset`."""
    scored = _scored(x, judged, merge_queries)
    if isinstance(scored, Run) or isinstance(judged, Dataset):
        return scored
    raise DataError(f"{judged.name} holds judgements, which need a run; a list of scores needs a LETOR data set")


def _scored(x: Any, judged: Dataset | Judgements, merge_queries: bool) -> NDArray[np.float64] | Run:
    if isinstance(x, Run):
        return x
    if isinstance(x, (Dataset, Judgements)):
        raise DataError(f"scores or a run are expected, and {x.name} holds judged data")
    if isinstance(x, Mapping):
        return Run.of(x)
    if isinstance(x, (str, os.PathLike, Buffer)):
        return _scored_file(x, judged, merge_queries)
    if _is_frame(x) and getattr(x, "ndim", 2) != 1 and not type(x).__name__.endswith("Series"):
        from pippin.data import columns

        return columns.from_frame_scored(x)
    try:
        scores = np.ascontiguousarray(x, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"scores are numbers, a run, a dict of dicts, a table or a file, not {type(x).__name__}"
        ) from None
    if scores.ndim != 1:
        raise DataError(f"scores are a list of numbers, not a table of shape {scores.shape}")
    return scores


def _scored_file(x: Source, judged: Dataset | Judgements, merge_queries: bool) -> NDArray[np.float64] | Run:
    if not isinstance(x, Buffer) and os.fspath(x) != "-" and Path(x).suffix in COLUMN_FILES:
        from pippin.data import columns

        return columns.read_scored(Path(x))
    buffer = open_buffer(x)
    kind = kind_of(buffer)
    if kind == "run":
        return read_run(buffer, merge_queries=merge_queries)
    if kind != "scores":
        raise DataError(f"scores or a run are expected, and this is {_NAMES[kind]}", buffer.name)
    if not isinstance(judged, Dataset):
        raise DataError(f"a score file needs a LETOR data set, and {judged.name} holds judgements, which need a run",
                        buffer.name)  # fmt: skip
    return read_scores(buffer, len(judged))


def _is_frame(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in _FRAMES
