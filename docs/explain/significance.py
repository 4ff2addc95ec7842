"""Is it more than chance. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Statistical significance
# **Summary:** another sample of queries would give other means; a test tells you how often two equal systems would look as different as yours.
#
# ## The paired t-test
# Two systems answered the same $n$ queries. The test uses the difference on each query, $\delta_q = M_q(A) - M_q(B)$. If the systems are equally
# good, the expected difference is 0. The paired t-test divides the mean by its standard error:
#
# $$t = \frac{\bar\delta}{s_\delta / \sqrt n}$$
#
# and $p$ is the probability of a $t$ of at least this size for equal systems. Below 0.05, A *beats* B.

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
pair = pippin.compare(labels, systems, "NDCG@10", "official", qid=qid).first.tests.pair("A", "B")
print(f"difference {pair.difference:+.4f}, from {pair.low:+.4f} to {pair.high:+.4f}")
print(f"t = {pair.statistic:.2f}, p = {pair.p:.4f}")

# %% [markdown]
# The interval tells you more than $p$: in 95 of 100 such experiments it contains the true difference. To check $p$, compare two systems that *are*
# equal 400 times:

# %%
wrong = 0
for _ in range(400):
    equal = {name: labels + generator.normal(size=500) for name in "AB"}
    wrong += pippin.compare(labels, equal, "NDCG@10", "official", qid=qid).first.tests.pair("A", "B").p < 0.05
f"{wrong} of 400 were called different: {wrong / 400:.1%}, where 5% were promised"

# %% [markdown]
# ## Many systems
# Ten systems are 45 pairs, and at 5% each about two of them win by chance. So p-values are corrected: `holm` (the default) keeps the probability of
# *any* false winner at 5%; `benjamini-hochberg` limits the share of false winners; `--correction none` does not correct. `tukey` and
# `tukey-randomization` test all systems jointly.
#
# ## Which test?
# | `--test` | uses | recommended |
# |---|---|---|
# | `t` (default) | the mean difference | almost always; robust from about thirty queries |
# | `randomization` | the mean, under random exchanges of A and B per query | few queries, no assumption about the distribution |
# | `bootstrap` | the mean, on resampled queries | as above |
# | `wilcoxon` | the ranks of the differences | a few queries should not decide |
# | `sign` | the sign of the differences | only the direction matters |
# | `tukey`, `tukey-randomization` | the largest difference among all | many systems, all pairs |
#
# ## How many queries?
# Half the difference needs four times as many queries. With $d = \bar\delta / s_\delta$, the *effect*:

# %%
from pippin.evaluation.significance import queries_needed

for effect in (0.5, 0.2, 0.1, 0.05):
    print(f"effect {effect:.2f}: {queries_needed([effect])[0]:6,.0f} queries to find it four times in five")

# %% [markdown]
# ## What a test cannot tell
# - Whether your queries are representative. A test assumes a random sample.
# - Whether the labels are right ([unjudged documents, labels by models](../holes.md)).
# - Whether a difference matters. With ten thousand queries a difference of a thousandth is significant.
# - Anything, if you evaluated on the test set thirty times before ([boards](../boards.md) prevent that).
#
# **Next:** [compare systems on real data](../compare.md); [try it yourself](../tutorials/which_is_better.md).
