"""How a table fits a screen: which columns stand side by side, how wide each is, and where text breaks."""

from __future__ import annotations

from collections.abc import Sequence

from pippin.terminal import width

_LONG = 24  # a word longer than this may be broken before a table is
_SHORT = 16  # a column of text that is narrower is not broken


def bands(
    cells: Sequence[Sequence[str]], wraps: Sequence[bool], keys: int, columns: int | None, gap: int
) -> list[list[int]]:
    """The columns in groups that fit the screen, each after the first `keys` ones; one group where all fit."""
    count = len(wraps)
    least = [_least(cells, i, wraps[i]) for i in range(count)]
    head = list(range(min(keys, count)))
    if columns is None or sum(least) + gap * (count - 1) <= columns or count <= keys:
        return [list(range(count))]
    start = sum(least[:keys]) + gap * (keys - 1)
    groups: list[list[int]] = []
    used = columns
    for i in range(keys, count):
        if used + gap + least[i] > columns:
            groups.append(list(head))
            used = start
        groups[-1].append(i)
        used += gap + least[i]
    return groups


def _least(cells: Sequence[Sequence[str]], column: int, wraps: bool) -> int:
    """The least width of a column: its longest word; short names and numbers are not broken at all."""
    head, *body = (row[column] for row in cells)
    whole = max(map(width, body), default=0)
    words = [min(width(word), _LONG) for text in ([head, *body] if wraps else [head]) for word in text.split()]
    return max([*words, 1 if wraps and whole > _SHORT else whole, 1])


def fitted(cells: Sequence[Sequence[str]], wraps: Sequence[bool], columns: int | None, gap: int) -> list[int]:
    """The width of each column: what it takes or, where that is too much together, the widest give way first."""
    natural = [max(width(row[i]) for row in cells) for i in range(len(wraps))]
    if columns is None:
        return natural
    room = columns - gap * (len(wraps) - 1)
    least = [min(_least(cells, i, wraps[i]), natural[i]) for i in range(len(wraps))]
    if sum(least) > room:  # not even the words fit: whatever is widest is broken
        least = [1] * len(wraps)
    low, high = 1, max(natural, default=1)
    while low < high:  # the largest bound under which all of them fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _together(natural, least, middle) <= room else (low, middle - 1)
    widths = [min(n, max(f, low)) for n, f in zip(natural, least, strict=True)]
    for i in sorted(range(len(widths)), key=lambda i: widths[i] - natural[i]):  # what is left goes to who wants most
        extra = min(natural[i] - widths[i], room - sum(widths))
        widths[i] += max(0, extra)
    return widths


def _together(natural: Sequence[int], least: Sequence[int], bound: int) -> int:
    return sum(min(n, max(f, bound)) for n, f in zip(natural, least, strict=True))


def wrapped(text: str, columns: int | None, hanging: str = "") -> list[str]:
    """Text in lines of at most so many columns, broken between words where that is possible.

    >>> wrapped("one two three", 8), wrapped("abcdefgh", 5)
    (['one two', 'three'], ['abcde', 'fgh'])
    """
    if columns is None or width(text) <= columns:
        return [text]
    lines: list[str] = []
    indent = text[: len(text) - len(text.lstrip())][: max(0, columns - 1)]
    line = indent
    for word in text.split():
        joined = line + word if line in (indent, hanging) else f"{line} {word}"
        if width(joined) <= columns:
            line = joined
            continue
        if line.strip():
            lines.append(line)
        line = (hanging if lines and width(hanging) < columns else indent if not lines else "") + word
        while width(line) > columns:
            cut = _fitting(line, columns)
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line]


def _fitting(text: str, columns: int) -> int:
    """How many characters of a text fit, at least one."""
    used = 0
    for i, character in enumerate(text):
        used += width(character)
        if used > columns:
            return max(1, i)
    return len(text)
