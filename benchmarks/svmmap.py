"""Compare the training time of SVM-MAP with the original svm_map.

python benchmarks/svmmap.py FOLDS NAME      FOLDS: a folder with Fold1/train.txt; NAME: MQ2008 or OHSUMED

svm_map's figures are quoted: user seconds of its process on fold 1, on two cores of an Intel Xeon. Ours here: reading
the file and fitting, CPU seconds of all threads.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

from pippin.data.letor import read_letor
from pippin.rankers.svmmap import SVMMAP

SVM_MAP = {
    "MQ2008": {0.1: 5.40, 1.0: 6.17, 10.0: 5.08, 100.0: 8.71, 1000.0: 7.98},
    "OHSUMED": {1.0: 5.67, 10.0: 5.82, 100.0: 6.51},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folds", type=Path)
    parser.add_argument("name", choices=SVM_MAP)
    options = parser.parse_args()
    path, name = options.folds / "Fold1" / "train.txt", options.name
    warnings.simplefilter("ignore")  # frank-wolfe does not end for a large C; its rounds column says so
    print(f"{name} fold 1; CPU seconds")
    print("       C   svm_map   solver            ours   ratio   rounds   objective")
    for C, theirs in SVM_MAP[name].items():
        for solver in ("cutting-planes", "frank-wolfe"):
            start = time.process_time()
            model = SVMMAP(C=C, solver=solver).fit(read_letor(path))
            ours = time.process_time() - start
            print(
                f"{C:8g} {theirs:9.2f}   {solver:15} {ours:6.3f} {theirs / ours:7.1f} {model.n_iter_:8} "
                f"{model.objective_:11.6g}"
            )


if __name__ == "__main__":
    main()
