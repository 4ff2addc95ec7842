"""The look-ups: `pippin tools`, `measures`, `rankers`, `features` and `datasets`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pippin
from pippin.cli.options import Command, add_output_options
from pippin.cli.output import write_result
from pippin.errors import DataError
from pippin.reports import catalogue
from pippin.reports import models as report

Configure = Callable[[argparse.ArgumentParser], None]


def _configure(metavar: str, help: str, default: str | None = None) -> Configure:
    """Return the function that declares a name to look up and how the result is written."""

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar=metavar, nargs="?", default=default, help=help)
        add_output_options(parser)

    return configure


def _run(look_up: Callable[[str | None], catalogue.Entry]) -> Callable[[argparse.Namespace], int]:
    """Return the function that prints the entry of a name, or the list without one."""

    def run(options: argparse.Namespace) -> int:
        entry = look_up(options.name)
        write_result(options.format, options.output, entry.parts, entry.record, entry.rows)
        return 0

    return run


def configure_rankers(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin rankers`."""
    _configure("RANKER|MODEL", "a ranker, a step of a chain, or a model file")(parser)
    parser.add_argument("--on", metavar="DATA", help="for a model: show how much NDCG@10 on these labelled data drops "
                        "without each feature, with intervals, and mean SHAP values for trees")  # fmt: skip


def run_rankers(options: argparse.Namespace) -> int:
    """Print the list, one ranker, or one model."""
    is_model = options.name is not None and Path(options.name).is_file()
    if options.on is not None and not is_model:
        raise DataError("--on needs a model file")
    if not is_model:
        return _run(catalogue.rankers)(options)
    model = pippin.load(options.name)
    if options.on is not None:
        importance = pippin.rankers.explain(model, options.on)
        write_result(options.format, options.output, lambda: [report.importance_table(importance)], lambda: importance)
        return 0
    write_result(
        options.format, options.output, lambda: report.model_parts(model), lambda: report.model_record(model),
        lambda: report.weights_table(model),
    )  # fmt: skip
    return 0


COMMANDS = {
    "tools": Command(
        """List the evaluation tools side by side, or describe one.

The groups are classic (the default), libraries, retrieval, recommenders and engines. Every option that takes a tool
also takes the name of a group, or all.""",
        ("pippin tools retrieval", "pippin tools letor4", "pippin tools all --format json"),
        _configure("TOOL", "a tool, a group of tools, or all (default: %(default)s)", "classic"),
        _run(catalogue.tools),
    ),
    "measures": Command(
        "List the measures, or describe one.",
        ("pippin measures", "pippin measures ERR@10", "pippin measures --format json"),
        _configure("MEASURE", "a measure, in any notation"),
        _run(catalogue.measures),
    ),
    "rankers": Command(
        """List the rankers and the steps of chains, describe one, or describe a model.

With --on, the features of a model are listed by how much rankings of these data lose without each.""",
        ("pippin rankers", "pippin rankers lambdamart", "pippin rankers model.json --on test.txt"),
        configure_rankers,
        run_rankers,
    ),
    "features": Command(
        """List the features and the published sets, show a set, or describe a feature.

`pippin engine features` tells how search engines compute them.""",
        ("pippin features", "pippin features ohsumed", "pippin features bm25"),
        _configure("SET|FEATURE", "a feature set, or a feature"),
        _run(catalogue.features),
    ),
    "datasets": Command(
        "List the published data sets and the formats of collections that Pippin recognises, or describe a data set.",
        ("pippin datasets", "pippin datasets mq2008", "pippin datasets --format json"),
        _configure("DATASET", "a published data set"),
        _run(catalogue.datasets),
    ),
}
