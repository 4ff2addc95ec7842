"""Files of trec_eval: judgements in four formats, results and z-scores, with the original's error messages.

Files are bytes: ids that are not UTF-8 are printed unchanged, and topics are sorted by their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from pippin.compat.trec_eval.options import TrecError, as_double, as_long
from pippin.compat.trec_eval.preferences import Judgement
from pippin.data.buffers import open_buffer
from pippin.data.qrels import Qrels, Run, parse_qrels, parse_run
from pippin.errors import DataError
from pippin.records import FrozenRecord

T = TypeVar("T")
MISSING_ZSCORE = -1000000.0

Grouped = dict[str, dict[str, dict[str, int]]]  # topic → judgement group → document → label
Preferences = dict[str, list[Judgement]]


class MessagePrefix(FrozenRecord):
    """The names of a kind of file and its reader in error messages."""

    reader: str
    file: str
    line_reader: str = ""  # the function named in errors of lines, if it is another


_QRELS = MessagePrefix("trec_eval.get_qrels", "qrels")
_RESULTS = MessagePrefix("trec_eval.get_results", "results")
_QRELS_JG = MessagePrefix("trec_eval.get_qrels_jg", "qrels")
_PREFS = MessagePrefix("trec_eval.get_prefs", "prefs")
_QRELS_PREFS = MessagePrefix("trec_eval.get_prefs", "prefs", "trec_eval.get_qrels_prefs")


def text(raw: bytes) -> str:
    """Decode bytes of a file to a text that can be written back unchanged."""
    return raw.decode("utf-8", "surrogateescape")


def raw(text: str) -> bytes:
    """Encode a text to the bytes of its file, by which texts are sorted."""
    return text.encode("utf-8", "surrogateescape")


class MalformedLine(Exception):
    """A line with too few or too many columns; its number counts data lines only."""

    def __init__(self, line: int, columns: int) -> None:
        super().__init__(line)
        self.line, self.columns = line, columns


def _read_or_fail(path: str, names: MessagePrefix, reader: Callable[[], T]) -> T:
    """Read a file, or raise the error of trec_eval."""
    try:
        return reader()
    except MalformedLine as error:
        reason = f"{names.line_reader or names.reader}: Malformed line {error.line}"
    except DataError:
        reason = f"{names.reader}: Cannot read {names.file} file '{path}'"
    raise TrecError(2, reason, f"trec_eval: Quit in file '{path}'")


def qrels(path: str, comments: bool) -> Qrels:
    """Read qrels in the standard format; raise `TrecError`."""
    return _read_or_fail(path, _QRELS, lambda: read_qrels(path, comments))


def results(path: str, comments: bool) -> Run:
    """Read results in the standard format; raise `TrecError`."""
    return _read_or_fail(path, _RESULTS, lambda: read_results(path, comments))


def read_qrels(path: str, comments: bool) -> Qrels:
    """Read qrels in the standard format; raise `MalformedLine` or `DataError`."""
    try:
        return parse_qrels(path, lenient=True, comments=comments)
    except DataError as error:
        if error.line is None:
            raise
        lines = list(_data_lines(_lines(path)[: error.line], comments))
        raise MalformedLine(len(lines), len(lines[-1].split())) from None


def read_results(path: str, comments: bool) -> Run:
    """Read results in the standard format; raise `MalformedLine` or `DataError`."""
    try:
        return parse_run(path, lenient=True, comments=comments)
    except DataError as error:
        if error.line is None:
            raise
        lines = [line.split() for line in _lines(path)[: error.line]]
        lines = [line for line in lines if line and not (comments and line[0][:1] == b"#")]
        raise MalformedLine(len(lines), len(lines[-1])) from None


def _lines(path: str) -> list[bytes]:
    return open_buffer(path).data.tobytes().removesuffix(b"\n").split(b"\n")


def _data_lines(lines: Iterable[bytes], comments: bool) -> Iterator[bytes]:
    """Yield the lines that version 10 reads: it skips lines that start with #, but not two in a row."""
    is_skipped = False
    for line in lines:
        is_skipped = comments and line[:1] == b"#" and not is_skipped
        if not is_skipped:
            yield line


def _rows(path: str, columns: int, comments: bool) -> list[list[str]]:
    """Return the columns of every line."""
    rows = []
    for number, line in enumerate(_data_lines(_lines(path), comments), 1):
        row = line.split()  # bytes are split at the blanks of C's isspace
        if len(row) != columns:
            raise MalformedLine(number, len(row))
        rows.append(list(map(text, row)))
    return rows


def grouped_qrels(path: str, comments: bool) -> Grouped:
    """Read qrels of several groups of users, given by the second column."""
    rows = _read_or_fail(path, _QRELS_JG, lambda: _rows(path, 4, comments))
    grouped: Grouped = {}
    for topic, group, document, label in sorted(rows, key=lambda row: tuple(map(raw, row[:3]))):
        documents = grouped.setdefault(topic, {}).setdefault(group, {})
        if document in documents:
            lines = f"trec_eval.get_qrels: duplicate docs {document}", f"trec_eval: Quit in file '{path}'"
            raise TrecError(2, *lines)
        documents[document] = min(max(as_long(label), -(2**31) + 1), 2**31 - 1)
    return grouped


def preferences(path: str, subgroups: bool, comments: bool) -> Preferences:
    """Read preferences from five columns, or from the four of standard judgements."""
    rows = _read_or_fail(
        path, _PREFS if subgroups else _QRELS_PREFS, lambda: _rows(path, 5 if subgroups else 4, comments)
    )
    rows.sort(key=lambda row: (raw(row[0]), raw(row[-2])))
    return {
        topic: [Judgement(row[1], row[2] if subgroups else "0", row[-2], as_double(row[-1])) for row in group]
        for topic, group in groupby(rows, lambda row: row[0])
    }


class Zscores:
    """Mean and standard deviation by topic and printed name."""

    def __init__(self, path: str, reader: str) -> None:
        try:
            rows = _rows(path, 4, comments=False)
        except MalformedLine as error:
            raise TrecError(255, f"trec_eval.get_zscores: Malformed line {error.line}") from None
        except DataError:
            raise TrecError(255, f"{reader}: Cannot read zscores file '{path}'") from None
        rows.sort(key=lambda row: (raw(row[0]), raw(row[1])))
        self._topics = [
            (raw(topic), [(raw(name), (as_double(mean), as_double(deviation))) for _, name, mean, deviation in group])
            for topic, group in groupby(rows, lambda row: row[0])
        ]

    def find(self, topic: str, name: str) -> tuple[float, float] | None:
        """Return mean and standard deviation of a measure on a topic.

        The search includes the first line of the next topic, as in the original, which reads past the end of its memory
        after the last topic.
        """
        position = _search([topic for topic, _ in self._topics], raw(topic))
        if position is None:
            return None
        entries = self._topics[position][1] + (
            self._topics[position + 1][1][:1] if position + 1 < len(self._topics) else []
        )
        index = _search([name for name, _ in entries], raw(name), len(self._topics[position][1]))
        return None if index is None else entries[index][1]


def _search(keys: list[bytes], key: bytes, end: int | None = None) -> int | None:
    """Return an index by the original's binary search, which includes one item too many."""
    start, end = 0, len(keys) if end is None else end
    while start <= end:
        middle = (start + end) // 2
        if middle == len(keys) or key < keys[middle]:
            end = middle - 1
        elif key > keys[middle]:
            start = middle + 1
        else:
            return middle
    return None


def standardise(value: float, statistics: tuple[float, float] | None) -> float:
    """Return the z-score of a value, or -1000000 if mean and deviation are missing.

    >>> standardise(0.5, (0.25, 0.125)), standardise(0.5, (0.5, 0.0)), standardise(0.5, None)
    (2.0, 0.0, -1000000.0)
    """
    if statistics is None:
        return MISSING_ZSCORE
    mean, deviation = statistics
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING_ZSCORE
