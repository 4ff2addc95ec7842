"""Findings of a build, its data card in Markdown, and its summary.

The card shows counts, sampling losses, labels, fields, analysis, and each feature's distribution with its NDCG@10 as
the only ranker, all computed from the data set itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection
from pippin.collections.letor.sampling import Sample, labels_by_query
from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.data.quality import first_equal_columns
from pippin.display.tables import Table
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.evaluation.objective import Objective
from pippin.evaluation.tools import TOOLS

if TYPE_CHECKING:
    from pippin.collections.features import BoundFeature

UPPER_BOUND_MEASURES = ["NDCG@10", "MAP", "Recall@1000"]


def find_uninformative_features(
    tables: Sequence[NDArray[np.float64]], features: Sequence[BoundFeature]
) -> dict[str, str]:
    """Return the features that are constant or copies of earlier ones over all query sets, with the reason."""
    table = np.concatenate(tables)
    first_equal = first_equal_columns(table)
    is_constant = [bool(np.all(np.isnan(column)) or np.all(column == column[:1])) for column in table.T]
    return {
        bound.text: "one value only" if is_constant[i] else f"a copy of {features[first_equal[i]].text}"
        for i, bound in enumerate(features)
        if is_constant[i] or first_equal[i] != i
    }


def sampling(samples: Sequence[Sample], unjudged: Sequence[str]) -> dict[str, Any]:
    """Return what the sampling found, lost and added over all queries of a set, and the unjudged queries."""
    return {
        "unjudged": list(unjudged),
        "relevant": sum(sample.relevant for sample in samples),
        "lost": sum(sample.lost for sample in samples),
        # Queries that lost relevant documents: number in the sample, and in the collection.
        "partial": {
            sample.query.id: [sample.relevant - sample.lost, sample.relevant] for sample in samples if sample.lost
        },
        "added": sum(int(sample.added.sum()) for sample in samples),
        "empty": [
            sample.query.id
            for sample in samples
            if len(sample.numbers) and not (sample.labels > 0).any() and sample.query.id not in set(unjudged)
        ],
        "wordless": [sample.query.id for sample in samples if not sample.words],
        "without": [sample.query.id for sample in samples if sample.words and not len(sample.numbers)],
        "unknown": {sample.query.id: list(sample.unknown) for sample in samples if sample.unknown},
    }


def upper_bounds(collection: Collection, data: Dataset) -> dict[str, dict[str, float]]:
    """Return the measures of the best re-ranking: "sample" counts sampled relevant documents only, "judged" all."""
    qrels = collection.qrels
    if qrels is None or data.document_ids is None:
        return {}
    query_ids = set(data.query_ids)
    labels = {query: of for query, of in labels_by_query(qrels).items() if query in query_ids}
    perfect = Run(data.query_ids, data.offsets, data.document_ids, data.labels.astype(np.float64))
    tool = TOOLS["official"]
    rankings = {"sample": RankingCache(data, perfect.scores), "judged": RankingCache(Qrels.from_dict(labels), perfect)}
    bounds: dict[str, dict[str, float]] = {}
    for name, ranking in rankings.items():
        columns = evaluate_rankings(ranking, UPPER_BOUND_MEASURES, tool, {}, name).columns
        bounds[name] = {column.requested_name: float(column.mean) for column in columns}
    return bounds


ANALYSIS_PARAMETERS = ("words", "stop", "stem", "shortest", "limit")
MEASURE, CONVENTION = "NDCG@10", "official"
MAX_ID = 24  # characters of a query id in a summary


def data_card(
    manifest: Mapping[str, Any], tasks: Mapping[str, tuple[Dataset, Dataset]], features: Sequence[BoundFeature]
) -> str:
    """Return the data card; `tasks` has each query set as Feature-null and as Feature-min."""
    sections = [f"# {manifest['collection']['name']}", _overview(manifest), _fields(manifest)]
    for task, (null, filled) in tasks.items():
        sections.append(_task(task, null, manifest["tasks"][task]["sampling"]))
        sections.append(_upper_bounds(manifest["tasks"][task]["upper_bounds"]))
        sections.append(_features(features, null, filled))
    sections.append(_provenance(manifest))
    return "\n\n".join(sections) + "\n"


def _overview(manifest: Mapping[str, Any]) -> str:
    collection, recipe = manifest["collection"], manifest["recipe"]
    versions = (
        "Versions: Feature-null (NULL: no value), Feature-min (NULL filled), QueryLevelNorm (each feature between 0 "
        "and 1 within its query)"
    )
    if "engine" in recipe:
        versions = f"Version: Feature-null (raw values that {recipe['engine']} can compute; NULL: no value)"
    return (
        f"{collection['documents']:,} documents, {collection['queries']:,} queries. "
        f"Sampled: {recipe['sampling_description']}. "
        f"{versions}; {recipe['folds']} folds, each three parts for training, one for validation, one for "
        "testing."
    )


def _fields(manifest: Mapping[str, Any]) -> str:
    rows = [
        (name, s["description"], f"{s['tokens']:,}", f"{s['terms']:,}", f"{s['average']:.6g}")
        for name, s in manifest["streams"].items()
    ]
    parameters = {key: value for key, value in manifest["analysis"].items() if key in ANALYSIS_PARAMETERS}
    analysis = ", ".join(f"{key} {value}" for key, value in parameters.items())
    header = ("field", "description", "tokens", "distinct", "mean length")
    table = Table(header, rows, text_columns=2).render("markdown")
    return f"## Fields\n\n{table}\n\nAnalysis: {analysis}."


def _task(task: str, data: Dataset, sampling: Mapping[str, Any]) -> str:
    sizes = np.diff(data.offsets)
    labels, counts = np.unique(data.labels, return_counts=True)
    grades = ", ".join(f"{count:,} × {label}" for label, count in zip(labels.tolist(), counts.tolist(), strict=True))
    sampled = sampling["relevant"] - sampling["lost"]
    lines = [
        f"## Query set {task}" if task else "## Queries",
        "",
        f"- {data.queries:,} queries, {len(data):,} documents to rank "
        f"({sizes.min()} to {sizes.max()} per query, median {np.median(sizes):g}); labels: {grades}",
        f"- relevant documents in the sample: {sampled:,} of {sampling['relevant']:,}",
        f"- queries without a relevant document in the sample: {len(sampling['empty'])}",
    ]
    for key, description in (
        ("unjudged", "queries without judgements, dropped unless `--unjudged keep` is given"),
        ("added", "documents sampled only because they are judged (selection bias)"),
        ("unknown", "judgements of documents that the collection does not have"),
        ("wordless", "queries dropped because no word remains after analysis"),
        ("without", "queries dropped because no document was sampled for them"),
    ):
        value = sampling[key]
        if value:
            lines.append(f"- {description}: {value if isinstance(value, int) else len(value):,}")
    return "\n".join(lines)


def _upper_bounds(upper_bounds: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        (title, *(f"{value:.4f}" for value in upper_bounds[name].values()))
        for name, title in (("sample", "in the sample"), ("judged", "in the collection"))
    ]
    table = Table(("relevant documents", *upper_bounds["sample"]), rows, text_columns=1).render("markdown")
    return (
        f"Upper bounds of any re-ranking of the samples:\n\n{table}\n\n"
        "The labels of the data set give the first; the second compares with systems that search the whole collection."
    )


def _features(features: Sequence[BoundFeature], null: Dataset, filled: Dataset) -> str:
    """Return each feature's distribution, and its measure as the only ranker (ties in the order of the file)."""
    judge = Objective(filled, MEASURE, CONVENTION)
    rows = []
    for i, feature in enumerate(features):
        column = null.features[:, i]
        values = column[~np.isnan(column)]
        quartiles = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)) if len(values) else np.full(5, np.nan)
        alone = judge.mean(np.ascontiguousarray(filled.features[:, i], np.float64))
        null_share, spread = f"{np.isnan(column).mean():.1%}", (f"{q:.5g}" for q in quartiles)
        rows.append((str(i + 1), f"`{feature}`", feature.feature.kind, null_share, *spread, f"{alone:.4f}"))
    header = ("no.", "feature", "class", "NULL", "min", "25 %", "median", "75 %", "max", f"{MEASURE} alone")
    note = f"{MEASURE} under `{CONVENTION}` when documents are ranked by this feature alone, larger values first."
    return Table(header, rows, text_columns=3).render("markdown") + f"\n\n{note}"


def _provenance(manifest: Mapping[str, Any]) -> str:
    rows = [(key, f"`{value}`") for key, value in {**manifest["digests"], **manifest.get("plugins", {})}.items()]
    table = Table(("of", "SHA-256"), rows, text_columns=2).render("markdown")
    return f"## Provenance\n\nBuilt by Pippin {manifest['pippin']}.\n\n{table}"


def summarize(manifest: Mapping[str, Any], folder: str) -> str:
    """Return sizes, sampling and warnings of a built data set in a few lines."""
    collection, keeps_unjudged = manifest["collection"], manifest["recipe"]["unjudged"] == "keep"
    lines = [f"{collection['name']}: {collection['documents']:,} documents, {len(manifest['features'])} features, in "
             f"{folder}"]  # fmt: skip
    lines += [f"  {manifest['matched']}"] if "matched" in manifest else []
    if manifest.get("unsupported"):
        engine, example = manifest["recipe"]["engine"], next(iter(manifest["unsupported"]))
        lines.append(f"  features that {engine} cannot compute: {len(manifest['unsupported'])}, such "
                     f"as {example} (all in dataset.json)")  # fmt: skip
    for task, record in manifest["tasks"].items():
        counts = record["sampling"]
        sentence = (f"{record['queries']:,} queries, {record['documents']:,} documents to rank, including "
                    f"{counts['relevant'] - counts['lost']:,} of {counts['relevant']:,} relevant ones")  # fmt: skip
        lines.append(f"  {task}: {sentence}" if task else f"  {sentence}")
        lines += [f"  {sentence}" for sentence in (*_bounds_sentence(record), *_warnings(counts, keeps_unjudged))]
    return "\n".join([*lines, *(f"  {sentence}" for sentence in _uninformative_sentence(manifest))])


def _bounds_sentence(record: Mapping[str, Any]) -> list[str]:
    if not record["sampling"]["lost"]:
        return []
    bounds = ", ".join(f"{measure} {value:.3f}" for measure, value in record["upper_bounds"]["judged"].items())
    return [f"upper bound of any re-ranking, over all judged documents: {bounds}"]


def _uninformative_sentence(manifest: Mapping[str, Any]) -> list[str]:
    reasons = list(manifest["useless"].values())
    constant = sum(reason == "one value only" for reason in reasons)
    kinds = ((constant, "constant"), (len(reasons) - constant, "copies of others"))
    counts = " and ".join(f"{number} {kind}" for number, kind in kinds if number)
    end = "dropped" if manifest["recipe"]["drop_uninformative"] else "kept (--drop-uninformative drops them)"
    return [f"uninformative features: {counts}; {end}"] if reasons else []


def _warnings(sampling: Mapping[str, Any], keeps_unjudged: bool) -> list[str]:
    unknown = sum(map(len, sampling["unknown"].values()))
    example = next((ids[0] for ids in sampling["unknown"].values()), "")
    outcome = "are kept as not relevant" if keeps_unjudged else "are dropped (--unjudged keep keeps them)"
    sentences = [
        (sampling["unjudged"], f"{_name_queries(sampling['unjudged'])} without judgements {outcome}"),
        (unknown, f"{unknown:,} judgements are of missing documents, such as {example} (all in dataset.json)"),
        (sampling["added"], f"{sampling['added']:,} documents are sampled only because they are judged: a bias"),
        (sampling["wordless"], f"dropped, no word remains after analysis: {_name_queries(sampling['wordless'])}"),
        (sampling["without"], f"dropped, no document matches: {_name_queries(sampling['without'])}"),
        (
            sampling["empty"],
            f"judged, but without a relevant document in the sample: {_name_queries(sampling['empty'])}",
        ),
    ]
    return [sentence for is_needed, sentence in sentences if is_needed]


def _name_queries(queries: Sequence[str]) -> str:
    """Return the number of queries and the first three ids.

    >>> _name_queries(["1", "2", "3", "4", "5"])
    '5 queries (1, 2, 3, …)'
    """
    ids = [name if len(name) <= MAX_ID else name[:MAX_ID] + "…" for name in queries[:3]]
    names = ", ".join([*ids, *(["…"] if len(queries) > 3 else [])])
    return f"{len(queries)} quer{'y' if len(queries) == 1 else 'ies'} ({names})"
