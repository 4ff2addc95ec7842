"""Universal Binary JSON, as XGBoost writes models: values with a type before them, arrays of one type packed."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_DEEPEST = 64
MOST = 1 << 26  # values that are no packed numbers


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at, self.count = content, 0, 0

    def take(self, length: int) -> bytes:
        """The next bytes."""
        if not 0 <= length <= len(self.content) - self.at:
            raise ValueError("it ends in the middle of a value")
        self.at += length
        return self.content[self.at - length : self.at]

    def number(self, kind: bytes) -> Any:
        """A number of a type."""
        dtype = np.dtype(_NUMBERS[kind])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def text(self) -> str:
        """A text with its length before it."""
        return self.take(self.number(self.take(1))).decode("utf-8")

    def value(self, kind: bytes, depth: int) -> Any:
        """A value whose type has been read."""
        self.count += 1
        if depth > _DEEPEST or self.count > MOST:
            raise ValueError("it is nested too deep, or holds too much")
        if kind in _NUMBERS:
            return self.number(kind)
        if kind in (b"Z", b"T", b"F"):
            return {b"Z": None, b"T": True, b"F": False}[kind]
        if kind == b"C":
            return self.take(1).decode("latin-1")
        if kind in (b"S", b"H"):
            return self.text()
        if kind == b"[":
            return self.array(depth)
        if kind == b"{":
            return self.mapping(depth)
        raise ValueError(f"a value is of the type {kind!r}")

    def array(self, depth: int) -> Any:
        """A list, packed or not."""
        mark = self.take(1)
        if mark == b"$":
            kind = self.take(1)
            if self.take(1) != b"#":
                raise ValueError("a packed array has no length")
            length = self.number(self.take(1))
            if kind not in _NUMBERS:
                raise ValueError("a packed array holds no numbers")
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(length * dtype.itemsize), dtype).tolist()
        if mark == b"#":
            length = self.number(self.take(1))
            if not 0 <= length <= len(self.content) - self.at:
                raise ValueError("an array is longer than the file")
            return [self.value(self.take(1), depth + 1) for _ in range(length)]
        found = []
        while mark != b"]":
            found.append(self.value(mark, depth + 1))
            mark = self.take(1)
        return found

    def mapping(self, depth: int) -> dict[str, Any]:
        """An object; of one with a length, the end is where that is reached."""
        found: dict[str, Any] = {}
        mark = self.take(1)
        if mark == b"#":
            for _ in range(min(self.number(self.take(1)), len(self.content))):
                key = self.text()
                found[key] = self.value(self.take(1), depth + 1)
            return found
        while mark != b"}":
            key = self.take(self.number(mark)).decode("utf-8")
            found[key] = self.value(self.take(1), depth + 1)
            mark = self.take(1)
        return found


def parse(content: bytes) -> Any:
    """The value of some bytes; ValueError where they are none.

    >>> parse(b"{i\\x01aSi\\x02hii\\x01b[$U#i\\x02\\x01\\x02}")
    {'a': 'hi', 'b': [1, 2]}
    """
    reader = _Reader(content)
    try:
        return reader.value(reader.take(1), 0)
    except (struct.error, KeyError):
        raise ValueError("a value is of no known type") from None
