"""Names for things that are registered where they are defined.

A shelf (measures, tools, rankers …) is one `Registry`. It refuses a second thing under a taken name, and an unknown
name gets “did you mean”.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from pippin.errors import UnknownName

T = TypeVar("T")


class Registry(Generic[T]):
    """An ordered mapping from name to thing, for one kind of thing.

    >>> fruits = Registry[int]("fruit")
    >>> fruits.register("pippin", 1)
    1
    >>> fruits["pipin"]
    Traceback (most recent call last):
    pippin.errors.UnknownName: no fruit is called 'pipin'; did you mean pippin?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def register(self, name: str, thing: T) -> T:
        """Put `thing` on the shelf under `name`."""
        if name in self._things:
            raise ValueError(f"the {self.kind} {name!r} is registered twice")
        self._things[name] = thing
        return thing

    def __getitem__(self, name: str) -> T:
        try:
            return self._things[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._things) from None

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def values(self) -> list[T]:
        """All things, in the order of registration."""
        return list(self._things.values())
