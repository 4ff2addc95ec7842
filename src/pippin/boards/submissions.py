"""Read submissions (scores, runs, models) and the cards that describe them.

Scores are one number per line in the order of `test.txt`. The rows of a TREC run are matched by query and document, in
any order. A model is a file written by `pippin train`, which the board applies to the test data. No submitted code is
executed. A card is a short TOML file, as LETOR required of those who sent results.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.boards.board import Board
from pippin.data.dataset import Dataset
from pippin.data.letor import read_scores
from pippin.data.qrels import Run, parse_run
from pippin.data.read import detect_text_format
from pippin.display.terminal import escape_control
from pippin.errors import DataError

KINDS = ("scores", "run", "model")
_MODEL = b"pippin-model"  # occurs in the first bytes of every model file
_MAX_LENGTHS = {"name": 80, "authors": 200, "about": 2000, "code": 300, "command": 500, "hardware": 200, "licence": 80}
CARD_FIELDS = tuple(_MAX_LENGTHS)


@dataclass(frozen=True)
class Card:
    """Description of a submission."""

    name: str
    authors: str = ""
    about: str = ""
    code: str = ""  # URL
    command: str = ""  # that reproduces the submission
    hardware: str = ""
    licence: str = ""

    def record(self) -> dict[str, str]:
        """Return the card as a JSON object."""
        return asdict(self)


def make_card(fields: Mapping[str, Any], file: str | os.PathLike[str] = "card.toml") -> Card:
    """Return a validated card, with each text on one line and control characters escaped.

    >>> make_card({"name": "BM25", "authors": ["A. Able", "B. Baker"]}).authors
    'A. Able, B. Baker'
    """
    unknown = sorted(set(fields) - set(_MAX_LENGTHS))
    if unknown:
        raise DataError(f"unknown field {unknown[0]!r} in the card; known fields: {', '.join(_MAX_LENGTHS)}", file)
    texts = {key: _text(value, key, file) for key, value in fields.items()}
    if not texts.get("name"):
        raise DataError('the card has no name; add a line such as name = "BM25"', file)
    if texts.get("code") and not re.fullmatch(r"https?://[^\s<>\"']+", texts["code"]):
        raise DataError("invalid code in the card: expected an https:// or http:// address", file)
    return Card(**texts)


def _text(value: Any, key: str, file: str | os.PathLike[str]) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ", ".join(value)
    if not isinstance(value, str):
        raise DataError(f"invalid {key} in the card: expected a string", file)
    text = escape_control(unicodedata.normalize("NFC", " ".join(value.split())))
    if len(text) > _MAX_LENGTHS[key]:
        raise DataError(f"{key} in the card is too long: {len(text)} characters, at most {_MAX_LENGTHS[key]}", file)
    return text


def read_card(path: str | os.PathLike[str]) -> Card:
    """Read a card from a TOML file."""
    try:
        return parse_card(Path(path).read_text(encoding="utf-8"), path)
    except UnicodeDecodeError:
        raise DataError("the card is not valid UTF-8", path) from None


def parse_card(text: str, file: str | os.PathLike[str] = "card.toml") -> Card:
    """Return the card in a TOML text."""
    try:
        return make_card(tomllib.loads(text), file)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"invalid TOML in the card: {error}", file) from None


def card_from_json(record: str) -> Card:
    """Return the card in a JSON text of the database."""
    return Card(**json.loads(record))


def detect_kind(path: Path, name: str) -> str:
    """Detect the kind of a file from its first bytes: scores, run or model. `name` is its name in errors."""
    from pippin.data.buffers import Buffer, open_buffer

    with path.open("rb") as file:
        start = file.read(4096)
    if _MODEL in start:
        return "model"
    try:
        buffer = open_buffer(path)
        kind = detect_text_format(Buffer(buffer.data, name))
    except DataError as error:
        raise DataError(error.message, name, error.line) from None
    if kind not in KINDS:
        raise DataError(f"the file has {'LETOR data' if kind == 'letor' else kind}; submit scores, a run or a model "
                        "written by `pippin train`", name)  # fmt: skip
    return kind


def read_submission(board: Board, path: Path, kind: str, name: str) -> NDArray[np.float64] | Run:
    """Return the scores of the test documents in the board's order; for a board of qrels, the run.

    `name` is the file's name in errors. No error depends on the labels or on the split.
    """
    from pippin.data.buffers import Buffer, open_buffer

    if kind not in KINDS:
        raise DataError(f"unknown kind of submission {kind!r}: use {', '.join(KINDS)}", name)
    if board.kind == "qrels" and kind != "run":
        raise DataError("this board accepts TREC runs only: query Q0 document rank score tag", name)
    try:
        if kind == "model":
            return _apply_model(board, path, name)
        buffer = Buffer(open_buffer(path).data, name)
        if kind == "scores":
            return read_scores(buffer, len(board.test))
        run = parse_run(buffer, merge_queries=True)
    except DataError as error:
        raise DataError(error.message, name, error.line) from None
    _check_queries(board, run, name)
    _check_duplicates(run, name)
    return run if board.kind == "qrels" else _match_run(board.test, run, name)


def _check_queries(board: Board, run: Run, name: str) -> None:
    expected, submitted = set(board.test.query_ids), set(run.query_ids)
    if unknown := sorted(submitted - expected):
        raise DataError(f"unknown query {unknown[0]}: test.txt or queries.txt lists the queries", name)
    if missing := sorted(expected - submitted):
        raise DataError(f"{len(missing)} of {len(expected)} queries are missing, for example {missing[0]}", name)


def _check_duplicates(run: Run, name: str) -> None:
    """Reject duplicate documents here, because evaluation would report them in the order of the secret split."""
    for number, query in enumerate(run.query_ids):
        documents = set()
        for row in range(int(run.offsets[number]), int(run.offsets[number + 1])):
            document = run.document_ids.at(row)
            if document in documents:
                raise DataError(f"duplicate document {document} in query {query}", name, run.line_of(row))
            documents.add(document)


def _match_run(test: Dataset, run: Run, name: str) -> NDArray[np.float64]:
    """Return the scores of a run in the board's order."""
    if test.document_ids is None:
        raise DataError("this board has no document ids; submit one score per line in the order of test.txt", name)
    positions = {query: number for number, query in enumerate(test.query_ids)}
    scores = np.full(len(test), np.nan)
    for number, query in enumerate(run.query_ids):
        first, last = int(test.offsets[positions[query]]), int(test.offsets[positions[query] + 1])
        rows = {test.document_ids.at(row): row for row in range(first, last)}
        for row in range(int(run.offsets[number]), int(run.offsets[number + 1])):
            document = run.document_ids.at(row)
            if document not in rows:
                raise DataError(f"unknown document {document} in query {query}", name, run.line_of(row))
            scores[rows[document]] = run.scores[row]
    if (missing := np.flatnonzero(np.isnan(scores))).size:
        row = int(missing[0])
        query = test.query_ids[int(np.searchsorted(test.offsets, row, side="right")) - 1]
        raise DataError(f"{missing.size} of {len(test)} scores are missing, for example of document "
                        f"{test.document_ids.at(row)} in query {query}", name)  # fmt: skip
    return scores


def _apply_model(board: Board, path: Path, name: str) -> NDArray[np.float64]:
    """Return a model's scores of the test documents; its features are matched by name or by number."""
    from dataclasses import replace

    from pippin.rankers.models import align_features, from_bytes

    model = from_bytes(path.read_bytes(), name)
    if model.relation_weight_:
        raise DataError(
            "the model needs document relations, which boards do not support; submit its scores instead", name
        )
    test = board.test
    numbers = tuple(str(i + 1) for i in range(test.features.shape[1]))
    if set(model.feature_names_) <= set(numbers):
        test = replace(test, feature_names=numbers)
    scores = np.asarray(model.predict(align_features(model, replace(test, name="this board"))), np.float64)
    if not np.isfinite(scores).all():
        raise DataError("the model returns scores that are not finite", name)
    return scores
