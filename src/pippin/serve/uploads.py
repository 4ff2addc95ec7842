"""How a file arrives: streamed into the site's folder, nothing of it parsed here, and then into the queue."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from pippin.boards.accounts import Account
from pippin.boards.sending import accept, check_open, full_disk
from pippin.boards.site import Site
from pippin.boards.submission import Card, make_card, parse_card
from pippin.errors import DataError
from pippin.serve.guard import FORM_BYTES

CARD = ("name", "authors", "about", "code", "command", "hardware", "licence")
_PIECE = 1 << 20


@asynccontextmanager
async def received_form(request: Request) -> AsyncIterator[FormData]:
    """The fields of a form, at most one of them a file, which is gone at the end."""
    try:
        async with request.form(max_files=1, max_fields=20, max_part_size=FORM_BYTES) as form:
            yield form
    except OSError as error:
        raise full_disk(error) from None


def card_of_form(form: Mapping[str, Any]) -> Card:
    """The card: a TOML text in the field `card`, or a field for each of its lines."""
    if form.get("card"):
        return parse_card(str(form["card"]))
    return make_card({name: str(form[name]) for name in CARD if form.get(name)})


async def receive(site: Site, account: Account, board: str, form: FormData) -> str:
    """Put what a form brought into the queue; the submission's id."""
    sent = form.get("file")
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise DataError("choose the file to send")
    card, kind = card_of_form(form), str(form.get("kind") or "auto")
    return await run_in_threadpool(_keep, site, account, board, sent, card, kind)


def _keep(site: Site, account: Account, board: str, sent: UploadFile, card: Card, kind: str) -> str:
    check_open(site, account, board)
    place = site.folder / "incoming" / secrets.token_hex(16)
    try:
        _copy(sent, place)
        return accept(site, account, board, place, str(sent.filename), card, kind)
    except OSError as error:
        raise full_disk(error) from None
    finally:
        place.unlink(missing_ok=True)


def _copy(sent: UploadFile, place: Path) -> None:
    sent.file.seek(0)
    with place.open("xb") as file:
        place.chmod(0o600)
        while part := sent.file.read(_PIECE):
            file.write(part)
