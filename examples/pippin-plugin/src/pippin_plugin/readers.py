"""A reader: an archive of mail (`.mbox`) as a collection; subjects and bodies are streams, answers are links.

A reader says how its format looks, whether a path is of it, and how a `Collection` is made of it. `collect` finds
queries and judgements beside the documents and checks that all fits together.
"""

from __future__ import annotations

import mailbox
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.policy import default
from pathlib import Path

from pippin.collection.collection import Collection, Document, Link
from pippin.collection.readers import Reader, Wanted, collect, register


def messages(path: Path, streams: Sequence[str]) -> Iterator[Document]:
    """Every message of an archive, by its Message-ID or its number; it links to the one it answers."""
    archive = mailbox.mbox(path, create=False)
    try:
        for number, key in enumerate(archive.iterkeys()):
            message = message_from_bytes(archive.get_bytes(key), policy=default)
            name, subject = str(message.get("Message-ID", number)).strip(), str(message.get("Subject", ""))
            body = message.get_body(preferencelist=("plain",))
            texts = {"subject": subject, "body": "" if body is None else str(body.get_content())}
            wanted = {stream: texts[stream] for stream in streams}
            answered = str(message.get("In-Reply-To", "")).strip()
            yield Document(name, wanted, links=(Link(answered, subject),) if answered else ())
    finally:
        archive.close()


def _open(wanted: Wanted) -> Collection:
    streams = wanted.choose(("subject", "body"), ("subject", "body"))
    return collect(wanted, streams, lambda: messages(wanted.path, streams))


MBOX = register("mbox", Reader("`.mbox`, an archive of mail", lambda path: path.suffix == ".mbox", _open))
