"""Processes that parse pages: lines of JSON in, lines of JSON out, each fed by a thread that waits for its answers.

Plain processes, as the bench's workers are: nothing is pickled, the program that asks need not be importable, and a
page that ends a process is an error with a sentence.
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from types import TracebackType
from typing import IO, cast

from pippin.collection.collection import Document, Link
from pippin.collection.readers.web import RawPage, page_document
from pippin.errors import DataError
from pippin.machine import isolated_python

BUNDLE = 16  # pages that a process is handed at a time


class Parsers:
    """Some processes, for the time of a `with`."""

    def __init__(self, jobs: int, streams: Sequence[str]) -> None:
        command = isolated_python("pippin.collection.readers.parsers")
        self._all = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(jobs)
        ]
        self._free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        for process in self._all:
            self._free.put(process)
        self._streams = list(streams)
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Parsers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._all:
            process.kill()
            process.wait()
        self._threads.shutdown()
        for process in self._all:
            with suppress(OSError):  # what was not taken any more, of a process that ended
                cast(IO[str], process.stdin).close()
            cast(IO[str], process.stdout).close()

    def parse(self, pages: Iterable[RawPage]) -> Iterator[Document]:
        """The documents of pages, in their order."""
        waiting: deque[Future[list[Document]]] = deque()
        iterator = iter(pages)
        while bundle := tuple(islice(iterator, BUNDLE)):
            waiting.append(self._threads.submit(self._ask, bundle))
            while len(waiting) > 2 * len(self._all):
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _ask(self, pages: Sequence[RawPage]) -> list[Document]:
        process = self._free.get()
        asked = [[page.id, page.url, b64encode(page.data).decode(), page.charset] for page in pages]
        try:
            pipe = cast(IO[str], process.stdin)
            pipe.write(json.dumps([self._streams, asked]) + "\n")
            pipe.flush()
            line = cast(IO[str], process.stdout).readline()
            if not line:
                raise BrokenPipeError
        except OSError:
            raise DataError(f"a process that parses pages ended between {pages[0].id} and {pages[-1].id}") from None
        finally:
            self._free.put(process)  # also one that ended, or whoever waits for it would wait for ever
        return [
            Document(name, streams, url, tuple(Link(target, text) for target, text in links))
            for name, streams, url, links in json.loads(line)
        ]


def main() -> None:
    """Parse until the input ends."""
    for line in sys.stdin:
        streams, pages = json.loads(line)
        documents = [page_document(n, url, b64decode(data), tuple(streams), charset) for n, url, data, charset in pages]
        answer = [[d.id, dict(d.streams), d.url, [[link.target, link.text] for link in d.links]] for d in documents]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
