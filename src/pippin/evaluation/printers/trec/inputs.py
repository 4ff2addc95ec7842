"""What trec_eval reads: judgements in four formats, results, and z-scores, with what it says of a bad file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from pippin.data.trec import Judgements, Run
from pippin.data.trec_text import read_judgements, read_run
from pippin.errors import DataError
from pippin.evaluation.printers.trec.columns import TrecError, Uncomputable
from pippin.evaluation.printers.trec.options import as_double, as_long
from pippin.evaluation.printers.trec.preferences import Judgement

T = TypeVar("T")
MISSING_ZSCORE = -1000000.0
DUPLICATE = re.compile(r"document (\S+) stands twice in query")  # how DataError says it

Zscores = dict[tuple[str, str], tuple[float, float]]
Grouped = dict[str, dict[str, dict[str, int]]]  # topic → judgement group → document → label
Preferences = dict[str, list[Judgement]]


@dataclass(frozen=True)
class Words:
    """What trec_eval calls a kind of file in its complaints."""

    reader: str
    file: str


_QRELS = Words("trec_eval.get_qrels", "qrels")
_RESULTS = Words("trec_eval.get_results", "results")
_QRELS_JG = Words("trec_eval.get_qrels_jg", "qrels")
_PREFS = Words("trec_eval.get_prefs", "prefs")


def _read(path: str, words: Words, reader: Callable[[str], T]) -> T:
    """Read a file, or say what trec_eval says."""
    try:
        return reader(path)
    except DataError as error:
        found = DUPLICATE.search(error.message)
        if found:
            raise Uncomputable(f"trec_eval.form_res_rels: duplicate docs {found[1]}\n") from None
        reason = f"{words.reader}: Cannot read {words.file} file '{path}'"
        if error.line is not None:
            reason = f"{words.reader}: Malformed line {error.line}"
        raise TrecError(2, reason, f"trec_eval: Quit in file '{path}'") from None


def qrels(path: str) -> Judgements:
    """Judgements in the standard format."""
    return _read(path, _QRELS, lambda p: read_judgements(p, lenient=True, merge_queries=True))


def results(path: str) -> Run:
    """Results in the standard format."""
    return _read(path, _RESULTS, lambda p: read_run(p, lenient=True, merge_queries=True))


def _lines(path: str, columns: int) -> list[list[str]]:
    """The columns of every line, all of them needed; a line that starts with # is left out, as version 10 does."""
    try:
        text = Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise DataError(error.strerror or "the file cannot be read", path) from None
    lines = text.removesuffix("\n").split("\n")
    if not text:
        raise DataError("the file is empty", path)
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if not line.startswith("#")]
    for number, row in rows:
        if len(row) != columns:
            raise DataError(f"{columns} columns are needed", path, number)
    return [row for _, row in rows]


def _read_grouped(path: str) -> Grouped:
    grouped: Grouped = {}
    for topic, group, document, label in _lines(path, 4):
        documents = grouped.setdefault(topic, {}).setdefault(group, {})
        if document in documents:
            raise DataError(f"document {document} stands twice in query {topic}", path)
        documents[document] = as_long(label)
    return grouped


def grouped_qrels(path: str) -> Grouped:
    """Judgements of several groups of users, told apart by the second column."""
    return _read(path, _QRELS_JG, _read_grouped)


def _read_preferences(path: str, subgroups: bool) -> Preferences:
    rows = _lines(path, 5 if subgroups else 4)
    judgements = [
        (row[0], Judgement(row[1], row[2] if subgroups else "0", row[-2], as_double(row[-1]))) for row in rows
    ]
    judgements.sort(key=lambda pair: pair[0])
    return {topic: [judgement for _, judgement in group] for topic, group in groupby(judgements, lambda pair: pair[0])}


def preferences(path: str, subgroups: bool) -> Preferences:
    """Preferences, from five columns or from the four of standard judgements."""
    return _read(path, _PREFS, lambda p: _read_preferences(p, subgroups))


def zscores(path: str) -> Zscores:
    """Mean and standard deviation by topic and printed name."""
    try:
        rows = _lines(path, 4)
    except DataError as error:
        reason = f"trec_eval.get_prefs: Cannot read zscores file '{path}'"
        raise TrecError(255, f"trec_eval.get_zscores: Malformed line {error.line}" if error.line else reason) from None
    return {(topic, name): (as_double(mean), as_double(deviation)) for topic, name, mean, deviation in rows}


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
