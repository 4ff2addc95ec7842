"""The commands `pippin bounds` and `pippin agree`."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import (
    Command,
    add_correction_option,
    add_option,
    add_options,
    add_output_options,
    parse_named_files,
    require_single,
)
from pippin.cli.output import write_result
from pippin.errors import ConventionError
from pippin.reports import judgements as report


def configure_bounds(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin bounds`."""
    parser.add_argument("qrels", metavar="QRELS", help="qrels, or any judged data with document ids")
    parser.add_argument("run", metavar="RUN", help="a run")
    parser.add_argument("second_run", metavar="RUN2", nargs="?", help="a second run: bound the difference RUN − RUN2")
    add_options(parser, measure=["NDCG@10"], tool=["official"])
    parser.add_argument("--max-label", type=int, metavar="LABEL", help="highest label of an unjudged document "
                        "(default: the highest in the judgements)")  # fmt: skip
    add_option(parser, "depth", "only unjudged documents among the first N of a run may be relevant (default: all)")
    parser.add_argument("--extra-relevant", type=int, default=0, metavar="N", help="number of documents per query, in "
                        "no run and unjudged, that may be relevant (default: 0)")  # fmt: skip
    parser.add_argument("--judge-next", type=int, default=0, metavar="N", help="list the N documents whose labels "
                        "narrow the bounds most")  # fmt: skip
    add_options(parser, "per_query", "merge_queries")
    add_output_options(parser)


def run_bounds(options: argparse.Namespace) -> int:
    """Bound and print."""
    if options.judge_next < 0:
        raise ConventionError(f"--judge-next must be at least 0, got {options.judge_next}")
    results = pippin.bounds(
        options.qrels, options.run, options.second_run, measure=options.measure,
        tool=require_single(options.tool, "--tool") or "official", max_label=options.max_label, depth=options.depth,
        extra_relevant=options.extra_relevant, merge_queries=options.merge_queries,
    )  # fmt: skip
    records = [report.bounds_record(result, options.judge_next) for result in results]
    write_result(
        options.format, options.output,
        lambda: report.bounds_parts(results, options.per_query, options.judge_next),
        lambda: records[0] if len(records) == 1 else records,
        lambda: report.per_query(results) if options.per_query else report.means(results),
    )  # fmt: skip
    return 0


def configure_agree(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin agree`."""
    parser.add_argument("a", metavar="LABELS_A", help="qrels of the trusted assessor")
    parser.add_argument("b", metavar="LABELS_B", help="qrels of the assessor in question")
    parser.add_argument("runs", metavar="RUN", nargs="*", help="runs of systems, at least two for a "
                        "leaderboard; NAME=PATH renames a system")  # fmt: skip
    add_options(parser, measure=["NDCG@10"], tool=["official"], resamples=1000, seed=0)
    add_correction_option(parser)
    add_options(parser, "per_query")
    add_output_options(parser)


def run_agree(options: argparse.Namespace) -> int:
    """Compare the labels and print."""
    measure = require_single(options.measure, "--measure") or "NDCG@10"
    result = pippin.agree(
        options.a, options.b, parse_named_files(options.runs), measure=measure,
        tool=require_single(options.tool, "--tool") or "official", correction=options.correction,
        resamples=options.resamples, seed=options.seed,
    )  # fmt: skip
    write_result(
        options.format, options.output,
        lambda: report.agreement_parts(result, options.per_query),
        lambda: report.agreement_record(result),
        lambda: report.by_query(result) if options.per_query else report.coefficients(result),
    )  # fmt: skip
    return 0


COMMANDS = {
    "bounds": Command(
        """Bound a measure, or a difference, over all labels that unjudged documents could have.

One run: its lowest and highest value. Two runs: those of the difference RUN − RUN2, where a document in both runs has
the same label. --judge-next N lists the documents whose labels narrow the bounds most.""",
        (
            "pippin bounds qrels.txt a.run b.run --measure NDCG@10 --judge-next 5",
            "pippin bounds qrels.txt run.txt --measure AP,RBP --tool trec_eval9 --per-query",
        ),
        configure_bounds,
        run_bounds,
    ),
    "agree": Command(
        """Measure how two assessors' labels agree, and what their disagreement does to systems.

LABELS_A are the trusted labels, such as people's; LABELS_B those in question, such as a model's. With runs: whether
both assessors order the systems alike, whether the second favours one, and, if it labelled more queries than the first,
an estimate of the first's mean over all of them (PPI; valid only if the first's queries are a random sample).""",
        (
            "pippin agree qrels.txt model.txt",
            "pippin agree qrels.txt model.txt a.run b.run c.run --measure NDCG@10 --resamples 200",
            "pippin agree qrels.txt model.txt --per-query --format csv",
        ),
        configure_agree,
        run_agree,
    ),
}
