"""`pippin reconcile`: why do two tools give different numbers for one ranking?"""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.evaluate import chosen_tools, load
from pippin.cli.options import Former, hint, printing, shared
from pippin.cli.output import as_json, write_text
from pippin.errors import ConventionError
from pippin.evaluation.evaluate import Rankings
from pippin.evaluation.reconcile import Reconciliation, both_measures, reconcile_rankings
from pippin.evaluation.tools import TOOLS, Tool
from pippin.progress import progress
from pippin.tables import Remarks, together

HELP = """Say why tools disagree: how much of the difference each choice explains.

The first tool's number is taken as the base; each of the others is explained against it. One tool alone is explained
against official. --per-query shows which queries carry each part."""
EXAMPLES = (
    "pippin reconcile test.txt scores.txt --measure NDCG@10 --tool trec_eval9,letor4",
    "pippin reconcile qrels.txt run.txt --measure MAP --tool all --format csv",
    "pippin reconcile qrels.txt run.txt --tool yahoo,ranklib --per-query",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("judged", metavar="JUDGED", help="qrels, LETOR file, table or store")
    parser.add_argument("scored", metavar="SCORED", help="a run or a score file")
    shared(parser, "tool", measure=["NDCG@10"])
    shared(parser, "per_query", "merge_queries", "quiet")
    printing(parser, "html")
    former: dict[str, Any] = {"help": argparse.SUPPRESS, "action": Former}
    parser.add_argument("--from", dest="source", metavar="TOOL", called="the first --tool", **former)
    parser.add_argument("--to", dest="target", metavar="TOOL", called="the second --tool", **former)
    parser.add_argument("--all", nargs=0, called="--tool all", **former)


def run(options: argparse.Namespace) -> int:
    """Reconcile and print."""
    source, *targets = chosen(options)
    for measure in options.measure:
        for target in targets:
            both_measures(measure, source, target)
    ((judged, scored, name),) = load(options.judged, [options.scored], options.merge_queries)
    rankings = Rankings(judged, scored)
    reconciled, left_out = [], []
    with progress(len(targets) * len(options.measure), "reconciling") as bar:
        for measure in options.measure:
            for target in targets:
                try:
                    reconciled.append(reconcile_rankings(rankings, measure, source, target))
                except ConventionError as error:
                    if len(targets) == 1:
                        raise
                    left_out.append(f"{target.name} is left out: {error}")
                bar.step(target.name)
    text = render(reconciled, options, [f"judged {judged.name}", f"scored {name}"])
    for line in left_out:
        hint(line)
    write_text(text, options.output, options.format)
    return 0


def chosen(options: argparse.Namespace) -> list[Tool]:
    """The base, then the tools to explain against it."""
    names = list(options.tool or [])
    if options.source or options.target or options.all is not None:
        names = [options.source or "official", *(["all"] if options.all is not None else [options.target])]
    if not names or names == [options.source, None]:
        raise ConventionError("say which tools to compare, --tool A,B, or --tool all")
    tools = chosen_tools(names)
    if len(tools) == 1 and tools[0].name != "official":
        tools = [TOOLS["official"], *tools]
    if len(tools) < 2:
        raise ConventionError(f"say which tool to compare {tools[0].name} with, --tool {tools[0].name},OTHER")
    return tools


def render(reconciled: list[Reconciliation], options: argparse.Namespace, provenance: list[str]) -> str:
    """The reconciliations in the format asked for."""
    from pippin.report import reconcile as report

    form = options.format
    if form == "json":
        records = [report.record(r, options.per_query) for r in reconciled]
        return as_json(records[0] if len(records) == 1 else records)
    if form == "csv":
        return (report.per_query_csv if options.per_query else report.csv_table)(reconciled).render("csv")
    if form == "html":
        from pippin.report.reconcile_page import reconcile_page

        return reconcile_page(reconciled, provenance)
    if options.per_query:
        return "\n\n\n".join(report.per_query_text(r, form) for r in reconciled)
    if form == "table" and len(reconciled) == 1:
        return report.terminal(reconciled[0])
    groups = {measure: [r for r in reconciled if r.measure == measure] for measure in options.measure}
    parts = [
        part for group in groups.values() for part in (report.table(group), Remarks([r.sentence() for r in group]))
    ]
    return together(parts, form)
