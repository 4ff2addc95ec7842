"""`pippin compare`: many systems, every tool: who wins, is it chance, would another tool say so?"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pippin.cli.evaluate import check_measures, chosen_tools, load
from pippin.cli.output import write_text
from pippin.errors import ConventionError, DataError
from pippin.evaluation.compare import Comparison, TestPlan, compare_rankings, compare_table
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.evaluate import Rankings
from pippin.evaluation.significance import TESTS
from pippin.evaluation.value_table import Missing, Undefined, ValueTable
from pippin.progress import progress

HELP = """Compare systems under every tool, with significance.

  pippin compare qrels.txt a.run b.run c.run -m NDCG@10 -m MAP --tools all
  pippin compare test.txt a.scores b.scores --tools official,letor4 --baseline a.scores
  pippin compare --scores matrix.csv            a column a system, a row a query"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("judged", metavar="JUDGED", nargs="?", help="qrels, LETOR file, table or store")
    parser.add_argument("scored", metavar="SCORED", nargs="*", help="runs or score files, at least two")
    parser.add_argument("--scores", metavar="FILE", help="a matrix of per-query values (CSV or Parquet) instead")
    parser.add_argument("-m", "--measure", action="append", metavar="M", help="(default: NDCG@10 and MAP)")
    parser.add_argument("-t", "--tools", default="all", metavar="T", help="all, or names joined by commas; the first "
                        "orders the tables (default: all, official first)")  # fmt: skip
    parser.add_argument("--baseline", metavar="SYSTEM", help="test every system against this one only")
    parser.add_argument("--test", default="t", help=f"one of {', '.join(TESTS)} (default: t)")
    parser.add_argument("--correct", default="holm", help=f"one of {', '.join(CORRECTIONS)} (default: holm)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(default: 0.05)")
    parser.add_argument("--samples", type=int, help="of the resampling tests")
    parser.add_argument("--seed", type=int, default=0, help="of the resampling tests (default: 0)")
    parser.add_argument("--missing", default="error", metavar="error|drop|VALUE", help="a query that some system "
                        "lacks: an error, dropped for all, or counted as this value (default: error)")  # fmt: skip
    parser.add_argument(
        "-f", "--format", choices=("table", "markdown", "latex", "csv", "json", "html"), default="table"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write here instead of to the terminal")
    parser.add_argument("--merge-queries", action="store_true", help="join a query whose rows are not together")


def run(options: argparse.Namespace) -> int:
    """Compare and print."""
    plan = TestPlan(
        options.test, options.correct, options.baseline, options.alpha, options.samples, options.seed,
        _missing(options.missing),
    )  # fmt: skip
    TESTS[plan.test], CORRECTIONS[plan.correction]  # an unknown name is found before anything is read
    if options.scores is not None:
        if options.judged is not None:
            raise DataError("--scores takes a matrix of values; judgements and runs do not go with it")
        comparisons, what = [from_matrix(options.scores, plan)], options.scores
    else:
        comparisons, what = from_files(options, plan), options.judged
    write_text(render(comparisons, options, what), options.output)
    return 0


def _missing(text: str) -> Missing:
    if text == "error" or text == "drop":  # noqa: PLR1714 - the types narrow to the literals
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise ConventionError(f"--missing is error, drop or a number, not {text!r}") from None


def from_matrix(path: str, plan: TestPlan) -> Comparison:
    """A comparison from a matrix of per-query values."""
    from pippin.data.matrix import read_matrix

    with progress(1, "testing") as bar:
        matrix = read_matrix(path)
        undefined: Undefined = "drop" if plan.missing == "drop" else "error"
        table = ValueTable.from_arrays(
            matrix.values, systems=matrix.columns, query_ids=matrix.rows or None, undefined=undefined
        )
        found = compare_table(table, Path(path).stem, plan)
        bar.step()
    return found


def from_files(options: argparse.Namespace, plan: TestPlan) -> list[Comparison]:
    """A comparison per measure from judged data and scored files."""
    measures = options.measure or ["NDCG@10", "MAP"]
    check_measures(measures)
    tools = chosen_tools([options.tools])
    if options.judged is None or len(options.scored) < 2:
        raise DataError("a comparison needs judgements and at least two scored files (or --scores MATRIX)")
    loaded = load(options.judged, options.scored, options.merge_queries)
    systems = {name: Rankings(judged, scored) for judged, scored, name in loaded}
    with progress(len(measures) * len(tools), "comparing") as bar:
        return [compare_rankings(systems, m, tools, plan, {}, bar.step) for m in measures]


def render(comparisons: list[Comparison], options: argparse.Namespace, what: str) -> str:
    """The comparisons in the format asked for."""
    from pippin.report import compare as report

    if options.format == "json":
        return json.dumps([report.record(c) for c in comparisons], indent=1)
    if options.format == "csv":
        return report.csv_table(comparisons).render("csv")
    if options.format == "html":
        first = comparisons[0].first
        tools = f", {len(comparisons[0].boards)} tools" if len(comparisons[0].boards) > 1 else ""
        lead = f"{len(first.means)} systems, {len(first.table.query_ids)} queries{tools}."
        return report.html(comparisons, lead, [f"data {what}", f"test {options.test}", f"seed {options.seed}"])
    return "\n\n\n".join(report.text(c, options.format) for c in comparisons)
