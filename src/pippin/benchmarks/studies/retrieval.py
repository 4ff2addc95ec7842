"""Tables of diversification, tournament costs and dense candidates."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.benchmarks.inputs import Input, open_source_folds
from pippin.benchmarks.studies.baselines import difference, format_p, interval
from pippin.collections.collection import Collection, Query
from pippin.collections.diversify import diversify
from pippin.collections.letor.sampling import labels_by_query
from pippin.collections.search import load_index, search
from pippin.data.dataset import Dataset
from pippin.display.tables import Table
from pippin.evaluation.objective import Objective
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable

if TYPE_CHECKING:
    from pippin.collections.index.index import Index
    from pippin.data.qrels import Run


MEASURES = ("alpha-nDCG@20", "ERR-IA@20", "NRBP", "strec@20")
METHODS = ("mmr(0.9)", "mmr(0.7)", "mmr(0.5)", "xquad(0.3)", "xquad(0.5)", "xquad(0.8)")
_PLAIN = "BM25"


def ambiguous_queries(index: Index, collection: Collection, task: str) -> tuple[list[Query], list[Query], str]:
    """Return words that occur in several topics of a task, the topics as subqueries, and judgements by subtopic.

    Topics without a relevant page are left out.
    """
    labels = labels_by_query(collection.qrels)
    by_word: dict[str, list[Query]] = {}
    spelling: dict[str, str] = {}  # the first word of a stem
    for topic in (query for query in collection.queries if query.task == task):
        if not any(labels.get(topic.id, {}).values()):
            continue
        tokens = dict.fromkeys(re.findall(r"[a-z]+", topic.text.lower()))
        stems = [(stem, text) for text in tokens for stem in index.analyse(text)]
        for word in dict.fromkeys(spelling.setdefault(stem, text) for stem, text in stems):
            by_word.setdefault(word, []).append(topic)
    queries, subqueries, lines = [], [], []
    for word, topics in sorted(by_word.items()):
        if len(topics) < 2:
            continue
        queries.append(Query(word, word))
        for number, topic in enumerate(topics, 1):
            subqueries.append(Query(f"{word}.{number}", topic.text))
            lines += [f"{word} {number} {name} 1" for name, label in labels[topic.id].items() if label > 0]
    return queries, subqueries, "\n".join(lines) + "\n"


def diversity_table(built: Path, collection: Collection, task: str, methods: Sequence[str] = METHODS) -> Table:
    """Compare diversification methods with BM25 by the diversity measures of ndeval."""
    index, _ = load_index(built)
    queries, subqueries, judgements = ambiguous_queries(index, collection, task)
    header = ["run", *MEASURES, f"against {_PLAIN}", "p"]
    if len(queries) < 2:
        reason = f"Not measured: fewer than two words occur in several topics of {collection.name}."
        return Table(header, [], text_columns=1, notes=[reason])
    baseline_run = search(index, queries, top=100).run()
    runs = {
        _PLAIN: baseline_run,
        **{method: diversify(baseline_run, index, method, subqueries=subqueries) for method in methods},
    }
    means, values = _evaluate_runs(runs, judgements)
    ids = [query.id for query in queries]
    table = ValueTable.from_systems(values)
    tests = {pair.a: pair for pair in compare_systems(table, "t", baseline=_PLAIN, power=None).pairs}
    rows, baseline_values = [], np.array([values[_PLAIN][query_id] for query_id in ids])
    for name in runs:
        differences = np.array([values[name][query_id] for query_id in ids]) - baseline_values
        against_baseline = ["", ""] if name == _PLAIN else [difference(differences), format_p(tests[name].p_adjusted)]
        rows.append([name, *(f"{value:.4f}" for value in means[name]), *against_baseline])
    subtopics = (
        f"{len(queries)} words of {collection.name}'s topics, {len(subqueries) / len(queries):.1f} subtopics each"
    )
    notes = [f"{subtopics}; the difference in {MEASURES[0]}, with a 95 % bootstrap interval over queries; p of t over "
             "queries, Holm."]  # fmt: skip
    return Table(header, rows, text_columns=1, notes=notes)


def _evaluate_runs(runs: dict[str, Run], judgements: str) -> tuple[dict[str, list[float]], dict[str, dict[str, float]]]:
    """Return the means of all measures by run, and the values of the first measure by run and query."""
    from pippin.evaluation.evaluate import evaluate

    means, values = {}, {}
    with TemporaryDirectory() as folder:
        qrels_file = Path(folder) / "judged.txt"
        qrels_file.write_text(judgements, encoding="utf-8")
        for name, run in runs.items():
            evaluation = evaluate(str(qrels_file), run, list(MEASURES), tool="ndeval")
            means[name] = [evaluation[measure] for measure in MEASURES]
            values[name] = dict(evaluation.per_query[MEASURES[0]])
    return means, values


SIZES = (10, 25, 50, 100, 200, 400)  # documents per query
_BM25 = ("bm25@whole", "bm25(k1=1.2,b=0.75,k3=7)@whole")  # names of the feature in collections


def tournament_costs(data: Dataset, sizes: Sequence[int] = SIZES, repeats: int = 5) -> Table:
    """Measure the cost of ranking n documents: all pairs, a merge sort, self-attention, and scores.

    The models are small (20 trees, one layer) and the same for all sizes. Times are the minimum processor time over
    `repeats`.
    """
    import pippin

    texts = {"scores": "mart(rounds=20)", "all pairs": "tournament(pairs=20) > mart(rounds=20)",
             "merge sort": "tournament(sort,pairs=20) > mart(rounds=20)"}  # fmt: skip
    if _has_torch():
        texts["attention"] = "attention(rounds=2) > listnet"
    models: dict[str, Any] = {name: pippin.train(data, text) for name, text in texts.items()}
    generator, rows = np.random.default_rng(1), []
    for n in sizes:
        table = np.ascontiguousarray(np.asarray(data.features)[generator.integers(0, len(data), n)])
        offsets, row = np.array([0, n], np.int64), [str(n)]
        for name, model in models.items():
            seconds = _least(partial(model.scores, table, offsets), repeats)
            if name in ("all pairs", "merge sort"):
                row.append(f"{model.step_.comparisons_:,}")
            row.append(f"{1000 * seconds:.2f}")
        rows.append(row)
    header = ["documents", "scores, ms", "all pairs: comparisons", "ms", "merge sort: comparisons", "ms"]
    notes = [f"Processor milliseconds to rank one query of {data.name}, minimum of {repeats}; all pairs take "
             "n(n − 1)/2 comparisons, merge sort at most n log₂ n."]  # fmt: skip
    return Table([*header, *(["attention, ms"] if "attention" in models else [])], rows, text_columns=0, notes=notes)


def _has_torch() -> bool:
    from importlib.util import find_spec

    return find_spec("torch") is not None


def _least(function: Callable[[], Any], repeats: int) -> float:
    """Return the minimum processor time of a function."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def nearest_table(plain: Sequence[Input], richer: Sequence[Input], measure: str) -> Table:
    """Compare the candidates of BM25 with those that dense retrieval adds, and rankings of them without training.

    `plain` are the data sets without dense candidates; those in `richer` have the same names with a final `+`.
    """
    by_name, rows = {f"{source.data}+": source for source in plain}, []
    for source in richer:
        data = open_source_folds(source).data
        judge, cells = Objective(data, measure, "official"), []
        bm25 = next(name for name in _BM25 if name in data.feature_names)
        for name in (bm25, "dense_passage", "dense_fused"):
            values = judge.values(np.ascontiguousarray(np.asarray(data.features)[:, data.feature_names.index(name)]))
            cells.append(_with_interval(values[~np.isnan(values)]))
        (relevant, fewer), (_, more) = (
            _count_sampled(Path(data_source.path)) for data_source in (by_name[source.data], source)
        )
        rows.append([source.data, *(f"{count:,}" for count in (relevant, fewer, more)), *cells])
    header = ["data", "relevant", "BM25 candidates", "with dense ones", f"{measure} by BM25", "by nearest passage",
              "fused"]  # fmt: skip
    notes = ["Relevant documents in the collection and among the candidates; then untrained rankings of all candidates "
             "with 95 % bootstrap intervals over queries."]  # fmt: skip
    return Table(header, rows, text_columns=1, notes=notes)


def _count_sampled(path: Path) -> tuple[int, int]:
    """Return the number of relevant documents of a collection, and the number among its candidates."""
    from pippin.collections.build import is_built, read_manifest

    tasks = read_manifest(next(parent for parent in path.parents if is_built(parent)))["tasks"]
    sampling = tasks[path.parent.name if len(tasks) > 1 else next(iter(tasks))]["sampling"]
    return sampling["relevant"], sampling["relevant"] - sampling["lost"]


def _with_interval(values: Any) -> str:
    low, high = interval(values)
    return f"{values.mean():.4f} ({low:.4f} … {high:.4f})"
