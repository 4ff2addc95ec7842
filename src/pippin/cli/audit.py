"""The `pippin audit` command."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import pippin
from pippin.cli.options import (
    DEFAULT_TOOL,
    add_option,
    add_options,
    add_output_options,
    require_single,
    split_named_file,
)
from pippin.cli.output import format_json, write_text
from pippin.display.tables import render_all
from pippin.errors import DataError
from pippin.reports import audit as report

if TYPE_CHECKING:
    from pippin import Audit

HELP = """Check a data set for problems that affect evaluation.

Lists what tools treat differently or no model can learn from, and how much it changes each measure under each tool. The
summary has five lines; --all prints everything, and --out audit.html writes a page.

The last of several files is the run if its first line is that of a run (6 columns) or of scores (1 column); --run FILE
names it explicitly, which tables (Parquet, CSV, Arrow) need."""
EXAMPLES = (
    "pippin audit mine --all",
    "pippin audit S1.txt S2.txt S3.txt --format markdown",
    "pippin audit qrels.txt run.txt --measure NDCG@10,MAP",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="qrels, LETOR files (several are one data set), a "
                        "table, a store, a folder of Fold1 … Fold5 or S1.txt … S5.txt; last a run; NAME=PATH renames "
                        "the data")  # fmt: skip
    parser.add_argument("-s", "--run", metavar="FILE", help="a run or a score file")
    parser.add_argument("--second-run", metavar="RUN", help="a second run: check whether unjudged documents could "
                        "reverse the order of the two")  # fmt: skip
    add_option(parser, "measure", "whose change is reported", default=["NDCG@10", "AP", "P@10"])
    parser.add_argument("--cutoffs", default="1,3,5,10,20", metavar="K,K,…", help="cutoffs at "
                        "which short lists and unjudged documents are counted (default: %(default)s)")  # fmt: skip
    add_option(parser, "tool", f"to whose choices the changes are differences {DEFAULT_TOOL}")
    add_options(parser, "merge_queries")
    parser.add_argument("--all", action="store_true", help="print all findings instead of a summary")
    add_output_options(parser, "html")


def run(options: argparse.Namespace) -> int:
    """Audit and print."""
    name, first = split_named_file(options.data[0])
    result = pippin.audit(
        [first, *options.data[1:]], options.run, measure=options.measure, cutoffs=parse_cutoffs(options.cutoffs),
        merge_queries=options.merge_queries, second_run=options.second_run,
        tool=require_single(options.tool, "--tool"),
    )  # fmt: skip
    if name:
        result = replace(result, name=name)
    text = render(result, options.format, options.all or options.output != "-")
    write_text(text, options.output, options.format)
    return 0


def parse_cutoffs(text: str) -> list[int]:
    """Parse cutoffs separated by commas.

    >>> parse_cutoffs("1,5,10")
    [1, 5, 10]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise DataError(f"invalid cutoffs {text!r}: expected positive integers such as 1,5,10") from None


def render(result: Audit, format: str, everything: bool = True) -> str:
    """Return the audit in a format; as a table, all findings or a summary."""
    if format == "html":
        return report.audit_page(result)
    if format == "json":
        return format_json(report.audit_record(result))
    if format == "csv":
        return report.audit_csv(result)
    if format == "table":
        return report.audit_text(result) if everything else report.audit_summary(result)
    return render_all(report.audit_parts(result), format)
