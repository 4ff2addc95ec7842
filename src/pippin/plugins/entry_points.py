"""Entry points of installed packages that declare plugins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pippin.errors import PluginError
from pippin.plugins.modules import describe_import_error, import_local_sources


@dataclass(frozen=True)
class PluginEntryPoint:
    """A name that an installed package registers."""

    name: str
    point: EntryPoint

    @property
    def package(self) -> str:
        """The package and its version."""
        dist = self.point.dist
        return f"{dist.name} {dist.version}" if dist is not None else "an unknown package"

    def __str__(self) -> str:
        return f"the plugin {self.name!r} of {self.package} ({self.point.group}: {self.point.value})"

    def load(self) -> None:
        """Import the module of the entry point."""
        import_local_sources()  # the package may be an editable install
        try:
            self.point.load()
        except (Exception, SystemExit) as error:  # a plugin may raise anything
            raise PluginError(f"{self} cannot be loaded: {describe_import_error(error)}") from error


@cache
def find_entry_points(group: str, path: tuple[str, ...]) -> dict[str, PluginEntryPoint]:
    """Return the entry points of a group by name; cached while `sys.path` stays the same."""
    by_name: dict[str, PluginEntryPoint] = {}
    for point in entry_points(group=group):
        first = by_name.setdefault(point.name, PluginEntryPoint(point.name, point))
        if first.point != point:
            raise PluginError(f"{PluginEntryPoint(point.name, point)} has the name of {first}; uninstall one of them")
    return by_name
