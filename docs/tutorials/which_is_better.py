"""Which of two rankers is better. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Which of my two rankers is better?
# Two systems, forty queries, and a difference of two hundredths. Is it more than chance, and would another tool
# name the same winner?
#
# We make up a search engine's forty queries with ten documents each, and two rankers that see the labels through noise.
# “new” sees them through *less* noise, so that we know the truth: it is the better one.

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
comparison = pippin.compare(labels, systems, "NDCG@10", qid=qid)
comparison

# %% [markdown]
# The worse one is ahead, and every tool puts it first! Nothing is broken: forty queries are few, and neither system “beats” the
# other in the column that counts. A table with two means and no test would have sent the better ranker home.
#
# ## Ask more queries
# Intervals shrink with the square root of the number of queries: four times the queries, half the width.

# %%
qid_more = np.repeat(np.arange(1000), 10)
labels_more = generator.choice([0, 0, 0, 1, 2], size=10_000)
more = {
    "new": labels_more + generator.normal(size=10_000) * 1.3,
    "old": labels_more + generator.normal(size=10_000) * 1.5,
}
pippin.compare(labels_more, more, "NDCG@10", qid=qid_more)

# %% [markdown]
# With a thousand queries “new” beats “old” (the letter in the column “beats”), as it should.
#
# ## One more system
# With several systems each pair is a test of its own, and the more tests, the more winners by chance. The p-values are
# corrected for that (Holm's way unless you say otherwise).

# %%
systems["random"] = generator.normal(size=400)
three = pippin.compare(labels, systems, "NDCG@10", qid=qid)
three

# %% [markdown]
# Both against “random” is no chance; “new” against “old” is as open as before.
#
# ## On the command line
# The same with files: `pippin compare judged.txt new.run old.run --measure NDCG@10`, and `-o page.html` for a page.
# [Compare](../compare.md) tells which tests there are, and what each assumes.
