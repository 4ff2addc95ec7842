"""From a collection to a data set as LETOR lays it out: index, links, samples, features, versions, folds, files.

Work goes on in a folder beside the target, `NAME.building`, which takes the target's place when all is written. What is
finished there is not done again with `resume`: the index, the links, and the features of each stretch of queries. A
build that was not told to resume starts afresh.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin import __version__
from pippin.collection import words
from pippin.collection.analysis import Analysis
from pippin.collection.anchors import with_anchors
from pippin.collection.card import data_card
from pippin.collection.choosing import DENSE, choose_features, encoder_of, with_extracted_title
from pippin.collection.collection import Collection, Document, Query
from pippin.collection.embeddings import VECTORS, Embeddings, embed, meant
from pippin.collection.encoder import Encoder
from pippin.collection.extraction import Extracted, Sampled, Stretch, extract_stretch
from pippin.collection.features import (
    FEATURES,
    SETS,
    BoundFeature,
    check_streams,
    sets_of,
)
from pippin.collection.findings import ceilings, find_useless, sampling
from pippin.collection.fingerprint import Fingerprint
from pippin.collection.index import Index, build_index, open_index
from pippin.collection.link_files import write_link_files
from pippin.collection.meta import INFO, CollectionInfo, write_info
from pippin.collection.readers.asked import alike_documents, unknown_documents
from pippin.collection.readers.base import PEEK, READERS
from pippin.collection.recipe import Recipe
from pippin.collection.sampling import How, labels_by_query
from pippin.collection.sharded import Spread, extract_on, index_on
from pippin.collection.similarity import similarity, write_similarity
from pippin.collection.spool import spooled
from pippin.collection.topics import field_name
from pippin.collection.web import Web
from pippin.data.built import built_format
from pippin.data.dataset import Dataset
from pippin.data.fold_store import write_fold_store
from pippin.data.folders import STORE, index_folder, text_digest
from pippin.data.folds import Folds, cut_queries, make_folds, write_folds
from pippin.data.store import write_store
from pippin.data.texts import Texts
from pippin.data.versions import make_versions
from pippin.errors import DataError
from pippin.files import link_error, open_lock, recover, refuse_links, remove, take_place
from pippin.kernels import threads
from pippin.machine import try_lock
from pippin.manifest import CHECKSUMS
from pippin.progress import progress
from pippin.registry import Registry, digests_of

FORMAT = built_format()
CARD = "README.md"
SCRATCH = (words.NOTES, "plan.json", "documents.txt", "parts", "shards", ".lock")  # what only the build itself needs
STRETCH = 64  # queries whose features are kept together while the build goes on


def build(
    collection: Collection,
    folder: str | os.PathLike[str],
    recipe: Recipe | None = None,
    *,
    memory: int = 128 << 20,
    resume: bool = False,
    verbose: bool = False,
    spread: Spread | None = None,
) -> dict[str, Any]:
    """Build the data set of a collection in `folder`; its manifest. An older data set there stays until the end.

    With `spread` the work is done in shards by the workers of a cluster; the data set has the same bytes.

    The anchor stream is what the collection says; `named.open_collection` and `anchors.with_anchors` gather it.
    """
    recipe = recipe or Recipe(how=usual(collection))
    if not collection.anchored and spread is None:
        collection = with_anchors(spooled(collection))
    if recipe.query_field is not None:
        recipe = replace(recipe, query_field=field_name(recipe.query_field))
    features = choose_features(recipe.features, collection, dense=recipe.dense is not None)
    collection = with_extracted_title(collection, features)
    _check(collection, features, recipe.query_field)
    linked = any(bound.stream is None and bound.text not in DENSE for bound in features)
    encoder = encoder_of(recipe, features, spread)
    collection, unjudged = _judged_queries(collection, recipe)
    for task in collection.tasks:  # before anything is done: are there enough queries for the folds?
        cut_queries(sum(query.task == task for query in collection.queries), recipe.folds)
    target = Path(os.path.normpath(folder))
    recover(target)
    FORMAT.check_target(target)
    strangers = plugins(collection, recipe)
    facts: dict[str, Any] = {"collection": _facts(collection), "recipe": recipe.record(), "plugins": strangers}
    facts |= {} if encoder is None else {"dense": encoder.digest}
    with _workplace(target, facts, resume) as work:
        try:
            if spread is None:
                index, documents = _index(collection, work, recipe.analysis, memory, verbose)
                web = _web(collection, index, work) if linked else None
            else:
                index, documents, web = index_on(spread, collection, work, recipe.analysis, memory, linked, verbose)
            collection, matched = _judged_documents(collection, index)
        except DataError:  # such documents cannot be gone on with
            _clear(work)
            raise
        dense = None if encoder is None else embed(
            index, encoder, work / VECTORS, streams=meant(index.streams), verbose=verbose
        )  # fmt: skip
        job = _Job(collection, recipe, features, index, web, work, unjudged, dense)
        samples = {task: job.extract_all(task, spread, verbose) for task in collection.tasks}
        useless = find_useless([found.features for found in samples.values()], features)
        if recipe.drop_useless:
            job, samples = job.without(useless, samples)
        data = {task: job.finish(task, found, verbose) for task, found in samples.items()}
        null = {task: versions["Feature-null"] for task, versions in data.items()}
        manifest = {**job.manifest(documents, null, samples), "useless": dict(useless)}
        manifest |= {"plugins": strangers} if strangers else {}
        manifest |= {"matched": matched} if matched else {}
        manifest |= {} if dense is None else {"dense": dense.about()}
        card = data_card(manifest, {t: (null[t], v["Feature-min"]) for t, v in data.items()}, job.features)
        (work / CARD).write_text(card, encoding="utf-8")
        ranked = {name for versions in null.values() for name in versions.document_ids or ()}
        words.write_words(work / words.NOTES, work / words.WORDS, collection.queries, ranked)
        if web is not None:
            write_link_files(web, work)
        return _move(work, target, manifest)


def usual(collection: Collection) -> How:
    """How LETOR would sample: the top where unjudged means not relevant, else what was judged."""
    return "top" if collection.judged_as == "sparse" else "judged"


def _judged_queries(collection: Collection, recipe: Recipe) -> tuple[Collection, tuple[Query, ...]]:
    """The collection with the queries that somebody judged, unless all are kept; and the others."""
    judged = set(collection.judgements.query_ids) if collection.judgements is not None else set()
    unjudged = tuple(query for query in collection.queries if query.id not in judged)
    if recipe.unjudged == "keep" or not unjudged:
        return collection, unjudged
    return replace(collection, queries=tuple(q for q in collection.queries if q.id in judged)), unjudged


def _judged_documents(collection: Collection, index: Index) -> tuple[Collection, str]:
    """The collection whose judgements know its documents, and what there is to say about that; where they know none,
    ids that are alike are the same, or the judgements belong to others, which is an error.
    """
    judged = collection.judgements
    asked = {query.id for query in collection.queries}
    names = [name for query, of in labels_by_query(judged).items() if query in asked for name in of]
    if judged is None or not names or (index.numbers(names) >= 0).any():
        return collection, ""
    ours = list(index.ids.take(np.arange(index.documents)))
    if (found := alike_documents(judged, ours)) is not None:
        return replace(collection, judgements=found[0]), found[1]
    raise DataError(unknown_documents(names, ours[:PEEK]), judged.file or judged.name)


def _check(collection: Collection, features: Sequence[BoundFeature], field: str | None) -> None:
    check_streams(features, collection.all_streams)
    if not collection.queries:
        raise DataError(f"the collection {collection.name} has no queries; name them with --topics FILE")
    if collection.judgements is None:
        raise DataError(f"the collection {collection.name} has no judgements; name them with --judgements FILE")
    if field is not None and not any(query.fields.get(field) for query in collection.queries):
        there = dict.fromkeys(name for query in collection.queries for name, text in query.fields.items() if text)
        raise DataError(
            f"no topic of {collection.name} has the field {field!r}; they have {', '.join(there) or 'none'}"
        )


def _facts(collection: Collection) -> dict[str, Any]:
    """What names the queries and judgements; the documents are fingerprinted as they are read."""
    asked = [[query.id, query.text, dict(query.fields), query.task] for query in collection.queries]
    judged = labels_by_query(collection.judgements)
    return {"name": collection.name, "queries": _digest(asked), "judgements": _digest(judged)}


def identity(collection: Collection, recipe: Recipe) -> str:
    """The digest of all that a data set depends on; reads every document."""
    fingerprint = Fingerprint(collection)
    for _ in fingerprint.read():
        pass
    strangers = plugins(collection, recipe)
    model = [] if recipe.dense is None else [Encoder(recipe.dense).digest]
    return _digest(
        [_facts(collection), fingerprint.digest, recipe.record(), __version__, *([strangers] if strangers else []),
         *model]
    )  # fmt: skip


def plugins(collection: Collection, recipe: Recipe) -> dict[str, str]:
    """The digests of what is not Pippin's own among the features, their sets and the collection's reader."""
    named: list[tuple[Registry[Any], str]] = [
        (FEATURES, bound.feature.name) for bound in choose_features(recipe.features, collection)
    ]
    named += [(SETS, name) for name in sets_of(recipe.features)]
    named += [(READERS, collection.reader)] if collection.reader else []
    return digests_of(named)


def is_built(folder: Path) -> bool:
    """Whether a folder is a data set that `build` made."""
    return FORMAT.is_at(folder)


def manifest_of(folder: Path) -> dict[str, Any]:
    """What a built data set says of itself."""
    return FORMAT.read_record(folder)


def _digest(thing: Any) -> str:
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()


@contextmanager
def _workplace(target: Path, facts: Mapping[str, Any], resume: bool) -> Iterator[Path]:
    """The folder where a build goes on: empty, or as an equal build left it when `resume`. One build at a time."""
    work = target.with_name(f"{target.name}.building").absolute()  # as workers elsewhere see it, too
    plan = work / "plan.json"
    try:
        work.mkdir(parents=True, exist_ok=True)
        if work.is_symlink():
            raise link_error(work)
        refuse_links(work)
        with open_lock(work / ".lock") as lock:
            if not try_lock(lock):
                raise DataError("another build of this data set is under way", target)
            text = json.dumps({**facts, "code": __version__}, sort_keys=True)
            if not (resume and plan.is_file() and plan.read_text() == text):
                _clear(work)
                plan.write_text(text)
            try:
                yield work
            finally:
                given_up = work.is_dir() and {entry.name for entry in work.iterdir()} <= {".lock"}
                if given_up:
                    remove(work)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror}); `--resume` goes on from here", target) from None


def _clear(work: Path) -> None:
    for entry in work.iterdir():
        if entry.name != ".lock":
            remove(entry)


def _index(collection: Collection, work: Path, analysis: Analysis, memory: int, verbose: bool) -> tuple[Index, str]:
    """The index, and the digest of the documents; an index that is there is used if it is of these documents."""
    place, noted = work / "index", work / "documents.txt"
    fingerprint = Fingerprint(collection)

    def read() -> Iterator[Document]:
        return words.noted(fingerprint.read(), work / words.NOTES)

    if noted.is_file():
        for _ in read():
            pass
        if fingerprint.digest == noted.read_text():
            return open_index(place), fingerprint.digest
        for entry in (work / "parts", work / "web", noted):
            remove(entry)
    index = build_index(replace(collection, read=read), place, analysis=analysis, memory=memory, verbose=verbose)
    noted.write_text(fingerprint.digest)
    return index, fingerprint.digest


def _web(collection: Collection, index: Index, work: Path) -> Web:
    """Links, sitemap and ranks, worked out once."""
    place = work / "web"
    if not place.is_dir():
        Web.of(collection, index).save(place)
    return Web.open(place)


@dataclass(frozen=True, eq=False)
class _Job:
    """One build under way."""

    collection: Collection
    recipe: Recipe
    features: tuple[BoundFeature, ...]
    index: Index
    web: Web | None
    work: Path
    unjudged: tuple[Query, ...]
    dense: Embeddings | None = None

    @property
    def features_text(self) -> tuple[str, ...]:
        """The features as they are written."""
        return tuple(bound.text for bound in self.features)

    def unjudged_of(self, task: str) -> list[str]:
        """The queries of a set that nobody judged."""
        return [query.id for query in self.unjudged if query.task == task]

    def without(self, useless: Mapping[str, str], samples: Mapping[str, Sampled]) -> tuple[_Job, dict[str, Sampled]]:
        """The same job and samples with fewer features."""
        kept = [i for i, bound in enumerate(self.features) if bound.text not in useless]
        if not kept:
            raise DataError(f"no feature of {self.collection.name} tells two documents apart")
        fewer = {task: replace(found, features=found.features[:, kept]) for task, found in samples.items()}
        return replace(self, features=tuple(self.features[i] for i in kept)), fewer

    def place(self, task: str) -> Path:
        """Where the files of a query set go: a folder of its own where there are several."""
        return self.work / task if len(self.collection.tasks) > 1 else self.work

    def extract_all(self, task: str, spread: Spread | None, verbose: bool) -> Sampled:
        """Sample and extract every query of a set, stretch by stretch; a stretch that is there is read."""
        judged = labels_by_query(self.collection.judgements)
        queries = [query for query in self.collection.queries if query.task == task]
        parts, meta = self.work / "parts", self.place(task) / "Meta"
        parts.mkdir(exist_ok=True)
        if self.recipe.meta:
            meta.mkdir(parents=True, exist_ok=True)
            write_info(CollectionInfo.of(self.index), meta / INFO)
        stretches = [
            Stretch(
                tuple(some), tuple(judged.get(query.id, {}) for query in some), self.recipe, self.features_text,
                parts / f"{task or 'all'}-{start:06}.npy", meta if self.recipe.meta else None,
            )
            for start in range(0, len(queries), STRETCH) if (some := queries[start : start + STRETCH])
        ]  # fmt: skip
        found: list[Extracted] = []
        with progress(len(queries) if verbose else 0, f"features {task}".rstrip()) as bar:
            for done in self._extracted(stretches, spread):
                found.append(done)
                if verbose:
                    bar.step(done.samples[-1].query.id, len(done.samples))
        for left in meta.glob(".*.part"):  # of a worker that was killed
            left.unlink()
        return Sampled(tuple(one for done in found for one in done.samples), np.concatenate([t.table for t in found]))

    def _extracted(self, stretches: Sequence[Stretch], spread: Spread | None) -> Iterator[Extracted]:
        if spread is None:
            return (extract_stretch(self.index, self.web, stretch, self.dense) for stretch in stretches)
        return extract_on(spread, self.work, self.web is not None, stretches)

    def finish(self, task: str, found: Sampled, verbose: bool) -> dict[str, Dataset]:
        """The versions in their folds, the features in full precision, and the similarity of a query set."""
        place, recipe = self.place(task), self.recipe
        data = self._dataset(task, found)
        write_store(data, place / "binary.pippin")
        zero = [bound.text for bound in self.features if bound.feature.fill == "zero"]
        versions = make_versions(data, rule=recipe.min_rule, zero=zero)
        with progress(len(versions) if verbose else 0, f"writing {task}".rstrip()) as bar:
            for name, version in versions.items():
                self._write_version(make_folds(version, recipe.folds, seed=recipe.seed), place / name, name)
                if verbose:
                    bar.step(name)
        if recipe.similarity:
            there = [one for one in found.samples if len(one.numbers)]
            matrices = ((one.query.id, similarity(self.index, one.numbers, stream=recipe.stream)) for one in there)
            write_similarity(place / "similarity.txt", matrices)
        return versions

    @staticmethod
    def _write_version(folds: Folds, folder: Path, name: str) -> None:
        """The folds of a version as text, and beside it as a store, which says with which text it was made."""
        write_folds(folds, folder, name)
        texts, source = index_folder(folder, check=False)
        write_fold_store(folds, folder / STORE, text_digest(texts, source, names=folds.data.feature_names))

    def _dataset(self, task: str, found: Sampled) -> Dataset:
        """Every query with documents, NULL as NaN, in full precision."""
        there = [one for one in found.samples if len(one.numbers)]
        if not there:
            raise DataError(
                f"no document was sampled for any query{f' of {task}' if task else ''}", self.collection.name
            )
        numbers = np.concatenate([one.numbers for one in there])
        added = np.concatenate([one.added for one in there])
        ids = list(self.index.ids.take(numbers))
        marks = ["docid = " + name + (" added = judged" if more else "") for name, more in zip(ids, added, strict=True)]
        return Dataset(
            found.features,
            np.concatenate([one.labels for one in there]),
            np.concatenate(([0], np.cumsum([len(one.numbers) for one in there]))).astype(np.int64),
            tuple(one.query.id for one in there),
            Texts.of(ids), tuple(bound.text for bound in self.features), Texts.of(marks),
            name=" ".join(filter(None, (self.collection.name, task))),
        )  # fmt: skip

    def manifest(self, documents: str, data: Mapping[str, Dataset], samples: Mapping[str, Sampled]) -> dict[str, Any]:
        """Everything that tells this data set from another; the files' digests come last."""
        index, facts = self.index, _facts(self.collection)
        streams = {
            name: {"description": index.descriptions.get(name) or " + ".join(self.collection.unions.get(name, (name,))),
                   "tokens": index.total(name), "terms": index.terms(name),
                   "average": index.average(name)}
            for name in index.streams
        }  # fmt: skip
        return {
            **FORMAT.head,
            "collection": {"name": self.collection.name, "documents": index.documents,
                           "queries": len(self.collection.queries)},
            "recipe": self.recipe.record(),
            "analysis": self.recipe.analysis.record(),
            "streams": streams,
            "features": [bound.text for bound in self.features],
            "proxies": list(self.web.proxies) if self.web is not None else [],
            "tasks": {task: {"queries": own.queries, "documents": len(own),
                             "sampling": sampling(samples[task].samples, self.unjudged_of(task)),
                             "ceilings": ceilings(self.collection, own)}
                      for task, own in data.items()},
            "digests": {"documents": documents, "queries": facts["queries"], "judgements": facts["judgements"],
                        "analysis": self.recipe.analysis.digest, "index": index.digest},
        }  # fmt: skip


def _move(work: Path, target: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Note the digest of every file, and let the finished folder take the target's place."""
    for name in SCRATCH:
        remove(work / name)
    files = sorted(path for path in work.rglob("*") if path.is_file() and path.name != FORMAT.file)
    files = [path for path in files if path != work / CHECKSUMS]
    with ThreadPoolExecutor(threads()) as pool:
        digests = pool.map(_file_digest, files)
        manifest["files"] = {
            path.relative_to(work).as_posix(): digest for path, digest in zip(files, digests, strict=True)
        }
    FORMAT.write(work, manifest)
    take_place(work, target)
    return FORMAT.read_record(target)


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
