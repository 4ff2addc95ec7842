"""Compare the speed of evaluation with an earlier commit.

    git worktree add ../earlier COMMIT      and build its native module in place, as CONTRIBUTING.md tells
    python benchmarks/against_commit.py ../earlier/src src [--rounds 7]

Both trees evaluate the same data in turns, each time in a process of their own: one tool, and all tools that both know,
on a data set with scores and on judgements with a run, without ties and with many. The figures are seconds of the
processor, the least of all rounds, without reading: what else the machine does disturbs them little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable

MEASURES = ["NDCG@10", "AP", "RR", "P@10"]
QUERIES, DOCUMENTS = 2000, 100


def tasks() -> dict[str, Callable[[list[str]], object]]:
    """What is evaluated, by name; a task takes the names of tools."""
    import numpy as np

    import pippin
    from pippin.data.dataset import Dataset
    from pippin.data.qrels import Qrels, Run
    from pippin.kernels.strings import StringColumn

    rng = np.random.default_rng(0)
    size = QUERIES * DOCUMENTS
    labels = rng.choice(3, size, p=[0.8, 0.15, 0.05]).astype(np.int32)
    offsets = np.arange(0, size + 1, DOCUMENTS)
    queries, ids = tuple(f"q{i}" for i in range(QUERIES)), StringColumn.of(f"d{i}" for i in range(size))
    data, qrels = (
        Dataset(np.zeros((size, 1)), labels, offsets, queries, ids),
        Qrels(queries, offsets, ids, labels),
    )
    items: dict[str, Callable[[list[str]], object]] = {}
    for name, scores in (("no ties", rng.permutation(size) / 4), ("ties", rng.integers(0, 40, size) / 4)):
        run = Run(queries, offsets, ids, scores)
        items[f"data set, {name}"] = lambda tools, scores=scores: pippin.evaluate(data, scores, MEASURES, tool=tools)
        items[f"run, {name}"] = lambda tools, run=run: pippin.evaluate(qrels, run, MEASURES, tool=tools)
    return items


def measure(tools: list[str]) -> None:
    """Print the seconds of every task, with one tool and with all."""
    import time

    results = {}
    for name, task in tasks().items():
        for which, asked in (("one tool", ["trec_eval9"]), ("all tools", tools)):
            seconds = []
            for _ in range(4):
                start = time.process_time()
                task(asked)
                seconds.append(time.process_time() - start)
            results[f"{name}, {which}"] = min(seconds)
    print(json.dumps(results))


def child(source: str, *arguments: str) -> str:
    """What this script prints under another source tree."""
    environment = {**os.environ, "PYTHONPATH": source, "PIPPIN_THREADS": "1"}
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    """Measure both trees in turns, and print the least seconds and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="*", help="the earlier tree, then the later one")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure)
    if options.list:
        import pippin

        print(json.dumps(list(pippin.tools)))
        return None
    records = [json.loads(child(source, "--list")) for source in options.source]
    tools = [name for name in records[0] if name in records[1]]
    seconds: list[dict[str, list[float]]] = [{}, {}]
    for _ in range(options.rounds):
        for each, source in zip(seconds, options.source, strict=True):
            for name, value in json.loads(child(source, "--measure", *tools)).items():
                each.setdefault(name, []).append(value)
    print(f"{len(tools)} tools that both know; {QUERIES} queries of {DOCUMENTS} documents; {', '.join(MEASURES)}\n")
    print("| | earlier | later | later / earlier |\n|---|---:|---:|---:|")
    for name in seconds[0]:
        before, after = min(seconds[0][name]), min(seconds[1][name])
        print(f"| {name} | {before:.3f} s | {after:.3f} s | {after / before:.2f} |")
    return None


if __name__ == "__main__":
    main()
