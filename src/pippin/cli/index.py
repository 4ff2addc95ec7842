"""`pippin index`: the inverted file of a collection."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.cli.options import flag, hint, old, shared
from pippin.cli.output import say

if TYPE_CHECKING:
    from pippin.collection.analysis import Analysis

HELP = """Index a collection: which documents hold which words, how often and where, for each of their streams.

The analysis (words, stop words, stems) is stored in the index; queries are analysed in the same way."""
EXAMPLES = (
    "pippin index cacm/ --out cacm.index",
    "pippin index pages.jsonl --out pages.index --stem english --memory 2G",
    "pippin index stdlib --out stdlib.index",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, or `stdlib`")
    flag(parser, "out", "an index that is there is replaced", metavar="FOLDER", required=True)
    shared(parser, "reader", "streams", "jobs", "quiet", repeated="refuse")
    add_analysis(parser)
    parser.add_argument("--no-texts", action="store_true", help="keep no texts of documents, which results show")
    flag(parser, "memory", "more is gathered on disk", default="128M")
    old(parser, "--output", "--out")
    old(parser, "--format", "--reader")


def add_analysis(parser: argparse.ArgumentParser) -> None:
    """Declare what says how texts become words."""
    shared(parser, stem="porter", stop="english", words="unicode")


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
    from pippin.machine import cpu_count, parse_size

    started = time.perf_counter()
    memory, analysis = parse_size(options.memory), analysis_of(options)
    collection = open_collection(
        options.collection, format=options.reader, documents_only=True, streams=options.streams,
        repeated=options.repeated, jobs=options.jobs or cpu_count(),
    )  # fmt: skip
    index = build_index(collection, options.output, analysis=analysis, memory=memory, texts=not options.no_texts,
                        verbose=not options.quiet)  # fmt: skip
    for note in collection.notes:
        hint(note)
    size, texts = index.bytes()
    beside = f" and {texts / 1e6:,.1f} MB of texts" if texts else ""
    seconds = time.perf_counter() - started
    say(f"{index.name}: {index.documents:,} documents, {index.manifest['terms']:,} terms, {size / 1e6:,.1f} MB"
        f"{beside} in {options.output}, {seconds:.1f} s")  # fmt: skip
    width = max(map(len, index.streams))
    for stream in index.streams:
        members = index.manifest["streams"][stream]["union"]
        made = f"  = {' + '.join(members)}" if members else ""
        say(f"  {stream:<{width}}  {index.total(stream):>12,} words, {index.average(stream):,.1f} a document, "
            f"{index.terms(stream):,} {'term' if index.terms(stream) == 1 else 'terms'}{made}")  # fmt: skip
    if index.manifest["documents_cut"]:
        cut = index.manifest["documents_cut"]
        hint(f"{cut:,} documents were longer than {analysis.limit:,} words in a stream, and are cut there")
    return 0
