"""Columns of strings that refer to a buffer.

Ten million document ids as Python strings need a gigabyte, and most are never read. Here item i is the `lengths[i]`
bytes of `buffer` from `starts[i]`; the buffer is usually the memory-mapped file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from pippin.records import FrozenRecord

_ROWS_PER_BLOCK = 1 << 18  # rows packed at once, so that the index arrays stay small


class StringColumn(FrozenRecord, eq=False):
    """A frozen column of UTF-8 texts.

    >>> column = StringColumn.of(["a", "", "über"])
    >>> column[2], len(column), list(column[:2])
    ('über', 3, ['a', ''])
    """

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]

    @classmethod
    def of(cls, items: Iterable[str], errors: str = "strict") -> StringColumn:
        """Return a column of strings; `errors` is the error handler with which bytes other than UTF-8 were decoded."""
        encoded = [item.encode("utf-8", errors) for item in items]
        lengths = np.fromiter(map(len, encoded), np.int32, len(encoded))
        starts = np.zeros(len(encoded), np.int64)
        np.cumsum(lengths[:-1], out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts, lengths)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, item: int | slice | NDArray[np.int64]) -> str | StringColumn:
        if isinstance(item, (int, np.integer)):
            return self.at(int(item))
        return StringColumn(
            self.buffer, np.ascontiguousarray(self.starts[item]), np.ascontiguousarray(self.lengths[item])
        )

    def take(self, rows: NDArray[np.int64]) -> StringColumn:
        """Return the strings of the given rows, in this order."""
        return StringColumn(self.buffer, self.starts[rows], self.lengths[rows])

    def slice(self, first: int, last: int) -> StringColumn:
        """Return the strings of rows [first, last) without copying."""
        return StringColumn(self.buffer, self.starts[first:last], self.lengths[first:last])

    def at(self, index: int) -> str:
        """Return the string at `index`."""
        return self.raw(index).decode("utf-8", "replace")

    def pack(self) -> StringColumn:
        """Return the same strings, contiguous in a buffer of their own (a column may point into a buffer file)."""
        lengths = np.ascontiguousarray(self.lengths, np.int32)
        ends = np.cumsum(lengths, dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        starts = ends - lengths
        if total == len(self.buffer) and np.array_equal(starts, self.starts):
            return self
        buffer = np.empty(total, np.uint8)
        for row in range(0, len(self), _ROWS_PER_BLOCK):
            rows = slice(row, row + _ROWS_PER_BLOCK)
            if (size := int(lengths[rows].sum(dtype=np.int64))) == 0:
                continue
            start = int(starts[row])
            index = np.repeat(self.starts[rows] - starts[rows], lengths[rows]) + np.arange(start, start + size)
            buffer[start : start + size] = self.buffer[index]
        return StringColumn(buffer, starts, lengths)

    def raw(self, index: int) -> bytes:
        """Return the bytes of the string at `index`."""
        start = int(self.starts[index])
        return self.buffer[start : start + int(self.lengths[index])].tobytes()

    def __iter__(self) -> Iterator[str]:
        buffer = np.ascontiguousarray(self.buffer).data
        for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True):
            yield str(buffer[start : start + length], "utf-8", "replace")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StringColumn) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        items = ", ".join(repr(t) for t in list(self[:3]))
        return f"StringColumn([{items}{', …' if len(self) > 3 else ''}], {len(self)} items)"
