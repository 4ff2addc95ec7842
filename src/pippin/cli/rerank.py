"""`pippin rerank`: the whole chain for new queries: candidates, features, model, run."""

from __future__ import annotations

import argparse

from pippin.cli.options import flag, shared

HELP = """Rank the documents of an index for topics: candidates by BM25, their features, the model's scores.

  pippin rerank model.json cacm-letor --topics new.tsv -o new.run       an index that `build` keeps
  pippin rerank model.json cacm.index --topics new.tsv -o new.run --top 100 --candidates "lm-dirichlet(mu=500)"

Features are computed as `build` does, in the version that the model was trained on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model that `train` or `bench` wrote")
    parser.add_argument("index", metavar="INDEX", help="a folder of `pippin index` or `pippin build`")
    parser.add_argument("--topics", required=True, metavar="FILE", help="the queries, in any form that `build` reads")
    parser.add_argument("--field", metavar="NAME", help="which field of the topics is searched, e.g. description")
    flag(parser, "top", "as many candidates are scored for each query", default=1000)
    parser.add_argument("--candidates", default="bm25", metavar="MODEL", help="what finds them: bm25(k1=0.9,b=0.4), "
                        "lm-dirichlet(mu=500), or any feature of a stream (default: %(default)s)")  # fmt: skip
    parser.add_argument("--stream", default="whole", metavar="S", help="where they are looked for (default: whole)")
    parser.add_argument("--features", help="the model's features by name, where the model only numbers them")
    parser.add_argument("--version", default="QueryLevelNorm", metavar="V", help="what the model was trained on: "
                        "Feature-null, Feature-min or QueryLevelNorm (default: %(default)s)")  # fmt: skip
    shared(parser, out="-")


def run(options: argparse.Namespace) -> int:
    """Rank and write."""
    from pippin.collection.readers import read_queries
    from pippin.collection.retrieval import Pipeline
    from pippin.data.trec_text import write_run
    from pippin.rankers import models

    pipeline = Pipeline(
        options.index, models.load(options.model), options.features, top=options.top, candidates=options.candidates,
        stream=options.stream, version=options.version,
    )  # fmt: skip
    write_run(pipeline(read_queries(options.topics, options.field)), options.output)
    return 0
