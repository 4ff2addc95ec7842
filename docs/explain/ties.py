"""Ties. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Ties: equal scores
# **Summary:** the order of documents with equal scores is arbitrary, so a tool that chooses one measures its own sorting; `official` takes the mean
# over all orders, and Pippin follows the rule of any other tool that you choose.
#
# ## Where ties come from
# Few features, rounded scores, small trees, duplicates, single precision: many systems give the same score to several documents. Here
# six documents share two scores:

# %%
import pippin

labels = [2, 0, 1, 0, 1, 0]
scores = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
for ties in ("input", "reversed", "worst", "expected", "best"):
    evaluation = pippin.evaluate(labels, scores, "NDCG@10", "official", qid=[1] * 6, ties=ties)
    print(f"{ties:9} {evaluation['NDCG@10']:.4f}")

# %% [markdown]
# `input` keeps the order of the file, `reversed` reverses it. Existing tools use both. A system that gives *every* document the same score gets a
# perfect NDCG if the file is sorted by label.
#
# ## What tools do
# | rule | tools |
# |---|---|
# | the order of the file | LETOR's scripts, RankLib, LightGBM, XGBoost, ranx |
# | descending document id | trec_eval, gdeval, and tools based on them (BEIR, MTEB, ir_measures) |
# | the worst order | CatBoost |
# | the mean over all orders | scikit-learn, `official` |
# | the order left by an unstable sort | PyTorch, NumPy and tools based on them |
#
# The last kind is reproducible, too: Pippin repeats the steps of the sort (`ties=introsort`, `topk`, `argsort` …).
#
# ## The exact mean over all orders
# All orders of $t$ tied documents at ranks $a+1 \dots a+t$ are equally likely, so the expected gain at each of these ranks is the mean gain of the
# group, and the expected DCG is
#
# $$\mathrm{E}[\mathrm{DCG}] = \sum_{\text{groups}} \bar g \sum_{r=a+1}^{\min(a+t,\,k)} d(r), \qquad \bar g = \frac1t \sum_{i \in \text{group}} g(y_i)$$
#
# (McSherry and Najork 2008). Precision, recall and DCG are sums over ranks and have this form; for AP and RR the distribution of the relevant
# documents over the ranks has a closed form, too. Nothing is sampled, and the number is exact:

# %%
from itertools import permutations

import numpy as np

values = []
for first in permutations(range(3)):
    for last in permutations(range(3)):
        order = [*first, *(3 + i for i in last)]
        broken = [6.0 - order.index(i) for i in range(6)]  # the same groups, in this order
        values.append(pippin.evaluate(labels, broken, "NDCG@10", "official", qid=[1] * 6)["NDCG@10"])
f"{np.mean(values):.4f} over {len(values)} orders, from {min(values):.4f} to {max(values):.4f}"

# %% [markdown]
# These are `expected`, `worst` and `best` from above. Two tied groups of three have 36 orders; a thousand equal scores have too many to enumerate.
#
# ## Ties in your data
# `pippin eval … --ties-range` prints the worst and best value beside each number, `pippin compare` has the column *tie range*, and `pippin audit`
# counts the queries with ties. If the range is wider than the difference between two systems, ties decide which wins.
