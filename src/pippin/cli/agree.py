"""`pippin agree`: do two judges, such as people and a model, give the same labels, and the same leaderboard?"""

from __future__ import annotations

import argparse
from typing import Any

from pippin.cli.evaluate import check_measures, chosen_tools, distinct_names
from pippin.cli.options import flag, only, printing, shared
from pippin.cli.output import write
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.judges import Judges, agree
from pippin.tables import Part, Prose, Table, number

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
    tool = chosen_tools([only(options.tool, "--tool") or "official"])[0]
    measure = only(options.measure, "--measure") or "NDCG@10"
    check_measures([measure], [tool])
    CORRECTIONS[options.correct]  # an unknown name is found before anything is read
    runs = dict(zip(distinct_names(options.runs), options.runs, strict=True))
    found = agree(
        options.a, options.b, runs, measure=measure, tool=tool, correction=options.correct, samples=options.samples,
        seed=options.seed,
    )  # fmt: skip
    write(
        options.format, options.output, lambda: parts(found, options.per_query), lambda: record(found),
        lambda: by_query(found) if options.per_query else coefficients(found),
    )  # fmt: skip
    return 0


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def record(found: Judges) -> dict[str, Any]:
    """What programs get."""
    labels = found.agreement
    grades, counts = labels.table
    return {
        "labels": labels.names, "documents": len(labels.a), "alone": labels.alone, "grades": grades.tolist(),
        "confusion": counts.tolist(), "kappa": labels.kappa, "alpha": labels.alpha,
        "by_grade": _rows(labels.by_grade()), "per_query": _rows(labels.to_dict()),
        "measure": found.measure, "queries": len(found.queries),
        "correlations": {c.name: {"value": c.value, "low": c.low, "high": c.high} for c in found.correlations},
        "systems": [vars(system) for system in found.systems],
        "estimates": {name: [vars(one) for one in several] for name, several in found.estimates.items()},
    }  # fmt: skip


def parts(found: Judges, each: bool) -> list[Part]:
    """What people get."""
    labels = found.agreement
    shown: list[Part] = [
        Prose(
            f"{len(labels.a):,} documents were judged by both; {labels.alone[0]:,} by {labels.names[0]} alone, "
            f"{labels.alone[1]:,} by {labels.names[1]} alone."
        ),
        matrix(found),
        coefficients(found),
    ]
    if each:
        shown.append(by_query(found))
    if found.correlations:
        rows = [[c.name, number(c.value, 4), f"[{number(c.low, 4)}, {number(c.high, 4)}]"] for c in found.correlations]
        note = f"{found.measure} of {len(found.systems)} systems under both labels, {len(found.queries)} queries"
        shown.append(Table(["leaderboards", "value", "95% interval"], rows, notes=[note]))
        shown.append(favoured(found))
    if found.estimates:
        shown.append(estimated(found))
    return shown


def matrix(found: Judges) -> Table:
    """The confusion matrix, with the share of each row on the diagonal and κ of each grade."""
    grades, counts = found.agreement.table
    kappas = found.agreement.by_grade()["kappa"]
    rows = [
        [f"label {grade}", *map(str, counts[i].tolist()), number(kappas[i], 4)]
        for i, grade in enumerate(grades.tolist())
    ]
    first, second = found.agreement.names
    return Table(["", *map(str, grades.tolist()), "κ of the grade"], rows, notes=[f"down {first}, across {second}"])


def coefficients(found: Judges) -> Table:
    """κ and α of all labels."""
    labels = found.agreement
    rows = [[f"Cohen's κ, {name}", number(value, 6)] for name, value in labels.kappa.items()]
    rows += [[f"Krippendorff's α, {name}", number(value, 6)] for name, value in labels.alpha.items()]
    return Table(["agreement", "value"], rows)


def by_query(found: Judges) -> Table:
    """A row per query."""
    rows = [
        [query, str(size), *(number(x, 4) for x in values)]
        for query, size, *values in zip(*found.agreement.to_dict().values(), strict=True)
    ]
    return Table(["query", "documents", "equal", "κ quadratic", "α ordinal"], rows)


def favoured(found: Judges) -> Table:
    """A row per system: its means, and whether the second judge favours it."""
    first, second = found.agreement.names
    rows = [
        [s.system, number(s.first, 4), number(s.second, 4), f"{s.lift:+.4f}", number(s.p, 4), number(s.p_adjusted, 4)]
        for s in found.systems
    ]
    note = f"favour: how much more {second} lifts a system over {first} than it lifts the others; t-test over queries"
    return Table(["system", first, second, "favour", "p", "p corrected"], rows, notes=[note])


def estimated(found: Judges) -> Table:
    """A row per system or pair and method."""
    rows = [
        [name, one.method, number(one.value, 4), f"[{one.low:.4f}, {one.high:.4f}]", number(one.weight, 2)]
        for name, several in found.estimates.items()
        for one in several
    ]
    some = next(iter(found.estimates.values()))[0]
    note = (
        f"{found.measure} over all queries, from {some.human} that {found.agreement.names[0]} labelled and "
        f"{some.model} more of {found.agreement.names[1]}; right only if the {some.human} are a random sample"
    )
    return Table(["estimate", "method", "mean", "95% interval", "λ"], rows, names=2, notes=[note])
