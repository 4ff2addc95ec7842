"""What do LETOR's scoring scripts take from a feature file and a score file, and when do they give up?

Eval-Score-3.0.pl, Eval-Score-4.0.pl and eval-score-mslr.pl read alike but for the pattern of a line. Queries are
gathered by id wherever they stand and come in numeric order of their ids; in 3.0 and 4.0 a document id that comes
back in a query replaces the earlier line. Source: the three scripts by Jun Xu and Tie-Yan Liu, Microsoft Research.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.evaluate import Values, measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.printers._lists import as_dataset, comparable, write_text
from pippin.evaluation.printers._perl import DIED, number, numbers
from pippin.evaluation.printers._stop import Stop, ending
from pippin.evaluation.ranking import Ranking, rank
from pippin.evaluation.tools import TOOLS
from pippin.frozen import Frozen

WRONG_COMMAND, UNREADABLE = 255, 254  # exit -1 and exit -2

_HEAD = re.compile(rb"(\d+) qid:(\S+)")
_ARGUMENTS = (
    "argv[1]: feature file \n"
    "argv[2]: prediction file\n"
    "argv[3]: result (output) file\n"
    "argv[4]: flag. If flag equals 1, output the evaluation results per query; if flag equals 0, simply output the "
    "average results.\n"
)


class Script(Frozen):
    """One of the three scripts."""

    tool: str  # its convention
    usage: str  # its name in its usage line
    beginning: str  # what it has written of a result when it dies of a file without a query
    document: str = ""  # the comment with the document id; without one, every line is a document of its own

    @property
    def labels(self) -> dict[bytes, int]:
        """Label texts that the script's tables know; any other, `01` included, counts nothing."""
        return {str(label).encode(): label for label in range((TOOLS[self.tool].convention.top_label or 0) + 1)}

    def values(self, ranking: Ranking, kind: str, cutoff: int | None = None) -> Values:
        """One measure of all queries under the script's convention."""
        measure = Measure(kind, cutoff)
        return measure_values(ranking, measure, TOOLS[self.tool].convention_for(measure))


@dataclass
class _Lines:
    """The columns of a feature file, as far as the scripts look at them."""

    labels: list[int] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)
    ids: dict[bytes, int] = field(default_factory=dict)  # query id -> number of the query
    last: dict[tuple[int, bytes], int] = field(default_factory=dict)  # (query, document) -> its last line


def _read_lines(file: IO[bytes], names: tuple[str, str], available: int, script: Script) -> _Lines:
    """Take label, query and document from every line, or stop at the first that does not fit or has no score."""
    document = re.compile(script.document.encode() + rb"\n?\Z") if script.document else None
    whole = re.compile(_HEAD.pattern + rb".*?" + document.pattern) if document else _HEAD
    known, lines = script.labels, _Lines()
    match, ids, last = _HEAD.match, lines.ids, lines.last
    for row, line in enumerate(file):
        if row >= available:
            raise Stop(UNREADABLE, f"Error to read {names[1]} at line {row + 1}.\n")
        head = match(line)
        if head is not None and document is not None:
            tail = document.search(line, head.end())
            if tail is None:  # the greedy query id may have swallowed the start of the comment
                head = tail = whole.match(line)
        if head is None:
            text = line.removesuffix(b"\n").decode("utf-8", "replace")
            raise Stop(UNREADABLE, f"Error to parse {names[0]} at line {row + 1}:\n{text}\n")
        lines.labels.append(known.get(head[1], 0))
        query = ids.setdefault(head[2], len(ids))
        lines.queries.append(query)
        if document is not None and tail is not None:
            last[query, tail["document"]] = row
    return lines


def _open(path: str, shown: str) -> IO[bytes]:
    try:
        return Path(path).open("rb")
    except OSError:
        raise Stop(UNREADABLE, f'Invalid command line.\nOpen {shown}" failed.\n') from None


def read_lists(features: str, scores: str, script: Script) -> tuple[Dataset, NDArray[np.float64]]:
    """The data set and scores as the script sees them: queries in numeric order, repeated documents replaced."""
    # The scripts mean to name the file they cannot open, but quote the name of a variable instead.
    with _open(features, "$fnFeature") as file, _open(scores, f'"{scores}') as predictions:
        texts = predictions.read().split(b"\n")
        if not texts[-1]:
            texts.pop()
        lines = _read_lines(file, (features, scores), len(texts), script)
    count = len(lines.labels)
    values = comparable(numbers(texts[:count]), scores)
    queries = np.array(lines.queries, np.int64)
    rows = np.arange(count)
    if script.document and len(lines.last) < count:
        rows = np.sort(np.fromiter(lines.last.values(), np.int64, len(lines.last)))
    ids = list(lines.ids)
    order = sorted(range(len(ids)), key=lambda q: number(ids[q]))
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids))
    rows = rows[np.argsort(place[queries[rows]], kind="stable")]
    sizes = np.bincount(place[queries[rows]], minlength=len(ids))
    names = [ids[q].decode("utf-8", "surrogateescape") for q in order]
    return as_dataset(np.array(lines.labels, np.int32)[rows], sizes, names, features), values[rows]


def check_arguments(arguments: list[str], script: Script) -> bool:
    """Whether results per query are wanted; stops on a wrong command line."""
    wrong = "Invalid command line.\nUsage: perl {} argv[1] argv[2] argv[3] argv[4]\n"
    if len(arguments) != 4:
        raise Stop(WRONG_COMMAND, wrong.format(script.usage) + _ARGUMENTS)
    flag = number(arguments[3].encode())
    if flag not in (0, 1):
        raise Stop(WRONG_COMMAND, wrong.format("Eval.pl") + "Flag should be 0 or 1\n")
    return flag == 1


def score(
    script: Script, render: Callable[[Script, Ranking, bool], str], arguments: list[str], out: TextIO, err: TextIO
) -> int:
    """Run a script: read, rank, and write what `render` makes of the ranking."""

    def work() -> None:
        per_query = check_arguments(arguments, script)
        data, scores = read_lists(arguments[0], arguments[1], script)
        if not data.queries:
            write_text(arguments[2], script.beginning)
            raise Stop(DIED, err="Illegal division by zero\n")
        ranking = rank(data, scores, TOOLS[script.tool].convention)
        write_text(arguments[2], render(script, ranking, per_query))

    return ending(work, out, err)
