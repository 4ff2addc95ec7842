"""Checks of two runs side by side: could documents that nobody judged turn their order round?"""

from __future__ import annotations

from pippin.errors import ConventionError
from pippin.evaluation.audit.base import AuditInput, Finding, check, some
from pippin.evaluation.bounds import Bounds, bounds
from pippin.evaluation.measures import Measure


def _is_pair(audited: AuditInput) -> bool:
    return audited.run is not None and audited.other is not None


def _bounded(audited: AuditInput, measure: Measure) -> Bounds | None:
    """The bounds of the difference over unjudged documents above the cutoff; None where they are not known."""
    try:
        # As in every other check, documents with equal scores stand as they came.
        return bounds(
            audited.judged, audited.run, audited.other, measure=measure, depth=measure.cutoff, ties="input"
        )  # fmt: skip
    except ConventionError:
        return None


@check("undecided", "unjudged documents that could turn two runs round", _is_pair)
def undecided(audited: AuditInput) -> Finding | None:
    """Measures under which the sign of the difference hangs on documents that nobody judged."""
    known = [found for measure in audited.measures if (found := _bounded(audited, measure)) is not None]
    hanging = [
        found for found in known if found.low < 0 < found.high or (found.value != 0 and found.low * found.high == 0)
    ]
    if not hanging:
        return None
    spans = ", ".join(f"{found.measure} ({found.low:+.4f} to {found.high:+.4f})" for found in hanging)
    first, second = hanging[0].names
    return Finding(
        "undecided", "warning", len(hanging), len(known),
        f"documents that nobody judged could turn {first} and {second} round under {len(hanging)} of {len(known)} "
        f"measures, or make them equal: {spans}",
        recommendation="judge first what `pippin bounds --judge-next` lists, such as these documents, or say of the "
        "pair that it is not decided",
        examples=some([f"{one.query} {one.document}" for one in hanging[0].judge_next(5)]),
        parts=tuple((f"{found.measure}, {end}", value) for found in hanging
                    for end, value in (("least", found.low), ("greatest", found.high))),
    )  # fmt: skip
