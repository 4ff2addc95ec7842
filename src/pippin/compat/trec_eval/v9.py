"""trec_eval 9 and 10: run a command line and print its lines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TextIO

import numpy as np

from pippin.compat.trec_eval import inputs
from pippin.compat.trec_eval.measures import MeasureParser, MeasureSelection, Version
from pippin.compat.trec_eval.options import (
    FLOOR,
    USAGE,
    Column,
    Options,
    TrecError,
    format_value,
    geometric_logs,
    line_writer,
    read_options,
    sum_in_order,
)
from pippin.compat.trec_eval.topics import SOURCES, JudgementFormat

_MAX_LOG = 709.79  # the exponential of larger numbers overflows a double


def run(version: Version, arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run this version with these arguments and return the exit status."""
    options, parser = Options(), MeasureParser(version)
    for option, value in read_options(arguments, options.files):
        if option == "v":
            err.write(f"trec_eval version {version.number}\n")
            return 0
        if option == "m":
            parser.add(value)
        else:
            options.set(option, value)
    if options.help:
        out.write(_help(version))
        return 0
    if len(options.files) != 2:
        raise TrecError(1, *USAGE)
    if options.judgements_format not in SOURCES:
        raise TrecError(2, f"trec_eval: Illegal rel_format '{options.judgements_format}'")
    _evaluate(version, options, parser.done(), out)
    return 0


def _evaluate(version: Version, options: Options, selection: MeasureSelection, out: TextIO) -> None:
    source = SOURCES[options.judgements_format](version, options)
    zscores = inputs.Zscores(options.zscores, version.zscores) if options.zscores is not None else None
    requested = selection.initialise(version)
    source.choose_topics(requested)
    columns = [column for measure in requested for column in source.columns(measure)] if source.topics else []
    if zscores is not None:
        columns = [_standardise_column(column, source.topics, zscores) for column in columns]
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
        "-q values of each topic too; -n no summary; -c average over all judged topics; -l smallest label that is\n"
        "relevant; -J judged documents only; -N size of the collection; -M documents taken per topic; -Z z-scores\n"
        f"by this file; -R format of the judgements: {', '.join(SOURCES)}\n"
        f"sets of measures for -m:\n{names}\n"
    )


def _standardise_column(column: Column, topics: list[str], zscores: inputs.Zscores) -> Column:
    """Return a column with z-scores as values; the z-scores of geometric means are those of logarithms."""
    if column.summary_text is not None or column.texts is not None:
        return column
    geometric = column.average == "geometric"
    values = geometric_logs(column.values) if geometric else column.values
    scores = [
        inputs.standardise(value, zscores.find(topic, column.name))
        for topic, value in zip(topics, values.tolist(), strict=True)
    ]
    average = "geometric of logs" if geometric else column.average
    return replace(column, values=np.array(scores), is_integer=False, average=average)


def _topic_lines(columns: list[Column], topics: list[str], prefix: str) -> Iterable[str]:
    line, plain = line_writer(prefix, 22), line_writer("", 22)
    printed = []
    for column in columns:
        if column.texts is not None:
            printed.append((plain, column.name, list(column.texts)))
        elif column.per_topic:
            texts = [format_value(value, column.is_integer) for value in column.values.tolist()]
            printed.append((line, column.name, texts))
    for i, topic in enumerate(topics):
        for write, name, texts in printed:
            yield write(name, topic, texts[i])


def _summary_lines(columns: list[Column], source: JudgementFormat, prefix: str) -> Iterable[str]:
    for column in columns:
        if column.summary_text is not None:
            yield line_writer("", 22)(column.name, "all", column.summary_text)
        elif column.average != "none":
            text = format_value(_average(column, source), column.is_integer)
            yield line_writer(prefix, 22)(column.name, "all", text)


def _average(column: Column, source: JudgementFormat) -> float:
    """Return the summary of a column.

    With -c all judged topics count, and num_rel counts all labels above 0, whatever the level of -l.
    """
    complete, evaluated = source.options.complete, len(source.topics)
    topics = len(source.topic_ids()) if complete else evaluated
    if column.average == "topics":
        return float(topics)
    if column.average == "sum":
        recount = complete and column.name == "num_rel"
        return float(source.count_relevant()) if recount else sum_in_order(column.values)
    if column.average == "mean":
        return sum_in_order(column.values) / topics
    logs = column.values if column.average == "geometric of logs" else geometric_logs(column.values)
    mean = (sum_in_order(logs) + (topics - evaluated) * math.log(FLOOR)) / topics
    return math.inf if mean > _MAX_LOG else math.exp(mean)
