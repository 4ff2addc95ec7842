"""`pippin synthetic`: a small data set with everything that tools disagree about, and what they say of it.

Queries without a relevant document, short queries, tied scores: two scorers are evaluated under every tool.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.cli.evaluate import check_measures
from pippin.cli.options import flag, old
from pippin.cli.output import write
from pippin.data.dataset import Dataset
from pippin.evaluation.evaluate import evaluate_tool
from pippin.evaluation.tools import named
from pippin.tables import Prose, Table, number

HELP = """Make a small data set, evaluate two scorers under every tool, and print the table.

Queries without a relevant document, short queries and tied scores are in it: what tools disagree about."""
EXAMPLES = ("pippin synthetic", "pippin synthetic --size 50 -m MAP -o demo", "pippin synthetic --format json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--size", type=int, default=200, metavar="N", help="how many queries (default: %(default)s)")
    flag(parser, "seed", default=1)
    flag(parser, "measure", default=["NDCG@10"])
    flag(parser, "format", default="table")
    flag(parser, "out", "also the data set and the scores, into this folder", metavar="FOLDER")
    old(parser, "--queries", "--size")
    old(parser, "--output", "--out")


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

    check_measures(options.measure)
    data = synthetic.make(queries=options.size, seed=options.seed)
    scorers = synthetic.scorers(data, seed=options.seed)
    if options.output is not None:
        save(data, scorers, Path(options.output))
    evaluated = record(data, scorers, options.measure)
    write(options.format, "-", lambda: [Prose(str(data)), table(evaluated)], lambda: evaluated)
    return 0


def record(data: Dataset, scorers: dict[str, NDArray[np.float64]], measures: list[str]) -> dict[str, Any]:
    """What every tool says of every scorer."""
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for tool in named("classic"):
        results = {name: evaluate_tool(data, scores, measures, tool, {}, name) for name, scores in scorers.items()}
        counts = next(iter(results.values())).counts
        for measure in measures:
            means = {name: result.mean[measure] for name, result in results.items()}
            rows.append({"tool": tool.name, "title": tool.title, "measure": measure, "means": means,
                         "winner": max(means, key=lambda name: means[name])})  # fmt: skip
    return {"data": str(data), "counts": counts, "results": rows}


def table(evaluated: dict[str, Any]) -> Table:
    """A row for each tool and measure."""
    counts, results = evaluated["counts"], evaluated["results"]
    measures = list(dict.fromkeys(row["measure"] for row in results))
    scorers = list(results[0]["means"])
    rows = [
        [row["tool"], row["title"], *([row["measure"]] if len(measures) > 1 else []),
         *(number(mean, 4) for mean in row["means"].values()), row["winner"]]
        for row in results
    ]  # fmt: skip
    first = 3 if len(measures) > 1 else 2
    best = {(i, first + scorers.index(row["winner"])) for i, row in enumerate(results)}
    tools = len({row["tool"] for row in results})
    notes = [
        f"{counts['queries']} queries: {counts['empty']} without a relevant document, {counts['short']} shorter than "
        f"{counts['cutoff']} documents.",
        "The two scorers are close on purpose, and coarse has many ties: see who wins where.",
        f"One ranking, one name ({', '.join(measures)}), {tools} tools: `pippin tools` tells what each does.",
    ]
    heads = ["tool", "what it is", *(["measure"] if len(measures) > 1 else []), *scorers, "winner"]
    return Table(heads, rows, names=first, remarks=1, notes=notes, best=best)
