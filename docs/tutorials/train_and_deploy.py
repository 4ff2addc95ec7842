"""Train and deploy. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Train a ranker and hand it to a search engine
# **You get:** a trained model, a look at what it learned, and a file that Elasticsearch, Solr, Vespa or a plain C program
# applies, with a certificate that says what the engine's arithmetic changes. Ten minutes. Trees need `pip install 'pippin[train]'`.
#
# ## Data
# A ranker learns from documents that are described by *features*, grouped by query. Any LETOR file will do (`label qid:… 1:… 2:…`),
# or arrays as scikit-learn takes them. Ours are made up, with a trap: what the second feature means depends on the third.

# %%
import numpy as np

import pippin

generator = np.random.default_rng(3)
qid = np.repeat(np.arange(400), 12)
X = generator.normal(size=(len(qid), 6))
truth = X[:, 0] + 2 * X[:, 1] * np.sign(X[:, 2])
y = np.clip(np.round(truth + generator.normal(size=len(qid)) / 2), 0, 3).astype(np.int32)

# %% [markdown]
# Three parts: one to learn from, one to stop by (*validation*), one to be judged on. A query belongs to one part as a whole.

# %%
parts = {"train": qid < 240, "vali": (qid >= 240) & (qid < 320), "test": qid >= 320}
data = {name: pippin.Dataset.from_arrays(X[rows], y[rows], qid[rows]) for name, rows in parts.items()}
data["test"]

# %% [markdown]
# ## Train two rankers
# RankSVM is a weighted sum of the features; LambdaMART is up to a hundred small trees here.

# %%
from pippin.rankers import LambdaMART, RankSVM

models = {
    "lambdamart": LambdaMART(rounds=100, leaves=8, patience=20).fit(data["train"], eval_set=data["vali"]),
    "ranksvm": RankSVM().fit(data["train"]),
}
scores = {name: model.predict(data["test"].features) for name, model in models.items()}
compared = pippin.compare(data["test"], scores, "NDCG@10", tool="official")
compared

# %%
compared.plot("means")

# %% [markdown]
# The trees are far ahead. Why? Look at what each feature counts (shares of 1, six features):

# %%
for name, model in models.items():
    print(f"{name:11}", [f"{share:.2f}" for share in model.feature_importances_])

# %% [markdown]
# RankSVM sees the first feature alone: summed over all documents, the second says nothing. Trees can ask for the third before they
# look at the second. On data without such a trap the two are often level, and the sum is the simpler one to deploy.
#
# ## Keep it
# A model is one file of JSON, with its parameters, the names of its features, and a digest.

# %%
pippin.save(models["lambdamart"], "model.json")
pippin.save(models["ranksvm"], "linear.json")
pippin.data.letor.write_letor(data["test"], "test.txt")

# %% [markdown]
# ## Hand it over
# `pippin export` alone lists all targets. Here the trees become a C header, and the sum a model of Elasticsearch's LTR plug-in:

# %%
# !pippin export model.json --to c --check test.txt --out ranker.h
# !pippin export linear.json --to elasticsearch-ltr --check test.txt --out linear.es.json

# %% [markdown]
# Each line says what was checked. The header was compiled and gives the same bits. Elasticsearch computes in single precision, so its
# scores differ in the seventh digit, but no query changes its order.
#
# Beside each file stands its *certificate*, for your release notes or a test of your own:

# %%
import json
from pathlib import Path

certificate = json.loads(Path("linear.es.json.parity.json").read_text())
{key: certificate[key] for key in ("target", "largest_difference", "reordered", "ndcg")}

# %% [markdown]
# **Next:** [Deploy](../deploy.md), engine by engine; [the rankers](../rankers.md) and
# [their mathematics](../mathematics.md); `pippin bench` to choose a ranker on your own data ([how](own_documents.md)).
