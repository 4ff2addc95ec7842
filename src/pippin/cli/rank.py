"""`pippin rank`: score a data set with a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pippin.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pippin.data.dataset import Dataset
    from pippin.rankers.base import Ranker

HELP = """Score every document of a data set with a model.

  pippin rank model.json test.txt -o scores.txt
  pippin rank model.json parts/ -o scored/ --dask local

Partitions into a folder: one after the other, or on a cluster; it then holds
query, document, label and score."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store")
    parser.add_argument("--relations", metavar="FILE", help="how alike documents are, for a model trained with it")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="one score a line (default: the terminal), "
                        "or with partitions a folder, its name ending in /")  # fmt: skip
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="score partitions on a cluster: a scheduler's address, or `local`"
    )
    parser.add_argument(
        "--absent", choices=("zero", "null"), default="zero", help="what a feature that a line leaves out is"
    )


def run(options: argparse.Namespace) -> int:
    """Score and write."""
    from pippin.cli.train import read_data
    from pippin.data.partitions import is_partitions
    from pippin.data.scores import write_scores
    from pippin.rankers import models

    if options.dask is not None or (options.output.endswith("/") and is_partitions(options.data)):
        return run_partitions(options)
    model = models.load(options.model)
    data = models.aligned(model, read_data(options.data, options.absent))
    write_scores(scores(model, data, options.relations), options.output)
    return 0


def scores(model: Ranker, data: Dataset, relations: str | None) -> NDArray[np.float64]:
    """The model's scores, spread along relations where it was trained so."""
    if relations is None:
        if model.relation_weight_:
            raise DataError("this model spreads scores along relations; name their file with --relations")
        return model.predict(data)
    from pippin.collection.relations import similar
    from pippin.rankers.relational import Relational

    return Relational.around(model).predict(data, similar(data, relations))


def run_partitions(options: argparse.Namespace) -> int:
    """Score partition by partition into a folder."""
    from pippin.bench.dask.memory import score_partitions
    from pippin.cli.train import cluster

    if options.relations is not None:
        raise DataError("--relations is not for partitions; the pairs of documents are held in one memory")
    if options.output == "-":
        raise DataError("scored partitions are a folder; name it with -o FOLDER/")
    with cluster(options.dask) as client:
        print(f"{options.output}: {score_partitions(options.model, options.data, options.output, client)}")
    return 0
