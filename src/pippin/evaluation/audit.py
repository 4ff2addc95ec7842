"""Is this data set fit for the comparison? Looks for everything that evaluation tools treat differently, and for what
no model can learn from, and says what each does to which measure under which tool.

To add a check, register a function in one of `pippin.evaluation.audits`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pippin.data.audit_files import AuditedFile, Layout, load_audited
from pippin.data.dataset import Dataset
from pippin.data.load import as_judged, as_scored
from pippin.data.trec import Run
from pippin.errors import DataError
from pippin.evaluation.audits import features, folds, pairs, queries, scores
from pippin.evaluation.audits.finding import CHECKS, SEVERITIES, Check, Effect, Finding
from pippin.evaluation.audits.subject import Subject
from pippin.evaluation.notation import parse, texts_of
from pippin.shown import Shown, in_columns

MEASURES = ("NDCG@10", "AP", "P@10")
CUTOFFS = (1, 3, 5, 10, 20)
COLUMNS = ("finding", "severity", "number", "total", "share", "sentence", "measure", "tools", "does", "amount")
ORDER = [module.__name__ for module in (pairs, folds, queries, features, scores)]  # of checks in a report


@dataclass(frozen=True, repr=False)
class Audit(Shown):
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

    def to_dict(self) -> dict[str, Any]:
        """A row for each finding and effect; a finding without an effect has one row."""
        rows: list[tuple[Any, ...]] = []
        for f in self.findings:
            facts = (f.key, f.severity, f.number, f.total, f.share, f.sentence)
            rows += [(*facts, e.measure, " ".join(e.tools), e.does, e.amount) for e in f.effects]
            if not f.effects:
                rows.append((*facts, None, None, None, None))
        return in_columns(rows, *COLUMNS)


def audit(
    judged: Any,
    scored: Any = None,
    *,
    measures: Any = MEASURES,
    cutoffs: Sequence[int] = CUTOFFS,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    layout: Layout | None = None,
    against: Any = None,
) -> Audit:
    """Is this data set fit for a comparison? Everything in it that tools treat differently, or that no model can learn.

    judged      as in `evaluate`; also a folder of folds, or a list of files that are one data set
    scored      scores or a run, as in `evaluate`: then also ties, unjudged and missing documents
    measures    those whose change is reported
    cutoffs     where short lists and unjudged documents are counted
    layout      which queries are in which file, where the caller has read the files himself
    against     a second run: then also whether unjudged documents could turn the two round

    >>> audited = audit({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 0}}, measures="NDCG@2")
    >>> audited["empty"].number, audited["empty"].share, audited["short"].number
    (1, 0.5, 1)
    """
    files = [judged] if isinstance(judged, (str, os.PathLike)) and qid is None and group is None else judged
    if isinstance(files, list) and files and all(isinstance(f, (str, os.PathLike)) for f in files):
        judged, layout = load_audited([os.fspath(f) for f in files], merge_queries=merge_queries)
    data = as_judged(judged, qid=qid, group=group, merge_queries=merge_queries)
    run = None if scored is None else as_scored(scored, data, merge_queries=merge_queries)
    other = None if against is None else as_scored(against, data, merge_queries=merge_queries)
    if other is not None and not (isinstance(run, Run) and isinstance(other, Run)):
        raise DataError("two runs are held against one another, and scores of a data set have nothing unjudged")
    asked = tuple(parse(text) for text in texts_of(measures))
    subject = Subject(data, run, asked, tuple(sorted(set(cutoffs))), layout, other)
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
    return Audit(data.name, _about(subject), basis, tuple(findings), tuple(clean))


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
