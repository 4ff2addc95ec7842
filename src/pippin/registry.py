"""Names for things that are registered where they are defined.

A shelf (measures, tools, rankers …) is one `Registry`. It refuses a second thing under a taken name, and an unknown
name gets “did you mean”. A shelf with a `group` is also filled by installed packages that promise names in their entry
points: they are looked for when a name is not known or all names are asked for, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pippin.errors import PluginError, UnknownName
from pippin.plugins import caller, digest_of, promises

if TYPE_CHECKING:
    from pippin.plugins.origin import Origin

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """An ordered mapping from name to thing, for one kind of thing.

    >>> fruits = Registry[int]("fruit")
    >>> fruits.register("pippin", 1)
    1
    >>> fruits["pipin"]
    Traceback (most recent call last):
    pippin.errors.UnknownName: no fruit is called 'pipin'; did you mean pippin?
    """

    def __init__(self, kind: str, group: str = "", of: type | None = None) -> None:
        self.kind, self.group, self.of = kind, group, of
        self._things: dict[str, T] = {}
        self._origins: dict[str, Origin] = {}
        self._digests: dict[str, str] = {}
        self._loaded: set[str] = set()  # names whose promises were kept
        self.registered = 0  # how often something was: what is made from the things here is made again when it grows

    def register(self, name: str, thing: T) -> T:
        """Put `thing` on the shelf under `name`. A module that is executed again puts its things there again."""
        origin = caller()
        if self.of is not None and not isinstance(thing, self.of):
            raise PluginError(f"the {self.kind} {name!r} must be a {self.of.__name__}, not {thing!r}")
        if name in self._things and (origin is None or not origin.repeats(self._origins.get(name))):
            who = [str(one) for one in (self._origins.get(name), origin) if one is not None]
            raise PluginError(
                f"the {self.kind} {name!r} is registered twice" + (f": by {', '.join(who)}" if who else "")
            )
        self._things[name] = thing
        self.registered += 1
        self._digests.pop(name, None)
        if origin is not None:
            self._origins[name] = origin
        return thing

    @property
    def known(self) -> Mapping[str, T]:
        """What stands here already, without a look at what installed packages promise."""
        return MappingProxyType(self._things)

    def load(self) -> None:
        """Have all that installed packages promise."""
        if self.group:
            for name in promises(self.group):
                self._load(name)

    def _load(self, name: str) -> None:
        """Have what an installed package promises under a name, if one does."""
        promise = promises(self.group).get(name) if self.group else None
        if promise is None or name in self._loaded:
            return
        if name in self._things and name not in self._origins:
            raise PluginError(f"{promise} has the name of a {self.kind} that Pippin has itself")
        self._loaded.add(name)  # before, because a plug-in may itself look around here while it is loaded
        try:
            promise.load()
            if name not in self._things:
                raise PluginError(f"{promise} registers no {self.kind} of that name")
        except PluginError:
            self._loaded.discard(name)
            raise

    def origin(self, name: str) -> Origin | None:
        """Which stranger's module registered the thing of that name; None where it is Pippin's own."""
        self[name]
        return self._origins.get(name)

    def digest(self, name: str) -> str | None:
        """The digest of a stranger's thing; None where it is Pippin's own, which is known by Pippin's version."""
        origin = self.origin(name)
        if origin is not None and name not in self._digests:
            self._digests[name] = digest_of(self._things[name], origin)
        return self._digests.get(name)

    def __getitem__(self, name: str) -> T:
        if name in self or name in list(self):
            return self._things[name]
        raise UnknownName(self.kind, name, self._things)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name not in self._things:
            self._load(name)
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(self._things)

    def __len__(self) -> int:
        self.load()
        return len(self._things)

    def values(self) -> list[T]:
        """All things, in the order of registration."""
        self.load()
        return list(self._things.values())


def register_class(shelf: Registry[Any], name: str, base: type, cls: C) -> C:
    """Put a class on a shelf of subclasses of `base`, and its name on it."""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise PluginError(f"the {shelf.kind} {name!r} must be a subclass of {base.__name__}, and {cls!r} is none")
    shelf.register(name, cls)
    cls.name = name  # type: ignore[attr-defined]
    return cls


def digests_of(things: Iterable[tuple[Registry[Any], str]]) -> dict[str, str]:
    """Those of the things, by shelf and name, that are not Pippin's own, each with its digest."""
    digests = {f"{shelf.kind} {name}": shelf.digest(name) for shelf, name in things}
    return {name: digest for name, digest in digests.items() if digest is not None}


def between_commas(text: str) -> list[str]:
    """Names joined by commas; commas in brackets belong to a name.

    >>> between_commas("NDCG@10, P(rel=2,gain=exp2)@5")
    ['NDCG@10', 'P(rel=2,gain=exp2)@5']
    """
    names, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            names.append(text[start:i].strip())
            start = i + 1
    return [name for name in (*names, text[start:].strip()) if name]
