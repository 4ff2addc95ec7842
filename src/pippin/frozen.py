"""Classes whose instances never change: frozen dataclasses that share their methods.

`dataclass(frozen=True)` writes six functions for every class and has Python compile them, half a millisecond a class:
a third of the start of `pippin eval`. All but `__init__` are the same for every class, and are written here once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """What a subclass annotates are its fields, as in a dataclass: set when one is made, and never again.

    Two are equal where all they hold is equal; those of a class with `eq=False`, which hold arrays, only with
    themselves.

    >>> class Place(Frozen):
    ...     "Where a document stands."
    ...     query: str
    ...     rank: int = 1
    >>> Place("q1"), Place("q1") == Place("q1", 1), Place("q1", 2) in {Place("q1", 1)}
    (Place(query='q1', rank=1), True, False)
    >>> Place("q1").rank = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'rank'
    """

    _content: ClassVar[Callable[[Any], Any]]  # what is compared of one

    def __init_subclass__(cls, *, eq: bool = True) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)
        if eq:
            compared = [one.name for one in fields(cls) if one.compare]  # type: ignore[arg-type]
            cls._content = attrgetter("__class__", *compared)
        else:
            cls._content = id

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name not in self.__dataclass_fields__:  # type: ignore[attr-defined]
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        content = type(self)._content
        return bool(content(self) == content(other))

    def __hash__(self) -> int:
        return hash(type(self)._content(self))

    def __repr__(self) -> str:
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"


class Chosen(Frozen):
    """One of many fields, most of which are left as they are: it shows what is not.

    >>> class Rule(Chosen):
    ...     "How to count."
    ...     gain: str = "exp2"
    ...     empty: float = 0.0
    >>> Rule(), Rule(empty=1.0)
    (Rule(), Rule(empty=1.0))
    """

    def __repr__(self) -> str:
        values = ((one, getattr(self, one.name)) for one in fields(self))
        shown = (f"{one.name}={value!r}" for one, value in values if value != one.default)
        return f"{type(self).__qualname__}({', '.join(shown)})"
