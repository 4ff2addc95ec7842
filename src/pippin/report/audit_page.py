"""The page of an audit: what the data hold that tools treat differently, worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pippin.report.audit import closing, counts_text, effects_table, findings_table, verdict
from pippin.report.page import Drawing, Section, Shown, page

if TYPE_CHECKING:
    from pippin.evaluation.audit import Audit
    from pippin.evaluation.audits.finding import Finding

_SHOWN = 16  # effects that are drawn


def audit_page(audit: Audit, facts: Sequence[str] = ()) -> str:
    """The whole page as one text."""
    records = [_record(finding) for finding in audit.findings]
    figure = _effects(audit.findings)
    sections = [Section("Findings", [closing(audit)], findings=records, id="findings")]
    if figure is not None:
        words = "How far a finding moves a measure under the tool that it moves most, against what official does."
        sections.append(Section("What it does to the numbers", [words], [figure], id="effects"))
    tables = [Shown(findings_table(audit), "All findings", "all-findings")]
    tables += [Shown(effects_table(f), f.sentence, f"effects-{f.key}") for f in audit.findings if f.effects]
    words = "All findings, and what each tool does about them"
    sections.append(Section("Tables", (), tables=tables, folded=words, id="tables"))
    return page("Pippin audit", f"Is {audit.name} fit for a comparison?", f"{verdict(audit)} {audit.about}.", sections,
                facts)  # fmt: skip


def _record(finding: Finding) -> dict[str, Any]:
    effects = [[e.measure, "" if e.amount is None else f"{e.amount:+.4f}".replace("-", "−"), e.does,
                ", ".join(e.tools)] for e in finding.effects]  # fmt: skip
    return {"severity": finding.severity, "sentence": finding.sentence, "recommendation": finding.recommendation,
            "parts": counts_text(finding), "examples": "; ".join(finding.examples), "effects": effects}  # fmt: skip


def _effects(findings: Sequence[Finding]) -> Drawing | None:
    """The largest change that each finding makes to each measure."""
    most: dict[tuple[str, str], tuple[float, Sequence[str]]] = {}
    for finding in findings:
        for effect in finding.effects:
            key = finding.key.replace("_", " "), effect.measure
            if effect.amount is not None and abs(effect.amount) > abs(most.get(key, (5e-7, ()))[0]):
                most[key] = effect.amount, effect.tools
    order = sorted(most, key=lambda key: -abs(most[key][0]))[:_SHOWN]
    if not order:
        return None
    rows = []
    for key in order:
        amount, tools = most[key]
        words = f"{amount:+.4f}".replace("-", "−")
        rows.append({"name": f"{key[1]}: {key[0]}", "value": amount, "words": words,
                     "tip": f"{key[1]}, {key[0]}: {words}\nunder {', '.join(tools)}"})  # fmt: skip
    return Drawing("bars", rows, "How far findings move measures", {"xTitle": "change of the mean"},
                   title="The largest changes", wide=True, id="largest-changes")  # fmt: skip
