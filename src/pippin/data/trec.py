"""Judgements (qrels) and runs as frozen columns."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import check_offsets, read_only
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.frozen import Frozen
from pippin.kernels.nested import nested_columns
from pippin.kernels.text import line_at

Nested = Mapping[Any, Mapping[Any, float]]  # query id → document id → number; ids are texts or whole numbers


def _columns(nested: Nested, name: str) -> tuple[tuple[str, ...], NDArray[np.int64], Texts, NDArray[np.float64]]:
    """Query ids, offsets, documents and numbers of a dict of dicts."""
    try:
        if (found := nested_columns(nested)) is not None:
            buffer, starts, lengths, numbers, offsets = found
            return tuple(_ids(nested, "query", name)), offsets, Texts(buffer, starts, lengths), numbers
        offsets = np.concatenate(([0], np.cumsum([len(d) for d in nested.values()]))).astype(np.int64)
        queries = tuple(_ids(nested, "query", name))
        documents = Texts.of(document for d in nested.values() for document in _ids(d, "document", name))
        numbers = np.array([number for d in nested.values() for number in d.values()], np.float64)
    except DataError:
        raise
    except (TypeError, ValueError, AttributeError):
        raise DataError("a dict of query ids to dicts of document ids to numbers is expected", name) from None
    return queries, offsets, documents, numbers


def _ids(keys: Mapping[Any, Any], kind: str, name: str) -> Iterable[str]:
    """Ids as texts: whole numbers are written out, anything else is no id."""
    if all(type(key) is str for key in keys):
        return keys
    ids = [key if isinstance(key, str) else str(operator.index(key)) for key in keys]
    if len(set(ids)) != len(ids):
        raise DataError(f"a {kind} id stands there as a number and as text, {_twice(ids)}", name)
    return ids


def _twice(ids: list[str]) -> str:
    return next(i for n, i in enumerate(ids) if i in ids[:n])


class Judgements(Frozen, eq=False):
    """Which documents of which queries were judged, and how. A label below 0 is kept as it stands."""

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    document_ids: Texts
    labels: NDArray[np.int32]
    name: str = "judgements"
    file: str | None = None

    def __post_init__(self) -> None:
        check_offsets(self.offsets, len(self.labels), len(self.query_ids))
        if len(self.document_ids) != len(self.labels):
            raise DataError("as many document ids as labels are needed")
        object.__setattr__(self, "labels", read_only(self.labels))
        object.__setattr__(self, "offsets", read_only(self.offsets))

    @classmethod
    def of(cls, judged: Nested, name: str = "judgements") -> Judgements:
        """Judgements from a dict of dicts, query to document to label; ids may be whole numbers.

        >>> Judgements.of({1: {10: 2, 11: 0}}).query_ids
        ('1',)
        """
        queries, offsets, documents, values = _columns(judged, name)
        whole = (values == np.floor(values)) & (np.abs(values) < 2**31)
        if not whole.all():
            row = int(np.flatnonzero(~whole)[0])
            label = f"the label {values[row]} of document {documents.at(row)} is not a whole number"
            raise DataError(f"{label}; what was judged comes first, then what was scored", name)
        return cls(queries, offsets, documents, values.astype(np.int32), name)

    def line_of(self, row: int) -> int | None:
        """The line of the file that a row was read from, if it was read from one."""
        return None if self.file is None else line_at(self.document_ids.buffer, int(self.document_ids.starts[row]))

    def __repr__(self) -> str:
        return f"Judgements({self.name!r}: {len(self.query_ids):,} queries, {len(self.labels):,} judged documents)"


class Run(Frozen, eq=False):
    """What one system retrieved: documents with scores, grouped by query, in the order of the file."""

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    document_ids: Texts
    scores: NDArray[np.float64]
    name: str = "run"
    tag: str = "run"
    file: str | None = None

    def __post_init__(self) -> None:
        check_offsets(self.offsets, len(self.scores), len(self.query_ids))
        if len(self.document_ids) != len(self.scores):
            raise DataError("as many document ids as scores are needed")
        object.__setattr__(self, "scores", read_only(self.scores))
        object.__setattr__(self, "offsets", read_only(self.offsets))

    @classmethod
    def of(cls, run: Nested, name: str = "run") -> Run:
        """A run from a dict of dicts, query to document to score; ids may be whole numbers."""
        queries, offsets, documents, scores = _columns(run, name)
        return cls(queries, offsets, documents, scores, name, name)

    def line_of(self, row: int) -> int | None:
        """The line of the file that a row was read from, if it was read from one."""
        return None if self.file is None else line_at(self.document_ids.buffer, int(self.document_ids.starts[row]))

    def __repr__(self) -> str:
        return f"Run({self.name!r}: {len(self.query_ids):,} queries, {len(self.scores):,} documents)"
