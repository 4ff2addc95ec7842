"""The gallery: every figure that a result can draw, with its code."""

from __future__ import annotations

from typing import Any

_DATA = """import numpy as np

import pippin

generator = np.random.default_rng(11)
qid = np.repeat(np.arange(60), 10)
labels = generator.choice([0, 0, 0, 1, 2], size=600)
noise = {"quince": 0.8, "pear": 1.1, "plum": 1.2, "medlar": 2.0}
systems = {
    name: np.round(labels + generator.normal(size=600) * spread, 1)
    for name, spread in noise.items()
}
"""
# name → (title, what one sees, an expression of the names above)
_PICTURES = {
    "queries": (
        "Every query of one system",
        "Is a mean carried by all queries or by some? Queries stand from best to worst; the line is the mean.",
        'pippin.evaluate(labels, systems["pear"], "NDCG@10", qid=qid).plot()',
    ),
    "tools": (
        "One ranking under every tool",
        "The same list, the same name of the measure, and what each tool says.",
        'pippin.evaluate(labels, systems["pear"], "NDCG@10", "all", qid=qid).plot()',
    ),
    "waterfall": (
        "Why two tools disagree",
        "From the one number to the other, choice by choice; the steps sum to the difference.",
        'pippin.reconcile(labels, systems["medlar"], "NDCG@10", "official", "letor4", qid=qid).plot()',
    ),
    "means": (
        "Systems with intervals",
        "Where intervals overlap, other queries might have turned the order round; a box is what ties alone can do.",
        'pippin.compare(labels, systems, "NDCG@10", "official", qid=qid).plot("means")',
    ),
    "pairs": (
        "Every pair of them",
        "The colour is the difference of row and column; a dot says that it is significant after correction.",
        'pippin.compare(labels, systems, "NDCG@10", "official", qid=qid).plot("pairs")',
    ),
    "systems-by-tool": (
        "Every system under every tool",
        "Lines that cross are pairs whose winner depends on the tool.",
        'pippin.compare(labels, systems, "NDCG@10", qid=qid).plot("tools")',
    ),
    "agreement": (
        "Do the tools agree?",
        "Rank correlation of the leaderboards that two tools make of the same systems; 1 is the same order.",
        'pippin.compare(labels, systems, "NDCG@10", qid=qid).plot("agreement")',
    ),
}


def make() -> tuple[str, dict[str, str]]:
    """The page, and its pictures by file name."""
    names: dict[str, Any] = {}
    exec(_DATA, names)
    parts = [
        "# Gallery\n\nResults draw themselves: `plot()` in a notebook, `plot().save(\"figure.svg\")` (or pdf, png, "
        f"html) for a paper. Four made-up systems on sixty queries:\n\n```python\n{_DATA}```"
    ]  # fmt: skip
    pictures = {}
    for name, (title, about, code) in _PICTURES.items():
        figure = eval(code, names)
        pictures[f"{name}.svg"] = figure._repr_mimebundle_()["image/svg+xml"]
        image = f"![{figure.title or title}](images/gallery/{name}.svg)"
        parts += [f"## {title}", about, f"```python\n{code}\n```", image]
    parts.append("The page of a benchmark has many more: [the page](report.md).")
    return "\n\n".join(parts) + "\n", pictures
