"""Train and deploy. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # Train a ranker and hand it to a search engine
# From feature files to a model that Elasticsearch, Solr, Vespa or a plain C program applies, with a certificate that says
# what the engine's arithmetic changes.
#
# ## Data
# Any LETOR file will do (`label qid:… 1:… 2:…`), or arrays as scikit-learn takes them:

# %%
import numpy as np

import pippin

generator = np.random.default_rng(3)
qid = np.repeat(np.arange(400), 12)
X = generator.normal(size=(len(qid), 6))
truth = X[:, 0] + 2 * X[:, 1] * np.sign(X[:, 2])  # the third feature decides what the second one means
y = np.clip(np.round(truth + generator.normal(size=len(qid)) / 2), 0, 3).astype(np.int32)
parts = {"train": qid < 240, "vali": (qid >= 240) & (qid < 320), "test": qid >= 320}
data = {name: pippin.Dataset.from_arrays(X[rows], y[rows], qid[rows]) for name, rows in parts.items()}
data["test"]

# %% [markdown]
# ## Train, and look at what it learned

# %%
from pippin.rankers import LambdaMART, RankSVM

models = {
    "lambdamart": LambdaMART(rounds=100, leaves=8, patience=20).fit(data["train"], eval_set=data["vali"]),
    "ranksvm": RankSVM().fit(data["train"]),
}
scores = {name: model.predict(data["test"].features) for name, model in models.items()}
pippin.compare(data["test"], scores, "NDCG@10", tool="official")

# %% [markdown]
# What the second feature means depends on the third, which trees can see and a linear ranker cannot.

# %%
{name: [round(float(share), 2) for share in model.feature_importances_] for name, model in models.items()}

# %% [markdown]
# ## Keep it, and hand it over

# %%
pippin.save(models["lambdamart"], "model.json")
pippin.save(models["ranksvm"], "linear.json")
pippin.data.letor.write_letor(data["test"], "test.txt")

# %%
# !pippin export model.json --to c --check test.txt --out ranker.h
# !pippin export linear.json --to elasticsearch-ltr --check test.txt --out linear.es.json

# %% [markdown]
# Beside each file stands its certificate: the largest difference of a score, how many documents changed sides at a
# threshold, how many queries changed their order, and NDCG@10 before and after.

# %%
import json
from pathlib import Path

certificate = json.loads(Path("ranker.h.parity.json").read_text())
print(json.dumps(certificate, indent=1)[:900])

# %% [markdown]
# [Deploy](../deploy.md) goes on from here, engine by engine.
