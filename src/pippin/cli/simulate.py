"""`pippin simulate`: clicks that people would leave on a ranking of labelled documents."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pippin.cli.options import flag, shared
from pippin.cli.output import say
from pippin.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pippin.data.dataset import Dataset

HELP = """Simulate people who click on a ranking, and write the log of what they were shown and clicked.

DATA are ranked by SCORES, or by a model; of several, each session draws one; without any, documents stand as in the
file. Clicks come from the labels. The name says the form: .tsv, .jsonl or .parquet, and .gz behind it."""
EXAMPLES = (
    "pippin simulate train.txt scores.txt --out log.tsv",
    "pippin simulate train.txt model.json --people cascade --sessions 100 --swaps 0.1 --out log.parquet",
    "pippin simulate train.txt a.txt b.txt --eta 0.5 --noise 0 --out log.jsonl",
)


def people(parser: argparse.ArgumentParser) -> None:
    """The flags that say who clicks, and on what."""
    shared(parser, people="pbm", eta=1.0, persistence=0.5, trust=0.3, noise=0.1, sessions=10, shown=10, seed=1)


def told(options: argparse.Namespace) -> dict[str, Any]:
    """What these flags say, as `simulate` and `interleave` take it."""
    from pippin.clicks.models import Habits

    habits = Habits(eta=options.eta, persistence=options.persistence, trust=options.trust)
    return {
        "habits": habits,
        **{name: getattr(options, name) for name in ("people", "noise", "sessions", "depth", "seed")},
    }


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store, with labels")
    parser.add_argument("scores", metavar="SCORES", nargs="*", help="a file of scores, or a model")
    flag(parser, "out", "the log", metavar="LOG", required=True)
    people(parser)
    parser.add_argument("--swaps", type=float, default=0.0, metavar="SHARE", help="share of the sessions in which the "
                        "first document and one of a random rank change places (default: 0.0)")  # fmt: skip
    shared(parser, absent="zero")


def run(options: argparse.Namespace) -> int:
    """Simulate and write."""
    import numpy as np

    from pippin.cli.train import read_data
    from pippin.clicks.files import write
    from pippin.clicks.simulation import simulate

    data = read_data(options.data, options.absent)
    rankings = [scores_of(one, data) for one in options.scores] or [np.zeros(len(data))]
    log = simulate(data, rankings, swaps=options.swaps, **told(options))
    write(log, options.output)
    say(f"{log}: {options.output}", aside=options.output == "-")
    return 0


def scores_of(path: str, data: Dataset) -> NDArray[np.float64]:
    """The scores of a file of scores, or of a model."""
    from pippin.data.load import as_scored
    from pippin.data.trec import Run
    from pippin.rankers import models

    if models.is_own(path):
        model = models.load(path)
        return model.predict(models.aligned(model, data))
    scored = as_scored(path, data)
    if isinstance(scored, Run):
        raise DataError("a score for each document is needed, or a model, and this is a run", path)
    return scored
