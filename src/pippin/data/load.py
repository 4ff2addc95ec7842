"""What people hand to `evaluate` as judged or scored data: files of any kind, dicts, arrays, frames, data set ids.

Text files are recognised by their first line of data: `qid:` in it is LETOR, four columns are judgements, six a run,
one column scores. Converted here, once; everything after knows `Dataset`, `Judgements`, `Run` and arrays alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from pippin.data import foreign, foreign_lists
from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.dataset import Dataset
from pippin.data.foreign_lists import read_json
from pippin.data.letor import read_letor
from pippin.data.run_file import RunFile, is_large
from pippin.data.scores import read_scores
from pippin.data.stretches import Places, texts
from pippin.data.subtopics import has_subtopics, read_subtopics
from pippin.data.trec import Judgements, Run
from pippin.data.trec_text import read_judgements, read_run
from pippin.errors import DataError

Kind = Literal["letor", "judgements", "run", "scores"]

COLUMN_FILES = (".parquet", ".pq", ".csv", ".tsv", ".arrow", ".feather", ".ipc")
_FRAMES = {"pandas", "polars", "pyarrow"}
_KINDS: dict[int, Kind] = {1: "scores", 4: "judgements", 6: "run"}
_NAMES = {"letor": "LETOR text", "judgements": "judgements", "run": "a run", "scores": "scores"}
_ORDER = "the judged file comes first, then what was scored"
_ENOUGH = 1 << 16  # bytes of a line that tell what it is


def kind_of_text(source: Readable) -> Kind:
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
        start += len(line)
        while not newline and start < size:  # a long blank or comment line
            rest, newline, _ = buffer.data[start : start + _ENOUGH].tobytes().partition(b"\n")
            start += len(rest)
        start += 1
    raise DataError("the file has no line of data", buffer.name)


def _kind_of_columns(columns: list[bytes], buffer: Buffer, line: int) -> Kind:
    if any(column.startswith(b"qid:") for column in columns[:2]):
        return "letor"
    kind = _KINDS.get(len(columns))
    if kind is not None and (kind != "scores" or _is_number(columns[0])):
        return kind
    known = "LETOR (label qid:…), judgements (4 columns), a run (6) or scores (1)"
    if not _is_text(columns):
        raise DataError(f"this is no text, and {known} are expected", buffer.name)
    here = f"{columns[0].decode()!r} stands" if kind == "scores" else f"{len(columns)} columns stand"
    raise DataError(f"{here} here: neither {known}", buffer.name, line)


def _is_number(word: bytes) -> bool:
    """Whether a word is meant as a number: what begins like one is left to the reader of scores."""
    return word[:1] in b"+-.0123456789" or word.lower() in (b"nan", b"inf", b"infinity")


def _is_text(words: list[bytes]) -> bool:
    try:
        return b" ".join(words).decode().isprintable()
    except UnicodeDecodeError:
        return False


def as_judged(
    x: Any, *, merge_queries: bool = False, absent: str = "zero", qid: Any = None, group: Any = None
) -> Dataset | Judgements:
    """Judged data: a `Dataset` or `Judgements`, or a dict of dicts, file, frame or `irds:ID` that becomes one.

    `absent` says what features are that a line of LETOR text leaves out. With `qid`, each row's query, or `group`, the
    sizes of the queries, x is a label per row.
    """
    if qid is not None or group is not None:
        return _labelled(x, qid, group)
    judged = _judged(x, merge_queries, absent)
    if isinstance(judged, Run):
        raise DataError(f"judged data are expected, and {judged.name} is a run")
    return judged


def _labelled(labels: Any, qid: Any, group: Any) -> Dataset:
    """Labels in rows, and whose they are: a data set without features."""
    if isinstance(labels, (Dataset, Judgements, Run, Mapping, str, os.PathLike, Buffer)):
        raise DataError(f"qid and group go with a label per row, and {type(labels).__name__} knows its queries itself")
    rows = np.asarray(labels)
    return Dataset.from_arrays(np.empty((len(rows) if rows.ndim else 0, 0)), rows, qid, group=group, name="labels")


def _judged(x: Any, merge_queries: bool, absent: str) -> Dataset | Judgements | Run:
    if isinstance(x, (Dataset, Judgements, Run)):
        return x
    if (known := foreign.nested(x, "relevance")) is not None:
        return Judgements.of(known[0], known[1] or "judgements")
    if isinstance(x, str) and x.startswith("irds:"):
        from pippin.data import irds

        return irds.read_judged(x)
    if isinstance(x, (str, os.PathLike, Buffer)):
        return _judged_file(x, merge_queries, absent)
    if _is_frame(x):
        from pippin.data import columns

        return columns.from_frame_judged(x, merge_queries=merge_queries)
    if getattr(x, "ndim", None) == 2:
        rows = np.asarray(x)
        return _labelled(rows.ravel(), None, np.full(len(rows), rows.shape[1]))
    if getattr(x, "ndim", None) == 1 or (isinstance(x, (list, tuple)) and x and isinstance(x[0], (int, float))):
        raise DataError("labels need qid=, the query of each row, or group=, the sizes of the queries")
    wanted = (
        "a LETOR file, judgements, a dict of dicts, lists of ids (texts) or of documents that have one, a table, "
        "labels with qid= or group=, or an array of labels with a row per query"
    )
    raise DataError(f"judged data are {wanted}, not {type(x).__name__}")


def _judged_file(x: Readable, merge_queries: bool, absent: str) -> Dataset | Judgements | Run:
    if _is_folder(x):
        from pippin.data import partitions

        return partitions.read_partitions(x) if partitions.is_partitions(x) else _read_store(x)
    if _is_json(x):
        return Judgements.of(read_json(x, "relevance"), Path(x).name)
    if _is_table(x):
        from pippin.data import columns

        return columns.read_judged(os.fspath(x), merge_queries=merge_queries)
    buffer = open_buffer(x)
    kind = kind_of_text(buffer)
    if kind == "letor":
        return read_letor(buffer, merge_queries=merge_queries, absent=absent)
    if kind == "judgements" and has_subtopics(buffer):
        return read_subtopics(buffer)
    if kind == "judgements":
        return read_judgements(buffer, merge_queries=merge_queries)
    raise DataError(f"judgements or LETOR text are expected, and this is {_NAMES[kind]}; {_ORDER}", buffer.name)


def _read_store(folder: str | os.PathLike[str]) -> Dataset | Judgements | Run:
    """What a store holds; of another folder, what to name in its place."""
    from pippin.data import folders, store

    if store.is_store(folder):
        return store.read_store(folder)
    message = "this is a folder, and neither a store nor partitions; name a file"
    if parts := folders.laid_out(Path(folder)):
        message += f" of it, such as {parts[-1]}"
    raise DataError(message, folder)


@overload
def as_scored(
    x: Any, judged: Dataset | Judgements, *, merge_queries: bool = ..., allow_infinite: bool = ...
) -> NDArray[np.float64] | Run: ...
@overload
def as_scored(
    x: Any, judged: Dataset | Judgements, *, merge_queries: bool = ..., allow_infinite: bool = ..., in_file: bool
) -> NDArray[np.float64] | Run | RunFile: ...
def as_scored(
    x: Any,
    judged: Dataset | Judgements,
    *,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    in_file: bool = False,
) -> NDArray[np.float64] | Run | RunFile:
    """Scored data for `judged`: a `Run`, or one score per document of a `Dataset`.

    With `in_file` a large run for judgements stays in its file, to be ranked as it is read (`RunFile`).
    """
    if in_file and isinstance(judged, Judgements) and not merge_queries and _is_large_run(x):
        return RunFile(x, allow_infinite=allow_infinite)
    scored = _scored(x, judged, merge_queries, allow_infinite)
    if isinstance(scored, (Dataset, Judgements)):
        raise DataError(f"scores or a run are expected, and {scored.name} holds judged data")
    if isinstance(scored, Run) or isinstance(judged, Dataset):
        return scored
    raise DataError(f"{judged.name} holds judgements, which need a run; a list of scores needs a LETOR data set")


def _is_large_run(x: Any) -> bool:
    """Whether this is a large file of text that holds a run."""
    if not isinstance(x, (str, os.PathLike)) or _is_folder(x) or _is_json(x) or _is_table(x) or not is_large(x):
        return False
    return next((kind_of_text(first) == "run" for first in texts(x, len, Places(), _ENOUGH)), False)


def _scored(
    x: Any, judged: Dataset | Judgements, merge_queries: bool, allow_infinite: bool
) -> Dataset | Judgements | Run | NDArray[np.float64]:
    if isinstance(x, (Dataset, Judgements, Run)):
        return x
    if (known := foreign.nested(x, "score")) is not None:
        if foreign_lists.have_places(x) and len(x) != len(judged.query_ids):
            raise DataError(f"{len(x)} lists of documents for {len(judged.query_ids)} queries; each has its own")
        return Run.of(known[0], known[1] or "run")
    if isinstance(x, str) and x.startswith("irds:"):
        from pippin.data import irds

        return irds.read_scored(x)
    if isinstance(x, (str, os.PathLike, Buffer)):
        return _scored_file(x, judged, merge_queries, allow_infinite)
    if _is_frame(x) and not type(x).__name__.endswith(("Series", "Array")):
        from pippin.data import columns

        return columns.from_frame_scored(x, merge_queries=merge_queries, allow_infinite=allow_infinite)
    try:
        scores = np.ascontiguousarray(x, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"scores are numbers, a run, a dict of dicts, a table or a file, not {type(x).__name__}"
        ) from None
    by_query = scores.shape == (len(judged.query_ids), *set(np.diff(judged.offsets).tolist()))
    if scores.ndim != 1 and not by_query:
        raise DataError(f"scores are a list of numbers, not a table of shape {scores.shape}")
    return scores.ravel()


def _scored_file(
    x: Readable, judged: Dataset | Judgements, merge_queries: bool, allow_infinite: bool
) -> Dataset | Judgements | Run | NDArray[np.float64]:
    if _is_folder(x):
        from pippin.data import partitions

        return partitions.read_partition_scores(x) if partitions.is_partitions(x) else _read_store(x)
    if _is_json(x):
        return Run.of(read_json(x, "score"), Path(x).name)
    if _is_table(x):
        from pippin.data import columns

        return columns.read_scored(os.fspath(x), merge_queries=merge_queries, allow_infinite=allow_infinite)
    buffer = open_buffer(x)
    kind = kind_of_text(buffer)
    if kind == "run":
        return read_run(buffer, merge_queries=merge_queries, allow_infinite=allow_infinite)
    if kind != "scores":
        raise DataError(f"scores or a run are expected, and this is {_NAMES[kind]}; {_ORDER}", buffer.name)
    if not isinstance(judged, Dataset):
        message = f"a list of scores needs a LETOR data set, and {judged.name} holds judgements, which need a run"
        raise DataError(message, buffer.name)
    return read_scores(buffer, len(judged), allow_infinite=allow_infinite)


def may_hold_scores(path: str) -> bool:
    """Whether judged data could hold scores, too, which LETOR text and judgements cannot."""
    text = not (path == "-" or path.startswith("irds:") or _is_folder(path) or _is_json(path) or _is_table(path))
    return not text or kind_of_text(path) in ("run", "scores")


def read_nested(path: str | os.PathLike[str], scored: bool = False) -> Judgements | Run:
    """What a file of JSON holds: what was judged, or, where its numbers are no labels or `scored` is said, a run."""
    value = "score" if scored else foreign_lists.value_in(path)
    found = read_json(path, value)
    return Judgements.of(found, Path(path).name) if value == "relevance" else Run.of(found, Path(path).name)


def _is_folder(x: Readable) -> TypeGuard[str | os.PathLike[str]]:
    return not isinstance(x, Buffer) and os.path.isdir(x)  # noqa: PTH112 - a text that is no path is none


def _is_json(x: Readable) -> TypeGuard[str | os.PathLike[str]]:
    return not isinstance(x, Buffer) and os.fspath(x).lower().endswith(".json")


def _is_table(x: Readable) -> TypeGuard[str | os.PathLike[str]]:
    return not isinstance(x, Buffer) and os.fspath(x).lower().removesuffix(".gz").endswith(COLUMN_FILES)


def _is_frame(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in _FRAMES
