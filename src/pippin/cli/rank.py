"""`pippin rank`: score a data set with a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pippin.cli.options import flag, old, shared
from pippin.cli.output import say
from pippin.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pippin.data.dataset import Dataset
    from pippin.rankers.base import Ranker

HELP = """Score every document of a data set with a model.

A file that ends in .run is written as a TREC run, where the data knows its documents' ids. Partitions are scored into a
folder, one after the other or on a cluster; it then holds query, document, label and score."""
EXAMPLES = (
    "pippin rank model.json test.txt --out scores.txt",
    "pippin rank model.json test.txt --out model.run",
    "pippin rank model.json parts/ --out scored/",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a file that `pippin train` wrote")
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store")
    flag(
        parser,
        "out",
        "one score a line, or a run if it ends in .run; of partitions, a folder that ends in /",
        metavar="FILE",
        default="-",
    )
    flag(parser, "relations", "for a model trained with it")
    shared(parser, "dask", absent="zero")
    old(parser, "--output", "--out")


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
    scored = scores(model, data, options.relations)
    if options.output.endswith(".run"):
        from pippin.collection.retrieval import run_of, sorted_run
        from pippin.data.trec_text import write_run

        write_run(sorted_run(run_of(data, scored, model.name)), options.output)
    else:
        write_scores(scored, options.output)
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
        say(f"{options.output}: {score_partitions(options.model, options.data, options.output, client)}")
    return 0
