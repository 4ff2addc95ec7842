"""`pippin agree`: do two judges, such as people and a model, give the same labels, and the same leaderboard?"""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.evaluate import check_measures, distinct_names
from pippin.cli.options import flag, only, printing, shared
from pippin.cli.output import write
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.judges import Judges, agree
from pippin.evaluation.tools import TOOLS
from pippin.report.judges import blocks, by_query, coefficients
from pippin.tables import Part, Prose

HELP = """Say how two judges' labels agree, and what their disagreement does to systems.

LABELS_A are those to trust, such as people's, LABELS_B those in question, such as a model's. With runs: whether both
judges order the systems alike, whether the second favours one and, where it labelled more queries than the first, what
the first would have found over all of them (PPI; right only if the first judge's queries are a random sample)."""
EXAMPLES = (
    "pippin agree qrels.txt model.txt",
    "pippin agree qrels.txt model.txt a.run b.run c.run --measure NDCG@10 --samples 200",
    "pippin agree qrels.txt model.txt --per-query --format csv",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="LABELS_A", help="qrels of the judge to trust")
    parser.add_argument("b", metavar="LABELS_B", help="qrels of the judge in question")
    parser.add_argument("runs", metavar="RUN", nargs="*", help="systems; two or more make a leaderboard")
    shared(parser, measure=["NDCG@10"], tool=["official"], samples=1000, seed=0)
    flag(parser, "correct", f"one of {', '.join(CORRECTIONS)}", default="holm")
    shared(parser, "per_query")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Compare and print."""
    tool = TOOLS[only(options.tool, "--tool") or "official"]
    measure = only(options.measure, "--measure") or "NDCG@10"
    check_measures([measure], [tool])
    CORRECTIONS[options.correct]  # an unknown name is found before anything is read
    runs = dict(zip(distinct_names(options.runs), options.runs, strict=True))
    judges = agree(
        options.a, options.b, runs, measure=measure, tool=tool, correction=options.correct, samples=options.samples,
        seed=options.seed,
    )  # fmt: skip
    write(
        options.format, options.output, lambda: parts(judges, options.per_query), lambda: record(judges),
        lambda: by_query(judges) if options.per_query else coefficients(judges),
    )  # fmt: skip
    return 0


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def record(judges: Judges) -> dict[str, Any]:
    """What programs get."""
    labels = judges.agreement
    grades, counts = labels.table
    return {
        "labels": labels.names, "documents": len(labels.a), "alone": labels.alone, "grades": grades.tolist(),
        "confusion": counts.tolist(), "kappa": labels.kappa, "alpha": labels.alpha,
        "by_grade": _rows(labels.by_grade()), "per_query": _rows(labels.to_dict()),
        "measure": judges.measure, "queries": len(judges.queries),
        "correlations": {c.name: {"value": c.value, "low": c.low, "high": c.high} for c in judges.correlations},
        "systems": [vars(system) for system in judges.systems],
        "estimates": {name: [vars(one) for one in several] for name, several in judges.estimates.items()},
    }  # fmt: skip


def parts(judges: Judges, each: bool) -> list[Part]:
    """What people get."""
    return [Prose(block) if isinstance(block, str) else block for block in blocks(judges, each)]
