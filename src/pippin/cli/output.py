"""Write the results of a command, in the requested format, to the terminal or to a file."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.display.tables import Paragraph, Renderable, Table, render_all, wrap_text
from pippin.display.terminal import data_stream, terminal_of
from pippin.errors import ConventionError, DataError

if TYPE_CHECKING:
    from pippin.data.qrels import Run

EXTENSIONS = {
    ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".htm": "html",
    ".parquet": "parquet",
}  # fmt: skip
# Extensions of other formats for results, which a text file with that name would only imitate.
BINARY_EXTENSIONS = (
    ".xlsx", ".xls", ".ods", ".pdf", ".docx", ".png", ".svg", ".jpg", ".zip", ".gz", ".arrow", ".feather", ".pickle",
    ".pkl", ".npy", ".npz", ".h5", ".sqlite", ".db",
)  # fmt: skip
DATA_FORMATS = ("json", "csv")  # formats for programs; their text is written unchanged

_INVISIBLE = "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"


def write_result(
    format: str, output: str, parts: Callable[[], Sequence[Renderable]], record: Callable[[], Any],
    rows: Callable[[], Table] | None = None,
) -> None:  # fmt: skip
    """Print or write results: `record` as JSON, `rows` as CSV (or the tables among the parts), else the parts."""
    if format == "json":
        text = format_json(record())
    elif format == "csv" and rows is not None:
        text = rows().render("csv")
    else:
        text = render_all(parts(), format)
    write_text(text, output, format)


def resolve_format(requested: str | None, path: str, formats: Sequence[str]) -> str:
    """Return the requested format, else the one of the file's extension; raise if the command does not write it.

    >>> resolve_format(None, "numbers.csv", ("table", "csv")), resolve_format("csv", "x.md", ("table", "csv"))
    ('csv', 'csv')
    """
    extension = Path(path).suffix.lower()
    if requested is None and extension in BINARY_EXTENSIONS:
        raise ConventionError(f"{path}: cannot write {extension} files; use {_list_formats(formats)}")
    format = requested or EXTENSIONS.get(extension, "table")
    if format not in formats:
        raise ConventionError(f"{path}: this command does not write {format}; use {_list_formats(formats)}")
    return format


def _list_formats(formats: Sequence[str]) -> str:
    return f"{', '.join(formats)} (--format or the extension)"


def format_json(record: Any) -> str:
    """Return a record as JSON: numbers in full, NaN as null, invisible characters as escapes."""
    ascii_only = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(_native(record), indent=1, ensure_ascii=ascii_only, allow_nan=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_INVISIBLE, lambda match: f"\\u{ord(match.group()):04x}", text)


def _native(value: Any) -> Any:
    """Convert a value to the types of JSON."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        if _is_plain(value):
            return value
        return {str(key): _native(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_native(item) for item in value]
    return _native(value.tolist()) if hasattr(value, "tolist") else str(value)


def _is_plain(value: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is from strings to finite numbers, as values per query are; it needs no conversion."""
    return (
        type(value) is dict
        and {*map(type, value)} <= {str}
        and {*map(type, value.values())} <= {float}
        and all(map(math.isfinite, value.values()))
    )


def print_message(text: str, stderr: bool = False) -> None:
    """Print text, wrapped; on standard error if standard output holds data."""
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        print(Paragraph(line, f"{indent}  ").render(), file=sys.stderr if stderr else sys.stdout)


def print_error(sentence: str, style: str = "error") -> None:
    """Print a sentence on standard error: one line, or wrapped on a terminal."""
    terminal = terminal_of(sys.stderr)
    lines = wrap_text(f"pippin: {terminal.text(sentence)}", terminal.columns if sys.stderr.isatty() else None, "  ")
    lines[0] = terminal.paint("pippin:", style) + lines[0].removeprefix("pippin:")
    print("\n".join(lines), file=sys.stderr, flush=True)


def write_text(text: str, output: str, format: str = "table") -> None:
    """Print text, or write it to a file atomically."""
    text = text.rstrip("\n") + "\n"
    if output == "-":
        (data_stream(sys.stdout) if format in DATA_FORMATS else sys.stdout).write(text)
        return
    from pippin.storage.files import atomic_write

    with atomic_write(output) as out:
        out.write(text.encode("utf-8", "surrogateescape"))


def print_skipped(skipped: Mapping[str, str]) -> None:
    """Print on standard error which tools were skipped, and why."""
    for reason in dict.fromkeys(skipped.values()):
        tools = ", ".join(tool for tool in skipped if skipped[tool] == reason)
        print_error(f"skipped {tools}: {reason}", "warning")


def write_table(result: Any, output: str) -> None:
    """Write the long table of a result as Parquet."""
    if output == "-":
        raise DataError("Parquet is a binary format; write it to a file with --out FILE")
    import pyarrow
    from pyarrow import parquet

    from pippin.storage.files import atomic_write

    with atomic_write(output) as out:
        parquet.write_table(pyarrow.table(result.to_dict()), out)


def write_run(run: Run, output: str) -> None:
    """Write a run in TREC format to a file, or to the terminal (`-`)."""
    from pippin.data.qrels import write_run as write_trec_run

    write_trec_run(run, output)
