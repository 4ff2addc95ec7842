"""Ties. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Ties: when the order is an accident
# **In one sentence:** documents with equal scores have no order of their own, so a tool that picks one measures its own habit; Pippin takes
# the mean over all orders unless it is told to do as a tool does.
#
# ## Where ties come from
# Few features, rounded scores, small trees, duplicates, single precision: many systems give the same score to several documents. Here
# six documents share two scores:

# %%
import pippin

labels = [2, 0, 1, 0, 1, 0]
scores = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
for ties in ("input", "reversed", "worst", "expected", "best"):
    found = pippin.evaluate(labels, scores, "NDCG@10", "official", qid=[1] * 6, ties=ties)
    print(f"{ties:9} {found['NDCG@10']:.4f}")

# %% [markdown]
# `input` keeps the order of the file, `reversed` turns it round. Both are somebody's tool. A system that gives *every* document the same
# score gets a perfect NDCG from a file that was sorted by label.
#
# ## What tools do
# | rule | who |
# |---|---|
# | the order of the file | LETOR's scripts, RankLib, LightGBM, XGBoost, ranx |
# | the document's name, backwards | trec_eval, gdeval, and what builds on them (BEIR, MTEB, ir_measures) |
# | the worst order | CatBoost |
# | the mean over all orders | scikit-learn, `official` |
# | whatever the sort leaves | PyTorch, NumPy and what sorts by them |
#
# The last kind is reproducible all the same: Pippin takes the sort's steps (`ties=introsort`, `topk`, `argsort` …).
#
# ## The mean over all orders, without trying them
# Of $t$ tied documents at ranks $a+1 \dots a+t$ every order is equally likely. So each of these ranks holds, on average, the mean gain of
# the group, and DCG in expectation is
#
# $$\mathrm{E}[\mathrm{DCG}] = \sum_{\text{groups}} \bar g \sum_{r=a+1}^{\min(a+t,\,k)} d(r), \qquad \bar g = \frac1t \sum_{i \in \text{group}} g(y_i)$$
#
# (McSherry and Najork 2008). Precision, recall and DCG are sums over ranks and have such a form at once; for AP and RR it takes the
# chances of where the relevant ones stand, which are known in closed form too. No order is drawn by lot, and the number is exact:

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
# That is `expected`, `worst` and `best` from above. Two tied groups of three have 36 orders; a run with a thousand equal scores has more than
# anybody can try.
#
# ## See it in your data
# `pippin eval … --ties-range` prints the worst and the best next to each number, `pippin compare` has the column *ties alone*, and
# `pippin audit` says how many queries are tied. If the range is wider than the difference between two systems, ties decide who wins.
