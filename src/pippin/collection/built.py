"""From documents, queries and judgements to a data set, in one call: the verb `pippin.build`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pippin.collection.analysis import Analysis
from pippin.collection.build import build as build_collection
from pippin.collection.build import manifest_of, usual
from pippin.collection.collection import Collection
from pippin.collection.named import open_collection
from pippin.collection.recipe import Recipe
from pippin.collection.sampling import How
from pippin.collection.sharded import Spread
from pippin.errors import UnknownName
from pippin.shown import Shown, in_columns

if TYPE_CHECKING:
    from pippin.data.folds import Folds


@dataclass(frozen=True, eq=False, repr=False)
class Built(Shown):
    """A data set that was built: its folder, and what its manifest says."""

    folder: Path
    manifest: dict[str, Any] = field(repr=False)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Built:
        """A data set that stands in a folder."""
        return cls(Path(folder), manifest_of(Path(folder)))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of its sets of queries; one without a name where there is one."""
        return tuple(self.manifest["tasks"])

    def folds(self, version: str = "QueryLevelNorm", task: str | None = None) -> Folds:
        """The folds of a version: Feature-null, Feature-min or QueryLevelNorm; of a task where there are several."""
        from pippin.data.folders import load_folder
        from pippin.data.versions import VERSIONS

        if version not in VERSIONS:
            raise UnknownName("version", version, VERSIONS)
        several = len(self.tasks) > 1
        if several and task not in self.tasks:
            raise UnknownName("task of this data set", str(task), self.tasks)
        return load_folder(self.folder / str(task) / version if several else self.folder / version)

    def to_dict(self) -> dict[str, Any]:
        """A row per task: queries, documents, and how many relevant ones the samples have and lost."""
        rows = [
            (task, facts["queries"], facts["documents"], facts["sampling"]["relevant"] - facts["sampling"]["lost"],
             facts["sampling"]["lost"])
            for task, facts in self.manifest["tasks"].items()
        ]  # fmt: skip
        return in_columns(rows, "task", "queries", "documents", "relevant", "lost")


def build(
    collection: str | os.PathLike[str] | Collection,
    folder: str | os.PathLike[str],
    *,
    queries: str | os.PathLike[str] | None = None,
    judgements: str | os.PathLike[str] | None = None,
    format: str | None = None,
    features: str = "auto",
    documents: How | None = None,
    sample: int = 1000,
    folds: int = 5,
    seed: int | None = None,
    field: str | None = None,
    unjudged: Literal["drop", "keep"] = "drop",
    drop_useless: bool = False,
    min_rule: Literal["letor", "min"] = "letor",
    analysis: Analysis | None = None,
    meta: bool = True,
    similarity: bool = False,
    dense: str | os.PathLike[str] | None = None,
    memory: int = 128 << 20,
    resume: bool = False,
    verbose: bool = False,
    spread: Spread | None = None,
) -> Built:
    """Build a learning-to-rank data set from documents, as LETOR did: index, samples, features, versions, folds.

    collection           a file or folder of documents, `stdlib` (Python's own documentation), or a Collection
    folder               where the data set goes; an older one there stays until the new one is complete
    queries, judgements  their files, where they do not stand beside the documents
    format               of the documents, where it is not found out
    features             a set or features one by one, see `pippin.features`; auto: as it fits
    documents, sample    per query the best N by BM25 ("top"), the judged ones ("judged"), or "both"; unless given, as
                         the collection was judged
    folds, seed          how many, and by lot (with a seed) or in the order of the queries
    field                which field of the topics is searched
    unjudged             queries that nobody judged: left out, or kept, all not relevant
    drop_useless         leave out features with one value only, and copies of others
    min_rule             what fills NULL: LETOR's files, or its paper (always the query's minimum)
    analysis             how texts become words
    meta, similarity     whether meta-information, and how alike documents are, is written
    dense                the folder of a sentence-transformers model (extra `dense`): the set `dense` comes last, and as
                         many documents that are nearest by their vectors stand beside BM25's best
    memory               bytes for the index while it is built
    resume               go on where a build of the same data was stopped
    spread               the workers of a cluster (`pippin.bench.dask.building.workers`); the bytes are the same

    >>> import pippin, tempfile
    >>> from pathlib import Path
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "docs.tsv").write_text("1\\tred apples\\n2\\tgreen pears\\n3\\tred pears, apples\\n4\\tplums\\n")
    >>> _ = (place / "topics.tsv").write_text("".join(f"q{i}\\tred apples\\n" for i in range(5)))
    >>> _ = (place / "qrels").write_text("".join(f"q{i} 0 1 1\\nq{i} 0 3 0\\n" for i in range(5)))
    >>> built = pippin.build(
    ...     place / "docs.tsv", place / "mine", queries=place / "topics.tsv", judgements=place / "qrels",
    ... )
    >>> built.to_dict()["queries"], len(built.folds())
    ([5], 5)
    """
    source = collection
    if not isinstance(source, Collection):
        named: dict[str, Any] = {"queries": queries, "judgements": judgements, "format": format}
        source = open_collection(
            source, anchors=spread is None, **{key: value for key, value in named.items() if value is not None}
        )
    recipe = Recipe(
        features=features, how=documents or usual(source), size=sample, folds=folds, seed=seed, query_field=field,
        unjudged=unjudged, drop_useless=drop_useless, min_rule=min_rule, analysis=analysis or Analysis(), meta=meta,
        similarity=similarity, dense=None if dense is None else os.fspath(dense),
    )  # fmt: skip
    manifest = build_collection(source, folder, recipe, memory=memory, resume=resume, verbose=verbose, spread=spread)
    return Built(Path(folder), manifest)
