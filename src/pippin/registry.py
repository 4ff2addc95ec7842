"""Registries: items by name, registered where they are defined.

A `Registry` holds one kind of item (measures, tools, rankers …). A name can be registered once; an unknown name gets
"did you mean". A registry with an entry point group also loads plugins of installed packages: when a name is unknown or
all names are listed, never at import.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pippin.errors import PluginError, UnknownName
from pippin.plugins import calling_plugin, digest_of, plugin_entry_points

if TYPE_CHECKING:
    from pippin.plugins.origin import Origin

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """An ordered mapping from name to item.

    Parameters
    ----------
    kind : str
        What errors call an item.
    group : str
        Entry point group of plugins; empty if there are none.
    of : type, optional
        Type of all items.
    modules : iterable of str
        Modules of Pippin that register the built-in items; imported at the first lookup.
    package : str
        Package of Pippin whose modules register the built-in items. The lookup of a name that is also the name of a
        module (``best-feature`` in `best_feature`) imports this module alone; any other name imports all modules.

    Examples
    --------
    >>> fruits = Registry[int]("fruit")
    >>> fruits.register("pippin", 1)
    1
    >>> fruits["pipin"]
    Traceback (most recent call last):
    pippin.errors.UnknownName: no fruit is called 'pipin'; did you mean pippin?
    """

    def __init__(
        self, kind: str, group: str = "", of: type | None = None, modules: Iterable[str] = (), package: str = ""
    ) -> None:
        self.kind, self.group, self.of, self.package = kind, group, of, package
        self._modules = list(modules)
        self._has_whole_package = False
        self._items: dict[str, T] = {}
        self._origins: dict[str, Origin] = {}
        self._digests: dict[str, str] = {}
        self._loaded_entry_points: set[str] = set()
        self.generation = 0  # grows with every registration, so that caches of the items can be renewed

    def register(self, name: str, item: T) -> T:
        """Register an item.

        Parameters
        ----------
        name : str
            A new name; a module that is executed again may register its names again.
        item : object
            The item.

        Returns
        -------
        object
            The item.

        Raises
        ------
        PluginError
            If the name is taken or the item has the wrong type.
        """
        origin = calling_plugin()
        if origin is not None:
            self._import_modules()
        if self.of is not None and not isinstance(item, self.of):
            raise PluginError(f"the {self.kind} {name!r} must be a {self.of.__name__}, got {item!r}")
        if name in self._items and (origin is None or not origin.is_reload_of(self._origins.get(name))):
            sources = [str(source) for source in (self._origins.get(name), origin) if source is not None]
            suffix = f": by {', '.join(sources)}" if sources else ""
            raise PluginError(f"the {self.kind} {name!r} is registered twice{suffix}")
        self._items[name] = item
        self.generation += 1
        self._digests.pop(name, None)
        if origin is not None:
            self._origins[name] = origin
        return item

    @property
    def loaded_items(self) -> Mapping[str, T]:
        """The items registered so far, without loading plugins."""
        self._import_modules()
        return MappingProxyType(self._items)

    def _import_modules(self) -> None:
        while self._modules:
            importlib.import_module(self._modules.pop(0))
        if self.package and not self._has_whole_package:
            self._has_whole_package = True  # first, because a module may use this registry while it is imported
            import_submodules(self.package)
            self._items = dict(sorted(self._items.items()))  # the order does not depend on the lookups before

    def _import_module_of(self, name: str) -> None:
        """Import the module that has the name of an item, or all modules if there is none."""
        module = name.replace("-", "_")
        if self.package and module in submodules(self.package):
            importlib.import_module(f"{self.package}.{module}")
        if name not in self._items:
            self._import_modules()

    def load(self) -> None:
        """Load the built-in items and all plugins of installed packages."""
        self._import_modules()
        if self.group:
            for name in plugin_entry_points(self.group):
                self._load_entry_point(name)

    def _load_entry_point(self, name: str) -> None:
        """Import the plugin that registers a name, if an installed package has one."""
        entry_point = plugin_entry_points(self.group).get(name) if self.group else None
        if entry_point is None or name in self._loaded_entry_points:
            return
        if name in self._items and name not in self._origins:
            raise PluginError(f"{entry_point} has the name of a built-in {self.kind}; rename it")
        self._loaded_entry_points.add(name)  # first, because a plugin may use this registry while it is imported
        try:
            entry_point.load()
            if name not in self._items:
                raise PluginError(f"{entry_point} does not register a {self.kind} of that name")
        except PluginError:
            self._loaded_entry_points.discard(name)
            raise

    def origin(self, name: str) -> Origin | None:
        """Return the plugin module that registered an item, or None for a built-in item."""
        self[name]
        return self._origins.get(name)

    def digest(self, name: str) -> str | None:
        """Return the digest of a plugin's item; None for a built-in item, which Pippin's version identifies."""
        origin = self.origin(name)
        if origin is not None and name not in self._digests:
            self._digests[name] = digest_of(self._items[name], origin)
        return self._digests.get(name)

    def __getitem__(self, name: str) -> T:
        if name in self or name in list(self):
            return self._items[name]
        raise UnknownName(self.kind, name, self._items)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name not in self._items:
            self._import_module_of(name)
        if isinstance(name, str) and name not in self._items:
            self._load_entry_point(name)
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(self._items)

    def __len__(self) -> int:
        self.load()
        return len(self._items)

    def values(self) -> list[T]:
        """Return all items in the order of registration."""
        self.load()
        return list(self._items.values())


@cache
def submodules(package: str) -> tuple[str, ...]:
    """Return the names of the modules directly in a package."""
    return tuple(module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))


@cache
def import_submodules(package: str) -> None:
    """Import every module of a package, so that each registers its items."""
    for module in submodules(package):
        importlib.import_module(f"{package}.{module}")


def lazy_attributes(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that imports the module of a name when the name is first used."""

    def get(name: str) -> Any:
        if name in modules:
            return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get


def register_class(registry: Registry[Any], name: str, base: type, cls: C) -> C:
    """Register a subclass of `base` and set its attribute `name`."""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise PluginError(f"the {registry.kind} {name!r} must be a subclass of {base.__name__}, got {cls!r}")
    registry.register(name, cls)
    cls.name = name  # type: ignore[attr-defined]
    return cls


def plugin_digests(items: Iterable[tuple[Registry[Any], str]]) -> dict[str, str]:
    """Return the digests of those items that come from plugins."""
    digests = {f"{registry.kind} {name}": registry.digest(name) for registry, name in items}
    return {name: digest for name, digest in digests.items() if digest is not None}


def split_names(text: str) -> list[str]:
    """Split names at commas outside brackets.

    >>> split_names("NDCG@10, P(rel=2,gain=exp2)@5")
    ['NDCG@10', 'P(rel=2,gain=exp2)@5']
    """
    names, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            names.append(text[start:i].strip())
            start = i + 1
    return [name for name in (*names, text[start:].strip()) if name]
