"""Which of two rankers is better. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Which of my two rankers is better?
# **You get:** an answer with its certainty, from arrays or files, and a feeling for how many queries an answer needs. Ten minutes.
#
# ## Two rankers whose truth we know
# We make up a search engine's log: forty queries, ten documents each, labels 0 to 2. Two rankers see the labels through noise. “new”
# sees them through *less* noise, so we know the truth: it is the better one.

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
# How to read it, from the top:
#
# - The first sentence sums up. Every tool puts **the worse system first**, and none is sure of it.
# - *95% interval*: where the mean would lie with other queries of the same kind. Both intervals are wide, and overlap.
# - *beats* has a letter where a system is significantly better than another. Nobody beats anybody here.
# - *ties alone*: how far equal scores could move the number. These scores have no ties, so it is the number itself.
#
# Nothing is broken. Forty queries are few, and chance has put “old” ahead. A table with two means and no test would have
# sent the better ranker home.

# %%
comparison.plot("means")

# %% [markdown]
# ## How many queries would it take?
# Each pair of systems has its test. Both answered the same queries, so the test looks at the difference *query by query*:

# %%
pair = comparison.first.tested.pair("new", "old")
print(f"new - old = {pair.difference:+.3f}, between {pair.low:+.3f} and {pair.high:+.3f}, p = {pair.p:.2f}")
print(f"a difference of this size needs {pair.queries_needed} queries to be seen four times in five")

# %% [markdown]
# The interval of the difference has 0 inside: either system may be the better one. We have a tenth of the queries that it takes.
#
# ## Ask more queries
# Intervals shrink with the square root of the number of queries: four times the queries, half the width. With a thousand:

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
# Now “new” beats “old” (the letter b in the column *beats*), as it should, and all tools agree on it.
#
# ## One more system
# With several systems each pair is a test of its own, and the more tests, the more winners by chance. The p-values are
# corrected for that (Holm's way unless you say otherwise).

# %%
systems["random"] = generator.normal(size=400)
three = pippin.compare(labels, systems, "NDCG@10", tools, qid=qid)
three.sentence()

# %%
three.plot("pairs")

# %% [markdown]
# Both are far from “random”, and that is no chance; “new” against “old” is as open as before.
#
# ## The same with files, and as a page

# %%
from pippin.data.letor import write_letor
from pippin.data.scores import write_scores

write_letor(pippin.Dataset.from_arrays(np.zeros((400, 1)), labels, qid), "judged.txt")
for name, scores in systems.items():
    write_scores(scores, f"{name}.scores")

# %%
# !pippin compare judged.txt new.scores old.scores random.scores --measure NDCG@10 --tool classic -o page.html

# %% [markdown]
# `page.html` is one file to send round. Runs in TREC's format go in the same way: `pippin compare qrels.txt new.run old.run`.
#
# **Next:** [what the test does, and when it lies](../explain/significance.md); [all tests and corrections](../compare.md).
