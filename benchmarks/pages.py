"""Measure the time saved by parsing pages once and in several processes.

python benchmarks/pages.py FOLDER [--jobs 2]

FOLDER holds HTML pages. `links` and the reading of a build are timed as they are, and once more with what they did
before: every pass over the collection (addresses, anchor texts, links, index) parses every page again, in one process,
and every link is resolved by itself.
Seconds of the clock and of the processor, children included.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from pippin.collections import sources as named
from pippin.collections.index.index import build_index
from pippin.collections.link_summary import load_links
from pippin.collections.links import urls
from pippin.collections.links.graph import Graph, add_anchor_texts
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.urls import DocumentUrls
from pippin.collections.readers import read_collection
from pippin.collections.sources import open_collection


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""

    def used() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(item.ru_utime + item.ru_stime for item in both)

    start, before = time.perf_counter(), used()
    work()
    return time.perf_counter() - start, used() - before


def links_before(folder: Path) -> None:
    """`links` with a parse for every pass: addresses and anchor texts, addresses and links."""
    with patch.object(urls, "_joined", urls._joined.__wrapped__):
        collection = add_anchor_texts(read_collection(folder, documents_only=True))
        Graph.of_collection(collection, DocumentUrls.of(collection))


def build_now(folder: Path, target: Path, jobs: int) -> None:
    """What a build reads pages for: anchor texts, index, web."""
    collection = open_collection(folder, documents_only=True, jobs=jobs)
    LinkIndex.of(collection, build_index(collection, target))


def build_before(folder: Path, target: Path) -> None:
    """The same with a parse for every pass."""
    joined = patch.object(urls, "_joined", urls._joined.__wrapped__)
    with joined, patch.object(named, "spooled", lambda collection: collection):
        build_now(folder, target, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder, jobs = options.folder, options.jobs
    with TemporaryDirectory() as place:
        pairs = {
            "links": (lambda: links_before(folder), lambda: load_links(str(folder), jobs=jobs)),
            "build, what pages are read for": (
                lambda: build_before(folder, Path(place) / "before"),
                lambda: build_now(folder, Path(place) / "now", jobs),
            ),
        }
        print("| | a parse a pass: clock, processor | parsed once: clock, processor | times |\n|---|--:|--:|--:|")
        for name, (before, now) in pairs.items():
            (a, b), (c, d) = spent(before), spent(now)
            print(f"| {name} | {a:.1f} s, {b:.1f} s | {c:.1f} s, {d:.1f} s | {a / c:.1f}, {b / d:.1f} |", flush=True)


if __name__ == "__main__":
    main()
