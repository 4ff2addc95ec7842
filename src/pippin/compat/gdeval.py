"""Emulator of gdeval.pl of the TREC Web track.

It prints NDCG@k and ERR@k of every topic of the run with a relevant document, with 5 decimals, and their mean; `-c`
divides by all such topics of the judgements. With `-baseline RUN` the values are differences from that run, with losses
weighted by 1 + `-riskAlpha`. Topics are numbers, after an optional prefix that ends with `-`; duplicate documents count
twice. Source: gdeval.pl 1.3 of trec-web-2014.

The exit status of a script that dies is errno. Opening a file sets it to ENOTTY, parsing a number out of the range of a
double sets it to ERANGE, and the end of a file resets it; then the status is that of the last command that the script
ran, a search for bzcat.
"""

from __future__ import annotations

import errno
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO, cast

import numpy as np

from pippin.compat.common import ToolExit, as_dataset, comparable, run_emulator, weigh_difference, with_pools
from pippin.compat.perl import DIED, format_number, out_of_range, parse_number, parse_numbers, sprintf
from pippin.evaluation.evaluation import measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.rank import rank
from pippin.evaluation.tools import TOOLS
from pippin.kernels.ranking import order_lists
from pippin.records import FrozenRecord

NAME = "gdeval.pl"
VERSION = "version 1.3 (Mon Apr 29 20:50:24 EDT 2013)"
MAX_LABEL = 4
USAGE = f"""usage: {NAME} [options] qrels run

  options:

    -c                       divide by all topics with a relevant document, in the run or not
    -k value                 depth of the ranking, at least 1 (default 20)
    -baseline file           print differences from this run
    -riskAlpha value         weight of a loss against the baseline is 1 + value (default 0)
"""


def perl_exit_status(error: int = 0) -> int:
    """Return the exit status of a script that dies with this errno."""
    return error or (255 if shutil.which("bzcat") else 1)


@dataclass
class Options:
    """The parsed command line."""

    cutoff: int | None = 20  # None for the full list
    printed_cutoff: str = "20"
    complete: bool = False
    baseline: str | None = None
    risk: str = "0"
    files: list[str] = field(default_factory=list)


def parse_options(arguments: list[str]) -> Options:
    """Parse options until two arguments remain, the files."""
    options, remaining = Options(), list(arguments)
    if remaining and remaining[0] in ("-v", "-version"):
        raise ToolExit(0, f"{NAME}: {VERSION}\n")
    while len(remaining) != 2:
        first = remaining[0] if remaining else ""
        if first == "-help":
            raise ToolExit(0, USAGE + "\n")
        if first == "-c" and len(remaining) > 2:
            options.complete = True
            del remaining[0]
        elif first in ("-k", "-baseline", "-riskAlpha") and len(remaining) > 3:
            value = remaining[1]
            if first == "-k":
                options.cutoff, options.printed_cutoff = _cutoff(value)
            elif first == "-baseline":
                options.baseline = value
            else:
                options.risk = value
                _require(not parse_number(value.encode()) < 0, value)
            del remaining[:2]
        else:
            raise ToolExit(perl_exit_status(), err=USAGE)
    options.files = remaining
    return options


def _require(is_valid: bool, text: str) -> None:
    """Exit with the usage if the number of a text is invalid."""
    if not is_valid:
        raise ToolExit(perl_exit_status(errno.ERANGE if out_of_range(text.encode()) else 0), err=USAGE)


def _cutoff(text: str) -> tuple[int | None, str]:
    """Return the cutoff and its printed text; infinity and NaN are valid."""
    value = parse_number(text.encode())
    _require(not value < 1, text)
    if not math.isfinite(value):
        return None, "NaN" if math.isnan(value) else "Inf"
    integer = int(text) if text.isascii() and text.isdigit() else int(value)
    return min(integer, 2**53), str(integer) if integer < 2**64 and value < 2**63 else format_number(value)


@dataclass
class Line:
    """One line of a file: its number, its words, and errno after it was read."""

    row: int
    words: list[bytes]
    error: int


def _lines(path: str) -> Iterator[Line]:
    """Yield the lines of a file; files with .gz or .bz2 in their names are decompressed."""
    try:
        with _open(path) as file:
            for row, line in enumerate(file, 1):
                yield Line(row, line.replace(b"\r", b"").split(), DIED if line.endswith(b"\n") else 0)
    except (OSError, EOFError) as error:
        status = getattr(error, "errno", None) or errno.EIO
        reason = getattr(error, "strerror", None) or error
        raise ToolExit(status, err=f"Invalid ffile: {path} - {reason}\n") from None


def _open(path: str) -> IO[bytes]:
    if ".gz" in path:
        import gzip

        return cast(IO[bytes], gzip.open(path, "rb"))
    if ".bz2" in path:
        import bz2

        return cast(IO[bytes], bz2.open(path, "rb"))
    return Path(path).open("rb")


def _format_error(line: Line, path: str) -> ToolExit:
    return ToolExit(perl_exit_status(line.error), err=f'{NAME}: format error on line {line.row} of "{path}"\n')


def _topic(word: bytes) -> bytes:
    return word.rsplit(b"-", 1)[-1]


def _topic_number(topic: bytes) -> float:
    """Return the number of a topic, which is the same for 7 and 007."""
    integer = int(topic)
    return integer if integer < 2**64 else float(topic)


@dataclass
class Judgements:
    """The positive judgements."""

    topics: set[bytes] = field(default_factory=set)
    pools: dict[float, list[int]] = field(default_factory=dict)  # labels by topic number
    names: dict[float, tuple[int, bytes]] = field(default_factory=dict)  # highest label, and the name it was read with
    labels: dict[tuple[bytes, bytes], int] = field(default_factory=dict)  # by topic and document

    def add(self, topic: bytes, document: bytes, label: int) -> None:
        """Add a judgement; the first one with the highest label names the topic."""
        key, number = (topic, document), _topic_number(topic)
        self.topics.add(topic)
        self.pools.setdefault(number, []).append(label)
        self.labels[key] = min(label, self.labels.get(key, label))
        if number not in self.names or label > self.names[number][0]:
            self.names[number] = label, topic


def read_judgements(path: str) -> Judgements:
    """Read judgements above 0; of two for a document, the lower one is its label and both are in the ideal list."""
    judgements, label_texts = Judgements(), {str(label).encode(): label for label in range(1, MAX_LABEL + 1)}
    error = DIED
    for line in _lines(path):
        error = line.error = line.error and error
        topic, zero, document, text = [*line.words, b"", b"", b"", b""][:4]
        topic = _topic(topic)
        if not topic.isdigit():
            raise _format_error(line, path)
        if out_of_range(zero):
            error = line.error = errno.ERANGE
        if parse_number(zero) != 0 or not text.removeprefix(b"-").isdigit():
            raise _format_error(line, path)
        label = label_texts[text] if text in label_texts else int(text)
        if label > MAX_LABEL:
            raise _format_error(line, path)
        if label > 0:
            judgements.add(topic, document, label)
    return judgements


class RunValues(FrozenRecord):
    """NDCG and ERR by topic, in numeric order of the topics, and the name of the run."""

    run: str
    values: dict[bytes, tuple[float, float]]
    failure: ToolExit | None = None  # the error of the script after these topics


@dataclass
class RetrievedRun:
    """A run: its name, from the last line, and the rows (topic, document, score) by topic number."""

    run: bytes = b"?????"
    rows: dict[float, list[tuple[bytes, bytes, bytes]]] = field(default_factory=dict)


def read_run(path: str) -> RetrievedRun:
    """Read and validate a run."""
    retrieved = RetrievedRun()
    for line in _lines(path):
        words = line.words
        if len(words) < 6 or words[1] != b"Q0" or not words[3].isdigit() or words[5] == b"0":
            raise _format_error(line, path)
        topic = _topic(words[0])
        if not topic.isdigit():
            raise _format_error(line, path)
        retrieved.rows.setdefault(_topic_number(topic), []).append((topic, words[2], words[4]))
        retrieved.run = words[5]
    return retrieved


def _no_ideal(error: int) -> ToolExit:
    return ToolExit(perl_exit_status(error), err=f"Illegal division by zero at {NAME}\n")


def evaluate_run(path: str, judgements: Judgements, cutoff: int | None) -> RunValues:
    """Evaluate the topics with a relevant document, up to one without an ideal list, at which the script dies."""
    retrieved = read_run(path)
    topic_numbers = sorted(retrieved.rows)
    rows = [row for place in topic_numbers for row in retrieved.rows[place]]
    scores = comparable(parse_numbers([score for _, _, score in rows]), path)
    labels = [judgements.labels.get((topic, document), 0) for topic, document, _ in rows]
    documents = [document for _, document, _ in rows]
    sizes = [len(retrieved.rows[place]) for place in topic_numbers]
    data = as_dataset(labels, sizes, [str(place) for place in topic_numbers], path, documents)
    tool = TOOLS["gdeval"]
    ranking = rank(data, scores, tool.convention)
    # The name of a topic is that of its first document; topics without judgements under this name are left out.
    order = order_lists(scores, data.labels, data.offsets, data.document_ids, tool.convention.ties, False)
    names = [rows[order[offset]][0] for offset in data.offsets[:-1].tolist()]
    evaluated = [i for i, name in enumerate(names) if name in judgements.topics]
    failing = next((i for i in evaluated if judgements.names[topic_numbers[i]][1] != names[i]), None)
    evaluated = evaluated if failing is None else evaluated[: evaluated.index(failing)]
    pools = [judgements.pools[topic_numbers[i]] for i in evaluated]
    pooled = as_dataset(
        [x for pool in pools for x in pool], list(map(len, pools)), [names[i].decode() for i in evaluated], path
    )
    ranking = with_pools(ranking.select(np.array(evaluated, np.int64)), pooled, range(len(evaluated)))
    columns = [
        measure_values(ranking, measure, tool.convention_for(measure)).tolist()
        for measure in (Measure("NDCG", cutoff), Measure("ERR", cutoff))
    ]
    values = dict(zip([names[i] for i in evaluated], zip(*columns, strict=True), strict=True))
    failure = None
    if failing is not None:
        error = errno.ERANGE if any(out_of_range(score) for _, _, score in rows) else 0
        failure = _no_ideal(error)
    return RunValues(retrieved.run.decode("utf-8", "surrogateescape"), values, failure)


def relative_to_baseline(result: RunValues, base: RunValues, options: Options, judgements: Judgements) -> RunValues:
    """Return weighted differences from a baseline, with `-c` also of topics that only the judgements have."""
    alpha = parse_number(options.risk.encode())

    zeros = (0.0, 0.0)
    values = {
        topic: (weigh_difference(pair[0], base.values.get(topic, zeros)[0], alpha),
                weigh_difference(pair[1], base.values.get(topic, zeros)[1], alpha))
        for topic, pair in result.values.items()
    }  # fmt: skip
    failure = result.failure
    if options.complete and failure is None:
        previous = zeros  # for a topic without a baseline value the script uses that of the previous topic
        for topic in sorted(judgements.topics - result.values.keys(), key=int):
            if judgements.names[_topic_number(topic)][1] != topic:
                failure = _no_ideal(0)
                break
            previous = base.values.get(topic, previous)
            values[topic] = (weigh_difference(0.0, previous[0], alpha), weigh_difference(0.0, previous[1], alpha))
    return RunValues(f"{result.run} (rel to. {base.run}, rs=1+a, a={options.risk})", values, failure)


def render(result: RunValues, cutoff: str, topics: int) -> str:
    """Return the printed table, with means over `topics` topics unless the script died."""
    lines = [f"runid,topic,ndcg@{cutoff},err@{cutoff}\n"]
    totals = [0.0, 0.0]
    for topic, pair in result.values.items():
        lines.append(sprintf(f"{result.run},{topic.decode()},%.5f,%.5f\n", *pair))
        totals = [total + value for total, value in zip(totals, pair, strict=True)]
    if result.failure is not None:
        return "".join(lines)
    means = [total / max(topics, 1) for total in totals]
    return "".join(lines) + sprintf(f"{result.run},amean,%.5f,%.5f\n", *means)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run gdeval.pl [-c] [-k N] [-baseline RUN] [-riskAlpha A] QRELS RUN."""

    def emulate() -> None:
        options = parse_options(arguments)
        judgements = read_judgements(options.files[0])
        base = evaluate_run(options.baseline, judgements, options.cutoff) if options.baseline is not None else None
        if base is not None and base.failure is not None:
            raise base.failure
        result = evaluate_run(options.files[1], judgements, options.cutoff)
        if base is not None:
            result = relative_to_baseline(result, base, options, judgements)
        n_topics = len(judgements.topics) if options.complete else len(result.values)
        out.write(render(result, options.printed_cutoff, n_topics))
        if result.failure is not None:
            raise result.failure

    return run_emulator(emulate, out, err)
