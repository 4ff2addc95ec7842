"""Data larger than one machine: partitions cut at queries, on the workers of a Dask cluster.

Every worker reads its partitions from a path that all of them share, and a partition holds whole queries, so that λ and
every measure can be computed where the data are. Scores and values come from each partition by itself: a worker that
is killed only has its partitions done again elsewhere. Trees are grown by all workers together, as `lightgbm.dask` has
them grown: one task a worker, LightGBM's own sockets among them. Its estimators are not used, because they have no
early stopping; here every worker has the whole validation set and grows the same trees, so that all come to the same
decision by themselves.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from pippin.bench.dask.listening import listening_on
from pippin.data.dataset import Dataset, concatenate
from pippin.data.packing import pack
from pippin.data.partitions import (
    Partition,
    Partitions,
    Writer,
    check_partitions,
    new_folder,
    open_partitions,
    write_manifest,
)
from pippin.errors import DataError
from pippin.evaluation.evaluate import Evaluation, Rankings
from pippin.evaluation.stream import Request, evaluate_part, join
from pippin.rankers import models, ranker
from pippin.rankers.base import Ranker
from pippin.rankers.parts.sample import drawn
from pippin.rankers.parts.trees import FEW, BoostedRanker, unlike_queries

T = TypeVar("T")
_ATTEMPTS = 3  # times that growing trees begins anew because a worker ended
_MANY = 20 * FEW  # queries, of which as many as trees want can be learned from
_LOOK = 2  # seconds between two looks at whether all workers are there
_RETURN = 30  # seconds that a worker has to come back after it ended


def evaluate_partitions(
    folder: str | os.PathLike[str],
    measures: Sequence[str],
    requests: Sequence[Request],
    client: Any = None,
    name: str | None = None,
) -> list[Evaluation]:
    """The scores of all partitions under every request, bit for bit as if they were evaluated as one.

    Without a client of a cluster, one partition after the other.
    """
    whole = check_partitions(folder)
    plain = [(tool, dict(overrides)) for tool, overrides in requests]
    shown = name or whole.name
    evaluated = _each(client, whole, _evaluate, tuple(measures), plain, shown)
    return [join(same) for same in zip(*evaluated, strict=True)]


def _each(client: Any, whole: Partitions, function: Callable[..., T], *arguments: Any) -> list[T]:
    """function(folder, partition, …) of every partition, in their order: on the cluster, or one after the other."""
    folder = str(whole.folder.resolve())
    if client is None:
        return [function(folder, part, *arguments) for part in whole.parts]
    futures = [client.submit(function, folder, part, *arguments, pure=False) for part in whole.parts]
    results: list[T] = client.gather(futures)
    return results


def _evaluate(
    folder: str, part: Partition, measures: Sequence[str], requests: Sequence[Request], name: str
) -> list[Evaluation]:
    whole = open_partitions(folder)
    return evaluate_part(Rankings(whole.read(part), whole.read_scores(part)), measures, requests, name)


def score_partitions(
    model: str | os.PathLike[str], folder: str | os.PathLike[str], target: str | os.PathLike[str], client: Any = None
) -> Partitions:
    """Score every partition with the model of a file; the new folder has query, document, label and score."""
    whole = check_partitions(folder)
    if models.load(model).relation_weight_:
        raise DataError("this model spreads scores along relations, which are not cut with the partitions", model)
    content = Path(model).read_bytes()
    with new_folder(target) as fresh:
        parts = tuple(_each(client, whole, _score, content, str(fresh.resolve())))
        write_manifest(replace(whole, folder=fresh, features=(), dtype="float32", scored=True, parts=parts))
    return open_partitions(target)


def _score(folder: str, part: Partition, model: bytes, target: str) -> Partition:
    whole = open_partitions(folder)
    data = whole.read(part)
    trained = models.from_bytes(model, "the model")
    scores = trained.predict(models.aligned(trained, data))
    bare = replace(data, features=np.empty((len(data), 0), np.float32), feature_names=(), comments=None, lines=None)
    # In a folder of its own first: a task can be done twice at a time, where a worker was thought lost.
    with TemporaryDirectory(dir=target, prefix=".") as scratch:
        writer = Writer(Path(scratch), len(data))
        writer.add(bare, scores)
        (written,) = writer.closed()
        (Path(scratch) / written.file).replace(Path(target) / part.file)
    return replace(written, file=part.file)


class _Lost(Exception):
    """A worker ended."""


def train_partitions(
    model: Ranker, folder: str | os.PathLike[str], client: Any, valid: Dataset | None = None
) -> BoostedRanker:
    """Fit LambdaMART on partitions that no single machine need hold; every worker holds whole partitions.

    The trees depend on the data, the parameters and the number of workers, not on which worker has what. A worker that
    ends takes the trees with it, and all begins anew.
    """
    if not isinstance(model, BoostedRanker) or model.name != "lambdamart":
        raise DataError(f"lambdamart can be trained over partitions on a cluster, and {model.name} cannot")
    model.check_parameters()
    whole = check_partitions(folder)
    if whole.labels[0] < 0:
        raise DataError(f"labels are 0 or more, and the lowest here is {whole.labels[0]}", folder)
    model.feature_names_ = whole.features
    model.n_features_in_ = len(whole.features)
    held = None if valid is None else _bare(models.aligned(model, valid))
    for _ in range(_ATTEMPTS):
        with suppress(_Lost):
            model.curve_, state = _grow_together(client, model, whole, held)
            model._restore(state)
            model._sample = drawn(whole.read(whole.parts[0]))
            return model
    raise DataError(f"a worker ended while trees were grown, {_ATTEMPTS} times over")


def _bare(data: Dataset) -> Dataset:
    """The data without the file it was read from, to be sent."""
    ids = None if data.document_ids is None else pack(data.document_ids)
    return replace(data, document_ids=ids, comments=None, lines=None)


def shares(parts: Iterable[Partition], workers: int) -> list[list[Partition]]:
    """Whole partitions for each worker: the largest first, to whoever has least; no share is empty.

    >>> a, b, c = (Partition(f"{n}", 1, n, n, "") for n in (5, 3, 1))
    >>> [[part.file for part in share] for share in shares([a, b, c], 2)]
    [['5'], ['1', '3']]
    """
    given: list[list[Partition]] = [[] for _ in range(workers)]
    for part in sorted(parts, key=lambda part: -part.documents):
        min(given, key=lambda share: sum(p.documents for p in share)).append(part)
    # Within a share, queries stand in the order of the whole.
    return [sorted(share, key=lambda part: part.file) for share in given if share]


def _grow_together(
    client: Any, model: BoostedRanker, whole: Partitions, valid: Dataset | None
) -> tuple[list[float], dict[str, Any]]:
    """One attempt: the validation curve and the state of the model."""
    useful = [part for part in whole.parts if part.unlike]
    if not useful:
        raise DataError("no query has documents of different labels, so there is nothing to learn", whole.folder)
    workers = sorted(client.nthreads())
    if not workers:
        raise DataError("the cluster has no worker")
    given = shares(useful, len(workers))
    # The whole decides on the size of trees, and a worker sees its share alone.
    asked = model.get_params(deep=False)
    documents = sum(part.unlike if asked["drop_constant"] else part.documents for part in useful)
    given_parameters = {**asked, **model.sizes(_unlike_queries(whole), documents)}
    workers = workers[: len(given)]
    try:
        return _grown(client, model.name, given_parameters, whole, list(zip(workers, given, strict=True)), valid)
    except _Lost:
        _begin_anew(client, workers)
        raise


def _grown(
    client: Any,
    name: str,
    parameters: Mapping[str, Any],
    whole: Partitions,
    given: Sequence[tuple[str, Sequence[Partition]]],
    valid: Dataset | None,
) -> tuple[list[float], dict[str, Any]]:
    """What the first worker brings home, where each has its share; `_Lost` where one of them ends, at whatever time."""
    workers = [worker for worker, _ in given]
    try:
        networks = _networks(client, workers)
        shipped = [_shipped(client, valid, worker) for worker in workers]
    except (OSError, KeyError) as error:  # who is asked for a port or sent the validation set does not answer
        raise _Lost(str(error)) from error
    futures = [
        client.submit(
            grow_share, name, parameters, str(whole.folder.resolve()), whole.digest(),
            share, held, network, rank == 0,
            workers=[worker], allow_other_workers=False, pure=False, retries=0,
        )
        for rank, ((worker, share), held, network) in enumerate(zip(given, shipped, networks, strict=True))
    ]  # fmt: skip
    try:
        _watch(client, workers, futures)
        result: tuple[list[float], dict[str, Any]] = futures[0].result()
    except (_Lost, CancelledError) as error:  # the scheduler cancels what needs data that went with a worker
        client.cancel(futures)
        raise _Lost(str(error)) from error
    return result


def _shipped(client: Any, valid: Dataset | None, worker: str) -> Any:
    """The validation set on a worker; not by a broadcast, which the scheduler repeats without end if one has ended."""
    return None if valid is None else client.scatter(valid, workers=[worker], hash=False)


def _unlike_queries(whole: Partitions) -> int:
    """Queries with something to learn, counted only where they may be few, and reading them is little."""
    queries = sum(part.queries for part in whole.parts)
    if queries >= _MANY:
        return queries
    return sum(len(unlike_queries(whole.read(part), part.file)) for part in whole.parts if part.unlike)


def _begin_anew(client: Any, workers: Sequence[str]) -> None:
    """New processes for the workers that are left, and a while for the lost one to come back."""
    left = sorted(set(workers) & set(client.nthreads()))
    # LightGBM may wait without end for one that is gone; only a new process frees it. A worker without a nanny stays,
    # and one that the scheduler does not yet know to be gone is no longer found, or does not answer.
    with suppress(ValueError, KeyError, OSError):
        client.restart_workers(left, timeout=_RETURN)
    with suppress(TimeoutError):
        client.wait_for_workers(len(workers), timeout=_RETURN)


def _watch(client: Any, workers: Sequence[str], futures: Sequence[Any]) -> None:
    """Wait until all are done; raise what one raises, and `_Lost` where a worker is gone."""
    import distributed

    wait: Any = distributed.wait
    while True:
        try:
            done = wait(futures, timeout=_LOOK, return_when="FIRST_COMPLETED")
        except TimeoutError:
            done = None
        gone = sorted(set(workers) - set(client.nthreads()))
        if gone:
            raise _Lost(gone[0])
        if done is not None:
            for future in done.done:
                _raise_of(future)
            futures = list(done.not_done)
        if not futures:
            return


def _raise_of(future: Any) -> None:
    error = future.exception()
    if error is not None:
        # The others may hear of the end of a worker before the scheduler does.
        raise _Lost(str(error)) if "Socket" in str(error) else error


def _networks(client: Any, workers: Sequence[str]) -> list[dict[str, Any]]:
    """LightGBM's network parameters of each worker; none where there is one worker alone."""
    if len(workers) == 1:
        return [{}]
    ports = client.run(_free_port, workers=list(workers))
    machines = ",".join(f"{_host(worker)}:{ports[worker]}" for worker in workers)
    return [
        {
            "machines": machines, "num_machines": len(workers), "local_listen_port": ports[worker], "time_out": 2,
            "tree_learner": "data", "pre_partition": True,
        }
        for worker in workers
    ]  # fmt: skip


def _host(worker: str) -> str:
    """The host of a worker's address: the interface on which it speaks to the others."""
    return urlsplit(worker).hostname or "127.0.0.1"


def _free_port(dask_worker: Any) -> int:
    with socket.socket() as free:
        free.bind((_host(dask_worker.address), 0))
        port: int = free.getsockname()[1]
    return port


def grow_share(
    name: str,
    parameters: Mapping[str, Any],
    folder: str,
    digest: str,
    share: Sequence[Partition],
    valid: Dataset | None,
    network: Mapping[str, Any],
    first: bool,
) -> tuple[list[float], dict[str, Any]] | None:
    """What a worker does: read its whole queries, and grow trees with the others. The first brings them home."""
    from distributed import get_worker

    os.environ["PIPPIN_THREADS"] = str(get_worker().state.nthreads)
    whole = open_partitions(folder)
    if whole.digest() != digest:
        raise DataError("the worker sees other partitions at this path than the one who asked", folder)
    model: Any = ranker(name)(**parameters)
    train = read_share(whole, share, unlike=model.drop_constant)
    model.feature_names_ = train.feature_names
    model.n_features_in_ = train.features.shape[1]
    model._network = network
    model.verbose = False
    with _no_chatter(), listening_on(_host(get_worker().address)) if network else nullcontext():
        model.learn(train, valid)
    return (model.curve_, model._state()) if first else None


def read_share(whole: Partitions, share: Sequence[Partition], *, unlike: bool) -> Dataset:
    """Whole partitions as one data set, in hardly more memory than its features take.

    `unlike` leaves out queries whose documents all have one label, here, because to leave them out later is a copy.
    """
    rows = sum(part.unlike if unlike else part.documents for part in share)
    features = np.empty((rows, len(whole.features)), whole.dtype)
    others: list[Dataset] = []
    end = 0
    for part in share:
        data = whole.read(part)
        if (data.queries, len(data)) != (part.queries, part.documents):
            message = (
                f"{len(data)} documents of {data.queries} whole queries, and the manifest says {part.documents} of "
            )
            raise DataError(f"{message}{part.queries}", whole.folder / part.file)
        data = data.select(unlike_queries(data, part.file)) if unlike else data
        if np.isinf(data.features).any():
            raise DataError("a feature is infinite", whole.folder / part.file)
        features[end : end + len(data)] = data.features
        end += len(data)
        others.append(replace(_bare(data), features=np.empty((len(data), 0), features.dtype), feature_names=()))
    return replace(concatenate(others), features=features, feature_names=whole.features, name=whole.name)


@contextmanager
def _no_chatter() -> Iterator[None]:
    """Without what LightGBM's C++ threads print of every connection, which no setting keeps from standard output."""
    kept = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
