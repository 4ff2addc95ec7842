"""What do Eval-Score-4.0.pl of LETOR 4.0 and its younger sibling for MSLR print?

Two tables with 4 decimals: precision at 1 … 10 with MAP, and NDCG at 1 … 10 with MeanNDCG, a row per query if wanted
and a row of means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

import numpy as np

from pippin.evaluation.evaluate import aggregate
from pippin.evaluation.printers._letor import Script, score
from pippin.evaluation.ranking import Ranking

POSITIONS = 10


def _header(kind: str, last: str) -> str:
    return "\t".join(["qid", *(f"{kind}@{k}" for k in range(1, POSITIONS + 1)), last]) + "\n"


def _row(name: str, values: list[float]) -> str:
    return name + "\t" + "\t".join([f"{v:.4f}" for v in values]) + "\n"


def _table(script: Script, ranking: Ranking, kind: str, last: tuple[str, str], per_query: bool) -> Iterator[str]:
    """A measure at all positions and its summary `last` (kind, name in the header)."""
    columns = [script.values(ranking, kind, k) for k in range(1, POSITIONS + 1)]
    columns.append(script.values(ranking, last[0]))
    yield _header(kind, last[1])
    if per_query:
        for query, values in zip(ranking.query_ids, np.array(columns).T.tolist(), strict=True):
            yield _row(query, values)
    yield _row("Average", [aggregate(c, "mean") for c in columns]) + "\n"


def render(script: Script, ranking: Ranking, per_query: bool) -> str:
    """The result file."""
    precision = _table(script, ranking, "P", ("AP", "MAP"), per_query)
    gain = _table(script, ranking, "NDCG", ("MeanNDCG", "MeanNDCG"), per_query)
    return "".join([*precision, *gain])


# A script that meets no query at all dies of the division for the first mean.
BEGINNING = _header("P", "MAP") + "Average\t"
SCRIPT = Script("letor4", "Eval.pl", BEGINNING, r"#docid = (?P<document>\S+) inc = \S+ prob = \S+")


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Eval-Score-4.0.pl FILE SCORES OUT FLAG."""
    return score(SCRIPT, render, arguments, out, err)
