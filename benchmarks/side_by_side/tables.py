"""What was measured as tables: on the terminal, and between the markers of a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from contest import Line

HEAD = ("work", "by", "clock", "processor", "memory", "ratio, clock", "ratio, processor", "to reach")


def seconds(value: float) -> str:
    """A time as it is best read.

    >>> seconds(12.34), seconds(0.0123), seconds(0.000045)
    ('12.3 s', '12.3 ms', '45 µs')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1 or unit == "µs":
            return f"{value * scale:.3g} {unit}"
    raise ValueError(value)


def rows_of(line: Line, record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The rows of one line; ours is the first."""
    ours, *others = record["contestants"]
    rows = []
    for n, each in enumerate((ours, *others)):
        title = record["title"] if n == 0 else ""
        if "absent" in each:
            rows.append((title, each["name"], each["absent"], "", "", "", "", ""))
            continue
        ratios, reach = ("", ""), "" if n or line.seconds is None else f"≤ {line.seconds:g} s"
        if n and "clock" in ours:
            ratios = tuple(f"{each[c] / ours[c]:.2f}×" for c in ("clock", "processor"))
        if n and each["name"] in line.at_least:
            reach = f"≥ {line.at_least[each['name']]:.3g}×"
        spent = (seconds(each["clock"]), seconds(each["processor"]), f"{each['peak'] / 1e6:,.0f} MB")
        rows.append((title, each["name"], *spent, *ratios, reach))
    return rows


def markdown(lines: Sequence[Line], records: Mapping[str, Any]) -> str:
    """The table of some lines, and what each was measured on."""
    rows = [
        row for line in lines for row in (rows_of(line, records[line.key]) if line.key in records else [_not_yet(line)])
    ]
    table = [HEAD, ("---", "---", *["--:"] * (len(HEAD) - 2)), *rows]
    told = {when(records[line.key]): None for line in lines if line.key in records}
    return "\n".join(f"| {' | '.join(row)} |" for row in table) + "\n\n" + "\n".join(told) + "\n"


def _not_yet(line: Line) -> tuple[str, ...]:
    """The row of a line that nobody has measured."""
    return line.title, "not measured yet", *[""] * (len(HEAD) - 2)


def when(record: Mapping[str, Any]) -> str:
    """The date and the machine of a record."""
    on = record["machine"]
    return (
        f"{record['date']}, {on['processor']}, {on['cores']} cores, {on['system']}, Python {on['python']}; "
        f"{on['load']:.1f} processes wanted a core when it began."
    )


def plain(lines: Sequence[Line], records: Mapping[str, Any]) -> str:
    """The same for a terminal."""
    rows = [row for line in lines if line.key in records for row in rows_of(line, records[line.key])]
    widths = [max(len(row[i]) for row in (HEAD, *rows)) for i in range(1, len(HEAD))]
    told = []
    for row in rows:
        if row[0]:
            told.append(f"\n{row[0]}")
        cells = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row[1:], widths, strict=True))
        )
        told.append("  " + "  ".join(cells).rstrip())
    return "\n".join(told)


def physical(found: Mapping[str, float]) -> str:
    """The limits as a table."""
    rows = [f"| {what} | {rate / 1e6:,.0f} million a second |" for what, rate in found.items()]
    return "\n".join(("| on one core | at best |", "|---|--:|", *rows)) + "\n"


def put(page: str, name: str, text: str) -> str:
    """The page with this text between the markers of that name.

    >>> put("a\\n<!-- begin x -->\\nold\\n<!-- end x -->\\nb", "x", "new\\n")
    'a\\n<!-- begin x -->\\nnew\\n<!-- end x -->\\nb'
    """
    marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marked.search(page):
        raise SystemExit(f"the page has no markers for {name}")
    return marked.sub(lambda found: found[1] + text + found[2], page)
