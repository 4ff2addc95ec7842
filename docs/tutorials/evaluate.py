"""Evaluate your run. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Evaluate your run
# **You get:** the number that a given tool would print for your ranking, a look at the queries behind it, and a line for your
# paper that others can check. Five minutes.
#
# ## Two files
# What people judged: a line says query, 0 (unused), document, label. The larger the label, the better the document.

# %% [file qrels.txt]
# q1 0 apple 2
# q1 0 pear 1
# q1 0 stone 0
# q2 0 plum 1
# q2 0 quince 2
# q3 0 fig 1

# %% [markdown]
# What your system found: query, Q0 (unused), document, rank (unused, the score decides), score, name of the system. Every search
# library writes this format; [others are read too](../data.md).

# %% [file run.txt]
# q1 Q0 pear 1 3.0 mine
# q1 Q0 apple 2 2.0 mine
# q1 Q0 stone 3 2.0 mine
# q2 Q0 leaf 1 5.0 mine
# q2 Q0 quince 2 4.0 mine
# q2 Q0 plum 3 1.0 mine

# %% [markdown]
# ## One number, as one tool prints it

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10 --tool trec_eval9

# %% [markdown]
# 0.7149 is what trec_eval 9 prints, to the last digit. Read the line below the table before you believe it. **2 queries**: `q3` is
# judged, but your system found nothing for it, and trec_eval leaves such a query out of the mean. **1 with ties**: `apple` and
# `stone` have the same score, so their order is an accident; trec_eval sorts them by name, backwards, and so puts `stone` first.
#
# Which query is the weak one?

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10,RR --tool trec_eval9 --per-query

# %% [markdown]
# `q2` begins with `leaf`, which nobody judged, and which therefore counts as not relevant. RR, one over the rank of the first relevant
# document, says it plainly: 1/2.
#
# ## The same ranking in other tools

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10 --tool official,trec_eval9,sklearn,lightgbm,letor4

# %% [markdown]
# From 0 to 0.74, for six lines. The nineteen classic tools as a picture (`tool="all"` asks all 56):

# %%
import pippin

pippin.evaluate("qrels.txt", "run.txt", "NDCG@10", tool="classic").plot()

# %% [markdown]
# None of them computes wrongly. The tools make different choices, and rarely say so. `letor4` gives 0 to lists of fewer than ten documents;
# `official`, the textbook's definition, counts `q3` as 0. Which choice is worth how much?

# %%
# !pippin reconcile qrels.txt run.txt --measure NDCG@10 --tool trec_eval9,official

# %% [markdown]
# The first sentence is the answer, the bars show it: leaving `q3` out of the mean is worth almost all of the difference.
# [How the shares are computed](../explain/sharing_out.md).
#
# ## The same in Python
# `pippin.evaluate` takes files, dicts, arrays with query ids, or frames: whatever you hold.

# %%
judged = {"q1": {"apple": 2, "pear": 1, "stone": 0}, "q2": {"plum": 1, "quince": 2}}
scored = {"q1": {"pear": 3.0, "apple": 2.0, "stone": 2.0}, "q2": {"leaf": 5.0, "quince": 4.0, "plum": 1.0}}
found = pippin.evaluate(judged, scored, ["NDCG@10", "MAP", "P@2"], tool="trec_eval9")
found

# %%
found.per_query["NDCG@10"]

# %% [markdown]
# ## What to write into the paper
# Write the tool with the measure: “NDCG@10 (trec_eval 9)”. A reader can then compute the same number, with `--tool trec_eval9`,
# with trec_eval itself, or with `pippin as trec_eval`, which takes trec_eval's arguments and prints its bytes:

# %%
# !pippin as trec_eval -m ndcg_cut.10 -m map qrels.txt run.txt

# %% [markdown]
# **Next:** [Which of my two rankers is better?](which_is_better.md), and
# [why one ranking has many NDCGs](../explain/many_ndcgs.md).
