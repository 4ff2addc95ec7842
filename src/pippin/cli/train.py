"""The `pippin train` command."""

from __future__ import annotations

import argparse
import sys
from typing import cast

import pippin
from pippin.cli.options import add_option, add_options, parse_parameters, partition_executor, require_single
from pippin.cli.output import print_message

HELP = """Train a ranker and write its model.

With --select, every point of the ranker's grid is trained, and the best on the validation set is kept. On a cluster
(--dask), DATA is a folder of partitions, as `pippin convert --partitions` writes them. With --clicks, a click log
replaces the labels (lambdamart and ranksvm). `--ranker auto` tries many rankers and explains its choice."""
EXAMPLES = (
    "pippin train train.txt --ranker lambdamart --valid vali.txt --out model.json",
    "pippin train train.txt --ranker ranksvm --valid vali.txt --select MAP --out model.json",
    "pippin train train.txt --ranker auto --budget 60s --valid vali.txt --out auto.json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", help="training set: LETOR file, table or store")
    add_option(parser, "ranker", "here one", required=True)
    add_option(parser, "out", metavar="MODEL", required=True)
    parser.add_argument("--valid", metavar="FILE", help="validation set")
    add_option(parser, "measure", "here one, for training, early stopping and selection")
    add_options(parser, "convention", "select")
    parser.add_argument("--clicks", metavar="LOG", help="learn from this click log instead of the labels")
    parser.add_argument(
        "--debias", choices=("ips", "dr", "pairwise", "naive"), default="ips",
        help="correction of position bias: inverse propensity scores, doubly robust (also for documents that were "
        "never shown), pairs, or none (default: ips)",
    )  # fmt: skip
    parser.add_argument(
        "--propensities", metavar="METHOD", default="em",
        help="for --debias ips and dr: em, swaps, regression, or the propensities from rank 1, separated by commas "
        "(default: em)",
    )  # fmt: skip
    add_option(parser, "set", "names of scikit-learn and LightGBM such as n_estimators also work", default=[])
    parser.add_argument("--budget", metavar="TIME", help="time limit of auto: 60s, 5m, 1h")
    add_option(parser, "relations", "scores are propagated along it, with a weight chosen on --valid")
    parser.add_argument(
        "--no-sample", action="store_true",
        help="do not store 1,000 training documents, with which exports are checked, in the model file",
    )  # fmt: skip
    add_options(parser, "dask", "quiet", missing_value="zero")


def run(options: argparse.Namespace) -> int:
    """Train a ranker, write its model and print a summary."""
    with partition_executor(options.dask) as executor:
        model = pippin.train(
            options.data, require_single(options.ranker, "--ranker") or "", valid=options.valid,
            measure=require_single(options.measure, "--measure"),
            convention=require_single(options.convention, "--convention"),
            select=options.select, clicks=options.clicks, debias=options.debias, propensities=options.propensities,
            relations=options.relations, budget=options.budget, executor=executor, missing_value=options.missing_value,
            verbose=not options.quiet, **parse_parameters(options.set),
        )  # fmt: skip
    pippin.save(model, options.output, sample=not options.no_sample)
    if model.name == "auto" and not options.quiet:
        print(cast("pippin.rankers.Auto", model).table().render(), file=sys.stderr)
    for sentence in model.training_summary_.sentences(options.output):
        print_message(sentence)
    return 0
