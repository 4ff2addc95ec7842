"""How a difference is shared out. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # How a difference is shared out
# **In one sentence:** `pippin reconcile` switches the choices in which two tools differ one after the other, in every possible order, and
# gives each choice the average of what its switch changed: its *Shapley value*.
#
# ## Why not simply switch one?
# Because choices act together. One query has nothing relevant *and* is shorter than ten documents. A tool that gives 0 to short lists
# leaves nothing for the choice “empty queries count 1” to change; the other way round it leaves a lot. What a choice is worth depends
# on which was switched before.

# %%
import pippin

labels, scores, qid = [1, 2, 0, 0, 0], [3.0, 2.0, 1.0, 2.0, 1.0], [1, 1, 1, 2, 2]


def mean(**choices):
    return pippin.evaluate(labels, scores, "NDCG@10", "official", qid=qid, **choices)["NDCG@10"]


neither, short, empty, both = mean(), mean(short="zero"), mean(empty=1), mean(short="zero", empty=1)
print(f"empty queries count 1, switched first:  {empty - neither:+.4f}")
print(f"empty queries count 1, switched second: {both - short:+.4f}")

# %% [markdown]
# ## Every order, then the average
# With $D$ the choices that differ and $v(S)$ the number after the choices in $S$ were switched, the share of a choice $c$ is
#
# $$\phi_c = \sum_{S \subseteq D,\; c \notin S} \frac{\lvert S \rvert!\,(\lvert D \rvert - \lvert S \rvert - 1)!}{\lvert D \rvert!}\,\bigl(v(S \cup \{c\}) - v(S)\bigr)$$
#
# (Shapley 1953). It is the only way to share that treats choices alike, gives nothing to a choice that changes nothing, adds up over queries,
# and adds up to the whole difference. For our two choices there are two orders:

# %%
share_of_empty = ((empty - neither) + (both - short)) / 2
share_of_short = ((short - neither) + (both - empty)) / 2
print(f"empty {share_of_empty:+.4f}, short {share_of_short:+.4f}, together {share_of_empty + share_of_short:+.4f}")
print(f"the difference: {both - neither:+.4f}")

# %% [markdown]
# `reconcile` does the same for two tools, whatever they differ in:

# %%
why = pippin.reconcile(labels, scores, "NDCG@10", "lightgbm", "letor4", qid=qid)
why

# %%
why.plot()

# %% [markdown]
# - The shares sum to the difference, for the mean and for every query. *Carried most by* names the queries that hold the largest parts.
# - *Rounding* is what the printed digits add: tools round, and a sum of rounded numbers is not the rounded sum.
# - $d$ choices have $2^d$ mixtures; each is evaluated once, on rankings that are sorted once for each rule of ties.
# - What is shared out is a fact about *these data*. On data without empty queries that choice has the share 0.
#
# **Next:** [every tool against the definition](../compare.md), and [numbers of today's evaluators, explained](../referee.md).
