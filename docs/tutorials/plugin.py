"""A plug-in. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Bring your own measure and ranker
# What is yours needs no change of Pippin: one file, and it is in every command, list, table and page. Here a measure
# (is the first document as good as any?) and a ranker that learns nothing (the sum of all features).

# %%
from pathlib import Path

_ = Path("mine.py").write_text('''
"""A measure and a ranker of my own."""

import numpy as np

from pippin.evaluation.measures import Kind, register as register_measure
from pippin.rankers import parameter, register
from pippin.rankers.parts.linear import LinearRanker


def best_first(ranking, convention, measure):
    """1 where the first document has the query's highest label, else 0; NaN for a query without documents."""
    values = np.full(len(ranking.query_ids), np.nan)
    for query, (start, end) in enumerate(zip(ranking.offsets[:-1], ranking.offsets[1:])):
        if end > start:
            values[query] = ranking.labels[start] == ranking.labels[start:end].max()
    return values


register_measure(Kind(
    "BestFirst", meaning="whether the first document is as good as any", formula="[label of rank 1 = highest label]",
    source="this tutorial", function=best_first, axes=("empty",), cutoff="never",
))


@register("sum")
class Sum(LinearRanker):
    """Ranks by the sum of the features."""

    source = "this tutorial"

    share: float = parameter(1.0, "what each feature counts")

    def _fit(self, train, valid):
        self.coef_ = np.full(train.features.shape[1], self.share)
''')

# %% [markdown]
# `--import` brings it into any command.

# %%
# !pippin rankers sum --import ./mine.py

# %% [markdown]
# Some data, and your ranker beside the others, by your measure:

# %%
import numpy as np

import pippin
from pippin.data.letor import write_letor

generator = np.random.default_rng(3)
queries = 0
for fold in range(1, 4):
    Path(f"fruits/Fold{fold}").mkdir(parents=True)
    for part in ("train", "vali", "test"):
        X, qid = generator.random((300, 5)), np.repeat(np.arange(queries, queries + 30), 10)
        queries += 30
        y = np.clip(np.round(X @ [2.0, 1.0, 0.5, 0.0, 0.0] + generator.normal(size=300) / 3 - 1), 0, 2).astype(np.int32)
        write_letor(pippin.Dataset.from_arrays(X, y, qid), f"fruits/Fold{fold}/{part}.txt")

# %%
# !pippin bench fruits -o results --rankers sum,ranksvm,best-feature --quick --quiet --measure BestFirst,NDCG@10 --import ./mine.py
# !pippin leaderboard results --measure BestFirst --tool official --import ./mine.py

# %% [markdown]
# Change `mine.py` and run the same command again: its cells, and no others, are computed anew, because what a plug-in's
# code is belongs to the identity of its results.
#
# To hand it to others, make a package of it: copy `examples/pippin-plugin`, which has one of each kind of thing
# (measure, tool, ranker, feature, reader, drop-in, data set) with a test for each. [Plug-ins](../plugins.md) has the rest.
