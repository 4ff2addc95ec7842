"""`pippin search`: what an index holds for some words, or for all topics of a file at once, as a run."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pippin.cli.options import flag, hint, old, printing, shared
from pippin.cli.output import write
from pippin.collection.collection import WHOLE, Query
from pippin.errors import DataError
from pippin.tables import Part, Prose, Table
from pippin.terminal import screen

if TYPE_CHECKING:
    from pippin.collection.index import Index

HELP = """Search an index by BM25, as documents are sampled for a query, or by any feature of a stream.

With --topics all queries of a file are answered at once, on all cores, and the answer is a TREC run."""
EXAMPLES = (
    'pippin search cacm.index "time sharing operating systems"',
    "pippin search cacm.index time sharing --top 20 --in title --k1 0.9 --b 0.4",
    'pippin search cacm.index --topics topics.tsv --out lm.run --model "lm-dirichlet(mu=500)"',
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("index", metavar="INDEX", help="a folder written by `pippin index`")
    parser.add_argument("words", metavar="WORDS", nargs="*", help="what to look for")
    shared(parser, "topics", "field")
    flag(parser, "top", "(default: 10, or 1000 for topics)")
    parser.add_argument("--model", metavar="MODEL", help="what ranks: bm25(k1=0.9,b=0.4), lm-dirichlet(mu=500), lm-jm, "
                        "tfidf, or any feature of a stream (default: bm25 with --k1 and --b)")  # fmt: skip
    flag(parser, "in", "(default: `whole` if there is one, else the last)")
    parser.add_argument("--k1", type=float, default=2.5, help="BM25's k1 (default: %(default)s, as for LETOR's Gov)")
    parser.add_argument("--b", type=float, default=0.8, help="BM25's b (default: %(default)s)")
    printing(parser)
    old(parser, "--stream", "--in")


def run(options: argparse.Namespace) -> int:
    """Search and print."""
    from pippin.collection.index import open_index

    if bool(options.words) == (options.topics is not None):
        raise DataError("say what to look for, either in words or with --topics FILE")
    if options.top is not None and options.top < 1:
        raise DataError(f"at least one document is shown, not {options.top}")
    if options.topics is not None:
        return run_topics(options)
    answer = search(open_index(options.index), options)
    write(options.format, options.output, lambda: parts(answer), lambda: answer, lambda: table(answer))
    return 0


def run_topics(options: argparse.Namespace) -> int:
    """Answer all topics of a file, and write a run."""
    from pippin.collection import retrieval
    from pippin.collection.readers import read_queries
    from pippin.data.trec_text import write_run

    index, _ = retrieval.open_source(options.index)
    queries = read_queries(options.topics, options.field)
    found = index.search(queries, model=model_of(options), top=options.top or 1000, stream=options.stream or WHOLE)
    write_run(found.run(), options.output)
    silent = [query.id for query, numbers in zip(found.queries, found.numbers, strict=True) if not len(numbers)]
    if silent:
        hint(f"no document holds a word of {len(silent)} of the {len(queries)} queries ({', '.join(silent[:3])} …)")
    return 0


def model_of(options: argparse.Namespace) -> str:
    """The retrieval model as it is written."""
    return options.model or f"bm25(k1={options.k1:g},b={options.b:g})"


def search(index: Index, options: argparse.Namespace) -> dict[str, Any]:
    """The words as they are looked for, and the documents that were found."""
    from pippin.collection.snippets import show

    stream = options.stream or ("whole" if "whole" in index.streams else index.streams[-1])
    text = " ".join(options.words)
    words = index.analyse(text)
    if not words:
        raise DataError(f"nothing of {text!r} is left to look for: all of it is stop words or no words")
    df, _ = index.frequencies(stream, words)
    answer = index.search([Query("words", text)], model=model_of(options), top=options.top or 10, stream=stream)
    numbers, scores = answer.numbers[0], answer.scores[0]
    hits = [
        {
            "rank": rank,
            "score": score,
            "document": index.ids.at(number),
            **asdict(show(index, number, words, stream=stream)),
        }
        for rank, (number, score) in enumerate(zip(numbers.tolist(), scores.tolist(), strict=True), 1)
    ]
    return {
        "index": index.name, "stream": stream, "hits": hits,
        "words": [{"word": word, "documents": int(count)} for word, count in zip(words, df, strict=True)],
    }  # fmt: skip


def parts(answer: dict[str, Any]) -> list[Part]:
    """What was looked for, and what was found."""
    shown = ", ".join(f"{word['word']} ({word['documents']:,})" for word in answer["words"])
    none = Prose("no document holds any of these words")
    return [Prose(f"{answer['index']}, {answer['stream']}: {shown}"), Hits(answer) if answer["hits"] else none]


@dataclass(frozen=True)
class Hits:
    """The documents that were found, best first."""

    found: dict[str, Any]

    def render(self, form: str = "table") -> str:
        """A few lines a document, for reading; a table in the other forms."""
        if form != "table":
            return table(self.found).render(form)
        hits = self.found["hits"]
        ranks, scores = len(str(len(hits))), max(len(f"{hit['score']:.4f}") for hit in hits)
        return "\n\n".join(self._lines(hit, ranks, scores) for hit in hits)

    def _lines(self, hit: dict[str, Any], ranks: int, scores: int) -> str:
        head = screen().paint(
            screen().text(f"{hit['rank']:>{ranks}}  {hit['score']:>{scores}.4f}  {hit['document']}"), "heading"
        )
        left = " " * (ranks + scores + 4)
        said = [hit["title"] if hit["title"] != hit["document"] else "", hit["snippet"], hit["url"]]
        return "\n".join(
            [
                screen().paint(screen().text(head), "heading"),
                *(Prose(left + text, left).render() for text in said if text),
            ]
        )


def table(answer: dict[str, Any]) -> Table:
    """A row a document, best first."""
    rows = [[str(hit["rank"]), f"{hit['score']:.4f}", hit["document"], hit["title"], hit["url"], hit["snippet"]]
            for hit in answer["hits"]]  # fmt: skip
    return Table(["rank", "score", "document", "title", "url", "snippet"], rows, names=0, remarks=4)
