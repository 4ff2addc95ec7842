"""`pippin search`: what BM25 finds in an index, which is what the sampler sees."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pippin.errors import DataError

if TYPE_CHECKING:
    from pippin.collection.index import Index

HELP = """Search an index by BM25, as documents are sampled for a query.

  pippin search cacm.index "time sharing operating systems"
  pippin search cacm.index "time sharing" -n 20 --stream title --k1 0.9 --b 0.4"""

SHOWN_WORDS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("index", metavar="INDEX", help="a folder written by `pippin index`")
    parser.add_argument("words", metavar="WORDS", nargs="+", help="what to look for")
    parser.add_argument("-n", type=int, default=10, metavar="N", help="how many documents (default: %(default)s)")
    parser.add_argument("--stream", metavar="S", help="where to look (default: `whole` if there is one, else the last)")
    parser.add_argument("--k1", type=float, default=2.5, help="BM25's k1 (default: %(default)s, as for LETOR's Gov)")
    parser.add_argument("--b", type=float, default=0.8, help="BM25's b (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Search and print."""
    from pippin.collection.index import open_index

    if options.n < 1:
        raise DataError(f"at least one document is shown, not {options.n}")
    index = open_index(options.index)
    stream = options.stream or ("whole" if "whole" in index.streams else index.streams[-1])
    text = " ".join(options.words)
    words = index.analyse(text)
    if not words:
        raise DataError(f"nothing of {text!r} is left to look for: all of it is stop words or no words")
    df, _ = index.frequencies(stream, words)
    shown = ", ".join(f"{word} ({int(count):,})" for word, count in zip(words, df, strict=True))
    print(f"{index.name}, {stream}: {shown}")
    numbers, scores = index.top(words, options.n, stream=stream, k1=options.k1, b=options.b)
    if not len(numbers):
        print("no document holds any of these words")
    width = max((len(index.ids.at(number)) for number in numbers.tolist()), default=0)
    for rank, (number, score) in enumerate(zip(numbers.tolist(), scores.tolist(), strict=True), 1):
        print(f"{rank:>4}  {score:>9.4f}  {index.ids.at(number):<{width}}  {about(index, stream, number)}".rstrip())
    return 0


def about(index: Index, stream: str, number: int) -> str:
    """The url of a document or, where it has none, its first words as indexed."""
    url = index.urls.at(number)
    if url:
        return url
    _, tokens = index.tokens(stream, [number])
    first = " ".join(index.vocabulary.at(term) for term in tokens[:SHOWN_WORDS].tolist())
    return first + (" …" if len(tokens) > SHOWN_WORDS else "")
