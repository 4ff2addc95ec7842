"""Check that bounds contain the true value when judgements are hidden, and compare ways to choose new judgements.

    python benchmarks/holes.py [--trials 100000] [--figure FILE.svg]

A fully judged set is made by lot, a share of its judgements is hidden, and the bounds of what is left are held against
the values under all judgements: a trial is one query under one measure, for a run or for the difference of two. Half
of the runs have all documents; the others lack some, which may be relevant and not judged (`beyond`). Then pairs of
runs are judged on: what `Bounds.judge_next` lists, asked again each time, what pooling takes from the tops of the runs,
and by lot. No numbers here are times, so that a busy machine changes none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import cycle

import numpy as np

from pippin.evaluation.bounds import Bounds, bounds
from pippin.evaluation.evaluate import evaluate

MEASURES = ("NDCG@10", "AP", "RR", "P@5", "ERR@10", "RBP")
JUDGED_ON = (0, 5, 10, 20, 40, 80)
Labels = dict[str, dict[str, int]]
Runs = list[dict[str, dict[str, float]]]
Chooser = Callable[[Bounds, Labels, Runs, int], list[tuple[str, str]]]


def hide_judgements(rng: np.random.Generator, queries: int, retrieved: float) -> tuple[Labels, Labels, Runs]:
    """All judgements, those that are left, and two runs of unequal skill with a share of the documents."""
    truth: Labels = {}
    left: Labels = {}
    runs: Runs = [{}, {}]
    for q in range(queries):
        name = f"q{q}"
        labels = rng.choice(4, rng.integers(2, 40), p=[0.6, 0.2, 0.1, 0.1])
        truth[name] = {f"d{i}": int(label) for i, label in enumerate(labels)}
        keep_mask = rng.random(len(labels)) < rng.uniform(0.4, 1.0)
        keep_mask[0] = True
        left[name] = {d: label for (d, label), keep in zip(truth[name].items(), keep_mask, strict=True) if keep}
        for run, noise in zip(runs, (1.0, 1.3), strict=True):
            scores = labels + rng.normal(0, noise, len(labels))
            order = np.argsort(-scores)[: max(2, int(len(labels) * retrieved))]
            run[name] = {f"d{i}": float(scores[i]) for i in order}
    return truth, left, runs


def check_containment(trials: int) -> None:
    """Print how many trials have the true value within their bounds, and the mean width."""
    rng = np.random.default_rng(0)
    done = dict.fromkeys(MEASURES, 0)
    missed, outer, widths = dict(done), dict(done), dict.fromkeys(MEASURES, 0.0)
    shares = cycle((1.0, 0.7))
    while sum(done.values()) < trials:
        truth, left, runs = hide_judgements(rng, 200, next(shares))
        for measure in MEASURES:
            first, second = (np.array(list(evaluate(truth, run, measure).per_query[measure].values())) for run in runs)
            for given, true in ((runs[:1], first), (runs, first - second)):
                unseen = max(len(set(truth[q]) - set(left[q]) - {d for run in given for d in run[q]}) for q in truth)
                result = bounds(left, *given, measure=measure, max_label=3, extra_relevant=unseen)
                missed[measure] += int(((true < result.lows - 1e-12) | (true > result.highs + 1e-12)).sum())
                outer[measure] += sum(not item.exact for item in result.found)
                widths[measure] += float((result.highs - result.lows).sum())
                done[measure] += len(true)
    print(f"{sum(done.values()):,} trials, {sum(missed.values())} with the truth outside the bounds\n")
    print(f"{'measure':8} {'trials':>7} {'outside':>8} {'outer':>6} {'mean width':>11}")
    for measure in MEASURES:
        width = widths[measure] / done[measure]
        print(f"{measure:8} {done[measure]:7} {missed[measure]:8} {outer[measure]:6} {width:11.4f}")


def choose_by_width(found: Bounds, left: Labels, runs: Runs, count: int) -> list[tuple[str, str]]:
    """Choose the judgements that shrink the bounds most."""
    return [(item.query, item.document) for item in found.judge_next(count)]


def choose_by_pooling(found: Bounds, left: Labels, runs: Runs, count: int) -> list[tuple[str, str]]:
    """Choose the highest ranked documents of the runs, all queries in turn."""
    ranked = {(q, i): list(run[q]) for i, run in enumerate(runs) for q in left}
    depths = range(max(map(len, ranked.values())))
    every = [(q, d) for depth in depths for (q, _), ids in ranked.items() for d in ids[depth : depth + 1]]
    return [pair for pair in dict.fromkeys(every) if pair[1] not in left[pair[0]]][:count]


def choose_at_random(found: Bounds, left: Labels, runs: Runs, count: int) -> list[tuple[str, str]]:
    """Any."""
    every = choose_by_pooling(found, left, runs, 1 << 30)
    selected = np.random.default_rng(1).permutation(len(every))[:count]
    return [every[i] for i in selected]


CHOOSERS: dict[str, Chooser] = {
    "what carries most": choose_by_width,
    "pooling": choose_by_pooling,
    "by lot": choose_at_random,
}


def shrinking(pairs: int) -> list[dict[str, object]]:
    """The mean width of a difference of NDCG@10 after some judgements, chosen in three ways."""
    rows: list[dict[str, object]] = []
    for name, choose in CHOOSERS.items():
        rng, widths = np.random.default_rng(2), np.zeros(len(JUDGED_ON))
        for _ in range(pairs):
            truth, left, runs = hide_judgements(rng, 25, 0.7)
            for i, qrels in enumerate(JUDGED_ON):
                result = bounds(left, *runs, measure="NDCG@10", max_label=3)
                widths[i] += (result.high - result.low) / pairs
                more = JUDGED_ON[i + 1] - qrels if i + 1 < len(JUDGED_ON) else 0
                for query, document in choose(result, left, runs, more):
                    left[query] = {**left[query], document: truth[query][document]}
        rows += [{"judged": j, "width": float(w), "chosen": name} for j, w in zip(JUDGED_ON, widths, strict=True)]
    return rows


def draw(rows: list[dict[str, object]], path: str) -> None:
    """The widths as lines."""
    from pippin.reports.figures import Figure

    Figure({
        "data": {"values": rows}, "mark": {"type": "line", "point": True}, "width": 420, "height": 240,
        "encoding": {
            "x": {"field": "judged", "type": "quantitative", "title": "documents judged on"},
            "y": {"field": "width", "type": "quantitative", "title": "width of the difference of NDCG@10"},
            "color": {"field": "chosen", "type": "nominal", "title": None},
        },
    }, "Which documents to judge next").save(path)  # fmt: skip


def main() -> None:
    """Run both, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--figure")
    options = parser.parse_args()
    check_containment(options.trials)
    rows = shrinking(options.pairs)
    print(f"\n{'judged on':18}" + "".join(f"{j:9}" for j in JUDGED_ON))
    for name in CHOOSERS:
        print(f"{name:18}" + "".join(f"{row['width']:9.4f}" for row in rows if row["chosen"] == name))
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
