"""How is a record written in Thrift's compact protocol? The headers of a Parquet file are.

A record is a dict from a field's number to its value: int for both kinds of integers (`Long` is the longer one), bytes,
list, dict. https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any

_YES, _NO, _BYTE, _SHORT, _INT, _LONG, _BYTES, _LIST, _RECORD = 1, 2, 3, 4, 5, 6, 8, 9, 12
_DEEPEST = 12


class Long(int):
    """An integer of 64 bits."""


def write(record: dict[int, Any]) -> bytes:
    """A record as bytes.

    >>> read(write({1: 7, 3: [b"a", b"b"], 20: {1: Long(-1)}}))
    ({1: 7, 3: [b'a', b'b'], 20: {1: -1}}, 14)
    """
    out, last = bytearray(), 0
    for number, value in record.items():
        kind, ahead = _kind(value), number - last
        out += bytes([ahead << 4 | kind]) if ahead < 16 else bytes([kind]) + varint(_zigzag(number))
        out += _value(value)
        last = number
    return bytes(out) + b"\0"


def _kind(value: Any) -> int:
    if isinstance(value, int):
        return _LONG if isinstance(value, Long) else _INT
    return _BYTES if isinstance(value, bytes) else _LIST if isinstance(value, list) else _RECORD


def _value(value: Any) -> bytes:
    if isinstance(value, int):
        return varint(_zigzag(value))
    if isinstance(value, bytes):
        return varint(len(value)) + value
    if isinstance(value, dict):
        return write(value)
    head = bytes([len(value) << 4 | _kind(value[0])]) if len(value) < 15 else bytes([0xF0 | _kind(value[0])])
    return head + (b"" if len(value) < 15 else varint(len(value))) + b"".join(map(_value, value))


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def varint(number: int) -> bytes:
    """A number of as many bytes as it needs, seven bits in each."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def read(data: bytes, at: int = 0, deep: int = 0) -> tuple[dict[int, Any], int]:
    """The record that begins at a place, and where it ends; ValueError or IndexError where there is none."""
    if deep > _DEEPEST:
        raise ValueError("records within records without end")
    record: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            zigzag, at = read_varint(data, at)
            number = zigzag >> 1 ^ -(zigzag & 1)
        record[number], at = _read_value(data, at, head & 15, deep)
    return record, at + 1


def _read_value(data: bytes, at: int, kind: int, deep: int) -> tuple[Any, int]:
    if kind in (_YES, _NO):
        return kind == _YES, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind in (_SHORT, _INT, _LONG):
        zigzag, at = read_varint(data, at)
        return zigzag >> 1 ^ -(zigzag & 1), at
    if kind == _BYTES:
        size, at = read_varint(data, at)
        return data[at : at + size], at + size
    if kind == _RECORD:
        return read(data, at, deep + 1)
    if kind != _LIST:
        raise ValueError(f"a field of kind {kind}")
    head = data[at]
    size, at = (head >> 4, at + 1) if head >> 4 < 15 else read_varint(data, at + 1)
    values = []
    for _ in range(size):
        value, at = _read_value(data, at, head & 15, deep)
        values.append(value)
    return values, at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number without end")
