"""What does gdeval.pl of the TREC Web track print?

NDCG@k and ERR@k of every topic of the run that has a relevant document, with 5 decimals, and their mean; `-c` divides
by all such topics of the judgements instead. With `-baseline RUN` the values are differences from that run's, losses
weighted by 1 + `-riskAlpha`. Topics are numbers, whatever stands before a `-` in them; a document listed twice counts
twice. Source: gdeval.pl 1.3 of trec-web-2014.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO, cast

from pippin.evaluation.evaluate import measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.printers._lists import as_dataset, comparable, with_pools
from pippin.evaluation.printers._perl import DIED, number, numbers
from pippin.evaluation.printers._stop import Stop, ending
from pippin.evaluation.ranking import rank
from pippin.evaluation.tools import TOOLS

NAME = "gdeval.pl"
VERSION = "version 1.3 (Mon Apr 29 20:50:24 EDT 2013)"
LARGEST_LABEL = 4
WRONG_COMMAND = 1
USAGE = f"""usage: {NAME} [options] qrels run

  options:

    -c                       divide by all topics with a relevant document, in the run or not
    -k value                 depth of the ranking, at least 1 (default 20)
    -baseline file           print differences from this run
    -riskAlpha value         weight of a loss against the baseline is 1 + value (default 0)
"""


@dataclass
class Options:
    """What the command line asks for."""

    cutoff: int = 20
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
                options.cutoff = _cutoff(value)
            elif first == "-baseline":
                options.baseline = value
            else:
                options.risk = value
            del left[:2]
        else:
            raise Stop(WRONG_COMMAND, err=USAGE)
    if number(options.risk.encode()) < 0:
        raise Stop(WRONG_COMMAND, err=USAGE)
    options.files = left
    return options


def _cutoff(text: str) -> int:
    value = number(text.encode())
    if not 1 <= value < 2**53:
        raise Stop(WRONG_COMMAND, err=USAGE)
    return int(value)


def _words(path: str) -> Iterator[tuple[int, list[bytes]]]:
    """The words of every line; names with .gz or .bz2 in them are unpacked."""
    try:
        with _open(path) as file:
            for row, line in enumerate(file, 1):
                yield row, line.replace(b"\r", b"").split()
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


def _format_error(row: int, path: str) -> Stop:
    return Stop(DIED, err=f'{NAME}: format error on line {row} of "{path}"\n')


def _topic(word: bytes) -> bytes:
    return word.rsplit(b"-", 1)[-1]


@dataclass
class Judged:
    """The positive judgements: labels of each topic, and the label of each document."""

    pools: dict[bytes, list[int]] = field(default_factory=dict)
    labels: dict[tuple[bytes, bytes], int] = field(default_factory=dict)


def read_judged(path: str) -> Judged:
    """Judgements above 0; where a document is judged twice, the lower one is its label and both make the ideal."""
    judged, known = Judged(), {str(label).encode(): label for label in range(1, LARGEST_LABEL + 1)}
    for row, words in _words(path):
        if len(words) < 4:
            raise _format_error(row, path)
        topic, zero, document, text = words[:4]
        topic = _topic(topic)
        label = known.get(text)
        if label is None:
            if not text.removeprefix(b"-").isdigit():
                raise _format_error(row, path)
            label = int(text)
        if not topic.isdigit() or label > LARGEST_LABEL or number(zero) != 0:
            raise _format_error(row, path)
        if label > 0:
            judged.pools.setdefault(topic, []).append(label)
            key = topic, document
            judged.labels[key] = min(label, judged.labels.get(key, label))
    return judged


@dataclass(frozen=True)
class Evaluated:
    """NDCG and ERR by topic, in numeric order of the topics, and the run's name."""

    run: str
    values: dict[bytes, tuple[float, float]]


@dataclass
class Retrieved:
    """The documents of each topic with the texts of their scores, and the name of the run, which its last line says."""

    run: bytes = b"?????"
    rows: dict[bytes, list[tuple[bytes, bytes]]] = field(default_factory=dict)


def read_retrieved(path: str) -> Retrieved:
    """A run, checked as strictly as the original does."""
    retrieved = Retrieved()
    for row, words in _words(path):
        if len(words) < 6 or words[1] != b"Q0" or not words[3].isdigit() or words[5] == b"0":
            raise _format_error(row, path)
        topic = _topic(words[0])
        if not topic.isdigit():
            raise _format_error(row, path)
        retrieved.rows.setdefault(topic, []).append((words[2], words[4]))
        retrieved.run = words[5]
    return retrieved


def evaluate_run(path: str, judged: Judged, cutoff: int) -> Evaluated:
    """NDCG@k and ERR@k of the run's topics that have a relevant document."""
    retrieved = read_retrieved(path)
    topics = sorted(retrieved.rows.keys() & judged.pools.keys(), key=int)
    names = [topic.decode() for topic in topics]
    rows = [(topic, *row) for topic in topics for row in retrieved.rows[topic]]
    scores = comparable(numbers([score for _, _, score in rows]), path)
    labels = [judged.labels.get((topic, document), 0) for topic, document, _ in rows]
    documents = [document for _, document, _ in rows]
    data = as_dataset(labels, [len(retrieved.rows[topic]) for topic in topics], names, path, documents)
    pools = [judged.pools[topic] for topic in topics]
    pooled = as_dataset([label for pool in pools for label in pool], [len(pool) for pool in pools], names, path)
    tool = TOOLS["gdeval"]
    ranking = with_pools(rank(data, scores, tool.convention), pooled, range(len(topics)))
    columns = [
        measure_values(ranking, measure, tool.convention_for(measure)).tolist()
        for measure in (Measure("NDCG", cutoff), Measure("ERR", cutoff))
    ]
    values = dict(zip(topics, zip(*columns, strict=True), strict=True))
    return Evaluated(retrieved.run.decode("utf-8", "replace"), values)


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
    if options.complete:
        last = nothing  # the script keeps the baseline of the topic before where a topic has none
        for topic in sorted(judged.pools.keys() - result.values.keys(), key=int):
            last = base.values.get(topic, last)
            values[topic] = (weighted(0.0, last[0]), weighted(0.0, last[1]))
    return Evaluated(f"{result.run} (rel to. {base.run}, rs=1+a, a={options.risk})", values)


def render(result: Evaluated, cutoff: int, topics: int) -> str:
    """The printed table, with means over `topics` topics."""
    lines = [f"runid,topic,ndcg@{cutoff},err@{cutoff}\n"]
    totals = [0.0, 0.0]
    for topic, pair in result.values.items():
        lines.append(f"{result.run},{topic.decode()},{pair[0]:.5f},{pair[1]:.5f}\n")
        totals = [total + value for total, value in zip(totals, pair, strict=True)]
    means = [total / max(topics, 1) for total in totals]
    return "".join(lines) + f"{result.run},amean,{means[0]:.5f},{means[1]:.5f}\n"


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """gdeval.pl [-c] [-k N] [-baseline RUN] [-riskAlpha A] QRELS RUN."""

    def work() -> None:
        options = parse_options(arguments)
        judged = read_judged(options.files[0])
        base = evaluate_run(options.baseline, judged, options.cutoff) if options.baseline else None
        result = evaluate_run(options.files[1], judged, options.cutoff)
        if base is not None:
            result = against(result, base, options, judged)
        out.write(render(result, options.cutoff, len(judged.pools) if options.complete else len(result.values)))

    return ending(work, out, err)
