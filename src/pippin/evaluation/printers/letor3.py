"""What does Eval-Score-3.0.pl of LETOR 3.0 print?

Precision and NDCG at 1 … 16 and MAP with 15 digits. A list of n documents has values up to rank n only; the means have
as many columns as the longest list, and a value that is missing counts 0 in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

import numpy as np

from pippin.evaluation.evaluate import aggregate
from pippin.evaluation.printers._letor import Script, score
from pippin.evaluation.printers._perl import show
from pippin.evaluation.ranking import Ranking

SCRIPT = Script("letor3", "Eval.pl", "precision:\t\t\n\n", r"#docid = (?P<document>\S+)")
POSITIONS = 16


def _block(script: Script, ranking: Ranking, kind: str, name: str, per_query: bool) -> Iterator[str]:
    """One measure at all positions: a line per query, then the means."""
    depth = np.minimum(ranking.sizes(), POSITIONS)
    columns = [script.values(ranking, kind, k + 1) for k in range(int(depth.max(initial=0)))]
    if per_query:
        table = np.array(columns).T.tolist()
        for query, row in enumerate(table):
            yield f"{name} of query{query}:\t" + "\t".join(map(show, row[: depth[query]])) + "\t\n"
    yield f"{name}:\t" + "\t".join(show(aggregate(c, "mean")) for c in columns) + "\t\n\n"


def _map_lines(script: Script, ranking: Ranking, per_query: bool) -> Iterator[str]:
    values = script.values(ranking, "AP")
    if per_query:
        for query, value in enumerate(values.tolist()):
            yield f"Map of query{query}:\t{show(value)}\n"
    yield f"MAP:\t{show(aggregate(values, 'mean'))}\n\n"


def render(script: Script, ranking: Ranking, per_query: bool) -> str:
    """The result file."""
    return "".join(
        [
            *_block(script, ranking, "P", "precision", per_query),
            *_map_lines(script, ranking, per_query),
            *_block(script, ranking, "NDCG", "NDCG", per_query),
        ]
    )


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Eval-Score-3.0.pl FILE SCORES OUT FLAG."""
    return score(SCRIPT, render, arguments, out, err)
