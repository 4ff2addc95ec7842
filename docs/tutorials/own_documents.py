"""Own documents to a leaderboard. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Your own documents to a leaderboard
# **You get:** from a folder of documents, some queries and judgements to a search index, a data set with features, trained rankers and
# a leaderboard. Ten minutes, two commands.
#
# ## What you need
# Three things in one folder: **documents**, **queries**, and **judgements** that say which document answers which query. Here the
# documents are what `help()` says about Python's own syntax, which every Python brings along. Yours may be a folder of texts, JSONL, HTML,
# an Elasticsearch dump, a TREC collection, an archive of them ([all forms](../collections.md#what-is-read)).

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
# Fifteen questions, and for each the topics that answer it: 2 in full, 1 in part.

# %%
asked = {
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
    file.writelines(f"q{number}\t{query}\n" for number, query in enumerate(asked, 1))
with open("python/qrels.txt", "w", encoding="utf-8") as file:
    for number, answers in enumerate(asked.values(), 1):
        file.writelines(f"q{number} 0 {topic} {label}\n" for topic, label in answers.items() if topic in topics)

# %%
# !head -3 python/queries.tsv python/qrels.txt

# %% [markdown]
# ## What does Pippin see?
# Before anything is computed, ask how the folder is understood:

# %%
# !pippin build --explain python

# %% [markdown]
# Documents, queries and judgements were found, and each by the right name. If one were taken for something else, `--reader`, `--topics`
# and `--judgements` say what is meant.
#
# ## First command: a data set

# %%
# !pippin build python -o data --quiet

# %% [markdown]
# What happened: the documents were indexed; BM25 found candidates for each query; every candidate got its *features*, numbers such as
# BM25 of the title or the length of the text; and the queries were dealt into five *folds*, so that rankers can be trained on some
# queries and judged on others.
#
# The second and third line are the honest ones. BM25 missed some relevant documents, and no ranker can bring them back: the NDCG@10 that
# stands there is the ceiling.
#
# The index answers queries already:

# %%
# !pippin search data/index "how do I catch an exception" -n 2

# %% [markdown]
# ## Second command: a leaderboard
# Fifteen queries are few, so we take rankers that make do with few: the best single feature, and two linear ones.

# %%
# !pippin bench data -o results --ranker best-feature,ranksvm,listnet --quick --quiet

# %% [markdown]
# A *cell* is one ranker trained on one fold: 3 rankers × 5 folds. All are kept in `results`; the same command goes on where it was stopped.
#
# ## Can the order be believed?

# %%
import pippin

board = pippin.Results.open("results").leaderboard("NDCG@10")
board.plot("means")

# %%
board

# %% [markdown]
# RankSVM is first, but the column *beats* is empty and the intervals overlap: fifteen queries cannot tell these rankers apart. With
# fifty to a hundred judged queries the order begins to mean something.
#
# ## The page

# %%
# !pippin report results -o page.html

# %% [markdown]
# `page.html` has everything: the leaderboard under every tool, every pair, each query with its two lists side by side.
#
# **Next:** [the benchmark in full](../bench.md); [features, links, sampling](../collections.md);
# [put the winner into an engine](train_and_deploy.md).
