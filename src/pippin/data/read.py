"""Whatever ranking data stand at a path: the verb `pippin.read`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import DTypeLike

from pippin.data import irds, store
from pippin.data.convert import Anything, read_any
from pippin.errors import DataError

if TYPE_CHECKING:
    from pippin.data.folds import Folds


def read(
    path: str | os.PathLike[str],
    form: str | None = None,
    *,
    absent: Literal["zero", "null"] = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
    scored: bool = False,
    check: bool = True,
) -> Anything | Folds:
    """Whatever stands at a path: a Dataset, Judgements, a Run, scores, or the Folds of a published or built data set.

    path           LETOR text, qrels, a run, scores (plain or gzip, or `-`), Parquet, CSV, Arrow, JSON, a store, a
                   folder with Fold1 … or with train, vali and test, or `irds:ID` of ir_datasets
    form           what it is, where neither its name nor its first line tells; `pippin.data.convert` lists the forms
    absent         what a feature is that a line of LETOR text leaves out: 0, or NULL (NaN)
    dtype          of the features; as the file has them unless given
    merge_queries  join a query whose rows do not stand together
    scored         where a table has both labels and scores: the run is meant
    check          whether the folds of a published data set are compared with its known counts

    >>> import pippin, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "test.txt"
    >>> _ = file.write_text("2 qid:1 1:0.5 2:0.25 #docid = d1\\n0 qid:1 1:0.1 2:0.75 #docid = d2\\n")
    >>> pippin.read(file)
    Dataset('test.txt': 1 queries, 2 documents, 2 features, float64)
    """
    folder = Path(path)
    if form is None and not irds.is_id(os.fspath(path)) and folder.is_dir() and not store.is_store(folder):
        return _folder(folder, absent, dtype, merge_queries, check)
    return read_any(path, form, absent=absent, dtype=dtype, merge_queries=merge_queries, scored=scored)


def _folder(
    folder: Path, absent: Literal["zero", "null"], dtype: DTypeLike | None, merge_queries: bool, check: bool
) -> Anything | Folds:
    """Partitions, or the files of folds."""
    from pippin.data import folders, partitions

    if partitions.is_partitions(folder):
        return partitions.read_partitions(folder)
    versions = [inner.name for inner in sorted(folder.iterdir()) if inner.is_dir() and folders.is_laid_out(inner)]
    if versions and not folders.is_laid_out(folder):
        raise DataError(f"this folder holds several data sets; read one of them: {', '.join(versions)}", folder)
    options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    return folders.load_folder(folder, check=check, absent=absent, merge_queries=merge_queries, **options)
