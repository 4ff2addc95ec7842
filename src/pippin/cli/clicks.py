"""The commands `pippin simulate`, `propensities` and `interleave`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import pippin
from pippin.cli.options import Command, add_option, add_options, add_output_options, parse_named_files
from pippin.cli.output import print_message, write_result
from pippin.errors import DataError
from pippin.reports import clicks as report


def add_click_options(parser: argparse.ArgumentParser) -> None:
    """Declare how clicks are simulated."""
    add_options(
        parser, click_model="pbm", eta=1.0, persistence=0.5, trust=0.3, noise=0.1, sessions=10, depth=10, seed=1
    )


def click_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a simulation."""
    parameters = pippin.clicks.ClickModelParameters(
        eta=options.eta, persistence=options.persistence, trust=options.trust
    )
    return {
        "parameters": parameters,
        **{name: getattr(options, name) for name in ("click_model", "noise", "sessions", "depth", "seed")},
    }


def configure_simulate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin simulate`."""
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store, with labels")
    parser.add_argument("scores", metavar="SCORES", nargs="*", help="a file of scores, or a model")
    add_option(parser, "out", "the log", metavar="LOG", required=True)
    add_click_options(parser)
    parser.add_argument("--swap-rate", type=float, default=0.0, metavar="SHARE", help="share of the sessions in which "
                        "the first document and one of a random rank change places (default: 0.0)")  # fmt: skip
    add_options(parser, missing_value="zero")


def run_simulate(options: argparse.Namespace) -> int:
    """Simulate clicks and write the log."""
    data = pippin.rankers.as_dataset(options.data, options.missing_value)
    rankings = [pippin.rankers.document_scores(source, data) for source in options.scores]
    log = pippin.clicks.simulate(
        data, rankings or np.zeros(len(data)), swap_rate=options.swap_rate, **click_options(options)
    )
    pippin.clicks.write(log, options.output)
    print_message(f"{log}: {options.output}", stderr=options.output == "-")
    return 0


def configure_propensities(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin propensities`."""
    parser.add_argument("log", metavar="LOG", help="a click log: .tsv, .jsonl or .parquet")
    parser.add_argument("--by", choices=("em", "swaps", "regression"), default="em", help="em: a click probability for "
                        "each document; swaps: ratios of click rates of moved documents; regression: em with features "
                        "(default: em)")  # fmt: skip
    parser.add_argument(
        "--with", dest="documents", metavar="DATA", help="the documents of the log with their features, for regression"
    )
    add_options(parser, resamples=100, seed=1)
    add_output_options(parser)


def run_propensities(options: argparse.Namespace) -> int:
    """Estimate propensities and print them."""
    log = pippin.clicks.read(options.log)
    data = None if options.documents is None else pippin.rankers.as_dataset(options.documents)
    result = pippin.clicks.propensities(log, options.by, data=data, resamples=options.resamples, seed=options.seed)
    record = report.propensities_record(log, result)
    write_result(options.format, options.output, lambda: report.propensities_parts(record), lambda: record)
    return 0


def configure_interleave(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin interleave`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="DATA A B (NAME=PATH renames a ranking), or the "
                        "LOG of interleaved lists")  # fmt: skip
    parser.add_argument("--method", choices=("team-draft", "probabilistic"), default="team-draft",
                        help="how two rankings are merged into one list (default: team-draft)")  # fmt: skip
    add_click_options(parser)
    add_options(parser, test="randomization")
    parser.add_argument("--log", metavar="LOG", help="also write the log of the simulated lists and clicks")
    add_output_options(parser)


def run_interleave(options: argparse.Namespace) -> int:
    """Compare two rankings by clicks and print the result."""
    if len(options.files) == 3:
        data = pippin.rankers.as_dataset(options.files[0])
        rankings = parse_named_files(options.files[1:])
        if not isinstance(rankings, dict):
            stems = dict.fromkeys(Path(path).stem for path in rankings)
            rankings = dict(zip(stems if len(stems) == 2 else rankings, rankings, strict=True))
        first, second = rankings
        a, b = (pippin.rankers.document_scores(path, data) for path in rankings.values())
        result, log = pippin.clicks.interleave(
            data, a, b, method=options.method, names=(first, second), test=options.test, **click_options(options)
        )
        if options.log is not None:
            pippin.clicks.write(log, options.log)
    elif len(options.files) != 1:
        raise DataError(f"expected DATA A B, or one LOG, got {len(options.files)} files")
    elif options.log is not None:
        raise DataError("--log writes a simulated log and cannot be combined with a given LOG")
    else:
        result = pippin.clicks.compare_log(pippin.clicks.read(options.files[0]), test=options.test)
    write_result(
        options.format, options.output, lambda: report.interleaving_parts(result),
        lambda: report.interleaving_record(result),
    )  # fmt: skip
    return 0


COMMANDS = {
    "simulate": Command(
        """Simulate users who click on a ranking, and write the log of what they were shown and clicked.

DATA are ranked by SCORES, or by a model; with several, each session uses one at random; without any, documents keep
the order of the file. Clicks depend on the labels. The extension chooses the format: .tsv, .jsonl or .parquet,
optionally followed by .gz.""",
        (
            "pippin simulate train.txt scores.txt --out log.tsv",
            "pippin simulate train.txt model.json --click-model cascade --swap-rate 0.1 --out log.parquet",
            "pippin simulate train.txt a.txt b.txt --eta 0.5 --noise 0 --out log.jsonl",
        ),
        configure_simulate,
        run_simulate,
    ),
    "propensities": Command(
        """Estimate how likely users examine each rank of a click log, relative to the first, with intervals.

Documents must appear at several ranks: by swaps, by several rankings, or over time. If none did, --by regression
estimates relevance from the features of --with. `pippin train --propensities` takes the printed values.""",
        (
            "pippin propensities clicks.tsv",
            "pippin propensities clicks.tsv --by swaps --resamples 200",
            "pippin propensities clicks.tsv --by regression --with train.txt --format json",
        ),
        configure_propensities,
        run_propensities,
    ),
    "interleave": Command(
        """Tell which of two rankings users prefer, with an interval over queries.

Give DATA and two files of scores (or models): Pippin interleaves them and simulates users who click on the lists. Or
give one LOG of interleaved lists, with a column team, A or B.""",
        (
            "pippin interleave test.txt a.scores b.scores",
            "pippin interleave test.txt a.scores b.scores --click-model cascade --log interleaved.tsv",
            "pippin interleave interleaved.tsv --test t",
        ),
        configure_interleave,
        run_interleave,
    ),
}
