"""How a difference is shared out. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # How reconcile attributes a difference
# **Summary:** `pippin reconcile` switches the choices in which two tools differ one after the other, in every possible order, and credits each choice
# with the average change: its *Shapley value*.
#
# ## Why not switch one choice at a time?
# Choices interact. Take a query that is empty *and* has fewer than ten documents. If short lists are already scored as 0, the choice “empty queries
# count 1” changes nothing; before that, it changes a lot. The effect of a choice depends on the choices that were switched before.

# %%
import pippin

labels, scores, qid = [1, 2, 0, 0, 0], [3.0, 2.0, 1.0, 2.0, 1.0], [1, 1, 1, 2, 2]


def mean(**choices):
    return pippin.evaluate(labels, scores, "NDCG@10", "official", qid=qid, **choices)["NDCG@10"]


neither, short, empty, both = mean(), mean(short_lists="zero"), mean(empty=1), mean(short_lists="zero", empty=1)
print(f"empty queries count 1, switched first:  {empty - neither:+.4f}")
print(f"empty queries count 1, switched second: {both - short:+.4f}")

# %% [markdown]
# ## The average over all orders
# With $D$ the choices that differ and $v(S)$ the value after switching the choices in $S$, the share of a choice $c$ is
#
# $$\phi_c = \sum_{S \subseteq D,\; c \notin S} \frac{\lvert S \rvert!\,(\lvert D \rvert - \lvert S \rvert - 1)!}{\lvert D \rvert!}\,\bigl(v(S \cup \{c\}) - v(S)\bigr)$$
#
# (Shapley 1953). It is the only attribution that is symmetric, gives 0 to a choice without effect, is additive over queries, and sums to the
# difference. For our two choices there are two orders:

# %%
share_of_empty = ((empty - neither) + (both - short)) / 2
share_of_short = ((short - neither) + (both - empty)) / 2
print(f"empty {share_of_empty:+.4f}, short {share_of_short:+.4f}, together {share_of_empty + share_of_short:+.4f}")
print(f"the difference: {both - neither:+.4f}")

# %% [markdown]
# `reconcile` does the same for all choices of two tools:

# %%
why = pippin.reconcile(labels, scores, "NDCG@10", "lightgbm", "letor4", qid=qid)
why

# %%
why.plot()

# %% [markdown]
# - The shares sum to the difference, for the mean and for every query. The output lists the queries with the largest contributions.
# - *Rounding* is the effect of printed digits.
# - $d$ choices have $2^d$ combinations; each is evaluated once.
# - The shares depend on the data. On data without empty queries, the share of that choice is 0.
#
# **Next:** [every tool against the definition](../compare.md), and [surprising numbers of modern evaluators](../referee.md).
