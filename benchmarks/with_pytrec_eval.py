"""Evaluate two files with pytrec_eval the way its users do, for comparison.

python benchmarks/with_pytrec_eval.py QRELS RUN
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytrec_eval

MEASURES = {"ndcg_cut_10", "map", "recip_rank", "P_10"}


def main() -> None:
    with Path(sys.argv[1]).open() as qrels_file, Path(sys.argv[2]).open() as retrieved:
        qrels = pytrec_eval.parse_qrel(qrels_file)
        run = pytrec_eval.parse_run(retrieved)
    results = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    for measure in sorted(MEASURES):
        print(measure, sum(values[measure] for values in results.values()) / len(results), sep="\t")


if __name__ == "__main__":
    main()
