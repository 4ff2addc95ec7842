"""Judgements by subtopic: for which aspects of a query is a document relevant?

The file is that of qrels, with a subtopic in its second column; a document of a query has a line for each subtopic. As
plain judgements a document has its largest label.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.texts import Texts
from pippin.data.trec import Judgements
from pippin.errors import DataError

_ENOUGH = 1 << 17  # bytes that tell whether there are subtopics


class SubtopicJudgements(Judgements, eq=False):
    """Judgements with the subtopics that each document is relevant to."""

    subtopics: tuple[frozenset[str], ...] = field(default=())  # by row


def has_subtopics(buffer: Buffer) -> bool:
    """Whether the second column of judgements names subtopics: more than one value stands there."""
    seen = set()
    for line in buffer.data[:_ENOUGH].tobytes().split(b"\n"):
        columns = line.split(None, 2)
        if len(columns) == 3 and not columns[0].startswith(b"#"):
            seen.add(columns[1])
            if len(seen) > 1:
                return True
    return False


def read_subtopics(source: Readable) -> SubtopicJudgements:
    """Judgements by subtopic from text: query, subtopic, document, label."""
    buffer = open_buffer(source)
    labels: dict[str, dict[str, int]] = {}
    served: dict[tuple[str, str], set[str]] = {}
    for number, line in enumerate(buffer.data.tobytes().decode("utf-8", "replace").splitlines(), 1):
        columns = line.split()
        if not columns or columns[0].startswith("#"):
            continue
        if len(columns) != 4 or not columns[3].lstrip("-").isdigit():
            raise DataError("a line is query, subtopic, document and a whole number", buffer.name, number)
        query, subtopic, document, label = columns[0], columns[1], columns[2], int(columns[3])
        of_query = labels.setdefault(query, {})
        of_query[document] = max(of_query.get(document, label), label)
        if label > 0:
            served.setdefault((query, document), set()).add(subtopic)
    if not labels:
        raise DataError("the file has no line of data", buffer.name)
    rows = [(query, document) for query, of_query in labels.items() for document in of_query]
    offsets = np.concatenate(([0], np.cumsum([len(of_query) for of_query in labels.values()]))).astype(np.int64)
    return SubtopicJudgements(
        tuple(labels), offsets, Texts.of(document for _, document in rows),
        np.array([labels[query][document] for query, document in rows], np.int32), buffer.name,
        subtopics=tuple(frozenset(served.get(row, ())) for row in rows),
    )  # fmt: skip
