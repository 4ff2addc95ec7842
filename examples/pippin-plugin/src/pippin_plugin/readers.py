"""A reader: an archive of mail (`.mbox`) as a collection; subjects and bodies are streams, answers are links.

A reader says how its format looks, whether a path is of it, and how a `Collection` is made of it. `collect` finds
queries and judgements beside the documents and checks that all fits together.
"""

from __future__ import annotations

import mailbox
from collections.abc import Iterator
from email import message_from_binary_file
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import BinaryIO, cast

from pippin.collection.collection import Collection, Document, Link
from pippin.collection.readers import Reader, Wanted, collect, register


def messages(path: Path) -> Iterator[Document]:
    """Every message of an archive, by its Message-ID or its number; it links to the one it answers."""
    archive = mailbox.mbox(path, factory=_parsed, create=False)
    try:
        for number, message in enumerate(cast(Iterator[EmailMessage], iter(archive))):
            name, subject = str(message.get("Message-ID", number)).strip(), str(message.get("Subject", ""))
            body = message.get_body(preferencelist=("plain",))
            streams = {"subject": subject, "body": "" if body is None else str(body.get_content())}
            answered = str(message.get("In-Reply-To", "")).strip()
            yield Document(name, streams, links=(Link(answered, subject),) if answered else ())
    finally:
        archive.close()


def _parsed(file: BinaryIO) -> EmailMessage:
    return cast(EmailMessage, message_from_binary_file(file, policy=default))


def _open(wanted: Wanted) -> Collection:
    streams = wanted.choose(("subject", "body"), ("subject", "body"))
    return collect(wanted, streams, lambda: messages(wanted.path))


MBOX = register("mbox", Reader("`.mbox`, an archive of mail", lambda path: path.suffix == ".mbox", _open))
