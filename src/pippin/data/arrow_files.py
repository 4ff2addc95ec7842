"""Parquet and Arrow IPC files: size checks before they are read, and checksums.

A table that Pippin writes has the text `pippin-xxh3-…` in the metadata of its footer; its last 16 letters are the
checksum of all other bytes. Pages of Parquet also have checksums that any program can verify. A file may take no more
memory than `pippin.storage.compression` allows, whatever its header says.

The footer of a Parquet file, a struct in Thrift's compact protocol (parquet.thrift), is parsed here, because PyArrow's
metadata aborts the process on damaged footers.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.kernels.checksum import xxh3
from pippin.kernels.text import longest_text
from pippin.storage.compression import check_size
from pippin.storage.manifest import checksum

KEY, HAS_CHECKSUM = b"pippin.checksum", b"pippin.sealed"
MARK = b"pippin-xxh3-"
_PLACEHOLDER = MARK + b"0" * 16
_ENDINGS = {"parquet": (4, b"PAR1"), "arrow": (6, b"ARROW1")}  # format → the last bytes, after the footer's length
_VALUE_BYTES = 8  # bytes of a value in memory
_MAX_UNCHECKED_STRINGS = 1 << 26  # bytes that repeated strings of a column may take before they are counted exactly


def write_with_checksum(table: Any, out: IO[bytes], format: str) -> None:
    """Write an Arrow table as Parquet or Arrow IPC with its checksum."""
    metadata = {**(table.schema.metadata or {}), HAS_CHECKSUM: b"1", KEY: _PLACEHOLDER}
    table = table.replace_schema_metadata(metadata)
    if not (out.seekable() and out.readable()):  # compressed, or standard output
        buffer = io.BytesIO()
        write_with_checksum(table, buffer, format)
        out.write(buffer.getbuffer())
        return
    start = out.tell()
    if format == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, out, compression="zstd", write_page_checksum=True)
    else:
        from pyarrow import ipc

        with ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    out.seek(start)
    content = np.frombuffer(out.read(), np.uint8)
    position = _find_checksum(content, format)
    if position is None:
        raise DataError(f"the {format} file has no footer for the checksum")
    out.seek(start + position)
    out.write(_checksum_around(content, position).encode())
    out.seek(0, io.SEEK_END)


def verify(content: NDArray[np.uint8], format: str) -> bool:
    """Return whether a file has a checksum; raise ValueError if it does not match."""
    position = _find_checksum(content, format)
    if position is None:
        footer = _find_footer(content, format)
        if footer is not None and HAS_CHECKSUM in content[footer:].tobytes():
            raise ValueError("damaged: its checksum is missing")
        return False
    if content[position : position + 16].tobytes() != _checksum_around(content, position).encode():
        raise ValueError("damaged: its checksum does not match")
    return True


def _find_footer(content: NDArray[np.uint8], format: str) -> int | None:
    size, magic = _ENDINGS[format]
    end = content[-size - 4 :].tobytes()
    if len(end) != size + 4 or end[4:] != magic:
        return None
    return max(0, len(content) - size - 4 - int.from_bytes(end[:4], "little"))


def _find_checksum(content: NDArray[np.uint8], format: str) -> int | None:
    """Return the position of the 16 letters of the checksum: after the last mark in the footer."""
    footer = _find_footer(content, format)
    mark = -1 if footer is None else content[footer:].tobytes().rfind(MARK)
    return None if footer is None or mark < 0 else footer + mark + len(MARK)


def _checksum_around(content: NDArray[np.uint8], position: int) -> str:
    return checksum(struct.pack("<QQ", xxh3(content[:position]), xxh3(content[position + 16 :])))


def read_parquet(content: NDArray[np.uint8], file: str) -> Any:
    """Read a Parquet file; page checksums are verified, and columns of repeated strings stay encoded."""
    import pyarrow
    from pyarrow import parquet

    verify(content, "parquet")
    claims = read_claims(content, file)
    size = max(claims.uncompressed, claims.rows * claims.columns * _VALUE_BYTES)
    check_size(size, len(content), "the columns take", file)
    source = pyarrow.BufferReader(pyarrow.py_buffer(content))
    schema = parquet.ParquetFile(source, page_checksum_verification=True).schema_arrow
    names = [name for name in schema.names if claims.repeated.get(name, 0) > _MAX_UNCHECKED_STRINGS]
    source.seek(0)
    table = parquet.read_table(source, page_checksum_verification=True, read_dictionary=names)
    for name in names:
        check_size(_decoded_size(table.column(name)), len(content), f"the column {name!r} takes", file)
    return table


def _decoded_size(column: Any) -> int:
    """Return the bytes of a dictionary-encoded column once decoded."""
    from pyarrow import compute

    total = 0
    for chunk in column.chunks:
        if not hasattr(chunk, "dictionary"):
            return int(column.nbytes)
        lengths = compute.binary_length(chunk.dictionary).to_numpy(zero_copy_only=False)
        codes = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
        total += int(np.asarray(lengths, np.int64)[codes].sum())
    return total


def read_arrow(content: NDArray[np.uint8], file: str) -> Any:
    """Read an Arrow IPC file or stream."""
    import pyarrow
    from pyarrow import ipc

    buffer = pyarrow.py_buffer(content)
    # A file is a stream between this magic word and a footer.
    is_file = content[:6].tobytes() == b"ARROW1"
    if is_file:
        verify(content, "arrow")
    check_size(_uncompressed_size(buffer[8:] if is_file else buffer), len(content), "its buffers decompress to", file)
    table = (ipc.open_file if is_file else ipc.open_stream)(buffer).read_all()
    check_size(table.num_rows * table.num_columns * _VALUE_BYTES, len(content), "the columns take", file)
    return table


def _uncompressed_size(stream: Any) -> int:
    """Return the size of all compressed buffers of a stream, as its messages state it."""
    from pyarrow import ipc

    total = 0
    for message in ipc.MessageReader.open_stream(stream):
        if message.body is not None and message.type in ("record batch", "dictionary"):
            total += sum(_buffer_sizes(memoryview(message.metadata), memoryview(message.body)))
    return total


def _buffer_sizes(metadata: memoryview, body: memoryview) -> Iterator[int]:
    """Yield the uncompressed size of each buffer of a message; nothing if they are not compressed.

    Arrow's Message.fbs: the header is a RecordBatch, or a DictionaryBatch that contains one; its field 2 has the
    buffers (offset and length) and its field 3 the compression.
    """
    try:
        message = _flatbuffer_table(metadata, 0)
        header = _flatbuffer_table(metadata, message[2])
        if metadata[message[1]] == 2:  # a dictionary batch
            header = _flatbuffer_table(metadata, header[1])
        if 3 not in header:
            return
        vector = header[2] + struct.unpack_from("<I", metadata, header[2])[0]
        (count,) = struct.unpack_from("<I", metadata, vector)
        for i in range(count):
            offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * i)
            if length >= 8:
                yield max(0, struct.unpack_from("<q", body, offset)[0])
    except (struct.error, KeyError, IndexError, ValueError):
        raise ValueError("invalid message in the stream") from None


def _flatbuffer_table(data: memoryview, reference: int) -> dict[int, int]:
    """Return the position of each field of the flatbuffer table that the offset at `reference` points to."""
    table = reference + struct.unpack_from("<I", data, reference)[0]
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    offsets = struct.unpack_from(f"<{(size - 4) // 2}H", data, vtable + 4)
    return {number: table + offset for number, offset in enumerate(offsets) if offset}


_TRUE, _FALSE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 8, 9, 10, 11, 12  # types of Thrift's compact protocol
_INTEGERS = (4, 5, 6)  # 16, 32 and 64 bits
_FIXED_SIZES = {3: 1, 7: 8, 13: 16}  # byte, double, UUID
_PAGE_HEADER_BYTES = 1 << 12  # the header of a page ends within these bytes
_MAX_DEPTH = 24
_BYTE_ARRAY = 6
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_DICTIONARY_PAGE = 2


@dataclass(frozen=True)
class ParquetClaims:
    """The sizes that a Parquet footer states."""

    rows: int
    columns: int  # of the widest row group
    uncompressed: int  # bytes of all pages
    repeated: dict[str, int]  # dictionary-encoded string column → bytes if every value were its longest string


def read_claims(content: NDArray[np.uint8], file: str) -> ParquetClaims:
    """Read the sizes that a footer states; raise ValueError if the footer is invalid."""
    footer = _read_footer(content)
    repeated: dict[str, int] = {}
    uncompressed, columns = 0, 0
    for chunks in _row_groups(footer):
        uncompressed += sum(max(0, _integer(chunk.get(6))) for chunk in chunks)
        columns = max(columns, len(chunks))
        check_size(uncompressed, len(content), "the columns take", file)
        for chunk in chunks:
            if _integer(chunk.get(1)) == _BYTE_ARRAY and 11 in chunk:
                name, values = _column_name(chunk), max(0, _integer(chunk.get(5)))
                repeated[name] = repeated.get(name, 0) + values * _longest_string(content, chunk, file)
    return ParquetClaims(max(0, _integer(footer.get(3))), columns, uncompressed, repeated)


def column_ranges(content: NDArray[np.uint8], column: str) -> list[tuple[int, int]]:
    """Return the byte ranges of a column's pages."""
    ranges = []
    for chunk in (chunk for chunks in _row_groups(_read_footer(content)) for chunk in chunks):
        if _column_name(chunk) == column:
            start = max(0, min(_integer(chunk[field]) for field in (9, 11) if field in chunk) if 9 in chunk else 0)
            ranges.append((start, min(len(content), start + _integer(chunk.get(7)))))
    return ranges


def _read_footer(content: NDArray[np.uint8]) -> dict[int, Any]:
    end = len(content) - 8
    size = int.from_bytes(content[end : end + 4].tobytes(), "little") if end >= 4 else 0
    if not 0 < size <= end or content[end + 4 :].tobytes() != b"PAR1":
        raise ValueError("footer missing")
    return _ThriftReader(content[end - size : end].tobytes()).struct()


def _row_groups(footer: dict[int, Any]) -> Iterator[list[dict[int, Any]]]:
    """Yield the metadata of the column chunks of each row group."""
    for group in _items(footer.get(4), dict):
        yield [chunk[3] for chunk in _items(group.get(1), dict) if isinstance(chunk.get(3), dict)]


def _column_name(chunk: dict[int, Any]) -> str:
    return b".".join(_items(chunk.get(3), bytes)).decode(errors="replace")


def _longest_string(content: NDArray[np.uint8], chunk: dict[int, Any], file: str) -> int:
    """Return the length of the longest string in a column's dictionary, or the column's size if it is unreadable."""
    start = max(0, _integer(chunk.get(11)))
    reader = _ThriftReader(content[start : start + _PAGE_HEADER_BYTES].tobytes())
    header = reader.struct()
    size, compressed_size = (max(0, _integer(header.get(field))) for field in (2, 3))
    codec = _CODECS.get(_integer(chunk.get(4)))
    if header.get(1) != _DICTIONARY_PAGE or (codec is None and _integer(chunk.get(4))):
        return max(0, _integer(chunk.get(6)))
    check_size(size, len(content), "the strings of a column take", file)
    page = content[start + reader.position : start + reader.position + compressed_size].tobytes()
    if codec is not None:
        from pyarrow import Codec

        page = Codec(codec).decompress(page, size, asbytes=True)
    return longest_text(np.frombuffer(page, np.uint8))


def _items(value: Any, item_type: type) -> list[Any]:
    return [item for item in value if isinstance(item, item_type)] if isinstance(value, list) else []


def _integer(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


class _ThriftReader:
    """Thrift's compact protocol: structs as dicts by field number."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position, self.depth = data, 0, 0

    def read(self, size: int) -> bytes:
        if size > len(self.data) - self.position:
            raise ValueError("its footer is truncated")
        self.position += size
        return self.data[self.position - size : self.position]

    def byte(self) -> int:
        return self.read(1)[0]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("invalid footer: unterminated number")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError("its footer is too deep")

    def struct(self) -> dict[int, Any]:
        self._descend()
        fields: dict[int, Any] = {}
        number = 0
        while header := self.byte():
            number = number + (header >> 4) if header >> 4 else self.zigzag()
            fields[number] = self.value(header & 15)
        self.depth -= 1
        return fields

    def value(self, kind: int, in_list: bool = False) -> Any:  # noqa: PLR0911 - one branch per type
        if kind in _INTEGERS:
            return self.zigzag()
        if kind == _BINARY:
            return self.read(self.varint())
        if kind in (_LIST, _SET):
            return self.list()
        if kind == _STRUCT:
            return self.struct()
        if kind in (_TRUE, _FALSE):
            return (self.byte() if in_list else kind) == _TRUE
        if kind in _FIXED_SIZES:
            return self.read(_FIXED_SIZES[kind])
        if kind != _MAP:
            raise ValueError("its footer holds a value of unknown type")
        size = self.varint()
        kinds = self.byte() if size else 0
        if size > len(self.data):
            raise ValueError("its footer is truncated")
        return [(self.value(kinds >> 4, True), self.value(kinds & 15, True)) for _ in range(size)]

    def list(self) -> list[Any]:
        header = self.byte()
        size = header >> 4 if header >> 4 < 15 else self.varint()
        if size > len(self.data) - self.position:
            raise ValueError("its footer is truncated")
        self._descend()
        values = [self.value(header & 15, True) for _ in range(size)]
        self.depth -= 1
        return values
