"""Click logs: frozen columns, and their files.

A session is one list of documents shown for a query. A pair of query and document id is an item of the log. A log is
validated when it is constructed, and read-only.

Files are tab-separated text with a header, JSON Lines with one object per session, or Parquet.

    session  query  rank  document  click  team      columns of text and Parquet; team only in interleaved lists
    {"query": "q1", "documents": ["d3", "d1"], "clicks": [1, 0]}      JSON; optional lists "ranks" and "teams"

The rows of a session are consecutive, ordered by rank. Sessions are identified by the column `session`, and numbered
from 1 when a log is written. The extension selects the format: `.jsonl`, `.parquet`, otherwise text; `.gz` may follow.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer, open_buffer
from pippin.data.dataset import Dataset, check_offsets, read_only, rows_of_queries
from pippin.errors import DataError, PippinError
from pippin.storage.files import atomic_write

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
TEAMS = ("", "A", "B")  # the ranking that added a document to an interleaved list; "": not interleaved


class Counts(NamedTuple):
    """Views and clicks of each item at each rank: the sufficient statistics of a position-based click model."""

    items: I64
    ranks: I32
    views: NDArray[np.float64]
    clicks: NDArray[np.float64]

    @property
    def depth(self) -> int:
        """Return the lowest rank that was shown."""
        return int(self.ranks.max())

    def times(self, factors: NDArray[np.float64]) -> Counts:
        """Return the counts multiplied by factors; entries with a factor of 0 are left out."""
        is_kept = factors > 0
        factors_kept = factors[is_kept]
        return Counts(
            self.items[is_kept],
            self.ranks[is_kept],
            factors_kept * self.views[is_kept],
            factors_kept * self.clicks[is_kept],
        )


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Sessions: the documents shown, in rank order, and whether each was clicked.

    >>> log = ClickLog.of([("q", ["a", "b"], [False, True]), ("q", ["b", "a"], [True, False])])
    >>> log
    ClickLog(2 sessions of 1 query, 4 documents shown, 2 clicks)
    >>> log.counts().clicks.tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    query_ids: tuple[str, ...]
    item_queries: I64  # [item] position of its query
    item_documents: tuple[str, ...]  # [item] document id
    offsets: I64  # [session + 1] boundaries of the sessions in the columns below
    items: I64
    ranks: I32  # from 1, ascending within a session
    clicks: NDArray[np.bool_]
    teams: NDArray[np.int8] | None = None  # of interleaved lists: positions in TEAMS

    def __post_init__(self) -> None:
        document_count = len(self.items)
        check_offsets(self.offsets, document_count, len(self.offsets) - 1)
        if not len(self.offsets) > 1 or (np.diff(self.offsets) < 1).any():
            raise DataError("a click log needs at least one session, and a session at least one document")
        if self.ranks.shape != (document_count,) or self.clicks.shape != (document_count,):
            raise DataError(f"ranks and clicks must have {document_count} entries, one for each document shown")
        is_inside = np.ones(document_count, bool)
        is_inside[self.offsets[:-1]] = False
        if (self.ranks < 1).any() or (np.diff(self.ranks)[is_inside[1:]] < 1).any():
            raise DataError("ranks must start at 1 or later and increase within a session")
        queries = self.item_queries[self.items]
        if (queries != np.repeat(queries[self.offsets[:-1]], np.diff(self.offsets))).any():
            raise DataError("a session has documents of two queries")
        for name in ("item_queries", "offsets", "items", "ranks", "clicks"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def of(cls, sessions: Sequence[tuple[str, Sequence[str], Sequence[bool]]]) -> ClickLog:
        """Return the log of a list of sessions: query, documents from rank 1, and whether each was clicked.

        Parameters
        ----------
        sessions : Sequence[tuple[str, sequence of str, sequence of bool]]
            Query, documents from rank 1 and clicks of each session.
        """
        builder = LogBuilder()
        for query, documents, clicks in sessions:
            if len(documents) != len(clicks):
                raise DataError(f"query {query} has {len(documents)} documents and {len(clicks)} clicks")
            for rank, (document, click) in enumerate(zip(documents, clicks, strict=True), 1):
                builder.show(query, document, rank, bool(click))
            builder.end()
        return builder.log()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def queries(self) -> int:
        """Return the number of queries."""
        return len(self.query_ids)

    def session_of(self) -> I64:
        """Return the session of each document shown."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def query_of(self) -> I64:
        """Return the position of each session's query."""
        return self.item_queries[self.items[self.offsets[:-1]]]

    def counts(self) -> Counts:
        """Return views and clicks by item and rank."""
        deepest = int(self.ranks.max())
        cells, inverse = np.unique(self.items * (deepest + 1) + self.ranks, return_inverse=True)
        views = np.bincount(inverse).astype(np.float64)
        clicked = group_sum(inverse, self.clicks)
        return Counts(cells // (deepest + 1), (cells % (deepest + 1)).astype(np.int32), views, clicked)

    def select(self, sessions: I64) -> ClickLog:
        """Return the log of these sessions with all items.

        Parameters
        ----------
        sessions : ndarray of int64
            Positions of the sessions.
        """
        rows = rows_of_queries(self.offsets, sessions)
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[sessions]))).astype(np.int64)
        teams = None if self.teams is None else self.teams[rows]
        return ClickLog(self.query_ids, self.item_queries, self.item_documents, offsets, self.items[rows],
                        self.ranks[rows], self.clicks[rows], teams)  # fmt: skip

    def rows_in(self, data: Dataset) -> I64:
        """Return the row of each item in a data set; -1 for items without a row.

        Parameters
        ----------
        data : Dataset
            Data set with the documents of the log.
        """
        rows = {
            (data.query_ids[query], document): row
            for row, (query, document) in enumerate(zip(data.qid().tolist(), document_keys(data), strict=True))
        }
        queries = self.item_queries.tolist()
        return np.array([
            rows.get((self.query_ids[query], document), -1)
            for query, document in zip(queries, self.item_documents, strict=True)
        ], np.int64)  # fmt: skip

    def __repr__(self) -> str:
        queries = f"{self.queries:,} {'query' if self.queries == 1 else 'queries'}"
        return (
            f"ClickLog({len(self):,} sessions of {queries}, {len(self.items):,} documents shown, "
            f"{int(self.clicks.sum()):,} clicks)"
        )


def group_sum(positions: NDArray[np.integer[Any]], values: NDArray[Any], size: int = 0) -> NDArray[np.float64]:
    """Return the sum of the values at each position from 0."""
    sums: NDArray[np.float64] = np.bincount(positions, values, size).astype(np.float64)
    return sums


def document_keys(data: Dataset) -> list[str]:
    """Return the name of each document in a log: its id or, without ids, its position in the query from 1."""
    if data.document_ids is not None:
        return list(data.document_ids)
    return [str(place) for size in np.diff(data.offsets) for place in range(1, size + 1)]


class LogBuilder:
    """Builds a log document by document."""

    def __init__(self) -> None:
        self._queries: dict[str, int] = {}
        self._items: dict[tuple[int, str], int] = {}
        self._shown: list[tuple[int, int, bool, int]] = []
        self._ends: list[int] = [0]

    def show(self, query: str, document: str, rank: int, click: bool, team: int = 0) -> None:
        """Add a document to the current session."""
        query_index = self._queries.setdefault(query, len(self._queries))
        item = self._items.setdefault((query_index, document), len(self._items))
        self._shown.append((item, rank, click, team))

    def end(self) -> None:
        """End the current session."""
        self._ends.append(len(self._shown))

    def log(self) -> ClickLog:
        """Return the log."""
        items, ranks, clicks, teams = (np.array(column) for column in zip(*self._shown, strict=True)) if (
            self._shown) else (np.empty(0),) * 4  # fmt: skip
        return ClickLog(
            tuple(self._queries), np.array([query for query, _ in self._items], np.int64),
            tuple(document for _, document in self._items), np.array(self._ends, np.int64), items.astype(np.int64),
            ranks.astype(np.int32), clicks.astype(bool), teams.astype(np.int8) if teams.any() else None,
        )  # fmt: skip


COLUMNS = ("session", "query", "rank", "document", "click")
_TEAM = "team"
_CLICKS = {"0": False, "1": True, "false": False, "true": True}


class _Row(NamedTuple):
    """The fields of a row in a file, and its line number."""

    line: int
    session: str
    query: str
    rank: str
    document: str
    click: str
    team: str


def read(path: str | os.PathLike[str]) -> ClickLog:
    """Read a click log.

    Parameters
    ----------
    path : path
        Tab-separated text, JSON lines or Parquet; text may be compressed.

    Returns
    -------
    ClickLog
        The sessions of the log.

    Examples
    --------
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
    form, buffer = _file_format(path), open_buffer(path)
    rows = {"parquet": _rows_from_parquet, "jsonl": _rows_from_json, "tsv": _rows_from_text}[form](buffer)
    builder = LogBuilder()
    last: _Row | None = None
    ended: set[str] = set()
    for row in rows:
        if last is not None and row.session != last.session:
            builder.end()
            ended.add(last.session)
            last = None
        if row.session in ended:
            raise DataError(f"rows of session {row.session} are not consecutive", buffer.name, row.line)
        builder.show(row.query, row.document, *_check_row(row, last, buffer.name))
        last = row
    if last is None:
        raise DataError("the log is empty", buffer.name)
    builder.end()
    try:
        return builder.log()
    except PippinError as error:
        raise DataError(getattr(error, "message", str(error)), buffer.name) from None


def _check_row(row: _Row, last: _Row | None, file: str) -> tuple[int, bool, int]:
    """Return rank, click and team of a row; raise DataError unless they are valid after the previous row."""
    if not row.query or not row.document:
        raise DataError("the query or the document is empty", file, row.line)
    if not row.rank.isascii() or not row.rank.isdecimal() or not 0 < int(row.rank) < 2**31:
        raise DataError(f"rank must be a whole number from 1, got {row.rank!r}", file, row.line)
    if row.click.lower() not in _CLICKS:
        raise DataError(f"click must be 1 or 0, got {row.click!r}", file, row.line)
    if row.team not in TEAMS:
        raise DataError(f"team must be A, B or empty, got {row.team!r}", file, row.line)
    if last is not None and row.query != last.query:
        raise DataError(f"session {row.session} has two queries: {last.query} and {row.query}", file, row.line)
    if last is not None and int(row.rank) <= int(last.rank):
        raise DataError(f"rank {row.rank} follows rank {last.rank} in session {row.session}", file, row.line)
    return int(row.rank), _CLICKS[row.click.lower()], TEAMS.index(row.team)


def _file_format(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path).lower()
    name = name.removesuffix(".gz")
    ending = Path(name).suffix
    return {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}.get(ending, "tsv")


def _lines(buffer: Buffer) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    for number, raw in enumerate(io.BytesIO(buffer.data.tobytes()), 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError("the line is not UTF-8 text", buffer.name, number) from None
        if line.strip():
            yield number, line


def _rows_from_text(buffer: Buffer) -> Iterator[_Row]:
    lines = _lines(buffer)
    number, header = next(lines, (1, ""))
    names = [name.strip().lower() for name in header.split("\t")]
    columns = _column_positions(names, buffer.name, number)
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(names):
            problem = f"the line has {len(fields)} fields, the header {len(names)}"
            raise DataError(f"{problem}. Separate them by tabs", buffer.name, number)
        yield _Row(number, *(fields[column].strip() if column >= 0 else "" for column in columns))


def _column_positions(names: Sequence[str], file: str, line: int | None = None) -> list[int]:
    """Return the position of each column among the names of a table; -1 without a team."""
    for name in COLUMNS:
        if names.count(name) != 1:
            problem = "occurs twice" if name in names else "is missing"
            expected = ", ".join(COLUMNS)
            raise DataError(f"the column {name} {problem}; a click log has {expected}, and optionally team", file, line)
    return [names.index(name) if name in names else -1 for name in (*COLUMNS, _TEAM)]


def _rows_from_json(buffer: Buffer) -> Iterator[_Row]:
    for number, line in _lines(buffer):
        try:
            session = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError("the line is not JSON", buffer.name, number) from None
        yield from _rows_of_session(session, buffer.name, number)


def _rows_of_session(session: Any, file: str, line: int) -> Iterator[_Row]:
    """Yield the rows of a session from its JSON object."""
    if not isinstance(session, dict) or not isinstance(session.get("query"), str):
        raise DataError('a session must be an object with "query", "documents" and "clicks"', file, line)
    documents = session.get("documents")
    if (
        not isinstance(documents, list)
        or not documents
        or not all(isinstance(document_id, str) for document_id in documents)
    ):
        raise DataError('"documents" must be a list of at least one string', file, line)
    columns = {
        "clicks": session.get("clicks"), "ranks": session.get("ranks", list(range(1, len(documents) + 1))),
        "teams": session.get("teams", [""] * len(documents)),
    }  # fmt: skip
    for name, column in columns.items():
        if not isinstance(column, list) or len(column) != len(documents):
            raise DataError(f'"{name}" must be a list with {len(documents)} entries, one per document', file, line)
    entries = zip(columns["ranks"], documents, columns["clicks"], columns["teams"], strict=True)
    for rank, document, click, team in entries:
        yield _Row(line, str(line), session["query"], str(rank), document, str(click), str(team))


def _rows_from_parquet(buffer: Buffer) -> Iterator[_Row]:
    from pippin.data.arrow_files import read_parquet

    try:
        table = read_parquet(buffer.data, buffer.name)
    except (ValueError, OSError) as error:
        if isinstance(error, PippinError):
            raise
        raise DataError(f"cannot read the Parquet file ({error})", buffer.name) from None
    positions = _column_positions([name.lower() for name in table.column_names], buffer.name)
    empty = [""] * table.num_rows
    columns = [
        [_cell_text(value) for value in table.column(position).to_pylist()] if position >= 0 else empty
        for position in positions
    ]
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield _Row(number, *row)


def _cell_text(value: Any) -> str:
    """Return a value of a column as text."""
    return "" if value is None else str(value)


def write(log: ClickLog, path: str | os.PathLike[str]) -> None:
    """Write a click log atomically, in the format of the file's extension.

    Parameters
    ----------
    log : ClickLog
        The log.
    path : path
        File to write: ``.tsv``, ``.jsonl`` or ``.parquet``.

    Examples
    --------
    >>> import tempfile
    >>> write(ClickLog.of([("q", ["a"], [True])]), tempfile.mkdtemp() + "/log.jsonl")
    """
    form = _file_format(path)
    with atomic_write(path) as out:
        if form == "parquet":
            from pippin.data.arrow_files import write_with_checksum

            write_with_checksum(_table(log), out, "parquet")
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
                raise DataError(f"{text!r} has white space that text loses: write the log as .jsonl or .parquet")
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
