"""What Perl makes of a text where a number is wanted, how it prints a number, and how it ends.

The LETOR scripts and gdeval take whatever stands in a score column: Perl reads the number at the start of a text and
ignores the rest, so that a word is 0 and `1.5abc` is 1.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# A script that dies ends with errno, which is ENOTTY as soon as it has opened an ordinary file.
DIED = 25

_NUMBER = re.compile(
    rb"\s*(?:([+-]?)(?:(inf|1\.#inf)|(nan|1\.#(?:ind|qnan|snan)))|([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?))", re.I
)


def number(text: bytes) -> float:
    """The numeric value of a text.

    >>> [number(t) for t in (b"1.5abc", b" -2e1", b"word", b"", b"0x10", b"1_000", b".5", b"-inf")]
    [1.5, -20.0, 0.0, 0.0, 0.0, 1.0, 0.5, -inf]
    """
    found = _NUMBER.match(text)
    if found is None:
        return 0.0
    if found[2]:
        return float("-inf" if found[1] == b"-" else "inf")
    return float("nan") if found[3] else float(found[4])


def numbers(texts: Sequence[bytes]) -> NDArray[np.float64]:
    """The numeric values of many texts."""
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return np.fromiter(map(number, texts), np.float64, len(texts))
    if any(b"_" in text for text in texts):  # Python reads 1_000 as a thousand
        return np.fromiter(map(number, texts), np.float64, len(texts))
    return values


def show(value: float) -> str:
    """A number as `print` shows it, with 15 significant digits.

    >>> show(1.0), show(0.1 + 0.2), show(1e-5)
    ('1', '0.3', '1e-05')
    """
    return f"{value:.15g}"
