"""`pippin diversify`: a run whose documents do not say the same twice."""

from __future__ import annotations

import argparse

from pippin.cli.options import flag, shared

HELP = """Take the lists of a run again, so that documents do not say the same twice.

By mmr(0.7), a document is worth its score less its likeness to those above it; by xquad(0.5), what it adds to subtopics
that are not served yet. The number is the weight of the score for MMR, and of the subtopics for xQuAD. Judge the
outcome by alpha-nDCG@20, ERR-IA@20, NRBP and strec@20 with judgements by subtopic."""
EXAMPLES = (
    "pippin diversify 'mmr(0.5)' bm25.run cacm.index --out mmr.run",
    "pippin diversify xquad bm25.run cacm.index --subqueries subtopics.tsv --out xquad.run",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("method", metavar="METHOD", help="mmr(0.7), by how alike documents are, or xquad(0.5), by the "
                        "subtopics that they serve")  # fmt: skip
    parser.add_argument("run", metavar="RUN", help="a TREC run")
    parser.add_argument("index", metavar="INDEX", help="a folder of `pippin index` or `pippin build`")
    parser.add_argument(
        "--subqueries", metavar="FILE", help="for xquad: the texts of subtopics, in any form that `pippin build` reads "
        "topics in, with the ids 201.1, 201.2 … for the query 201",
    )  # fmt: skip
    flag(parser, "top", "documents of a query that are taken one by one; the others follow", default=100)
    flag(parser, "in", default="whole")
    shared(parser, "field")
    flag(parser, "out", metavar="FILE", default="-")


def run(options: argparse.Namespace) -> int:
    """Diversify and write."""
    from pippin.collection.diversify import diversify
    from pippin.collection.readers import read_queries
    from pippin.collection.retrieval import open_source
    from pippin.data.trec_text import read_run, write_run

    subtopics = [] if options.subqueries is None else read_queries(options.subqueries, options.field)
    index, _ = open_source(options.index)
    made = diversify(read_run(options.run), index, options.method, subtopics=subtopics, depth=options.top,
                     stream=options.stream)  # fmt: skip
    write_run(made, options.output)
    return 0
