"""Qrels and runs, and their TREC text: reading, writing, and qrels with subtopics."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.dataset import (
    Dataset,
    FrameConvertible,
    check_duplicate_documents,
    check_offsets,
    group_rows,
    read_only,
)
from pippin.data.letor import check_ids
from pippin.errors import DataError, FractionalLabelError
from pippin.kernels import text as kernel
from pippin.kernels.ranking import order_lists
from pippin.kernels.strings import StringColumn
from pippin.kernels.text import flatten_nested, line_at
from pippin.records import FrozenRecord
from pippin.storage.files import atomic_write

Nested = Mapping[Any, Mapping[Any, float]]  # query id → document id → number; ids are strings or whole numbers
_DETECT_BYTES = 1 << 17  # bytes in which subtopics are looked for


def _columns(nested: Nested, name: str) -> tuple[tuple[str, ...], NDArray[np.int64], StringColumn, NDArray[np.float64]]:
    """Return query ids, offsets, documents and numbers of a dict of dicts."""
    try:
        if (columns := flatten_nested(nested)) is not None:
            buffer, starts, lengths, numbers, offsets = columns
            return tuple(_ids(nested, "query", name)), offsets, StringColumn(buffer, starts, lengths), numbers
        offsets = np.concatenate(([0], np.cumsum([len(d) for d in nested.values()]))).astype(np.int64)
        queries = tuple(_ids(nested, "query", name))
        documents = StringColumn.of(document for d in nested.values() for document in _ids(d, "document", name))
        numbers = np.array([number for d in nested.values() for number in d.values()], np.float64)
    except DataError:
        raise
    except (TypeError, ValueError, AttributeError):
        raise DataError("expected a dict of query ids to dicts of document ids to numbers", name) from None
    return queries, offsets, documents, numbers


def _ids(keys: Mapping[Any, Any], kind: str, name: str) -> Iterable[str]:
    """Return ids as strings; whole numbers are converted, other types raise TypeError."""
    if all(type(key) is str for key in keys):
        return keys
    ids = [key if isinstance(key, str) else str(operator.index(key)) for key in keys]
    if len(set(ids)) != len(ids):
        repeated = next(id for number, id in enumerate(ids) if id in ids[:number])
        raise DataError(f"a {kind} id occurs as a number and as a string: {repeated}", name)
    return ids


class Qrels(FrameConvertible, FrozenRecord, eq=False):
    """Relevance judgements: labels by query and document.

    Parameters
    ----------
    query_ids : tuple of str
        Ids of the q queries.
    offsets : ndarray of int64, shape (q + 1,)
        The rows of query i are ``offsets[i]`` up to ``offsets[i + 1]``.
    document_ids : StringColumn, length n
        Ids of the judged documents.
    labels : ndarray of int32, shape (n,)
        Labels; negative ones are kept.
    name : str
        What tables and errors call the judgements.
    file : str, optional
        The file they were read from.

    Examples
    --------
    >>> Qrels.from_dict({"q1": {"d1": 1, "d2": 0}})
    Qrels('judgements': 1 queries, 2 judged documents)
    """

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    document_ids: StringColumn
    labels: NDArray[np.int32]
    name: str = "judgements"
    file: str | None = None

    def __post_init__(self) -> None:
        check_offsets(self.offsets, len(self.labels), len(self.query_ids))
        if len(self.document_ids) != len(self.labels):
            raise DataError(f"{len(self.document_ids)} document ids for {len(self.labels)} labels")
        object.__setattr__(self, "labels", read_only(self.labels))
        object.__setattr__(self, "offsets", read_only(self.offsets))

    @classmethod
    def from_dict(cls, qrels: Nested, name: str = "judgements") -> Qrels:
        """Create qrels from a dict of dicts, query → document → label.

        Parameters
        ----------
        qrels : mapping
            Ids may be strings or whole numbers.
        name : str
            What tables and errors call the judgements.

        Returns
        -------
        Qrels
            The judgements in the order of the dicts.

        Examples
        --------
        >>> Qrels.from_dict({1: {10: 2, 11: 0}}).query_ids
        ('1',)
        """
        queries, offsets, documents, values = _columns(qrels, name)
        is_label = (values == np.floor(values)) & (np.abs(values) < 2**31)
        if not is_label.all():
            row = int(np.flatnonzero(~is_label)[0])
            label = f"the label {values[row]} of document {documents.at(row)} is not a whole number"
            raise FractionalLabelError(
                f"{label}; pass the judgements first, then the run, or number the grades from 0 and set gain=0,0.5,1",
                name,
            )
        return cls(queries, offsets, documents, values.astype(np.int32), name)

    def by_query(self) -> dict[str, dict[str, int]]:
        """Return the labels as query → document → label.

        Returns
        -------
        dict
            Queries and documents in the order of the rows.

        Examples
        --------
        >>> Qrels.from_dict({"q1": {"d1": 1, "d2": 0}}).by_query()
        {'q1': {'d1': 1, 'd2': 0}}
        """
        documents, labels, offsets = list(self.document_ids), self.labels.tolist(), self.offsets.tolist()
        return {
            query: dict(zip(documents[start:stop], labels[start:stop], strict=True))
            for query, start, stop in zip(self.query_ids, offsets[:-1], offsets[1:], strict=True)
        }

    def line_of(self, row: int) -> int | None:
        """Return the line of the file that a row was read from, or None.

        Parameters
        ----------
        row : int
            Row of the judgements, from 0.
        """
        return None if self.file is None else line_at(self.document_ids.buffer, int(self.document_ids.starts[row]))

    def __repr__(self) -> str:
        return f"Qrels({self.name!r}: {len(self.query_ids):,} queries, {len(self.labels):,} judged documents)"


class SubtopicQrels(Qrels, eq=False):
    """Qrels with the subtopics that each document is relevant to."""

    subtopics: tuple[frozenset[str], ...] = field(default=())  # by row


class Run(FrameConvertible, FrozenRecord, eq=False):
    """The documents that a system retrieved, with scores by query.

    Parameters
    ----------
    query_ids : tuple of str
        Ids of the q queries.
    offsets : ndarray of int64, shape (q + 1,)
        The rows of query i are ``offsets[i]`` up to ``offsets[i + 1]``.
    document_ids : StringColumn, length n
        Ids of the documents, in file order.
    scores : ndarray of float64, shape (n,)
        Scores; higher comes first.
    name : str
        What tables and errors call the run.
    tag : str
        The system, as in the last column of a TREC run.
    file : str, optional
        The file it was read from.

    Examples
    --------
    >>> Run.from_dict({"q1": {"d1": 2.5, "d2": 1.5}}, name="bm25")
    Run('bm25': 1 queries, 2 documents)
    """

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    document_ids: StringColumn
    scores: NDArray[np.float64]
    name: str = "run"
    tag: str = "run"
    file: str | None = None

    def __post_init__(self) -> None:
        check_offsets(self.offsets, len(self.scores), len(self.query_ids))
        if len(self.document_ids) != len(self.scores):
            raise DataError(f"{len(self.document_ids)} document ids for {len(self.scores)} scores")
        object.__setattr__(self, "scores", read_only(self.scores))
        object.__setattr__(self, "offsets", read_only(self.offsets))

    @classmethod
    def from_dict(cls, run: Nested, name: str = "run") -> Run:
        """Create a run from a dict of dicts, query → document → score.

        Parameters
        ----------
        run : mapping
            Ids may be strings or whole numbers.
        name : str
            What tables and errors call the run; also its tag.

        Returns
        -------
        Run
            The run in the order of the dicts.

        Examples
        --------
        >>> Run.from_dict({1: {10: 0.5, 11: 0.25}}).scores
        array([0.5 , 0.25])
        """
        queries, offsets, documents, scores = _columns(run, name)
        return cls(queries, offsets, documents, scores, name, name)

    def line_of(self, row: int) -> int | None:
        """Return the line of the file that a row was read from, or None.

        Parameters
        ----------
        row : int
            Row of the run, from 0.
        """
        return None if self.file is None else line_at(self.document_ids.buffer, int(self.document_ids.starts[row]))

    def __repr__(self) -> str:
        return f"Run({self.name!r}: {len(self.query_ids):,} queries, {len(self.scores):,} documents)"


Scores = NDArray[np.float64]
Data: TypeAlias = Dataset | Qrels | Run
RankingData: TypeAlias = Data | Scores
Grouped = tuple[tuple[str, ...], NDArray[np.int64], StringColumn, NDArray[np.float64] | NDArray[np.int32]]


def parse_qrels(
    source: Readable, *, merge_queries: bool = False, lenient: bool = False, comments: bool = True
) -> Qrels:
    """Parse TREC qrels (plain, compressed, `-`)."""
    buffer = open_buffer(source)
    columns = kernel.read_trec(buffer.data, buffer.name, run=False, lenient=lenient, comments=comments)
    query_ids, offsets, documents, labels = _group(buffer, columns, merge_queries, lenient)
    if not lenient:
        check_duplicate_documents(buffer, documents, offsets, query_ids)
    name = Path(buffer.name).name
    return Qrels(query_ids, offsets, documents, labels.astype(np.int32, copy=False), name, buffer.name)


def parse_run(
    source: Readable,
    *,
    merge_queries: bool = False,
    lenient: bool = False,
    comments: bool = True,
    allow_infinite: bool = False,
) -> Run:
    """Parse a TREC run (plain, compressed, `-`). Duplicate documents are detected when it is ranked."""
    buffer = open_buffer(source)
    columns = kernel.read_trec(
        buffer.data, buffer.name, run=True, lenient=lenient, comments=comments, infinite=allow_infinite
    )
    query_ids, offsets, documents, scores = _group(buffer, columns, merge_queries, lenient)
    start, length = columns.last_tag if lenient else columns.first_tag
    tag = buffer.data[start : start + length].tobytes().decode("utf-8", "surrogateescape" if lenient else "replace")
    name = Path(buffer.name).name
    return Run(query_ids, offsets, documents, scores.astype(np.float64, copy=False), name, tag, buffer.name)


def _group(buffer: Buffer, columns: kernel.TrecColumns, merge_queries: bool, lenient: bool) -> Grouped:
    rows = len(columns.starts)
    if not rows and not lenient:
        raise DataError("the file contains no data", buffer.name)
    errors = "surrogateescape" if lenient else "replace"
    query_ids, offsets, order = group_rows(buffer, columns.segments, rows, merge_queries or lenient, errors)
    documents, values = StringColumn(buffer.data, columns.starts, columns.lengths), columns.values
    if order is not None:
        documents, values = documents.take(order), values[order]
    return query_ids, offsets, documents, values


def write_qrels(qrels: Qrels, path: str | os.PathLike[str]) -> None:
    """Write qrels in TREC's four columns."""
    _check_ids(qrels.query_ids, qrels.document_ids)
    labels = qrels.labels.tolist()
    with atomic_write(path) as file:
        for query, rows, documents in _iter_queries(qrels):
            file.write("".join(f"{query} 0 {d} {labels[r]}\n" for r, d in zip(rows, documents, strict=True)).encode())


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run in TREC's six columns, in its own order; ties get ranks in that order."""
    _check_ids((*run.query_ids, run.tag), run.document_ids)
    no_labels = np.zeros(len(run.scores), np.int32)
    order = order_lists(run.scores, no_labels, run.offsets, None, "input", float32=False)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1) - np.repeat(run.offsets[:-1], np.diff(run.offsets))
    with atomic_write(path) as file:
        for query, rows, documents in _iter_queries(run):
            scores = kernel.format_numbers(run.scores[rows.start : rows.stop]).decode().split()
            lines = zip(documents, ranks[rows.start : rows.stop].tolist(), scores, strict=True)
            file.write("".join(f"{query} Q0 {d} {r} {s} {run.tag}\n" for d, r, s in lines).encode())


def _iter_queries(data: Qrels | Run) -> Iterator[tuple[str, range, StringColumn]]:
    for q, query in enumerate(data.query_ids):
        rows = range(int(data.offsets[q]), int(data.offsets[q + 1]))
        yield query, rows, data.document_ids.slice(rows.start, rows.stop)


def _check_ids(ids: tuple[str, ...], documents: StringColumn) -> None:
    for text in ids:
        if not text or any(c <= " " for c in text):
            raise DataError(f"{text!r} cannot be written as a column of text, because blanks separate columns")
    check_ids(documents)


def has_subtopics(buffer: Buffer) -> bool:
    """Return whether the second column of qrels has several values, which are subtopics."""
    subtopics = set()
    for line in buffer.data[:_DETECT_BYTES].tobytes().split(b"\n"):
        columns = line.split(None, 2)
        if len(columns) == 3 and not columns[0].startswith(b"#"):
            subtopics.add(columns[1])
            if len(subtopics) > 1:
                return True
    return False


def parse_subtopics(source: Readable) -> SubtopicQrels:
    """Parse qrels with the columns query, subtopic, document and label."""
    buffer = open_buffer(source)
    labels: dict[str, dict[str, int]] = {}
    relevant_to: dict[tuple[str, str], set[str]] = {}
    for number, line in enumerate(buffer.data.tobytes().decode("utf-8", "replace").splitlines(), 1):
        columns = line.split()
        if not columns or columns[0].startswith("#"):
            continue
        if len(columns) != 4 or not columns[3].lstrip("-").isdigit():
            raise DataError("expected query, subtopic, document and a whole number", buffer.name, number)
        query, subtopic, document, label = columns[0], columns[1], columns[2], int(columns[3])
        of_query = labels.setdefault(query, {})
        of_query[document] = max(of_query.get(document, label), label)
        if label > 0:
            relevant_to.setdefault((query, document), set()).add(subtopic)
    if not labels:
        raise DataError("the file contains no data", buffer.name)
    rows = [(query, document) for query, of_query in labels.items() for document in of_query]
    offsets = np.concatenate(([0], np.cumsum([len(of_query) for of_query in labels.values()]))).astype(np.int64)
    return SubtopicQrels(
        tuple(labels), offsets, StringColumn.of(document for _, document in rows),
        np.array([labels[query][document] for query, document in rows], np.int32), buffer.name,
        subtopics=tuple(frozenset(relevant_to.get(row, ())) for row in rows),
    )  # fmt: skip
