"""trec_eval 9 and 10: from a command line to lines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TextIO

import numpy as np

from pippin.evaluation.printers.trec import inputs
from pippin.evaluation.printers.trec.columns import (
    FLOOR,
    Column,
    TrecError,
    geometric_logs,
    left_to_right,
    line_writer,
    number,
    whole_number,
)
from pippin.evaluation.printers.trec.options import USAGE, Options, read_options
from pippin.evaluation.printers.trec.sources import SOURCES, JudgementForm
from pippin.evaluation.printers.trec.table import Marked, Marking, Version

_TOO_LARGE = 709.79  # the exponential of no number above is a double


def run(version: Version, arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Do what this version does with these arguments."""
    options, marking = Options(), Marking(version)
    for option, value in read_options(arguments, options.files):
        if option == "v":
            err.write(f"trec_eval version {version.number}\n")
            return 0
        if option == "m":
            marking.add(value)
        else:
            options.take(option, value)
    if options.help:
        out.write(_help(version))
        return 0
    if len(options.files) != 2:
        raise TrecError(1, *USAGE)
    if options.judgements_format not in SOURCES:
        raise TrecError(2, f"trec_eval: Illegal rel_format '{options.judgements_format}'")
    _evaluate(version, options, marking.done(), out)
    return 0


def _evaluate(version: Version, options: Options, marked: Marked, out: TextIO) -> None:
    source = SOURCES[options.judgements_format](version, options)
    zscores = inputs.Zscores(options.zscores, version.zscores) if options.zscores is not None else None
    wanted = marked.initialise(version)
    source.choose_topics(wanted)
    columns = [column for want in wanted for column in source.columns(want)] if source.topics else []
    if zscores is not None:
        columns = [_standardised(column, source.topics, zscores) for column in columns]
    prefix = "" if zscores is None else "Z"
    if options.per_topic:
        out.writelines(_topic_lines(columns, source.topics, prefix))
    if source.failure is not None:
        raise source.failure
    if not source.topics:
        raise TrecError(7, "trec_eval: No queries with both results and relevance info")
    if options.summary:
        out.writelines(_summary_lines(columns, source, prefix))


def _help(version: Version) -> str:
    names = "\n".join(f"  {name}: {', '.join(members)}" for name, members in version.nicknames().items())
    return (
        f"pippin as trec_eval, as version {version.number} prints\n"
        "trec_eval [-h] [-q] [-m measure[.params]]... [-c] [-n] [-l num] [-J] [-N num] [-M num] [-R format]\n"
        "    [-Z file] judgements results\n"
        "-q values of each topic too; -n no summary; -c average over all judged topics; -l least label that is\n"
        "relevant; -J judged documents only; -N size of the collection; -M documents taken per topic; -Z z-scores\n"
        f"by this file; -R format of the judgements: {', '.join(SOURCES)}\n"
        f"sets of measures for -m:\n{names}\n"
    )


def _standardised(column: Column, topics: list[str], zscores: inputs.Zscores) -> Column:
    """A column with every value as a z-score; geometric means are taken of the z-scores of logarithms."""
    if column.summary_text is not None or column.texts is not None:
        return column
    geometric = column.average == "geometric"
    values = geometric_logs(column.values) if geometric else column.values
    scores = [
        inputs.standardise(value, zscores.find(topic, column.name))
        for topic, value in zip(topics, values.tolist(), strict=True)
    ]
    average = "geometric of logs" if geometric else column.average
    return replace(column, values=np.array(scores), whole=False, average=average)


def _topic_lines(columns: list[Column], topics: list[str], prefix: str) -> Iterable[str]:
    line, plain = line_writer(prefix, 22), line_writer("", 22)
    shown = []
    for column in columns:
        if column.texts is not None:
            shown.append((plain, column.name, list(column.texts)))
        elif column.per_topic:
            texts = list(map(whole_number if column.whole else number, column.values.tolist()))
            shown.append((line, column.name, texts))
    for i, topic in enumerate(topics):
        for write, name, texts in shown:
            yield write(name, topic, texts[i])


def _summary_lines(columns: list[Column], source: JudgementForm, prefix: str) -> Iterable[str]:
    for column in columns:
        if column.summary_text is not None:
            yield line_writer("", 22)(column.name, "all", column.summary_text)
        elif column.average != "none":
            value = _average(column, source)
            yield line_writer(prefix, 22)(column.name, "all", whole_number(value) if column.whole else number(value))


def _average(column: Column, source: JudgementForm) -> float:
    """The summary of a column. With -c all judged topics count, and num_rel is counted anew over all judgements, by
    labels above 0 whatever the level asked for.
    """
    complete, evaluated = source.options.complete, len(source.topics)
    topics = len(source.judged_topics()) if complete else evaluated
    if column.average == "topics":
        return float(topics)
    if column.average == "sum":
        recount = complete and column.name == "num_rel"
        return float(source.relevant_judged()) if recount else left_to_right(column.values)
    if column.average == "mean":
        return left_to_right(column.values) / topics
    logs = column.values if column.average == "geometric of logs" else geometric_logs(column.values)
    mean = (left_to_right(logs) + (topics - evaluated) * math.log(FLOOR)) / topics
    return math.inf if mean > _TOO_LARGE else math.exp(mean)
