"""`pippin audit`: is this data set fit for the comparison?"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from pippin.cli.evaluate import check_measures
from pippin.cli.output import write_text
from pippin.errors import DataError
from pippin.evaluation.audit import CUTOFFS, MEASURES, Audit, audit

HELP = """Say whether a data set is fit for a comparison: what it holds that tools treat differently, or that no model
can learn from, and what that does to which measure under which tool.

  pippin audit test.txt                    LETOR text, a table or a store
  pippin audit S1.txt S2.txt S3.txt        several files as one data set
  pippin audit MQ2008                      a folder of Fold1 … Fold5 or of S1.txt … S5.txt
  pippin audit qrels.txt run.txt           judgements and a run: also ties, unjudged, missing
  pippin audit test.txt scores.txt         a data set and scores

The last of several files is taken for what was scored if its first line is that of a run (6 columns) or of scores
(1 column); --scored FILE says it outright, and is needed for tables (Parquet, CSV, Arrow)."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="qrels, LETOR files, a table, a store or a folder of "
                        "folds; a run or scores may come last")  # fmt: skip
    parser.add_argument("-s", "--scored", metavar="FILE", help="a run or a score file")
    parser.add_argument("-m", "--measure", action="append", metavar="M", help=f"the measures whose change is reported "
                        f"(default: {', '.join(MEASURES)})")  # fmt: skip
    parser.add_argument("--cutoffs", default=",".join(map(str, CUTOFFS)), metavar="K,K,…", help="where short lists and "
                        "unjudged documents are counted (default: %(default)s)")  # fmt: skip
    parser.add_argument("-f", "--format", choices=("table", "markdown", "json", "csv"), default="table",
                        help="(default: table)")  # fmt: skip
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write here instead of to the terminal")
    parser.add_argument("--merge-queries", action="store_true", help="join a query whose rows are not together")


def run(options: argparse.Namespace) -> int:
    """Audit and print."""
    from pippin.data.audit_files import load_audited
    from pippin.data.load import as_scored

    measures = options.measure or MEASURES
    check_measures(measures)
    cutoffs = parse_cutoffs(options.cutoffs)
    paths, last = split(options.data, options.scored)
    judged, layout = load_audited(paths, merge_queries=options.merge_queries)
    scored = None if last is None else as_scored(last, judged, merge_queries=options.merge_queries)
    found = audit(judged, scored, measures=measures, cutoffs=cutoffs, layout=layout)
    write_text(render(found, options.format), options.output)
    return 0


def parse_cutoffs(text: str) -> list[int]:
    """Cutoffs from what a user typed.

    >>> parse_cutoffs("1,5,10")
    [1, 5, 10]
    """
    try:
        cutoffs = [int(part) for part in text.split(",")]
    except ValueError:
        cutoffs = []
    if not cutoffs or min(cutoffs) < 1:
        raise DataError(f"cutoffs are whole numbers from 1 on, like 1,5,10, not {text!r}")
    return cutoffs


def split(given: Sequence[str], scored: str | None) -> tuple[list[str], str | None]:
    """The judged files, and what was scored: named outright, or the last file if it looks like a run or scores."""
    if [*given, scored].count("-") > 1:
        raise DataError("only one file can come from standard input")
    if scored is not None or len(given) == 1:
        return list(given), scored
    last = given[-1]
    if last != "-" and Path(last).is_file() and not _is_table(last):
        from pippin.data.load import kind_of_text

        if kind_of_text(last) in ("run", "scores"):
            return list(given[:-1]), last
    return list(given), None


def _is_table(path: str) -> bool:
    from pippin.data.load import COLUMN_FILES

    return Path(path).suffix in COLUMN_FILES


def render(found: Audit, form: str) -> str:
    """The audit in the format asked for."""
    from pippin.report import audit as report

    if form == "json":
        return json.dumps(report.audit_record(found), indent=1, ensure_ascii=False)
    if form == "csv":
        return report.audit_csv(found)
    if form == "markdown":
        return report.audit_markdown(found)
    return report.audit_text(found, shutil.get_terminal_size((110, 24)).columns)
