"""`pippin audit`: is this data set fit for the comparison?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pippin.cli.evaluate import check_measures
from pippin.cli.options import flag, printing, shared
from pippin.cli.output import as_json, write_text
from pippin.errors import DataError
from pippin.evaluation.audit import CUTOFFS, MEASURES, Audit, audit
from pippin.tables import together

HELP = """Say whether a data set is fit for a comparison.

What it holds that tools treat differently, or that no model can learn from, and what that does to which measure under
which tool. Five lines sum it up; --all prints everything, and --out audit.html makes a page of it.

The last of several files is taken for what was scored if its first line is that of a run (6 columns) or of scores (1
column); --scored FILE says it outright, and is needed for tables (Parquet, CSV, Arrow)."""
EXAMPLES = (
    "pippin audit mine --all",
    "pippin audit S1.txt S2.txt S3.txt --format markdown",
    "pippin audit qrels.txt run.txt --measure NDCG@10,MAP",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="qrels, LETOR files (several are one data set), a "
                        "table, a store, a folder of Fold1 … Fold5 or S1.txt … S5.txt; a run or scores may come "
                        "last")  # fmt: skip
    parser.add_argument("-s", "--scored", metavar="FILE", help="a run or a score file")
    parser.add_argument("--against", metavar="RUN", help="a second run: whether documents that nobody judged could "
                        "turn the two round")  # fmt: skip
    flag(parser, "measure", "those whose change is reported", default=list(MEASURES))
    parser.add_argument("--cutoffs", default=",".join(map(str, CUTOFFS)), metavar="K,K,…", help="where short lists and "
                        "unjudged documents are counted (default: %(default)s)")  # fmt: skip
    shared(parser, "merge_queries")
    parser.add_argument("--all", action="store_true", help="everything, instead of five sentences, on the terminal")
    printing(parser, "html")


def run(options: argparse.Namespace) -> int:
    """Audit and print."""
    from pippin.data.audit_files import load_audited
    from pippin.data.load import as_scored

    measures = options.measure
    check_measures(measures)
    cutoffs = parse_cutoffs(options.cutoffs)
    paths, last = split(options.data, options.scored)
    judged, layout = load_audited(paths, merge_queries=options.merge_queries)
    scored = None if last is None else as_scored(last, judged, merge_queries=options.merge_queries)
    audited = audit(judged, scored, measures=measures, cutoffs=cutoffs, layout=layout, against=options.against)
    form = options.format
    write_text(render(audited, form, options.all or options.output != "-"), options.output, form)
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


def render(audited: Audit, form: str, everything: bool = True) -> str:
    """The audit in the format asked for; on the terminal all of it, or five sentences."""
    from pippin.report import audit as report

    if form == "html":
        from pippin.report.audit_page import audit_page

        return audit_page(audited)
    if form == "json":
        return as_json(report.audit_record(audited))
    if form == "csv":
        return report.audit_csv(audited)
    if form == "table":
        return report.audit_text(audited) if everything else report.audit_summary(audited)
    return together(report.audit_parts(audited), form)
