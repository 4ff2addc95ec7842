"""Evaluate your run. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Evaluate your run
# In five minutes you will compute the number that a given tool prints for your ranking, inspect the queries behind it, and get a line for your paper that
# others can check.
#
# ## Two files
# Judgements (qrels): query, 0 (unused), document, label. A larger label is better.

# %% [file qrels.txt]
# q1 0 apple 2
# q1 0 pear 1
# q1 0 stone 0
# q2 0 plum 1
# q2 0 quince 2
# q3 0 fig 1

# %% [markdown]
# A run: query, Q0 (unused), document, rank (unused; the score decides), score, name of the system. [Other formats](../data.md) are supported, too.

# %% [file run.txt]
# q1 Q0 pear 1 3.0 mine
# q1 Q0 apple 2 2.0 mine
# q1 Q0 stone 3 2.0 mine
# q2 Q0 leaf 1 5.0 mine
# q2 Q0 quince 2 4.0 mine
# q2 Q0 plum 3 1.0 mine

# %% [markdown]
# ## Evaluate as one tool

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10 --tool trec_eval9

# %% [markdown]
# trec_eval 9 prints the same number, 0.7149. Note the line below the table. **2 queries**: `q3` is judged, but the run lacks documents for it, and
# trec_eval leaves such a query out of the mean. **1 with ties**: `apple` and `stone` have the same score; trec_eval orders them by descending document
# id, so `stone` comes first.
#
# To find the weak query:

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10,RR --tool trec_eval9 --per-query

# %% [markdown]
# `q2` begins with `leaf`, which is unjudged and therefore counts as not relevant. RR, the reciprocal rank of the first relevant document, is 1/2.
#
# ## Evaluate as other tools

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10 --tool official,trec_eval9,sklearn,lightgbm,letor4

# %% [markdown]
# The values range from 0 to 0.74. The nineteen classic tools as a figure (`tool="all"` has all 56):

# %%
import pippin

pippin.evaluate("qrels.txt", "run.txt", "NDCG@10", tool="classic").plot()

# %% [markdown]
# None of them is wrong; they make different choices. `letor4` gives 0 to lists of fewer than ten documents; `official`, the textbook definition,
# counts `q3` as 0. `reconcile` shows the effect of each choice:

# %%
# !pippin reconcile qrels.txt run.txt --measure NDCG@10 --tool trec_eval9,official

# %% [markdown]
# Almost all of the difference comes from leaving `q3` out of the mean. [How the shares are computed](../explain/sharing_out.md).
#
# ## In Python
# `pippin.evaluate` accepts files, dicts, arrays with query ids, and frames:

# %%
judged = {"q1": {"apple": 2, "pear": 1, "stone": 0}, "q2": {"plum": 1, "quince": 2}}
scored = {"q1": {"pear": 3.0, "apple": 2.0, "stone": 2.0}, "q2": {"leaf": 5.0, "quince": 4.0, "plum": 1.0}}
evaluation = pippin.evaluate(judged, scored, ["NDCG@10", "MAP", "P@2"], tool="trec_eval9")
evaluation

# %%
evaluation.per_query["NDCG@10"]

# %% [markdown]
# ## Report the number
# State the tool with the measure: “NDCG@10 (trec_eval 9)”. Readers can then compute the same number with `--tool trec_eval9`, with trec_eval itself, or
# with `pippin as trec_eval`, which accepts trec_eval's arguments and prints the same bytes:

# %%
# !pippin as trec_eval -m ndcg_cut.10 -m map qrels.txt run.txt

# %% [markdown]
# **Next:** [Which of my two rankers is better?](which_is_better.md), and
# [why one ranking has many NDCGs](../explain/many_ndcgs.md).
