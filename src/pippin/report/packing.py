"""How do many numbers travel in a page? As little-endian bytes, deflated, in base 64; texts as JSON in the same."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ABSENT = 65_535  # a value per query that is not there, and a table that there is none of


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """An array as text.

    >>> pack(np.zeros(3, np.uint16))["type"], pack(np.zeros((2, 3)))["shape"]
    ('uint16', [2, 3])
    """
    plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return {"type": array.dtype.name, "shape": list(array.shape), "data": _deflated(plain.tobytes())}


def pack_texts(record: Any) -> dict[str, Any]:
    """Whatever JSON can hold, as text.

    >>> pack_texts(["a", None])["type"]
    'json'
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return {"type": "json", "data": _deflated(text.encode())}


def _deflated(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def distinct(tables: Sequence[NDArray[Any] | None]) -> tuple[list[NDArray[Any]], NDArray[np.uint16]]:
    """The tables that differ, and which of them each is; ABSENT where there is none.

    >>> found, which = distinct([np.ones(2), None, np.zeros(2), np.ones(2)])
    >>> len(found), which.tolist()
    (2, [0, 65535, 1, 0])
    """
    known: dict[bytes, int] = {}
    unlike: list[NDArray[Any]] = []
    which = np.full(len(tables), ABSENT, np.uint16)
    for i, table in enumerate(tables):
        if table is None:
            continue
        at = known.setdefault(table.tobytes(), len(unlike))
        if at == len(unlike):
            unlike.append(table)
        which[i] = at
    return unlike, which


def ten_thousandths(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Values as four printed decimals hold them, in whole numbers; ABSENT where there is none.

    >>> ten_thousandths(np.array([0.5, 0.12345, np.nan, 1.0])).tolist()
    [5000, 1235, 65535, 10000]
    """
    there = ~np.isnan(values)
    scaled = np.where(there, values, 0.0) * 1e4
    printed = np.rint(scaled)
    # So near the middle of two, what the product rounds away decides: as it is printed, then.
    for i in np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6):
        printed[i] = int(f"{values[i]:.4f}".replace(".", ""))
    if not ((printed >= 0) & (printed < ABSENT)).all():
        raise OverflowError("ten-thousandths from 0 to 6.5534 can be packed")
    return np.where(there, printed, ABSENT).astype(np.uint16)


def significant_digits(values: NDArray[np.float64], digits: int = 3) -> NDArray[np.float32]:
    """Values with so many digits, which is what is printed and packs better.

    >>> significant_digits(np.array([0.123456, 0.0, 1e-9])).round(12).tolist()[1]
    0.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        power = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values))))
        rounded = np.round(values * power) / power
    return np.where(np.isfinite(rounded), rounded, values).astype(np.float32)
