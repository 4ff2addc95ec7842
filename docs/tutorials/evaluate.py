"""Evaluate your run. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Evaluate your run
# You have a ranking and judgements, and want one number that nobody can argue with. Three minutes.
#
# Two small files in TREC's formats, as every search library writes them: judgements (query, 0, document, label) and
# a run (query, Q0, document, rank, score, name).

# %%
from pathlib import Path

_ = Path("qrels.txt").write_text(
    "".join(f"{query} 0 {document} {label}\n" for query, document, label in [
        ("q1", "apple", 2), ("q1", "pear", 1), ("q1", "stone", 0),
        ("q2", "plum", 1), ("q2", "quince", 2), ("q3", "fig", 1),
    ])
)  # fmt: skip
_ = Path("run.txt").write_text(
    "".join(f"{query} Q0 {document} 0 {score} mine\n" for query, document, score in [
        ("q1", "pear", 3.0), ("q1", "apple", 2.0), ("q1", "stone", 2.0),
        ("q2", "leaf", 5.0), ("q2", "quince", 4.0), ("q2", "plum", 1.0),
    ])
)  # fmt: skip

# %% [markdown]
# ## One number, as one tool prints it

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10 --tool trec_eval9

# %% [markdown]
# Note the count of queries: `q3` is judged, but the run has nothing for it. trec_eval leaves such a query out of the
# mean unless it is told otherwise, and others count it as 0. That is one of the reasons why the same run has many NDCGs.
#
# ## The same ranking in every tool

# %%
# !pippin eval qrels.txt run.txt --measure NDCG@10 --tool all

# %% [markdown]
# None of them computes wrongly: the tools make different choices, and rarely say so. Which choice is worth how much?

# %%
# !pippin reconcile qrels.txt run.txt --measure NDCG@10 --tool trec_eval9,official

# %% [markdown]
# ## The same in Python
# Files, dicts, arrays with query ids, frames: whatever you hold.

# %%
import pippin

judged = {"q1": {"apple": 2, "pear": 1, "stone": 0}, "q2": {"plum": 1, "quince": 2}}
scored = {"q1": {"pear": 3.0, "apple": 2.0, "stone": 2.0}, "q2": {"leaf": 5.0, "quince": 4.0, "plum": 1.0}}
pippin.evaluate(judged, scored, ["NDCG@10", "MAP", "P@2"], tool="trec_eval9")

# %% [markdown]
# In a paper, write the tool with the measure: “NDCG@10 (trec_eval 9)”. A reader can then compute the same number to the
# last digit, with `--tool trec_eval9` or with trec_eval itself. [Conventions](../conventions.md) lists every choice.
