"""A reader: an archive of mail (`.mbox`) as a collection; subjects and bodies are fields, answers are links.

A reader describes its format, tells whether a path has it, and makes a `Collection`. `make_collection` finds queries
and judgements beside the documents and checks that everything fits together.
"""

from __future__ import annotations

import mailbox
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.policy import default
from pathlib import Path

from pippin.collections.collection import Collection, Document, Link
from pippin.collections.readers import Reader, ReadRequest, make_collection, register


def messages(path: Path, fields: Sequence[str]) -> Iterator[Document]:
    """Every message of an archive, by its Message-ID or its number; it links to the one it answers."""
    archive = mailbox.mbox(path, create=False)
    try:
        for number, key in enumerate(archive.iterkeys()):
            message = message_from_bytes(archive.get_bytes(key), policy=default)
            name, subject = str(message.get("Message-ID", number)).strip(), str(message.get("Subject", ""))
            body = message.get_body(preferencelist=("plain",))
            texts = {"subject": subject, "body": "" if body is None else str(body.get_content())}
            request = {field: texts[field] for field in fields}
            answered = str(message.get("In-Reply-To", "")).strip()
            yield Document(name, request, links=(Link(answered, subject),) if answered else ())
    finally:
        archive.close()


def _open(request: ReadRequest) -> Collection:
    fields = request.select_fields(("subject", "body"), ("subject", "body"))
    return make_collection(request, fields, lambda: messages(request.path, fields))


MBOX = register("mbox", Reader("`.mbox`, an archive of mail", lambda path: path.suffix == ".mbox", _open))
