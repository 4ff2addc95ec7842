"""Define the lines: task, contestants and target."""

from __future__ import annotations

import inputs
from contest import Contestant, Line

ASKED = ("-m", "NDCG@10", "-m", "MAP", "-m", "RR", "-m", "P@10", "--tool", "trec_eval9", "--format", "json")
TREC_ASKED = ("-m", "ndcg_cut.10", "-m", "map", "-m", "recip_rank", "-m", "P.10")
FILES = ("{folder}/bench.qrels", "{folder}/bench.run")
ONE = {"PIPPIN_THREADS": "1"}
PRINTED = 1.0001e-4 / 2 + 1e-12  # half of the last digit that programs print


def pippin(
    name: str, *command: str, environment: dict[str, str] | None = None, needs: tuple[str, ...] = (), fresh: str = ""
) -> Contestant:
    """Our program."""
    return Contestant(name, ("{pippin}", *command), "", needs, environment or {}, ours=True, fresh=fresh)


def here(name: str, work: str, environment: dict[str, str] | None = None, *, checked: bool = True) -> Contestant:
    """Our function."""
    return Contestant(name, work=f"ours:{work}", environment=environment or {}, checked=checked, ours=True)


def there(name: str, work: str, *needs: str, checked: bool = True) -> Contestant:
    """A function of a peer."""
    return Contestant(name, work=f"theirs:{work}", needs=needs, checked=checked)


TREC_EVAL = Contestant("trec_eval", ("{TREC_EVAL}", *TREC_ASKED, *FILES), needs=("$TREC_EVAL",))


def unpack_before(program: str, ending: str) -> Contestant:
    """trec_eval reads neither packed files nor a pipe, so that the run is unpacked beside it first."""
    script = (
        f"{program} {{folder}}/bench.run.{ending} > {{folder}}/unpacked && "
        f"{{TREC_EVAL}} {' '.join(TREC_ASKED)} {{folder}}/bench.qrels {{folder}}/unpacked"
    )
    return Contestant(
        f"{program}, then trec_eval", ("sh", "-c", script), needs=("$TREC_EVAL", f"/{program.split(maxsplit=1)[0]}")
    )


def ranklib(name: str, title: str, theirs: tuple[str, ...], ours: tuple[str, ...]) -> Line:
    """One training on the first fold of MQ2008, from files to a model, beside RankLib."""
    files = ("{folder}/train.txt", "{folder}/vali.txt")
    settings = tuple(word for setting in ours for word in ("--set", setting))
    command = ("{RANKLIB_CLASSPATH}", "ciir.umass.edu.eval.Evaluator", "-train", files[0], "-validate", files[1],
               "-metric2t", "NDCG@10", "-save", "{folder}/ranklib.model", "-ranker", *theirs)  # fmt: skip
    return Line(
        f"ranklib-{name}", "ranklib", title, inputs.mq2008,
        (
            pippin("pippin train", "train", files[0], "--valid", files[1], "-r", name, "-q", "-o",
                   "{folder}/model.json", *settings),
            Contestant("RankLib", ("java", "-cp", *command), needs=("$RANKLIB_CLASSPATH", "/java"), checked=False),
        ),
        1, 1, turns=2,
    )  # fmt: skip


def scoring(key: str, leaves: int, prepare: inputs.Prepare, *more: Contestant) -> Line:
    """An ensemble of trees applied to documents, by one thread."""
    return Line(
        key, "scoring", f"1,000 trees × {leaves} leaves, 100,000 documents × 136 features, one thread", prepare,
        (
            here("pippin", "scored", ONE),
            there("LightGBM predict", "scored_lightgbm", "lightgbm"),
            there("XGBoost inplace_predict (float32)", "scored_xgboost", "xgboost", checked=False),
            there("onnxruntime", "scored_onnxruntime", "onnxruntime"),
            *more,
        ),
        100_000, 10_000, {}, None, 1e-9, 3,
    )  # fmt: skip


LINES = (
    Line(
        "trec", "trec", "TREC run of 10,000 × 1,000 (360 MB) to four measures, the whole command", inputs.trec,
        (
            pippin("pippin eval", "eval", *FILES, *ASKED),
            pippin("pippin eval, one thread", "eval", *FILES, *ASKED, environment=ONE),
            pippin("pippin eval --stream", "eval", *FILES, *ASKED, "--stream"),
            TREC_EVAL,
            Contestant("pytrec_eval, from files", ("{peers}", "{here}/../with_pytrec_eval.py", *FILES),
                       needs=("pytrec_eval",)),
            Contestant("ir_measures, its command", ("{peers}", "-m", "ir_measures", *FILES, "nDCG@10", "AP", "RR",
                       "P@10"), needs=("ir_measures",)),
            Contestant("ranx, from files", ("{peers}", "{here}/../with_ranx.py", *FILES), needs=("ranx",),
                       checked=False),
        ),
        10_000, 1_000, {"trec_eval": 20, "pippin eval, one thread": 1.7, "pippin eval --stream": 1.0}, None, PRINTED,
    ),
    Line(
        "stream", "trec", "TREC run of 50,000 × 1,000 (1.8 GB) to four measures, in constant memory", inputs.trec,
        (pippin("pippin eval --stream", "eval", *FILES, *ASKED, "--stream"),
         pippin("pippin eval", "eval", *FILES, *ASKED)),
        50_000, 2_000, {"pippin eval": 1.0}, None, PRINTED, 3, long=True,
    ),
    Line(
        "as", "trec", "the same through `pippin as trec_eval`", inputs.trec,
        (pippin("pippin as trec_eval", "as", "trec_eval", *TREC_ASKED, *FILES), TREC_EVAL),
        10_000, 1_000, {"trec_eval": 20}, None, PRINTED,
    ),
    Line(
        "gz", "trec", "the same run packed by gzip", inputs.compress_run,
        (pippin("pippin eval", "eval", FILES[0], FILES[1] + ".gz", *ASKED), unpack_before("zcat", "gz")),
        10_000, 1_000, {"zcat, then trec_eval": 5}, None, PRINTED, 3,
    ),
    Line(
        "zstd", "trec", "the same run packed by zstd", inputs.compress_run,
        (pippin("pippin eval", "eval", FILES[0], FILES[1] + ".zst", *ASKED), unpack_before("zstd -dc", "zst")),
        10_000, 1_000, {"zstd -dc, then trec_eval": 5}, None, PRINTED, 3,
    ),
    Line(
        "start", "trec", "the command on two documents, against Python that only imports NumPy", inputs.tiny,
        (
            pippin("pippin eval", "eval", "{folder}/tiny.qrels", "{folder}/tiny.run", *ASKED),
            Contestant('python -c "import numpy"', ("{python}", "-c", "import numpy"), checked=False),
        ),
        1, 1, {'python -c "import numpy"': 0.4}, turns=15,
    ),
    Line(
        "dicts", "memory", "dicts of 2,000 × 1,000 in Python to four measures", inputs.dicts,
        (
            here("pippin.evaluate", "dicts"),
            there("pytrec_eval", "dicts_pytrec_eval", "pytrec_eval"),
            there("ir_measures", "dicts_ir_measures", "ir_measures"),
            there("ranx", "dicts_ranx", "ranx", checked=False),
        ),
        2_000, 200, {"pytrec_eval": 2}, None, 1e-6,
    ),
    Line(
        "columns", "memory", "NumPy columns of 10 million documents to four measures", inputs.columns,
        (
            here("pippin.evaluate, NumPy", "arrays"),
            here("pippin.evaluate, Polars", "frame"),
            there("NumPy (lexsort, reduceat)", "arrays_numpy"),
        ),
        10_000_000, 1_000_000, {"NumPy (lexsort, reduceat)": 10}, 0.5,
    ),
    Line(
        "tools", "memory", "all classic tools at once, 3.7 million documents", inputs.columns,
        (here("all classic tools", "classic_tools"), here("trec_eval9 alone", "one_tool")),
        3_700_000, 370_000, {"trec_eval9 alone": 1 / 3},
    ),
    Line(
        "letor", "memory", "LETOR text of 120,000 documents × 136 features (140 MB) to a table", inputs.letor,
        (
            here("read_letor", "letor"),
            there("XGBoost DMatrix", "letor_xgboost", "xgboost", checked=False),
            there("scikit-learn load_svmlight_file", "letor_sklearn", "sklearn"),
        ),
        120_000, 12_000, {"scikit-learn load_svmlight_file": 40, "XGBoost DMatrix": 4}, None, 1.0,
    ),
    Line(
        "tau", "memory", "tau_b of a million items with ties", inputs.rankings,
        (here("tau_b", "tau"), there("SciPy kendalltau", "tau_scipy", "scipy"),
         Contestant("tau_ap_b (both ways)", work="ours:tau_ap", ours=True, checked=False)),
        1_000_000, 100_000, {"SciPy kendalltau": 1, "tau_ap_b (both ways)": 0.5},
    ),
    scoring("scoring", 31, inputs.trees,
            there("lleaves", "scored_lleaves", "lleaves"),
            there("tl2cgen", "scored_tl2cgen", "tl2cgen", "treelite"),
            there("YDF (its own trees)", "scored_ydf", "ydf", checked=False)),
    scoring("scoring-64", 64, inputs.larger_trees,
            there("YDF (its own trees)", "scored_ydf_larger", "ydf", checked=False)),
    Line(
        "index", "search", "100,000 texts of 60 words to an index, analysis included", inputs.texts,
        (here("pippin (positions, texts, on disk)", "indexed"),
         there("tantivy (positions, on disk)", "indexed_tantivy", "tantivy"),
         there("bm25s, numba (in memory)", "indexed_bm25s", "bm25s", "numba", "Stemmer")),
        100_000, 10_000, {}, turns=2,
    ),
    Line(
        "search", "search", "the best ten of 100,000 texts for 200 queries of four words", inputs.texts,
        (here("pippin", "searched", ONE), there("tantivy", "searched_tantivy", "tantivy", checked=False),
         there("bm25s, numba", "searched_bm25s", "bm25s", "numba", "Stemmer", checked=False)),
        100_000, 10_000, {"bm25s, numba": 3},
    ),
    Line(
        "thousand", "search", "the best thousand of 100,000 texts for 200 queries of four words", inputs.texts,
        (here("pippin", "searched_thousand", ONE),
         there("tantivy", "searched_thousand_tantivy", "tantivy", checked=False),
         there("bm25s, numba", "searched_thousand_bm25s", "bm25s", "numba", "Stemmer", checked=False)),
        100_000, 10_000, {"bm25s, numba": 1.5},
    ),
    Line(
        "pagerank", "search", "PageRank of 100,000 pages and two million links", inputs.graph,
        (here("pippin", "pagerank"), there("scikit-network", "pagerank_sknetwork", "sknetwork", checked=False),
         there("igraph", "pagerank_igraph", "igraph")),
        100_000, 10_000, {}, None, 1e-7,
    ),
    Line(
        "links", "search", "all 20 link features of 1,000 candidates among a million pages", inputs.graph,
        (here("pippin", "link_features"),), 1_000_000, 100_000, {}, 0.015, long=True,
    ),
    Line(
        "lambdamart", "training", "LambdaMART, 120,000 × 136, 30 trees × 63 leaves, all cores, binning included",
        inputs.training_set,
        (
            here("pippin", "lambdamart"),
            there("LightGBM lambdarank", "lambdamart_lightgbm", "lightgbm", checked=False),
            there("LightGBM, quantised gradients", "lambdamart_lightgbm_quantised", "lightgbm", checked=False),
            there("XGBoost rank:ndcg", "lambdamart_xgboost", "xgboost", checked=False),
            there("CatBoost LambdaMart", "lambdamart_catboost", "catboost", checked=False),
            there("YDF LAMBDA_MART_NDCG", "lambdamart_ydf", "ydf", checked=False),
        ),
        120_000, 12_000, {"LightGBM lambdarank": 1.3}, turns=2, shows="NDCG@10",
    ),
    Line(
        "lambdamart-large", "training",
        "LambdaMART, 1.2 million × 136, 100 trees × 255 leaves, all cores, binning included", inputs.training_set,
        (
            here("pippin", "lambdamart_large"),
            there("LightGBM lambdarank", "lambdamart_lightgbm_large", "lightgbm", checked=False),
            there("LightGBM, quantised gradients", "lambdamart_lightgbm_large_quantised", "lightgbm", checked=False),
        ),
        1_200_000, 60_000, {"LightGBM lambdarank": 1.3}, turns=1, shows="NDCG@10", long=True,
    ),
    Line(
        "grid", "training",
        "LambdaMART, nine points × five folds of 24,000 × 46, 100 trees each, judged after each tree",
        inputs.five_parts,
        (here("pippin", "grid"), there("LightGBM lambdarank", "grid_lightgbm", "lightgbm", checked=False)),
        40_000, 4_000, {"LightGBM lambdarank": 3}, turns=1, shows="best NDCG@10 on validation", long=True,
    ),
    *(ranklib(*each) for each in (
        ("rankboost", "RankBoost, 300 rounds", ("2",), ("rounds=300", "patience=None")),
        ("adarank", "AdaRank, 500 rounds", ("3", "-noeq", "-max", "500", "-tolerance", "1"),
         ("rounds=500", "patience=None")),
        ("coordinate-ascent", "coordinate ascent, 5 restarts × 25 steps", ("4",),
         ("restarts=5", "steps=25", "start=uniform")),
        ("ranknet", "RankNet, 100 epochs, 10 units", ("1",), ("rounds=100", "patience=None")),
        ("listnet", "ListNet, 1,500 epochs", ("7",), ("rounds=1500", "patience=None")),
        ("lambdamart", "LambdaMART, at most 1,000 trees × 10 leaves, patience 100", ("6",),
         ("leaves=10", "learning_rate=0.1", "min_leaf=1", "bags=1", "row_fraction=1", "feature_fraction=1",
          "patience=100")),
    )),
    Line(
        "rankers", "workshop", "all rankers on MQ2008, whole grids, five folds", inputs.nothing,
        (pippin("pippin bench", "bench", "{data}/MQ2008", "-q", "-o", "{folder}/bench", needs=("@MQ2008",),
                fresh="bench"),),
        1, 1, {}, 90, turns=1, long=True,
    ),
    Line(
        "report", "workshop", "`pippin report` of 5 data sets × 16 rankers: page, tables, figures", inputs.results,
        (pippin("pippin report", "report", "{folder}/results", "-q", "-o", "{folder}/report", fresh="report"),),
        40, 8, {}, 5, turns=3, long=True,
    ),
    Line(
        "demo", "workshop", "`make demo`, installed", inputs.nothing,
        (pippin("pippin demo", "demo", "-q", "-o", "{folder}/demo", fresh="demo"),), 1, 1, {}, 75, turns=1, long=True,
    ),
    Line(
        "wheel", "workshop", "building the wheel, without a cache of the compiler", inputs.nothing,
        (Contestant("pip wheel", ("{python}", "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps",
                    "--config-settings", "build-dir={folder}/wheel/build", "--wheel-dir", "{folder}/wheel", "{root}"),
                    environment={"CCACHE_DISABLE": "1"}, needs=("pip",), ours=True, fresh="wheel"),),
        1, 1, {}, 60, turns=1, long=True,
    ),
    Line(
        "tests", "workshop", "`make test`, installed", inputs.nothing,
        (Contestant("make test", ("make", "-C", "{root}", "test"), needs=("/make",), ours=True),),
        1, 1, {}, 240, turns=1, long=True,
    ),
)  # fmt: skip
