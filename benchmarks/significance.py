"""Compare the speed of the randomisation test of all pairs with vectorised NumPy and SciPy.

    python benchmarks/significance.py [MATRIX.csv]

MATRIX has a header with one column per system and one line per query; without it, random values of 129
systems on 50 queries. Everything runs in one process on the same data, so that the ratios mean something on a
noisy machine; each time is the best of three. The peers run fewer randomisations and are scaled up, since
their cost is linear in them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable

FloatArray = NDArray[np.float64]
SAMPLES = 100_000
PEER_SAMPLES = 1_000
SCIPY_PAIRS = 20


def best(run: Callable[[], object], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def numpy_all_pairs(values: FloatArray) -> FloatArray:
    """The same algorithm in NumPy: signed sums by matrix product, then all pairs, system by system."""
    rng = np.random.default_rng(0)
    sums = (rng.integers(0, 2, (PEER_SAMPLES, len(values))) * 2.0 - 1.0) @ values
    observed = values.sum(axis=0)
    counts = [
        (np.abs(sums[:, i + 1 :] - sums[:, i, None]) >= np.abs(observed[i + 1 :] - observed[i])).sum(axis=0)
        for i in range(values.shape[1] - 1)
    ]
    return np.asarray((1 + np.concatenate(counts)) / (1 + PEER_SAMPLES))


def scipy_pairs(values: FloatArray) -> None:
    """scipy.stats.permutation_test, vectorised over replicates, for some of the pairs."""
    for j in range(1, SCIPY_PAIRS + 1):
        d = values[:, 0] - values[:, j]
        stats.permutation_test(
            (d,),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=PEER_SAMPLES,
        )


def main() -> None:
    if len(sys.argv) > 1:
        values = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
    else:
        values = np.random.default_rng(0).random((50, 129))
    scores = ValueTable.from_arrays(values)
    queries, systems = values.shape
    pairs = systems * (systems - 1) // 2
    print(f"{systems} systems × {queries} queries, {pairs} pairs, {SAMPLES} randomisations")

    numpy_seconds = best(lambda: numpy_all_pairs(values)) * SAMPLES / PEER_SAMPLES
    scipy_seconds = best(lambda: scipy_pairs(values)) * SAMPLES / PEER_SAMPLES * pairs / SCIPY_PAIRS
    print(f"{'NumPy, shared signs (scaled)':42} {numpy_seconds:9.2f} s")
    print(f"{'SciPy permutation_test (scaled)':42} {scipy_seconds:9.2f} s")
    for test in ("randomization", "tukey-randomization"):
        for threads in (1, 2):
            seconds = best(partial(compare_systems, scores, test, resamples=SAMPLES, threads=threads))
            ratios = f"NumPy ÷ {numpy_seconds / seconds:.1f}, SciPy ÷ {scipy_seconds / seconds:.0f}"
            note = ratios if test == "randomization" else ""
            print(f"{f'pippin {test}, {threads} thread(s)':42} {seconds:9.2f} s   {note}")
    for test in ("t", "wilcoxon", "sign", "bootstrap", "tukey"):
        print(f"{f'pippin {test}':42} {best(partial(compare_systems, scores, test)):9.2f} s")


if __name__ == "__main__":
    main()
