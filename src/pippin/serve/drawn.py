"""How pages are drawn: the templates of this room in the look of the bench's page, and the files that they load."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pippin.boards.standing import Standing

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = (("pippin.report", "pieces.css"), ("pippin.report", "page.css"), ("pippin.serve", "boards.css"))
_SCRIPTS = {"theme.js": (("pippin.report", "theme.js"),), "boards.js": (("pippin.serve", "boards.js"),)}
WIDTH = 200  # of the axis of a leaderboard, in the drawing's own units


@cache
def environment() -> Environment:
    """The templates; all they are given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pippin.serve"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters |= {"day": day, "moment": moment, "number": number}
    for name in made.list_templates():
        made.get_template(name)  # now, for later this process may not be allowed to read them
    return made


@cache
def statics() -> dict[str, tuple[str, bytes]]:
    """Name → the kind and the content of a file that pages load."""
    found = {"boards.css": ("text/css; charset=utf-8", _joined(_STYLES))}
    for name, parts in _SCRIPTS.items():
        found[name] = ("text/javascript; charset=utf-8", _joined(parts))
    return found


def _joined(parts: Sequence[tuple[str, str]]) -> bytes:
    return b"\n".join((files(room) / "assets" / name).read_bytes() for room, name in parts)


def day(seconds: int | None) -> str:
    """A date.

    >>> day(0), day(None)
    ('1970-01-01', '')
    """
    return "" if seconds is None else time.strftime("%Y-%m-%d", time.gmtime(seconds))


def moment(seconds: int | None) -> str:
    """A date with the time, in UTC."""
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def number(value: float | None, step: float = 0.0001) -> str:
    """A value with as many digits as its step has.

    >>> number(0.5, 0.02), number(0.75, 0.005), number(None)
    ('0.50', '0.750', '')
    """
    digits = max(2, len(f"{step:.10f}".rstrip("0").partition(".")[2]))
    return "" if value is None else f"{value:.{digits}f}"


def axis(rows: Sequence[Standing], baseline: float) -> dict[str, Any]:
    """The axis of a leaderboard's intervals: its ends, and where its marks are drawn."""
    low = min([baseline, *(row.low for row in rows)], default=0.0)
    high = max([baseline, *(row.high for row in rows)], default=1.0)
    room = (high - low) * 0.04 or 0.05
    low, high = max(0.0, low - room), high + room
    ticks = [low + (high - low) * part for part in (0.1, 0.5, 0.9)]

    def at(value: float) -> float:
        return round((value - low) / (high - low) * WIDTH, 1)

    return {"at": at, "ticks": [(at(tick), f"{tick:.2f}") for tick in ticks], "width": WIDTH}
