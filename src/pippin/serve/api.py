"""What programs are told: boards, leaderboards, logs; and what they send. `openapi` describes every address here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from pippin.boards import accounts, standing
from pippin.boards.accounts import NotAllowed
from pippin.boards.export import board_record, submission_record
from pippin.boards.sending import state_of
from pippin.boards.site import Site
from pippin.boards.store import Row
from pippin.serve.guard import Guard
from pippin.serve.openapi import document
from pippin.serve.uploads import receive, received_form

BASE = "/api/v1"
MOST = 1000  # rows or entries in one answer


def between(request: Request) -> tuple[int, int]:
    """The part of a list that is asked for: `first` and `count`."""
    try:
        first, count = (int(request.query_params.get(name, given)) for name, given in (("first", 0), ("count", 100)))
    except ValueError:
        raise HTTPException(422, "first and count are whole numbers") from None
    return max(0, min(first, 1 << 31)), max(1, min(count, MOST))


class Api:
    """The answers to programs."""

    def __init__(self, site: Site, guard: Guard) -> None:
        self.site, self.guard = site, guard

    def routes(self) -> list[Route]:
        """Every address."""
        told: list[tuple[str, str, Callable[[Request], Any]]] = [
            ("GET", "/openapi.json", self.openapi), ("GET", "/boards", self.boards),
            ("GET", "/boards/{board}", self.board),
            ("GET", "/boards/{board}/log", self.log), ("GET", "/boards/{board}/submissions", self.mine),
            ("POST", "/boards/{board}/submissions", self.send), ("POST", "/boards/{board}/close", self.close),
            ("POST", "/boards/{board}/reveal", self.reveal), ("GET", "/submissions/{submission}", self.submission),
            ("GET", "/submissions/{submission}/receipt", self.receipt),
            ("GET", "/submissions/{submission}/file", self.file), ("POST", "/accounts", self.join),
            ("POST", "/invitations", self.invite),
        ]  # fmt: skip
        return [Route(BASE + path, answer, methods=[method]) for method, path, answer in told]

    def openapi(self, request: Request) -> Response:
        """The description of this interface."""
        return JSONResponse(document(str(request.base_url).rstrip("/")))

    def boards(self, request: Request) -> Response:
        """All boards."""
        told = []
        for name in self.site.names():
            board = self.site.board(name)
            told.append({
                "name": name, "title": board.record["title"], "state": state_of(self.site, name)["state"],
                "measure": board.measure, "tool": board.tool.name, "rows": standing.size(self.site, name),
            })  # fmt: skip
        return JSONResponse(told)

    def board(self, request: Request) -> Response:
        """A board with its leaderboard, from `first` on, `count` rows."""
        return JSONResponse(board_record(self.site, request.path_params["board"], *between(request)))

    def log(self, request: Request) -> Response:
        """The log of a board, from `first` on, `count` entries."""
        first, count = between(request)
        name = self.site.board(request.path_params["board"]).name
        return JSONResponse(self.site.store.log(name, first + 1, count))

    def mine(self, request: Request) -> Response:
        """What the token's account has sent to a board."""
        account = self.guard.bearer(request)
        name = self.site.board(request.path_params["board"]).name
        rows = standing.submissions_of(self.site, name, account.id)
        return JSONResponse([submission_record(row, mine=True) for row in rows])

    async def send(self, request: Request) -> Response:
        """Send a submission: a form with `file`, and `card` (TOML) or the fields of one."""
        account = await run_in_threadpool(self.guard.bearer, request)
        board = self.site.board(request.path_params["board"]).name
        async with received_form(request) as form:
            identity = await receive(self.site, account, board, form)
        row = await run_in_threadpool(self._row, identity)
        place = f"{BASE}/submissions/{identity}"
        return JSONResponse(submission_record(row, mine=True), 202, {"location": place})

    def _row(self, identity: str) -> Row:
        row = standing.submission(self.site, identity)
        if row is None:
            raise HTTPException(404, "there is no such submission")
        return row

    def submission(self, request: Request) -> Response:
        """A submission: one's own, or one that is on a leaderboard."""
        row = self._row(request.path_params["submission"])
        mine = "authorization" in request.headers and self.guard.bearer(request).id == row["account"]
        if not mine and not standing.is_public(self.site, row):
            raise HTTPException(404, "there is no such submission")
        return JSONResponse(submission_record(row, mine=mine))

    def receipt(self, request: Request) -> Response:
        """The signed receipt of a submission; receipts stand in the log, so anybody may have them."""
        row = self._row(request.path_params["submission"])
        if not row["receipt"]:
            raise HTTPException(404, "this submission has no receipt")
        return JSONResponse(json.loads(row["receipt"]))

    def file(self, request: Request) -> Response:
        """The file of one's own submission."""
        account, row = self.guard.bearer(request), self._row(request.path_params["submission"])
        if row["account"] != account.id:
            raise HTTPException(404, "there is no such submission")
        return FileResponse(self.site.upload(row["id"]), media_type="application/octet-stream", filename=row["id"])

    async def join(self, request: Request) -> Response:
        """A new account: its token is told this once."""
        given = await _json(request, "name", "invitation")
        self.guard.tries.check(request)
        try:
            account, token = await run_in_threadpool(accounts.join, self.site.store, given["name"], given["invitation"])
        except NotAllowed:
            self.guard.tries.count(request)
            raise
        return JSONResponse({"name": account.name, "role": account.role, "token": token}, 201)

    async def invite(self, request: Request) -> Response:
        """A new invitation, for organisers."""
        await run_in_threadpool(self._organiser, request)
        given = await _json(request, "role", "uses")
        uses = int(given["uses"]) if given["uses"].isdigit() else 1
        made = await run_in_threadpool(accounts.invite, self.site.store, given["role"] or "participant", uses)
        return JSONResponse({"invitation": made}, 201)

    def close(self, request: Request) -> Response:
        """Close a board, for organisers."""
        self._organiser(request)
        standing.close(self.site, request.path_params["board"])
        return JSONResponse({"state": "closed"})

    def reveal(self, request: Request) -> Response:
        """Ask for the final half of a closed board, for organisers; the scorer shows it in a moment."""
        self._organiser(request)
        standing.ask_reveal(self.site, request.path_params["board"])
        return JSONResponse({"state": "asked"}, 202)

    def _organiser(self, request: Request) -> None:
        if not self.guard.bearer(request).organises:
            raise HTTPException(403, "this is for organisers")


async def _json(request: Request, *names: str) -> dict[str, str]:
    """The texts of a JSON body by their names; what is missing is empty."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(422, "the body is no JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(422, "the body is a JSON object")
    return {name: str(given.get(name, "")) for name in names}
