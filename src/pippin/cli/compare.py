"""`pippin compare`: many systems, every tool: who wins, is it chance, would another tool say so?"""

from __future__ import annotations

import argparse
from pathlib import Path

from pippin.cli.evaluate import DEFAULT_MEASURES, check_measures, chosen_tools, load
from pippin.cli.options import flag, old, printing, shared
from pippin.cli.output import as_json, write_text
from pippin.errors import ConventionError, DataError
from pippin.evaluation.compare import Comparison, TestPlan, compare_rankings, compare_table
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.evaluate import Rankings
from pippin.evaluation.significance import TESTS
from pippin.evaluation.tools import is_one
from pippin.evaluation.value_table import Missing, Undefined, ValueTable
from pippin.progress import progress

HELP = """Compare systems under every tool, with significance.

The first tool orders the tables. --per-query prints the values that were compared instead."""
EXAMPLES = (
    "pippin compare qrels.txt a.run b.run c.run --measure NDCG@10,MAP --tool all",
    "pippin compare test.txt a.scores b.scores --tool official,letor4 --baseline a.scores --format latex",
    "pippin compare --scores matrix.csv --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("judged", metavar="JUDGED", nargs="?", help="qrels, LETOR file, table or store")
    parser.add_argument("scored", metavar="SCORED", nargs="*", help="runs or score files, at least two")
    parser.add_argument("--scores", metavar="FILE", help="instead a matrix of values, a column a system, a row a query "
                        "(CSV or Parquet)")  # fmt: skip
    parser.add_argument("--reported", metavar="FILE", help="numbers that someone reported of the one SCORED (results "
                        "of MTEB, an answer of _rank_eval, JSON): compute them again as --tool does")  # fmt: skip
    shared(parser, measure=DEFAULT_MEASURES, tool=["classic"])
    shared(parser, "per_query", "merge_queries")
    parser.add_argument("--baseline", metavar="SYSTEM", help="test every system against this one only")
    testing(parser)
    shared(parser, "samples", seed=0)
    parser.add_argument("--missing", default="error", metavar="error|drop|VALUE", help="a query that some system "
                        "lacks: an error, dropped for all, or counted as this value (default: error)")  # fmt: skip
    shared(parser, "quiet")
    printing(parser, "html")
    old(parser, "--tools", "--tool")


def testing(parser: argparse.ArgumentParser) -> None:
    """The flags of a command that tests differences."""
    flag(parser, "test", f"one of {', '.join(TESTS)}", default="t")
    flag(parser, "correct", f"one of {', '.join(CORRECTIONS)}", default="holm")
    flag(parser, "alpha", default=0.05)


def run(options: argparse.Namespace) -> int:
    """Compare and print."""
    plan = TestPlan(
        options.test, options.correct, options.baseline, options.alpha, options.samples, options.seed,
        _missing(options.missing),
    )  # fmt: skip
    TESTS[plan.test], CORRECTIONS[plan.correction]  # an unknown name is found before anything is read
    if options.reported is not None:
        write_text(reported(options), options.output, options.format)
        return 0
    if options.scores is not None:
        if options.judged is not None:
            raise DataError("--scores takes a matrix of values; judgements and runs do not go with it")
        comparisons, what = [from_matrix(options.scores, plan)], options.scores
    else:
        comparisons, what = from_files(options, plan), options.judged
    write_text(render(comparisons, options, what), options.output, options.format)
    return 0


def _missing(text: str) -> Missing:
    if text == "error" or text == "drop":  # noqa: PLR1714 - the types narrow to the literals
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise ConventionError(f"--missing is error, drop or a number, not {text!r}") from None


def reported(options: argparse.Namespace) -> str:
    """What was reported against what comes out again, a line a number."""
    from pippin.evaluation.reported import report_of

    tools = [None] if options.tool == ["classic"] else chosen_tools(options.tool)
    if options.judged is None or len(options.scored) != 1 or len(tools) != 1:
        raise DataError("reported numbers are compared with one scored file under one tool")
    numbers = report_of(
        options.judged, options.scored[0], options.reported, tools[0], merge_queries=options.merge_queries
    )
    if options.format == "json":
        return as_json([{**vars(one), "same": one.same} for one in numbers])
    return "\n".join(one.sentence() for one in numbers)


def from_matrix(path: str, plan: TestPlan) -> Comparison:
    """A comparison from a matrix of per-query values."""
    from pippin.data.matrix import read_matrix

    with progress(1, "testing") as bar:
        matrix = read_matrix(path)
        undefined: Undefined = "drop" if plan.missing == "drop" else "error"
        table = ValueTable.from_arrays(
            matrix.values, systems=matrix.columns, query_ids=matrix.rows or None, undefined=undefined
        )
        comparison = compare_table(table, Path(path).stem, plan)
        bar.step()
    return comparison


def from_files(options: argparse.Namespace, plan: TestPlan) -> list[Comparison]:
    """A comparison per measure from judged data and scored files."""
    measures = options.measure
    tools = chosen_tools(options.tool)
    check_measures(measures, tools)
    if options.judged is None or len(options.scored) < 2:
        raise DataError("a comparison needs judgements and at least two scored files (or --scores MATRIX)")
    twice = [path for path in options.scored if options.scored.count(path) > 1]
    if twice:
        raise DataError("this is given twice, and would be compared with itself", twice[0])
    loaded = load(options.judged, options.scored, options.merge_queries)
    systems = {name: Rankings(judged, scored) for judged, scored, name in loaded}
    with progress(len(measures) * len(tools), "comparing") as bar:
        # Of a whole group those that cannot say anything here are left out; one that was named must.
        grouped = not any(is_one(name) for name in options.tool)
        return [compare_rankings(systems, m, tools, plan, {}, bar.step, leave_out=grouped) for m in measures]


def render(comparisons: list[Comparison], options: argparse.Namespace, what: str) -> str:
    """The comparisons in the format asked for."""
    from pippin.report import compare as report

    if options.format == "json":
        return as_json([report.record(c, options.per_query) for c in comparisons])
    if options.format == "csv":
        return (report.per_query_csv if options.per_query else report.csv_table)(comparisons).render("csv")
    if options.format == "html":
        from pippin.report.compare_page import compare_page

        return compare_page(comparisons, Path(what).name, [f"test {options.test}", f"seed {options.seed}"])
    shown = report.per_query_text if options.per_query else report.text
    return "\n\n\n".join(shown(c, options.format) for c in comparisons)
