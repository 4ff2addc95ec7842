"""What is a thing made of, beyond its source? Its state as JSON can hold it, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from pippin.plugins.origin import Origin

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def state_of(thing: object, origin: Origin) -> Any:
    """The state of a stranger's thing."""
    return _State(origin).of(thing)


class _State:
    """What a thing is made of, as JSON can hold it and as every process sees it alike: no addresses, no sets' order."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin  # whose functions and classes are looked into
        self._done: set[int] = set()  # functions and classes
        self._under: set[int] = set()  # everything else that is being described

    def of(self, thing: Any) -> Any:
        """The state of one thing and of what it holds."""
        if isinstance(thing, _PLAIN):
            return repr(thing)
        if isinstance(thing, (FunctionType, type)):
            return self._once(thing)
        if id(thing) in self._under:
            return "itself"
        self._under.add(id(thing))
        try:
            return self._held(thing)
        finally:
            self._under.discard(id(thing))

    def _held(self, thing: Any) -> Any:
        if isinstance(thing, Set):
            return sorted(str(self.of(value)) for value in thing)
        return [type(thing).__qualname__, *map(self.of, _parts(thing))]

    def _once(self, thing: FunctionType | type) -> Any:
        """A function or a class: its name, and what is in it where nothing has asked before."""
        known = id(thing) in self._done
        self._done.add(id(thing))
        theirs = self.origin.wrote(thing)
        if known or (isinstance(thing, type) and not theirs):
            return f"{thing.__module__}.{thing.__qualname__}" if not theirs else thing.__qualname__
        return [thing.__qualname__, *(self._class(thing) if isinstance(thing, type) else self._function(thing, theirs))]

    def _class(self, cls: type) -> Iterator[Any]:
        yield [self.of(base) for base in cls.__bases__]
        for name, value in sorted(vars(cls).items()):
            if isinstance(value, FunctionType) or not name.startswith("__"):
                yield [name, self.of(value)]

    def _function(self, function: FunctionType, theirs: bool) -> Iterator[Any]:
        yield [self.of(function.__defaults__), self.of(function.__kwdefaults__)]
        yield [self.of(cell.cell_contents) for cell in function.__closure__ or () if _is_filled(cell)]
        if theirs:
            names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
            held = {name: function.__globals__[name] for name in names if name in function.__globals__}
            yield [[name, self.of(value)] for name, value in held.items() if self._is_constant(value)]
        if self.origin.file is None:  # without source, the instructions themselves
            yield [[code.co_code.hex(), self.of([c for c in code.co_consts if not isinstance(c, CodeType)])]
                   for code in _codes(function.__code__)]  # fmt: skip

    def _is_constant(self, value: Any) -> bool:
        """Whether a name of a module stands for what nobody changes: a value, or a function or class of theirs."""
        if isinstance(value, (tuple, frozenset)):
            return all(map(self._is_constant, value))
        if isinstance(value, (FunctionType, type)):
            return self.origin.wrote(value)
        return isinstance(value, _PLAIN)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _parts(thing: Any) -> Iterator[Any]:
    """What a thing that is no function, class or plain value holds; of an unknown kind of object, its plain values."""
    if isinstance(thing, Mapping):
        yield from thing.items()
    elif isinstance(thing, Sequence):
        yield from thing
    elif isinstance(thing, partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, MethodType):
        yield from (thing.__func__, thing.__self__)
    elif isinstance(thing, (staticmethod, classmethod)) or hasattr(thing, "__wrapped__"):
        yield thing.__wrapped__
    elif hasattr(thing, "dtype") and hasattr(thing, "tobytes"):
        yield from (str(thing.dtype), thing.shape, hashlib.sha256(thing.tobytes()).hexdigest())
    elif is_dataclass(thing):
        yield from (getattr(thing, each.name) for each in fields(thing))
    else:
        yield from ((key, value) for key, value in getattr(thing, "__dict__", {}).items() if isinstance(value, _PLAIN))
