"""Which of two rankers is better. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Which of my two rankers is better?
# In ten minutes you will compare two rankers with a significance test, from arrays or files, and learn how many queries a conclusion needs.
#
# ## Two rankers with known quality
# We generate forty queries with ten documents each and labels 0 to 2. Two rankers score the labels plus noise. “new” has *less* noise, so we know that
# it is better.

# %%
import numpy as np

import pippin

generator = np.random.default_rng(5)
qid = np.repeat(np.arange(40), 10)
labels = generator.choice([0, 0, 0, 1, 2], size=400)
systems = {
    "new": labels + generator.normal(size=400) * 1.3,
    "old": labels + generator.normal(size=400) * 1.5,
}
tools = ["official", "letor4", "trec_eval9", "lightgbm"]
comparison = pippin.compare(labels, systems, "NDCG@10", tools, qid=qid)
comparison

# %% [markdown]
# From the top:
#
# - The first sentence is the summary. Every tool puts **the worse system first**, and for none the difference is significant.
# - *95% interval*: the range of the mean for other queries of the same kind. Both intervals are wide and overlap.
# - *better than* lists the systems that a system beats significantly: none here.
# - *tie range*: the effect of tied scores. All scores differ here, so the range is the value itself.
#
# Forty queries are few, and “old” is ahead by chance. A table of two means without a test would have led to the wrong decision.

# %%
comparison.plot("means")

# %% [markdown]
# ## How many queries are needed?
# Each pair of systems has a test. Both answered the same queries, so the test uses the difference *per query*:

# %%
pair = comparison.first.tests.pair("new", "old")
print(f"new - old = {pair.difference:+.3f}, between {pair.low:+.3f} and {pair.high:+.3f}, p = {pair.p:.2f}")
print(f"a difference of this size needs {pair.queries_needed} queries to be seen four times in five")

# %% [markdown]
# The interval of the difference contains 0: either system may be better. We have a tenth of the queries needed.
#
# ## More queries
# Intervals shrink with the square root of the number of queries: four times the queries, half the width. With a thousand queries:

# %%
qid_more = np.repeat(np.arange(1000), 10)
labels_more = generator.choice([0, 0, 0, 1, 2], size=10_000)
more = {
    "new": labels_more + generator.normal(size=10_000) * 1.3,
    "old": labels_more + generator.normal(size=10_000) * 1.5,
}
certain = pippin.compare(labels_more, more, "NDCG@10", tools, qid=qid_more)
certain

# %%
certain.plot("means")

# %% [markdown]
# Now “new” beats “old” (the letter b in the column *better than*), and all tools agree.
#
# ## Several systems
# With several systems every pair is tested, and more tests give more winners by chance. So the p-values are corrected (Holm's method by default).

# %%
systems["random"] = generator.normal(size=400)
three = pippin.compare(labels, systems, "NDCG@10", tools, qid=qid)
three.sentence()

# %%
three.plot("pairs")

# %% [markdown]
# Both differ significantly from “random”; “new” against “old” remains undecided.
#
# ## From files, as a page

# %%
from pippin.data.letor import write_letor, write_scores

write_letor(pippin.Dataset.from_arrays(np.zeros((400, 1)), labels, qid), "judged.txt")
for name, scores in systems.items():
    write_scores(scores, f"{name}.scores")

# %%
# !pippin compare judged.txt new.scores old.scores random.scores --measure NDCG@10 --tool classic -o page.html

# %% [markdown]
# `page.html` is one file that you can share. TREC runs work in the same way: `pippin compare qrels.txt new.run old.run`.
#
# **Next:** [statistical significance](../explain/significance.md); [all tests and corrections](../compare.md).
