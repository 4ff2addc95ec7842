"""A folder with every file that the help examples use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.benchmarks.small import whole, write_folds

from pippin.cli.main import main
from pippin.data.letor import write_letor, write_scores
from pippin.data.synthetic import make_scores
from pippin.models.exporters.lightgbm import model_text
from pippin.models.model import make_tree

WORDS = ["time", "sharing", "operating", "systems", "compress", "files", "sort", "lists", "tree", "search", "disk"]
PAGES = {
    "index.html": '<title>Space</title><a href="mars/">Mars</a> <a href="moon.html">Moon</a>',
    "mars/index.html": '<title>Mars</title><a href="../index.html">home</a> red planet',
    "moon.html": '<title>Moon</title><a href="mars/">Mars</a> grey',
}
PLAN = 'data = ["all.txt"]\nrankers = ["lambdamart"]\nfolds = 3\nquick = true\nmeasures = ["NDCG@10", "MAP"]\n'


def furnish(folder: Path) -> Path:
    """Write everything but what the commands make themselves."""
    data = whole(30)
    for name in ("all.txt", "train.txt", "test.txt"):
        write_letor(data, folder / name)
    write_letor(whole(30, seed=5), folder / "vali.txt")
    results = list(make_scores(data, seed=1).values())
    for name, scores in {"scores.txt": results[0], "a.txt": results[0], "b.txt": results[1], "a.scores": results[0],
                         "b.scores": results[1]}.items():  # fmt: skip
        write_scores(scores, folder / name)
    for number in (1, 2, 3):
        write_letor(whole(9 + number, seed=10 + number), folder / f"S{number}.txt")
    write_folds(folder / "mine", data, 3)
    (folder / "plan.toml").write_text(PLAN)
    names = tuple(f"f{i}" for i in range(1, data.features.shape[1] + 1))
    stump = make_tree([0], [0.5], [-1], [-2], [True], [0.0, 1.0])
    (folder / "lightgbm.txt").write_text(model_text(data.feature_names, [stump], []))
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    _write_judgements(folder)
    _matrices(folder)
    _collections(folder)
    return folder


def _write_judgements(folder: Path) -> None:
    rng = np.random.default_rng(1)
    topics = {f"{q}": [f"d{q}-{d}" for d in range(6)] for q in range(1, 9)}
    qrels = [f"{q} 0 {d} {rng.integers(0, 3)}" for q, documents in topics.items() for d in documents]
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n")
    more = [f"{q} 0 d{q}-{d} {(q + d) % 3}" for q in range(9, 12) for d in range(6)]
    (folder / "model.txt").write_text("\n".join([*qrels, *more]) + "\n")
    for name in ("run.txt", "a.run", "b.run", "c.run"):
        ranked = [f"{q} Q0 {d} 1 {rng.random():.6f} tag" for q, documents in topics.items() for d in documents]
        (folder / name).write_text("\n".join(ranked) + "\n")


def _matrices(folder: Path) -> None:
    rng = np.random.default_rng(2)
    for name in ("matrix.csv", "map.csv", "ndcg.csv"):
        rows = [f"q{i}," + ",".join(f"{v:.4f}" for v in rng.random(4)) for i in range(12)]
        (folder / name).write_text("\n".join(["query,s1,s2,s3,s4", *rows]) + "\n")
    for name in ("a.csv", "b.csv"):
        rows = [f"s{i},{v:.4f}" for i, v in enumerate(rng.random(9))]
        (folder / name).write_text("\n".join(["system,score", *rows]) + "\n")
    (folder / "both.csv").write_text("x,y\n" + "\n".join(f"{a:.4f},{b:.4f}" for a, b in rng.random((9, 2))) + "\n")


def _collections(folder: Path) -> None:
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(60)]
    documents = [{"id": f"d{i}", "title": text[:20], "text": text} for i, text in enumerate(texts)]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    topics = "".join(f"t{i}\t{' '.join(rng.choice(WORDS, 2, replace=False))}\n" for i in range(12))
    qrels = "".join(f"t{i} 0 d{d} {rng.integers(0, 3)}\n" for i in range(12) for d in rng.choice(60, 8, replace=False))
    (folder / "cacm").mkdir()
    for place in ("pages.jsonl", "docs.jsonl", "cacm/documents.jsonl"):
        (folder / place).write_text(lines)
    for place in ("topics.tsv", "new.tsv", "cacm/queries.tsv"):
        (folder / place).write_text(topics)
    served = "".join(f"t{i}.{s}\t{WORDS[(i + 3 * s) % len(WORDS)]}\n" for i in range(12) for s in (1, 2))
    (folder / "subtopics.tsv").write_text(served)
    (folder / "judged.txt").write_text(qrels)
    (folder / "cacm/qrels.txt").write_text(qrels)
    for name, text in PAGES.items():
        file = folder / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "pages/urls.tsv").write_text(
        "index.html\thttp://a.gov/\nmars/index.html\thttp://a.gov/mars/\nmoon.html\thttp://a.gov/moon.html\n"
    )


MAKING = (
    "convert train.txt parts/ --partitions 1000",
    "train train.txt --ranker best-feature --out model.json --quiet",
    "simulate train.txt scores.txt --sessions 20 --depth 4 --swap-rate 0.5 --out clicks.tsv",
    "index cacm/ --out cacm.index --quiet",
    "search cacm.index --queries topics.tsv --out bm25.run --top 20",
    "build cacm/ --out cacm-letor --sample 20 --folds 3 --quiet",
    "train cacm-letor/QueryLevelNorm/Fold1/train.txt --ranker best-feature --out built.json --quiet",
    "board new cup --data mine --seed 1",
    "bench mine --quick --ranker best-feature,regression --tool official,letor4 --measure NDCG@10,MAP --quiet",
)


def make_things() -> None:
    """Have the commands make what other commands' examples begin with; in the furnished folder."""
    for line in MAKING:
        assert main(line.split()) == 0, line
