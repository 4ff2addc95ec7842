"""A class exercise of LETOR. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # A class exercise: LETOR in an afternoon
# **You get:** the whole way of a benchmark, from raw documents to a defended leaderboard, with questions for a class and the means to answer
# them. An afternoon; the commands take minutes.
#
# LETOR (2007) made learning to rank comparable: fixed documents, fixed features, five folds, published baselines. We walk its recipe on
# data that every machine has, the documentation of Python's own standard library. Modules, classes and functions are the pages,
# names are the queries, and who documents what is the judgement.
#
# ## 1. Build
# Three tasks like those of TREC's web track: *topic distillation* (TD: which pages are the entry points of a topic?), *homepage finding*
# (HP) and *named page finding* (NP). LETOR took a thousand documents for each query; twelve keep it short here.

# %%
# !pippin build stdlib --sample 12 -o letor --quiet

# %% [markdown]
# The last numbers of each task are the honest part: what the sample lost, no ranker can bring back.
#
# **Question 1.** What is the best NDCG@10 that any ranker can reach on NP? What would it be with `--sample 100`, and what would that cost?

# %%
# !ls letor/NP
# !head -1 letor/NP/QueryLevelNorm/Fold1/test.txt | cut -c 1-100

# %% [markdown]
# A line is a document: its label, its query, its features by number. There are three versions of the features: with gaps
# (`Feature-null`), with gaps filled by the query's minimum (`Feature-min`), and scaled to 0 … 1 within each query (`QueryLevelNorm`).
#
# **Question 2.** What does `Feature-null` know that `Feature-min` does not? When would a ranker want to know it?
#
# ## 2. Audit before you train
# Is the data set fit for a comparison at all?

# %%
# !pippin audit letor/NP/QueryLevelNorm/Fold1/test.txt

# %% [markdown]
# **Question 3.** A third of the queries have no relevant document in the sample. What does a tool that counts them as 1 make of a ranker that is
# wrong everywhere? (`--all` says it for each tool.)
#
# ## 3. Bench
# Three rankers, the same folds for all. Settings are chosen on validation, never on test.

# %%
# !pippin bench letor/NP/QueryLevelNorm -o results --ranker best-feature,regression,ranksvm --quick --quiet

# %% [markdown]
# ## 4. Defend it

# %%
import pippin

results = pippin.Results.open("results")
board = results.leaderboard("NDCG@10")
board

# %%
board.plot("means")

# %% [markdown]
# **Question 4.** Who beats whom? Write the sentence that you could defend before a reviewer, and the one that you could not.
#
# How many queries would it take to tell the first from the second?

# %%
from pippin.evaluation.effects import queries_needed

first, second = (standing.ranker for standing in board.standings[:2])
pair = board.board.tested.pair(first, second)
print(f"{first} - {second}: {pair.difference:+.4f} on {pair.n} queries, p = {pair.p_adjusted:.2f}")
print(f"queries needed to see such a difference four times in five: {queries_needed([pair.effect])[0]:,.0f}")

# %% [markdown]
# **Question 5.** Who wins depends on the tool that computes NDCG. Does it here?

# %%
for tool in ("official", "letor4", "trec_eval9", "lightgbm"):
    under = results.leaderboard("NDCG@10", tool=tool)
    print(f"{tool:11}", ", ".join(f"{standing.ranker} {standing.mean:.4f}" for standing in under.standings))

# %% [markdown]
# Look at the first and the last line: the same lists, and numbers that nobody would think the same. Which choice makes the difference? `pippin reconcile` needs one
# ranking; we train one and ask.

# %%
# !pippin train letor/NP/QueryLevelNorm/Fold1/train.txt --ranker ranksvm --out model.json --quiet
# !pippin rank model.json letor/NP/QueryLevelNorm/Fold1/test.txt --out scores.txt
# !pippin reconcile letor/NP/QueryLevelNorm/Fold1/test.txt scores.txt --measure NDCG@10 --tool official,lightgbm

# %% [markdown]
# ## 5. Hand in
# The page with the leaderboard, every pair and every query; and a check that nothing in the folder was changed since it was computed.

# %%
# !pippin report results -o page.html
# !pippin verify results

# %% [markdown]
# Hand in the folder `results`: anybody can recompute every number in it.
#
# **Further.** Bench all rankers (`--ranker all`) on the three tasks; train under another tool's choices (`--convention letor4`) and see
# whether it matters ([a study of that](../study.md)); find out how many features are enough (`pippin select`).
