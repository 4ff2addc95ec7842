"""Text, table, record and page of an audit."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pippin.display.tables import Heading, Paragraph, Renderable, Table
from pippin.display.terminal import current_terminal
from pippin.evaluation.audit.base import NO_CHANGE, Effect, Finding
from pippin.reports.html import CaptionedTable, Chart, Section, page

if TYPE_CHECKING:
    from pippin.evaluation.audit import Audit


_INDENT = " " * 9  # the width of “warning”, and two
_DEFAULT_WIDTH, _MAX_WIDTH, _MIN_WIDTH = 110, 120, 50
_MAX_BARS = 16  # effects in the figure of the page


def audit_text(audit: Audit) -> str:
    """Return the audit for a terminal: the worst finding first, with what each tool does and advice."""
    terminal = current_terminal()
    lines = _wrap(f"{audit.name}: {audit.about}", "")
    for finding in audit.findings:
        sentence = _wrap(f"{finding.severity:<7}  {finding.sentence_with_effect}", _INDENT)
        style = {"error": "error", "warning": "warning"}.get(finding.severity, "heading")
        lines += ["", terminal.paint(sentence[0][:7], style) + sentence[0][7:], *sentence[1:]]
        lines += _effect_lines(finding.effects)
        if finding.parts:
            lines += _wrap(f"{_INDENT}{counts_text(finding)}", _INDENT)
        if finding.examples:
            lines += _wrap(f"{_INDENT}e.g. {'; '.join(finding.examples)}", _INDENT + "     ")
        if finding.recommendation:
            lines += _wrap(f"{_INDENT}→ {finding.recommendation}", _INDENT + "  ")
    lines += ["", *_wrap(closing(audit), "")]
    return "\n".join(lines)


def audit_summary(audit: Audit) -> str:
    """Return the audit in five sentences: the data, the verdict, the two worst findings, and how to see all."""
    worst = [f"{finding.severity:<7}  {finding.sentence_with_effect}" for finding in audit.findings[:2]]
    more = "--all prints all findings and what each tool does; -o audit.html writes a page."
    lines = [*_wrap(f"{audit.name}: {audit.about}", ""), *_wrap(verdict(audit), "")]
    lines += [line for finding in worst for line in _wrap(finding, _INDENT)]
    return "\n".join([*lines, *_wrap(more, "")])


def verdict(audit: Audit) -> str:
    """Return in a sentence whether the data are fit for a comparison."""
    nouns = {"error": "error", "warning": "warning", "info": "remark"}
    counts = {kind: sum(f.severity == kind for f in audit.findings) for kind in nouns}
    parts = [f"{number} {nouns[kind]}{'' if number == 1 else 's'}" for kind, number in counts.items() if number]
    if not parts:
        return "No problems found."
    verdict = "Fit for a comparison"
    if counts["error"]:
        verdict = "Not fit for a comparison"
    elif counts["warning"]:
        verdict = "Fit for a comparison, with care"
    return f"{verdict}: {', '.join(parts)}; {len(audit.clean)} other checks found nothing."


def _effect_lines(effects: Sequence[Effect]) -> list[str]:
    """Return lines by measure and by what tools do: the change, and the tools."""
    lines: list[str] = []
    width = max((len(effect.measure) for effect in effects), default=0)
    groups: dict[tuple[str, str], list[Effect]] = {}
    for effect in effects:
        groups.setdefault((effect.measure, effect.does), []).append(effect)
    previous = ""
    for (measure, does), group in groups.items():
        name = "" if measure == previous else measure
        previous = measure
        rows = [(_amount(group[0]), f"{does}: {', '.join(group[0].tools)}")]
        if len(group) > 1:
            rows = [("", f"{does}:"), *((_amount(e), f"  {', '.join(e.tools)}") for e in group)]
        for amount, text in rows:
            start = f"{_INDENT}{name:<{width}}  {amount:>7}  "
            lines += _wrap(start + text, " " * (len(start) + 2 * (len(group) > 1)))
            name = ""
    return lines


def _amount(effect: Effect) -> str:
    if effect.amount is None:
        return ""
    return "0" if abs(effect.amount) < NO_CHANGE else f"{effect.amount:+.4f}".replace("-", "−")


def counts_text(finding: Finding, limit: int = 12) -> str:
    """Return the count by label, cutoff or feature; shares and means with decimals."""
    counts = [f"{name}: {_count(value)}" for name, value in finding.parts[:limit]]
    return ", ".join(counts) + (", …" if len(finding.parts) > limit else "")


def _count(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.4f}"


def closing(audit: Audit) -> str:
    """Return what the amounts mean, and which checks found nothing."""
    notes = []
    if any(effect.amount is not None for finding in audit.findings for effect in finding.effects):
        notes.append(f"Amounts: the change of the mean against the choice of {audit.tool}, on {audit.basis}.")
    if audit.clean:
        notes.append(f"Checks that found nothing: {', '.join(audit.clean)}.")
    return " ".join(notes)


def _wrap(text: str, indent: str) -> list[str]:
    terminal = current_terminal()
    width = max(min(terminal.columns or _DEFAULT_WIDTH, _MAX_WIDTH), _MIN_WIDTH)
    return textwrap.wrap(
        terminal.text(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def findings_table(audit: Audit) -> Table:
    """Return a row per finding."""
    rows = [
        [f.severity, f.key, f.sentence_with_effect, counts_text(f), "; ".join(f.examples), f.recommendation]
        for f in audit.findings
    ]
    return Table(["severity", "finding", "description", "counts", "examples", "advice"], rows, text_columns=6)


def effects_table(finding: Finding) -> Table:
    """Return a row per effect: what some tools do, and how much it changes a measure."""
    rows = [[e.measure, e.does, ", ".join(e.tools), _amount(e)] for e in finding.effects]
    return Table(["measure", "what tools do", "tools", "amount"], rows, text_columns=3)


def audit_parts(audit: Audit) -> list[Renderable]:
    """Return the audit for a paper: a table of findings, then one of effects per finding."""
    parts: list[Renderable] = [Heading(f"Audit of {audit.name}"), Paragraph(audit.about), findings_table(audit)]
    for finding in audit.findings:
        if finding.effects:
            parts += [Heading(finding.sentence), effects_table(finding)]
    return [*parts, Paragraph(closing(audit))]


def audit_csv(audit: Audit) -> str:
    """Return a row per finding and effect; a finding without effects has one row."""
    columns = audit.to_dict()
    rows = [["" if cell is None else repr(cell) if isinstance(cell, float) else str(cell) for cell in row]
            for row in zip(*columns.values(), strict=True)]  # fmt: skip
    return Table(list(columns), rows, text_columns=len(columns)).render("csv")


def audit_record(audit: Audit) -> dict[str, Any]:
    """Return the audit as a JSON record."""
    return {
        "name": audit.name, "about": audit.about, "basis": audit.basis, "tool": audit.tool,
        "findings": [
            {"key": f.key, "severity": f.severity, "effect": f.largest_effect.amount if f.largest_effect else None,
             "number": f.number, "total": f.total, "share": f.share,
             "sentence": f.sentence, "parts": dict(f.parts),
             "effects": [{"measure": e.measure, "tools": list(e.tools), "does": e.does, "amount": e.amount}
                         for e in f.effects],
             "recommendation": f.recommendation, "examples": list(f.examples), "queries": list(f.queries)}
            for f in audit.findings
        ],
        "clean": list(audit.clean),
    }  # fmt: skip


def audit_page(audit: Audit, facts: Sequence[str] = ()) -> str:
    """Return the page of an audit."""
    records = [_page_record(finding) for finding in audit.findings]
    figure = _effects(audit.findings)
    sections = [Section("Findings", [closing(audit)], findings=records, id="findings")]
    if figure is not None:
        caption = f"The largest change of each measure by a finding, against the choice of {audit.tool}."
        sections.append(Section("Effects on measures", [caption], [figure], id="effects"))
    tables = [CaptionedTable(findings_table(audit), "All findings", "all-findings")]
    tables += [CaptionedTable(effects_table(f), f.sentence, f"effects-{f.key}") for f in audit.findings if f.effects]
    title = "All findings, and what each tool does about them"
    sections.append(Section("Tables", (), tables=tables, folded=title, id="tables"))
    return page("Pippin audit", f"Audit of {audit.name}", f"{verdict(audit)} {audit.about}.", sections, facts)


def _page_record(finding: Finding) -> dict[str, Any]:
    effects = [[e.measure, "" if e.amount is None else f"{e.amount:+.4f}".replace("-", "−"), e.does,
                ", ".join(e.tools)] for e in finding.effects]  # fmt: skip
    return {
        "severity": finding.severity, "sentence": finding.sentence_with_effect, "parts": counts_text(finding),
        "recommendation": finding.recommendation, "examples": "; ".join(finding.examples), "effects": effects,
    }  # fmt: skip


def _effects(findings: Sequence[Finding]) -> Chart | None:
    """Return a chart of the largest change that each finding makes to each measure."""
    largest: dict[tuple[str, str], tuple[float, Sequence[str]]] = {}
    for finding in findings:
        for effect in finding.effects:
            key = finding.key.replace("_", " "), effect.measure
            if (
                effect.amount is not None
                and effect.is_change
                and abs(effect.amount) > abs(largest.get(key, (NO_CHANGE, ()))[0])
            ):
                largest[key] = effect.amount, effect.tools
    order = sorted(largest, key=lambda key: -abs(largest[key][0]))[:_MAX_BARS]
    if not order:
        return None
    rows = []
    for key in order:
        amount, tools = largest[key]
        number = f"{amount:+.4f}".replace("-", "−")
        rows.append({"name": f"{key[1]}: {key[0]}", "value": amount, "words": number,
                     "tip": f"{key[1]}, {key[0]}: {number}\nunder {', '.join(tools)}"})  # fmt: skip
    return Chart("bars", rows, "Largest changes of measures by findings", {"xTitle": "change of the mean"},
                 title="Largest changes", wide=True, id="largest-changes")  # fmt: skip
