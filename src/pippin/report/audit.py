"""An audit for people (terminal, Markdown) and for programs (JSON, CSV)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.audits.finding import Effect, Finding
from pippin.tables import Heading, Part, Prose, Table
from pippin.terminal import screen

if TYPE_CHECKING:
    from pippin.evaluation.audit import Audit

_INDENT = " " * 9  # the width of “warning”, and two
_USUAL, _WIDEST, _NARROWEST = 110, 120, 50


def audit_text(audit: Audit) -> str:
    """The audit for a terminal: worst first, with what each tool does and what to do about it."""
    place = screen()
    lines = _wrap(f"{audit.name}: {audit.about}", "")
    for finding in audit.findings:
        first, *rest = _wrap(f"{finding.severity:<7}  {finding.sentence}", _INDENT)
        style = {"error": "error", "warning": "warning"}.get(finding.severity, "heading")
        lines += ["", place.paint(first[:7], style) + first[7:], *rest]
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
    """The audit in five sentences: the data, the verdict, the two worst findings, and how to see the rest."""
    worst = [f"{finding.severity:<7}  {finding.sentence}" for finding in audit.findings[:2]]
    more = "--all prints everything, with what each tool makes of it; -o audit.html makes a page of it."
    lines = [*_wrap(f"{audit.name}: {audit.about}", ""), *_wrap(verdict(audit), "")]
    lines += [line for finding in worst for line in _wrap(finding, _INDENT)]
    return "\n".join([*lines, *_wrap(more, "")])


def verdict(audit: Audit) -> str:
    """What the findings come to, in a sentence."""
    counted = {kind: sum(f.severity == kind for f in audit.findings) for kind in ("error", "warning", "info")}
    nouns = {"error": "error", "warning": "warning", "info": "remark"}
    told = [f"{number} {nouns[kind]}{'' if number == 1 else 's'}" for kind, number in counted.items() if number]
    if not told:
        return "Nothing that bears on a comparison."
    fit = "No comparison survives this" if counted["error"] else "Fit for a comparison, with care"
    if not counted["error"] and not counted["warning"]:
        fit = "Fit for a comparison"
    return f"{fit}: {', '.join(told)}; {len(audit.clean)} other things were looked for and not found."


def _effect_lines(effects: Sequence[Effect]) -> list[str]:
    """By measure and by what tools do: how far that moves it, under which tools."""
    lines: list[str] = []
    widest = max((len(effect.measure) for effect in effects), default=0)
    groups: dict[tuple[str, str], list[Effect]] = {}
    for effect in effects:
        groups.setdefault((effect.measure, effect.does), []).append(effect)
    measure = ""
    for (its_measure, does), same in groups.items():
        name = "" if its_measure == measure else its_measure
        measure = its_measure
        rows = [(_amount(same[0]), f"{does}: {', '.join(same[0].tools)}")]
        if len(same) > 1:
            rows = [("", f"{does}:"), *((_amount(e), f"  {', '.join(e.tools)}") for e in same)]
        for amount, text in rows:
            start = f"{_INDENT}{name:<{widest}}  {amount:>7}  "
            lines += _wrap(start + text, " " * (len(start) + 2 * (len(same) > 1)))
            name = ""
    return lines


def _amount(effect: Effect) -> str:
    if effect.amount is None:
        return ""
    return "0" if abs(effect.amount) < 5e-7 else f"{effect.amount:+.4f}".replace("-", "−")


def counts_text(finding: Finding, most: int = 12) -> str:
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


def _wrap(text: str, indent: str) -> list[str]:
    place = screen()
    return textwrap.wrap(
        place.text(text), max(min(place.columns or _USUAL, _WIDEST), _NARROWEST), subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def findings_table(audit: Audit) -> Table:
    """One row a finding."""
    rows = [
        [f.severity, f.key, f.sentence, counts_text(f), "; ".join(f.examples), f.recommendation] for f in audit.findings
    ]
    return Table(["severity", "finding", "what", "counts", "for example", "advice"], rows, names=6)


def effects_table(finding: Finding) -> Table:
    """One row for what some tools do with it."""
    rows = [[e.measure, e.does, ", ".join(e.tools), _amount(e)] for e in finding.effects]
    return Table(["measure", "what the tool does", "tools", "amount"], rows, names=3)


def audit_parts(audit: Audit) -> list[Part]:
    """The audit for a paper: a table of findings, then one of effects for each that has any."""
    parts: list[Part] = [Heading(f"Audit of {audit.name}"), Prose(audit.about), findings_table(audit)]
    for finding in audit.findings:
        if finding.effects:
            parts += [Heading(finding.sentence), effects_table(finding)]
    return [*parts, Prose(closing(audit))]


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
