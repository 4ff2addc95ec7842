"""The gallery: every kind of picture that a result draws of itself, with the lines that draw it."""

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
# name → (title, an expression of the names above)
_PICTURES = {
    "queries": ("Every query of one system", 'pippin.evaluate(labels, systems["pear"], "NDCG@10", qid=qid).plot()'),
    "tools": (
        "One ranking under every tool", 'pippin.evaluate(labels, systems["pear"], "NDCG@10", "all", qid=qid).plot()'
    ),
    "waterfall": (
        "Why two tools disagree",
        'pippin.reconcile(labels, systems["medlar"], "NDCG@10", "official", "letor4", qid=qid).plot()',
    ),
    "means": (
        "Systems with intervals", 'pippin.compare(labels, systems, "NDCG@10", "official", qid=qid).plot("means")'
    ),
    "pairs": ("Every pair of them", 'pippin.compare(labels, systems, "NDCG@10", "official", qid=qid).plot("pairs")'),
    "systems-by-tool": (
        "Every system under every tool", 'pippin.compare(labels, systems, "NDCG@10", qid=qid).plot("tools")'
    ),
    "agreement": ("Do the tools agree?", 'pippin.compare(labels, systems, "NDCG@10", qid=qid).plot("agreement")'),
}  # fmt: skip


def make() -> tuple[str, dict[str, str]]:
    """The page, and its pictures by file name."""
    names: dict[str, Any] = {}
    exec(_DATA, names)
    parts = [
        "# Gallery\n\nResults draw themselves: `plot()` in a notebook, `plot().save(\"figure.svg\")` (or pdf, png, "
        f"html) for a paper. Four made-up systems on sixty queries:\n\n```python\n{_DATA}```"
    ]  # fmt: skip
    pictures = {}
    for name, (title, code) in _PICTURES.items():
        figure = eval(code, names)
        pictures[f"{name}.svg"] = figure._repr_mimebundle_()["image/svg+xml"]
        parts.append(f"## {title}\n\n```python\n{code}\n```\n\n![{figure.title or title}](images/gallery/{name}.svg)")
    parts.append("The page of a benchmark has many more: [the page](report.md).")
    return "\n\n".join(parts) + "\n", pictures
