"""Any form of ranking data as any other: the function behind `pippin convert`.

    form       what it holds
    letor      a data set as LETOR text
    qrels      judgements as TREC text
    run        a run as TREC text
    scores     scores, one a line
    parquet    any of these as a table
    csv        any of these as a table (tabs where the name ends in .tsv)
    arrow      any of these as a table, Arrow IPC
    store      a data set, judgements or a run as a memory-mapped folder
    irds       judgements of ir_datasets (to read only)
    json       judgements or a run: dicts of dicts, lists, `_rank_eval`, MTEB's predictions (to read only)

The form of the input is told by `irds:` in front, by being a folder, by its ending, or else by its first line; that of
the output by its name; where that is a plain text (no ending, `.txt`), it is the one that fits the data. A data set
can be narrowed on the way: to the judgements in it, or to a run or scores by one of its features.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from pippin.data import columns, irds, store, tables
from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.dataset import Dataset
from pippin.data.packing import Data, Scores
from pippin.data.trec import Judgements, Run
from pippin.errors import DataError, UnknownName
from pippin.extras import need

FORMS = ("letor", "qrels", "run", "scores", "parquet", "csv", "arrow", "store")
INPUTS = (*FORMS, "irds", "json")
TABLES = ("parquet", "csv", "arrow")
PLAIN = ("", ".txt", ".text", ".dat")  # endings of texts that may hold anything
# Endings of text files.
TEXTS = {
    ".letor": "letor", ".svmlight": "letor", ".libsvm": "letor", ".svm": "letor",
    ".qrels": "qrels", ".qrel": "qrels",
    ".run": "run", ".trec": "run",
    ".scores": "scores", ".score": "scores",
}  # fmt: skip
WORDS = {Dataset: "a data set", Judgements: "judgements", Run: "a run", np.ndarray: "a list of scores"}

Anything: TypeAlias = Data | Scores


def named_form(path: str | os.PathLike[str]) -> str | None:
    """The form that a name alone tells; for text only its first line tells, whatever the name."""
    text = os.fspath(path)
    if irds.is_id(text):
        return "irds"
    if text != "-" and Path(text).is_dir():
        return "store"
    return "json" if text.lower().endswith(".json") else tables.form_of(text)


def text_form(buffer: Buffer) -> str:
    """The form of a text file, by its first line."""
    from pippin.data.load import kind_of_text

    kind = kind_of_text(buffer)
    return "qrels" if kind == "judgements" else kind


def _ending_form(path: str | os.PathLike[str]) -> str | None:
    """The form of text that the ending of an output asks for."""
    return TEXTS.get(Path(os.fspath(path).lower().removesuffix(".gz")).suffix)


def output_form(path: str | os.PathLike[str], data: Anything) -> str:
    """The form a name asks for or, of a plain text, the one that fits the data.

    >>> output_form("a.parquet", np.zeros(1)), output_form("a.pippin", np.zeros(1)), output_form("a.txt", np.zeros(1))
    ('parquet', 'store', 'scores')
    """
    if os.fspath(path) != "-" and store.names_store(path):
        return "store"
    form = tables.form_of(path) or _ending_form(path)
    ending = Path(os.fspath(path).lower().removesuffix(".gz")).suffix
    if form is None and ending not in PLAIN:
        raise DataError(
            f"the ending {ending} names no form; say which it is with --to, one of {', '.join(FORMS)}", path
        )
    return form or {Dataset: "letor", Judgements: "qrels", Run: "run", np.ndarray: "scores"}[type(data)]


def read_any(
    path: str | os.PathLike[str],
    form: str | None = None,
    *,
    absent: Literal["zero", "null"] = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
    scored: bool = False,
) -> Anything:
    """Whatever stands at a path; `scored` decides where a table has both labels and scores."""
    from pippin.data.letor import read_letor
    from pippin.data.load import read_nested
    from pippin.data.scores import read_scores
    from pippin.data.trec_text import read_judgements, read_run

    source: Readable = path
    form = form or named_form(path)
    if form is None:
        source = open_buffer(path)  # once: standard input comes only once
        form = text_form(source)
    data: Anything
    match form:
        case "irds":
            data = irds.read_scored(os.fspath(path)) if scored else irds.read_judged(os.fspath(path))
        case "json":
            data = read_nested(path, scored)
        case "store":
            data = store.read_store(path)
        case "letor":
            data = read_letor(source, absent=absent, merge_queries=merge_queries, dtype=dtype or np.float64)
        case "qrels":
            data = read_judgements(source, merge_queries=merge_queries)
        case "run":
            data = read_run(source, merge_queries=merge_queries)
        case "scores":
            data = read_scores(source)
        case "parquet" | "csv" | "arrow" as table:
            data = columns.read(path, form=table, scored=scored, merge_queries=merge_queries, dtype=dtype)
        case unknown:
            raise UnknownName("form", unknown, INPUTS)
    if isinstance(data, Dataset) and dtype is not None and data.features.dtype != np.dtype(dtype):
        data = replace(data, features=data.features.astype(dtype), lines=None)
    return data


def write_any(data: Anything, path: str | os.PathLike[str], form: str | None = None) -> str:
    """Write data in a form, or in the one that the name asks for; the form it was."""
    from pippin.data.letor import write_letor
    from pippin.data.scores import write_scores
    from pippin.data.trec_text import write_judgements, write_run

    form = form or output_form(path, data)
    match form, data:
        case (("parquet" | "csv" | "arrow"), _):
            columns.write(data, path, form)
        case "store", Dataset() | Judgements() | Run():
            if os.fspath(path) == "-":
                raise DataError("a store is a folder, and standard output is none")
            store.write_store(data, path)
        case "letor", Dataset():
            if len(data) and data.labels.min() < 0:
                raise DataError(f"the label {data.labels.min()} cannot be written as LETOR text, where none is below 0")
            write_letor(data, path)
        case "qrels", Judgements():
            write_judgements(data, path)
        case "run", Run():
            write_run(data, path)
        case "scores", np.ndarray():
            write_scores(data, path)
        case _:
            if form not in FORMS:
                raise UnknownName("form", form, FORMS)
            raise DataError(_impossible(data, form), path)
    return form


def _impossible(data: Anything, form: str) -> str:
    """Why this data cannot take that form, in one sentence."""
    have = WORDS[type(data)]
    reasons = {
        "letor": f"{have} cannot be written as LETOR text, which needs features",
        "qrels": f"{have} cannot be written as judgements, which need labels of documents",
        "run": f"{have} cannot be written as a run, which needs a score for each document",
        "scores": f"{have} cannot be written as scores, which stand in the order of a data set",
        "store": f"{have} cannot be written as a store, which holds a data set, judgements or a run",
    }
    return reasons[form]


def narrow(data: Anything, form: str, *, judgements: bool = False, feature: str | None = None) -> Anything:
    """The part of a data set that a form, or the caller, asks for; anything else as it is."""
    if not isinstance(data, Dataset):
        if judgements and not isinstance(data, Judgements):
            raise DataError(f"{WORDS[type(data)]} holds no judgements")
        if feature is not None:
            raise DataError(f"{WORDS[type(data)]} has no features, so none is called {feature!r}")
        return data
    if judgements or form == "qrels":
        if feature is not None:
            raise DataError("choose one: the judgements, or a feature as scores")
        if data.document_ids is None:
            raise DataError(f"{data.name} names no documents, and judgements are of documents")
        return Judgements(data.query_ids, data.offsets, data.document_ids, data.labels, data.name)
    if feature is None and form not in {"run", "scores"}:
        return data
    scores = _scores_of(data, feature)
    if form == "scores" or (form != "run" and data.document_ids is None):
        return scores
    if data.document_ids is None:
        raise DataError(f"{data.name} names no documents, and a run is of documents")
    return Run(data.query_ids, data.offsets, data.document_ids, scores, data.name, feature or "run")


def _scores_of(data: Dataset, feature: str | None) -> Scores:
    """One feature as scores: the one of this name, or the only one."""
    if feature is None:
        if data.features.shape[1] != 1:
            raise DataError(
                f"{data.name} has {data.features.shape[1]} features and no scores; name the feature to score by"
            )
        position = 0
    elif feature not in data.feature_names:
        raise UnknownName("feature", feature, data.feature_names)
    else:
        position = data.feature_names.index(feature)
    scores = np.array(data.features[:, position], np.float64)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise DataError(f"document {row + 1} has no value in feature {data.feature_names[position]}, so no score")
    return scores


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_form: str | None = None,
    target_form: str | None = None,
    absent: Literal["zero", "null"] = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
    judgements: bool = False,
    feature: str | None = None,
) -> tuple[Anything, str]:
    """Read one form, write another; what was written, and its form. Nothing is written unless all was read."""
    asked = target_form or _ending_form(target)
    if (asked or tables.form_of(target)) in TABLES:
        need("a table of columns (Parquet, CSV, Arrow)", "polars", "pyarrow")
    data = read_any(
        source, source_form, absent=absent, dtype=dtype, merge_queries=merge_queries, scored=asked in {"run", "scores"}
    )
    data = narrow(data, asked or "", judgements=judgements, feature=feature)
    return data, write_any(data, target, target_form)
