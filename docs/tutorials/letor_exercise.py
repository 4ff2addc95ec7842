"""A class exercise of LETOR. Run cell by cell when the site is built; see tools/site/tutorials.py."""

# %% [markdown]
# # A class exercise: LETOR in an afternoon
# In an afternoon a class goes from raw documents to a leaderboard with significance tests, with questions to answer. The commands take minutes.
#
# LETOR (2007) made learning to rank comparable: fixed documents, fixed features, five folds, published baselines. We follow its recipe with the
# documentation of Python's standard library. Modules, classes and functions are the pages, names are the queries, and a page is relevant if it
# documents the name.
#
# ## 1. Build
# Three tasks like those of TREC's web track: *topic distillation* (TD: which pages are the entry points of a topic?), *homepage finding*
# (HP) and *named page finding* (NP). LETOR sampled a thousand documents per query; we take twelve to save time.

# %%
# !pippin build stdlib --sample 12 -o letor --quiet

# %% [markdown]
# Note the last numbers of each task: a ranker cannot recover the relevant documents that the sample lost.
#
# **Question 1.** What is the best NDCG@10 that any ranker can reach on NP? What would it be with `--sample 100`, and what would that cost?

# %%
# !ls letor/NP
# !head -1 letor/NP/QueryLevelNorm/Fold1/test.txt | cut -c 1-100

# %% [markdown]
# Each line is a document: label, query, features by number. There are three versions of the features: with missing values (`Feature-null`), with missing
# values replaced by the query's minimum (`Feature-min`), and scaled to 0 … 1 within each query (`QueryLevelNorm`).
#
# **Question 2.** Which information is in `Feature-null` but not in `Feature-min`? When is it useful for a ranker?
#
# ## 2. Audit before you train
# Check the data set for problems:

# %%
# !pippin audit letor/NP/QueryLevelNorm/Fold1/test.txt

# %% [markdown]
# **Question 3.** A third of the queries are empty: the sample contains none of their relevant documents. Which value does a tool that counts them as 1
# give to the worst possible ranker? (`--all` shows it for each tool.)
#
# ## 3. Benchmark
# Three rankers on the same folds. Parameters are selected on the validation parts, never on the test parts.

# %%
# !pippin bench letor/NP/QueryLevelNorm -o results --ranker best-feature,regression,ranksvm --quick --quiet

# %% [markdown]
# ## 4. Test the conclusions

# %%
import pippin

results = pippin.Results.open("results")
board = results.leaderboard("NDCG@10")
board

# %%
board.plot("means")

# %% [markdown]
# **Question 4.** Which differences are significant? Write one sentence that you could defend to a reviewer, and one that you could not.
#
# The number of queries needed to distinguish the first from the second:

# %%
from pippin.evaluation.significance import queries_needed

first, second = (standing.ranker for standing in board.standings[:2])
pair = board.board.tests.pair(first, second)
print(f"{first} - {second}: {pair.difference:+.4f} on {pair.n} queries, p = {pair.p_adjusted:.2f}")
print(f"queries needed to see such a difference four times in five: {queries_needed([pair.effect])[0]:,.0f}")

# %% [markdown]
# **Question 5.** The winner can depend on the tool that computes NDCG. Does it here?

# %%
for tool in ("official", "letor4", "trec_eval9", "lightgbm"):
    under = results.leaderboard("NDCG@10", tool=tool)
    print(f"{tool:11}", ", ".join(f"{standing.ranker} {standing.mean:.4f}" for standing in under.standings))

# %% [markdown]
# Compare the first and the last line: the same rankings with very different numbers. To find the responsible choice, `pippin reconcile` needs one
# ranking, so we train one ranker:

# %%
# !pippin train letor/NP/QueryLevelNorm/Fold1/train.txt --ranker ranksvm --out model.json --quiet
# !pippin rank model.json letor/NP/QueryLevelNorm/Fold1/test.txt --out scores.txt
# !pippin reconcile letor/NP/QueryLevelNorm/Fold1/test.txt scores.txt --measure NDCG@10 --tool official,lightgbm

# %% [markdown]
# ## 5. Hand in
# Write the page with leaderboard, pairwise tests and queries, and verify that the results have not changed:

# %%
# !pippin report results -o page.html
# !pippin verify results

# %% [markdown]
# Hand in the folder `results`: others can recompute every number in it.
#
# **Further.** Benchmark all rankers (`--ranker all`) on the three tasks; train under another convention (`--convention letor4`) and check whether it
# matters ([study](../study.md)); find out how many features are needed (`pippin study feature-curve`).
