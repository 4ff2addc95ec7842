"""Why one ranking has many NDCGs. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Why one ranking has many NDCGs
# **Summary:** the definition of NDCG leaves choices open, every tool makes them differently, and Pippin makes them explicit.
#
# ## By hand
# One query has three documents, ranked by a system, with the labels 1, 2, 0. DCG sums the gain of each document times the discount of its rank; NDCG
# divides by the DCG of the ideal order:
#
# $$\mathrm{DCG@}k = \sum_{r=1}^{\min(k,n)} g(y_r)\, d(r), \qquad \mathrm{NDCG@}k = \frac{\mathrm{DCG@}k}{\mathrm{ideal\ DCG@}k}$$
#
# with *gain* $g$ and *discount* $d$. Two tools choose them differently. The textbook (`official`) uses
# $g(y) = 2^y - 1$ and $d(r) = 1/\log_2(1 + r)$; trec_eval uses the label, $g(y) = y$:

# %%
from math import log2

labels = [1, 2, 0]


def dcg(labels, gain):
    return sum(gain(y) / log2(1 + r) for r, y in enumerate(labels, 1))


def ndcg(labels, gain):
    return dcg(labels, gain) / dcg(sorted(labels, reverse=True), gain)


ndcg(labels, lambda y: 2**y - 1), ndcg(labels, lambda y: y)

# %%
import pippin

qid, scores = [1, 1, 1], [3.0, 2.0, 1.0]
evaluations = pippin.evaluate(labels, scores, "NDCG@10", ["official", "trec_eval9"], qid=qid)
[evaluations[tool].mean["NDCG@10"] for tool in evaluations]

# %% [markdown]
# Pippin gives the same numbers. Neither is wrong: in the first, a document of label 2 is worth three of label 1; in the second, two.
#
# ## The choices
# | choice | values | effect on the mean |
# |---|---|---|
# | gain of a label | $2^y - 1$ · $y$ · relevant or not | a few hundredths |
# | discount of a rank | $1/\log_2(1+r)$ · LETOR's, which treats ranks 1 and 2 alike | a few hundredths |
# | a query without a relevant document (*empty*) | 0 · 1 · left out | up to the share of such queries |
# | a list of fewer than $k$ documents (*short list*) | as it is · 0 | up to the share of such queries |
# | what is ideal | the best order of the list · of all judged documents | depends on the documents that the run missed |
# | equal scores (*ties*) | order of the file · document id · the mean over all orders | [much, with coarse scores](ties.md) |
# | which queries count | judged · retrieved · both | depends on the run |
#
# These are the most important ones. [Tools and conventions](../conventions.md) lists all axes.
#
# ## One choice at a time
# In Pippin every choice is an argument that overrides the tool's. Of these two queries, the second is empty:

# %%
labels, scores, qid = [1, 2, 0, 0, 0], [3.0, 2.0, 1.0, 2.0, 1.0], [1, 1, 1, 2, 2]
for changed in ({}, {"gain": "label"}, {"discount": "letor"}, {"empty": 1}, {"empty": None}, {"short_lists": "zero"}):
    print(f"{pippin.evaluate(labels, scores, 'NDCG@10', 'official', qid=qid, **changed)['NDCG@10']:.4f}", changed)

# %% [markdown]
# The rules for empty queries and short lists change the number most. This is why LETOR's script gives 0.17 and LightGBM 0.73 for one ranking of MQ2008:
# half of its queries are short, and a third are empty.
#
# ## What to do
# - State the tool with the number: “NDCG@10 (trec_eval 9)”.
# - Compare only numbers of one tool, or [reconcile](sharing_out.md) them first.
# - Check whether the winner depends on the tool: `pippin compare … --tool all`.
# - Check with `pippin audit DATA` whether the data have empty or short queries. Without them, most tools agree.
