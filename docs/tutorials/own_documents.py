"""Own documents to a leaderboard. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Your own documents to a leaderboard
# Documents, some queries, and somebody's judgements: that is all a benchmark needs. Here the documents are what
# `help()` says about Python's own syntax, which every Python brings along; yours are a folder of texts, a JSONL file,
# an Elasticsearch dump, a TREC collection ([all forms](../collections.md)).

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

# %% [markdown]
# ## What does Pippin see?

# %%
# !pippin build --explain python

# %% [markdown]
# ## First command: a data set
# BM25 finds candidates for each query, every candidate gets its features, and the queries are dealt into five folds.

# %%
# !pippin build python -o data --quiet && ls data

# %% [markdown]
# ## Second command: a leaderboard
# Fifteen queries are few, so only rankers that make do with few: the best single feature, and two linear ones.

# %%
# !pippin bench data -o results --rankers best-feature,ranksvm,listnet --quick --quiet

# %%
# !pippin leaderboard results --measure NDCG@10

# %% [markdown]
# The intervals are wide, and the page says so: fifteen queries cannot tell good rankers apart. `pippin report results`
# makes the page with everything on it. With fifty to a hundred judged queries the order begins to mean something.
