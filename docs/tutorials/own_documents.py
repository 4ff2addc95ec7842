"""Own documents to a leaderboard. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Your own documents to a leaderboard
# In ten minutes and with two commands you will turn a folder of documents, queries and judgements into a search index, a data set with features,
# trained rankers and a leaderboard.
#
# ## What you need
# One folder with **documents**, **queries**, and **judgements** of which document is relevant for which query. Here the documents are the texts of
# Python's `help()` about its syntax. Yours may be a folder of texts, JSONL, HTML,
# an Elasticsearch dump, a TREC collection, an archive of them ([all formats](../collections.md#input-formats)).

# %%
import json
from pathlib import Path
from pydoc_data.topics import topics

Path("python").mkdir()
with open("python/documents.jsonl", "w", encoding="utf-8") as file:
    for name, text in topics.items():
        file.write(json.dumps({"id": name, "title": name.replace("-", " "), "text": text}) + "\n")
len(topics)

# %% [markdown]
# Fifteen queries with their relevant topics: label 2 answers it fully, 1 partly.

# %%
judgements = {
    "raise an exception": {"raise": 2, "exceptions": 1, "try": 1},
    "catch errors and clean up": {"try": 2, "exceptions": 2, "with": 1},
    "import a module from a package": {"import": 2},
    "loop over a list of items": {"for": 2, "typesseq": 1, "while": 1},
    "repeat until a condition is false": {"while": 2, "break": 1},
    "define a function with default arguments": {"function": 2, "lambda": 1, "calls": 1},
    "anonymous function": {"lambda": 2},
    "define a class and inherit from another": {"class": 2, "types": 1},
    "compare two values for identity": {"comparisons": 2, "in": 1},
    "boolean and or not": {"booleans": 2, "truth": 1},
    "delete a variable or an item": {"del": 2},
    "methods of strings": {"string-methods": 2, "typesseq": 1},
    "format a number with a given precision": {"formatstrings": 2},
    "slices of a sequence": {"slicings": 2, "subscriptions": 1, "typesseq": 1},
    "context manager for resources": {"with": 2, "context-managers": 2},
}
with open("python/queries.tsv", "w", encoding="utf-8") as file:
    file.writelines(f"q{number}\t{query}\n" for number, query in enumerate(judgements, 1))
with open("python/qrels.txt", "w", encoding="utf-8") as file:
    for number, answers in enumerate(judgements.values(), 1):
        file.writelines(f"q{number} 0 {topic} {label}\n" for topic, label in answers.items() if topic in topics)

# %%
# !head -3 python/queries.tsv python/qrels.txt

# %% [markdown]
# ## Check what Pippin detects
# Before you build, print how Pippin interprets the folder:

# %%
# !pippin build --explain python

# %% [markdown]
# Documents, queries and judgements were detected correctly. Otherwise use `--input-format`, `--queries` and `--qrels`.
#
# ## First command: a data set

# %%
# !pippin build python -o data --quiet

# %% [markdown]
# Pippin indexed the documents, retrieved candidates for each query by BM25, computed *features* such as BM25 of the title or the length of the text, and
# split the queries into five *folds*, so that rankers are trained on some queries and tested on others.
#
# Note the second and third line. BM25 missed some relevant documents, which a ranker cannot recover: the NDCG@10 in this line is the upper bound.
#
# You can search the index now:

# %%
# !pippin search data/index "how do I catch an exception" -n 2

# %% [markdown]
# ## Second command: a leaderboard
# Fifteen queries are few, so we use rankers that need few: the best single feature and two linear models.

# %%
# !pippin bench data -o results --ranker best-feature,ranksvm,listnet --quick --quiet

# %% [markdown]
# A *cell* is one ranker trained on one fold: 3 rankers × 5 folds. All are stored in `results`; run the same command to resume after an interruption.
#
# ## Is the order significant?

# %%
import pippin

board = pippin.Results.open("results").leaderboard("NDCG@10")
board.plot("means")

# %%
board

# %% [markdown]
# RankSVM is first, but the column *better than* is empty and the intervals overlap: fifteen queries cannot distinguish these rankers.
# Use at least fifty to a hundred judged queries.
#
# ## The page

# %%
# !pippin report results -o page.html

# %% [markdown]
# `page.html` has the leaderboard under every tool, all pairwise tests, and for each query two ranked lists side by side.
#
# **Next:** [benchmarks](../bench.md); [features, links, sampling](../collections.md); [deploy the winner](train_and_deploy.md).
