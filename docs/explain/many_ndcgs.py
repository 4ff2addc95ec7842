"""Why one ranking has many NDCGs. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Why one ranking has many NDCGs
# **In one sentence:** NDCG is a recipe with open places, every tool fills them in its own way, and Pippin writes down how.
#
# ## By hand
# One query, three documents, in the order in which a system put them, with the labels that people gave: 1, 2, 0.
# DCG adds up what each document is worth, divided by how deep it stands; NDCG divides by the best DCG that was possible:
#
# $$\mathrm{DCG@}k = \sum_{r=1}^{\min(k,n)} g(y_r)\, d(r), \qquad \mathrm{NDCG@}k = \frac{\mathrm{DCG@}k}{\mathrm{ideal\ DCG@}k}$$
#
# with *gain* $g$ and *discount* $d$. Two tools fill these places differently. The textbook (`official`) takes
# $g(y) = 2^y - 1$ and $d(r) = 1/\log_2(1 + r)$; trec_eval takes the label itself, $g(y) = y$:

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
found = pippin.evaluate(labels, scores, "NDCG@10", ["official", "trec_eval9"], qid=qid)
[found[tool].mean["NDCG@10"] for tool in found]

# %% [markdown]
# The same two numbers. Neither is wrong: the first says that a document of label 2 is worth three of label 1, the second that it is worth two.
#
# ## The open places
# | place | what tools do | what it does to the mean |
# |---|---|---|
# | what a label is worth (*gain*) | $2^y - 1$ · $y$ · relevant or not | some hundredths |
# | how much a rank counts (*discount*) | $1/\log_2(1+r)$ · LETOR's, which treats ranks 1 and 2 alike | some hundredths |
# | a query without a relevant document (*empty*) | 0 · 1 · left out | as much as the share of such queries |
# | a list of fewer than $k$ documents (*short list*) | as it is · 0 | as much as the share of such queries |
# | what is ideal | the best order of the list · of all that was judged | depends on what the run missed |
# | equal scores (*ties*) | order of the file · name of the document · the mean over all orders | [much, with coarse scores](ties.md) |
# | which queries count | judged · retrieved · both | depends on what the run missed |
#
# These are the large ones. [Conventions](../conventions.md) has all the axes, and every tool's choice on each of them.
#
# ## One place at a time
# In Pippin every choice is an argument that can be laid over a tool's own. Two queries, of which the second has nothing relevant:

# %%
labels, scores, qid = [1, 2, 0, 0, 0], [3.0, 2.0, 1.0, 2.0, 1.0], [1, 1, 1, 2, 2]
for changed in ({}, {"gain": "label"}, {"discount": "letor"}, {"empty": 1}, {"empty": None}, {"short": "zero"}):
    print(f"{pippin.evaluate(labels, scores, 'NDCG@10', 'official', qid=qid, **changed)['NDCG@10']:.4f}", changed)

# %% [markdown]
# The two choices that look like footnotes, empty queries and short lists, move the number most. That is how LETOR's script comes to
# 0.17 and LightGBM to 0.73 for one ranking of MQ2008: in LETOR's data half of the queries are short, and a third are empty.
#
# ## What to do about it
# - Say the tool with the number: “NDCG@10 (trec_eval 9)”.
# - Compare numbers of one tool only, or [reconcile](sharing_out.md) them first.
# - See whether the winner depends on it: `pippin compare … --tool all`.
# - Ask `pippin audit DATA` whether the data has empty or short queries at all. Where it has none, most tools agree.
