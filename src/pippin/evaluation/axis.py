"""One axis of a convention: which question does it decide, and which answers have a meaning?

An `Axis` is declared in the field of `Convention` that holds it. The command line's options, the notation of measures,
the checks of values, `pippin tools`, the page and reconcile all read the declaration; nothing else lists axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

import numpy as np

from pippin.errors import ConventionError
from pippin.frozen import Frozen

# Where an axis is settled: by `rank`; by the kinds of measure that name it; by `evaluate` for each value, and for the
# mean; when a number is printed. Axes of `rank` and of values bear on every measure.
Stage = Literal["rank", "measure", "value", "mean", "print"]


class Form(Protocol):
    """Values of an axis that are too many to be named."""

    @property
    def placeholder(self) -> str:
        """What stands for such a value in the help."""

    @property
    def words(self) -> str:
        """What such a value is, in a sentence."""

    def read(self, text: str) -> Any:
        """The value that was typed; ValueError where it is none."""

    def check(self, value: Any) -> Any:
        """The value as conventions hold it; TypeError or ValueError where it is none."""

    def text(self, value: Any) -> str:
        """What is typed for the value."""


class Whole(Frozen):
    """Whole numbers from `least` on."""

    least: int = 0
    placeholder: str = "LABEL"

    @property
    def words(self) -> str:
        """What such a value is, in a sentence."""
        return f"a whole number, at least {self.least}"

    def read(self, text: str) -> int:
        """The number that was typed."""
        return int(text)

    def check(self, value: Any) -> int:
        """The number as an int."""
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < self.least:
            raise ValueError
        return int(value)

    def text(self, value: Any) -> str:
        """The digits of the number."""
        return str(value)


class UnitNumber(Frozen):
    """Numbers from 0 to 1."""

    placeholder: str = "0..1"
    words: str = "a number from 0 to 1"

    def read(self, text: str) -> float:
        """The number that was typed."""
        return float(text)

    def check(self, value: Any) -> float:
        """The number as a float."""
        if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= value <= 1:
            raise ValueError
        return float(value)

    def text(self, value: Any) -> str:
        """The shortest text of the number."""
        return number_text(value)


class GainTable(Frozen):
    """A gain for each label from 0 on."""

    placeholder: str = "TABLE"
    words: str = "a table like 0,1,3,7 that starts with 0 and has no negative gain"

    def read(self, text: str) -> tuple[float, ...]:
        """The table that was typed."""
        return tuple(float(gain) for gain in text.split(","))

    def check(self, value: Any) -> tuple[float, ...]:
        """A table of any sequence as a tuple of floats, so that conventions compare and hash by value."""
        table = tuple(float(gain) for gain in value)
        if not table or table[0] != 0 or not all(np.isfinite(gain) and gain >= 0 for gain in table):
            raise ValueError
        return table

    def text(self, value: Any) -> str:
        """The gains with commas between them."""
        return ",".join(map(number_text, value))


class Axis(Frozen):
    """What one axis is called, what it decides, and the values it can have."""

    words: str  # what it is called in a sentence
    decides: str
    named: Mapping[str, Any]  # what is typed → the value
    free: Form | None = None  # values besides the named ones
    stage: Stage = "measure"
    heading: str = ""  # of its column where tools stand side by side; empty: it has none there
    arguments: tuple[str, ...] = ()  # what it is called inside a measure's brackets, besides its name
    name: str = ""  # of the field that declares it
    called: str = ""  # its flag, where its name is that of another one already

    @property
    def everywhere(self) -> bool:
        """Whether it bears on every measure, and not only on the kinds that name it."""
        return self.stage in ("rank", "value")

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return f"--{(self.called or self.name).replace('_', '-')}"

    @property
    def placeholder(self) -> str:
        """What the help shows for a value: `label|exp2|TABLE`."""
        return "|".join([*self.named, *([self.free.placeholder] if self.free else [])])

    def parse(self, text: str) -> Any:
        """The value from what a user typed."""
        if text in self.named:
            return self.named[text]
        if self.free is not None:
            try:
                return self.free.check(self.free.read(text))
            except (TypeError, ValueError):
                pass
        raise ConventionError(f"{self.name} is {self._choices(self.named)}, not {text!r}")

    def check(self, value: Any) -> Any:
        """The value as conventions hold it, or one sentence that says what the axis can be."""
        for known in self.named.values():
            if isinstance(value, type(known)) and value == known:
                return known
        if self.free is not None:
            try:
                return self.free.check(value)
            except (TypeError, ValueError):
                pass
        # A program passes None or False where a person types a word.
        named = [text if known == text else f"{known} ({text})" for text, known in self.named.items()]
        raise ConventionError(f"{self.name} is {self._choices(named)}, not {value!r}")

    def text(self, value: Any) -> str:
        """What a user types for a value: the other direction of `parse`."""
        for text, known in self.named.items():
            if isinstance(value, type(known)) and value == known:
                return text
        return self.free.text(value) if self.free is not None else str(value)

    def _choices(self, named: Iterable[str]) -> str:
        listed = ", ".join(named)
        if self.free is None:
            return f"one of {listed}"
        return f"{listed} or {self.free.words}" if listed else self.free.words


def axis(
    default: Any,
    words: str,
    decides: str,
    named: Iterable[str] | Mapping[str, Any] = (),
    free: Form | None = None,
    *,
    stage: Stage = "measure",
    heading: str = "",
    arguments: tuple[str, ...] = (),
    called: str = "",
) -> Any:
    """A field of a convention that declares its axis; named values are their own text, or a mapping from it."""
    typed = named if isinstance(named, Mapping) else {text: text for text in named}
    declared = Axis(words, decides, typed, free, stage, heading, arguments, called=called)
    return field(default=default, metadata={"axis": declared})


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> number_text(0.5), number_text(2.0), number_text(0.1 + 0.2)
    ('0.5', '2', '0.30000000000000004')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))
