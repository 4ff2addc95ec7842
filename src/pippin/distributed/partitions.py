"""Train and score on partitions: data larger than the memory of one machine.

Every worker reads its partitions from a path that all of them share. A partition holds whole queries, so lambdas and
measures are computed where the data are. Scores of a partition depend on that partition alone, so a lost worker's
partitions are scored again elsewhere. Trees are grown by all workers together, as in `lightgbm.dask`: one task per
worker, connected by LightGBM's own sockets. The estimators of `lightgbm.dask` are not used because they have no early
stopping; here every worker has the complete validation set and the same trees, so all stop at the same round.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from pippin.data.dataset import Dataset, concatenate
from pippin.data.partitions import (
    Partition,
    Partitions,
    PartitionWriter,
    check_partitions,
    new_folder,
    open_partitions,
    write_manifest,
)
from pippin.distributed.dask_executor import ClusterLost, DaskExecutor
from pippin.distributed.lightgbm_network import bind_to_host
from pippin.errors import DataError
from pippin.plugins import load_modules, loaded_modules
from pippin.rankers import models, ranker
from pippin.rankers.base import Ranker
from pippin.rankers.boosting import LEAF_QUERIES, LEAVES, BoostedRanker, require_comparable_queries
from pippin.rankers.training_data import draw_sample

_MAX_ATTEMPTS = 3  # times that training starts because a worker ended
# So many queries have enough with different labels for trees of any size: they are not counted.
_MANY_QUERIES = 10 * LEAVES[1] * LEAF_QUERIES
_POLL_INTERVAL = 2  # seconds between two looks at the workers
_RESTART_TIMEOUT = 30  # seconds that a worker has to come back after it ended
_TRANSFER_TIMEOUT = 600  # seconds to send the validation set to one worker


def score_partitions(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    executor: DaskExecutor | None = None,
) -> Partitions:
    """Score every partition of `folder` with a model file and write query, document, label and score to `target`."""
    partitions = check_partitions(folder)
    if models.load(model).relation_weight_:
        raise DataError("cannot score partitions: this model uses relations between documents", model)
    content = Path(model).read_bytes()
    with new_folder(target) as fresh:
        score = partial(_score, str(partitions.folder.resolve()), model=content, target=str(fresh.resolve()))
        parts = tuple((map if executor is None else executor.map)(score, partitions.parts))
        write_manifest(replace(partitions, folder=fresh, features=(), dtype="float32", scored=True, parts=parts))
    return open_partitions(target)


class PartitionWorkers:
    """Trains and scores on partitions: on the cluster of a Dask executor, without one in this process."""

    def __init__(self, executor: DaskExecutor | None = None) -> None:
        self.executor = executor
        self.scored: Partitions | None = None  # what `score` wrote last

    def train(self, ranker: Ranker, data: Any, valid: Dataset | None) -> tuple[str, str]:
        """Fit the ranker on the partitions of a folder; return their description and their digest."""
        if self.executor is None:
            raise DataError("training on partitions needs a Dask cluster", data)
        partitions = open_partitions(data)
        train_on_partitions(ranker, data, self.executor, valid)
        return str(partitions), partitions.digest()

    def score(self, model: Any, data: Any, out: str) -> str:
        """Score every partition into the folder `out`; return its description."""
        self.scored = score_partitions(model, data, out, self.executor)
        return str(self.scored)


def _score(folder: str, part: Partition, *, model: bytes, target: str) -> Partition:
    partitions = open_partitions(folder)
    data = partitions.read(part)
    trained = models.from_bytes(model, "the model")
    scores = trained.predict(models.align_features(trained, data))
    bare = replace(data, features=np.empty((len(data), 0), np.float32), feature_names=(), comments=None, lines=None)
    # In a temporary folder first: a task can run twice at a time if its worker was only thought to be lost.
    with TemporaryDirectory(dir=target, prefix=".") as scratch:
        writer = PartitionWriter(Path(scratch), len(data))
        writer.add(bare, scores)
        (partition,) = writer.close()
        (Path(scratch) / partition.file).replace(Path(target) / part.file)
    return replace(partition, file=part.file)


class _WorkerLost(Exception):
    """A worker ended."""


def train_on_partitions(
    model: Ranker, folder: str | os.PathLike[str], executor: DaskExecutor, valid: Dataset | None = None
) -> BoostedRanker:
    """Fit LambdaMART on partitions that need not fit in the memory of one machine; every worker holds whole ones.

    The trees depend on the data, the parameters and the number of workers, not on which worker has which partition.
    When a worker ends, training starts again.
    """
    if not isinstance(model, BoostedRanker) or model.name != "lambdamart":
        raise DataError(f"{model.name} cannot be trained on a cluster; lambdamart can")
    model.check_parameters()
    partitions = check_partitions(folder)
    if partitions.labels[0] < 0:
        raise DataError(f"labels must be non-negative, found {partitions.labels[0]}", folder)
    model.feature_names_ = partitions.features
    model.n_features_in_ = len(partitions.features)
    valid_columns = None if valid is None else _strip(models.align_features(model, valid))
    for _ in range(_MAX_ATTEMPTS):
        with suppress(_WorkerLost):
            model.curve_, state = _train_once(executor, model, partitions, valid_columns)
            model._restore(state)
            model._sample = draw_sample(partitions.read(partitions.parts[0]))
            return model
    raise ClusterLost(f"training failed {_MAX_ATTEMPTS} times because a worker ended; run the same command again")


def _strip(data: Dataset) -> Dataset:
    """Return the data without comments and line numbers, to be sent."""
    ids = None if data.document_ids is None else data.document_ids.pack()
    return replace(data, document_ids=ids, comments=None, lines=None)


def assign_partitions(parts: Iterable[Partition], workers: int) -> list[list[Partition]]:
    """Assign whole partitions to workers, the largest first to the worker with the fewest documents.

    Workers without a partition are left out.

    >>> a, b, c = (Partition(f"{n}", 1, n, n, "") for n in (5, 3, 1))
    >>> [[part.file for part in share] for share in assign_partitions([a, b, c], 2)]
    [['5'], ['1', '3']]
    """
    shares: list[list[Partition]] = [[] for _ in range(workers)]
    for part in sorted(parts, key=lambda part: -part.documents):
        min(shares, key=lambda share: sum(p.documents for p in share)).append(part)
    # Within a share, queries keep the order of the data set.
    return [sorted(share, key=lambda part: part.file) for share in shares if share]


def _train_once(
    executor: DaskExecutor, model: BoostedRanker, partitions: Partitions, valid: Dataset | None
) -> tuple[list[float], dict[str, Any]]:
    """Train once; return the validation curve and the state of the model."""
    useful = [part for part in partitions.parts if part.unlike]
    if not useful:
        raise DataError("nothing to learn: no query has documents with different labels", partitions.folder)
    workers = executor.workers()
    if not workers:
        raise ClusterLost("the Dask cluster is without workers; start some and run the same command again")
    shares = assign_partitions(useful, len(workers))
    # The size of trees depends on all data, and a worker sees its share alone.
    parameters = model.get_params(deep=False)
    documents = sum(part.unlike if parameters["drop_constant_queries"] else part.documents for part in useful)
    parameters |= model.resolve_defaults(_count_useful_queries(partitions), documents)
    assignment = list(zip(workers, shares, strict=False))
    try:
        return _train_shares(executor, model.name, parameters, partitions, assignment, valid)
    except _WorkerLost:
        _restart_workers(executor, [worker for worker, _ in assignment])
        raise


def _train_shares(
    executor: DaskExecutor,
    name: str,
    parameters: Mapping[str, Any],
    partitions: Partitions,
    assignment: Sequence[tuple[str, Sequence[Partition]]],
    valid: Dataset | None,
) -> tuple[list[float], dict[str, Any]]:
    """Train on every worker with its share and return the first worker's result; `_WorkerLost` if a worker ends."""
    workers = [worker for worker, _ in assignment]
    client = executor.client
    try:
        networks = _networks(executor, workers)
        sent_valid = [_send(executor, valid, worker) for worker in workers]
    except (OSError, KeyError) as error:  # a worker does not answer
        raise _WorkerLost(str(error)) from error
    futures = [
        client.submit(
            train_share, name, parameters, str(partitions.folder.resolve()), partitions.digest(), share, valid_columns,
            network, rank == 0, loaded_modules(),
            workers=[worker], allow_other_workers=False, pure=False, retries=0,
        )
        for rank, ((worker, share), valid_columns, network) in enumerate(
            zip(assignment, sent_valid, networks, strict=True)
        )
    ]  # fmt: skip
    try:
        _watch(executor, workers, futures)
        result: tuple[list[float], dict[str, Any]] = futures[0].result(timeout=_TRANSFER_TIMEOUT)
    except (_WorkerLost, CancelledError, TimeoutError) as error:  # a task is cancelled when its data went with a worker
        client.cancel(futures)
        raise _WorkerLost(str(error)) from error
    return result


def _send(executor: DaskExecutor, valid: Dataset | None, worker: str) -> Any:
    """Send the validation set to one worker; the scheduler would repeat a broadcast without end if one has ended."""
    if valid is None:
        return None
    return executor.client.scatter(valid, workers=[worker], hash=False, timeout=_TRANSFER_TIMEOUT)


def _count_useful_queries(partitions: Partitions) -> int:
    """Count queries with different labels, or all queries where there are many and the count does not matter."""
    queries = sum(part.queries for part in partitions.parts)
    if queries >= _MANY_QUERIES:
        return queries
    return sum(
        len(require_comparable_queries(partitions.read(part), part.file)) for part in partitions.parts if part.unlike
    )


def _restart_workers(executor: DaskExecutor, workers: Sequence[str]) -> None:
    """Restart the remaining workers and wait a while for the lost one to come back."""
    remaining = sorted(set(workers) & set(executor.workers()))
    # LightGBM may wait without end for a lost worker; only a new process frees it. A worker without a nanny stays, and
    # one that has just ended raises or does not answer.
    with suppress(ValueError, KeyError, OSError):
        executor.client.restart_workers(remaining, timeout=_RESTART_TIMEOUT)
    with suppress(TimeoutError):
        executor.client.wait_for_workers(len(workers), timeout=_RESTART_TIMEOUT)


def _watch(executor: DaskExecutor, workers: Sequence[str], futures: Sequence[Any]) -> None:
    """Wait until all futures are done; raise what one of them raises, and `_WorkerLost` if a worker is gone."""
    import distributed

    wait: Any = distributed.wait
    while futures:
        try:
            done, pending = wait(futures, timeout=_POLL_INTERVAL, return_when="FIRST_COMPLETED")
        except TimeoutError:
            done, pending = (), futures
        gone = sorted(set(workers) - set(executor.workers()))
        if gone:
            raise _WorkerLost(gone[0])
        for future in done:
            error = future.exception(timeout=_TRANSFER_TIMEOUT)
            if error is not None:
                # The other workers may notice the end of a worker before the scheduler does.
                raise _WorkerLost(str(error)) if "Socket" in str(error) else error
        futures = list(pending)


def _networks(executor: DaskExecutor, workers: Sequence[str]) -> list[dict[str, Any]]:
    """Return LightGBM's network parameters of each worker; empty for a single worker."""
    if len(workers) == 1:
        return [{}]
    submit = executor.client.submit
    futures = [submit(_free_port, workers=[worker], allow_other_workers=False, pure=False) for worker in workers]
    ports = [future.result(timeout=_RESTART_TIMEOUT) for future in futures]
    machines = ",".join(f"{_host(worker)}:{port}" for worker, port in zip(workers, ports, strict=True))
    return [
        {
            "machines": machines, "num_machines": len(workers), "local_listen_port": port, "time_out": 2,
            "tree_learner": "data", "pre_partition": True,
        }
        for port in ports
    ]  # fmt: skip


def _host(worker: str) -> str:
    """Return the host of a worker's address: the interface on which it reaches the other workers."""
    return urlsplit(worker).hostname or "127.0.0.1"


def _free_port() -> int:
    from distributed import get_worker

    with socket.socket() as listener:
        listener.bind((_host(get_worker().address), 0))
        port: int = listener.getsockname()[1]
    return port


def train_share(
    name: str,
    parameters: Mapping[str, Any],
    folder: str,
    digest: str,
    share: Sequence[Partition],
    valid: Dataset | None,
    network: Mapping[str, Any],
    is_first: bool,
    modules: Sequence[str],
) -> tuple[list[float], dict[str, Any]] | None:
    """Train on one worker's partitions together with the other workers; the first worker returns the model."""
    from distributed import get_worker

    load_modules(modules)
    os.environ["PIPPIN_THREADS"] = str(get_worker().state.nthreads)
    partitions = open_partitions(folder)
    if partitions.digest() != digest:
        raise DataError("the partitions that this worker finds at this path differ from those of the client", folder)
    model: Any = ranker(name)(**parameters)
    train = read_share(partitions, share, drop_constant=model.drop_constant_queries)
    model.feature_names_ = train.feature_names
    model.n_features_in_ = train.features.shape[1]
    model._network = network
    model.verbose = False
    with _silence_stdout(), bind_to_host(_host(get_worker().address)) if network else nullcontext():
        model.fit_checked(train, valid)
    return (model.curve_, model._state()) if is_first else None


def read_share(partitions: Partitions, share: Sequence[Partition], *, drop_constant: bool) -> Dataset:
    """Read partitions as one data set, in hardly more memory than its features take.

    `drop_constant` leaves out queries whose documents all have one label; leaving them out later would copy the data.
    """
    rows = sum(part.unlike if drop_constant else part.documents for part in share)
    features = np.empty((rows, len(partitions.features)), partitions.dtype)
    columns: list[Dataset] = []
    end = 0
    for part in share:
        data = partitions.read(part)
        if (data.queries, len(data)) != (part.queries, part.documents):
            message = f"found {len(data)} documents of {data.queries} queries; the manifest says {part.documents} of "
            raise DataError(f"{message}{part.queries}", partitions.folder / part.file)
        data = data.select(require_comparable_queries(data, part.file)) if drop_constant else data
        if np.isinf(data.features).any():
            raise DataError("a feature is infinite", partitions.folder / part.file)
        features[end : end + len(data)] = data.features
        end += len(data)
        columns.append(replace(_strip(data), features=np.empty((len(data), 0), features.dtype), feature_names=()))
    return replace(concatenate(columns), features=features, feature_names=partitions.features, name=partitions.name)


@contextmanager
def _silence_stdout() -> Iterator[None]:
    """Drop what LightGBM's C++ threads print about every connection; no setting turns it off."""
    stdout = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as devnull:
            os.dup2(devnull.fileno(), 1)
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
