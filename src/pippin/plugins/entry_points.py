"""What do installed packages promise? The names of their entry points, and what is imported when one is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pippin.errors import PluginError
from pippin.plugins.modules import heed_sources, reason


@dataclass(frozen=True)
class Promise:
    """A name that an installed package promises to register, as its entry point says."""

    name: str
    point: EntryPoint

    @property
    def package(self) -> str:
        """The package and its version."""
        dist = self.point.dist
        return f"{dist.name} {dist.version}" if dist is not None else "an unknown package"

    def __str__(self) -> str:
        return f"the plug-in {self.name!r} of {self.package} ({self.point.group}: {self.point.value})"

    def load(self) -> None:
        """Import what the entry point names."""
        heed_sources()  # as it may be installed as a link to somebody's folder
        try:
            self.point.load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module does when it is imported
            raise PluginError(f"{self} cannot be loaded: {reason(error)}") from error


@cache
def promises_of(group: str, path: tuple[str, ...]) -> dict[str, Promise]:
    """The promises of a group by their names; looked up anew only where Python looks elsewhere for modules."""
    promises: dict[str, Promise] = {}
    for point in entry_points(group=group):
        other = promises.setdefault(point.name, Promise(point.name, point))
        if other.point != point:
            raise PluginError(f"{Promise(point.name, point)} has the name of {other}; uninstall one of the two")
    return promises
