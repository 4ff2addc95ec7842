"""What does ndeval of the TREC Web track print?

Measures of diversity for every topic of the run, at depths 5, 10 and 20, with 6 decimals, and their mean over the
topics that were judged too; `-c` divides by all judged topics. A list is in the order of its rank column, or with
`-traditional` of scores, ties by document id downwards. With `-baseline RUN` the values are differences from that
run's, losses weighted by 1 + `-riskAlpha`. Source: ndeval 4.5 of trec-web-2014.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pippin.evaluation.diversity_measures import KINDS_OF_NDEVAL, Topic
from pippin.evaluation.measures import Measure
from pippin.evaluation.printers._stop import Stop, ending

NAME = "ndeval"
VERSION = "version 4.5 (Mon 29 Apr 2013 20:51:02 EDT)"
_LARGEST = 100_000
USAGE = f"Usage: {NAME} [options] qrels run   (-help for full usage information)\n"
HELP = f"""{NAME} [options] qrels run

  options:
    -alpha value             how little a subtopic is worth when it was served, 0 to 1 (default 0.5)
    -beta value              how likely a user of NRBP goes on, 0 to 1 (default 0.5)
    -traditional             order lists by score, ties by document downwards, instead of by rank
    -c                       divide by all judged topics, in the run or not
    -M depth                 cut lists there
    -baseline file           print differences from this run
    -riskAlpha value         weight of a loss against the baseline is 1 + value (default 0)
    -version, -help
"""
COLUMNS = tuple(
    f"{name}@{k}" if cut else name
    for name, cut in (("ERR-IA", True), ("nERR-IA", True), ("alpha-DCG", True), ("alpha-nDCG", True), ("NRBP", False),
                      ("nNRBP", False), ("MAP-IA", False), ("P-IA", True), ("strec", True))
    for k in ((5, 10, 20) if cut else (0,))
)  # fmt: skip
Subtopics = dict[int, dict[str, frozenset[str]]]  # topic → document → the subtopics it is relevant to


@dataclass
class Options:
    """What the command line asks for."""

    alpha: float = 0.5
    beta: float = 0.5
    traditional: bool = False
    complete: bool = False
    depth: int = 0
    baseline: str | None = None
    risk: str = "0"
    files: list[str] = field(default_factory=list)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Print what ndeval prints."""
    return ending(lambda: _print(arguments, out), out, err)


def _print(arguments: list[str], out: TextIO) -> None:
    options = parse_options(arguments)
    judged = read_judgements(options.files[0])
    run, name = read_run(options.files[1], options)
    found = {topic: values(documents, judged.get(topic, {}), options) for topic, documents in run.items()}
    counted = sum(topic in judged for topic in run)
    if options.baseline is not None:
        other, other_name = read_run(options.baseline, options)
        base = {topic: values(documents, judged.get(topic, {}), options) for topic, documents in other.items()}
        name = f"{name} (rel to. {other_name}; rs=1+a; a={options.risk})"
        found = against(found, base, float(options.risk), options.complete)
        counted = max(counted, len(found))
    if options.complete:
        counted = max(len(judged), len(found) if options.baseline is not None else 0)
    out.write("".join(lines(found, name, counted)))


def lines(found: dict[int, list[float]], name: str, counted: int) -> Iterator[str]:
    """The table: a line a topic, and the mean."""
    yield f"runid,topic,{','.join(COLUMNS)}\n"
    totals = [0.0] * len(COLUMNS)
    for topic in sorted(found):
        yield f"{name},{topic},{','.join(map(shown, found[topic]))}\n"
        totals = [total + value for total, value in zip(totals, found[topic], strict=True)]
    means = [total / counted if counted else float("nan") for total in totals]
    yield f"{name},amean,{','.join(map(shown, means))}\n"


def shown(value: float) -> str:
    """Six decimals; what 0 / 0 gives has a sign in C."""
    return "-nan" if math.isnan(value) else f"{value:.6f}"


def values(documents: Sequence[str], judged: dict[str, frozenset[str]], options: Options) -> list[float]:
    """Every measure of a topic; a topic that nobody judged has none of them, not even NaN."""
    if not judged:
        return [0.0] * len(COLUMNS)
    served = [judged.get(document, frozenset()) for document in documents]
    topic = Topic(served, [judged[document] for document in sorted(judged, key=str.encode, reverse=True)])
    parameters = (("alpha", options.alpha), ("beta", options.beta))
    found = []
    for column in COLUMNS:
        name, _, cutoff = column.partition("@")
        measure = Measure(name, int(cutoff) if cutoff else None, parameters)
        found.append(KINDS_OF_NDEVAL[name](topic, measure, measure.cutoff))
    return found


def against(
    found: dict[int, list[float]], base: dict[int, list[float]], risk: float, complete: bool
) -> dict[int, list[float]]:
    """Differences from the baseline, losses weighted; what only one of them has counts 0 in the other."""
    zeros = [0.0] * len(COLUMNS)
    topics = sorted({*found, *base}) if complete else sorted(found)
    return {
        topic: [
            ours - theirs if ours >= theirs else (risk + 1) * (ours - theirs)
            for ours, theirs in zip(found.get(topic, zeros), base.get(topic, zeros), strict=True)
        ]
        for topic in topics
    }


def parse_options(arguments: list[str]) -> Options:
    """Options stand before the two files, and are looked for only while more than two arguments are left."""
    options, left = Options(), list(arguments)
    while len(left) != 2:
        first = left[0] if left else ""
        if first == "-version":
            raise Stop(0, f"{NAME}: {VERSION}\n")
        if first == "-help":
            raise Stop(0, HELP)
        if first in ("-alpha", "-beta", "-M", "-baseline", "-riskAlpha") and len(left) >= 4:
            _set(options, first, left[1])
            del left[:2]
        elif first == "-traditional" and len(left) >= 3:
            options.traditional = True
            del left[0]
        elif first.startswith("-") and len(left) >= 3 and set(first[1:]) <= {"c", "a"}:
            options.complete = options.complete or "c" in first
            del left[0]
        else:
            raise Stop(1, err=USAGE)
    options.files = left
    return options


def _set(options: Options, name: str, text: str) -> None:
    if name == "-baseline":
        options.baseline = text
        return
    try:
        value = float(text)
    except ValueError:
        raise Stop(1, err=USAGE) from None
    if (name in ("-alpha", "-beta") and not 0 <= value <= 1) or (name in ("-M", "-riskAlpha") and value < 0):
        raise Stop(1, err=USAGE)
    if name == "-riskAlpha":
        options.risk = text
    elif name == "-M":
        options.depth = int(value)
    else:
        setattr(options, name[1:], value)


def natural(text: str) -> int | None:
    """A number of digits alone, not too large."""
    return int(text) if text.isascii() and text.isdigit() and int(text) <= 10 * _LARGEST + 9 else None


def read_judgements(path: str) -> Subtopics:
    """Topic, subtopic, document and a label that is not below 0 in every line."""
    judged: dict[int, dict[str, set[str]]] = {}
    for number, columns in _columns(path, "qrel"):
        topic, subtopic, label = (natural(columns[i]) if len(columns) >= 4 else None for i in (0, 1, 3))
        if topic is None or subtopic is None or label is None:
            raise Stop(1, err=f'{NAME}: syntax error in qrel file "{path}" at line {number}\n')
        served = judged.setdefault(topic, {}).setdefault(columns[2], set())
        if label > 0:
            served.add(f"{subtopic:07}")  # so that they sort as numbers do
    return {
        topic: {document: frozenset(served) for document, served in documents.items()}
        for topic, documents in judged.items()
    }


def read_run(path: str, options: Options) -> tuple[dict[int, list[str]], str]:
    """Documents of each topic in their order, and what the run is called."""
    listed: dict[int, list[tuple[int, float, str]]] = {}
    name = ""
    for number, columns in _columns(path, "run"):
        whole = len(columns) >= 6
        topic = natural(columns[0] if columns[0][:1].isdigit() else columns[0].partition("-")[2]) if whole else None
        rank = natural(columns[3]) if whole else None
        if topic is None or rank is None:
            raise Stop(1, err=f'{NAME}: syntax error in run file "{path}" at line {number}\n')
        name = name or columns[5]
        listed.setdefault(topic, []).append((rank, _score(columns[4]), columns[2]))
    ordered = {}
    for topic in sorted(listed):
        documents = listed[topic]
        if options.traditional:
            documents.sort(key=lambda one: one[2].encode(), reverse=True)
            documents.sort(key=lambda one: -one[1])
        else:
            documents.sort(key=lambda one: one[0])
            for before, one in itertools.pairwise(documents):
                if before[0] == one[0]:
                    told = f'duplicate rank ({one[0]}) for topic {topic} in run file "{path}"'
                    raise Stop(1, err=f"{NAME}: {told}\n")
        ordered[topic] = [document for _, _, document in documents][: options.depth or None]
    for topic, names in ordered.items():
        twice = sorted(document for document in set(names) if names.count(document) > 1)
        if twice:
            raise Stop(1, err=f'{NAME}: duplicate docno ({twice[0]}) for topic {topic} in run file "{path}"\n')
    return ordered, name


def _score(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _columns(path: str, kind: str) -> Iterator[tuple[int, list[str]]]:
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        raise Stop(1, err=f'{NAME}: cannot open {kind} file "{path}"\n') from None
    if not text:
        raise Stop(1, err=f'{NAME}: {kind} file "{path}" is empty\n')
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        yield number, line.split()
