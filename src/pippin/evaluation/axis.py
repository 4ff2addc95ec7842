"""Axes of a convention: name, description and valid values.

An `Axis` is declared in the field of `Convention` that stores its value. Command-line options, the notation of
measures, validation, `pippin tools`, the reference pages and reconcile read the declaration; nothing else lists axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal

import numpy as np

from pippin.errors import ConventionError
from pippin.records import FrozenRecord

# Where an axis is applied: by `rank`, by the measures that name it, by `evaluate` to each value or to the mean, or when
# a number is printed. Axes of `rank` and of values affect every measure.
Stage = Literal["rank", "measure", "value", "mean", "print"]


class ValueType(FrozenRecord):
    """A type of values that an axis accepts besides its named values."""

    placeholder: str = ""  # of a value in help texts
    description: str = ""

    def parse(self, text: str) -> Any:
        """Parse a value; raise ValueError if `text` is invalid."""
        return float(text)

    def check(self, value: Any) -> Any:
        """Return the value as conventions store it; raise TypeError or ValueError if it is invalid."""
        raise NotImplementedError

    def text(self, value: Any) -> str:
        """Return the text that parses to the value."""
        return number_text(value)


class Integer(ValueType):
    """Integers from `minimum` on."""

    minimum: int = 0
    placeholder: str = "LABEL"

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", f"a whole number, at least {self.minimum}")

    def parse(self, text: str) -> int:
        """Parse an integer."""
        return int(text)

    def check(self, value: Any) -> int:
        """Return the value as an int."""
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < self.minimum:
            raise ValueError
        return int(value)


class UnitNumber(ValueType):
    """Numbers from 0 to 1."""

    placeholder: str = "0..1"
    description: str = "a number from 0 to 1"

    def check(self, value: Any) -> float:
        """Return the value as a float."""
        if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= value <= 1:
            raise ValueError
        return float(value)


class GainTable(ValueType):
    """A gain for each label from 0 on."""

    placeholder: str = "TABLE"
    description: str = "a table like 0,1,3,7 that starts with 0 and has only gains of 0 or more"

    def parse(self, text: str) -> tuple[float, ...]:
        """Parse gains separated by commas."""
        return tuple(float(gain) for gain in text.split(","))

    def check(self, value: Any) -> tuple[float, ...]:
        """Return the gains as a tuple of floats, so that conventions compare and hash by value."""
        table = tuple(float(gain) for gain in value)
        if not table or table[0] != 0 or not all(np.isfinite(gain) and gain >= 0 for gain in table):
            raise ValueError
        return table

    def text(self, value: Any) -> str:
        """Return the gains separated by commas."""
        return ",".join(map(number_text, value))


class Axis(FrozenRecord):
    """The name, description and values of one axis."""

    label: str  # in sentences
    description: str
    values: Mapping[str, Any]  # text that a user types → value
    value_type: ValueType | None = None  # values besides the named ones
    stage: Stage = "measure"
    heading: str = ""  # column heading where tools are compared; empty: no column
    arguments: tuple[str, ...] = ()  # names inside a measure's brackets, besides the axis's own
    name: str = ""  # of the field that declares it

    @property
    def affects_all_measures(self) -> bool:
        """Whether the axis affects every measure, not only the measures that name it."""
        return self.stage in ("rank", "value")

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def placeholder(self) -> str:
        """The placeholder of a value in help texts, such as ``label|exp2|TABLE``."""
        return "|".join([*self.values, *([self.value_type.placeholder] if self.value_type else [])])

    def parse(self, text: str) -> Any:
        """Return the value that `text` stands for."""
        if text in self.values:
            return self.values[text]
        if self.value_type is not None:
            try:
                return self.value_type.check(self.value_type.parse(text))
            except (TypeError, ValueError):
                pass
        raise ConventionError(f"{self.name} must be {self._choices(self.values)}, got {text!r}")

    def check(self, value: Any) -> Any:
        """Return the value as conventions store it; raise ConventionError if it is invalid."""
        for valid in self.values.values():
            if isinstance(value, type(valid)) and value == valid:
                return valid
        if self.value_type is not None:
            try:
                return self.value_type.check(value)
            except (TypeError, ValueError):
                pass
        # A program passes None or False where a person types a word.
        choices = [text if valid == text else f"{valid} ({text})" for text, valid in self.values.items()]
        raise ConventionError(f"{self.name} must be {self._choices(choices)}, got {value!r}")

    def text(self, value: Any) -> str:
        """Return the text that `parse` turns into the value."""
        for text, valid in self.values.items():
            if isinstance(value, type(valid)) and value == valid:
                return text
        return self.value_type.text(value) if self.value_type is not None else str(value)

    def _choices(self, texts: Iterable[str]) -> str:
        choices = ", ".join(texts)
        if self.value_type is None:
            return f"one of {choices}"
        return f"{choices} or {self.value_type.description}" if choices else self.value_type.description


def axis(
    default: Any,
    label: str,
    description: str,
    values: Iterable[str] | Mapping[str, Any] = (),
    value_type: ValueType | None = None,
    *,
    stage: Stage = "measure",
    heading: str = "",
    arguments: tuple[str, ...] = (),
) -> Any:
    """Declare an axis as a field of a convention; `values` lists named values or maps text to value."""
    by_text = values if isinstance(values, Mapping) else {text: text for text in values}
    declared = Axis(label, description, by_text, value_type, stage, heading, arguments)
    return field(default=default, metadata={"axis": declared})


def number_text(value: float) -> str:
    """Return the shortest text that parses to the same number.

    >>> number_text(0.5), number_text(2.0), number_text(0.1 + 0.2)
    ('0.5', '2', '0.30000000000000004')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))
