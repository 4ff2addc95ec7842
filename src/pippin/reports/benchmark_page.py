"""Page of a benchmark: layout and provenance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.convention import AXES, changes_text
from pippin.evaluation.tools import TOOLS
from pippin.reports.benchmark_data import BenchmarkData, bench_data, join_names, parameters_text
from pippin.reports.html import SCRIPTS, json_for_script, page_facts, render

if TYPE_CHECKING:
    from pippin.benchmarks.published import PublishedValue
    from pippin.benchmarks.store import Results


_COUNTS = ("queries", "documents", "relevant", "features")
# Tasks of the TREC Web track, as in LETOR.
_TASKS = {"HP": "home-page finding", "NP": "named-page finding", "TD": "topic distillation"}


def bench_page(
    benchmark: BenchmarkData, *, title: str = "", published: Sequence[PublishedValue] = (),
    step: Callable[[str], None] = lambda _: None,
) -> str:  # fmt: skip
    """Return the page of a benchmark."""
    results = benchmark.results
    data = bench_data(benchmark, published, step)
    tasks = {name: task for name in data["data"] if (task := _TASKS.get(name.rpartition("-")[2]))}
    acronyms = [f"{acronym}: {task}" for acronym, task in _TASKS.items() if task in tasks.values()]
    data |= {"notes": [", ".join(acronyms)] if acronyms else [], "tasks": tasks}
    return numbers_page(
        "Pippin benchmark", title or f"Rankers on {join_names(data['data'])}", data, facts(data, results),
        ("board", "tools", "reconcile", "figures", "queries"), audit=audits(results), failures=failures(results),
        provenance=provenance(results), without_script="The tables next to the page have the same numbers.",
    )  # fmt: skip


def facts(data: Mapping[str, Any], results: Results) -> list[str]:
    """Return the counts of rankers, data sets, queries, tools and cells."""
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
    """Return the audits of the data sets; repeated advice refers to the first data set that it is given for."""
    table = results.datasets()
    folds = table.to_pylist()
    advised: dict[str, str] = {}
    checked: dict[tuple[str, ...], str] = {}
    records = []
    for data, audit in results.audits().items():
        clean = tuple(audit["clean"])
        first = checked.setdefault(clean, data)
        records.append({
            "name": data, "about": audit["about"], "findings": [_finding(f, data, advised) for f in audit["findings"]],
            "clean": clean if first == data else (), "folds": _folds([row for row in folds if row["data"] == data]),
            "same": "" if first == data or not clean else f"Checks that found nothing: the same as for {first}.",
            **_sampling(results, data),
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
    """Return measure, amount, what the tools do, and their names."""
    amount = "" if effect["amount"] is None else f"{effect['amount']:+.4f}".replace("-", "−")
    return [effect["measure"], amount, effect["does"], ", ".join(effect["tools"])]


def _sampling(results: Results, data: str) -> dict[str, Any]:
    """Return what the sample of a built data set lost, and the upper bounds; nothing for other data."""
    ceiling = results.ceilings().get(data)
    if ceiling is None:
        return {"facts": [], "ceilings": None}
    measures = list(dict.fromkeys(measure for by_measure in ceiling.best.values() for measure in by_measure))
    labels = {"sample": "relevant documents of the sample", "judged": "all documents judged relevant"}
    rows = [[labels.get(over, over), *(f"{by_measure[m]:.4f}" if m in by_measure else "–" for m in measures)]
            for over, by_measure in ceiling.best.items()]  # fmt: skip
    facts = [(f"{ceiling.relevant - ceiling.lost:,} of {ceiling.relevant:,}", "relevant documents are in the sample"),
             (f"{ceiling.lost:,}", "relevant documents are not"),
             (f"{len(ceiling.partial):,}", "queries are affected")]  # fmt: skip
    return {"facts": facts, "ceilings": {"words": f"{ceiling.sentence()}.", "heads": ["over", *measures],
                                         "rows": rows}}  # fmt: skip


def _folds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts and digests of folds."""
    counts = [k for k in _COUNTS if rows and k in rows[0]]
    parts = [k for k in (rows[0] if rows else ()) if k.endswith("_digest")]
    return {
        "heads": ["fold", *counts, "digest", *(p.replace("_digest", " part") for p in parts)],
        "rows": [[str(row["fold"]), *(f"{row[k]:,}" for k in counts), *(str(row[k])[:16] for k in ("digest", *parts))]
                 for row in rows],
    }  # fmt: skip


def failures(results: Results) -> list[list[str]]:
    """Return the failed cells with their reasons."""
    return [[str(v) for v in row.values()] for row in results.failures().to_pylist()]


def provenance(results: Results) -> dict[str, Any]:
    """Return commands, versions, seeds, and every cell with its address, digest and parameters."""
    plan = results.plan()
    seeds, select = (", ".join(str(v) for v in plan[name]) for name in ("seed", "select"))
    return {
        "commands": "\n".join(plan["commands"]),
        "words": f"Parameters were selected by {select} on the validation part. Seeds: {seeds}.",
        "versions": " · ".join(f"{name} {', '.join(versions)}" for name, versions in results.versions.items()),
        "heads": [
            "cell",
            "data set",
            "fold",
            "ranker",
            "trained under",
            "seed",
            "parameters",
            "validation",
            "test part",
        ],
        "rows": [_cell_row(cell.address, cell.record) for cell in results.cells],
    }


def _cell_row(address: str, record: Mapping[str, Any]) -> list[str]:
    value = record["selected"]["value"]
    return [
        address[:16], record["data"], record["fold"], record["ranker"], record["convention"], str(record["seed"]),
        parameters_text(record["selected"]["parameters"]), "–" if value is None else f"{value:.4f}",
        record["digests"]["test"][:16],
    ]  # fmt: skip


_NAV = {
    "board": ("leaderboard", "Leaderboard"), "tools": ("tools", "Tools"), "reconcile": ("tools", "Tools"),
    "figures": ("figures", "Figures"), "queries": ("queries", "Queries"),
    "audit": ("audit", "Data"), "provenance": ("provenance", "Provenance"),
}  # fmt: skip


def numbers_page(
    brand: str, title: str, data: dict[str, Any], facts: Sequence[str], parts: Collection[str], finding: str = "",
    **more: Any,
) -> str:  # fmt: skip
    """Return a page with these parts: board, tools, reconcile, figures, queries."""
    data["conventions_of"] = {name: tool_record(name, data["tool"]) for name in data["tools"]}
    all_parts = [*parts, *(["audit"] if more.get("audit") else []), "provenance"]
    nav = list(dict.fromkeys(_NAV[part] for part in all_parts if part in _NAV))
    values = {"audit": [], "failures": [], "provenance": None, "without_script": "", "extra": "", **more}
    return render(
        "app.html", brand=brand, title=title, finding=finding, facts=page_facts(*facts), nav=nav, parts=parts,
        first=nav[0][0], first_words=f"the {nav[0][1].lower()}", noun=data["noun"], data=json_for_script(data),
        scripts=SCRIPTS, **values,
    )  # fmt: skip


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> count(1, "query", "queries"), count(1200, "tool")
    ('1 query', '1,200 tools')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def tool_record(name: str, first: str) -> dict[str, Any]:
    """Return the axes of a tool: name, choice, meaning, and whether it differs from the tool `first`."""
    if name not in TOOLS:
        return {
            "title": "values supplied by the user",
            "version": "",
            "source": name,
            "axes": [],
            "traps": [],
            "variants": [],
        }
    tool = TOOLS[name]
    convention, reference = vars(tool.convention), vars(TOOLS[first if first in TOOLS else name].convention)
    axes = [
        (axis_name, axis.text(convention[axis_name]), axis.description, convention[axis_name] != reference[axis_name])
        for axis_name, axis in AXES.items()
    ]
    variants = [f"{variant.reason} ({changes_text(variant.changes)})" for variant in tool.variants]
    return {"title": tool.title, "version": tool.version, "source": tool.source, "axes": axes, "traps": tool.caveats,
            "variants": variants}  # fmt: skip
