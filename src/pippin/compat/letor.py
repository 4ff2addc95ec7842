"""Emulators of the scoring scripts of LETOR 3.0, LETOR 4.0 and MSLR.

MSLR prints the tables of Eval-Score-4.0.pl for labels up to 4, of which 1 is not relevant. Its lines need a label and a
query id only, and every line is a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

import numpy as np
from numpy.typing import NDArray

from pippin.compat.common import ToolExit, as_dataset, comparable, run_emulator, write_text
from pippin.compat.perl import DIED, format_number, parse_number, parse_numbers
from pippin.data.dataset import Dataset
from pippin.evaluation.evaluation import Values, aggregate, measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.rank import rank
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools import TOOLS
from pippin.records import FrozenRecord

WRONG_COMMAND, UNREADABLE = 255, 254  # exit -1 and exit -2

_HEAD = re.compile(rb"(\d+) qid:(\S+)")
_ARGUMENTS = (
    "argv[1]: feature file \n"
    "argv[2]: prediction file\n"
    "argv[3]: result (output) file\n"
    "argv[4]: flag. If flag equals 1, output the evaluation results per query; if flag equals 0, simply output the "
    "average results.\n"
)


class Script(FrozenRecord):
    """One of the three scripts."""

    tool: str  # the tool with its convention
    usage: str  # the name in the usage line
    beginning: str  # the part of the result that is written before the script dies on a file without queries
    document: str = ""  # pattern of the comment with the document id; without one, every line is a document

    @property
    def labels(self) -> dict[bytes, int]:
        """The label texts in the tables of the script; other texts, such as `01`, count as 0."""
        return {str(label).encode(): label for label in range((TOOLS[self.tool].convention.max_valid_label or 0) + 1)}

    def values(self, ranking: Ranking, kind: str, cutoff: int | None = None) -> Values:
        """Return a measure of all queries under the script's convention."""
        measure = Measure(kind, cutoff)
        return measure_values(ranking, measure, TOOLS[self.tool].convention_for(measure))


@dataclass
class _Lines:
    """The columns of a feature file that the scripts use."""

    labels: list[int] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)
    ids: dict[bytes, int] = field(default_factory=dict)  # query id -> number of the query
    last: dict[tuple[int, bytes], int] = field(default_factory=dict)  # (query, document) -> its last line


def _read_lines(file: IO[bytes], names: tuple[str, str], available: int, script: Script) -> _Lines:
    """Parse label, query and document of every line; exit at the first invalid line or line without a score."""
    document = re.compile(script.document.encode() + rb"\n?\Z") if script.document else None
    full_pattern = re.compile(_HEAD.pattern + rb".*?" + document.pattern) if document else _HEAD
    labels, lines = script.labels, _Lines()
    match, ids, last = _HEAD.match, lines.ids, lines.last
    for row, line in enumerate(file):
        if row >= available:
            raise ToolExit(UNREADABLE, f"Error to read {names[1]} at line {row + 1}.\n")
        head = match(line)
        if head is not None and document is not None:
            tail = document.search(line, head.end())
            if tail is None:  # the greedy query id may have swallowed the start of the comment
                head = tail = full_pattern.match(line)
        if head is None:
            text = line.removesuffix(b"\n").decode("utf-8", "replace")
            raise ToolExit(UNREADABLE, f"Error to parse {names[0]} at line {row + 1}:\n{text}\n")
        lines.labels.append(labels.get(head[1], 0))
        query = ids.setdefault(head[2], len(ids))
        lines.queries.append(query)
        if document is not None and tail is not None:
            last[query, tail["document"]] = row
    return lines


def _open(path: str, quoted: str) -> IO[bytes]:
    try:
        return Path(path).open("rb")
    except OSError:
        raise ToolExit(UNREADABLE, f'Invalid command line.\nOpen {quoted}" failed.\n') from None


def read_lists(features: str, scores: str, script: Script) -> tuple[Dataset, NDArray[np.float64]]:
    """Read the data set and scores as the scripts do: queries in numeric order, and the last of repeated documents."""
    # If a file cannot be opened, the error message of the scripts has the name of a variable instead of the file.
    with _open(features, "$fnFeature") as file, _open(scores, f'"{scores}') as predictions:
        texts = predictions.read().split(b"\n")
        if not texts[-1]:
            texts.pop()
        lines = _read_lines(file, (features, scores), len(texts), script)
    count = len(lines.labels)
    values = comparable(parse_numbers(texts[:count]), scores)
    queries = np.array(lines.queries, np.int64)
    rows = np.arange(count)
    if script.document and len(lines.last) < count:
        rows = np.sort(np.fromiter(lines.last.values(), np.int64, len(lines.last)))
    ids = list(lines.ids)
    order = sorted(range(len(ids)), key=lambda q: parse_number(ids[q]))
    position = np.empty(len(ids), np.int64)
    position[order] = np.arange(len(ids))
    rows = rows[np.argsort(position[queries[rows]], kind="stable")]
    sizes = np.bincount(position[queries[rows]], minlength=len(ids))
    names = [ids[q].decode("utf-8", "surrogateescape") for q in order]
    return as_dataset(np.array(lines.labels, np.int32)[rows], sizes, names, features), values[rows]


def check_arguments(arguments: list[str], script: Script) -> bool:
    """Return whether results per query are requested; exit on a wrong command line."""
    usage = "Invalid command line.\nUsage: perl {} argv[1] argv[2] argv[3] argv[4]\n"
    if len(arguments) != 4:
        raise ToolExit(WRONG_COMMAND, usage.format(script.usage) + _ARGUMENTS)
    flag = parse_number(arguments[3].encode())
    if flag not in (0, 1):
        raise ToolExit(WRONG_COMMAND, usage.format("Eval.pl") + "Flag should be 0 or 1\n")
    return flag == 1


def score(
    script: Script, render: Callable[[Script, Ranking, bool], str], arguments: list[str], out: TextIO, err: TextIO
) -> int:
    """Run a script: read, rank, render and write the result."""

    def emulate() -> None:
        per_query = check_arguments(arguments, script)
        data, scores = read_lists(arguments[0], arguments[1], script)
        if not data.queries:
            write_text(arguments[2], script.beginning)
            raise ToolExit(DIED, err="Illegal division by zero\n")
        ranking = rank(data, scores, TOOLS[script.tool].convention)
        write_text(arguments[2], render(script, ranking, per_query))

    return run_emulator(emulate, out, err)


LETOR3 = Script("letor3", "Eval.pl", "precision:\t\t\n\n", r"#docid = (?P<document>\S+)")
POSITIONS_LETOR3 = 16


def _measure_lines(script: Script, ranking: Ranking, kind: str, name: str, per_query: bool) -> Iterator[str]:
    """Yield one measure at all positions: a line per query, then the means."""
    depth = np.minimum(ranking.sizes(), POSITIONS_LETOR3)
    columns = [script.values(ranking, kind, k + 1) for k in range(int(depth.max(initial=0)))]
    if per_query:
        table = np.array(columns).T.tolist()
        for query, row in enumerate(table):
            yield f"{name} of query{query}:\t" + "\t".join(map(format_number, row[: depth[query]])) + "\t\n"
    yield f"{name}:\t" + "\t".join(format_number(aggregate(c, "mean")) for c in columns) + "\t\n\n"


def _map_lines(script: Script, ranking: Ranking, per_query: bool) -> Iterator[str]:
    values = script.values(ranking, "AP")
    if per_query:
        for query, value in enumerate(values.tolist()):
            yield f"Map of query{query}:\t{format_number(value)}\n"
    yield f"MAP:\t{format_number(aggregate(values, 'mean'))}\n\n"


def render_letor3(script: Script, ranking: Ranking, per_query: bool) -> str:
    """Return the result file."""
    precision = _measure_lines(script, ranking, "P", "precision", per_query)
    gain = _measure_lines(script, ranking, "NDCG", "NDCG", per_query)
    return "".join([*precision, *_map_lines(script, ranking, per_query), *gain])


def main_letor3(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run Eval-Score-3.0.pl FILE SCORES OUT FLAG."""
    return score(LETOR3, render_letor3, arguments, out, err)


POSITIONS = 10


def _header(kind: str, last: str) -> str:
    return "\t".join(["qid", *(f"{kind}@{k}" for k in range(1, POSITIONS + 1)), last]) + "\n"


def _row(name: str, values: list[float]) -> str:
    return name + "\t" + "\t".join([f"{v:.4f}" for v in values]) + "\n"


def _table(script: Script, ranking: Ranking, kind: str, last: tuple[str, str], per_query: bool) -> Iterator[str]:
    """Yield a measure at all positions, with its summary `last` (kind, name in the header)."""
    columns = [script.values(ranking, kind, k) for k in range(1, POSITIONS + 1)]
    columns.append(script.values(ranking, last[0]))
    yield _header(kind, last[1])
    if per_query:
        for query, values in zip(ranking.query_ids, np.array(columns).T.tolist(), strict=True):
            yield _row(query, values)
    yield _row("Average", [aggregate(c, "mean") for c in columns]) + "\n"


def render_letor4(script: Script, ranking: Ranking, per_query: bool) -> str:
    """Return the result file."""
    precision = _table(script, ranking, "P", ("AP", "MAP"), per_query)
    gain = _table(script, ranking, "NDCG", ("MeanNDCG", "MeanNDCG"), per_query)
    return "".join([*precision, *gain])


# On a file without queries the script dies at the division for the first mean.
BEGINNING = _header("P", "MAP") + "Average\t"
LETOR4 = Script("letor4", "Eval.pl", BEGINNING, r"#docid = (?P<document>\S+) inc = \S+ prob = \S+")


def main_letor4(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run Eval-Score-4.0.pl FILE SCORES OUT FLAG."""
    return score(LETOR4, render_letor4, arguments, out, err)


MSLR = Script("mslr", "eval-score-mslr.pl", BEGINNING)


def main_mslr(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run eval-score-mslr.pl FILE SCORES OUT FLAG."""
    return score(MSLR, render_letor4, arguments, out, err)
