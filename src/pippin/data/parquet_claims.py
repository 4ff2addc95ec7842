"""What does the footer of a Parquet file claim? Read here, as the library's view of a damaged one can end the process.

A footer is a struct in Thrift's compact protocol (parquet.thrift): of its row groups and their columns are wanted the
type, the name, how many values there are, what they unpack to, and whether texts that repeat are kept once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.text import longest_text
from pippin.limits import check_size

_TRUE, _FALSE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 8, 9, 10, 11, 12
_WHOLE = (4, 5, 6)  # integers of 16, 32 and 64 bits
_SIZES = {3: 1, 7: 8, 13: 16}  # a byte, a double, a UUID
_HEADER = 1 << 12  # bytes in which the header of a page ends
_DEPTH = 24
_BYTE_ARRAY = 6


_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_DICTIONARY_PAGE = 2


@dataclass(frozen=True)
class Claims:
    """What a file says it holds."""

    rows: int
    columns: int  # of the widest row group
    plain: int  # bytes of all pages, unpacked
    repeated: dict[str, int]  # columns of texts that are kept once → bytes if every value were the longest of them


def read_claims(content: NDArray[np.uint8], file: str) -> Claims:
    """The claims of a file; ValueError where its footer cannot be read."""
    footer = _footer(content)
    repeated: dict[str, int] = {}
    plain, most = 0, 0
    for chunks in _groups(footer):
        plain, most = plain + sum(max(0, _whole(chunk.get(6))) for chunk in chunks), max(most, len(chunks))
        check_size(plain, len(content), "the columns take", file)
        for chunk in chunks:
            if _whole(chunk.get(1)) == _BYTE_ARRAY and 11 in chunk:
                values, longest = max(0, _whole(chunk.get(5))), _longest(content, chunk, file)
                repeated[_name(chunk)] = repeated.get(_name(chunk), 0) + values * longest
    return Claims(max(0, _whole(footer.get(3))), most, plain, repeated)


def extents(content: NDArray[np.uint8], column: str) -> list[tuple[int, int]]:
    """Where the pages of a column lie: from which byte up to which."""
    stretches = []
    for chunk in (chunk for chunks in _groups(_footer(content)) for chunk in chunks if _name(chunk) == column):
        first = min(_whole(chunk[field]) for field in (9, 11) if field in chunk) if 9 in chunk else 0
        stretches.append((max(0, first), min(len(content), max(0, first + _whole(chunk.get(7))))))
    return stretches


def _footer(content: NDArray[np.uint8]) -> dict[int, Any]:
    end = len(content) - 8
    size = int.from_bytes(content[end : end + 4].tobytes(), "little") if end >= 4 else 0
    if not 0 < size <= end or content[end + 4 :].tobytes() != b"PAR1":
        raise ValueError("it has no footer")
    return _Reader(content[end - size : end].tobytes()).struct()


def _groups(footer: dict[int, Any]) -> Iterator[list[dict[int, Any]]]:
    """What is said of the columns of each row group."""
    for group in _listed(footer.get(4), dict):
        yield [chunk[3] for chunk in _listed(group.get(1), dict) if isinstance(chunk.get(3), dict)]


def _name(chunk: dict[int, Any]) -> str:
    return b".".join(_listed(chunk.get(3), bytes)).decode(errors="replace")


def _longest(content: NDArray[np.uint8], chunk: dict[int, Any], file: str) -> int:
    """The length of the longest text of a column's dictionary, or what all of it unpacks to where it cannot be read."""
    begin = max(0, _whole(chunk.get(11)))
    reader = _Reader(content[begin : begin + _HEADER].tobytes())
    header = reader.struct()
    size, packed = (max(0, _whole(header.get(field))) for field in (2, 3))
    codec = _CODECS.get(_whole(chunk.get(4)))
    if header.get(1) != _DICTIONARY_PAGE or (codec is None and _whole(chunk.get(4))):
        return max(0, _whole(chunk.get(6)))
    check_size(size, len(content), "the texts of a column take", file)
    page = content[begin + reader.at : begin + reader.at + packed].tobytes()
    if codec is not None:
        from pyarrow import Codec

        page = Codec(codec).decompress(page, size, asbytes=True)
    return longest_text(np.frombuffer(page, np.uint8))


def _listed(value: Any, kind: type) -> list[Any]:
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


class _Reader:
    """Thrift's compact protocol: structs as dicts by the number of the field."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.depth = data, 0, 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("its footer is cut short")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError("its footer is cut short")
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("a number of its footer has no end")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self) -> dict[int, Any]:
        self.depth += 1
        if self.depth > _DEPTH:
            raise ValueError("its footer is too deep")
        fields: dict[int, Any] = {}
        number = 0
        while header := self.byte():
            number = number + (header >> 4) if header >> 4 else self.zigzag()
            fields[number] = self.value(header & 15)
        self.depth -= 1
        return fields

    def value(self, kind: int, in_list: bool = False) -> Any:
        if kind in _WHOLE:
            return self.zigzag()
        if kind == _BINARY:
            return self.take(self.varint())
        if kind in (_LIST, _SET):
            return self.items()
        return self.struct() if kind == _STRUCT else self.rare(kind, in_list)

    def rare(self, kind: int, in_list: bool) -> Any:
        if kind in (_TRUE, _FALSE):
            return (self.byte() if in_list else kind) == _TRUE
        if kind in _SIZES:
            return self.take(_SIZES[kind])
        if kind != _MAP:
            raise ValueError("its footer holds something of no known kind")
        size = self.varint()
        kinds = self.byte() if size else 0
        if size > len(self.data):
            raise ValueError("its footer is cut short")
        return [(self.value(kinds >> 4, True), self.value(kinds & 15, True)) for _ in range(size)]

    def items(self) -> list[Any]:
        header = self.byte()
        size = header >> 4 if header >> 4 < 15 else self.varint()
        if size > len(self.data) - self.at:
            raise ValueError("its footer is cut short")
        self.depth += 1
        if self.depth > _DEPTH:
            raise ValueError("its footer is too deep")
        values = [self.value(header & 15, True) for _ in range(size)]
        self.depth -= 1
        return values
