"""Print measurements as tables on the terminal and between the markers of a documentation page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from contest import Line

HEAD = ("by", "clock", "processor", "memory", "ratio, clock", "ratio, processor", "to reach")


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
    """The heads and rows of one line, ours the first; a column that says nothing is not there."""
    ours = record["contestants"][0]
    rows = [HEAD]
    for n, each in enumerate(record["contestants"]):
        name = each["name"] + (f" ({line.shows} {each['shown']:.4f})" if "shown" in each else "")
        if "absent" in each:
            rows.append((name, each["absent"], *[""] * (len(HEAD) - 2)))
            continue
        ratios, reach = ("", ""), "" if n or line.seconds is None else f"≤ {line.seconds:g} s"
        if n and "clock" in ours:
            ratios = tuple(f"{each[c] / ours[c]:.2f}×" for c in ("clock", "processor"))
        if n and each["name"] in line.at_least:
            reach = f"≥ {line.at_least[each['name']]:.3g}×"
        spent = (seconds(each["clock"]), seconds(each["processor"]), f"{each['peak'] / 1e6:,.0f} MB")
        rows.append((name, *spent, *ratios, reach))
    told = [i for i in range(len(HEAD)) if any(row[i] for row in rows[1:])]
    return [tuple(row[i] for i in told) for row in rows]


def markdown(lines: Sequence[Line], records: Mapping[str, Any]) -> str:
    """A table a line, and what each was measured on."""
    told = []
    for line in lines:
        if line.key not in records:
            told.append(f"**{_as_heading(line.title)}**: not measured yet.")
            continue
        head, *rows = rows_of(line, records[line.key])
        table = [head, ("---", *["--:"] * (len(head) - 1)), *rows]
        told.append(f"**{_as_heading(records[line.key]['title'])}** ({when(records[line.key])})")
        told.append("\n".join(f"| {' | '.join(row)} |" for row in table))
    machines = {where(records[line.key]): None for line in lines if line.key in records}
    return "\n\n".join([*told, *machines]) + "\n"


def _as_heading(title: str) -> str:
    return title[:1].upper() + title[1:]


def when(record: Mapping[str, Any]) -> str:
    """The date of a record, and whether more wanted a core than the line before could have left behind."""
    on = record["machine"]
    return f"{record['date']}, busy ({on['load']:.0f})" if on["load"] > on["cores"] + 1 else str(record["date"])


def where(record: Mapping[str, Any]) -> str:
    """The machine of a record."""
    on = record["machine"]
    return f"{on['processor']}, {on['cores']} cores, {on['system']}, Python {on['python']}."


def plain(line: Line, record: Mapping[str, Any]) -> str:
    """The same of one line for a terminal."""
    rows = rows_of(line, record)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    told = [f"\n{record['title']}"]
    for first, *numbers in rows:
        cells = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        told.append("  ".join((f"  {first.ljust(widths[0])}", *cells)).rstrip())
    return "\n".join(told)


def physical(found: Mapping[str, float]) -> str:
    """The limits as a table."""
    rows = [f"| {what} | {rate / 1e6:,.0f} million a second |" for what, rate in found.items()]
    return "\n".join(("| on one core | at best |", "|---|--:|", *rows)) + "\n"


def replace_section(page: str, name: str, text: str) -> str:
    """The page with this text between the markers of that name.

    >>> put("a\\n<!-- begin x -->\\nold\\n<!-- end x -->\\nb", "x", "new\\n")
    'a\\n<!-- begin x -->\\nnew\\n<!-- end x -->\\nb'
    """
    marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marked.search(page):
        raise SystemExit(f"the page has no markers for {name}")
    return marked.sub(lambda result: result[1] + text + result[2], page)
