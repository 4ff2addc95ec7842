"""The state of a plugin's item beyond its source, as JSON that is the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from pippin.plugins.origin import Origin

_PRIMITIVES = (type(None), bool, int, float, complex, str, bytes)


def object_state(item: object, origin: Origin) -> Any:
    """Return the state of a plugin's item."""
    return _StateReader(origin).read(item)


class _StateReader:
    """Converts objects to JSON without memory addresses and orders of sets."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin  # only its functions and classes are inspected
        self._seen: set[int] = set()  # functions and classes
        self._active: set[int] = set()  # other objects that are being read

    def read(self, item: Any) -> Any:
        """Return the state of an object and of its contents."""
        if isinstance(item, _PRIMITIVES):
            return repr(item)
        if isinstance(item, (FunctionType, type)):
            return self._code(item)
        if id(item) in self._active:
            return "itself"
        self._active.add(id(item))
        try:
            return self._contents(item)
        finally:
            self._active.discard(id(item))

    def _contents(self, item: Any) -> Any:
        if isinstance(item, Set):
            return sorted(str(self.read(value)) for value in item)
        return [type(item).__qualname__, *map(self.read, _iter_parts(item))]

    def _code(self, item: FunctionType | type) -> Any:
        """Return the name of a function or class, and its contents at the first visit."""
        was_seen = id(item) in self._seen
        self._seen.add(id(item))
        is_local = self.origin.defines(item)
        if was_seen or (isinstance(item, type) and not is_local):
            return f"{item.__module__}.{item.__qualname__}" if not is_local else item.__qualname__
        return [item.__qualname__, *(self._class(item) if isinstance(item, type) else self._function(item, is_local))]

    def _class(self, cls: type) -> Iterator[Any]:
        yield [self.read(base) for base in cls.__bases__]
        for name, value in sorted(vars(cls).items()):
            if isinstance(value, FunctionType) or not name.startswith("__"):
                yield [name, self.read(value)]

    def _function(self, function: FunctionType, is_local: bool) -> Iterator[Any]:
        yield [self.read(function.__defaults__), self.read(function.__kwdefaults__)]
        yield [self.read(cell.cell_contents) for cell in function.__closure__ or () if _is_filled(cell)]
        if is_local:
            names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
            values = {name: function.__globals__[name] for name in names if name in function.__globals__}
            yield [[name, self.read(value)] for name, value in values.items() if self._is_constant(value)]
        if self.origin.file is None:  # without source, the instructions themselves
            yield [[code.co_code.hex(), self.read([c for c in code.co_consts if not isinstance(c, CodeType)])]
                   for code in _codes(function.__code__)]  # fmt: skip

    def _is_constant(self, value: Any) -> bool:
        """Return whether a global is a constant: a primitive, a tuple of them, or a function or class of the plugin."""
        if isinstance(value, (tuple, frozenset)):
            return all(map(self._is_constant, value))
        if isinstance(value, (FunctionType, type)):
            return self.origin.defines(value)
        return isinstance(value, _PRIMITIVES)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of its inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _iter_parts(item: Any) -> Iterator[Any]:
    """Yield the contents of any other object; for unknown types, their primitive attributes."""
    if isinstance(item, Mapping):
        yield from item.items()
    elif isinstance(item, Sequence):
        yield from item
    elif isinstance(item, partial):
        yield from (item.func, item.args, item.keywords)
    elif isinstance(item, MethodType):
        yield from (item.__func__, item.__self__)
    elif isinstance(item, (staticmethod, classmethod)) or hasattr(item, "__wrapped__"):
        yield item.__wrapped__
    elif hasattr(item, "dtype") and hasattr(item, "tobytes"):
        yield from (str(item.dtype), item.shape, hashlib.sha256(item.tobytes()).hexdigest())
    elif is_dataclass(item):
        yield from (getattr(item, field.name) for field in fields(item))
    else:
        yield from (
            (key, value) for key, value in getattr(item, "__dict__", {}).items() if isinstance(value, _PRIMITIVES)
        )
