"""Emulator of ndeval of the TREC Web track.

It prints measures of diversity for every topic of the run at depths 5, 10 and 20, with 6 decimals, and their mean over
the judged topics of the run; `-c` divides by all judged topics. Lists are ordered by the rank column, or with
`-traditional` by score, ties by descending document id. With `-baseline RUN` the values are differences from that run,
with losses weighted by 1 + `-riskAlpha`. Source: ndeval 4.5 of trec-web-2014.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pippin.compat.common import ToolExit, run_emulator, weigh_difference
from pippin.evaluation.measures import Measure
from pippin.evaluation.measures.diversity import NDEVAL_FUNCTIONS, Topic

NAME = "ndeval"
VERSION = "version 4.5 (Mon 29 Apr 2013 20:51:02 EDT)"
_MAX_NUMBER = 1_000_009
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
Subtopics = dict[int, dict[str, frozenset[str]]]  # topic → document → subtopics that it is relevant to


@dataclass
class Options:
    """The parsed command line."""

    alpha: float = 0.5
    beta: float = 0.5
    traditional: bool = False
    complete: bool = False
    depth: int = 0
    baseline: str | None = None
    risk: str = "0"
    files: list[str] = field(default_factory=list)


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run ndeval [options] QRELS RUN."""
    return run_emulator(lambda: _print(arguments, out), out, err)


def _print(arguments: list[str], out: TextIO) -> None:
    options = parse_options(arguments)
    judgements = read_judgements(options.files[0])
    run, name = read_run(options.files[1], options)
    values_by_topic = {topic: values(documents, judgements.get(topic, {}), options) for topic, documents in run.items()}
    n_topics = sum(topic in judgements for topic in run)
    if options.baseline is not None:
        baseline_run, baseline_name = read_run(options.baseline, options)
        baseline_values = {
            topic: values(documents, judgements.get(topic, {}), options) for topic, documents in baseline_run.items()
        }
        name = f"{name} (rel to. {baseline_name}; rs=1+a; a={options.risk})"
        values_by_topic = relative_to_baseline(values_by_topic, baseline_values, float(options.risk), options.complete)
        n_topics = max(n_topics, len(values_by_topic))
    if options.complete:
        n_topics = max(len(judgements), len(values_by_topic) if options.baseline is not None else 0)
    out.write("".join(lines(values_by_topic, name, n_topics)))


def lines(values_by_topic: dict[int, list[float]], name: str, n_topics: int) -> Iterator[str]:
    """Yield the table: a line per topic, and the mean."""
    yield f"runid,topic,{','.join(COLUMNS)}\n"
    totals = [0.0] * len(COLUMNS)
    for topic in sorted(values_by_topic):
        yield f"{name},{topic},{','.join(map(format_value, values_by_topic[topic]))}\n"
        totals = [total + value for total, value in zip(totals, values_by_topic[topic], strict=True)]
    means = [total / n_topics if n_topics else float("nan") for total in totals]
    yield f"{name},amean,{','.join(map(format_value, means))}\n"


def format_value(value: float) -> str:
    """Format a value with six decimals; C prints 0 / 0 as -nan."""
    return "-nan" if math.isnan(value) else f"{value:.6f}"


def values(documents: Sequence[str], subtopics: dict[str, frozenset[str]], options: Options) -> list[float]:
    """Return all measures of a topic; those of an unjudged topic are 0."""
    if not subtopics:
        return [0.0] * len(COLUMNS)
    relevant_to = [subtopics.get(document, frozenset()) for document in documents]
    topic = Topic(relevant_to, [subtopics[document] for document in sorted(subtopics, key=str.encode, reverse=True)])
    parameters = (("alpha", options.alpha), ("beta", options.beta))
    results = []
    for column in COLUMNS:
        name, _, cutoff = column.partition("@")
        measure = Measure(name, int(cutoff) if cutoff else None, parameters)
        results.append(NDEVAL_FUNCTIONS[name](topic, measure, measure.cutoff))
    return results


def relative_to_baseline(
    values_by_topic: dict[int, list[float]], baseline_values: dict[int, list[float]], risk: float, complete: bool
) -> dict[int, list[float]]:
    """Return weighted differences from the baseline; values of missing topics are 0."""
    zeros = [0.0] * len(COLUMNS)
    topics = sorted({*values_by_topic, *baseline_values}) if complete else sorted(values_by_topic)
    return {
        topic: [
            weigh_difference(value, baseline, risk)
            for value, baseline in zip(
                values_by_topic.get(topic, zeros), baseline_values.get(topic, zeros), strict=True
            )
        ]
        for topic in topics
    }


def parse_options(arguments: list[str]) -> Options:
    """Parse options until two arguments remain, the files."""
    options, remaining = Options(), list(arguments)
    while len(remaining) != 2:
        first = remaining[0] if remaining else ""
        if first == "-version":
            raise ToolExit(0, f"{NAME}: {VERSION}\n")
        if first == "-help":
            raise ToolExit(0, HELP)
        if first in ("-alpha", "-beta", "-M", "-baseline", "-riskAlpha") and len(remaining) >= 4:
            _set(options, first, remaining[1])
            del remaining[:2]
        elif first == "-traditional" and len(remaining) >= 3:
            options.traditional = True
            del remaining[0]
        elif first.startswith("-") and len(remaining) >= 3 and set(first[1:]) <= {"c", "a"}:
            options.complete = options.complete or "c" in first
            del remaining[0]
        else:
            raise ToolExit(1, err=USAGE)
    options.files = remaining
    return options


def _set(options: Options, name: str, text: str) -> None:
    if name == "-baseline":
        options.baseline = text
        return
    try:
        value = float(text)
    except ValueError:
        raise ToolExit(1, err=USAGE) from None
    if (name in ("-alpha", "-beta") and not 0 <= value <= 1) or (name in ("-M", "-riskAlpha") and value < 0):
        raise ToolExit(1, err=USAGE)
    if name == "-riskAlpha":
        options.risk = text
    elif name == "-M":
        options.depth = int(value)
    else:
        setattr(options, name[1:], value)


def natural(text: str) -> int | None:
    """Return a number that consists of digits and is not too large, or None."""
    return int(text) if text.isascii() and text.isdigit() and int(text) <= _MAX_NUMBER else None


def read_judgements(path: str) -> Subtopics:
    """Read lines of topic, subtopic, document and a label of 0 or more."""
    judgements: dict[int, dict[str, set[str]]] = {}
    for number, columns in _columns(path, "qrel"):
        topic, subtopic, label = (natural(columns[i]) if len(columns) >= 4 else None for i in (0, 1, 3))
        if topic is None or subtopic is None or label is None:
            raise ToolExit(1, err=f'{NAME}: syntax error in qrel file "{path}" at line {number}\n')
        subtopics = judgements.setdefault(topic, {}).setdefault(columns[2], set())
        if label > 0:
            subtopics.add(f"{subtopic:07}")  # zeros make them sort as numbers
    return {
        topic: {document: frozenset(subtopics) for document, subtopics in documents.items()}
        for topic, documents in judgements.items()
    }


def read_run(path: str, options: Options) -> tuple[dict[int, list[str]], str]:
    """Return the documents of each topic in their order, and the name of the run."""
    rows: dict[int, list[tuple[int, float, str]]] = {}
    name = ""
    for number, columns in _columns(path, "run"):
        is_complete = len(columns) >= 6
        topic = (
            natural(columns[0] if columns[0][:1].isdigit() else columns[0].partition("-")[2]) if is_complete else None
        )
        rank = natural(columns[3]) if is_complete else None
        if topic is None or rank is None:
            raise ToolExit(1, err=f'{NAME}: syntax error in run file "{path}" at line {number}\n')
        name = name or columns[5]
        rows.setdefault(topic, []).append((rank, _score(columns[4]), columns[2]))
    ordered = {}
    for topic in sorted(rows):
        documents = rows[topic]
        if options.traditional:
            documents.sort(key=lambda row: row[2].encode(), reverse=True)
            documents.sort(key=lambda row: -row[1])
        else:
            documents.sort(key=lambda row: row[0])
            for previous, row in itertools.pairwise(documents):
                if previous[0] == row[0]:
                    message = f'duplicate rank ({row[0]}) for topic {topic} in run file "{path}"'
                    raise ToolExit(1, err=f"{NAME}: {message}\n")
        ordered[topic] = [document for _, _, document in documents][: options.depth or None]
    for topic, names in ordered.items():
        duplicates = sorted(document for document in set(names) if names.count(document) > 1)
        if duplicates:
            raise ToolExit(1, err=f'{NAME}: duplicate docno ({duplicates[0]}) for topic {topic} in run file "{path}"\n')
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
        raise ToolExit(1, err=f'{NAME}: cannot open {kind} file "{path}"\n') from None
    if not text:
        raise ToolExit(1, err=f'{NAME}: {kind} file "{path}" is empty\n')
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        yield number, line.split()
