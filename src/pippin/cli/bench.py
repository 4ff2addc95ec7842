"""`pippin bench`: from data sets to results, on all cores, as often interrupted as one likes."""

from __future__ import annotations

import argparse
import ast
import math
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pippin.errors import DataError

if TYPE_CHECKING:
    from pippin.bench.plan import Experiment
    from pippin.bench.runner import Outcome

HELP = """Train and evaluate rankers on data sets in folds, and keep everything.

  pippin bench OHSUMED MQ2008 -o results
  pippin bench stdlib --sample 100 --quick     (the standard library: three data sets, built first)
  pippin bench all.txt --rankers ranksvm,lambdamart --folds 5 --quick
  pippin bench data --conventions official,yahoo --set lambdamart.rounds=300
  pippin bench plan.toml -o results          (options win over the plan; `pippin.bench.plan` says what it holds)

Run it again to go on after Ctrl-C, a crash or a failure: what is done is never computed again."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="folders with folds, files with features, collections "
                        "(NAME=PATH calls one otherwise), or one plan.toml")  # fmt: skip
    parser.add_argument("-o", "--output", default="results", metavar="RESULTS", help="(default: results)")
    grid = parser.add_argument_group("the grid")
    grid.add_argument("--rankers", metavar="A,B", help="names, or all (default: all); `pippin rankers` lists them")
    grid.add_argument("--conventions", metavar="T,U", help="tools whose measures training looks at (default: official)")
    grid.add_argument("--tools", metavar="T,U", help="tools to evaluate under (default: all)")
    grid.add_argument("--measures", metavar="M,N", help="(default: NDCG@1 … 10, P@1 … 10, MAP, MRR, ERR@10)")
    grid.add_argument(
        "--folds", type=int, metavar="N", help="how many are made of a plain file or a collection (default: 5)"
    )
    grid.add_argument("--sample", type=int, metavar="N", help="documents per query of a collection (default: 1000)")
    grid.add_argument("--select", metavar="M", help="the measure that chooses hyper-parameters (default: MAP)")
    grid.add_argument("--seeds", type=int, metavar="N", help="how many (default: 1)")
    grid.add_argument("--set", action="append", metavar="RANKER.NAME=VALUE", help="fix a parameter of a ranker")
    grid.add_argument("--quick", action="store_true", help="small grids and few rounds, for a first look")
    how = parser.add_argument_group("how it runs")
    how.add_argument("--jobs", type=int, metavar="N", help="cells at a time (default: one per core)")
    how.add_argument("--memory", metavar="SIZE", help="for all of them together, such as 8G; beyond it a cell fails")
    how.add_argument("--dask", metavar="ADDRESS", help="on the Dask cluster of this scheduler, or local")
    how.add_argument("--allow-leak", action="store_true", help="go on where training holds test queries")
    how.add_argument("--allow-one-fold", action="store_true", help="go on where a data set has one fold")
    how.add_argument("--no-check", action="store_true", help="do not compare a published data set with its counts")
    how.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Run, and print who leads; status 1 where a cell failed."""
    from pippin.bench.runner import run as run_bench
    from pippin.machine import parse_size

    memory = None if options.memory is None else parse_size(options.memory)
    executor = None
    if options.dask is not None:
        from pippin.bench.dask.cluster import on_dask

        executor = on_dask(options.dask, options.jobs, memory)
    outcome = run_bench(
        experiment(options), options.output, jobs=options.jobs, memory=memory, allow_leak=options.allow_leak,
        allow_one_fold=options.allow_one_fold, check=not options.no_check, verbose=not options.quiet,
        command=shlex.join(["pippin", *sys.argv[1:]]), executor=executor,
    )  # fmt: skip
    print(summary(outcome))
    for line in failures(outcome):
        print(f"pippin: {line}", file=sys.stderr)
    return outcome.status


def experiment(options: argparse.Namespace) -> Experiment:
    """The plan that the options describe, or a plan file with the options on top."""
    from pippin.bench.plan import Experiment, first_seeds, read_plan

    given: dict[str, Any] = {}
    for name in ("rankers", "conventions", "tools", "measures"):
        text = getattr(options, name)
        if text is not None:
            given[name] = tuple(part.strip() for part in text.split(","))
    for name in ("folds", "sample", "select"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.imports:
        given["imports"] = options.imports
    if options.seeds is not None:
        given["seeds"] = first_seeds(options.seeds)
    if options.quick:
        given["quick"] = True
    if options.set:
        given["parameters"] = _parameters(options.set)
    plans = [path for path in options.data if path.endswith(".toml")]
    if not plans:
        return Experiment(tuple(options.data), **given)
    if len(options.data) > 1:
        raise DataError("a plan names its data itself, so it stands alone", plans[0])
    plan = read_plan(plans[0])
    if "parameters" in given:
        merged = {name: dict(own) for name, own in plan.parameters.items()}
        for name, own in given["parameters"].items():
            merged[name] = {**merged.get(name, {}), **own}
        given["parameters"] = merged
    return replace(plan, **given)


def _parameters(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Fixed parameters by ranker.

    >>> _parameters(["lambdamart.rounds=300", "frank.select=loss"])
    {'lambdamart': {'rounds': 300}, 'frank': {'select': 'loss'}}
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        place, equals, value = text.partition("=")
        name, dot, parameter = place.partition(".")
        if not equals or not dot:
            raise DataError(f"--set takes RANKER.NAME=VALUE, not {text!r}")
        try:
            found.setdefault(name, {})[parameter] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found.setdefault(name, {})[parameter] = value
    return found


def summary(outcome: Outcome) -> str:
    """The rankers of this run by their means over folds, per data set, and where the results are.

    A ranker that lacks a cell has no mean, as on the leaderboard.
    """
    from pippin.bench.standings import mean_over_folds
    from pippin.tables import Table

    tool = "official" if "official" in outcome.tasks[0].tools else outcome.tasks[0].tools[0]
    asked = outcome.tasks[0].measures
    measures = [m for m in asked if m in ("NDCG@10", "MAP")] or asked[:2]
    records = {cell.key: cell.record["means"].get(tool, {}) for cell in outcome.results.cells}
    expected: dict[tuple[str, str, str], list[tuple[str, str, str, str, int]]] = {}
    for task in outcome.tasks:
        expected.setdefault((task.data, task.ranker, task.convention), []).append(task.key)
    rows = []
    for name, keys in expected.items():
        means = []
        for measure in measures:
            values = {(key[1], key[4]): records.get(key, {}).get(measure) for key in keys}
            cells = {at: math.nan if value is None else value for at, value in values.items()}
            means.append(mean_over_folds(cells).mean)
        rows.append((name, sum(key in records for key in keys), means))
    order = {data: i for i, data in enumerate(dict.fromkeys(name[0] for name, _, _ in rows))}
    rows.sort(key=lambda row: (order[row[0][0]], math.inf if math.isnan(row[2][-1]) else -row[2][-1]))
    shown = [[*name, str(cells), *("–" if math.isnan(m) else f"{m:.4f}" for m in means)] for name, cells, means in rows]
    done = len(outcome.tasks) - len(outcome.failed)
    note = (f"{done} of {len(outcome.tasks)} cells are in {outcome.results.path} ({outcome.computed} computed now); "
            f"means over folds under {tool}")  # fmt: skip
    return Table(["data", "ranker", "trained under", "cells", *measures], shown, names=3, notes=[note]).render()


def failures(outcome: Outcome) -> list[str]:
    """Each reason once, with the cells it stopped."""
    where: dict[str, list[str]] = {}
    for task in outcome.tasks:
        if task.address in outcome.failed:
            where.setdefault(outcome.failed[task.address], []).append(f"{task.ranker} on {task.data} {task.fold}")
    return [
        f"{len(cells)} failed ({cells[0]}{' …' if len(cells) > 1 else ''}): {reason}" for reason, cells in where.items()
    ]
