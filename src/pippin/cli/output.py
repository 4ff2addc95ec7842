"""Where a command's results leave it: in the form that was asked for, on the terminal or in a file."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pippin.errors import ConventionError
from pippin.layout import wrapped
from pippin.tables import Part, Prose, Table, together
from pippin.terminal import for_data, screen_of

ENDINGS = {
    ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".htm": "html",
    ".parquet": "parquet",
}  # fmt: skip
DATA = ("json", "csv")  # forms for programs: what stands in them stays as it is

_UNSEEN = "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
_NESTING = {dict, list}


def write(
    form: str, output: str, parts: Callable[[], Sequence[Part]], record: Callable[[], Any],
    rows: Callable[[], Table] | None = None,
) -> None:  # fmt: skip
    """Print or write results: `record` as JSON, `rows` as CSV (or the tables among the parts), else the parts."""
    if form == "json":
        text = as_json(record())
    elif form == "csv" and rows is not None:
        text = rows().render("csv")
    else:
        text = together(parts(), form)
    write_text(text, output, form)


def form_of(asked: str | None, path: str, forms: Sequence[str]) -> str:
    """The form that was asked for, else the one that the ending of the file names, of those that a command has.

    >>> form_of(None, "numbers.csv", ("table", "csv")), form_of("csv", "x.md", ("table", "csv"))
    ('csv', 'csv')
    """
    named = asked or ENDINGS.get(Path(path).suffix.lower(), "table")
    if named not in forms:
        what = "no page is made of this" if named == "html" else f"this is not written as {named}"
        raise ConventionError(f"{path}: {what}; the forms are {', '.join(forms)} (--format)")
    return named


def as_json(record: Any) -> str:
    """A record as JSON: numbers in full, NaN as null, letters as they are, invisible characters by their codes."""
    ascii_only = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = _indented(_native(record), "\n", ascii_only)
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_UNSEEN, lambda match: f"\\u{ord(match.group()):04x}", text)


def _indented(value: Any, line: str, ascii_only: bool) -> str:
    """What `json.dumps` writes with an indent of 1, `line` being the newline with the indent so far.

    With an indent the standard library writes one value after the other in Python, five times as slowly as without;
    here whatever holds plain values only is written at once.
    """
    nested = isinstance(value, dict | list) and not _NESTING.isdisjoint(
        map(type, value.values() if isinstance(value, dict) else value)
    )
    separator = f",{line} "
    if not nested:
        text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(separator, ": "))
        return f"{text[0]}{line} {text[1:-1]}{line}{text[-1]}" if value and isinstance(value, dict | list) else text
    if isinstance(value, list):
        return f"[{line} {separator.join(_indented(one, f'{line} ', ascii_only) for one in value)}{line}]"
    items = (
        f"{json.dumps(key, ensure_ascii=ascii_only)}: {_indented(one, f'{line} ', ascii_only)}"
        for key, one in value.items()
    )
    return f"{{{line} {separator.join(items)}{line}}}"


def _native(value: Any) -> Any:
    """A value in the types that JSON has."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        if _is_plain(value):
            return value
        return {str(key): _native(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_native(one) for one in value]
    return _native(value.tolist()) if hasattr(value, "tolist") else str(value)


def _is_plain(value: Mapping[Any, Any]) -> bool:
    """Whether names go to numbers that stand as they are: the values of all queries, looked at together."""
    return (
        type(value) is dict
        and {*map(type, value)} <= {str}
        and {*map(type, value.values())} <= {float}
        and all(map(math.isfinite, value.values()))
    )


def say(text: str, aside: bool = False) -> None:
    """Tell people what was done, in lines that fit; `aside` goes to standard error, beside data."""
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        print(Prose(line, f"{indent}  ").render(), file=sys.stderr if aside else sys.stdout)


def complain(sentence: str, style: str = "error") -> None:
    """A sentence on standard error: one line or, on a terminal, as many as it takes there."""
    place = screen_of(sys.stderr)
    lines = wrapped(f"pippin: {place.text(sentence)}", place.columns if sys.stderr.isatty() else None, "  ")
    lines[0] = place.paint("pippin:", style) + lines[0].removeprefix("pippin:")
    print("\n".join(lines), file=sys.stderr, flush=True)


def write_text(text: str, output: str, form: str = "table") -> None:
    """Print, or write to a file at once."""
    text = text.rstrip("\n") + "\n"
    if output == "-":
        (for_data(sys.stdout) if form in DATA else sys.stdout).write(text)
        return
    from pippin.files import atomic_write

    with atomic_write(output) as out:
        out.write(text.encode("utf-8", "surrogateescape"))
