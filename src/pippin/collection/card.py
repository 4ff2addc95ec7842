"""What a user should know of a built data set before trusting it: the data card, in Markdown.

Counts, sampling and what it lost, labels, streams, analysis, and each feature's distribution with its NDCG@10 as the
only ranker, all computed from the data set itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.data.dataset import Dataset
from pippin.evaluation.objective import Judge
from pippin.tables import Table

if TYPE_CHECKING:
    from pippin.collection.features import BoundFeature

CHOICES = ("words", "stop", "stem", "shortest", "limit")  # of the analysis, in words
MEASURE, CONVENTION = "NDCG@10", "official"


def data_card(
    manifest: Mapping[str, Any], tasks: Mapping[str, tuple[Dataset, Dataset]], features: Sequence[BoundFeature]
) -> str:
    """The card; `tasks` gives each query set with NULL and as Feature-min, where every document has a value."""
    sections = [f"# {manifest['collection']['name']}", _overview(manifest), _streams(manifest)]
    for task, (null, filled) in tasks.items():
        sections.append(_task(task, null, manifest["tasks"][task]["sampling"]))
        sections.append(_ceilings(manifest["tasks"][task]["ceilings"]))
        sections.append(_features(features, null, filled))
    sections.append(_provenance(manifest))
    return "\n\n".join(sections) + "\n"


def _overview(manifest: Mapping[str, Any]) -> str:
    collection, recipe = manifest["collection"], manifest["recipe"]
    return (
        f"{collection['documents']:,} documents, {collection['queries']:,} queries. Sampled: {recipe['sampling']}. "
        f"Versions: Feature-null (NULL: no value), Feature-min (NULL filled), QueryLevelNorm (each feature between 0 "
        f"and 1 within its query); {recipe['folds']} folds, each three parts for training, one for validation, one for "
        "testing."
    )


def _streams(manifest: Mapping[str, Any]) -> str:
    rows = [
        (name, s["description"], f"{s['tokens']:,}", f"{s['terms']:,}", f"{s['average']:.6g}")
        for name, s in manifest["streams"].items()
    ]
    choices = {key: value for key, value in manifest["analysis"].items() if key in CHOICES}
    analysis = ", ".join(f"{key} {value}" for key, value in choices.items())
    header = ("stream", "what it is", "tokens", "distinct", "mean length")
    table = Table(header, rows, names=2).render("markdown")
    return f"## Streams\n\n{table}\n\nAnalysis: {analysis}."


def _task(task: str, data: Dataset, sampling: Mapping[str, Any]) -> str:
    sizes = np.diff(data.offsets)
    labels, counts = np.unique(data.labels, return_counts=True)
    grades = ", ".join(f"{count:,} × {label}" for label, count in zip(labels.tolist(), counts.tolist(), strict=True))
    kept = sampling["relevant"] - sampling["lost"]
    lines = [
        f"## Query set {task}" if task else "## Queries",
        "",
        f"- {data.queries:,} queries, {len(data):,} documents to rank "
        f"({sizes.min()} to {sizes.max()} per query, median {np.median(sizes):g}); labels: {grades}",
        f"- relevant documents in the sample: {kept:,} of {sampling['relevant']:,}",
        f"- queries without a relevant document in the sample: {len(sampling['empty'])}",
    ]
    for key, what in (
        ("unjudged", "queries that nobody judged, left out unless the recipe keeps them"),
        ("added", "documents that are in only because they were judged (selection bias)"),
        ("unknown", "judgements of documents that the collection does not have"),
        ("wordless", "queries left out because the analysis leaves no word of them"),
        ("without", "queries left out because no document was sampled for them"),
    ):
        value = sampling[key]
        if value:
            lines.append(f"- {what}: {value if isinstance(value, int) else len(value):,}")
    return "\n".join(lines)


def _ceilings(ceilings: Mapping[str, Mapping[str, float]]) -> str:
    """What no re-ranking of the samples can exceed."""
    rows = [
        (words, *(f"{value:.4f}" for value in ceilings[name].values()))
        for name, words in (("sample", "relevant documents of the sample"), ("judged", "all that were judged relevant"))
    ]
    table = Table(("counted are", *ceilings["sample"]), rows, names=1).render("markdown")
    return (
        f"The best that any re-ranking of the samples can reach:\n\n{table}\n\n"
        "The data set's labels know the first; what a system over the whole collection is measured by is the second."
    )


def _features(features: Sequence[BoundFeature], null: Dataset, filled: Dataset) -> str:
    """Each feature's distribution, and how it ranks alone (ties in the order of the file)."""
    judge = Judge(filled, MEASURE, CONVENTION)
    rows = []
    for i, feature in enumerate(features):
        column = null.features[:, i]
        known = column[~np.isnan(column)]
        quartiles = np.quantile(known, (0, 0.25, 0.5, 0.75, 1)) if len(known) else np.full(5, np.nan)
        alone = judge.mean(np.ascontiguousarray(filled.features[:, i], np.float64))
        null_share, spread = f"{np.isnan(column).mean():.1%}", (f"{q:.5g}" for q in quartiles)
        rows.append((str(i + 1), f"`{feature}`", feature.feature.kind, null_share, *spread, f"{alone:.4f}"))
    header = ("no.", "feature", "class", "NULL", "least", "25 %", "median", "75 %", "most", f"{MEASURE} alone")
    note = f"{MEASURE} under `{CONVENTION}` when documents are ranked by this feature alone, larger values first."
    return Table(header, rows, names=3).render("markdown") + f"\n\n{note}"


def _provenance(manifest: Mapping[str, Any]) -> str:
    rows = [(key, f"`{value}`") for key, value in {**manifest["digests"], **manifest.get("plugins", {})}.items()]
    table = Table(("of", "SHA-256"), rows, names=2).render("markdown")
    return f"## Provenance\n\nBuilt by Pippin {manifest['pippin']}.\n\n{table}"
