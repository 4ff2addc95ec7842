"""The `pippin reconcile` command."""

from __future__ import annotations

import argparse
from pathlib import Path

import pippin
from pippin.cli.options import add_options, add_output_options, split_named_file
from pippin.cli.output import format_json, print_skipped, write_text
from pippin.errors import ConventionError
from pippin.reports import reconciliation as report

HELP = """Explain why tools disagree: how much of the difference each axis causes.

The first tool is the base that the others are explained against. The base of a single tool is trec_eval9 for qrels and
official for data sets.
--per-query shows which queries cause each part."""
EXAMPLES = (
    "pippin reconcile test.txt scores.txt --measure NDCG@10 --tool trec_eval9,letor4",
    "pippin reconcile qrels.txt run.txt --measure MAP --tool all --format csv",
    "pippin reconcile qrels.txt run.txt --tool yahoo,ranklib --per-query",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", help="qrels, LETOR file, table or store; NAME=PATH "
                        "renames it on the page")  # fmt: skip
    parser.add_argument("run", metavar="RUN", help="a run or a score file; NAME=PATH renames it on the page")
    add_options(parser, "tool", measure=["NDCG@10"])
    add_options(parser, "per_query", "merge_queries", "quiet")
    add_output_options(parser, "html")


def run(options: argparse.Namespace) -> int:
    """Reconcile and print."""
    if not options.tool:
        raise ConventionError("name the tools to compare: --tool A,B or --tool all")
    source, target = (None, options.tool) if len(options.tool) == 1 else (options.tool[0], options.tool[1:])
    (qrels_name, qrels), (run_name, run_path) = map(split_named_file, (options.qrels, options.run))
    results = pippin.reconcile(
        qrels, run_path, options.measure, source, target,
        merge_queries=options.merge_queries, verbose=not options.quiet,
    )  # fmt: skip
    for result in results:
        print_skipped(result.left_out)
    reconciliations = [reconciliation for result in results for reconciliation in result.values()]
    if options.format == "json":
        records = [report.record(r, options.per_query) for r in reconciliations]
        text = format_json(records[0] if len(records) == 1 else records)
    elif options.format == "html":
        names = [f"qrels {qrels_name or Path(qrels).name}", f"run {run_name or Path(run_path).name}"]
        text = report.reconcile_page(reconciliations, names)
    else:
        text = report.text(reconciliations, options.format, options.per_query)
    write_text(text, options.output, options.format)
    return 0
