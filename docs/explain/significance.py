"""Is it more than chance. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Is it more than chance?
# **In one sentence:** another sample of queries would have given other means, and a test says how often two equal systems would look as
# different as yours do.
#
# ## The question
# Two systems answered the same $n$ queries. What counts is the difference on each, $\delta_q = M_q(A) - M_q(B)$. If the systems
# are equally good, its mean is 0 but for chance. The paired t-test holds the mean against its standard error:
#
# $$t = \frac{\bar\delta}{s_\delta / \sqrt n}$$
#
# and $p$ is how likely a $t$ of this size is for equal systems. Below 0.05 we say that A *beats* B.

# %%
import numpy as np

import pippin

generator = np.random.default_rng(2)
qid = np.repeat(np.arange(50), 10)
labels = generator.choice([0, 0, 0, 1, 2], size=500)
systems = {
    "A": labels + generator.normal(size=500),
    "B": labels + generator.normal(size=500) * 1.4,
}
pair = pippin.compare(labels, systems, "NDCG@10", "official", qid=qid).first.tested.pair("A", "B")
print(f"difference {pair.difference:+.4f}, from {pair.low:+.4f} to {pair.high:+.4f}")
print(f"t = {pair.statistic:.2f}, p = {pair.p:.4f}")

# %% [markdown]
# The interval says more than $p$: it is where the true difference lies, in 95 of 100 such experiments. Does $p$ keep its promise? We let two
# systems that *are* equal compete 400 times:

# %%
wrong = 0
for _ in range(400):
    equal = {name: labels + generator.normal(size=500) for name in "AB"}
    wrong += pippin.compare(labels, equal, "NDCG@10", "official", qid=qid).first.tested.pair("A", "B").p < 0.05
f"{wrong} of 400 were called different: {wrong / 400:.1%}, where 5% were promised"

# %% [markdown]
# ## Many systems
# Ten systems are 45 pairs, and at 5% each two of them “win” by chance. The p-values are corrected: `holm` (the default) keeps the chance of
# *any* false winner at 5%; `benjamini-hochberg` the share of false ones among the winners; `--correct none` leaves them alone. `tukey`
# and `tukey-randomization` look at all systems at once.
#
# ## Which test?
# | `--test` | looks at | take it |
# |---|---|---|
# | `t` (default) | the mean difference | almost always; robust from some thirty queries on |
# | `randomization` | the mean, against all exchanges of A and B by query | few queries, no wish to assume a distribution |
# | `bootstrap` | the mean, against queries drawn again | as above |
# | `wilcoxon` | the ranks of the differences | where a few queries should not decide |
# | `sign` | who is ahead how often | where only the direction counts |
# | `tukey`, `tukey-randomization` | the largest difference among all | many systems, all pairs |
#
# ## How many queries?
# The smaller the difference, the more queries: halving it takes four times as many. With $d = \bar\delta / s_\delta$, the *effect*:

# %%
from pippin.evaluation.effects import queries_needed

for effect in (0.5, 0.2, 0.1, 0.05):
    print(f"effect {effect:.2f}: {queries_needed([effect])[0]:6,.0f} queries to find it four times in five")

# %% [markdown]
# ## What no test can tell
# - That *your queries* are like the world's. A test knows about the chance of drawing queries, not about a choice that was biased.
# - That the labels are right ([what nobody judged, what a model judged](../holes.md)).
# - That a difference matters. With ten thousand queries a thousandth is significant.
# - Anything, if you looked at the test set thirty times before ([boards](../boards.md) are built against that).
#
# **Next:** [all of it with real data](../compare.md); [try it yourself](../tutorials/which_is_better.md).
