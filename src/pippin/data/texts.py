"""A column of texts that points into a buffer.

Ids of ten million documents as Python strings would cost a gigabyte and most are never looked at. Here item i is the
`lengths[i]` bytes of `buffer` from `starts[i]`; the buffer is usually the file itself, mapped into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from pippin.frozen import Frozen


class Texts(Frozen, eq=False):
    """A frozen column of UTF-8 texts.

    >>> column = Texts.of(["a", "", "über"])
    >>> column[2], len(column), list(column[:2])
    ('über', 3, ['a', ''])
    """

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]

    @classmethod
    def of(cls, items: Iterable[str], errors: str = "strict") -> Texts:
        """The column of these strings; `errors` says how bytes that are no UTF-8 were taken in."""
        encoded = [item.encode("utf-8", errors) for item in items]
        lengths = np.fromiter(map(len, encoded), np.int32, len(encoded))
        starts = np.zeros(len(encoded), np.int64)
        np.cumsum(lengths[:-1], out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts, lengths)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, item: int | slice | NDArray[np.int64]) -> str | Texts:
        if isinstance(item, (int, np.integer)):
            return self.at(int(item))
        return Texts(self.buffer, np.ascontiguousarray(self.starts[item]), np.ascontiguousarray(self.lengths[item]))

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """The texts at these rows, in this order."""
        return Texts(self.buffer, self.starts[rows], self.lengths[rows])

    def slice(self, first: int, last: int) -> Texts:
        """The texts from `first` up to `last`; nothing is copied."""
        return Texts(self.buffer, self.starts[first:last], self.lengths[first:last])

    def at(self, index: int) -> str:
        """The text at `index`."""
        return self.raw(index).decode("utf-8", "replace")

    def raw(self, index: int) -> bytes:
        """The bytes of the text at `index`."""
        start = int(self.starts[index])
        return self.buffer[start : start + int(self.lengths[index])].tobytes()

    def __iter__(self) -> Iterator[str]:
        whole = np.ascontiguousarray(self.buffer).data
        for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True):
            yield str(whole[start : start + length], "utf-8", "replace")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texts) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(t) for t in list(self[:3]))
        return f"Texts([{shown}{', …' if len(self) > 3 else ''}], {len(self)} items)"
