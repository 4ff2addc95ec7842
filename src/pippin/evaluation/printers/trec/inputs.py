"""What trec_eval reads: judgements in four formats, results, and z-scores, with what it says of a bad file.

Files are bytes: an id that is no UTF-8 comes out as it went in, and topics are sorted by their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from pippin.data.buffers import open_buffer
from pippin.data.trec import Judgements, Run
from pippin.data.trec_text import read_judgements, read_run
from pippin.errors import DataError
from pippin.evaluation.printers.trec.columns import TrecError
from pippin.evaluation.printers.trec.options import as_double, as_long
from pippin.evaluation.printers.trec.preferences import Judgement
from pippin.frozen import Frozen

T = TypeVar("T")
MISSING_ZSCORE = -1000000.0

Grouped = dict[str, dict[str, dict[str, int]]]  # topic → judgement group → document → label
Preferences = dict[str, list[Judgement]]


class Words(Frozen):
    """What trec_eval calls a kind of file in its complaints."""

    reader: str
    file: str
    line_reader: str = ""  # where another part reads the lines


_QRELS = Words("trec_eval.get_qrels", "qrels")
_RESULTS = Words("trec_eval.get_results", "results")
_QRELS_JG = Words("trec_eval.get_qrels_jg", "qrels")
_PREFS = Words("trec_eval.get_prefs", "prefs")
_QRELS_PREFS = Words("trec_eval.get_prefs", "prefs", "trec_eval.get_qrels_prefs")


def text(raw: bytes) -> str:
    """Bytes of a file as text that can be written back unchanged."""
    return raw.decode("utf-8", "surrogateescape")


def raw(text: str) -> bytes:
    """The bytes that a text was in its file; texts sort by them."""
    return text.encode("utf-8", "surrogateescape")


class Malformed(Exception):
    """A line has not the columns it needs, or more; its number counts lines that are data."""

    def __init__(self, line: int, columns: int) -> None:
        super().__init__(line)
        self.line, self.columns = line, columns


def _reading(path: str, words: Words, reader: Callable[[], T]) -> T:
    """Read a file, or say what trec_eval says."""
    try:
        return reader()
    except Malformed as error:
        reason = f"{words.line_reader or words.reader}: Malformed line {error.line}"
    except DataError:
        reason = f"{words.reader}: Cannot read {words.file} file '{path}'"
    raise TrecError(2, reason, f"trec_eval: Quit in file '{path}'")


def qrels(path: str, comments: bool) -> Judgements:
    """Judgements in the standard format."""
    return _reading(path, _QRELS, lambda: read_qrels(path, comments))


def results(path: str, comments: bool) -> Run:
    """Results in the standard format."""
    return _reading(path, _RESULTS, lambda: read_results(path, comments))


def read_qrels(path: str, comments: bool) -> Judgements:
    """Judgements in the standard format, `Malformed` or `DataError`."""
    try:
        return read_judgements(path, lenient=True, comments=comments)
    except DataError as error:
        if error.line is None:
            raise
        lines = list(_data_lines(_lines(path)[: error.line], comments))
        raise Malformed(len(lines), len(lines[-1].split())) from None


def read_results(path: str, comments: bool) -> Run:
    """Results in the standard format, `Malformed` or `DataError`."""
    try:
        return read_run(path, lenient=True, comments=comments)
    except DataError as error:
        if error.line is None:
            raise
        lines = [line.split() for line in _lines(path)[: error.line]]
        lines = [line for line in lines if line and not (comments and line[0][:1] == b"#")]
        raise Malformed(len(lines), len(lines[-1])) from None


def _lines(path: str) -> list[bytes]:
    return open_buffer(path).data.tobytes().removesuffix(b"\n").split(b"\n")


def _data_lines(lines: Iterable[bytes], comments: bool) -> Iterator[bytes]:
    """The lines without those that version 10 leaves out: one that starts with # after one that was not left out."""
    left_out = False
    for line in lines:
        left_out = comments and line[:1] == b"#" and not left_out
        if not left_out:
            yield line


def _rows(path: str, columns: int, comments: bool) -> list[list[str]]:
    """The columns of every line, all of them needed."""
    rows = []
    for number, line in enumerate(_data_lines(_lines(path), comments), 1):
        row = line.split()  # for bytes, at what C's isspace takes for a blank
        if len(row) != columns:
            raise Malformed(number, len(row))
        rows.append(list(map(text, row)))
    return rows


def grouped_qrels(path: str, comments: bool) -> Grouped:
    """Judgements of several groups of users, told apart by the second column."""
    rows = _reading(path, _QRELS_JG, lambda: _rows(path, 4, comments))
    grouped: Grouped = {}
    for topic, group, document, label in sorted(rows, key=lambda row: tuple(map(raw, row[:3]))):
        documents = grouped.setdefault(topic, {}).setdefault(group, {})
        if document in documents:
            lines = f"trec_eval.get_qrels: duplicate docs {document}", f"trec_eval: Quit in file '{path}'"
            raise TrecError(2, *lines)
        documents[document] = min(max(as_long(label), -(2**31) + 1), 2**31 - 1)
    return grouped


def preferences(path: str, subgroups: bool, comments: bool) -> Preferences:
    """Preferences, from five columns or from the four of standard judgements."""
    rows = _reading(path, _PREFS if subgroups else _QRELS_PREFS, lambda: _rows(path, 5 if subgroups else 4, comments))
    rows.sort(key=lambda row: (raw(row[0]), raw(row[-2])))
    return {
        topic: [Judgement(row[1], row[2] if subgroups else "0", row[-2], as_double(row[-1])) for row in group]
        for topic, group in groupby(rows, lambda row: row[0])
    }


class Zscores:
    """Mean and standard deviation by topic and printed name."""

    def __init__(self, path: str, words: str) -> None:
        try:
            rows = _rows(path, 4, comments=False)
        except Malformed as error:
            raise TrecError(255, f"trec_eval.get_zscores: Malformed line {error.line}") from None
        except DataError:
            raise TrecError(255, f"{words}: Cannot read zscores file '{path}'") from None
        rows.sort(key=lambda row: (raw(row[0]), raw(row[1])))
        self._topics = [
            (raw(topic), [(raw(name), (as_double(mean), as_double(deviation))) for _, name, mean, deviation in group])
            for topic, group in groupby(rows, lambda row: row[0])
        ]

    def find(self, topic: str, name: str) -> tuple[float, float] | None:
        """What is known of a topic's value. A name beyond the last of its topic is looked for in the first line of the
        next one too, as the original does; behind the last topic it looks at memory that is not its own.
        """
        place = _search([topic for topic, _ in self._topics], raw(topic))
        if place is None:
            return None
        known = self._topics[place][1] + (self._topics[place + 1][1][:1] if place + 1 < len(self._topics) else [])
        index = _search([name for name, _ in known], raw(name), len(self._topics[place][1]))
        return None if index is None else known[index][1]


def _search(keys: list[bytes], key: bytes, end: int | None = None) -> int | None:
    """The halving search of the original, which decides among equal keys; it looks one item too far."""
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


def standardise(value: float, known: tuple[float, float] | None) -> float:
    """A value as its distance from the mean in standard deviations; a fixed number where that is not known.

    >>> standardise(0.5, (0.25, 0.125)), standardise(0.5, (0.5, 0.0)), standardise(0.5, None)
    (2.0, 0.0, -1000000.0)
    """
    if known is None:
        return MISSING_ZSCORE
    mean, deviation = known
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING_ZSCORE
