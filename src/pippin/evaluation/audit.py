"""Is this data set fit for the comparison? Looks for everything that evaluation tools treat differently, and for what
no model can learn from, and says what each does to which measure under which tool.

To add a check, register a function in one of `pippin.evaluation.audits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.data.audit_files import AuditedFile, Layout
from pippin.data.dataset import Dataset
from pippin.evaluation.audits import features, folds, queries, scores
from pippin.evaluation.audits.finding import CHECKS, SEVERITIES, Check, Effect, Finding
from pippin.evaluation.audits.subject import Subject
from pippin.evaluation.notation import parse

if TYPE_CHECKING:
    from pippin.data.trec import Judgements, Run

MEASURES = ("NDCG@10", "AP", "P@10")
CUTOFFS = (1, 3, 5, 10, 20)
ORDER = [module.__name__ for module in (folds, queries, features, scores)]  # of checks in a report


@dataclass(frozen=True)
class Audit:
    """What was found, worst first, and what was looked for in vain."""

    name: str
    about: str
    basis: str  # the ranking on which amounts were computed
    findings: tuple[Finding, ...]
    clean: tuple[str, ...]

    def __getitem__(self, key: str) -> Finding:
        """The finding of that key."""
        for finding in self.findings:
            if finding.key == key:
                return finding
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(finding.key == key for finding in self.findings)

    def __repr__(self) -> str:
        from pippin.report.audit import audit_text

        return audit_text(self)


def audit(
    judged: Dataset | Judgements,
    scored: NDArray[np.float64] | Run | None = None,
    *,
    measures: Sequence[str] = MEASURES,
    cutoffs: Sequence[int] = CUTOFFS,
    layout: Layout | None = None,
) -> Audit:
    """Look for everything in judged data (and scores or a run, and the layout of its folds) that bears on a comparison.

    >>> from pippin.data.trec import Judgements
    >>> audited = audit(Judgements.of({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 0}}), measures=["NDCG@2"])
    >>> audited["empty"].number, audited["empty"].share, audited["short"].number
    (1, 0.5, 1)
    """
    subject = Subject(judged, scored, tuple(parse(m) for m in measures), tuple(sorted(set(cutoffs))), layout)
    findings: list[Finding] = []
    clean: list[str] = []
    for check in sorted(CHECKS.values(), key=_place):
        if check.applies(subject):
            finding = check.function(subject)
            if finding is None:
                clean.append(check.title)
            else:
                findings.append(finding)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    basis = "a perfect ranking" if scored is None else "the scores given"
    return Audit(judged.name, _about(subject), basis, tuple(findings), tuple(clean))


def _place(check: Check) -> int:
    """Where a check stands in a report; those of other modules come last."""
    module = check.function.__module__
    return ORDER.index(module) if module in ORDER else len(ORDER)


def _about(subject: Subject) -> str:
    """The data in a few numbers."""
    facts = [f"{subject.queries:,} queries", f"{len(subject.judged.labels):,} judged documents"]
    if isinstance(subject.judged, Dataset):
        facts[1] = f"{len(subject.judged.labels):,} documents"
        facts.append(f"{subject.judged.features.shape[1]} features")
    if subject.layout is not None:
        facts.append(f"{len(subject.layout)} folds" if "" not in subject.layout else f"{len(subject.layout[''])} files")
    run = subject.run
    if run is not None:
        facts.append(f"a run of {len(run.query_ids):,} queries and {len(run.scores):,} documents")
    return ", ".join(facts)


__all__ = ["CUTOFFS", "MEASURES", "Audit", "AuditedFile", "Effect", "Finding", "Layout", "audit"]
