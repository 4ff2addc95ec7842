"""`pippin index`: the inverted file of a collection."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pippin.collection.analysis import Analysis

HELP = """Index a collection: which documents hold which words, how often and where, for each of their streams.

  pippin index cacm/ -o cacm.index                 a folder or file in a format that is found out
  pippin index pages.jsonl -o pages.index --stem english --memory 2G
  pippin index stdlib -o stdlib.index              the standard library of this Python

The analysis (words, stop words, stems) is stored in the index; queries are analysed in the same way."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, or `stdlib`")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the index; one there is replaced")
    parser.add_argument("--format", metavar="F", help="the collection's format (default: found out)")
    add_analysis(parser)
    parser.add_argument("--memory", default="512M", metavar="SIZE", help="how much the build may gather before it "
                        "spills to disk, e.g. 512M or 2G (default: %(default)s)")  # fmt: skip


def add_analysis(parser: argparse.ArgumentParser) -> None:
    """Declare what says how texts become words."""
    parser.add_argument("--stem", default="porter", metavar="S", help="porter, english (Porter's second), another "
                        "Snowball language, or none (default: %(default)s)")  # fmt: skip
    parser.add_argument("--stop", default="english", metavar="LIST", help="english, none, or a file of words "
                        "(default: %(default)s)")  # fmt: skip
    parser.add_argument("--words", default="unicode", metavar="W", help="unicode: letters and digits of all scripts; "
                        "ascii: a–z and 0–9 (default: %(default)s)")  # fmt: skip


def analysis_of(options: argparse.Namespace) -> Analysis:
    """The analysis that was asked for."""
    from pippin.collection.analysis import Analysis
    from pippin.collection.stopwords import STOP_WORDS

    stop: str | tuple[str, ...] = options.stop
    if options.stop not in STOP_WORDS and Path(options.stop).is_file():
        stop = tuple(Path(options.stop).read_text(encoding="utf-8").split())
    return Analysis(words=options.words, stop=stop, stem=options.stem)


def run(options: argparse.Namespace) -> int:
    """Build, and say what there is now."""
    from pippin.collection.index import build_index
    from pippin.collection.named import open_collection
    from pippin.machine import parse_size

    started = time.perf_counter()
    memory, analysis = parse_size(options.memory), analysis_of(options)
    collection = open_collection(options.collection, format=options.format, documents_only=True)
    for note in collection.notes:
        print(f"pippin: {note}", file=sys.stderr)
    index = build_index(collection, options.output, analysis=analysis, memory=memory, verbose=True)
    size = sum(record["bytes"] for record in index.manifest["files"].values())
    seconds = time.perf_counter() - started
    print(f"{index.name}: {index.documents:,} documents, {index.manifest['terms']:,} terms, {size / 1e6:,.1f} MB "
          f"in {options.output}, {seconds:.1f} s")  # fmt: skip
    width = max(map(len, index.streams))
    for stream in index.streams:
        members = index.manifest["streams"][stream]["union"]
        made = f"  = {' + '.join(members)}" if members else ""
        print(f"  {stream:<{width}}  {index.total(stream):>12,} words, {index.average(stream):,.1f} a document, "
              f"{index.terms(stream):,} terms{made}")  # fmt: skip
    if index.manifest["documents_cut"]:
        print(f"pippin: {index.manifest['documents_cut']:,} documents were longer than {analysis.limit:,} words in a "
              "stream, and are cut there", file=sys.stderr)  # fmt: skip
    return 0
