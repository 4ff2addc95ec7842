"""Evaluate two files with ranx the way its users do, for comparison.

python benchmarks/with_ranx.py QRELS RUN
"""

from __future__ import annotations

import sys

import ranx

MEASURES = {"ndcg@10": "ndcg_cut_10", "map": "map", "mrr": "recip_rank", "precision@10": "P_10"}


def main() -> None:
    qrels = ranx.Qrels.from_file(sys.argv[1], kind="trec")
    run = ranx.Run.from_file(sys.argv[2], kind="trec")
    for name, value in ranx.evaluate(qrels, run, list(MEASURES)).items():
        print(MEASURES[name], value, sep="\t")


if __name__ == "__main__":
    main()
