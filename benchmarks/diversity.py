"""Does diversification serve more subtopics? Words of the embedded collection's topics that mean several of them.

    pippin build stdlib -o FOLDER --sample 100 --no-meta
    python benchmarks/diversity.py FOLDER

A query is one word that stands in several topics of topic distillation; its subtopics are these topics, and a page is
relevant to a subtopic if it was judged so for the topic. BM25's best hundred pages are taken again by MMR and by xQuAD,
whose subqueries are the topics' texts. Means over queries as ndeval computes them, and the difference to BM25 in
alpha-nDCG@20 with a bootstrap interval of 95 %.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

import pippin
from pippin.collection.collection import Query
from pippin.collection.diversify import diversify
from pippin.collection.named import open_collection
from pippin.collection.retrieval import open_source, search
from pippin.collection.sampling import labels_by_query
from pippin.data.trec import Run
from pippin.data.trec_text import write_run

MEASURES = ["alpha-nDCG@20", "ERR-IA@20", "NRBP", "strec@20"]
METHODS = ("mmr(0.9)", "mmr(0.7)", "mmr(0.5)", "xquad(0.3)", "xquad(0.5)", "xquad(0.8)")


def ambiguous(folder: Path) -> tuple[list[Query], list[Query], str]:
    """Words with several topics, these as subqueries, and the judgements by subtopic as text."""
    index, _ = open_source(folder)
    collection = open_collection("stdlib")
    judged = labels_by_query(collection.judgements)
    topics = [query for query in collection.queries if query.task == "TD"]
    by_word: dict[str, list[Query]] = {}
    said: dict[str, str] = {}  # a stem as it was first written
    for topic in topics:
        for text in dict.fromkeys(re.findall(r"[a-z]+", topic.text.lower())):
            for stem in index.analyse(text):
                said.setdefault(stem, text)
                by_word.setdefault(said[stem], []).append(topic)
    queries, subqueries, lines = [], [], []
    for word, own in sorted(by_word.items()):
        if len(own) < 2:
            continue
        queries.append(Query(word, word))
        for number, topic in enumerate(own, 1):
            subqueries.append(Query(f"{word}.{number}", topic.text))
            lines += [f"{word} {number} {name} 1" for name, label in judged[topic.id].items() if label > 0]
    return queries, subqueries, "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    index, _ = open_source(folder)
    queries, subqueries, judgements = ambiguous(folder)
    place = folder.parent / f"{folder.name}-diversity"
    place.mkdir(exist_ok=True)
    (place / "judged.txt").write_text(judgements)
    plain = search(index, queries, top=100).run()
    runs: dict[str, Run] = {"BM25": plain}
    runs |= {method: diversify(plain, index, method, subtopics=subqueries) for method in METHODS}
    first, lines = None, []
    for name, run in runs.items():
        write_run(run, str(place / "made.run"))
        found = pippin.evaluate(str(place / "judged.txt"), str(place / "made.run"), measures=MEASURES, tool="ndeval")
        by_query = np.array([found.per_query[MEASURES[0]][query.id] for query in queries])
        first = by_query if first is None else first
        lines.append((name, [found[measure] for measure in MEASURES], by_query - first))
    print(f"{len(queries)} queries, {len(subqueries) / len(queries):.1f} subtopics each")
    print("| run | " + " | ".join(MEASURES) + " | against BM25 |\n|---|" + "--:|" * 5)
    generator = np.random.default_rng(1)
    for name, means, ahead in lines:
        drawn = np.sort([ahead[generator.integers(0, len(ahead), len(ahead))].mean() for _ in range(2000)])
        interval = "" if name == "BM25" else f"{ahead.mean():+.4f} ({drawn[50]:+.4f} … {drawn[1950]:+.4f})"
        print(f"| {name} | " + " | ".join(f"{mean:.4f}" for mean in means) + f" | {interval} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
