"""The page of a benchmark: one self-contained file that opens from disk, where every switch moves every number.

Python computes all numbers (`bench_data`) and writes what never changes: the data sets, failed cells, provenance. The
page of a comparison and that of a reconciliation are the same page with fewer parts (`numbers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.report.bench_data import Gathered, bench_data, parameters_text
from pippin.report.bench_words import listed
from pippin.report.numbers import count, numbers_page

if TYPE_CHECKING:
    from pippin.bench.published import Published
    from pippin.bench.store import Results

_COUNTS = ("queries", "documents", "relevant", "features")


def bench_page(
    gathered: Gathered, *, title: str = "", published: Sequence[Published] = (),
    notes: Sequence[str] = (), step: Callable[[str], None] = lambda _: None,
) -> str:  # fmt: skip
    """The whole page as one text; `notes` stand below the leaderboard."""
    results = gathered.results
    data = {**bench_data(gathered, published, step), "notes": list(notes)}
    return numbers_page(
        "Pippin benchmark", title or f"Rankers on {listed(data['data'])}", data, facts(data, results),
        ("board", "tools", "reconcile", "figures", "queries"), audit=audits(results), failures=failures(results),
        provenance=provenance(results), without_script="The tables beside it hold the same.",
    )  # fmt: skip


def facts(data: Mapping[str, Any], results: Results) -> list[str]:
    """What was compared, in a few counts."""
    cells, failed = len(results.cells), len(results.failures())
    queries = sum(len(panel["queries"]) for panel in data["panels"][data["conventions"][0]].values())
    return [
        count(len(data["rankers"]), "ranker"),
        count(len(data["data"]), "data set"),
        count(queries, "query", "queries"),
        count(len(data["tools"]), "evaluation tool"),
        count(cells, "cell") + (f", {failed} failed" if failed else ""),
    ]


def audits(results: Results) -> list[dict[str, Any]]:
    """The data sets in words and counts; advice that was given for one is not repeated for the next."""
    table = results.datasets()
    folds = [dict(zip(table.columns, row, strict=True)) for row in table.rows()]
    advised: dict[str, str] = {}
    vain: dict[tuple[str, ...], str] = {}
    records = []
    for data, audit in results.audits().items():
        clean = tuple(audit["clean"])
        first = vain.setdefault(clean, data)
        records.append({
            "name": data, "about": audit["about"], "findings": [_finding(f, data, advised) for f in audit["findings"]],
            "clean": clean if first == data else (), "folds": _folds([row for row in folds if row["data"] == data]),
            "same": "" if first == data or not clean else f"Looked for and not found: the same as for {first}.",
            **_sampled(results, data),
        })  # fmt: skip
    return records


def _finding(finding: Mapping[str, Any], data: str, advised: dict[str, str]) -> dict[str, Any]:
    advice = finding["recommendation"]
    if advice:
        first = advised.setdefault(advice, data)
        advice = advice if first == data else f"Advice as for {first}."
    return {"severity": finding["severity"], "sentence": finding["sentence"], "recommendation": advice, "parts": "",
            "examples": "", "effects": [effect_row(e) for e in finding["effects"]]}  # fmt: skip


def effect_row(effect: Mapping[str, Any]) -> list[str]:
    """Measure, amount, what the tool does, tools."""
    amount = "" if effect["amount"] is None else f"{effect['amount']:+.4f}".replace("-", "−")
    return [effect["measure"], amount, effect["does"], ", ".join(effect["tools"])]


def _sampled(results: Results, data: str) -> dict[str, Any]:
    """What the sample of a data set that was built lost, and what is left to be reached; nothing for other data."""
    ceiling = results.ceilings().get(data)
    if ceiling is None:
        return {"facts": [], "ceilings": None}
    measures = list(dict.fromkeys(measure for by_measure in ceiling.best.values() for measure in by_measure))
    counted = {"sample": "relevant documents of the sample", "judged": "all that were judged relevant"}
    rows = [[counted.get(over, over), *(f"{by_measure[m]:.4f}" if m in by_measure else "–" for m in measures)]
            for over, by_measure in ceiling.best.items()]  # fmt: skip
    facts = [(f"{ceiling.relevant - ceiling.lost:,} of {ceiling.relevant:,}", "relevant documents are in the sample"),
             (f"{ceiling.lost:,}", "were lost by sampling"),
             (f"{len(ceiling.partial):,}", "queries lost some")]  # fmt: skip
    return {"facts": facts, "ceilings": {"words": f"{ceiling.sentence()}.", "heads": ["counted are", *measures],
                                         "rows": rows}}  # fmt: skip


def _folds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The folds' counts and digests."""
    counts = [k for k in _COUNTS if rows and k in rows[0]]
    parts = [k for k in (rows[0] if rows else ()) if k.endswith("_digest")]
    return {
        "heads": ["fold", *counts, "digest", *(p.replace("_digest", " part") for p in parts)],
        "rows": [[str(row["fold"]), *(f"{row[k]:,}" for k in counts), *(str(row[k])[:16] for k in ("digest", *parts))]
                 for row in rows],
    }  # fmt: skip


def failures(results: Results) -> list[list[str]]:
    """Cells that are not there, with their reasons."""
    return [[str(v) for v in row] for row in results.failures().rows()]


def provenance(results: Results) -> dict[str, Any]:
    """Commands, versions, seeds, and every cell with its address, digest and chosen parameters."""
    plan = results.plan()
    seeds, select = (", ".join(str(v) for v in plan[name]) for name in ("seed", "select"))
    return {
        "commands": "\n".join(plan["commands"]),
        "words": f"Parameters were selected by {select} on the validation part. Seeds: {seeds}.",
        "versions": " · ".join(f"{name} {', '.join(versions)}" for name, versions in results.versions.items()),
        "heads": ["cell", "data set", "fold", "ranker", "trained under", "seed", "chosen", "validation", "test part"],
        "rows": [_cell_row(cell.address, cell.record) for cell in results.cells],
    }


def _cell_row(address: str, record: Mapping[str, Any]) -> list[str]:
    value = record["selected"]["value"]
    return [
        address[:16], record["data"], record["fold"], record["ranker"], record["convention"], str(record["seed"]),
        parameters_text(record["selected"]["parameters"]), "–" if value is None else f"{value:.4f}",
        record["digests"]["test"][:16],
    ]  # fmt: skip
