"""How Java reads and prints a number, and where its lines end: what RankLib's input and output depend on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, cast

_DOUBLE = re.compile(
    rb"([+-]?)(?:(NaN)|(Infinity)|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?"
    rb"|(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?)"
)
_INTEGER = re.compile(r"[+-]?\d+")
_SPACE = bytes(range(33))  # what String.trim takes away


def parse_double(text: bytes) -> float:
    """`Double.parseDouble`: NaN and Infinity in this spelling only, a trailing f or d allowed.

    >>> parse_double(b"1.5e1"), parse_double(b"2f"), parse_double(b"-Infinity"), parse_double(b"0x1p3")
    (15.0, 2.0, -inf, 8.0)
    """
    match = _DOUBLE.fullmatch(text)
    if match is None:
        raise ValueError(f'For input string: "{text.decode("utf-8", "replace")}"')
    sign = -1.0 if match[1] == b"-" else 1.0
    if match[2]:
        return math.nan
    if match[5]:
        try:
            return sign * float.fromhex(match[5].decode())
        except OverflowError:
            return sign * math.inf
    return sign * (math.inf if match[3] else float(match[4]))


def as_integer(value: float) -> int:
    """`(int) value`: cut off, NaN is 0, and what is too large is the largest.

    >>> as_integer(-1.9), as_integer(math.nan), as_integer(math.inf)
    (-1, 0, 2147483647)
    """
    if math.isnan(value):
        return 0
    return int(min(max(value, -(2.0**31)), 2.0**31 - 1))


def parse_integer(text: str) -> int:
    """`Integer.parseInt`: 32 bits."""
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError(f'For input string: "{text}"')
    return int(text)


def show(value: float) -> str:
    """`Double.toString`: the shortest digits, with an exponent below 0.001 and from ten million on.

    >>> [show(v) for v in (0.397, 1.0, 2e-4, 1e7, 12345.678, -0.0)]
    ['0.397', '1.0', '2.0E-4', '1.0E7', '12345.678', '-0.0']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(digits) - 1}"


def round_half_up(value: float, digits: int = 4) -> float:
    """floor(v * 10^digits + 0.5) / 10^digits, as RankLib rounds what it prints.

    >>> round_half_up(0.03125), round_half_up(0.39696)
    (0.0313, 0.397)
    """
    if not math.isfinite(value):
        return value
    scale = 10.0**digits
    return math.floor(value * scale + 0.5) / scale


def trimmed_lines(path: str) -> Iterator[bytes]:
    """The lines of a file (a name in `.gz` is unpacked) without the white space around them; a \\r ends a line too."""
    with _open(path) as file:
        for line in file:
            text = line.strip(_SPACE)
            if b"\r" in text:
                for piece in text.split(b"\r"):
                    yield piece.strip(_SPACE)
            else:
                yield text


def _open(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        import gzip

        return cast(IO[bytes], gzip.open(path, "rb"))
    return Path(path).open("rb")
