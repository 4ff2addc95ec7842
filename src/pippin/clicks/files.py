"""Click logs as files: text with a header and tabs, a JSON object a session on each line, or Parquet.

    session  query  rank  document  click  team      as columns of text and Parquet; team only of interleaved lists
    {"query": "q1", "documents": ["d3", "d1"], "clicks": [1, 0]}      as JSON; ranks, if not from 1, and teams as lists

Rows of a session stand together, from its highest rank down. Sessions are told apart by what stands in `session` and
numbered from 1 when a log is written. The ending of a name says the form: `.jsonl`, `.parquet`, and text for any other;
`.gz` may follow it.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pippin.clicks.log import TEAMS, ClickLog, LogBuilder
from pippin.data.buffers import Buffer, open_buffer
from pippin.errors import DataError, PippinError
from pippin.extras import need
from pippin.files import atomic_write

COLUMNS = ("session", "query", "rank", "document", "click")
_TEAM = "team"
_CLICKS = {"0": False, "1": True, "false": False, "true": True}


class _Shown(NamedTuple):
    """A document shown, as a file has it, and the line where it stands."""

    line: int
    session: str
    query: str
    rank: str
    document: str
    click: str
    team: str


def read(path: str | os.PathLike[str]) -> ClickLog:
    """A click log from a file.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/log.tsv"
    >>> write(ClickLog.of([("q", ["a", "b"], [False, True])]), file)
    >>> print(Path(file).read_text().replace(chr(9), " "), end="")
    session query rank document click
    1 q 1 a 0
    1 q 2 b 1
    >>> read(file)
    ClickLog(1 sessions of 1 query, 2 documents shown, 1 clicks)
    """
    form, buffer = _form(path), open_buffer(path)
    rows = {"parquet": _of_parquet, "jsonl": _of_json, "tsv": _of_text}[form](buffer)
    builder = LogBuilder()
    last: _Shown | None = None
    ended: set[str] = set()
    for row in rows:
        if last is not None and row.session != last.session:
            builder.end()
            ended.add(last.session)
            last = None
        if row.session in ended:
            raise DataError(f"session {row.session} comes again; its rows must stand together", buffer.name, row.line)
        builder.show(row.query, row.document, *_checked(row, last, buffer.name))
        last = row
    if last is None:
        raise DataError("the log shows nothing", buffer.name)
    builder.end()
    try:
        return builder.log()
    except PippinError as error:
        raise DataError(getattr(error, "message", str(error)), buffer.name) from None


def _checked(row: _Shown, last: _Shown | None, file: str) -> tuple[int, bool, int]:
    """Rank, click and team of a row, if it may follow the one before it in its session."""
    if not row.query or not row.document:
        raise DataError("a query and a document are needed, and one is empty", file, row.line)
    if not row.rank.isascii() or not row.rank.isdecimal() or not 0 < int(row.rank) < 2**31:
        raise DataError(f"a rank is a whole number from 1 on, not {row.rank!r}", file, row.line)
    if row.click.lower() not in _CLICKS:
        raise DataError(f"a click is 1 or 0, not {row.click!r}", file, row.line)
    if row.team not in TEAMS:
        raise DataError(f"a team is A or B, or empty, not {row.team!r}", file, row.line)
    if last is not None and row.query != last.query:
        raise DataError(f"session {row.session} is of query {last.query}, and here of {row.query}", file, row.line)
    if last is not None and int(row.rank) <= int(last.rank):
        raise DataError(f"rank {row.rank} follows rank {last.rank} in session {row.session}", file, row.line)
    return int(row.rank), _CLICKS[row.click.lower()], TEAMS.index(row.team)


def _form(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path).lower()
    name = name.removesuffix(".gz")
    ending = Path(name).suffix
    return {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}.get(ending, "tsv")


def _lines(buffer: Buffer) -> Iterator[tuple[int, str]]:
    """The lines that hold something, by their numbers."""
    for number, raw in enumerate(io.BytesIO(buffer.data.tobytes()), 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError("this line is no UTF-8 text", buffer.name, number) from None
        if line.strip():
            yield number, line


def _of_text(buffer: Buffer) -> Iterator[_Shown]:
    lines = _lines(buffer)
    number, header = next(lines, (1, ""))
    names = [name.strip().lower() for name in header.split("\t")]
    places = _places(names, buffer.name, number)
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(names):
            told = f"{len(fields)} fields stand here, and the header has {len(names)}"
            raise DataError(f"{told}; they are parted by tabs", buffer.name, number)
        yield _Shown(number, *(fields[place].strip() if place >= 0 else "" for place in places))


def _places(names: Sequence[str], file: str, line: int | None = None) -> list[int]:
    """Where each column of a log stands among the names of a table; the team may be missing."""
    for name in COLUMNS:
        if names.count(name) != 1:
            told = "stands twice" if name in names else "is missing"
            wanted = ", ".join(COLUMNS)
            raise DataError(f"the column {name} {told}; a click log has {wanted}, and teams if interleaved", file, line)
    return [names.index(name) if name in names else -1 for name in (*COLUMNS, _TEAM)]


def _of_json(buffer: Buffer) -> Iterator[_Shown]:
    for number, line in _lines(buffer):
        try:
            session = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError("this line is no JSON", buffer.name, number) from None
        yield from _session(session, buffer.name, number)


def _session(session: Any, file: str, line: int) -> Iterator[_Shown]:
    """The rows of a session that is a JSON object."""
    if not isinstance(session, dict) or not isinstance(session.get("query"), str):
        raise DataError('a session is an object with "query", "documents" and "clicks"', file, line)
    documents = session.get("documents")
    if not isinstance(documents, list) or not documents or not all(isinstance(one, str) for one in documents):
        raise DataError('"documents" is a list of one text or more', file, line)
    columns = {
        "clicks": session.get("clicks"), "ranks": session.get("ranks", list(range(1, len(documents) + 1))),
        "teams": session.get("teams", [""] * len(documents)),
    }  # fmt: skip
    for name, column in columns.items():
        if not isinstance(column, list) or len(column) != len(documents):
            raise DataError(f'"{name}" is a list with a place for each of the {len(documents)} documents', file, line)
    shown = zip(columns["ranks"], documents, columns["clicks"], columns["teams"], strict=True)
    for rank, document, click, team in shown:
        yield _Shown(line, str(line), session["query"], str(rank), document, str(click), str(team))


def _of_parquet(buffer: Buffer) -> Iterator[_Shown]:
    need("a click log in Parquet", "pyarrow")
    from pippin.data.table_files import read_parquet

    try:
        table = read_parquet(buffer.data, buffer.name)
    except (ValueError, OSError) as error:
        if isinstance(error, PippinError):
            raise
        raise DataError(f"this is no Parquet file that can be read ({error})", buffer.name) from None
    places = _places([name.lower() for name in table.column_names], buffer.name)
    empty = [""] * table.num_rows
    columns = [[_told(value) for value in table.column(place).to_pylist()] if place >= 0 else empty for place in places]
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield _Shown(number, *row)


def _told(value: Any) -> str:
    """A value of a column as text has it."""
    return "" if value is None else str(value)


def write(log: ClickLog, path: str | os.PathLike[str]) -> None:
    """Write a click log, at once, in the form that the ending of the name says."""
    form = _form(path)
    if form == "parquet":
        need("a click log in Parquet", "pyarrow")
    with atomic_write(path) as out:
        if form == "parquet":
            from pippin.data.table_files import write_sealed

            write_sealed(_table(log), out, "parquet")
        else:
            for line in _json_lines(log) if form == "jsonl" else _text_lines(log):
                out.write(line.encode())


def _columns(log: ClickLog) -> dict[str, list[Any]]:
    queries = np.asarray(log.query_ids, object)[log.item_queries[log.items]]
    documents = np.asarray(log.item_documents, object)[log.items]
    session = (log.session_of() + 1).tolist()
    columns = {"session": session, "query": queries.tolist(), "rank": log.ranks.tolist(),
               "document": documents.tolist(), "click": log.clicks.astype(int).tolist()}  # fmt: skip
    return columns if log.teams is None else {**columns, _TEAM: [TEAMS[team] for team in log.teams.tolist()]}


def _text_lines(log: ClickLog) -> Iterator[str]:
    columns = _columns(log)
    for name in ("query", "document"):
        for text in set(columns[name]):
            if any(mark in text for mark in "\t\r\n") or text != text.strip():
                raise DataError(f"{text!r} has blanks that text would lose; write the log as .jsonl or .parquet")
    yield "\t".join(columns) + "\n"
    for row in zip(*columns.values(), strict=True):
        yield "\t".join(map(str, row)) + "\n"


def _json_lines(log: ClickLog) -> Iterator[str]:
    columns = _columns(log)
    for begin, end in zip(log.offsets[:-1].tolist(), log.offsets[1:].tolist(), strict=True):
        session: dict[str, Any] = {"query": columns["query"][begin], "documents": columns["document"][begin:end]}
        session["clicks"] = columns["click"][begin:end]
        if columns["rank"][begin:end] != list(range(1, end - begin + 1)):
            session["ranks"] = columns["rank"][begin:end]
        if _TEAM in columns:
            session["teams"] = columns[_TEAM][begin:end]
        yield json.dumps(session, ensure_ascii=False) + "\n"


def _table(log: ClickLog) -> Any:
    import pyarrow

    columns: Iterable[tuple[str, Any]] = _columns(log).items()
    kinds = {"query": pyarrow.string(), "document": pyarrow.string(), _TEAM: pyarrow.string(),
             "session": pyarrow.int64(), "rank": pyarrow.int32(), "click": pyarrow.int8()}  # fmt: skip
    return pyarrow.table({name: pyarrow.array(column, kinds[name]) for name, column in columns})
