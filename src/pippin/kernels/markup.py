"""The lines of a page, from HTML as a parser writes it down; looks are numbers, 0 that of the page."""

from __future__ import annotations

from collections.abc import Callable

from pippin.kernels import native

LookOf = Callable[[str, str, int], int]


def markup_lines(
    html: str, blocks: str, unseen: str, matter: str, look_of: LookOf
) -> list[tuple[list[str], list[int]]]:
    """The texts of every line that is not blank, with their looks; where all are alike, they are one text.

    `blocks` begin and end lines, `unseen` are left out with all that is in them: names with a blank between.
    `look_of(name, attributes, outer)` is the look inside an element, asked once for each name in each look, and
    again where one of `matter` (such as `style="`) is among its attributes, which are given as written.

    >>> markup_lines("<p>An <i>old</i> pippin</p><p>&lt;2</p>", "p", "", "", lambda name, said, outer: int(name == "i"))
    [(['An ', 'old', ' pippin'], [0, 1, 0]), (['<2'], [0])]
    """
    return native.markup_lines(html, blocks, unseen, matter, look_of)
