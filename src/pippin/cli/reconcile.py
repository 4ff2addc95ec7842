"""`pippin reconcile`: why do two tools give different numbers for one ranking?"""

from __future__ import annotations

import argparse
import json
import sys

from pippin.cli.evaluate import load
from pippin.cli.output import write_text
from pippin.errors import ConventionError
from pippin.evaluation.evaluate import Rankings
from pippin.evaluation.reconcile import Reconciliation, reconcile_rankings
from pippin.evaluation.tools import TOOLS
from pippin.progress import progress

HELP = """Say why tools disagree: how much of the difference each choice explains.

  pippin reconcile test.txt scores.txt -m NDCG@10 --from trec_eval9 --to letor4
  pippin reconcile qrels.txt run.txt -m MAP --all"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("judged", metavar="JUDGED", help="qrels, LETOR file, table or store")
    parser.add_argument("scored", metavar="SCORED", help="a run or a score file")
    parser.add_argument("-m", "--measure", default="NDCG@10", help="(default: NDCG@10)")
    parser.add_argument("--from", dest="source", default="official", metavar="TOOL", help="(default: official)")
    parser.add_argument("--to", dest="target", metavar="TOOL", help="the other tool")
    parser.add_argument("--all", action="store_true", help="every tool against --from")
    parser.add_argument("-f", "--format", choices=("table", "json", "csv", "markdown", "html"), default="table")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write here instead of to the terminal")
    parser.add_argument("--merge-queries", action="store_true", help="join a query whose rows are not together")


def run(options: argparse.Namespace) -> int:
    """Reconcile and print."""
    source = TOOLS[options.source]
    if not options.all and options.target is None:
        raise ConventionError("say which tool to compare with, --to TOOL, or --all")
    targets = [t for t in TOOLS.values() if t is not source] if options.all else [TOOLS[options.target]]
    ((judged, scored, name),) = load(options.judged, [options.scored], options.merge_queries)
    rankings = Rankings(judged, scored)
    found, left_out = [], []
    with progress(len(targets), "reconciling") as bar:
        for target in targets:
            try:
                found.append(reconcile_rankings(rankings, options.measure, source, target))
            except ConventionError as error:
                if not options.all:
                    raise
                left_out.append(f"{target.name} is left out: {error}")
            bar.step(target.name)
    text = render(found, options.format, [f"judged {judged.name}", f"scored {name}"])
    for line in left_out:
        print(f"pippin: {line}", file=sys.stderr)
    write_text(text, options.output)
    return 0


def render(found: list[Reconciliation], form: str, provenance: list[str]) -> str:
    """The reconciliations in the format asked for."""
    from pippin.report import reconcile as report

    if form == "json":
        records = [report.record(r) for r in found]
        return json.dumps(records[0] if len(records) == 1 else records, indent=1, ensure_ascii=False)
    if form == "csv":
        return report.csv_table(found).render("csv")
    if form == "html":
        return report.html(found, provenance)
    if form == "markdown" or len(found) > 1:
        return "\n".join([report.table(found).render(form), "", *(f"- {r.sentence()}" for r in found)])
    return report.terminal(found[0])
