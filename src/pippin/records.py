"""Immutable records: frozen dataclasses that share their methods.

`dataclass(frozen=True)` compiles six functions for every class, half a millisecond per class: a third of the start-up
time of `pippin eval`. All but `__init__` are the same for every class and are defined here once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class FrozenRecord:
    """Base class of immutable records; annotations are fields, as in a dataclass.

    Records are equal if their fields are equal; with `eq=False`, for fields that are arrays, only if identical.

    >>> class Position(FrozenRecord):
    ...     "The rank of a document."
    ...     query: str
    ...     rank: int = 1
    >>> Position("q1"), Position("q1") == Position("q1", 1), Position("q1", 2) in {Position("q1", 1)}
    (Position(query='q1', rank=1), True, False)
    >>> Position("q1").rank = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'rank'
    """

    _comparison_key: ClassVar[Callable[[Any], Any]]

    def __init_subclass__(cls, *, eq: bool = True) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)
        if eq:
            names = [field.name for field in fields(cls) if field.compare]  # type: ignore[arg-type]
            cls._comparison_key = attrgetter("__class__", *names)
        else:
            cls._comparison_key = id

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name not in self.__dataclass_fields__:  # type: ignore[attr-defined]
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        key = type(self)._comparison_key
        return bool(key(self) == key(other))

    def __hash__(self) -> int:
        return hash(type(self)._comparison_key(self))

    def __repr__(self) -> str:
        values = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(values)})"


class OptionsRecord(FrozenRecord):
    """A record with many defaults; its repr shows only fields that differ from them.

    >>> class Rule(OptionsRecord):
    ...     "How to count."
    ...     gain: str = "exp2"
    ...     empty: float = 0.0
    >>> Rule(), Rule(empty=1.0)
    (Rule(), Rule(empty=1.0))
    """

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        changes = (f"{field.name}={value!r}" for field, value in values if value != field.default)
        return f"{type(self).__qualname__}({', '.join(changes)})"
