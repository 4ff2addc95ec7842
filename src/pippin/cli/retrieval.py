"""The commands `pippin index`, `search`, `rerank` and `diversify`."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pippin
from pippin.cli.options import Command, add_option, add_options, add_output_options, default_jobs, print_warning
from pippin.cli.output import print_message, write_result, write_run
from pippin.display.tables import Paragraph, Renderable, Table
from pippin.display.terminal import current_terminal

if TYPE_CHECKING:
    from pippin.collections.index.index import Index

_INDEX_FOLDER = "a folder written by `pippin index` or `pippin build`"


def configure_index(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin index`."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, or `stdlib`")
    add_option(parser, "out", "an existing index there is replaced", metavar="FOLDER", required=True)
    add_options(parser, "input_format", "fields", "jobs", "quiet", repeated="refuse")
    add_analysis(parser)
    parser.add_argument("--no-texts", action="store_true", help="do not store the texts of documents, which search "
                        "results show")  # fmt: skip
    add_option(parser, "memory", "a larger index is merged on disk", default="128M")


def add_analysis(parser: argparse.ArgumentParser) -> None:
    """Declare how texts are split into terms."""
    add_options(parser, stem="porter", stop="english", words="unicode")


def run_index(options: argparse.Namespace) -> int:
    """Index the collection and print a summary."""
    started = time.perf_counter()
    index = pippin.index(
        options.collection, options.output, format=options.input_format, fields=options.fields,
        repeated=options.repeated, stem=options.stem, stop=options.stop, words=options.words,
        texts=not options.no_texts, memory=options.memory,
        jobs=options.jobs or default_jobs(), verbose=not options.quiet,
    )  # fmt: skip
    size, texts = index.bytes()
    stored = f" and {texts / 1e6:,.1f} MB of texts" if texts else ""
    seconds = time.perf_counter() - started
    print_message(
        f"{index.name}: {index.documents:,} documents, {index.manifest['terms']:,} terms, {size / 1e6:,.1f} MB"
        f"{stored} in {options.output}, {seconds:.1f} s"
    )
    width = max(map(len, index.fields))
    for field in index.fields:
        print_message(f"  {field:<{width}}  {describe_field(index, field)}")
    return 0


def describe_field(index: Index, field: str) -> str:
    """Return the sizes of a field, and of which fields it is the union."""
    members, terms = index.manifest["streams"][field]["union"], index.vocabulary_size(field)
    union = f"  = {' + '.join(members)}" if members else ""
    return (f"{index.total_terms(field):>12,} words, {index.average_length(field):,.1f} per document, "
            f"{terms:,} {'term' if terms == 1 else 'terms'}{union}")  # fmt: skip


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin search`."""
    parser.add_argument("index", metavar="INDEX", help=_INDEX_FOLDER)
    parser.add_argument("query", metavar="WORDS", nargs="*", help="the words of one query")
    add_options(parser, "queries", "query_field")
    add_option(parser, "top", "(default: 10, or 1000 with --queries)")
    parser.add_argument(
        "--model", metavar="MODEL", default="bm25",
        help="retrieval model: bm25(k1=0.9,b=0.4), lm-dirichlet(mu=500), lm-jm, tfidf, or any feature of a field "
        "(default: bm25(k1=2.5,b=0.8))",
    )  # fmt: skip
    add_option(parser, "field", "(default: `whole` if it exists, else the last)")
    add_output_options(parser)


def run_search(options: argparse.Namespace) -> int:
    """Search and print the results."""
    results = pippin.search(
        options.index, options.queries, query=" ".join(options.query) or None, query_field=options.query_field,
        model=options.model, top=options.top, field=options.field,
    )  # fmt: skip
    if options.queries is None:
        record = results.record()
        write_result(
            options.format, options.output, lambda: search_parts(record), lambda: record, lambda: hits_table(record)
        )
        return 0
    write_run(results.run(), options.output)
    if results.unmatched:
        examples, total = ", ".join(results.unmatched[:3]), len(results.queries)
        print_warning(f"no document matches {len(results.unmatched)} of the {total} queries ({examples} …)")
    return 0


def search_parts(record: dict[str, Any]) -> list[Renderable]:
    """Return the analysed words and the documents."""
    words = ", ".join(f"{word['word']} ({word['documents']:,})" for word in record["words"])
    hits = Hits(record) if record["hits"] else Paragraph("no document contains any of these words")
    return [Paragraph(f"{record['index']}, {record['field']}: {words}"), hits]


@dataclass(frozen=True)
class Hits:
    """The documents of one query, best first."""

    record: dict[str, Any]

    def render(self, format: str = "table") -> str:
        """Return a few lines per document on a terminal; a table in other formats."""
        if format != "table":
            return hits_table(self.record).render(format)
        hits = self.record["hits"]
        rank_width, score_width = len(str(len(hits))), max(len(f"{hit['score']:.4f}") for hit in hits)
        return "\n\n".join(self._lines(hit, rank_width, score_width) for hit in hits)

    def _lines(self, hit: dict[str, Any], rank_width: int, score_width: int) -> str:
        terminal = current_terminal()
        head = f"{hit['rank']:>{rank_width}}  {hit['score']:>{score_width}.4f}  {hit['document']}"
        indent = " " * (rank_width + score_width + 4)
        texts = [hit["title"] if hit["title"] != hit["document"] else "", hit["snippet"], hit["url"]]
        lines = [Paragraph(indent + text, indent).render() for text in texts if text]
        return "\n".join([terminal.paint(terminal.text(head), "heading"), *lines])


def hits_table(record: dict[str, Any]) -> Table:
    """Return one row per document, best first."""
    rows = [
        [str(hit["rank"]), f"{hit['score']:.4f}", hit["document"], hit["title"], hit["url"], hit["snippet"]]
        for hit in record["hits"]
    ]
    return Table(["rank", "score", "document", "title", "url", "snippet"], rows, text_columns=0, trailing_text=4)


def configure_rerank(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin rerank`."""
    parser.add_argument("model", metavar="MODEL", help="a model written by `pippin train` or `pippin bench`")
    parser.add_argument("index", metavar="INDEX", help=_INDEX_FOLDER)
    add_option(parser, "queries", required=True)
    add_options(parser, "query_field")
    add_option(parser, "top", "here the number of candidates per query (default: as in the training data)")
    parser.add_argument(
        "--candidates", default="bm25", metavar="MODEL",
        help="retrieval model that finds the candidates: bm25(k1=0.9,b=0.4), lm-dirichlet(mu=500), or any feature of "
        "a field (default: %(default)s)",
    )  # fmt: skip
    add_option(parser, "field", "(default: `whole` if it exists, else the last)")
    add_option(parser, "features", "needed if the model has numbers instead of names")
    parser.add_argument(
        "--version", metavar="V",
        help="version of the data set that the model was trained on: Feature-null, Feature-min or QueryLevelNorm; "
        "needed only if the model does not record it",
    )  # fmt: skip
    add_options(parser, "dense")
    add_option(parser, "out", metavar="FILE", default="-")


def run_rerank(options: argparse.Namespace) -> int:
    """Rank the documents and write the run."""
    run = pippin.rerank(
        options.model, options.index, options.queries, query_field=options.query_field, features=options.features,
        top=options.top, candidates=options.candidates, field=options.field, version=options.version,
        dense=options.dense,
    )  # fmt: skip
    write_run(run, options.output)
    return 0


def configure_diversify(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin diversify`."""
    parser.add_argument("method", metavar="METHOD", help="mmr(0.7), by the similarity of documents, or xquad(0.5), by "
                        "the coverage of subtopics")  # fmt: skip
    parser.add_argument("run", metavar="RUN", help="a TREC run")
    parser.add_argument("index", metavar="INDEX", help=_INDEX_FOLDER)
    parser.add_argument(
        "--subqueries", metavar="FILE", default=(),
        help="for xquad: the texts of subtopics, in any format of queries that `pippin build` reads, with ids 201.1, "
        "201.2 … for query 201",
    )  # fmt: skip
    add_option(parser, "depth", "only these are re-ranked; the others follow in their order", default=100)
    add_option(parser, "field", default="whole")
    add_options(parser, "query_field")
    add_option(parser, "out", metavar="FILE", default="-")


def run_diversify(options: argparse.Namespace) -> int:
    """Re-rank the run and write it."""
    run = pippin.diversify(
        options.run, options.index, options.method, subqueries=options.subqueries, depth=options.depth,
        field=options.field, query_field=options.query_field,
    )  # fmt: skip
    write_run(run, options.output)
    return 0


COMMANDS = {
    "index": Command(
        """Index a collection of documents: which documents contain which words, how often and where, per field.

The analysis (words, stop words, stems) is stored in the index; queries are analysed in the same way.""",
        (
            "pippin index cacm/ --out cacm.index",
            "pippin index pages.jsonl --out pages.index --stem english --memory 2G",
            "pippin index stdlib --out stdlib.index",
        ),
        configure_index,
        run_index,
    ),
    "search": Command(
        """Search an index by BM25 or by any feature of a field.

With --queries, all queries of a file are answered on all cores, and the result is a TREC run.""",
        (
            'pippin search cacm.index "time sharing operating systems"',
            'pippin search cacm.index time sharing --top 20 --field title --model "bm25(k1=0.9,b=0.4)"',
            'pippin search cacm.index --queries topics.tsv --out lm.run --model "lm-dirichlet(mu=500)"',
        ),
        configure_search,
        run_search,
    ),
    "rerank": Command(
        """Rank the documents of an index for new queries: retrieve candidates, extract features, score with a model.

The index is one of `pippin index`, or the one in the folder of `pippin build`. Features are computed as `build` does.
The version of the features and the number of candidates are those that the model was trained on.""",
        (
            "pippin rerank built.json cacm-letor --queries new.tsv --out new.run",
            'pippin rerank built.json cacm-letor --queries new.tsv --candidates "lm-dirichlet(mu=500)"',
        ),
        configure_rerank,
        run_rerank,
    ),
    "diversify": Command(
        """Re-rank a run for diversity.

mmr(0.7) subtracts the similarity to documents ranked above from the score; xquad(0.5) adds the coverage of subtopics
that are not covered yet. The number is the weight of the score for MMR, and of the subtopics for xQuAD. Evaluate the
result by alpha-nDCG@20, ERR-IA@20, NRBP and strec@20 with judgements by subtopic.""",
        (
            "pippin diversify 'mmr(0.5)' bm25.run cacm.index --out mmr.run",
            "pippin diversify xquad bm25.run cacm.index --subqueries subtopics.tsv --out xquad.run",
        ),
        configure_diversify,
        run_diversify,
    ),
}
