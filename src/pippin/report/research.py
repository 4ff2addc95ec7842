"""How the directions of research are written: headings and tables, or into the marked places of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from pippin.bench.paths import Learning, Selection
from pippin.bench.research import MEASURE, Direction, Finding
from pippin.errors import DataError
from pippin.report.paths import curves_table, smallest_table, versus_table
from pippin.tables import Heading, Part, Prose, Table, together

Made = Sequence[tuple[Direction, list[Finding]]]
_PLACE = re.compile(r"(<!-- research: ([\w-]+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def table(found: Finding) -> Table:
    """A finding as a table."""
    if isinstance(found, Table):
        return found
    first: Any = found[0] if found else None
    if isinstance(first, Selection):
        return smallest_table(cast(Sequence[Selection], found))
    if isinstance(first, Learning):
        return curves_table(cast(Sequence[Learning], found))
    return versus_table(cast(Any, found), MEASURE)


def parts(made: Made) -> list[Part]:
    """The directions one after the other."""
    found: list[Part] = []
    for direction, findings in made:
        found += [Heading(direction.title), Prose(direction.question), *map(table, findings)]
    return found


def records(made: Made) -> list[dict[str, Any]]:
    """The tables as JSON holds them: heads and rows."""
    return [
        {"direction": direction.name, "title": direction.title, "question": direction.question,
         "tables": [{"heads": list(one.headers), "rows": [list(row) for row in one.rows], "notes": list(one.notes)}
                    for one in map(table, findings)]}
        for direction, findings in made
    ]  # fmt: skip


def filled(page: str, made: Made, path: str) -> str:
    """A page of Markdown whose places `<!-- research: NAME -->` … `<!-- end of NAME -->` hold these tables.

    >>> filled("a <!-- research: x -->\\n<!-- end of x --> b", [], "p.md")
    'a <!-- research: x -->\\n<!-- end of x --> b'
    """
    texts = {direction.name: together(list(map(table, findings)), "markdown") for direction, findings in made}
    there = {match[2] for match in _PLACE.finditer(page)}
    lacking = [name for name in texts if name not in there]
    if lacking:
        raise DataError(f"the page has no place for {lacking[0]}: <!-- research: {lacking[0]} -->", path)

    def put(match: re.Match[str]) -> str:
        return match[0] if match[2] not in texts else f"{match[1]}{texts[match[2]].rstrip()}\n{match[3]}"

    return _PLACE.sub(put, page)
