"""`pippin eval`: judged data, scored files, measures and tools in; numbers with their convention out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pippin.cli.options import flag, hint, old, printing, shared
from pippin.cli.output import as_json, write_text
from pippin.data.load import as_judged, as_scored, may_hold_scores
from pippin.errors import ConventionError, DataError, PippinError
from pippin.evaluation.convention import AXES, parse_overrides
from pippin.evaluation.evaluate import Evaluation, Rankings, evaluate_rankings
from pippin.evaluation.notation import parse
from pippin.evaluation.tools import TOOLS, Tool, named
from pippin.extras import need
from pippin.report.evaluation import Ranges, as_record, evaluation_table, per_query_table

HELP = """Evaluate scores or runs exactly as a tool would.

Every number comes with the convention it was made under. Files larger than memory are read in stretches (--stream),
folders of scored partitions on a cluster (--dask)."""
EXAMPLES = (
    "pippin eval qrels.txt run.txt --measure NDCG@10,MAP --tool trec_eval9",
    "pippin eval test.txt a.txt b.txt --tool all --format markdown",
    "pippin eval test.txt scores.txt --tool letor4,official --per-query --format csv --out values.csv",
)

DEFAULT_MEASURES = ["NDCG@10", "MAP"]
_LONG = 30  # alternatives that take more stand in the help


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("judged", metavar="JUDGED", help="qrels, LETOR file, table or store")
    parser.add_argument("scored", metavar="SCORED", nargs="*", help="runs or score files (default: JUDGED holds the "
                        "scores, too)")  # fmt: skip
    shared(parser, measure=DEFAULT_MEASURES, tool=["official"])
    shared(parser, "per_query", "merge_queries")
    parser.add_argument("--allow-infinite", action="store_true", help="rank infinite scores too, above or below all "
                        "others; NaN is refused in any case")  # fmt: skip
    parser.add_argument("--ties-range", action="store_true", help="how far ties alone can move each number")
    printing(parser, "parquet")
    old(parser, "-q", "--per-query")
    larger = parser.add_mutually_exclusive_group()
    larger.add_argument("--stream", action="store_true", help="read in stretches of whole queries: files larger than "
                        "memory, grouped by query")  # fmt: skip
    flag(larger, "dask", "evaluates folders of scored partitions")
    axes = parser.add_argument_group("the convention, axis by axis (on top of the tool's)")
    for name, axis in AXES.items():
        short = len(axis.placeholder) <= _LONG
        axes.add_argument(axis.flag, dest=name, metavar=axis.placeholder if short else "WHICH",
                          help=axis.decides if short else f"{axis.decides}: {', '.join(axis.named)}")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Evaluate every scored file under every tool and print."""
    measures = options.measure
    tools = chosen_tools(options.tool)
    check_measures(measures, tools)
    overrides = parse_overrides({axis: getattr(options, axis) for axis in AXES})
    if options.format == "parquet":
        need("a Parquet file", "polars")
    if options.stream or options.dask is not None:
        from pippin.cli.evaluate_parts import evaluate_parts

        write(*evaluate_parts(options, measures, tools, overrides), options)
        return 0
    evaluations: list[Evaluation] = []
    ranges: Ranges = {}
    if not options.scored and not may_hold_scores(options.judged):
        raise DataError(f"nothing was scored: pippin eval {options.judged} SCORED, a run or scores", options.judged)
    files = options.scored or [options.judged]
    for judged, scored, name in load(
        options.judged, files, options.merge_queries, options.allow_infinite, in_file=True
    ):
        rankings = Rankings(judged, scored, options.allow_infinite)
        for tool in tools:
            if options.ties_range:
                ranges[len(evaluations)] = ties_range(rankings, measures, tool, overrides)
            evaluations.append(evaluate_rankings(rankings, measures, tool, overrides, name))
        if rankings.unjudged(evaluations[-1].columns[0].convention):
            hint(f"{name}: none of its documents was judged; do both files call documents by the same ids?")
    write(evaluations, ranges if options.ties_range else None, options)
    return 0


def check_measures(measures: Sequence[str], tools: Sequence[Tool] = ()) -> None:
    """Name every bad measure before anything is computed; a tool's own names are understood under it."""
    wrong: dict[str, None] = {}
    for text in measures:
        for read in [tool.measure for tool in tools] or [parse]:
            try:
                read(text)
            except PippinError as error:
                wrong[str(error)] = None
    if wrong:
        raise ConventionError("; ".join(wrong))


def chosen_tools(names: Sequence[str]) -> list[Tool]:
    """The tools of these names, each once; `all` is every tool, after those that are named before it, and the name of
    a group all of that group.
    """
    flat = {tool.name: tool for name in names for tool in (TOOLS.values() if name == "all" else named(name))}
    if not flat:
        raise ConventionError("no tool was asked for")
    return list(flat.values())


def load(
    judged: str, scored: Sequence[str], merge_queries: bool, allow_infinite: bool = False, in_file: bool = False
) -> list[tuple[Any, Any, str]]:
    """(judged, scored, name) for each scored file; with `in_file` large runs stay there until they are ranked."""
    if [judged, *scored].count("-") > 1:
        raise DataError("only one file can come from standard input")
    data = as_judged(judged, merge_queries=merge_queries)
    names = distinct_names(scored)
    return [
        (data, as_scored(path, data, merge_queries=merge_queries, allow_infinite=allow_infinite, in_file=in_file), name)
        for path, name in zip(scored, names, strict=True)
    ]


def distinct_names(paths: Sequence[str]) -> list[str]:
    """Short names for files: the file name where that tells them apart, else the path.

    >>> distinct_names(["a/run.txt", "b/run.txt"]), distinct_names(["a/x.txt", "b/y.txt"])
    (['a/run.txt', 'b/run.txt'], ['x.txt', 'y.txt'])
    """
    short = [Path(p).name for p in paths]
    return short if len(set(short)) == len(short) else list(paths)


def ties_range(
    rankings: Rankings, measures: Sequence[str], tool: Tool, overrides: dict[str, Any]
) -> dict[str, tuple[float, float]]:
    """Measure → (worst, best) mean over the orders of tied documents."""
    worst, best = (
        evaluate_rankings(rankings, measures, tool, {**overrides, "ties": bound}, "").mean
        for bound in ("worst", "best")
    )
    return {measure: (worst[measure], best[measure]) for measure in worst}


def write(evaluations: list[Evaluation], ranges: Ranges | None, options: argparse.Namespace) -> None:
    """Print, or write to a file, in the format asked for."""
    if options.format == "parquet":
        write_parquet(evaluations, options.output)
        return
    if options.format == "json":
        records = [as_record(e, None if ranges is None else ranges[i]) for i, e in enumerate(evaluations)]
        text = as_json(records[0] if len(records) == 1 else records)
    elif options.per_query:
        text = per_query_table(evaluations, options.format)
    else:
        text = evaluation_table(evaluations, ranges, options.format)
    write_text(text, options.output, options.format)


def write_parquet(evaluations: list[Evaluation], output: str) -> None:
    """A long table: scored, tool, measure, query, value."""
    if output == "-":
        raise DataError("Parquet is no text; say where to write it with --out FILE")
    import polars

    from pippin.files import atomic_write

    frames = [
        e.to_polars().with_columns(scored=polars.lit(e.name), tool=polars.lit(e.tool.name)).select(
            "scored", "tool", "measure", "query", "value"
        )
        for e in evaluations
    ]  # fmt: skip
    with atomic_write(output) as out:
        polars.concat(frames).write_parquet(out)
