"""The `pippin build` command."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import add_option, add_options, connect_dask, default_jobs
from pippin.cli.output import print_message
from pippin.cli.retrieval import add_analysis
from pippin.errors import DataError

HELP = """Build a learning-to-rank data set from a collection of documents, queries and judgements.

--explain prints which files are read as what, and builds nothing."""
EXAMPLES = (
    "pippin build --explain cacm/",
    "pippin build cacm/ --out cacm-letor --sample 100",
    'pippin build docs.jsonl --queries topics.tsv --qrels judged.txt -o built --features "bm25@title bm25@text"',
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("collection", metavar="COLLECTION", help="a file or folder of documents, or `stdlib`")
    add_options(parser, "input_format")
    add_option(parser, "queries", "(default: found next to the documents)")
    add("--qrels", metavar="FILE", help="judgements (default: found next to the documents)")
    add_options(parser, "fields", repeated="refuse")
    add_option(parser, "out", metavar="FOLDER")
    add("--explain", action="store_true", help="print which files are read as documents, queries and judgements "
        "instead of building")  # fmt: skip
    add_option(parser, "features", "auto selects those that fit the collection", default="auto")
    add_options(parser, sample=1000, folds=5)
    add_option(
        parser, "seed", "queries are shuffled before they are divided into folds (default: they keep their order)"
    )
    add(
        "--sampling",
        choices=("top", "judged", "both"),
        help="documents to rank per query: the top by BM25, the "
        "judged, or both (default: as the collection was judged)",
    )
    add("--unjudged", choices=("drop", "keep"), default="drop", help="drop queries without judgements, or keep them "
        "with all documents not relevant (default: %(default)s)")  # fmt: skip
    add("--drop-uninformative", action="store_true", help="drop features that are constant or copies of others")
    add_options(parser, "query_field")
    add("--min-rule", choices=("letor", "min"), default="letor", help="replacement of missing values: 0 for BM25, else "
        "the query's minimum (letor), or always the minimum (default: %(default)s)")  # fmt: skip
    add("--no-meta", action="store_true", help="do not write the meta-information files, which are large")
    add("--similarity", action="store_true", help="write the similarities of each query's documents")
    add("--for", dest="engine", metavar="ENGINE", help="keep only features that elasticsearch, opensearch, solr or "
        "vespa can compute, as raw values; mapping.json tells how")  # fmt: skip
    add_options(parser, "dense")
    add_analysis(parser)
    add_option(parser, "memory", "a larger index is merged on disk", default="128M")
    add("--resume", action="store_true", help="continue an interrupted build of the same data")
    add_options(parser, "dask", "jobs", "quiet")


def run(options: argparse.Namespace) -> int:
    """Build the data set and print its summary."""
    reading = {"queries": options.queries, "qrels": options.qrels, "format": options.input_format,
               "fields": options.fields, "repeated": options.repeated}  # fmt: skip
    jobs = options.jobs or default_jobs()
    if options.explain:
        text, is_readable = pippin.explain_collection(options.collection, jobs=jobs, **reading)
        print_message(text)
        return 0 if is_readable else 2
    if options.output is None:
        raise DataError("no folder for the data set: name one with -o FOLDER")
    with connect_dask(options.dask, options.jobs) as executor:
        built = pippin.build(
            options.collection, options.output, features=options.features, sampling=options.sampling,
            sample=options.sample, folds=options.folds, seed=options.seed, query_field=options.query_field,
            unjudged=options.unjudged, drop_uninformative=options.drop_uninformative, min_rule=options.min_rule,
            stem=options.stem, stop=options.stop, words=options.words, meta=not options.no_meta,
            similarity=options.similarity, dense=options.dense, engine=options.engine, memory=options.memory,
            jobs=jobs,            resume=options.resume, executor=executor, verbose=not options.quiet, **reading,
        )  # fmt: skip
    print_message(built.summary())
    return 0
