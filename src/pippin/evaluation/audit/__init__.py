"""Check a data set or run for properties on which evaluation tools disagree, or from which no model can learn.

To add a check, register a function with `@check` in one of the modules of this package.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.data.buffers import TABLE_SUFFIXES
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements, coerce_scores
from pippin.data.qrels import Run
from pippin.data.quality import Layout, read_for_audit
from pippin.data.read import detect_text_format
from pippin.display import Displayable, rows_to_columns
from pippin.errors import DataError
from pippin.evaluation.audit import features, pairs, queries, scores
from pippin.evaluation.audit.base import CHECKS, SEVERITIES, AuditInput, Check, Finding, rate
from pippin.evaluation.evaluate import check_measures, default_tool
from pippin.evaluation.measures.notation import parse, texts_of
from pippin.evaluation.tools import TOOLS, Tool

MEASURES = ("NDCG@10", "AP", "P@10")
CUTOFFS = (1, 3, 5, 10, 20)
COLUMNS = (
    "finding", "severity", "effect", "number", "total", "share", "sentence", "measure", "tools", "does", "amount"
)  # fmt: skip
ORDER = [module.__name__ for module in (pairs, queries, features, scores)]  # of checks in a report


@dataclass(frozen=True, repr=False)
class Audit(Displayable):
    """Findings of an audit.

    Attributes
    ----------
    name, about : str
        The data set and its size in words.
    basis : str
        The ranking on which the amounts of the effects were computed.
    tool : str
        The tool to whose choices the amounts are differences.
    findings : tuple of Finding
        Most severe first; of the same severity, the largest effect on a measure first.
    clean : tuple of str
        Titles of the checks that found nothing.
    """

    name: str
    about: str
    basis: str
    tool: str
    findings: tuple[Finding, ...]
    clean: tuple[str, ...]

    def __getitem__(self, key: str) -> Finding:
        """Return the finding of that key."""
        for finding in self.findings:
            if finding.key == key:
                return finding
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(finding.key == key for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return a row per finding and effect; a finding without an effect has one row."""
        rows: list[tuple[Any, ...]] = []
        for f in self.findings:
            effect = f.largest_effect
            facts = (f.key, f.severity, effect.amount if effect else None, f.number, f.total, f.share, f.sentence)
            rows += [(*facts, e.measure, " ".join(e.tools), e.does, e.amount) for e in f.effects]
            if not f.effects:
                rows.append((*facts, None, None, None, None))
        return rows_to_columns(rows, *COLUMNS)


def audit(
    qrels: Any,
    run: Any = None,
    *,
    measure: Any = MEASURES,
    cutoffs: Sequence[int] = CUTOFFS,
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    layout: Layout | None = None,
    second_run: Any = None,
    tool: str | Tool | None = None,
) -> Audit:
    """Check whether a data set is fit for a comparison.

    Parameters
    ----------
    qrels : as in `evaluate`, a folder of folds, or a list of files that form one data set
        The data to check. The last of several files is taken as `run` if it is a run or a score file.
    run : scores or run, as in `evaluate`, optional
        Also check ties, unjudged documents and missing documents.
    measure : str or list, default ("NDCG@10", "AP", "P@10")
        Measures whose change is reported.
    cutoffs : sequence of int, default (1, 3, 5, 10, 20)
        Cutoffs at which short lists and unjudged documents are counted.
    qid, group, merge_queries
        As in `evaluate`.
    layout : Layout, optional
        Queries of each file, if the caller has read the files already.
    second_run : run, optional
        Also check whether unjudged documents could reverse the order of the two runs.
    tool : str or Tool, optional
        The tool to whose choices the amounts are differences; by default ``"trec_eval9"`` for qrels and
        ``"official"`` for data sets.

    Returns
    -------
    Audit
        The findings.

    Examples
    --------
    >>> result = audit({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 0}}, measure="NDCG@2")
    >>> result["empty"].number, result["empty"].share, result["short"].number
    (1, 0.5, 1)
    """
    texts = texts_of(measure)
    check_measures(texts)
    if not cutoffs or min(cutoffs) < 1:
        raise DataError(f"cutoffs must be positive integers, got {list(cutoffs)}")
    files = [qrels] if isinstance(qrels, (str, os.PathLike)) and qid is None and group is None else qrels
    if isinstance(files, list) and files and all(isinstance(file, (str, os.PathLike)) for file in files):
        paths, run = _split_files([os.fspath(file) for file in files], run)
        qrels, layout = read_for_audit(paths, merge_queries=merge_queries)
    data = coerce_judgements(qrels, qid=qid, group=group, merge_queries=merge_queries)
    scored = None if run is None else coerce_scores(run, data, merge_queries=merge_queries)
    second = None if second_run is None else coerce_scores(second_run, data, merge_queries=merge_queries)
    if second is not None and not (isinstance(scored, Run) and isinstance(second, Run)):
        raise DataError("second_run needs two runs: all documents of a data set are judged")
    base = default_tool(data) if tool is None else TOOLS[tool] if isinstance(tool, str) else tool
    audited = AuditInput(data, scored, tuple(map(parse, texts)), tuple(sorted(set(cutoffs))), layout, second, base)
    findings: list[Finding] = []
    clean: list[str] = []
    for check in sorted(CHECKS.values(), key=_place):
        if check.applies(audited):
            finding = check.function(audited)
            if finding is None:
                clean.append(check.title)
            else:
                findings.append(rate(finding))
    basis = "a perfect ranking" if scored is None else "the scores given"
    return Audit(data.name, _about(audited), basis, base.name, tuple(sorted(findings, key=_rank)), tuple(clean))


def _rank(finding: Finding) -> tuple[int, bool, float]:
    """Return the sort key of a finding: severity, then the size of its effect."""
    effect = finding.largest_effect
    return SEVERITIES.index(finding.severity), effect is None, -abs(effect.amount or 0) if effect else 0.0


def _split_files(files: list[str], scored: Any) -> tuple[list[str], Any]:
    """Separate judged files from a run or score file in last place."""
    if [*files, scored].count("-") > 1:
        raise DataError("only one file can come from standard input")
    last = files[-1]
    if scored is not None or len(files) == 1 or last == "-":
        return files, scored
    is_text = Path(last).is_file() and Path(last).suffix not in TABLE_SUFFIXES
    return (files[:-1], last) if is_text and detect_text_format(last) in ("run", "scores") else (files, None)


def _place(check: Check) -> int:
    """Return the position of a check's module in a report; other modules come last."""
    module = check.function.__module__
    return ORDER.index(module) if module in ORDER else len(ORDER)


def _about(audited: AuditInput) -> str:
    """Return the size of the data in words."""
    facts = [f"{audited.queries:,} queries", f"{len(audited.qrels.labels):,} judged documents"]
    if isinstance(audited.qrels, Dataset):
        facts[1] = f"{len(audited.qrels.labels):,} documents"
        facts.append(f"{audited.qrels.features.shape[1]} features")
    if audited.layout is not None:
        facts.append(f"{len(audited.layout)} folds" if "" not in audited.layout else f"{len(audited.layout[''])} files")
    run = audited.run
    if run is not None:
        facts.append(f"a run of {len(run.query_ids):,} queries and {len(run.scores):,} documents")
    return ", ".join(facts)
