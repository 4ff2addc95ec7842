"""Parse and print numbers as Perl does.

The LETOR scripts and gdeval accept any text as a score: Perl reads the number at the start of a text and ignores the
rest, so `1.5abc` is 1.5 and a word is 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# The exit status of a script that dies is errno, which is ENOTTY after an ordinary file was opened.
DIED = 25

_NUMBER = re.compile(
    rb"\s*(?:([+-]?)(?:(inf|1\.#inf)|(nan|1\.#(?:ind|qnan|snan)))|([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?))", re.I
)


def parse_number(text: bytes) -> float:
    """Return the numeric value of a text.

    >>> [parse_number(t) for t in (b"1.5abc", b" -2e1", b"word", b"", b"0x10", b"1_000", b".5", b"-inf")]
    [1.5, -20.0, 0.0, 0.0, 0.0, 1.0, 0.5, -inf]
    """
    match = _NUMBER.match(text)
    if match is None:
        return 0.0
    if match[2]:
        return float("-inf" if match[1] == b"-" else "inf")
    return float("nan") if match[3] else float(match[4])


def out_of_range(text: bytes) -> bool:
    """Return whether the C library sets ERANGE for the number: too large or too small for a normal double.

    >>> [out_of_range(t) for t in (b"1e400", b"1e-400", b"1e-310", b"0.0", b"inf")]
    [True, True, True, False, False]
    """
    match = _NUMBER.match(text)
    if match is None or match[4] is None:
        return False
    value = abs(float(match[4]))
    if value == 0:
        return bool(re.search(rb"[1-9]", re.split(rb"[eE]", match[4])[0]))
    return value == float("inf") or value < 2.0**-1022


def parse_numbers(texts: Sequence[bytes]) -> NDArray[np.float64]:
    """Return the numeric values of texts."""
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return np.fromiter(map(parse_number, texts), np.float64, len(texts))
    if any(b"_" in text for text in texts):  # Python reads 1_000 as a thousand
        return np.fromiter(map(parse_number, texts), np.float64, len(texts))
    return values


def format_number(value: float) -> str:
    """Return a number as `print` writes it, with 15 significant digits.

    >>> format_number(1.0), format_number(0.1 + 0.2), format_number(1e-5)
    ('1', '0.3', '1e-05')
    """
    return f"{value:.15g}"


_DIRECTIVE = re.compile(r"%([-+ 0#]*\d*(?:\.\d+)?)([%csdiuoxXeEfgG])")


def sprintf(template: str, *values: float) -> str:
    """Format numbers as Perl's sprintf; directives without a value get 0, and invalid directives are unchanged.

    >>> sprintf("50%_%d,%.5f,%.5f", 0.25, 0.5), sprintf("100%%,%.5f,%.5f", 0.25, 0.5)
    ('50%_0,0.50000,0.00000', '100%,0.25000,0.50000')
    """
    remaining = list(values)

    def substitute(match: re.Match[str]) -> str:
        options, letter = match.groups()
        if letter == "%":
            return "%"
        value = remaining.pop(0) if remaining else 0.0
        if letter == "s":
            return f"%{options}s" % format_number(value)
        return f"%{options}{letter}" % (value if letter in "eEfgG" else int(value))

    return _DIRECTIVE.sub(substitute, template)
