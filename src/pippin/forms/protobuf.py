"""Protocol buffers as bytes: fields by number, written and read without a schema compiler.

As much as ONNX needs: whole numbers, texts, messages and packed numbers. Reading trusts no length that a file claims.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Message = dict[
    int, list[Any]
]  # the values of each field: int, or bytes (of a text, a message, packed or fixed numbers)


def varint(value: int) -> bytes:
    """A whole number; a negative one takes ten bytes.

    >>> varint(300).hex()
    'ac02'
    """
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes((*found, value))


def whole(number: int, value: int) -> bytes:
    """A field with a whole number."""
    return varint(number << 3 | VARINT) + varint(value)


def single(number: int, value: float) -> bytes:
    """A field with a float32."""
    return varint(number << 3 | FIXED32) + struct.pack("<f", value)


def sized(number: int, content: bytes | str) -> bytes:
    """A field with a text or a message."""
    packed = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return varint(number << 3 | BYTES) + varint(len(packed)) + packed


def packed(number: int, values: Iterable[int]) -> bytes:
    """A field with whole numbers."""
    return sized(number, b"".join(map(varint, values)))


def parse(content: bytes) -> Message:
    """The fields of a message; ValueError where it is none."""
    found: Message = {}
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        value: int | bytes
        if kind == VARINT:
            value, at = _varint(content, at)
        elif kind in (BYTES, FIXED32, FIXED64):
            length = {FIXED32: 4, FIXED64: 8}.get(kind, 0)
            if kind == BYTES:
                length, at = _varint(content, at)
            if length > len(content) - at:
                raise ValueError("a field is longer than the file")
            value, at = content[at : at + length], at + length
        else:
            raise ValueError(f"a field is of the kind {kind}")
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            raise ValueError("the file ends in the middle of a number")
        value |= (content[at] & 127) << shift
        at += 1
        if content[at - 1] < 128:
            return value & (1 << 64) - 1, at
    raise ValueError("a number has more than ten bytes")


def signed(value: int) -> int:
    """A whole number of 64 bits with its sign."""
    return value - (1 << 64) if value >> 63 else value


def wholes(values: Iterable[int | bytes]) -> list[int]:
    """The whole numbers of a field, packed or one by one."""
    found = []
    for value in values:
        if isinstance(value, int):
            found.append(signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            found.append(signed(number))
    return found
