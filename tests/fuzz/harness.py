"""Fuzzing harness: reading a damaged file gives data or a one-sentence error.

A format needs two small functions: one that gives a good file's bytes, and one that reads bytes and uses what it read.
`damaged` breaks bytes at random, `altered` breaks a JSON value where it hurts, and `survive` holds the reader to the
rule: no other exception than a PippinError, no crash, no hang. PIPPIN_FUZZ says how many mutations (default 10,000).
"""

from __future__ import annotations

import faulthandler
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

from pippin.errors import PippinError

COUNT = int(os.environ.get("PIPPIN_FUZZ", "10000"))
SECONDS = 20  # of the processor that one reading may take; by the clock, of a busy machine, ten times as long
# What others put where a number, a text or a list should be.
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 10**9, 2 * 10**9, 2**31 - 1, -(2**31), 2**63,
    10**12, 10**400, "", "0", "1", "nan", "inf", "\x00", "\x1b[2J", "é", [], [1], [[]], {}, {"a": 1},
)  # fmt: skip


def damage(content: bytes, random: Random) -> bytes:
    """Bytes with one to three of: a bit turned, a byte replaced, a stretch cut, doubled or zeroed, the end cut off."""
    broken = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if not broken:
            break
        at = random.randrange(len(broken))
        length = min(len(broken) - at, random.choice((1, 4, 8, 64, 1000)))
        kind = random.randrange(7)
        if kind <= 1:
            broken[at] ^= 1 << random.randrange(8)
        elif kind == 2:
            broken[at] = random.randrange(256)
        elif kind == 3:
            del broken[at : at + length]
        elif kind == 4:
            broken[at:at] = broken[at : at + length]
        elif kind == 5:
            broken[at : at + length] = bytes(length)
        else:
            del broken[at:]
    return bytes(broken)


def alter(value: Any, random: Random) -> Any:
    """Change one place of a JSON value: replace, remove, duplicate or reorder."""
    if random.random() < 0.07 or not value or not isinstance(value, dict | list | str):
        return random.choice(ODD)
    if isinstance(value, str):
        return altered_text(value, random)
    return altered_list(value, random) if isinstance(value, list) else altered_mapping(value, random)


def altered_mapping(value: dict[str, Any], random: Random) -> dict[str, Any]:
    """Return a mapping with a key removed, added or moved, or with one altered value."""
    key, kind = random.choice(list(value)), random.random()
    if kind < 0.06:
        return {k: v for k, v in value.items() if k != key}
    if kind < 0.1:
        return dict(reversed(value.items()))
    if kind < 0.14:
        return {**value, random.choice((key + "x", "", "é", "1")): value[key]}
    return {**value, key: alter(value[key], random)}


def altered_list(value: list[Any], random: Random) -> list[Any]:
    """Return a list with an item removed, duplicated or altered, or a truncated list."""
    at, kind = random.randrange(len(value)), random.random()
    if kind < 0.1:
        return value[:at] + value[at + 1 :]
    if kind < 0.2:
        return value[: at + 1] + value[at:]
    return value[:at] if kind < 0.25 else [*value[:at], alter(value[at], random), *value[at + 1 :]]


def altered_text(text: str, random: Random) -> str:
    """Return a text with a number replaced, a character changed, or words removed or duplicated."""
    words = text.split(" ")
    at = random.randrange(len(words))
    kind = random.randrange(5)
    if kind == 0:
        del words[at]
    elif kind == 1:
        words[at:at] = [words[at]]
    elif kind == 2 and text:
        place = random.randrange(len(text))
        return text[:place] + random.choice("0123456789-+.e= \n\x00é") + text[place + 1 :]
    else:
        key, equals, _ = words[at].rpartition("=")
        words[at] = key + equals + random.choice(("-1", "0", "1", "1000000000", "2000000000", "1e999", "nan", "", "-2"))
    return " ".join(words)


@contextmanager
def time_limit(seconds: int = SECONDS) -> Iterator[None]:
    """Fail if the block takes longer than `seconds`, computing or waiting."""

    def late(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still reading after {seconds} seconds")

    before = {number: signal.signal(number, late) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def survive(mutants: Iterable[Any], read: Callable[[Any], object]) -> dict[str, int]:
    """Read every mutant; how many were read, and how many refused with a sentence. Anything else fails."""
    faulthandler.enable()
    counts = {"read": 0, "refused": 0}
    for number, mutant in enumerate(mutants):
        try:
            with warnings.catch_warnings(), time_limit():
                warnings.simplefilter("ignore")
                read(mutant)
            counts["read"] += 1
        except PippinError as error:
            sentence = str(error)
            if not sentence or "\n" in sentence:
                raise AssertionError(f"mutant {number} gives no sentence but {sentence!r}: {mutant!r:.2000}") from error
            counts["refused"] += 1
        except Exception as error:
            raise AssertionError(f"mutant {number} gives {error!r}: {mutant!r:.2000}") from error
    return counts


def byte_mutants(content: bytes, count: int = COUNT, seed: int = 0) -> Iterator[bytes]:
    """Yield damaged versions of a file."""
    random = Random(seed)
    return (damage(content, random) for _ in range(count))
