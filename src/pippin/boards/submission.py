"""What is sent to a board: scores, a run or a model, and a card that says what it is.

Scores are one number a document in the order of `test.txt`, or a TREC run, whose rows are matched by query and document
whatever their order. A model is a file that `pippin train` wrote; the board applies it. Nothing that is sent is ever
run. The card is a few lines of TOML, as LETOR asked of those who sent results: what it is, and how to do it again.
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
from pippin.data.load import kind_of_text
from pippin.data.scores import read_scores
from pippin.data.trec import Run
from pippin.data.trec_text import read_run
from pippin.errors import DataError
from pippin.terminal import visible

KINDS = ("scores", "run", "model")
_MODEL = b"pippin-model"  # stands in the first bytes of every model file of Pippin's
_LENGTHS = {"name": 80, "authors": 200, "about": 2000, "code": 300, "command": 500, "hardware": 200, "licence": 80}


@dataclass(frozen=True)
class Card:
    """What a submission is: its name, who made it, what it does, and how it can be made again."""

    name: str
    authors: str = ""
    about: str = ""
    code: str = ""  # where the code stands: an address
    command: str = ""  # what to type
    hardware: str = ""
    licence: str = ""

    def record(self) -> dict[str, str]:
        """As JSON holds it."""
        return asdict(self)


def make_card(given: Mapping[str, Any], file: str | os.PathLike[str] = "card.toml") -> Card:
    """A card from what was given, with every text on one line and no character that a terminal would obey.

    >>> make_card({"name": "BM25", "authors": ["A. Able", "B. Baker"]}).authors
    'A. Able, B. Baker'
    """
    unknown = sorted(set(given) - set(_LENGTHS))
    if unknown:
        raise DataError(f"a card has no {unknown[0]!r}; it has {', '.join(_LENGTHS)}", file)
    texts = {key: _text(value, key, file) for key, value in given.items()}
    if not texts.get("name"):
        raise DataError('a card needs a name, such as name = "BM25"', file)
    if texts.get("code") and not re.fullmatch(r"https?://[^\s<>\"']+", texts["code"]):
        raise DataError("the code of a card is an address that begins with https:// or http://", file)
    return Card(**texts)


def _text(value: Any, key: str, file: str | os.PathLike[str]) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    if not isinstance(value, str):
        raise DataError(f"the {key} of a card is a text", file)
    text = visible(unicodedata.normalize("NFC", " ".join(value.split())))
    if len(text) > _LENGTHS[key]:
        raise DataError(f"the {key} of a card has at most {_LENGTHS[key]} letters, and this has {len(text)}", file)
    return text


def read_card(path: str | os.PathLike[str]) -> Card:
    """The card in a TOML file."""
    try:
        return parse_card(Path(path).read_text(encoding="utf-8"), path)
    except UnicodeDecodeError:
        raise DataError("a card is a text in UTF-8", path) from None


def parse_card(text: str, file: str | os.PathLike[str] = "card.toml") -> Card:
    """The card of a TOML text."""
    try:
        return make_card(tomllib.loads(text), file)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"this card is no TOML: {error}", file) from None


def card_of(record: str) -> Card:
    """The card of a JSON text, as the database keeps it."""
    return Card(**json.loads(record))


def kind_of(path: Path, name: str) -> str:
    """What a file holds, by its first bytes: scores, run or model; errors call it `name`."""
    from pippin.data.buffers import Buffer, open_buffer

    with path.open("rb") as file:
        start = file.read(4096)
    if _MODEL in start:
        return "model"
    try:
        buffer = open_buffer(path)
        kind = kind_of_text(Buffer(buffer.data, name))
    except DataError as error:
        raise DataError(error.message, name, error.line) from None
    if kind not in KINDS:
        raise DataError(f"this is {'judged data' if kind == 'letor' else kind}; a submission is scores, a run or a "
                        "model that `pippin train` wrote", name)  # fmt: skip
    return kind


def read_submission(board: Board, path: Path, kind: str, name: str) -> NDArray[np.float64] | Run:
    """The scores of the test documents in the board's order; of a board of judgements, the run.

    Errors call the file `name`, and say what to do; nothing in them comes from the labels.
    """
    from pippin.data.buffers import Buffer, open_buffer

    if kind not in KINDS:
        raise DataError(f"a submission is one of {', '.join(KINDS)}, not {kind!r}", name)
    if board.kind == "judgements" and kind != "run":
        raise DataError("this board takes runs in TREC's six columns: query Q0 document rank score tag", name)
    try:
        if kind == "model":
            return _applied(board, path, name)
        buffer = Buffer(open_buffer(path).data, name)
        if kind == "scores":
            return read_scores(buffer, len(board.test))
        run = read_run(buffer, merge_queries=True)
    except DataError as error:
        raise DataError(error.message, name, error.line) from None
    _check_queries(board, run, name)
    return run if board.kind == "judgements" else _matched(board.test, run, name)


def _check_queries(board: Board, run: Run, name: str) -> None:
    """Raise where a run has other queries than the board."""
    known, given = set(board.test.query_ids), set(run.query_ids)
    if strange := sorted(given - known):
        raise DataError(f"the board has no query {strange[0]}; its queries are in test.txt or queries.txt", name)
    if lacking := sorted(known - given):
        raise DataError(f"{len(lacking)} of the board's {len(known)} queries are missing, among them {lacking[0]}; "
                        "rank documents for every query", name)  # fmt: skip


def _matched(test: Dataset, run: Run, name: str) -> NDArray[np.float64]:
    """The scores of a run in the board's order."""
    if test.document_ids is None:
        raise DataError("the documents of this board have no ids; send one score a line in the order of test.txt", name)
    places = {query: number for number, query in enumerate(test.query_ids)}
    scores = np.full(len(test), np.nan)
    for number, query in enumerate(run.query_ids):
        first, last = int(test.offsets[places[query]]), int(test.offsets[places[query] + 1])
        rows = {test.document_ids.at(row): row for row in range(first, last)}
        for row in range(int(run.offsets[number]), int(run.offsets[number + 1])):
            document = run.document_ids.at(row)
            if document not in rows:
                raise DataError(f"query {query} has no document {document} on this board", name, run.line_of(row))
            if not np.isnan(scores[rows[document]]):
                raise DataError(f"document {document} of query {query} stands twice", name, run.line_of(row))
            scores[rows[document]] = run.scores[row]
    if (missing := np.flatnonzero(np.isnan(scores))).size:
        row = int(missing[0])
        query = test.query_ids[int(np.searchsorted(test.offsets, row, side="right")) - 1]
        raise DataError(f"{missing.size} of the board's {len(test)} documents have no score, among them "
                        f"{test.document_ids.at(row)} of query {query}", name)  # fmt: skip
    return scores


def _applied(board: Board, path: Path, name: str) -> NDArray[np.float64]:
    """What a model says of the test documents; its features are found by name, or by number."""
    from dataclasses import replace

    from pippin.rankers.models import aligned, from_bytes

    model = from_bytes(path.read_bytes(), name)
    if model.relation_weight_:
        raise DataError("this model spreads scores along relations of the documents, which boards do not have; send "
                        "its scores instead", name)  # fmt: skip
    test = board.test
    numbers = tuple(str(i + 1) for i in range(test.features.shape[1]))
    if set(model.feature_names_) <= set(numbers):
        test = replace(test, feature_names=numbers)
    scores = np.asarray(model.predict(aligned(model, replace(test, name="this board"))), np.float64)
    if not np.isfinite(scores).all():
        raise DataError("this model gives scores that are no finite numbers", name)
    return scores
