"""What the agreement of two judges looks like: the labels, and what they do to systems."""

from __future__ import annotations

from pippin.evaluation.judges import Judges
from pippin.tables import Table, number


def blocks(judges: Judges, each: bool = False) -> list[str | Table]:
    """Paragraphs and tables; with a row per query where `each` asks for it."""
    labels = judges.agreement
    shown: list[str | Table] = [
        f"{len(labels.a):,} documents were judged by both; {labels.alone[0]:,} by {labels.names[0]} alone, "
        f"{labels.alone[1]:,} by {labels.names[1]} alone.",
        matrix(judges),
        coefficients(judges),
    ]
    if each:
        shown.append(by_query(judges))
    if judges.correlations:
        rows = [[c.name, number(c.value, 4), f"[{number(c.low, 4)}, {number(c.high, 4)}]"] for c in judges.correlations]
        note = f"{judges.measure} of {len(judges.systems)} systems under both labels, {len(judges.queries)} queries"
        shown.append(Table(["leaderboards", "value", "95% interval"], rows, notes=[note]))
        shown.append(favoured(judges))
    if judges.estimates:
        shown.append(estimated(judges))
    return shown


def matrix(judges: Judges) -> Table:
    """The confusion matrix, with the share of each row on the diagonal and κ of each grade."""
    grades, counts = judges.agreement.table
    kappas = judges.agreement.by_grade()["kappa"]
    rows = [
        [f"label {grade}", *map(str, counts[i].tolist()), number(kappas[i], 4)]
        for i, grade in enumerate(grades.tolist())
    ]
    first, second = judges.agreement.names
    return Table(["", *map(str, grades.tolist()), "κ of the grade"], rows, notes=[f"down {first}, across {second}"])


def coefficients(judges: Judges) -> Table:
    """κ and α of all labels."""
    labels = judges.agreement
    rows = [[f"Cohen's κ, {name}", number(value, 6)] for name, value in labels.kappa.items()]
    rows += [[f"Krippendorff's α, {name}", number(value, 6)] for name, value in labels.alpha.items()]
    return Table(["agreement", "value"], rows)


def by_query(judges: Judges) -> Table:
    """A row per query."""
    rows = [
        [query, str(size), *(number(x, 4) for x in values)]
        for query, size, *values in zip(*judges.agreement.to_dict().values(), strict=True)
    ]
    return Table(["query", "documents", "equal", "κ quadratic", "α ordinal"], rows)


def favoured(judges: Judges) -> Table:
    """A row per system: its means, and whether the second judge favours it."""
    first, second = judges.agreement.names
    rows = [
        [s.system, number(s.first, 4), number(s.second, 4), f"{s.lift:+.4f}", number(s.p, 4), number(s.p_adjusted, 4)]
        for s in judges.systems
    ]
    note = f"favour: how much more {second} lifts a system over {first} than it lifts the others; t-test over queries"
    return Table(["system", first, second, "favour", "p", "p corrected"], rows, notes=[note])


def estimated(judges: Judges) -> Table:
    """A row per system or pair and method."""
    rows = [
        [name, one.method, number(one.value, 4), f"[{one.low:.4f}, {one.high:.4f}]", number(one.weight, 2)]
        for name, several in judges.estimates.items()
        for one in several
    ]
    some = next(iter(judges.estimates.values()))[0]
    note = (
        f"{judges.measure} over all queries, from {some.human} that {judges.agreement.names[0]} labelled and "
        f"{some.model} more of {judges.agreement.names[1]}; right only if the {some.human} are a random sample"
    )
    return Table(["estimate", "method", "mean", "95% interval", "λ"], rows, names=2, notes=[note])
