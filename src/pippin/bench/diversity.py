"""Does diversification serve more subtopics? Words of a collection's topics that mean several of them.

A query is one word that stands in several topics; its subtopics are these topics, and a page is relevant to a subtopic
if it was judged so for the topic. BM25's best hundred pages are taken again by MMR and by xQuAD, whose subqueries are
the topics' texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from pippin.bench.gaps import chance, difference
from pippin.collection.collection import Collection, Query
from pippin.collection.diversify import diversify
from pippin.collection.retrieval import open_source, search
from pippin.collection.sampling import labels_by_query
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable
from pippin.tables import Table

if TYPE_CHECKING:
    from pippin.collection.index import Index
    from pippin.data.trec import Run

MEASURES = ("alpha-nDCG@20", "ERR-IA@20", "NRBP", "strec@20")
METHODS = ("mmr(0.9)", "mmr(0.7)", "mmr(0.5)", "xquad(0.3)", "xquad(0.5)", "xquad(0.8)")
_PLAIN = "BM25"


def ambiguous(index: Index, collection: Collection, task: str) -> tuple[list[Query], list[Query], str]:
    """Words with several topics of a task that have a relevant page, these topics as subqueries, and the judgements by
    subtopic as text.
    """
    judged = labels_by_query(collection.judgements)
    by_word: dict[str, list[Query]] = {}
    said: dict[str, str] = {}  # a stem as it was first written
    for topic in (query for query in collection.queries if query.task == task):
        if not any(judged.get(topic.id, {}).values()):
            continue
        words = dict.fromkeys(re.findall(r"[a-z]+", topic.text.lower()))
        stems = [(stem, text) for text in words for stem in index.analyse(text)]
        for word in dict.fromkeys(said.setdefault(stem, text) for stem, text in stems):
            by_word.setdefault(word, []).append(topic)
    queries, subqueries, lines = [], [], []
    for word, own in sorted(by_word.items()):
        if len(own) < 2:
            continue
        queries.append(Query(word, word))
        for number, topic in enumerate(own, 1):
            subqueries.append(Query(f"{word}.{number}", topic.text))
            lines += [f"{word} {number} {name} 1" for name, label in judged[topic.id].items() if label > 0]
    return queries, subqueries, "\n".join(lines) + "\n"


def diversity_table(built: Path, collection: Collection, task: str, methods: Sequence[str] = METHODS) -> Table:
    """Each method beside BM25, by the measures of diversity as ndeval computes them."""
    index, _ = open_source(built)
    queries, subqueries, judgements = ambiguous(index, collection, task)
    heads = ["run", *MEASURES, f"against {_PLAIN}", "p"]
    if len(queries) < 2:
        few = f"Not measured: fewer than two words of {collection.name}'s topics stand in several of them."
        return Table(heads, [], names=1, notes=[few])
    plain = search(index, queries, top=100).run()
    runs = {_PLAIN: plain, **{one: diversify(plain, index, one, subtopics=subqueries) for one in methods}}
    means, values = _judged(runs, judgements)
    ids = [query.id for query in queries]
    table = ValueTable.from_systems(values)
    tested = {pair.a: pair for pair in compare_systems(table, "t", baseline=_PLAIN, power=None).pairs}
    rows, first = [], np.array([values[_PLAIN][one] for one in ids])
    for name in runs:
        ahead = np.array([values[name][one] for one in ids]) - first
        told = ["", ""] if name == _PLAIN else [difference(ahead), chance(tested[name].p_adjusted)]
        rows.append([name, *(f"{value:.4f}" for value in means[name]), *told])
    subtopics = (
        f"{len(queries)} words of {collection.name}'s topics, {len(subqueries) / len(queries):.1f} subtopics each"
    )
    notes = [f"{subtopics}; the difference in {MEASURES[0]}, with a 95 % interval that draws queries anew; p is of t "
             "over queries, Holm."]  # fmt: skip
    return Table(heads, rows, names=1, notes=notes)


def _judged(runs: dict[str, Run], judgements: str) -> tuple[dict[str, list[float]], dict[str, dict[str, float]]]:
    """Run → means of all measures, and run → query → value of the first measure."""
    from pippin.evaluation.evaluate import evaluate

    means, values = {}, {}
    with TemporaryDirectory() as place:
        judged = Path(place) / "judged.txt"
        judged.write_text(judgements, encoding="utf-8")
        for name, run in runs.items():
            found = evaluate(str(judged), run, list(MEASURES), tool="ndeval")
            means[name] = [found[measure] for measure in MEASURES]
            values[name] = dict(found.per_query[MEASURES[0]])
    return means, values
