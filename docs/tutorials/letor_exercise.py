"""A class exercise of LETOR. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # A class exercise: LETOR in an afternoon
# LETOR made learning to rank comparable: fixed documents, fixed features, five folds, published baselines. This exercise
# walks its recipe on data that every machine has, Python's own standard library: modules, classes and functions are the
# pages, names are the queries, and who documents what is the judgement. Twelve documents a query keep it short here; LETOR
# took a thousand, and `--sample 1000` does.
#
# ## 1. Build
# Three tasks like those of TREC's web track: *topic distillation* (TD), *homepage finding* (HP), *named page finding* (NP).

# %%
# !pippin build stdlib --sample 12 -o letor --quiet

# %% [markdown]
# The last lines are the honest part: what the sample lost, no ranker can bring back.
#
# **Question.** Look into `letor/NP`: there are three versions of the features. What does Feature-null know that
# Feature-min does not?
#
# ## 2. Audit before you train
# Is the data set fit for a comparison at all?

# %%
# !pippin audit letor/NP/QueryLevelNorm/Fold1/test.txt

# %% [markdown]
# **Question.** Which features say nothing here, and would dropping them change a linear ranker?
#
# ## 3. Bench

# %%
# !pippin bench letor/NP/QueryLevelNorm -o results --rankers best-feature,regression,ranksvm --quick --quiet

# %% [markdown]
# ## 4. Defend it
# Who wins depends on the tool that computes NDCG. Does it here?

# %%
# !pippin leaderboard results --measure NDCG@10 --tool official,letor4,trec_eval9

# %% [markdown]
# **Question.** Take the two best rankers. Under which tools do they change places, and which choice of the convention is
# to blame? `pippin reconcile` answers with a sentence. How many queries would you need to tell the first from the second?
#
# ## 5. Hand in
# `pippin report results` writes the page, the tables as CSV and LaTeX, and the figures. Hand in the results folder: anybody
# can recompute every number in it, and `pippin verify results` says whether a byte of it was changed.
