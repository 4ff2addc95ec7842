"""The page of a benchmark: one self-contained file that opens from disk, where every switch moves every number.

Python computes all numbers (`bench_data`) and writes what never changes: the data sets, failed cells, provenance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

from pippin import __version__
from pippin.evaluation.convention import AXES, changes_text
from pippin.evaluation.tools import TOOLS
from pippin.report.bench_data import Gathered, bench_data, parameters_text
from pippin.report.bench_figures import page_figures
from pippin.report.bench_words import listed
from pippin.report.page import asset, embedded
from pippin.report.vega import drawing_library

if TYPE_CHECKING:
    from pippin.bench.published import Published
    from pippin.bench.store import Results


def bench_page(
    gathered: Gathered, *, title: str = "", published: Sequence[Published] = (),
    step: Callable[[str], None] = lambda _: None,
) -> str:  # fmt: skip
    """The whole page as one text."""
    library = drawing_library()
    results = gathered.results
    data = bench_data(gathered, published, step)
    data["conventions_of"] = {name: tool_record(name, data["tool"]) for name in data["tools"]}
    return Template(asset("bench_page.html")).substitute(
        title=escape(title or f"Rankers on {listed(data['data'])}"),
        facts=escape(" · ".join(facts(data, results))),
        style=asset("page.css") + asset("bench_page.css"),
        theme=asset("theme.js"),
        audit=audit_html(results),
        provenance=provenance_html(results),
        library=library,
        data=embedded(data),
        figures=embedded(page_figures(data["rankers"], data["tools"])),
        script=asset("bench_page.js"),
    )


def facts(data: Mapping[str, Any], results: Results) -> list[str]:
    """What was compared, in a few counts."""
    cells, failed = len(results.cells), len(results.failures())
    queries = sum(len(panel["queries"]) for panel in data["panels"][data["conventions"][0]].values())
    return [
        f"Pippin {__version__}",
        _count(len(data["rankers"]), "ranker"),
        _count(len(data["data"]), "data set"),
        _count(queries, "query", "queries"),
        _count(len(data["tools"]), "evaluation tool"),
        _count(cells, "cell") + (f", {failed} failed" if failed else ""),
    ]


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tool_record(name: str, first: str) -> dict[str, Any]:
    """A tool's convention, choice by choice: the axis, its value, what it decides, whether it differs from `first`."""
    tool = TOOLS[name]
    own, other = vars(tool.convention), vars(TOOLS[first].convention)
    axes = [(name, axis.text(own[name]), axis.decides, own[name] != other[name]) for name, axis in AXES.items()]
    variants = [f"{variant.why} ({changes_text(variant.changes)})" for variant in tool.variants]
    return {"title": tool.title, "version": tool.version, "source": tool.source, "axes": axes, "traps": tool.traps,
            "variants": variants}  # fmt: skip


def audit_html(results: Results) -> str:
    """The data sets in words and counts, and the cells that failed."""
    parts = []
    folds = results.datasets()
    for data, audit in results.audits().items():
        own = [row for row in folds.to_dicts() if row["data"] == data]
        items = "".join(_finding(finding) for finding in audit["findings"])
        findings = f'<ul class="findings">{items}</ul>' if items else "<p>Nothing that bears on a comparison.</p>"
        clean = escape(", ".join(audit["clean"]))
        vain = f'<p class="note">Looked for in vain: {clean}.</p>' if clean else ""
        parts.append(f"<h3>{escape(data)}</h3><p>{escape(audit['about'])}.</p>{findings}{vain}{_folds(own, data)}")
    return "".join(parts) + _failures(results)


def _finding(finding: Mapping[str, Any]) -> str:
    severity = escape(finding["severity"])
    advice = f"<p>{escape(finding['recommendation'])}</p>" if finding["recommendation"] else ""
    effects = "".join(f"<p>{escape(_effect(effect))}</p>" for effect in finding["effects"])
    inside = f"<details><summary>What it does to which tool</summary>{effects}</details>" if effects else ""
    sentence = finding["sentence"][:1].upper() + finding["sentence"][1:]
    return f'<li><span class="kind {severity}">{severity}</span>{escape(sentence)}{advice}{inside}</li>'


def _effect(effect: Mapping[str, Any]) -> str:
    amount = "" if effect["amount"] is None else f" ({effect['amount']:+.4f})".replace("-", "−")
    return f"{effect['measure']}{amount}: {effect['does']}: {', '.join(effect['tools'])}"


def _folds(rows: Sequence[Mapping[str, Any]], data: str) -> str:
    """The folds' counts and digests."""
    counts = [k for k in ("queries", "documents", "relevant", "features") if rows and k in rows[0]]
    parts = [k for k in (rows[0] if rows else ()) if k.endswith("_digest")]
    heads = ["fold", *counts, "digest", *(p.replace("_digest", " part") for p in parts)]
    body = [
        [str(row["fold"]), *(f"{row[k]:,}" for k in counts), *(str(row[k])[:16] for k in ("digest", *parts))]
        for row in rows
    ]
    table = plain_table(f"The folds of {data}: counts, and the first 16 digits of their SHA-256", heads, body)
    return f"<details><summary>Folds and digests of {escape(data)}</summary>{table}</details>"


def _failures(results: Results) -> str:
    """Cells that are not there, with their reasons."""
    rows = [[str(v) for v in row] for row in results.failures().iter_rows()]
    if not rows:
        return ""
    heads = ["data set", "fold", "ranker", "trained under", "seed", "reason"]
    return f"<h3>Failed cells</h3>{plain_table('Cells that failed, and why', heads, rows)}"


def plain_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(c)}</td>" for c in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table class="plain"><caption class="hidden">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def provenance_html(results: Results) -> str:
    """Commands, versions, seeds, and every cell with its address, digest and chosen parameters."""
    plan = results.plan()
    commands = "\n".join(plan["commands"])
    versions = " · ".join(f"{name} {', '.join(found)}" for name, found in results.versions.items())
    seeds = ", ".join(str(seed) for seed in plan["seed"])
    select = ", ".join(str(name) for name in plan["select"])
    rows = [_cell_row(cell.address, cell.record) for cell in results.cells]
    heads = ["cell", "data set", "fold", "ranker", "trained under", "seed", "chosen", "validation", "test part"]
    cells = plain_table("Every cell: its address, what was chosen on validation, and the digest of its test part",
                        heads, rows)  # fmt: skip
    return (
        f"<h3>How to make it again</h3><pre>{escape(commands)}</pre>"
        f"<p>Parameters were selected by {escape(select)} on the validation part. Seeds: {escape(seeds)}.</p>"
        f"<h3>Versions</h3><p>{escape(versions)}</p>"
        f"<details><summary>All {len(rows):,} cells, with parameters and digests</summary>{cells}</details>"
    )


def _cell_row(address: str, record: Mapping[str, Any]) -> list[str]:
    value = record["selected"]["value"]
    return [
        address[:16], record["data"], record["fold"], record["ranker"], record["convention"], str(record["seed"]),
        parameters_text(record["selected"]["parameters"]), "–" if value is None else f"{value:.4f}",
        record["digests"]["test"][:16],
    ]  # fmt: skip
