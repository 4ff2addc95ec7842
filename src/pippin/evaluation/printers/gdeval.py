"""What does gdeval.pl of the TREC Web track print?

NDCG@k and ERR@k of every topic of the run that has a relevant document, with 5 decimals, and their mean; `-c` divides
by all such topics of the judgements instead. With `-baseline RUN` the values are differences from that run's, losses
weighted by 1 + `-riskAlpha`. Topics are numbers, whatever stands before a `-` in them; a document listed twice counts
twice. Source: gdeval.pl 1.3 of trec-web-2014.

A script that dies ends with the system's last error. Opening a file leaves one behind (ENOTTY), reading a number that
no double holds another, and the end of a file wipes it out; then the last command that the script ran decides, a
search for bzcat.
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

from pippin.evaluation.evaluate import measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.printers._lists import as_dataset, comparable, with_pools
from pippin.evaluation.printers._perl import DIED, number, numbers, out_of_range, show, sprintf
from pippin.evaluation.printers._stop import Stop, ending
from pippin.evaluation.ranking import rank
from pippin.evaluation.tools import TOOLS
from pippin.frozen import Frozen
from pippin.kernels.rank import order_lists

NAME = "gdeval.pl"
VERSION = "version 1.3 (Mon Apr 29 20:50:24 EDT 2013)"
LARGEST_LABEL = 4
USAGE = f"""usage: {NAME} [options] qrels run

  options:

    -c                       divide by all topics with a relevant document, in the run or not
    -k value                 depth of the ranking, at least 1 (default 20)
    -baseline file           print differences from this run
    -riskAlpha value         weight of a loss against the baseline is 1 + value (default 0)
"""


def died(error: int = 0) -> int:
    """The status of a script that dies with this error of the system."""
    return error or (255 if shutil.which("bzcat") else 1)


@dataclass
class Options:
    """What the command line asks for."""

    cutoff: int | None = 20  # None: the whole list
    shown_cutoff: str = "20"
    complete: bool = False
    baseline: str | None = None
    risk: str = "0"
    files: list[str] = field(default_factory=list)


def parse_options(arguments: list[str]) -> Options:
    """Options stand before the two files, and are looked for only while more than two arguments are left."""
    options, left = Options(), list(arguments)
    if left and left[0] in ("-v", "-version"):
        raise Stop(0, f"{NAME}: {VERSION}\n")
    while len(left) != 2:
        first = left[0] if left else ""
        if first == "-help":
            raise Stop(0, USAGE + "\n")
        if first == "-c" and len(left) > 2:
            options.complete = True
            del left[0]
        elif first in ("-k", "-baseline", "-riskAlpha") and len(left) > 3:
            value = left[1]
            if first == "-k":
                options.cutoff, options.shown_cutoff = _cutoff(value)
            elif first == "-baseline":
                options.baseline = value
            else:
                options.risk = value
                _demand(not number(value.encode()) < 0, value)
            del left[:2]
        else:
            raise Stop(died(), err=USAGE)
    options.files = left
    return options


def _demand(fulfilled: bool, read: str) -> None:
    """Die with the usage unless the number that was read is a fit one."""
    if not fulfilled:
        raise Stop(died(errno.ERANGE if out_of_range(read.encode()) else 0), err=USAGE)


def _cutoff(text: str) -> tuple[int | None, str]:
    """The cutoff, and as it is printed; an infinite one and NaN are taken."""
    value = number(text.encode())
    _demand(not value < 1, text)
    if not math.isfinite(value):
        return None, "NaN" if math.isnan(value) else "Inf"
    whole = int(text) if text.isascii() and text.isdigit() else int(value)
    return min(whole, 2**53), str(whole) if whole < 2**64 and value < 2**63 else show(value)


@dataclass
class Line:
    """One line of a file: its number, its words, and the error of the system that reading it left behind."""

    row: int
    words: list[bytes]
    error: int


def _lines(path: str) -> Iterator[Line]:
    """The lines of a file; names with .gz or .bz2 in them are unpacked."""
    try:
        with _open(path) as file:
            for row, line in enumerate(file, 1):
                yield Line(row, line.replace(b"\r", b"").split(), DIED if line.endswith(b"\n") else 0)
    except (OSError, EOFError) as error:
        status = getattr(error, "errno", None) or errno.EIO
        reason = getattr(error, "strerror", None) or error
        raise Stop(status, err=f"Invalid ffile: {path} - {reason}\n") from None


def _open(path: str) -> IO[bytes]:
    if ".gz" in path:
        import gzip

        return cast(IO[bytes], gzip.open(path, "rb"))
    if ".bz2" in path:
        import bz2

        return cast(IO[bytes], bz2.open(path, "rb"))
    return Path(path).open("rb")


def _format_error(line: Line, path: str) -> Stop:
    return Stop(died(line.error), err=f'{NAME}: format error on line {line.row} of "{path}"\n')


def _topic(word: bytes) -> bytes:
    return word.rsplit(b"-", 1)[-1]


def _number_of(topic: bytes) -> float:
    """What topics are compared by: 7 and 007 are one."""
    whole = int(topic)
    return whole if whole < 2**64 else float(topic)


@dataclass
class Judged:
    """The positive judgements: all topics, labels of each topic by its number, the name under which the topic's ideal
    is kept, and the label of each document.
    """

    topics: set[bytes] = field(default_factory=set)
    pools: dict[float, list[int]] = field(default_factory=dict)
    names: dict[float, tuple[int, bytes]] = field(default_factory=dict)
    labels: dict[tuple[bytes, bytes], int] = field(default_factory=dict)

    def add(self, topic: bytes, document: bytes, label: int) -> None:
        """One more; the first of the highest label gives the topic its name."""
        key, place = (topic, document), _number_of(topic)
        self.topics.add(topic)
        self.pools.setdefault(place, []).append(label)
        self.labels[key] = min(label, self.labels.get(key, label))
        if place not in self.names or label > self.names[place][0]:
            self.names[place] = label, topic


def read_judged(path: str) -> Judged:
    """Judgements above 0; where a document is judged twice, the lower one is its label and both make the ideal."""
    judged, known = Judged(), {str(label).encode(): label for label in range(1, LARGEST_LABEL + 1)}
    error = DIED
    for line in _lines(path):
        error = line.error = line.error and error
        topic, zero, document, text = [*line.words, b"", b"", b"", b""][:4]
        topic = _topic(topic)
        if not topic.isdigit():
            raise _format_error(line, path)
        if out_of_range(zero):
            error = line.error = errno.ERANGE
        if number(zero) != 0 or not text.removeprefix(b"-").isdigit():
            raise _format_error(line, path)
        label = known[text] if text in known else int(text)
        if label > LARGEST_LABEL:
            raise _format_error(line, path)
        if label > 0:
            judged.add(topic, document, label)
    return judged


class Evaluated(Frozen):
    """NDCG and ERR by topic, in numeric order of the topics, and the run's name."""

    run: str
    values: dict[bytes, tuple[float, float]]
    failure: Stop | None = None  # how the script dies after these topics


@dataclass
class Retrieved:
    """The rows of each topic, by its number: topic, document, text of the score; and the name of the run, which its
    last line says.
    """

    run: bytes = b"?????"
    rows: dict[float, list[tuple[bytes, bytes, bytes]]] = field(default_factory=dict)


def read_retrieved(path: str) -> Retrieved:
    """A run, checked as strictly as the original does."""
    retrieved = Retrieved()
    for line in _lines(path):
        words = line.words
        if len(words) < 6 or words[1] != b"Q0" or not words[3].isdigit() or words[5] == b"0":
            raise _format_error(line, path)
        topic = _topic(words[0])
        if not topic.isdigit():
            raise _format_error(line, path)
        retrieved.rows.setdefault(_number_of(topic), []).append((topic, words[2], words[4]))
        retrieved.run = words[5]
    return retrieved


def _no_ideal(error: int) -> Stop:
    return Stop(died(error), err=f"Illegal division by zero at {NAME}\n")


def evaluate_run(path: str, judged: Judged, cutoff: int | None) -> Evaluated:
    """NDCG@k and ERR@k of the run's topics that have a relevant document, up to one whose ideal nobody kept."""
    retrieved = read_retrieved(path)
    places = sorted(retrieved.rows)
    rows = [row for place in places for row in retrieved.rows[place]]
    scores = comparable(numbers([score for _, _, score in rows]), path)
    labels = [judged.labels.get((topic, document), 0) for topic, document, _ in rows]
    documents = [document for _, document, _ in rows]
    sizes = [len(retrieved.rows[place]) for place in places]
    data = as_dataset(labels, sizes, [str(place) for place in places], path, documents)
    tool = TOOLS["gdeval"]
    ranking = rank(data, scores, tool.convention)
    # A topic is called as its first document calls it; what is not judged under that name is left out.
    first = order_lists(scores, data.labels, data.offsets, data.document_ids, tool.convention.ties, False)
    names = [rows[first[offset]][0] for offset in data.offsets[:-1].tolist()]
    kept = [i for i, name in enumerate(names) if name in judged.topics]
    lost = next((i for i in kept if judged.names[places[i]][1] != names[i]), None)
    kept = kept if lost is None else kept[: kept.index(lost)]
    pools = [judged.pools[places[i]] for i in kept]
    pooled = as_dataset(
        [x for pool in pools for x in pool], list(map(len, pools)), [names[i].decode() for i in kept], path
    )
    ranking = with_pools(ranking.select(np.array(kept, np.int64)), pooled, range(len(kept)))
    columns = [
        measure_values(ranking, measure, tool.convention_for(measure)).tolist()
        for measure in (Measure("NDCG", cutoff), Measure("ERR", cutoff))
    ]
    values = dict(zip([names[i] for i in kept], zip(*columns, strict=True), strict=True))
    failure = None
    if lost is not None:
        error = errno.ERANGE if any(out_of_range(score) for _, _, score in rows) else 0
        failure = _no_ideal(error)
    return Evaluated(retrieved.run.decode("utf-8", "surrogateescape"), values, failure)


def against(result: Evaluated, base: Evaluated, options: Options, judged: Judged) -> Evaluated:
    """Differences from a baseline; with `-c` also of the topics that only the judgements have."""
    alpha = number(options.risk.encode())

    def weighted(value: float, base: float) -> float:
        return (1 + alpha) * (value - base) if value < base else value - base

    nothing = (0.0, 0.0)
    values = {
        topic: (weighted(pair[0], base.values.get(topic, nothing)[0]),
                weighted(pair[1], base.values.get(topic, nothing)[1]))
        for topic, pair in result.values.items()
    }  # fmt: skip
    failure = result.failure
    if options.complete and failure is None:
        last = nothing  # the script keeps the baseline of the topic before where a topic has none
        for topic in sorted(judged.topics - result.values.keys(), key=int):
            if judged.names[_number_of(topic)][1] != topic:
                failure = _no_ideal(0)
                break
            last = base.values.get(topic, last)
            values[topic] = (weighted(0.0, last[0]), weighted(0.0, last[1]))
    return Evaluated(f"{result.run} (rel to. {base.run}, rs=1+a, a={options.risk})", values, failure)


def render(result: Evaluated, cutoff: str, topics: int) -> str:
    """The printed table, with means over `topics` topics unless the script dies before."""
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
    """gdeval.pl [-c] [-k N] [-baseline RUN] [-riskAlpha A] QRELS RUN."""

    def work() -> None:
        options = parse_options(arguments)
        judged = read_judged(options.files[0])
        base = evaluate_run(options.baseline, judged, options.cutoff) if options.baseline is not None else None
        if base is not None and base.failure is not None:
            raise base.failure
        result = evaluate_run(options.files[1], judged, options.cutoff)
        if base is not None:
            result = against(result, base, options, judged)
        counted = len(judged.topics) if options.complete else len(result.values)
        out.write(render(result, options.shown_cutoff, counted))
        if result.failure is not None:
            raise result.failure

    return ending(work, out, err)
