"""`pippin eval --stream` and `--dask`: the same numbers where the data do not fit in memory, or not on one machine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pippin.cli.evaluate import distinct_names
from pippin.cli.output import say
from pippin.cli.train import cluster
from pippin.data.partitions import is_partitions
from pippin.errors import DataError
from pippin.evaluation.evaluate import Evaluation
from pippin.evaluation.stream import WHOLE, Request, evaluate_stream, needs_whole
from pippin.evaluation.tools import Tool
from pippin.report.evaluation import Ranges

_BOUNDS = ("worst", "best")


def evaluate_parts(
    options: argparse.Namespace, measures: Sequence[str], tools: Sequence[Tool], overrides: Mapping[str, Any]
) -> tuple[list[Evaluation], Ranges | None]:
    """Every scored file under every tool, and where asked for, how far ties can move the means."""
    if options.merge_queries:
        raise DataError("--merge-queries needs the whole file in memory; sort it by query instead")
    if options.allow_infinite:
        raise DataError("--allow-infinite needs the whole file in memory; leave --stream and --dask out")
    tools = _by_parts(measures, tools, overrides)
    requests: list[Request] = [(tool, overrides) for tool in tools]
    if options.ties_range:
        requests += [(tool, {**overrides, "ties": bound}) for tool in tools for bound in _BOUNDS]
    evaluations: list[Evaluation] = []
    ranges: Ranges = {}
    for evaluated in _evaluated(options, measures, requests):
        for i in range(len(tools) if options.ties_range else 0):
            first = len(tools) + len(_BOUNDS) * i
            worst, best = (bound.mean for bound in evaluated[first : first + len(_BOUNDS)])
            ranges[len(evaluations) + i] = {measure: (worst[measure], best[measure]) for measure in worst}
        evaluations += evaluated[: len(tools)]
    return evaluations, ranges if options.ties_range else None


def _by_parts(measures: Sequence[str], tools: Sequence[Tool], overrides: Mapping[str, Any]) -> Sequence[Tool]:
    """The tools that can evaluate a part of the queries; of several, those that cannot are named and left out."""
    left_out = [tool for tool in tools if needs_whole(measures, (tool, overrides))]
    if not left_out or len(left_out) == len(tools):
        return tools
    say(f"Without {', '.join(tool.name for tool in left_out)}: {WHOLE}.", aside=True)
    return [tool for tool in tools if tool not in left_out]


def _evaluated(
    options: argparse.Namespace, measures: Sequence[str], requests: Sequence[Request]
) -> Iterator[list[Evaluation]]:
    """The evaluations of each scored file."""
    folders = list(dict.fromkeys([options.judged, *options.scored]))
    if all(is_partitions(folder) for folder in folders):  # each with its own labels and scores
        from pippin.bench.dask.memory import evaluate_partitions

        with cluster(options.dask) as client:
            for folder, name in zip(folders, distinct_names(folders), strict=True):
                yield evaluate_partitions(folder, measures, requests, client, name)
        return
    if options.dask is not None:
        raise DataError(
            "--dask evaluates folders of scored partitions, as `pippin rank MODEL PARTS/ -o SCORED/` writes"
        )
    if not options.scored:
        raise DataError("say which file holds the scores")
    for path, name in zip(options.scored, distinct_names(options.scored), strict=True):
        yield evaluate_stream(options.judged, path, measures, requests, name)
