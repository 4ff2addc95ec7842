"""`pippin rank`: score a data set with a model."""

from __future__ import annotations

import argparse

HELP = """Score every document of a data set with a model.

  pippin rank model.json test.txt -o scores.txt"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="one score a line (default: the terminal)")
    parser.add_argument(
        "--absent", choices=("zero", "null"), default="zero", help="what a feature that a line leaves out is"
    )


def run(options: argparse.Namespace) -> int:
    """Score and write."""
    from pippin.cli.train import read_data
    from pippin.data.scores import write_scores
    from pippin.rankers import models

    model = models.load(options.model)
    data = models.aligned(model, read_data(options.data, options.absent))
    write_scores(model.predict(data), options.output)
    return 0
