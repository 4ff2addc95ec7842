"""A plugin. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Bring your own measure and ranker
# In ten minutes you will write one file with a measure and a ranker, and use both in every command, list, table and page.
#
# ## The file
# A **measure** maps a ranking to one number per query. Ours is 1 if the first document has the highest label. It receives the labels of all queries in
# one array, in rank order within each query; `offsets` marks where a query begins.
#
# A **ranker** learns from a training set. Ours only sums the features. `LinearRanker` implements scoring, saving and exporting; a parameter is one line
# with default and description.

# %% [file mine.py]
# """A measure and a ranker of my own."""
#
# import numpy as np
#
# from pippin.evaluation.measures import MeasureDefinition, register as register_measure
# from pippin.rankers import parameter, register
# from pippin.rankers.linear import LinearRanker
#
#
# def best_first(ranking, convention, measure):
#     """Return 1 if the first document has the query's highest label, else 0; NaN for a query without documents."""
#     values = np.full(len(ranking.query_ids), np.nan)
#     for query, (start, end) in enumerate(zip(ranking.offsets[:-1], ranking.offsets[1:])):
#         if end > start:
#             values[query] = ranking.labels[start] == ranking.labels[start:end].max()
#     return values
#
#
# register_measure(MeasureDefinition(
#     "BestFirst", description="whether the first document is as good as any", formula="[label of rank 1 = highest label]",
#     source="this tutorial", function=best_first, axes=("empty",), cutoff="never",
# ))
#
#
# @register("sum")
# class Sum(LinearRanker):
#     """Ranks by the sum of the features."""
#
#     source = "this tutorial"
#
#     share: float = parameter(1.0, "weight of each feature")
#
#     def _fit(self, train, valid):
#         self.coef_ = np.full(train.features.shape[1], self.share)

# %% [markdown]
# ## Load the file
# `--import` loads the file in any command. The description and the table of parameters come from the class.

# %%
# !pippin rankers sum --import ./mine.py

# %% [markdown]
# ## Use the measure
# Two queries with two documents each, ranked correctly once:

# %% [file qrels.txt]
# q1 0 apple 2
# q1 0 stone 0
# q2 0 pear 1
# q2 0 leaf 0

# %% [file run.txt]
# q1 Q0 apple 1 2.0 mine
# q1 Q0 stone 2 1.0 mine
# q2 Q0 leaf 1 2.0 mine
# q2 Q0 pear 2 1.0 mine

# %%
# !pippin eval qrels.txt run.txt --measure BestFirst,RR --per-query --import ./mine.py

# %% [markdown]
# ## Benchmark the ranker
# Create a data set with three folds in which the first feature matters most, and compare the sum with two rankers that learn:

# %%
from pathlib import Path

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
# !pippin bench fruits -o results --ranker sum,ranksvm,best-feature --quick --quiet --measure BestFirst,NDCG@10 --import ./mine.py
# !pippin leaderboard results --measure BestFirst --tool official --import ./mine.py | grep -A 4 interval

# %% [markdown]
# Your measure orders the table, and your ranker is in it with an interval and a test. RankSVM learned that the last two features are noise; the sum uses
# them like the others.
#
# If you change `mine.py` and run the same command again, only its cells are recomputed, because the source of a plugin is part of the identity of its
# results.
#
# ## Share it
# Copy `examples/pippin-plugin` from the repository: a package with a measure, tool, ranker, feature, reader, emulator and data set, and a test for each.
# Once it is installed, its names are available without `--import`.
#
# **Next:** [Plugins](../plugins.md) lists everything that you can add.
