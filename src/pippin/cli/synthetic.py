"""`pippin synthetic`: a small data set with everything that tools disagree about, and what they say of it.

Queries without a relevant document, short queries, tied scores: two scorers are evaluated under every tool.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.evaluate import evaluate_tool
from pippin.evaluation.tools import TOOLS
from pippin.tables import Table, number

HELP = "Make a small data set, evaluate two scorers under every tool, and print the table."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--queries", type=int, default=200, help="(default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="(default: 1)")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="also write the data set and the scores here")
    parser.add_argument("-m", "--measure", default="NDCG@10", help="(default: NDCG@10)")


def save(data: Dataset, scorers: dict[str, NDArray[np.float64]], folder: Path) -> None:
    """Write test.txt and a score file per scorer."""
    from pippin.data.letor import write_letor
    from pippin.data.scores import write_scores

    folder.mkdir(parents=True, exist_ok=True)
    write_letor(data, folder / "test.txt")
    for name, scores in scorers.items():
        write_scores(scores, folder / f"{name}.txt")


def run(options: argparse.Namespace) -> int:
    """Make, evaluate, print."""
    from pippin.data import synthetic

    data = synthetic.make(queries=options.queries, seed=options.seed)
    scorers = synthetic.scorers(data, seed=options.seed)
    print(f"{data}\n")
    if options.output is not None:
        save(data, scorers, Path(options.output))
    rows = []
    for tool in TOOLS.values():
        results = [evaluate_tool(data, s, [options.measure], tool, {}, name) for name, s in scorers.items()]
        means = [result.mean[options.measure] for result in results]
        best = max(range(len(means)), key=means.__getitem__)
        rows.append([tool.name, tool.title, *(number(mean, 4) for mean in means), list(scorers)[best]])
    counts = results[0].counts
    notes = [
        f"{counts['queries']} queries: {counts['empty']} without a relevant document, {counts['short']} shorter than "
        f"{counts['cutoff']} documents.",
        "The two scorers are close on purpose, and coarse has many ties: see who wins where.",
        f"One ranking, one name ({options.measure}), {len(rows)} tools: `pippin tools` tells what each does.",
    ]
    print(Table(["tool", "", *scorers, "winner"], rows, names=2, notes=notes).render())
    return 0
