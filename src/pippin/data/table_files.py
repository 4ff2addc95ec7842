"""Parquet and Arrow IPC as files: what they claim is checked before it is read, and those of ours are verified whole.

A table that Pippin writes has in its footer's metadata a text `pippin-xxh3-…`, whose last sixteen letters are the
checksum of everything before them and after them; pages of Parquet have checksums of their own besides, which other
programs can verify. Other readers see a line of metadata. Files of others are verified by their pages' checksums, if
they have any. A file may take no more memory than `limits` allows, whatever its header says.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.parquet_claims import read_claims
from pippin.errors import DataError
from pippin.kernels.checksum import xxh3
from pippin.limits import check_size
from pippin.manifest import checksum

KEY, SAYS = b"pippin.checksum", b"pippin.sealed"
MARK = b"pippin-xxh3-"
_BLANK = MARK + b"0" * 16
_ENDS = {"parquet": (4, b"PAR1"), "arrow": (6, b"ARROW1")}  # form → what the file ends with, after the footer's length
_VALUE_BYTES = 8  # what a value of a column takes once it is read


# Writing


def write_sealed(table: Any, out: IO[bytes], form: str) -> None:
    """Write an Arrow table as Parquet or Arrow IPC with its checksum."""
    marked = table.replace_schema_metadata({**(table.schema.metadata or {}), SAYS: b"1", KEY: _BLANK})
    if not (out.seekable() and out.readable()):  # packed, or standard output
        held = io.BytesIO()
        write_sealed(table, held, form)
        out.write(held.getbuffer())
        return
    begin = out.tell()
    if form == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(marked, out, compression="zstd", write_page_checksum=True)
    else:
        from pyarrow import ipc

        with ipc.new_file(out, marked.schema) as writer:
            writer.write_table(marked)
    out.seek(begin)
    content = np.frombuffer(out.read(), np.uint8)
    place = _seal_of(content, form)
    if place is None:
        raise DataError(f"the {form} file has no footer to seal")
    out.seek(begin + place)
    out.write(_checksum_around(content, place).encode())
    out.seek(0, io.SEEK_END)


# Reading


def verify(content: NDArray[np.uint8], form: str) -> bool:
    """Whether a file is sealed; one that is, and is not what was written, is a ValueError."""
    place = _seal_of(content, form)
    if place is None:
        footer = _footer(content, form)
        if footer is not None and SAYS in content[footer:].tobytes():
            raise ValueError("damaged: its checksum is gone")
        return False
    if content[place : place + 16].tobytes() != _checksum_around(content, place).encode():
        raise ValueError("damaged: it is not what was written, by its checksum")
    return True


def _footer(content: NDArray[np.uint8], form: str) -> int | None:
    """Where the footer of a file begins."""
    size, magic = _ENDS[form]
    end = content[-size - 4 :].tobytes()
    if len(end) != size + 4 or end[4:] != magic:
        return None
    return max(0, len(content) - size - 4 - int.from_bytes(end[:4], "little"))


def _seal_of(content: NDArray[np.uint8], form: str) -> int | None:
    """Where the sixteen letters of the checksum stand: the last in the footer."""
    footer = _footer(content, form)
    mark = -1 if footer is None else content[footer:].tobytes().rfind(MARK)
    return None if footer is None or mark < 0 else footer + mark + len(MARK)


def _checksum_around(content: NDArray[np.uint8], place: int) -> str:
    return checksum(struct.pack("<QQ", xxh3(content[:place]), xxh3(content[place + 16 :])))


def read_parquet(content: NDArray[np.uint8], file: str) -> Any:
    """The table of a Parquet file; pages that have checksums are verified, and texts that repeat are kept once."""
    import pyarrow
    from pyarrow import parquet

    verify(content, "parquet")
    claims = read_claims(content, file)
    claimed = max(claims.plain, claims.rows * claims.columns * _VALUE_BYTES)
    check_size(claimed, len(content), "the columns take", file)
    source = pyarrow.BufferReader(pyarrow.py_buffer(content))
    opened = parquet.ParquetFile(source, page_checksum_verification=True)
    names = [name for name in opened.schema_arrow.names if claims.repeated.get(name, 0) > _ALLOWED_TEXT]
    source.seek(0)
    table = parquet.read_table(source, page_checksum_verification=True, read_dictionary=names)
    for name in names:
        check_size(_decoded(table.column(name)), len(content), f"the column {name!r} takes", file)
    return table


_ALLOWED_TEXT = 1 << 26  # bytes that a column of repeated texts may take before it is looked at closely


def _decoded(column: Any) -> int:
    """The bytes of a column's texts once each stands for itself."""
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
    """The table of an Arrow IPC file or stream."""
    import pyarrow
    from pyarrow import ipc

    buffer = pyarrow.py_buffer(content)
    # The file form begins with this word, and is the stream form between it and the footer.
    is_file = content[:6].tobytes() == b"ARROW1"
    if is_file:
        verify(content, "arrow")
    check_size(_unpacked_size(buffer[8:] if is_file else buffer), len(content), "its buffers unpack to", file)
    table = (ipc.open_file if is_file else ipc.open_stream)(buffer).read_all()
    check_size(table.num_rows * table.num_columns * _VALUE_BYTES, len(content), "the columns take", file)
    return table


def _unpacked_size(stream: Any) -> int:
    """The bytes of all packed buffers of a stream, as its messages claim them."""
    from pyarrow import ipc

    total = 0
    for message in ipc.MessageReader.open_stream(stream):
        if message.body is not None and message.type in ("record batch", "dictionary"):
            total += sum(_claims(memoryview(message.metadata), memoryview(message.body)))
    return total


def _claims(metadata: memoryview, body: memoryview) -> Iterator[int]:
    """What each buffer of a message unpacks to; nothing where they are not packed.

    Reads the flatbuffer of Arrow's Message.fbs: the header is a RecordBatch, or a DictionaryBatch that holds one, with
    its buffers (offset and length) as field 2 and their packing as field 3.
    """
    try:
        message = _table_at(metadata, 0)
        header = _table_at(metadata, message[2])
        if metadata[message[1]] == 2:  # a dictionary batch: its data
            header = _table_at(metadata, header[1])
        if 3 not in header:
            return
        vector = header[2] + struct.unpack_from("<I", metadata, header[2])[0]
        (count,) = struct.unpack_from("<I", metadata, vector)
        for i in range(count):
            offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * i)
            if length >= 8:
                yield max(0, struct.unpack_from("<q", body, offset)[0])
    except (struct.error, KeyError, IndexError, ValueError):
        raise ValueError("a message of its stream cannot be read") from None


def _table_at(data: memoryview, reference: int) -> dict[int, int]:
    """The fields of the flatbuffer table that an offset at `reference` leads to: number → place."""
    table = reference + struct.unpack_from("<I", data, reference)[0]
    names = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, names)[0]
    places = struct.unpack_from(f"<{(size - 4) // 2}H", data, names + 4)
    return {number: table + place for number, place in enumerate(places) if place}
