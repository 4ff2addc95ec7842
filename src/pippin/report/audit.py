"""An audit for people (terminal, Markdown) and for programs (JSON, CSV)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.audits.finding import Effect, Finding
from pippin.tables import Table

if TYPE_CHECKING:
    from pippin.evaluation.audit import Audit

_INDENT = " " * 9  # the width of “warning”, and two
_WIDEST = 120


def audit_text(audit: Audit, width: int = 110) -> str:
    """The audit for a terminal: worst first, with what each tool does and what to do about it."""
    lines = [f"{audit.name}: {audit.about}"]
    for finding in audit.findings:
        lines += ["", *_wrap(f"{finding.severity:<7}  {finding.sentence}", width, _INDENT)]
        lines += _effect_lines(finding.effects, width)
        if finding.parts:
            lines += _wrap(f"{_INDENT}{_parts(finding)}", width, _INDENT)
        if finding.examples:
            lines += _wrap(f"{_INDENT}e.g. {'; '.join(finding.examples)}", width, _INDENT + "     ")
        if finding.recommendation:
            lines += _wrap(f"{_INDENT}→ {finding.recommendation}", width, _INDENT + "  ")
    lines += ["", *_wrap(closing(audit), width, "")]
    return "\n".join(lines)


def _effect_lines(effects: Sequence[Effect], width: int) -> list[str]:
    """By measure and by what tools do: how far that moves it, under which tools."""
    lines: list[str] = []
    widest = max((len(effect.measure) for effect in effects), default=0)
    groups: dict[tuple[str, str], list[Effect]] = {}
    for effect in effects:
        groups.setdefault((effect.measure, effect.does), []).append(effect)
    measure = ""
    for (own, does), same in groups.items():
        name = "" if own == measure else own
        measure = own
        rows = [(_amount(same[0]), f"{does}: {', '.join(same[0].tools)}")]
        if len(same) > 1:
            rows = [("", f"{does}:"), *((_amount(e), f"  {', '.join(e.tools)}") for e in same)]
        for amount, text in rows:
            start = f"{_INDENT}{name:<{widest}}  {amount:>7}  "
            lines += _wrap(start + text, width, " " * (len(start) + 2 * (len(same) > 1)))
            name = ""
    return lines


def _amount(effect: Effect) -> str:
    if effect.amount is None:
        return ""
    return "0" if abs(effect.amount) < 5e-7 else f"{effect.amount:+.4f}".replace("-", "−")


def _parts(finding: Finding, most: int = 12) -> str:
    """The count by label, cutoff or feature; shares and means with decimals."""
    shown = [f"{name}: {_count(value)}" for name, value in finding.parts[:most]]
    return ", ".join(shown) + (", …" if len(finding.parts) > most else "")


def _count(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.4f}"


def closing(audit: Audit) -> str:
    """What the amounts mean, and what was looked for in vain."""
    notes = []
    if any(effect.amount is not None for finding in audit.findings for effect in finding.effects):
        notes.append(
            f"Amounts are by how much the choice moves the mean, against what official does, on {audit.basis}."
        )
    if audit.clean:
        notes.append(f"Looked for and not found: {', '.join(audit.clean)}.")
    return " ".join(notes)


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, max(min(width, _WIDEST), 60), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def findings_table(audit: Audit, quote: str = "") -> Table:
    """One row a finding; its key between quotes."""
    rows = [
        [f.severity, quote + f.key + quote, f.sentence, _parts(f), "; ".join(f.examples), f.recommendation]
        for f in audit.findings
    ]
    return Table(["severity", "finding", "what", "counts", "for example", "advice"], rows, names=6)


def effects_table(finding: Finding) -> Table:
    """One row for what some tools do with it."""
    rows = [[e.measure, e.does, ", ".join(e.tools), _amount(e)] for e in finding.effects]
    return Table(["measure", "what the tool does", "tools", "amount"], rows, names=3)


def audit_markdown(audit: Audit) -> str:
    """The audit as Markdown: a table of findings, then one of effects for each that has any."""
    blocks = [f"## Audit of {audit.name}", audit.about, findings_table(audit, "`").render("markdown")]
    for finding in audit.findings:
        if finding.effects:
            blocks += [f"### {finding.sentence}", effects_table(finding).render("markdown")]
    return "\n\n".join([*blocks, closing(audit)])


def audit_csv(audit: Audit) -> str:
    """One row for each finding and effect; a finding without an effect has one row."""
    columns = audit.to_dict()
    rows = [["" if cell is None else repr(cell) if isinstance(cell, float) else str(cell) for cell in row]
            for row in zip(*columns.values(), strict=True)]  # fmt: skip
    return Table(list(columns), rows, names=len(columns)).render("csv")


def audit_record(audit: Audit) -> dict[str, Any]:
    """The audit as JSON holds it."""
    return {
        "name": audit.name,
        "about": audit.about,
        "basis": audit.basis,
        "findings": [_finding_record(finding) for finding in audit.findings],
        "clean": list(audit.clean),
    }


def _finding_record(finding: Finding) -> dict[str, Any]:
    return {
        "key": finding.key,
        "severity": finding.severity,
        "number": finding.number,
        "total": finding.total,
        "share": finding.share,
        "sentence": finding.sentence,
        "parts": dict(finding.parts),
        "effects": [
            {"measure": e.measure, "tools": list(e.tools), "does": e.does, "amount": e.amount} for e in finding.effects
        ],
        "recommendation": finding.recommendation,
        "examples": list(finding.examples),
    }
