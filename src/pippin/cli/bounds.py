"""`pippin bounds`: how far could documents that nobody judged move a number, or turn two systems round?"""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.evaluate import check_measures, distinct_names
from pippin.cli.options import only, printing, shared
from pippin.cli.output import write
from pippin.errors import ConventionError
from pippin.evaluation.bounds import Bounds, bounds
from pippin.evaluation.tools import TOOLS
from pippin.report.bounds import means, per_query, sentence
from pippin.tables import Part, Prose, Table, number

HELP = """Bound a measure, or a difference, over all labels that unjudged documents could have.

One run: the least and the greatest value. Two runs: of the first's value less the second's, where a document of both
has one label. --judge-next N lists the documents that carry most of the width, which to judge first."""
EXAMPLES = (
    "pippin bounds qrels.txt a.run b.run --measure NDCG@10 --judge-next 5",
    "pippin bounds qrels.txt run.txt --measure AP,RBP --tool trec_eval9 --per-query",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("judged", metavar="JUDGED", help="qrels, or any judged data with document ids")
    parser.add_argument("scored", metavar="RUN", help="a run")
    parser.add_argument("other", metavar="RUN2", nargs="?", help="a second run: then of the difference")
    shared(parser, measure=["NDCG@10"], tool=["official"])
    parser.add_argument("--largest", type=int, metavar="LABEL", help="the top of the scale of labels (default: the "
                        "largest that was given)")  # fmt: skip
    parser.add_argument("--depth", type=int, metavar="N", help="only unjudged documents among the first N of a run may "
                        "be relevant (default: all)")  # fmt: skip
    parser.add_argument("--beyond", type=int, default=0, metavar="N", help="so many documents of each query that no "
                        "run has may be relevant, too (default: 0)")  # fmt: skip
    parser.add_argument("--judge-next", type=int, default=0, metavar="N", help="list the N documents that carry most "
                        "of the width")  # fmt: skip
    shared(parser, "per_query", "merge_queries")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Bound and print."""
    tool = TOOLS[only(options.tool, "--tool") or "official"]
    check_measures(options.measure, [tool])
    if options.judge_next < 0:
        raise ConventionError(f"--judge-next is a number of documents, not {options.judge_next}")
    several = [
        bounds(options.judged, options.scored, options.other, measure=measure, tool=tool,
               largest=options.largest, depth=options.depth, beyond=options.beyond,
               merge_queries=options.merge_queries)
        for measure in options.measure
    ]  # fmt: skip
    names = distinct_names([path for path in (options.scored, options.other) if path is not None])
    records = [record(one, names, options.judge_next) for one in several]
    write(
        options.format, options.output, lambda: parts(several, records, options),
        lambda: records[0] if len(records) == 1 else records,
        lambda: per_query(several) if options.per_query else means(several),
    )  # fmt: skip
    return 0


def record(bounds: Bounds, names: list[str], count: int) -> dict[str, Any]:
    """What programs get."""
    columns = bounds.to_dict()
    residuals = bounds.residuals
    return {
        "measure": bounds.measure, "tool": bounds.tool, "runs": names, "unjudged": bounds.holes, "value": bounds.value,
        "low": bounds.low, "high": bounds.high, "exact": bounds.exact, "verdict": bounds.verdict,
        "residual": None if residuals is None else float(residuals.mean()),
        "per_query": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "judge_next": [vars(one) for one in bounds.judge_next(count)],
    }  # fmt: skip


def parts(several: list[Bounds], records: list[dict[str, Any]], options: argparse.Namespace) -> list[Part]:
    """What people get: a table, a sentence per measure, and what to judge."""
    shown: list[Part] = [per_query(several) if options.per_query else means(several)]
    shown += [Prose(f"{one.measure}: {sentence(one)}" if len(several) > 1 else sentence(one)) for one in several]
    for one, written in zip(several, records, strict=True):
        if written["judge_next"]:
            rows = [[d["query"], d["document"], number(d["carries"], 4)] for d in written["judge_next"]]
            note = f"{one.measure}: to decide this, judge these first; each takes so much from its query's two ends"
            shown.append(Table(["query", "judge next", "carries"], rows, names=2, notes=[note]))
    return shown
