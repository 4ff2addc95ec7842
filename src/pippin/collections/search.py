"""Index a collection, search the index, and re-rank the results with a model.

`search` retrieves candidates, `SearchResults.dataset` extracts their features as in a built data set, and a model
scores them:

    run = (search(index, queries) >> "bm25@title bm25@body" >> model)

The retrieval model is BM25, computed by a kernel, or any feature of a field, such as `lmir_dir(mu=500)`.
`lm-dirichlet`, `lm-jm` and `tfidf` are other names for three of them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import WHOLE, Collection, Document, Query
from pippin.collections.features import BoundFeature, check_fields, extract, extract_many, parse_features
from pippin.collections.index.embeddings import (
    RRF,
    VECTORS,
    Embeddings,
    Encoder,
    load_encoder,
    open_embeddings,
    reciprocal_ranks,
)
from pippin.collections.index.index import Index, build_index, make_analyzer, open_index
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.readers import read_queries
from pippin.collections.sources import open_collection, warn_about_notes
from pippin.collections.text.snippets import show
from pippin.data.buffers import built_format
from pippin.data.dataset import Dataset
from pippin.data.normalisation import LETOR_VERSIONS, make_versions
from pippin.data.qrels import Run
from pippin.errors import ConventionError, DataError, PippinWarning, UnknownName
from pippin.kernels import threads
from pippin.kernels.strings import StringColumn
from pippin.rankers.base import Ranker
from pippin.rankers.models import align_features, load

if TYPE_CHECKING:
    from pippin.collections.index.statistics import Candidates

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MODEL_NAMES = {"lm-dirichlet": "lmir_dir", "lm-jm": "lmir_jm", "tfidf": "tf_idf"}
VERSION = "QueryLevelNorm"  # the version that benchmarks train on
MAX_CANDIDATES = 1000  # per query, if the model does not record the length of its training lists
BATCH_PAIRS = 1 << 18  # query-document pairs whose statistics are in memory at once


def index(
    collection: Collection | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    format: str | None = None,
    fields: Sequence[str] | None = None,
    repeated: Literal["refuse", "first"] = "refuse",
    stem: str = "porter",
    stop: str | os.PathLike[str] | Sequence[str] = "english",
    words: str = "unicode",
    texts: bool = True,
    memory: int | str = "128M",
    jobs: int = 1,
    verbose: bool = False,
) -> Index:
    """Index a collection of documents.

    Parameters
    ----------
    collection : Collection or path
        A file or folder of documents, ``"stdlib"`` (the documentation of Python), or a Collection.
    folder : path
        Folder of the index; an existing index there is replaced when the new one is complete.
    format : str, optional
        Format of the documents; detected by default.
    fields : sequence of str, optional
        Document fields to index; by default all that contain text.
    repeated : {"refuse", "first"}
        What to do if two documents have the same id: raise an error, or keep the first.
    stem : str, default "porter"
        ``"porter"``, ``"english"`` (Porter's second stemmer), another Snowball language, or ``"none"``.
    stop : str, path or sequence of str, default "english"
        Stop words: ``"english"``, ``"none"``, a file of words, or the words.
    words : {"unicode", "ascii"}
        Tokens are letters and digits of all scripts, or a–z and 0–9.
    texts : bool, default True
        Store the texts of the documents, which snippets and dense features need.
    memory : int or str, default "128M"
        Memory for the index while it is built; a larger index is merged on disk.
    jobs : int, default 1
        Number of processes that parse web pages. With more than one, a script needs a `__main__` guard.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    Index
        The opened index.

    Examples
    --------
    >>> import pippin, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.tsv").write_text("1\\tred apples\\n2\\tgreen pears\\n3\\tplums\\n")
    >>> pippin.index(folder / "docs.tsv", folder / "index")
    Index('docs': 3 documents, 5 terms; text)
    """
    if not isinstance(collection, Collection):
        collection = open_collection(
            collection, format=format, documents_only=True, fields=fields, repeated=repeated, jobs=jobs
        )
    result = build_index(
        collection, folder, analysis=make_analyzer(stem, stop, words), memory=memory, texts=texts,
        verbose=verbose,
    )  # fmt: skip
    warn_about_notes(collection)
    if result.manifest["documents_cut"]:
        count, limit = result.manifest["documents_cut"], result.analysis.limit
        warnings.warn(f"{count:,} documents have more than {limit:,} words in a field and are truncated", PippinWarning,
                      stacklevel=2)  # fmt: skip
    return result


def search(
    index: Index | str | os.PathLike[str],
    queries: Iterable[Query] | str | os.PathLike[str] | None = None,
    *,
    query: str | None = None,
    query_field: str | None = None,
    model: str = "bm25",
    top: int | None = None,
    field: str | None = None,
) -> SearchResults:
    """Search an index by BM25 or by any feature of a field.

    Parameters
    ----------
    index : Index or path
        A folder of :func:`pippin.index` or :func:`pippin.build`.
    queries : iterable of Query or path, optional
        The queries, or a file of them in any format that :func:`pippin.build` reads.
    query : str, optional
        The text of one query, instead of `queries`.
    query_field : str, optional
        Field of the queries file to search, such as ``"description"``.
    model : str, default "bm25"
        The retrieval model: ``"bm25(k1=0.9,b=0.4)"``, ``"lm-dirichlet(mu=500)"``, ``"lm-jm"``, ``"tfidf"``, or any
        feature of a field.
    top : int, optional
        Number of documents per query; by default 1,000, or 10 for one `query`.
    field : str, optional
        Document field to search; by default ``"whole"`` if it exists, else the last field.

    Returns
    -------
    SearchResults
        Documents and scores, best first, ties by id; ``run()`` makes a run, ``record()`` shows titles and snippets.

    Raises
    ------
    DataError
        If neither or both of `queries` and `query` are given, or no word of `query` remains after analysis.
    UnknownName
        If the model or the field does not exist.

    Examples
    --------
    >>> import pippin, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.tsv").write_text("1\\tred apples\\n2\\tgreen pears\\n3\\tplums\\n")
    >>> index = pippin.index(folder / "docs.tsv", folder / "index")
    >>> [hit["document"] for hit in pippin.search(index, query="an apple").record()["hits"]]
    ['1']
    """
    if (query is None) == (queries is None):
        raise DataError("give either one query or queries, such as --queries FILE")
    top = top if top is not None else 1000 if query is None else 10
    if top < 1:
        raise DataError(f"top must be at least 1, got {top}")
    index = load_index(index)[0]
    parsed = (Query("query", query),) if query is not None else load_queries(queries or (), query_field)
    words = [tuple(terms) for terms in index.analyse_many(entry.text for entry in parsed)]
    if query is not None and not words[0]:
        raise DataError(f"no word of {query!r} remains after analysis: all are stop words or punctuation")
    field = index.resolve_field(field or (WHOLE if WHOLE in index.fields else index.fields[-1]))
    feature = _parse_model(model, field)
    if feature is None:
        k1, b = _bm25_parameters(model)
        ranked = index.search_many(words, top, field=field, k1=k1, b=b)
    else:
        check_fields([feature], index.fields, index.numeric_fields)
        with ThreadPoolExecutor(threads()) as pool:
            ranked = list(pool.map(partial(_rank_by_feature, index, feature, top), parsed, words))
    numbers, scores = tuple(numbers for numbers, _ in ranked), tuple(scores for _, scores in ranked)
    return SearchResults(index, parsed, tuple(words), numbers, scores, model, field)


def load_index(source: Index | str | os.PathLike[str]) -> tuple[Index, LinkIndex | None]:
    """Return an index, or open the index and links of a folder that `index` or `build` wrote."""
    if isinstance(source, Index):
        return source, None
    folder = Path(source)
    if not built_format().is_at(folder):
        return open_index(folder), None
    return open_index(folder / "index"), LinkIndex.open(folder / "web") if (folder / "web").is_dir() else None


def load_queries(queries: Iterable[Query] | str | os.PathLike[str], field: str | None = None) -> tuple[Query, ...]:
    """Return queries as a tuple, or read a file of them."""
    return read_queries(queries, field) if isinstance(queries, str | os.PathLike) else tuple(queries)


def _parse_model(text: str, field: str) -> BoundFeature | None:
    """Return the feature that ranks; None for BM25, which a kernel computes."""
    name, bracket, parameters = text.partition("(")
    if name == "bm25":
        return None
    features = parse_features(f"{MODEL_NAMES.get(name, name)}{bracket}{parameters}@{field}")
    if len(features) != 1:
        raise ConventionError(f"a retrieval model must be one feature, got {len(features)} ({text})")
    return features[0]


def _bm25_parameters(text: str) -> tuple[float, float]:
    """Return k1 and b; LETOR's values by default."""
    parameters = dict(parse_features(f"{text}@{WHOLE}")[0].parameters)
    unknown = set(parameters) - {"k1", "b"}
    if unknown:
        raise UnknownName("parameter of BM25 in a search", min(unknown), ("k1", "b"))
    return float(parameters.get("k1", 2.5)), float(parameters.get("b", 0.8))


def _rank_by_feature(
    index: Index, feature: BoundFeature, top: int, query: Query, words: Sequence[str]
) -> tuple[Ints, Floats]:
    """Rank all documents that contain a word of the query by a feature."""
    postings = [index.postings(str(feature.field), word)[0] for word in dict.fromkeys(words)]
    numbers = np.unique(np.concatenate(postings)) if postings else np.empty(0, np.int64)
    if not len(numbers):
        return numbers, np.empty(0)
    scores = feature.values(index.candidates(query, numbers, np.zeros(len(numbers), np.int32), words=words))
    is_known = ~np.isnan(scores)
    numbers, scores = numbers[is_known], scores[is_known]
    order = np.lexsort((index.id_ranks[numbers], -scores))[:top]
    return numbers[order], scores[order]


@dataclass(frozen=True, eq=False)
class SearchResults:
    """Documents found for some queries: numbers and scores, best first."""

    index: Index
    queries: tuple[Query, ...]
    words: tuple[tuple[str, ...], ...]  # of each query, analysed
    numbers: tuple[Ints, ...]
    scores: tuple[Floats, ...]
    name: str  # of the retrieval model
    field: str

    @property
    def unmatched(self) -> list[str]:
        """Ids of the queries without any document."""
        return [query.id for query, numbers in zip(self.queries, self.numbers, strict=True) if not len(numbers)]

    def _matching_queries(self) -> list[int]:
        """Return the positions of the queries with documents; at least one."""
        matched = [i for i, numbers in enumerate(self.numbers) if len(numbers)]
        if not matched:
            raise DataError(f"no document of {self.index.name} contains a word of any query")
        return matched

    def run(self) -> Run:
        """Return a run of the queries that have documents."""
        matched = self._matching_queries()
        return Run(
            tuple(self.queries[i].id for i in matched),
            np.concatenate(([0], np.cumsum([len(self.numbers[i]) for i in matched]))).astype(np.int64),
            self.index.ids.take(np.concatenate([self.numbers[i] for i in matched])),
            np.concatenate([self.scores[i] for i in matched]),
            self.index.name,
            "".join(self.name.split()),
        )

    def record(self, position: int = 0) -> dict[str, Any]:
        """Return the words of one query with their document frequencies, and its documents with title and snippet.

        Parameters
        ----------
        position : int, default 0
            Position of the query, from 0.
        """
        words = self.words[position]
        df, _ = self.index.term_statistics(self.field, words)
        pairs = zip(self.numbers[position].tolist(), self.scores[position].tolist(), strict=True)
        hits = [
            {"rank": rank, "score": score, "document": self.index.ids.at(number),
             **asdict(show(self.index, number, words, field=self.field))}
            for rank, (number, score) in enumerate(pairs, 1)
        ]  # fmt: skip
        counts = [{"word": word, "documents": int(count)} for word, count in zip(words, df, strict=True)]
        return {"index": self.index.name, "field": self.field, "hits": hits, "words": counts}

    def dataset(
        self, features: str | Sequence[BoundFeature | str], *, version: str = VERSION, web: LinkIndex | None = None,
        dense: Embeddings | None = None,
    ) -> Dataset:  # fmt: skip
        """Return the features of the documents in one version of a built data set; all labels are 0.

        Parameters
        ----------
        features : str or sequence of features
            Feature set or features.
        version : str, default "QueryLevelNorm"
            Version of the data set, such as "QueryLevelNorm" or "Feature-null".
        web : LinkIndex, optional
            Link index, for features of links.
        dense : Embeddings, optional
            Stored embeddings, for dense features.
        """
        return _select_version(self._versions(features, web, dense), version)

    def _versions(
        self, features: str | Sequence[BoundFeature | str], web: LinkIndex | None = None,
        dense: Embeddings | None = None,
    ) -> dict[str, Dataset]:  # fmt: skip
        bound = parse_features(features)
        check_fields(bound, self.index.fields, self.index.numeric_fields)
        matched = self._matching_queries()
        tables = [
            table
            for batch in self._batches(matched)
            for table in extract_many([self._candidates(i, web, dense) for i in batch], bound)
        ]
        numbers = np.concatenate([self.numbers[i] for i in matched])
        raw = Dataset(
            np.concatenate(tables), np.zeros(len(numbers), np.int32),
            np.concatenate(([0], np.cumsum([len(self.numbers[i]) for i in matched]))).astype(np.int64),
            tuple(self.queries[i].id for i in matched), self.index.ids.take(numbers),
            tuple(feature.text for feature in bound), name=self.index.name,
        )  # fmt: skip
        return _make_versions(raw, bound)

    def _batches(self, positions: Sequence[int]) -> Iterator[list[int]]:
        """Yield queries in batches of about BATCH_PAIRS documents."""
        batch = np.cumsum([len(self.numbers[i]) for i in positions]) // BATCH_PAIRS
        for number in np.unique(batch):
            yield [positions[i] for i in np.flatnonzero(batch == number).tolist()]

    def _candidates(self, i: int, web: LinkIndex | None, dense: Embeddings | None) -> Candidates:
        labels = np.zeros(len(self.numbers[i]), np.int32)
        return self.index.candidates(
            self.queries[i], self.numbers[i], labels, words=self.words[i], web=web, dense=dense
        )

    def __rshift__(self, features: str | Sequence[BoundFeature | str]) -> CandidateFeatures:
        return CandidateFeatures(self._versions(features))


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """Features of search results in all versions, for a model to score."""

    versions: Mapping[str, Dataset]

    def __rshift__(self, model: Ranker) -> Run:
        return score(model, self.versions[resolve_version(model)])


def _make_versions(raw: Dataset, features: Sequence[BoundFeature]) -> dict[str, Dataset]:
    return make_versions(raw, zero=[bound.text for bound in features if bound.feature.fill == "zero"])


def _select_version(versions: Mapping[str, Dataset], version: str) -> Dataset:
    if version not in versions:
        raise UnknownName("version", version, versions)
    return versions[version]


def search_vectors(vectors: Embeddings, queries: Sequence[Query], *, top: int = 1000) -> SearchResults:
    """Find the documents whose vectors are nearest to those of the queries."""
    numbers, scores = vectors.nearest(queries, top=top)
    words = tuple(tuple(vectors.index.analyse(query.text)) for query in queries)
    return SearchResults(vectors.index, tuple(queries), words, numbers, scores, "dense", WHOLE)


def reciprocal_rank_fusion(*results: SearchResults, k: int = RRF, top: int = 1000) -> SearchResults:
    """Fuse several searches for the same queries: Σ 1 / (k + rank) per document, ties by id.

    Cormack, Clarke & Büttcher 2009. With all documents of each search the result is also their union.
    """
    first = results[0] if results else None
    if first is None or any(result.queries != first.queries or result.index is not first.index for result in results):
        raise DataError("fusion needs searches of the same queries in the same index")
    numbers, scores = [], []
    for query in range(len(first.queries)):
        fused = reciprocal_ranks(*(result.numbers[query].tolist() for result in results), k=k)
        documents, values = np.array(list(fused), np.int64), np.array(list(fused.values()))
        order = np.lexsort((first.index.id_ranks[documents], -values))[:top]
        numbers.append(documents[order])
        scores.append(values[order])
    return replace(first, numbers=tuple(numbers), scores=tuple(scores), name="rrf")


def score(model: Ranker, data: Dataset) -> Run:
    """Return a model's scores of a data set with document ids as a run."""
    return run_of(data, model.predict(align_features(model, data)), model.name)


def run_of(data: Dataset, scores: Floats, tag: str) -> Run:
    """Return scores of a data set as a run."""
    if data.document_ids is None:
        raise DataError(f"{data.name} has no document ids, which a run needs")
    return Run(data.query_ids, data.offsets, data.document_ids, np.asarray(scores, np.float64), data.name, tag)


def sorted_run(run: Run) -> Run:
    """Return the run with each query's documents by descending score; ties keep their order."""
    order = np.lexsort((-run.scores, np.repeat(np.arange(len(run.query_ids)), np.diff(run.offsets))))
    return Run(run.query_ids, run.offsets, run.document_ids.take(order), run.scores[order], run.name, run.tag)


def resolve_version(model: Ranker, version: str | None = None) -> str:
    """Return the version of the features that a model was trained on; raise if `version` is another one."""
    if version is not None and version not in LETOR_VERSIONS:
        raise UnknownName("version", version, LETOR_VERSIONS)
    trained = model.feature_version_
    if not trained and version is None:
        names = ", ".join(LETOR_VERSIONS)
        raise ConventionError(f"the model does not record the version of its features; name it: --version {names}")
    if trained and version not in (None, trained):
        raise ConventionError(f"the model was trained on {trained} and cannot score {version}; leave out the version")
    return version or trained


def resolve_depth(model: Ranker, version: str, top: int | None = None, sample: int = 0) -> int:
    """Return the number of candidates per query: by default the longest list that the model was trained on.

    With normalisation per query the values of the features depend on this number, so only the model's number, or the
    `sample` size of the built data set that is searched, is allowed.
    """
    trained = model.documents_per_query_
    if top is not None and trained and top not in (trained, sample) and version == "QueryLevelNorm":
        raise ConventionError(
            f"the model was trained on features that are normalised over up to {trained:,} documents per query; "
            f"{top:,} candidates change their values. Leave out top, or train on Feature-min"
        )
    return top or trained or sample or MAX_CANDIDATES


def _sample_size(source: Index | str | os.PathLike[str]) -> int:
    """Return the number of documents that BM25 retrieved per query in a built data set; 0 for other sources."""
    if isinstance(source, Index) or not built_format().is_at(source):
        return 0
    return int(built_format().read_record(Path(source))["recipe"]["sample"])


class Pipeline:
    """A reusable chain from queries to a run: retrieve candidates, extract features, score them with a model.

    Version of the features and number of candidates are those of the model's training data.

    Parameters
    ----------
    index : Index or path
        An index, or a folder of :func:`pippin.index` or :func:`pippin.build`; links of a built data set are used.
    model : Ranker or path
        The model that scores the candidates.
    features : str or sequence, optional
        Features to extract; by default those of the model.
    top : int, optional
        Number of candidates per query; by default the length of the longest list in the training data, or 1,000 if the
        model does not record it.
    candidates : str, default "bm25"
        Retrieval model of the candidates; see :func:`pippin.search`.
    field : str, optional
        Document field to search; by default ``"whole"`` if it exists, else the last field.
    version : str, optional
        Version of the data set that the model was trained on: "Feature-null", "Feature-min" or "QueryLevelNorm". Needed
        only if the model does not record it, as models of other programs.
    dense : Encoder or path, optional
        The model of the vectors that the built data set stores: the `top` nearest documents become candidates, too.

    Raises
    ------
    ConventionError
        If the version is unknown or differs from that of the model, or if another number of candidates would change
        features that are normalised per query.

    Examples
    --------
    >>> import pippin, tempfile
    >>> from pippin.collections import Document
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.tsv").write_text("1\\tred apples\\n2\\tgreen pears\\n3\\tred pears\\n4\\tplums\\n")
    >>> index = pippin.index(folder / "docs.tsv", folder / "index")
    >>> data = pippin.search(index, [Query("a", "red pears")]).dataset("bm25@text length@text", version="Feature-min")
    >>> model = pippin.train(replace(data, labels=np.array([1, 0, 0], np.int32)), "best-feature")
    >>> pipeline = pippin.Pipeline(index, model)
    >>> [name for name, _ in pipeline.rerank("plums", ["1", "4", Document("new", {"text": "plums and plums"})])]
    ['new', '4', '1']
    >>> pipeline.rerank("medlars")
    []
    """

    def __init__(
        self,
        index: Index | str | os.PathLike[str],
        model: Ranker | str | os.PathLike[str],
        features: str | Sequence[BoundFeature | str] | None = None,
        *,
        top: int | None = None,
        candidates: str = "bm25",
        field: str | None = None,
        version: str | None = None,
        dense: Encoder | str | os.PathLike[str] | None = None,
    ) -> None:
        self.index, self.web = load_index(index)
        self.model = model if isinstance(model, Ranker) else load(model)
        self.version = resolve_version(self.model, version)
        sample = _sample_size(index)
        top = sample if top is None and dense is not None else top  # lists with vectors have up to twice as many
        self.top, self.candidates, self.field = resolve_depth(self.model, self.version, top, sample), candidates, field
        names = features if features is not None else self.model.feature_names_
        if features is None and all(str(name).isdigit() for name in names):
            raise DataError("the model has feature numbers instead of names; name the features (--features)")
        self.features = parse_features(names)
        self.dense = None if dense is None else _open_vectors(index, self.index, dense)

    def __call__(self, queries: Iterable[Query]) -> Run:
        """Return the run of these queries, each query's documents best first."""
        return self._rank(self._retrieve(tuple(queries)))

    def _retrieve(self, queries: tuple[Query, ...]) -> SearchResults:
        results = search(self.index, queries, model=self.candidates, top=self.top, field=self.field)
        if self.dense is None:
            return results
        nearest = search_vectors(self.dense, results.queries, top=self.top)
        return reciprocal_rank_fusion(results, nearest, top=2 * self.top)

    def _rank(self, results: SearchResults) -> Run:
        data = results.dataset(self.features, version=self.version, web=self.web, dense=self.dense)
        return sorted_run(score(self.model, data))

    def rerank(self, query: Query | str, documents: Sequence[str | Document] | None = None) -> list[tuple[str, float]]:
        """Rank documents for one query, such as the candidates of another system.

        Parameters
        ----------
        query : Query or str
            The query.
        documents : sequence of str or Document, optional
            Ids of indexed documents, or documents that need not be in the index. Term statistics of the collection are
            those of the index. By default the pipeline retrieves its own candidates. Features that are normalised per
            query are normalised over these documents.

        Returns
        -------
        list of (str, float)
            Id and score of each document, best first; empty if no document contains a word of the query.

        Raises
        ------
        DataError
            If an id is not in the index, a document has a field that the index does not have, or the model has
            features that need indexed documents (links, vectors).
        """
        query = Query("query", query) if isinstance(query, str) else query
        if documents is None:
            results = self._retrieve((query,))
            run = None if results.unmatched else self._rank(results)
        else:
            run = self._rank_documents(query, documents)
        return [] if run is None else list(zip(run.document_ids, run.scores.tolist(), strict=True))

    def _rank_documents(self, query: Query, documents: Sequence[str | Document]) -> Run | None:
        """Rank given documents; None if none contains a word of the query."""
        ids = [document if isinstance(document, str) else document.id for document in documents]
        is_indexed = np.array([isinstance(document, str) for document in documents], np.bool_)
        numbers = self.index.numbers([document for document in documents if isinstance(document, str)])
        if (numbers < 0).any():
            unknown = ids[int(np.flatnonzero(is_indexed)[np.flatnonzero(numbers < 0)[0]])]
            raise DataError(f"document {unknown} is not in {self.index.name}; pass a Document with its fields")
        external = [document for document in documents if isinstance(document, Document)]
        needs_index = next((bound.text for bound in self.features if bound.field is None), None)
        if external and needs_index is not None:
            raise DataError(f"the feature {needs_index} needs indexed documents; {external[0].id} is not one")
        labels = np.zeros(len(numbers), np.int32)
        groups = [
            (is_indexed, self.index.candidates(query, numbers, labels, web=self.web, dense=self.dense)),
            (~is_indexed, self.index.unindexed_candidates(query, external)),
        ]
        if not any(field.hits.any() for _, candidates in groups for field in candidates.fields.values()):
            return None
        table = np.empty((len(ids), len(self.features)))
        for rows, candidates in groups:
            if len(candidates):
                table[rows] = extract(candidates, self.features)
        raw = Dataset(
            table, np.zeros(len(ids), np.int32), np.array([0, len(ids)]), (query.id,), StringColumn.of(ids),
            tuple(bound.text for bound in self.features), name=self.index.name,
        )  # fmt: skip
        return sorted_run(score(self.model, _make_versions(raw, self.features)[self.version]))

    def __repr__(self) -> str:
        return f"Pipeline({self.candidates} → {len(self.features)} features → {self.model.name} on {self.index.name!r})"


def _open_vectors(
    source: Index | str | os.PathLike[str], index: Index, model: Encoder | str | os.PathLike[str]
) -> Embeddings:
    """Open the vectors that a built data set stores beside its index."""
    if isinstance(source, Index) or not (Path(source) / VECTORS).is_dir():
        raise DataError("no vectors are stored here; build the data set with --dense", str(source))
    return open_embeddings(Path(source) / VECTORS, index, load_encoder(model))


def rerank(
    model: Ranker | str | os.PathLike[str],
    index: Index | str | os.PathLike[str],
    queries: Iterable[Query] | str | os.PathLike[str],
    *,
    query_field: str | None = None,
    features: str | Sequence[BoundFeature | str] | None = None,
    top: int | None = None,
    candidates: str = "bm25",
    field: str | None = None,
    version: str | None = None,
    dense: Encoder | str | os.PathLike[str] | None = None,
) -> Run:
    """Rank the documents of an index for new queries with a model.

    Parameters
    ----------
    model : Ranker or path
        The model, trained on features of a built data set.
    index : Index or path
        A folder of :func:`pippin.index` or :func:`pippin.build`.
    queries : iterable of Query or path
        The queries, or a file of them in any format that :func:`pippin.build` reads.
    query_field : str, optional
        Field of the queries file to search, such as ``"description"``.
    features, top, candidates, field, version, dense
        See :class:`pippin.Pipeline`.

    Returns
    -------
    Run
        Each query's candidates by the scores of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import pippin, tempfile
    >>> from dataclasses import replace
    >>> from pathlib import Path
    >>> from pippin.collections import Query
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.tsv").write_text("1\\tred apples\\n2\\tgreen pears\\n3\\tred pears\\n4\\tplums\\n")
    >>> index = pippin.index(folder / "docs.tsv", folder / "index")
    >>> data = pippin.search(index, [Query("a", "red pears")]).dataset("bm25@text length@text")
    >>> model = pippin.train(replace(data, labels=np.array([1, 0, 0], np.int32)), "best-feature")
    >>> list(pippin.rerank(model, index, [Query("b", "plums")]).document_ids)
    ['4']
    """
    pipeline = Pipeline(
        index, model, features, top=top, candidates=candidates, field=field, version=version, dense=dense
    )
    return pipeline(load_queries(queries, query_field))
