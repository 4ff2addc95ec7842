"""Build a learning-to-rank data set from documents: index, links, samples, features, versions, folds, files.

The work happens in the folder `NAME.building` beside the target, which replaces the target when everything is written.
With `resume`, finished parts are used again: the index, the links, and the features of each batch of queries.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np

from pippin._version import __version__
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.document_stream import DocumentDigest
from pippin.collections.engine_features import Templates, make_templates
from pippin.collections.features import FEATURES, SETS, BoundFeature, check_fields, sets_of
from pippin.collections.index.embeddings import VECTORS, Embeddings, Encoder, embed, load_encoder, text_fields
from pippin.collections.index.index import Index, build_index, make_analyzer, open_index
from pippin.collections.letor.data_card import data_card, find_uninformative_features, sampling, summarize, upper_bounds
from pippin.collections.letor.link_files import write_link_files
from pippin.collections.letor.metadata import INFO, CollectionInfo, write_info
from pippin.collections.letor.sampling import (
    DENSE,
    BuildOptions,
    ExtractedBatch,
    QueryBatch,
    SampledQueries,
    SamplingMethod,
    choose_features,
    encoder_of,
    extract_batch,
    extract_batch_from,
    labels_by_query,
    with_extracted_title,
)
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.relations import similarity, write_similarity
from pippin.collections.readers.base import PEEK, READERS
from pippin.collections.readers.explain import STOPS, explain
from pippin.collections.readers.layout import align_document_ids, describe_unknown_documents
from pippin.collections.readers.topics import field_name
from pippin.collections.sources import is_builtin, open_collection, warn_about_notes
from pippin.collections.text.analysis import Analyzer
from pippin.collections.text.snippets import NOTES, PREVIEWS, write_notes, write_previews
from pippin.data.buffers import built_format
from pippin.data.dataset import Dataset
from pippin.data.fold_files import STORE, index_folder, text_digest
from pippin.data.folds import Folds, cut_queries, make_folds, write_folds
from pippin.data.normalisation import make_versions
from pippin.data.store import write_fold_store, write_store
from pippin.display import Displayable, rows_to_columns
from pippin.display.terminal import progress
from pippin.errors import DataError, UnknownName
from pippin.kernels import threads
from pippin.kernels.strings import StringColumn
from pippin.registry import Registry, plugin_digests
from pippin.storage.files import check_no_links, link_error, open_lock, recover_interrupted, remove_path, replace_folder
from pippin.storage.manifest import CHECKSUMS
from pippin.system import try_lock

if TYPE_CHECKING:
    from pippin.data.folds import Folds

T = TypeVar("T")
FORMAT = built_format()
CARD = "README.md"
MAPPING = "mapping.json"  # how the engine of `--for` computes the features
TEMPORARY = (NOTES, "plan.json", "documents.txt", "parts", ".lock")  # files that only the build itself needs
BATCH_QUERIES = 64  # queries whose features are stored together during a build


class Executor(Protocol):
    """Workers that extract features, such as `pippin.distributed.dask_executor.DaskExecutor`."""

    def starmap(self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """Yield ``function(*arguments)`` of each tuple, in order; a lost worker's calls run again elsewhere."""


def build_dataset(
    collection: Collection,
    folder: str | os.PathLike[str],
    recipe: BuildOptions | None = None,
    *,
    memory: int | str = "128M",
    resume: bool = False,
    verbose: bool = False,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Build the data set of a collection and return its manifest.

    An older data set in `folder` stays until the new one is complete. With `executor`, workers that see the folder
    sample and extract; the data set has the same bytes. The anchor field has the texts that the collection contains;
    `sources.open_collection` collects them.
    """
    recipe = recipe or BuildOptions(sampling=default_sampling(collection))
    if recipe.query_field is not None:
        recipe = replace(recipe, query_field=field_name(recipe.query_field))
    features = choose_features(recipe.features, collection, dense=recipe.dense is not None, engine=recipe.engine)
    templates = None if recipe.engine is None else make_templates(features, recipe.engine)
    features = features if templates is None else _select_supported(features, templates)
    collection = with_extracted_title(collection, features)
    _check(collection, features, recipe.query_field)
    needs_links = any(bound.field is None and bound.text not in DENSE for bound in features)
    encoder = encoder_of(recipe, features, distributed=executor is not None)
    collection, unjudged = drop_unjudged_queries(collection, recipe)
    for task in collection.tasks:  # raise now if there are too few queries for the folds
        cut_queries(sum(query.task == task for query in collection.queries), recipe.folds)
    target = Path(os.path.normpath(folder))
    recover_interrupted(target)
    FORMAT.check_target(target)
    plugins = _plugins(collection, recipe)
    plan: dict[str, Any] = {"collection": _identify(collection), "recipe": recipe.record(), "plugins": plugins}
    plan |= {} if encoder is None else {"dense": encoder.digest}
    with _work_folder(target, plan, resume) as work:
        try:
            index, documents = _index(collection, work, recipe.analysis, memory, verbose)
            links = _links(collection, index, work) if needs_links else None
            collection, matched = match_judged_documents(collection, index)
        except DataError:  # such documents cannot be used by a resumed build
            _clear(work)
            raise
        dense = None if encoder is None else embed(
            index, encoder, work / VECTORS, fields=text_fields(index.fields), verbose=verbose
        )  # fmt: skip
        job = _Job(collection, recipe, features, index, links, work, unjudged, dense)
        samples = {task: job.extract_all(task, executor, verbose) for task in collection.tasks}
        uninformative = find_uninformative_features([sampled.features for sampled in samples.values()], features)
        if recipe.drop_uninformative:
            job, samples = job.without(uninformative, samples)
        data = {task: job.finish(task, sampled, verbose) for task, sampled in samples.items()}
        null = {task: versions["Feature-null"] for task, versions in data.items()}
        manifest = {**job.manifest(documents, null, samples), "useless": dict(uninformative)}
        manifest |= {"plugins": plugins} if plugins else {}
        manifest |= {"matched": matched} if matched else {}
        manifest |= {} if dense is None else {"dense": dense.about()}
        manifest |= {} if templates is None else _write_mapping(templates, job.features, work)
        card = data_card(manifest, {t: (null[t], v["Feature-min"]) for t, v in data.items()}, job.features)
        (work / CARD).write_text(card, encoding="utf-8")
        sampled_ids = {name for versions in null.values() for name in versions.document_ids or ()}
        write_previews(work / NOTES, work / PREVIEWS, collection.queries, sampled_ids)
        if links is not None:
            write_link_files(links, work)
        return _move(work, target, manifest)


def _select_supported(features: Sequence[BoundFeature], templates: Templates) -> tuple[BoundFeature, ...]:
    supported = tuple(bound for bound in features if bound.text in templates.mapping)
    if not supported:
        raise DataError(f"{templates.engine} cannot compute any of the features: {', '.join(map(str, features))}")
    return supported


def _write_mapping(templates: Templates, features: Sequence[BoundFeature], work: Path) -> dict[str, Any]:
    """Write how the engine computes the features; return the reasons for the others for the manifest."""
    mapping = {bound.text: {**templates.mapping[bound.text], "number": i} for i, bound in enumerate(features, 1)}
    (work / MAPPING).write_text(json.dumps(mapping, indent=1, ensure_ascii=False), encoding="utf-8")
    return {"unsupported": templates.unsupported}


def default_sampling(collection: Collection) -> SamplingMethod:
    """Return the sampling that LETOR uses: the top if unjudged means not relevant, else the judged documents."""
    return "top" if collection.unjudged == "nonrelevant" else "judged"


def drop_unjudged_queries(collection: Collection, recipe: BuildOptions) -> tuple[Collection, tuple[Query, ...]]:
    """Return the collection without unjudged queries, unless the recipe keeps them, and the unjudged queries."""
    judged_ids = set(collection.qrels.query_ids) if collection.qrels is not None else set()
    unjudged = tuple(query for query in collection.queries if query.id not in judged_ids)
    if recipe.unjudged == "keep" or not unjudged:
        return collection, unjudged
    return replace(collection, queries=tuple(q for q in collection.queries if q.id in judged_ids)), unjudged


def match_judged_documents(collection: Collection, index: Index) -> tuple[Collection, str]:
    """Return the collection with the document ids of its qrels matched to the index, and a message if they changed.

    If no judged document is in the index, ids that differ in form only are matched; otherwise that is an error.
    """
    qrels = collection.qrels
    query_ids = {query.id for query in collection.queries}
    names = [name for query, of in labels_by_query(qrels).items() if query in query_ids for name in of]
    if qrels is None or not names or (index.numbers(names) >= 0).any():
        return collection, ""
    document_ids = list(index.ids.take(np.arange(index.documents)))
    if (aligned := align_document_ids(qrels, document_ids)) is not None:
        return replace(collection, qrels=aligned[0]), aligned[1]
    raise DataError(describe_unknown_documents(names, document_ids[:PEEK]), qrels.file or qrels.name)


def _check(collection: Collection, features: Sequence[BoundFeature], query_field: str | None) -> None:
    check_fields(features, collection.all_fields, collection.numeric_fields)
    if not collection.queries:
        raise DataError(f"the collection {collection.name} has no queries; name them with --queries FILE")
    if collection.qrels is None:
        raise DataError(f"the collection {collection.name} has no judgements; name them with --qrels FILE")
    if query_field is not None and not any(query.fields.get(query_field) for query in collection.queries):
        names = dict.fromkeys(name for query in collection.queries for name, text in query.fields.items() if text)
        raise DataError(
            f"no topic of {collection.name} has the field {query_field!r}; they have {', '.join(names) or 'none'}"
        )


def _identify(collection: Collection) -> dict[str, Any]:
    """Return the name and the digests of queries and judgements; documents are hashed while they are read."""
    queries = [[query.id, query.text, dict(query.fields), query.task] for query in collection.queries]
    labels = labels_by_query(collection.qrels)
    return {"name": collection.name, "queries": _digest(queries), "judgements": _digest(labels)}


def identity(collection: Collection, recipe: BuildOptions) -> str:
    """Return the digest of everything that a data set depends on; reads all documents."""
    documents = DocumentDigest(collection)
    for _ in documents.read():
        pass
    plugins = _plugins(collection, recipe)
    model = [] if recipe.dense is None else [load_encoder(recipe.dense).digest]
    return _digest(
        [_identify(collection), documents.digest, recipe.record(), __version__, *([plugins] if plugins else []), *model]
    )


def _plugins(collection: Collection, recipe: BuildOptions) -> dict[str, str]:
    """Return the code digests of features, feature sets and the reader that come from plugins."""
    entries: list[tuple[Registry[Any], str]] = [
        (FEATURES, bound.feature.name) for bound in choose_features(recipe.features, collection, engine=recipe.engine)
    ]
    entries += [(SETS, name) for name in sets_of(recipe.features)]
    entries += [(READERS, collection.reader)] if collection.reader else []
    return plugin_digests(entries)


def is_built(folder: Path) -> bool:
    """Return whether a folder is a data set of `build`."""
    return FORMAT.is_at(folder)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a built data set."""
    return FORMAT.read_record(folder)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def _work_folder(target: Path, plan: Mapping[str, Any], resume: bool) -> Iterator[Path]:
    """Open and lock the folder of a build: empty, or as an equal build left it if `resume`."""
    work = target.with_name(f"{target.name}.building").absolute()  # workers have other current folders
    plan_file = work / "plan.json"
    try:
        work.mkdir(parents=True, exist_ok=True)
        if work.is_symlink():
            raise link_error(work)
        check_no_links(work)
        with open_lock(work / ".lock") as lock:
            if not try_lock(lock):
                raise DataError("another process is building this data set", target)
            text = json.dumps({**plan, "code": __version__}, sort_keys=True)
            if not (resume and plan_file.is_file() and plan_file.read_text() == text):
                _clear(work)
                plan_file.write_text(text)
            try:
                yield work
            finally:
                if work.is_dir() and {entry.name for entry in work.iterdir()} <= {".lock"}:
                    remove_path(work)
    except OSError as error:
        raise DataError(f"cannot write: {error.strerror}. --resume continues the build", target) from None


def _clear(work: Path) -> None:
    for entry in work.iterdir():
        if entry.name != ".lock":
            remove_path(entry)


def _index(
    collection: Collection, work: Path, analysis: Analyzer, memory: int | str, verbose: bool
) -> tuple[Index, str]:
    """Return the index and the digest of the documents; an existing index of the same documents is opened."""
    folder, digest_file = work / "index", work / "documents.txt"
    documents = DocumentDigest(collection)

    def read() -> Iterator[Document]:
        return write_notes(documents.read(), work / NOTES)

    if digest_file.is_file():
        for _ in read():
            pass
        if documents.digest == digest_file.read_text():
            return open_index(folder), documents.digest
        for entry in (work / "parts", work / "web", digest_file):
            remove_path(entry)
    index = build_index(
        replace(collection, iter_documents=read), folder, analysis=analysis, memory=memory, verbose=verbose
    )
    digest_file.write_text(documents.digest)
    return index, documents.digest


def _links(collection: Collection, index: Index, work: Path) -> LinkIndex:
    """Return the links, sitemap and ranks, computed unless they are stored already."""
    folder = work / "web"
    if not folder.is_dir():
        LinkIndex.of(collection, index).save(folder)
    return LinkIndex.open(folder)


@dataclass(frozen=True, eq=False)
class _Job:
    """One build in progress."""

    collection: Collection
    recipe: BuildOptions
    features: tuple[BoundFeature, ...]
    index: Index
    links: LinkIndex | None
    work: Path
    unjudged: tuple[Query, ...]
    dense: Embeddings | None = None

    def unjudged_of(self, task: str) -> list[str]:
        """Return the ids of a task's unjudged queries."""
        return [query.id for query in self.unjudged if query.task == task]

    def without(
        self, uninformative: Mapping[str, str], samples: Mapping[str, SampledQueries]
    ) -> tuple[_Job, dict[str, SampledQueries]]:
        """Return the job and the samples without some features."""
        informative = [i for i, bound in enumerate(self.features) if bound.text not in uninformative]
        if not informative:
            raise DataError(f"no feature of {self.collection.name} distinguishes two documents")
        fewer = {task: replace(sampled, features=sampled.features[:, informative]) for task, sampled in samples.items()}
        return replace(self, features=tuple(self.features[i] for i in informative)), fewer

    def folder(self, task: str) -> Path:
        """Return the folder of a task's files: a subfolder if there are several tasks."""
        return self.work / task if len(self.collection.tasks) > 1 else self.work

    def extract_all(self, task: str, executor: Executor | None, verbose: bool) -> SampledQueries:
        """Sample and extract all queries of a task, batch by batch; stored batches are read."""
        labels = labels_by_query(self.collection.qrels)
        queries = [query for query in self.collection.queries if query.task == task]
        parts, meta = self.work / "parts", self.folder(task) / "Meta"
        parts.mkdir(exist_ok=True)
        if self.recipe.meta:
            meta.mkdir(parents=True, exist_ok=True)
            write_info(CollectionInfo.of(self.index), meta / INFO)
        batches = [
            QueryBatch(
                tuple(batch), tuple(labels.get(query.id, {}) for query in batch), self.recipe,
                tuple(bound.text for bound in self.features), parts / f"{task or 'all'}-{start:06}.npy",
                meta if self.recipe.meta else None,
            )
            for start in range(0, len(queries), BATCH_QUERIES)
            if (batch := queries[start : start + BATCH_QUERIES])
        ]  # fmt: skip
        extracted: list[ExtractedBatch] = []
        with progress(len(queries) if verbose else 0, f"features {task}".rstrip()) as bar:
            for result in self._extract_batches(batches, executor):
                extracted.append(result)
                if verbose:
                    bar.step(result.samples[-1].query.id, len(result.samples))
        for partial_file in meta.glob(".*.part"):  # of a worker that was killed
            partial_file.unlink()
        return SampledQueries(
            tuple(sample_of_query for result in extracted for sample_of_query in result.samples),
            np.concatenate([result.table for result in extracted]),
        )

    def _extract_batches(self, batches: Sequence[QueryBatch], executor: Executor | None) -> Iterator[ExtractedBatch]:
        if executor is None:
            return (extract_batch(self.index, self.links, batch, self.dense) for batch in batches)
        location = (self.work, self.index.digest, self.links is not None)
        return executor.starmap(extract_batch_from, [(*location, batch) for batch in batches])

    def finish(self, task: str, sampled: SampledQueries, verbose: bool) -> dict[str, Dataset]:
        """Write the versions in folds, the features in full precision and the similarities of a task."""
        folder, recipe = self.folder(task), self.recipe
        data = self._dataset(task, sampled)
        write_store(data, folder / "binary.pippin")
        zero = [bound.text for bound in self.features if bound.feature.fill == "zero"]
        versions = make_versions(data, rule=recipe.min_rule, zero=zero)
        # An engine computes raw values only.
        written = versions if recipe.engine is None else {"Feature-null": versions["Feature-null"]}
        with progress(len(written) if verbose else 0, f"writing {task}".rstrip()) as bar:
            for name, version in written.items():
                self._write_version(make_folds(version, recipe.folds, seed=recipe.seed), folder / name, name)
                if verbose:
                    bar.step(name)
        if recipe.similarity:
            samples = [entry for entry in sampled.samples if len(entry.numbers)]
            matrices = (
                (entry.query.id, similarity(self.index, entry.numbers, field=recipe.field)) for entry in samples
            )
            write_similarity(folder / "similarity.txt", matrices)
        return versions

    @staticmethod
    def _write_version(folds: Folds, folder: Path, name: str) -> None:
        """Write the folds of a version as text, and as a store that names the text by its digest."""
        write_folds(folds, folder, name)
        texts, source = index_folder(folder, check=False)
        write_fold_store(folds, folder / STORE, text_digest(texts, source, names=folds.data.feature_names))

    def _dataset(self, task: str, sampled: SampledQueries) -> Dataset:
        """Return the data set of all queries with documents, with NULL as NaN, in full precision."""
        samples = [entry for entry in sampled.samples if len(entry.numbers)]
        if not samples:
            raise DataError(
                f"no document was sampled for any query{f' of {task}' if task else ''}", self.collection.name
            )
        numbers = np.concatenate([entry.numbers for entry in samples])
        is_added = np.concatenate([entry.added for entry in samples])
        ids = list(self.index.ids.take(numbers))
        comments = [
            f"docid = {name}" + (" added = judged" if added else "") for name, added in zip(ids, is_added, strict=True)
        ]
        return Dataset(
            sampled.features,
            np.concatenate([entry.labels for entry in samples]),
            np.concatenate(([0], np.cumsum([len(entry.numbers) for entry in samples]))).astype(np.int64),
            tuple(entry.query.id for entry in samples),
            StringColumn.of(ids), tuple(bound.text for bound in self.features), StringColumn.of(comments),
            name=" ".join(filter(None, (self.collection.name, task))),
        )  # fmt: skip

    def manifest(
        self, documents: str, data: Mapping[str, Dataset], samples: Mapping[str, SampledQueries]
    ) -> dict[str, Any]:
        """Return the manifest without the digests of the files."""
        index, digests = self.index, _identify(self.collection)
        combined = self.collection.combined_fields
        fields = {
            name: {"description": index.descriptions.get(name) or " + ".join(combined.get(name, (name,))),
                   "tokens": index.total_terms(name), "terms": index.vocabulary_size(name),
                   "average": index.average_length(name)}
            for name in index.fields
        }  # fmt: skip
        return {
            **FORMAT.head,
            "collection": {"name": self.collection.name, "documents": index.documents,
                           "queries": len(self.collection.queries)},
            "recipe": self.recipe.record(),
            "analysis": self.recipe.analysis.record(),
            "streams": fields,
            "features": [bound.text for bound in self.features],
            "proxies": list(self.links.proxies) if self.links is not None else [],
            "tasks": {task: {"queries": dataset.queries, "documents": len(dataset),
                             "sampling": sampling(samples[task].samples, self.unjudged_of(task)),
                             "upper_bounds": upper_bounds(self.collection, dataset)}
                      for task, dataset in data.items()},
            "digests": {"documents": documents, "queries": digests["queries"], "judgements": digests["judgements"],
                        "analysis": self.recipe.analysis.digest, "index": index.digest},
        }  # fmt: skip


def _move(work: Path, target: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Add the digests of all files to the manifest, and replace the target by the finished folder."""
    for name in TEMPORARY:
        remove_path(work / name)
    files = sorted(path for path in work.rglob("*") if path.is_file() and path.name != FORMAT.file)
    files = [path for path in files if path != work / CHECKSUMS]
    with ThreadPoolExecutor(threads()) as pool:
        digests = pool.map(_file_digest, files)
        manifest["files"] = {
            path.relative_to(work).as_posix(): digest for path, digest in zip(files, digests, strict=True)
        }
    FORMAT.write(work, manifest)
    replace_folder(work, target)
    return FORMAT.read_record(target)


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Built(Displayable):
    """A built data set.

    Parameters
    ----------
    folder : Path
        The folder of the data set.
    manifest : dict
        The content of ``dataset.json``: options, sizes, sampling and digests.
    """

    folder: Path
    manifest: dict[str, Any] = dataclass_field(repr=False)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Built:
        """Open the data set of a folder.

        Parameters
        ----------
        folder : str or path
            Folder that `build` wrote.
        """
        return cls(Path(folder), read_manifest(Path(folder)))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the query sets; a single query set has the name ``""``."""
        return tuple(self.manifest["tasks"])

    def folds(self, version: str | None = None, task: str | None = None) -> Folds:
        """Return the folds of a version: "Feature-null", "Feature-min" or "QueryLevelNorm".

        Parameters
        ----------
        version : str, optional
            The version of the features; by default QueryLevelNorm, or Feature-null if the data are for an engine.
        task : str, optional
            The query set, if there are several.

        Returns
        -------
        Folds

        Raises
        ------
        UnknownName
            If the version or the task does not exist.
        """
        from pippin.data.fold_files import read_folds
        from pippin.data.normalisation import LETOR_VERSIONS

        versions = ["Feature-null"] if "engine" in self.manifest["recipe"] else [*LETOR_VERSIONS]
        version = version or versions[-1]
        if version not in versions:
            raise UnknownName("version", version, versions)
        has_tasks = len(self.tasks) > 1
        if has_tasks and task not in self.tasks:
            raise UnknownName("task of this data set", str(task), self.tasks)
        return read_folds(self.folder / str(task) / version if has_tasks else self.folder / version)

    def summary(self) -> str:
        """Return sizes, sampling and warnings in a few lines."""
        return summarize(self.manifest, os.fspath(self.folder))

    def to_dict(self) -> dict[str, Any]:
        """Return columns with a row per task: queries, documents, and relevant documents in the samples and lost."""
        rows = [
            (task, facts["queries"], facts["documents"], facts["sampling"]["relevant"] - facts["sampling"]["lost"],
             facts["sampling"]["lost"])
            for task, facts in self.manifest["tasks"].items()
        ]  # fmt: skip
        return rows_to_columns(rows, "task", "queries", "documents", "relevant", "lost")


def build(
    collection: str | os.PathLike[str] | Collection,
    folder: str | os.PathLike[str],
    *,
    queries: str | os.PathLike[str] | None = None,
    qrels: str | os.PathLike[str] | None = None,
    format: str | None = None,
    fields: Sequence[str] | None = None,
    repeated: Literal["refuse", "first"] = "refuse",
    features: str = "auto",
    sampling: SamplingMethod | None = None,
    sample: int = 1000,
    folds: int = 5,
    seed: int | None = None,
    query_field: str | None = None,
    unjudged: Literal["drop", "keep"] = "drop",
    drop_uninformative: bool = False,
    min_rule: Literal["letor", "min"] = "letor",
    stem: str = "porter",
    stop: str | os.PathLike[str] | Sequence[str] = "english",
    words: str = "unicode",
    analysis: Analyzer | None = None,
    meta: bool = True,
    similarity: bool = False,
    dense: Encoder | str | os.PathLike[str] | None = None,
    engine: str | None = None,
    memory: int | str = "128M",
    jobs: int = 1,
    resume: bool = False,
    executor: Executor | None = None,
    verbose: bool = False,
) -> Built:
    """Build a learning-to-rank data set from documents, as LETOR did: index, samples, features, versions and folds.

    Parameters
    ----------
    collection : Collection or path
        A file or folder of documents, ``"stdlib"`` (the documentation of Python), or a Collection.
    folder : path
        Folder of the data set; an existing data set there is replaced when the new one is complete.
    queries, qrels : path, optional
        Files of the queries and judgements; by default those found beside the documents.
    format : str, optional
        Format of the documents; detected by default.
    fields : sequence of str, optional
        Document fields to index; by default all that contain text.
    repeated : {"refuse", "first"}
        What to do if two documents have the same id: raise an error, or keep the first.
    features : str, default "auto"
        A feature set or features, see ``pippin.features``; ``"auto"`` chooses those that fit the collection, with
        `engine` all that the engine can compute.
    sampling : {"top", "judged", "both"}, optional
        Documents to rank per query: the best by BM25, the judged ones, or both. By default ``"top"`` if unjudged
        documents count as not relevant in this collection, else ``"judged"``.
    sample : int, default 1000
        Number of documents that BM25 retrieves per query.
    folds : int, default 5
        Number of folds.
    seed : int, optional
        Shuffle the queries with this seed before they are divided into folds; by default they keep their order.
    query_field : str, optional
        Field of the queries to search, such as ``"description"``.
    unjudged : {"drop", "keep"}
        Whether queries without judgements are dropped, or kept with all documents not relevant.
    drop_uninformative : bool, default False
        Drop features that are constant or copies of others.
    min_rule : {"letor", "min"}
        What fills missing values: 0 for BM25 and the query's minimum for others (LETOR's files), or always the minimum
        (LETOR's paper).
    stem, stop, words
        How texts are split into terms; see :func:`pippin.index`.
    analysis : Analyzer, optional
        A configured analyzer, instead of `stem`, `stop` and `words`.
    meta : bool, default True
        Write LETOR's meta-information, which is large.
    similarity : bool, default False
        Write the similarity of each query's documents.
    dense : Encoder or path, optional
        An encoder, or the folder of a sentence-transformers model (extra ``dense``): adds the features of the set
        ``dense``, and the `sample` nearest documents by vectors to the candidates.
    engine : {"elasticsearch", "opensearch", "solr", "vespa"}, optional
        Keep only features that this engine can compute, write their raw values only (Feature-null), and how the engine
        computes them (``mapping.json``).
    memory : int or str, default "128M"
        Memory for the index while it is built; a larger index is merged on disk.
    jobs : int, default 1
        Number of processes that parse web pages. With more than one, a script needs a `__main__` guard.
    resume : bool, default False
        Continue an interrupted build of the same data.
    executor : Executor, optional
        Workers of a cluster that extract the features, such as `pippin.distributed.dask_executor.DaskExecutor`; the
        result has the same bytes.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    Built
        The data set: its folder, manifest, folds and summary.

    Raises
    ------
    DataError
        If documents, queries or judgements are missing or do not match.

    Examples
    --------
    >>> import pippin, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.tsv").write_text("1\\tred apples\\n2\\tgreen pears\\n3\\tred pears, apples\\n4\\tplums\\n")
    >>> _ = (folder / "queries.tsv").write_text("".join(f"q{i}\\tred apples\\n" for i in range(5)))
    >>> _ = (folder / "qrels").write_text("".join(f"q{i} 0 1 1\\nq{i} 0 3 0\\n" for i in range(5)))
    >>> built = pippin.build(
    ...     folder / "docs.tsv", folder / "letor", queries=folder / "queries.tsv", qrels=folder / "qrels"
    ... )
    >>> built.to_dict()["queries"], len(built.folds())
    ([5], 5)
    """
    if not isinstance(collection, Collection):
        collection = open_collection(
            collection, queries=queries, qrels=qrels, format=format, fields=fields, repeated=repeated, jobs=jobs,
        )  # fmt: skip
    options = BuildOptions(
        features=features, sampling=sampling or default_sampling(collection), sample=sample, folds=folds, seed=seed,
        query_field=query_field, unjudged=unjudged, drop_uninformative=drop_uninformative, min_rule=min_rule,
        analysis=analysis or make_analyzer(stem, stop, words), meta=meta, similarity=similarity, dense=dense,
        engine=engine,
    )  # fmt: skip
    manifest = build_dataset(
        collection, folder, options, memory=memory, resume=resume, verbose=verbose, executor=executor
    )
    warn_about_notes(collection)
    return Built(Path(folder), manifest)


def explain_collection(
    collection: str | os.PathLike[str],
    *,
    queries: str | os.PathLike[str] | None = None,
    qrels: str | os.PathLike[str] | None = None,
    format: str | None = None,
    fields: Sequence[str] | None = None,
    repeated: Literal["refuse", "first"] = "refuse",
    jobs: int = 1,
) -> tuple[str, bool]:
    """Explain which files :func:`build` would read as documents, queries and judgements, without building.

    Parameters
    ----------
    collection : path
        A file or folder of documents, or ``"stdlib"``.
    queries, qrels, format, fields, repeated, jobs
        As for :func:`build`.

    Returns
    -------
    tuple of str and bool
        A description in a few lines, and whether the collection can be read.

    Examples
    --------
    >>> import pippin
    >>> pippin.explain_collection("stdlib")[1]
    True
    """
    if is_builtin(collection):
        return str(open_collection(collection, anchors=False)), True
    text = explain(
        collection, queries=queries, qrels=qrels, format=format, fields=fields, repeated=repeated,
        jobs=jobs,
    )  # fmt: skip
    return text, STOPS not in text
