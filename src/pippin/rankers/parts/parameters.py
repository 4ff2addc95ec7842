"""Parameters of a ranker, declared once: name, type, default and meaning in one line of its class.

    rounds: int = parameter(1000, "trees at most")

From these lines come the constructor, what `help` and `pippin rankers NAME` say, and the check of values before a
training. A class has the parameters of the classes it is made from too; declared again, one is replaced.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar, cast

from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import Convention

T = TypeVar("T")


@dataclass(frozen=True)
class Parameter:
    """What is known of a parameter."""

    default: Any
    meaning: str
    kind: str = ""  # its type, as it is written in the class


def parameter(default: T, meaning: str) -> T:
    """Declare a parameter; to a type checker it is its default."""
    return cast(T, Parameter(default, meaning))


def declared(cls: type) -> dict[str, Parameter]:
    """The parameters that the body of this class declares; each is its default from now on."""
    kinds, parameters = inspect.get_annotations(cls), {}
    for name, value in list(vars(cls).items()):
        if isinstance(value, Parameter):
            parameters[name] = Parameter(value.default, value.meaning, str(kinds[name]))
            setattr(cls, name, value.default)
    return parameters


def constructor(name: str, parameters: Mapping[str, Parameter]) -> Callable[..., None]:
    """`__init__` of a class with these parameters, all of them by name."""

    def init(self: Any, **given: Any) -> None:
        for key in given:
            if key not in parameters:
                raise TypeError(str(UnknownName(f"parameter of {name}", key, parameters)))
        for key, one in parameters.items():
            setattr(self, key, given.get(key, one.default))

    only = inspect.Parameter.KEYWORD_ONLY
    first = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    taken = [inspect.Parameter(key, only, default=one.default) for key, one in parameters.items()]
    init.__signature__ = inspect.Signature([*first, *taken])  # type: ignore[attr-defined]
    init.__name__, init.__qualname__ = "__init__", f"{name}.__init__"
    return init


def documented(words: str, parameters: Mapping[str, Parameter]) -> str:
    """A class's own words with its parameters after the first line: before the formulas."""
    first, _, rest = inspect.cleandoc(words).partition("\n")
    lines = [line for key, one in parameters.items() for line in (f"{key} : {one.kind}, default {one.default!r}",
                                                                  f"    {one.meaning}")]  # fmt: skip
    return "\n".join([first, "", "Parameters", "----------", *lines, rest]).rstrip() + "\n"


def check_kinds(name: str, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise unless every value is of its parameter's type."""
    for key, one in parameters.items():
        kinds = one.kind.split(" | ")
        if all(kind in _KINDS for kind in kinds) and not any(_KINDS[kind][0](values[key]) for kind in kinds):
            wanted = " or ".join(_KINDS[kind][1] for kind in kinds)
            raise DataError(f"{name}: {key} is {wanted}, not {values[key]!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


# A type as it is written → whether a value is of it, and how it is said.
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "str": (lambda value: isinstance(value, str), "a name"),
    "None": (lambda value: value is None, "None"),
    "Convention": (lambda value: isinstance(value, Convention), "a Convention"),
    "tuple[float, ...]": (
        lambda value: isinstance(value, tuple | list) and all(map(_is_number, value)), "a list of numbers",
    ),
}  # fmt: skip


def one_of(model: Any, **choices: Sequence[str]) -> None:
    """Raise unless each of these parameters is one of its choices."""
    for name, known in choices.items():
        if getattr(model, name) not in known:
            raise DataError(f"{model.name}: {name} is {' or '.join(known)}, not {getattr(model, name)!r}")


def at_least(model: Any, **least: float) -> None:
    """Raise where one of these parameters is less than that; None is no number and passes."""
    for name, lowest in least.items():
        value = getattr(model, name)
        if value is not None and not lowest <= value < math.inf:
            raise DataError(f"{model.name}: {name} is at least {lowest}, not {value}")


def above_zero(model: Any, *names: str) -> None:
    """Raise unless these parameters are finite numbers above 0."""
    for name in names:
        if not 0 < getattr(model, name) < math.inf:
            raise DataError(f"{model.name}: {name} is a number above 0, not {getattr(model, name)}")
