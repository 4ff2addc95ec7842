"""`pippin rerank`: the whole chain for new queries: candidates, features, model, run."""

from __future__ import annotations

import argparse

from pippin.cli.options import flag, shared

HELP = """Rank the documents of an index for topics: candidates by BM25, their features, the model's scores.

The index is one of `pippin index`, or the one that `pippin build` keeps. Features are computed as `build` does, in the
version that the model was trained on."""
EXAMPLES = (
    "pippin rerank built.json cacm-letor --topics new.tsv --out new.run",
    'pippin rerank built.json cacm-letor --topics new.tsv --top 100 --candidates "lm-dirichlet(mu=500)"',
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model that `train` or `bench` wrote")
    parser.add_argument("index", metavar="INDEX", help="a folder of `pippin index` or `pippin build`")
    flag(parser, "topics", required=True)
    shared(parser, "field")
    flag(parser, "top", "as many candidates are scored for each query", default=1000)
    parser.add_argument("--candidates", default="bm25", metavar="MODEL", help="what finds them: bm25(k1=0.9,b=0.4), "
                        "lm-dirichlet(mu=500), or any feature of a stream (default: %(default)s)")  # fmt: skip
    flag(parser, "in", default="whole")
    flag(parser, "features", "the model's own, where it only numbers them")
    parser.add_argument("--version", default="QueryLevelNorm", metavar="V", help="what the model was trained on: "
                        "Feature-null, Feature-min or QueryLevelNorm (default: %(default)s)")  # fmt: skip
    shared(parser, "dense")
    flag(parser, "out", metavar="FILE", default="-")


def run(options: argparse.Namespace) -> int:
    """Rank and write."""
    from pippin.collection.readers import read_queries
    from pippin.collection.retrieval import Pipeline
    from pippin.data.trec_text import write_run
    from pippin.rankers import models

    pipeline = Pipeline(
        options.index, models.load(options.model), options.features, top=options.top, candidates=options.candidates,
        stream=options.stream, version=options.version, dense=options.dense,
    )  # fmt: skip
    write_run(pipeline(read_queries(options.topics, options.field)), options.output)
    return 0
