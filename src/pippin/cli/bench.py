"""`pippin bench`: from data sets to results, on all cores, as often interrupted as one likes."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from typing import TYPE_CHECKING, Any

from pippin.cli.options import flag, hint, old, shared
from pippin.cli.output import say, write
from pippin.errors import DataError
from pippin.tables import Table, number

if TYPE_CHECKING:
    from pippin.bench.plan import Experiment
    from pippin.bench.runner import Outcome

HELP = """Train and evaluate rankers on data sets in folds, and keep everything.

Run it again to go on after Ctrl-C, a crash or a failure: what is done is never computed again. A plan.toml holds the
same as the options (`pippin.bench.plan` says what), which win over it; `stdlib`, the standard library, is built
first."""
EXAMPLES = (
    "pippin bench all.txt --ranker ranksvm,best-feature --folds 3 --quick --out results",
    "pippin bench mine --quick -r regression --convention official,yahoo --tool official,letor4 -m NDCG@10,MAP",
    "pippin bench plan.toml --out results --set lambdamart.rounds=30",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="folders with folds, files with features, collections "
                        "(NAME=PATH calls one otherwise), or one plan.toml")  # fmt: skip
    flag(parser, "out", metavar="RESULTS", default="results")
    grid = parser.add_argument_group("the grid")
    flag(grid, "ranker", "or all (default: all)")
    flag(grid, "convention", "or several (default: official)")
    flag(grid, "tool", "those to evaluate under (default: all)")
    flag(grid, "measure", "(default: NDCG@1 … 10, P@1 … 10, MAP, MRR, ERR@10)")
    flag(grid, "folds", "of a plain file or a collection (default: 5)")
    flag(grid, "sample", "(default: 1000)")
    grid.add_argument("--vali", metavar="SHARE", type=float, help="cut this share of the training queries off to "
                      "validate on, where a folder has no validation part: 0.25")  # fmt: skip
    flag(grid, "select", "(default: MAP)")
    flag(grid, "seeds", "(default: 1)")
    grid.add_argument("--models", metavar="DIR", help="models of other programs, which are held against the rankers as "
                      "they are")  # fmt: skip
    shared(grid, "set", "quick")
    how = parser.add_argument_group("how it runs")
    shared(how, "jobs")
    flag(how, "memory", "for all cells together; beyond it a cell fails")
    shared(how, "dask")
    how.add_argument("--allow-leak", action="store_true", help="go on where training holds test queries")
    how.add_argument("--allow-one-fold", action="store_true", help="go on where a data set has one fold")
    how.add_argument("--no-check", action="store_true", help="do not compare a published data set with its counts")
    shared(how, "quiet", format="table")
    for former, now in {"--output": "--out", "--rankers": "--ranker", "--conventions": "--convention",
                        "--tools": "--tool", "--measures": "--measure"}.items():  # fmt: skip
        old(parser, former, now)


def run(options: argparse.Namespace) -> int:
    """Run, and print who leads; status 1 where a cell failed."""
    from pippin.bench.runner import run as run_bench
    from pippin.machine import parse_size

    planned = experiment(options)
    if planned.left_out:
        hint(planned.left_out)
    memory = None if options.memory is None else parse_size(options.memory)
    executor = None
    if options.dask is not None:
        from pippin.bench.dask.cluster import on_dask

        executor = on_dask(options.dask, options.jobs, memory)
    if options.models is not None:
        from pippin.bench.foreign import with_models

        planned = with_models(planned, options.models)
    try:
        outcome = run_bench(
            planned, options.output, jobs=options.jobs, memory=memory, allow_leak=options.allow_leak,
            allow_one_fold=options.allow_one_fold, check=not options.no_check, verbose=not options.quiet,
            command=shlex.join(["pippin", *sys.argv[1:]]), executor=executor,
        )  # fmt: skip
    except KeyboardInterrupt:
        hint(f"what is done is kept in {options.output}; the same command goes on from there")
        raise
    outcome_record = {**record(outcome), "left_out": [planned.left_out] if planned.left_out else []}
    write(options.format, "-", lambda: [summary(outcome_record)], lambda: outcome_record)
    for line in outcome_record["failures"]:
        hint(line)
    if options.format == "table" and not options.quiet:
        results = shlex.quote(str(outcome_record["results"]))
        more = f"`pippin leaderboard {results}` tells more, `pippin report {results} -o page.html` makes a page"
        say(more, aside=True)
    return outcome.status


def experiment(options: argparse.Namespace) -> Experiment:
    """The plan that the options describe, or a plan file with the options on top."""
    from pippin.bench.plan import Experiment, first_seeds, read_plan

    given: dict[str, Any] = {}
    for name in ("ranker", "convention", "tool", "measure"):
        if getattr(options, name) is not None:
            given[f"{name}s"] = tuple(getattr(options, name))
    for name in ("folds", "sample", "vali", "select"):
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
        merged = {name: dict(settings) for name, settings in plan.parameters.items()}
        for name, settings in given["parameters"].items():
            merged[name] = {**merged.get(name, {}), **settings}
        given["parameters"] = merged
    return plan.changed(**given)


def _parameters(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Fixed parameters by ranker.

    >>> _parameters(["lambdamart.rounds=300", "frank.select=loss"])
    {'lambdamart': {'rounds': 300}, 'frank': {'select': 'loss'}}
    """
    from pippin.rankers.written import value_of

    parameters: dict[str, dict[str, Any]] = {}
    for text in texts:
        place, equals, value = text.partition("=")
        name, dot, parameter = place.partition(".")
        if not equals or not dot:
            raise DataError(f"--set takes RANKER.NAME=VALUE, not {text!r}")
        parameters.setdefault(name, {})[parameter] = value_of(value)
    return parameters


def record(outcome: Outcome) -> dict[str, Any]:
    """The rankers of this run by their means over folds, per data set, and where the results are.

    A ranker that lacks a cell has no mean, as on the leaderboard.
    """
    from pippin.bench.standings import mean_over_folds

    tool = "official" if "official" in outcome.tasks[0].tools else outcome.tasks[0].tools[0]
    asked = outcome.tasks[0].measures
    measures = [m for m in asked if m in ("NDCG@10", "MAP")] or list(asked[:2])
    records = {cell.key: cell.record["means"].get(tool, {}) for cell in outcome.results.cells}
    expected: dict[tuple[str, str, str], list[tuple[str, str, str, str, int]]] = {}
    for task in outcome.tasks:
        expected.setdefault((task.data, task.ranker, task.convention), []).append(task.key)
    rows: list[dict[str, Any]] = []
    for (data, ranker, convention), keys in expected.items():
        means = {}
        for measure in measures:
            values = {(key[1], key[4]): records.get(key, {}).get(measure) for key in keys}
            cells = {at: math.nan if value is None else value for at, value in values.items()}
            means[measure] = mean_over_folds(cells).mean
        rows.append({"data": data, "ranker": ranker, "convention": convention,
                     "cells": sum(key in records for key in keys), "means": means})  # fmt: skip
    order = {data: i for i, data in enumerate(dict.fromkeys(row["data"] for row in rows))}
    last = {id(row): row["means"][measures[-1]] for row in rows}
    rows.sort(key=lambda row: (order[row["data"]], math.inf if math.isnan(last[id(row)]) else -last[id(row)]))
    return {
        "results": str(outcome.results.path), "cells": len(outcome.tasks),
        "done": len(outcome.tasks) - len(outcome.failed), "computed": outcome.computed, "tool": tool,
        "measures": measures, "rankers": rows, "failures": failures(outcome),
        "ceilings": [ceiling.record() for data, ceiling in outcome.results.ceilings().items() if data in order],
    }  # fmt: skip


def summary(outcome: dict[str, Any]) -> Table:
    """A row per data set, ranker and training convention."""
    rows = [
        [*(str(row[key]) for key in ("data", "ranker", "convention", "cells")),
         *(number(mean, 4) for mean in row["means"].values())]
        for row in outcome["rankers"]
    ]  # fmt: skip
    note = (f"{outcome['done']} of {outcome['cells']} cells are in {outcome['results']} "
            f"({outcome['computed']} computed now); means over folds under {outcome['tool']}")  # fmt: skip
    heads = ["data", "ranker", "trained under", "cells", *outcome["measures"]]
    firsts = {row[0]: i for i, row in reversed(list(enumerate(rows)))}.values()
    return Table(
        heads,
        rows,
        names=3,
        notes=[note, *(f"{one['note']}." for one in outcome["ceilings"] if one["lost"]), *outcome["left_out"]],
        keys=2,
        best={(i, len(heads) - 1) for i in firsts},
    )


def failures(outcome: Outcome) -> list[str]:
    """Each reason once, with the cells it stopped."""
    where: dict[str, list[str]] = {}
    for task in outcome.tasks:
        if task.address in outcome.failed:
            where.setdefault(outcome.failed[task.address], []).append(f"{task.ranker} on {task.data} {task.fold}")
    return [
        f"{len(cells)} failed ({cells[0]}{' …' if len(cells) > 1 else ''}): {reason}" for reason, cells in where.items()
    ]
