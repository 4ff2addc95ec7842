"""The workers of a Dask cluster as `pippin build` asks for them: tasks that are done again where a worker is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pippin.bench.dask.cluster import connected
from pippin.errors import DataError
from pippin.machine import cpu_count

T = TypeVar("T")


@contextmanager
def workers(address: str, jobs: int | None = None) -> Iterator[Workers]:
    """The workers of the scheduler at an address, or so many processes here (`local`), for `build(…, spread=…)`."""
    if address != "local" and jobs is not None:
        raise DataError("how many workers there are is for the cluster to say; --jobs is for --dask local")
    with connected(address, jobs or cpu_count(), None) as client:
        yield Workers(client)


class Workers:
    """The workers that a client reaches (see `pippin.collection.sharded.Spread`)."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.workers = max(1, len(client.nthreads()))

    def each(self, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """function(*one) of each, in their order; a task that ends several workers is given up with that sentence."""
        from distributed.scheduler import KilledWorker

        futures = [self._client.submit(alone, function, one, pure=False) for one in arguments]
        try:
            while futures:
                result: T = futures[0].result()
                yield result
                futures.pop(0).release()
        except KilledWorker:
            raise DataError(
                "the workers that built a part ended, again and again, as the system does when memory runs out"
            ) from None
        finally:
            self._client.cancel(futures)


def alone(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """What a worker does: one task on one core, for there are other workers."""
    os.environ["PIPPIN_THREADS"] = "1"
    return function(*arguments)
