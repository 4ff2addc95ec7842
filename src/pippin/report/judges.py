"""What the agreement of two judges looks like: the labels, and what they do to systems."""

from __future__ import annotations

from pippin.evaluation.judges import Judges
from pippin.tables import Table, number


def blocks(found: Judges, each: bool = False) -> list[str | Table]:
    """Paragraphs and tables; with a row per query where `each` asks for it."""
    labels = found.agreement
    shown: list[str | Table] = [
        f"{len(labels.a):,} documents were judged by both; {labels.alone[0]:,} by {labels.names[0]} alone, "
        f"{labels.alone[1]:,} by {labels.names[1]} alone.",
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
