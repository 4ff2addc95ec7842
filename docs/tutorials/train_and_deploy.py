"""Train and deploy. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Train a ranker and deploy it
# In ten minutes you will train a model, inspect what it learned, and write a file for Elasticsearch, Solr, Vespa or C, with a certificate that states
# what the engine's arithmetic changes.
#
# ## Data
# A ranker learns from documents with *features*, grouped by query: a LETOR file (`label qid:… 1:… 2:…`), or arrays as in scikit-learn. Our data are
# synthetic; the effect of the second feature depends on the third.

# %%
import numpy as np

import pippin

generator = np.random.default_rng(3)
qid = np.repeat(np.arange(400), 12)
X = generator.normal(size=(len(qid), 6))
truth = X[:, 0] + 2 * X[:, 1] * np.sign(X[:, 2])
y = np.clip(np.round(truth + generator.normal(size=len(qid)) / 2), 0, 3).astype(np.int32)

# %% [markdown]
# Split the queries into three parts: *train* to learn, *validation* for early stopping, *test* to evaluate.

# %%
parts = {"train": qid < 240, "vali": (qid >= 240) & (qid < 320), "test": qid >= 320}
data = {name: pippin.Dataset.from_arrays(X[rows], y[rows], qid[rows]) for name, rows in parts.items()}
data["test"]

# %% [markdown]
# ## Train two rankers
# RankSVM is a linear model; LambdaMART has up to a hundred small trees here.

# %%
from pippin.rankers import LambdaMART, RankSVM

models = {
    "lambdamart": LambdaMART(rounds=100, num_leaves=8, early_stopping_rounds=20).fit(
        data["train"], eval_set=data["vali"]
    ),
    "ranksvm": RankSVM().fit(data["train"]),
}
scores = {name: model.predict(data["test"].features) for name, model in models.items()}
compared = pippin.compare(data["test"], scores, "NDCG@10", tool="official")
compared

# %%
compared.plot("means")

# %% [markdown]
# The trees are far better. Compare the importance of the six features (shares that sum to 1):

# %%
for name, model in models.items():
    print(f"{name:11}", [f"{share:.2f}" for share in model.feature_importances_])

# %% [markdown]
# RankSVM uses the first feature only: on average the second has no effect. Trees can split on the third before the second. Without such an interaction the
# two are often equal, and the linear model is simpler to deploy.
#
# ## Save the models
# A model is one JSON file with its parameters, the names of its features, and a digest.

# %%
pippin.save(models["lambdamart"], "model.json")
pippin.save(models["ranksvm"], "linear.json")
pippin.data.letor.write_letor(data["test"], "test.txt")

# %% [markdown]
# ## Export
# `pippin export` without arguments lists all targets. Here the trees become a C header, and the linear model a model of Elasticsearch's LTR plugin:

# %%
# !pippin export model.json --to c --check test.txt --out ranker.h
# !pippin export linear.json --to elasticsearch-ltr --check test.txt --out linear.es.json

# %% [markdown]
# The output states what was checked. The header was compiled and gives the same bits. Elasticsearch computes in single precision, so its scores differ in
# the seventh digit, but the order of no query changes.
#
# A *certificate* is written beside each file, for your release notes or tests:

# %%
import json
from pathlib import Path

certificate = json.loads(Path("linear.es.json.parity.json").read_text())
{key: certificate[key] for key in ("target", "largest_difference", "n_reordered_queries", "ndcg")}

# %% [markdown]
# **Next:** [Deploy](../deploy.md), engine by engine; [the rankers](../rankers.md) and
# [their mathematics](../mathematics.md); `pippin bench` to choose a ranker on your own data ([how](own_documents.md)).
