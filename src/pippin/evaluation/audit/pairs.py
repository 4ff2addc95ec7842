"""Checks of two runs: whether unjudged documents could reverse their order."""

from __future__ import annotations

from pippin.errors import ConventionError
from pippin.evaluation.audit.base import AuditInput, Finding, check, first_names
from pippin.evaluation.bounds import Bounds, bounds
from pippin.evaluation.measures import Measure


def _is_pair(audited: AuditInput) -> bool:
    return audited.run is not None and audited.second_run is not None


def _compute_bounds(audited: AuditInput, measure: Measure) -> Bounds | None:
    """Return the bounds of the difference over unjudged documents above the cutoff; None if they are unknown."""
    try:
        # As in every other check, documents with equal scores are in the order of the file.
        return bounds(
            audited.qrels, audited.run, audited.second_run, measure=measure, depth=measure.cutoff, ties="input"
        )  # fmt: skip
    except ConventionError:
        return None


def _is_undecided(result: Bounds) -> bool:
    return result.low < 0 < result.high or (result.value != 0 and result.low * result.high == 0)


@check("undecided", "unjudged documents that could reverse the order of two runs", _is_pair)
def check_undecided(audited: AuditInput) -> Finding | None:
    """Count measures under which unjudged documents decide the sign of the difference."""
    results = [result for measure in audited.measures if (result := _compute_bounds(audited, measure)) is not None]
    undecided = [result for result in results if _is_undecided(result)]
    if not undecided:
        return None
    spans = ", ".join(f"{result.measure} ({result.low:+.4f} to {result.high:+.4f})" for result in undecided)
    first, second = undecided[0].names
    return Finding(
        "undecided", "warning", len(undecided), len(results),
        f"unjudged documents could reverse the order of {first} and {second}, or make them equal, under "
        f"{len(undecided)} of {len(results)} measures: {spans}",
        recommendation="judge first what `pippin bounds --judge-next` lists, such as these documents, or report that "
        "the pair is undecided",
        examples=first_names([f"{pair.query} {pair.document}" for pair in undecided[0].judge_next(5)]),
        parts=tuple((f"{result.measure}, {end}", value) for result in undecided
                    for end, value in (("least", result.low), ("greatest", result.high))),
    )  # fmt: skip
