"""The REST interface and its OpenAPI 3.1 document."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from pippin._version import __version__
from pippin.boards import accounts, leaderboard
from pippin.boards.accounts import Forbidden
from pippin.boards.database import Row
from pippin.boards.leaderboard import board_record, submission_record
from pippin.boards.site import Site
from pippin.boards.submissions import CARD_FIELDS, KINDS
from pippin.boards.web.forms import open_form, queue_upload
from pippin.boards.web.security import Guard

BASE = "/api/v1"
MAX_COUNT = 1000  # rows or entries in one response

_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": ["number", "null"]}, {"type": "integer"}
_FLAG = {"type": ["boolean", "null"]}
_CARD = dict.fromkeys(CARD_FIELDS, _TEXT)


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": [*required]} if required else {})}


_SCHEMAS: dict[str, Any] = {
    "Object": {"type": "object"},
    "Card": _object(("name",), **_CARD),
    "Row": _object(
        rank=_COUNT, submission=_TEXT, account=_TEXT, name=_TEXT, kind=_TEXT, value=_NUMBER, low=_NUMBER, high=_NUMBER,
        received=_COUNT, submissions=_COUNT, final=_NUMBER, is_worse=_FLAG, card=_reference("Card"),
        other_tool_ranks={"type": "object", "additionalProperties": _COUNT},
    ),
    "Board": _object(
        name=_TEXT, title=_TEXT, state={"enum": ["open", "closed", "revealed"]}, tool=_TEXT, measure=_TEXT,
        step=_NUMBER, baseline=_NUMBER, data=_TEXT, commitment=_TEXT, key=_TEXT,
        leaderboard={"type": "array", "items": _reference("Row")},
    ),
    "Submission": _object(
        id=_TEXT, board=_TEXT, name=_TEXT, state={"enum": ["queued", "scoring", "scored", "rejected"]}, is_shown=_FLAG,
        value=_NUMBER, low=_NUMBER, high=_NUMBER, final=_NUMBER, error={"type": ["string", "null"]}, digest=_TEXT,
        received=_COUNT,
    ),
    "Entry": _object(
        board=_TEXT, number=_COUNT, at=_COUNT, kind=_TEXT, body={"type": "object"}, previous=_TEXT, hash=_TEXT
    ),
    "Receipt": _object(statement={"type": "object"}, key=_TEXT, signature=_TEXT),
    "Error": _object(("error",), error=_TEXT),
}  # fmt: skip
_UPLOAD = _object(
    ("file",), file={"type": "string", "format": "binary"}, kind={"enum": ["auto", *KINDS]},
    card={"type": "string", "description": "the card as TOML; or send its lines as fields"}, **_CARD,
)  # fmt: skip


class Operation(NamedTuple):
    """An address of the interface; its handler is the method `handler` of `Api`, whose docstring is the summary."""

    method: str
    path: str
    handler: str
    response: str  # a schema; with [], an array of it; or a media type
    status: int = 200
    token: bool = False
    body: tuple[str, dict[str, Any]] | None = None  # media type, schema


_JSON, _FORM = "application/json", "multipart/form-data"
OPERATIONS = (
    Operation("GET", "/openapi.json", "openapi", "Object"),
    Operation("GET", "/boards", "boards", "Board[]"),
    Operation("GET", "/boards/{board}", "board", "Board"),
    Operation("GET", "/boards/{board}/log", "log", "Entry[]"),
    Operation("GET", "/boards/{board}/submissions", "submissions", "Submission[]", token=True),
    Operation("POST", "/boards/{board}/submissions", "submit", "Submission", 202, True, (_FORM, _UPLOAD)),
    Operation("POST", "/boards/{board}/close", "close", "Object", token=True),
    Operation("POST", "/boards/{board}/reveal", "reveal", "Object", 202, True),
    Operation("GET", "/submissions/{submission}", "submission", "Submission"),
    Operation("GET", "/submissions/{submission}/receipt", "receipt", "Receipt"),
    Operation("GET", "/submissions/{submission}/file", "file", "application/octet-stream", token=True),
    Operation("POST", "/accounts", "join", "Object", 201, False, (_JSON, _object(name=_TEXT, invitation=_TEXT))),
    Operation("POST", "/invitations", "invite", "Object", 201, True, (_JSON, _object(role=_TEXT, uses=_COUNT))),
)
_PAGED = ("board", "log")  # handlers with the parameters `first` and `count`


def _describe(operation: Operation) -> dict[str, Any]:
    """Return the OpenAPI description of an operation."""
    name = operation.response.removesuffix("[]")
    item = _reference(name)
    schema = {"type": "array", "items": item} if operation.response.endswith("[]") else item
    content = {_JSON: {"schema": schema}} if name in _SCHEMAS else {name: {}}
    in_path = re.findall(r"{(\w+)}", operation.path)
    description: dict[str, Any] = {
        "summary": str(getattr(Api, operation.handler).__doc__).partition("\n")[0],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _TEXT} for name in in_path),
            *({"name": name, "in": "query", "schema": _COUNT} for name in ("first", "count")
              if operation.handler in _PAGED),
        ],
        "responses": {str(operation.status): {"description": "success", "content": content},
                      "default": {"description": "error", "content": {_JSON: {"schema": _reference("Error")}}}},
    }  # fmt: skip
    if operation.token:
        description["security"] = [{"token": []}]
    if operation.body is not None:
        media_type, body_schema = operation.body
        description["requestBody"] = {"required": True, "content": {media_type: {"schema": body_schema}}}
    return description


def openapi_document(server: str) -> dict[str, Any]:
    """Return the OpenAPI document for a server's address."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pippin boards", "version": __version__},
        "servers": [{"url": f"{server}{BASE}"}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def parse_range(request: Request) -> tuple[int, int]:
    """Return the query parameters `first` and `count` of a list."""
    try:
        first, count = (
            int(request.query_params.get(name, default)) for name, default in (("first", 0), ("count", 100))
        )
    except ValueError:
        raise HTTPException(422, "first and count must be integers") from None
    return max(0, min(first, 1 << 31)), max(1, min(count, MAX_COUNT))


class Api:
    """Handlers of the REST interface."""

    def __init__(self, site: Site, guard: Guard) -> None:
        self.site, self.guard = site, guard

    def routes(self) -> list[Route]:
        """Return the routes of the interface."""
        return [Route(BASE + operation.path, getattr(self, operation.handler), methods=[operation.method])
                for operation in OPERATIONS]  # fmt: skip

    def openapi(self, request: Request) -> Response:
        """Return this document."""
        return JSONResponse(openapi_document(str(request.base_url).rstrip("/")))

    def boards(self, request: Request) -> Response:
        """List the boards."""
        return JSONResponse([leaderboard.board_summary(self.site, name) for name in self.site.names()])

    def board(self, request: Request) -> Response:
        """Return a board with rows of its leaderboard."""
        return JSONResponse(board_record(self.site, request.path_params["board"], *parse_range(request)))

    def log(self, request: Request) -> Response:
        """Return entries of a board's audit log."""
        first, count = parse_range(request)
        name = self.site.board(request.path_params["board"]).name
        return JSONResponse(self.site.store.log(name, first + 1, count))

    def submissions(self, request: Request) -> Response:
        """List your submissions to a board."""
        account = self.guard.bearer(request)
        name = self.site.board(request.path_params["board"]).name
        rows = leaderboard.submissions_of(self.site, name, account.id)
        return JSONResponse([submission_record(row, is_owner=True) for row in rows])

    async def submit(self, request: Request) -> Response:
        """Submit a file to a board."""
        account = await run_in_threadpool(self.guard.bearer, request)
        board = self.site.board(request.path_params["board"]).name
        async with open_form(request) as form:
            identity = await queue_upload(self.site, account, board, form)
        row = await run_in_threadpool(self._row, identity)
        location = f"{BASE}/submissions/{identity}"
        return JSONResponse(submission_record(row, is_owner=True), 202, {"location": location})

    def _row(self, identity: str) -> Row:
        row = leaderboard.submission(self.site, identity)
        if row is None:
            raise HTTPException(404, "submission not found")
        return row

    def submission(self, request: Request) -> Response:
        """Return a submission: your own, or one on a leaderboard."""
        row = self._row(request.path_params["submission"])
        is_owner = "authorization" in request.headers and self.guard.bearer(request).id == row["account"]
        if not is_owner and not leaderboard.is_public(self.site, row):
            raise HTTPException(404, "submission not found")
        return JSONResponse(submission_record(row, is_owner=is_owner))

    def receipt(self, request: Request) -> Response:
        """Return the signed receipt of a submission; receipts are public, as in the log."""
        row = self._row(request.path_params["submission"])
        if not row["receipt"]:
            raise HTTPException(404, "receipt not found: the submission is not scored")
        return JSONResponse(json.loads(row["receipt"]))

    def file(self, request: Request) -> Response:
        """Return the file of your own submission."""
        account, row = self.guard.bearer(request), self._row(request.path_params["submission"])
        if row["account"] != account.id:
            raise HTTPException(404, "submission not found")
        return FileResponse(self.site.upload_path(row["id"]), media_type="application/octet-stream", filename=row["id"])

    async def join(self, request: Request) -> Response:
        """Create an account; its token is returned only once."""
        fields = await _read_json(request, "name", "invitation")
        self.guard.rate_limiter.check(request)
        try:
            account, token = await run_in_threadpool(
                accounts.join, self.site.store, fields["name"], fields["invitation"]
            )
        except Forbidden:
            self.guard.rate_limiter.count(request)
            raise
        return JSONResponse({"name": account.name, "role": account.role, "token": token}, 201)

    async def invite(self, request: Request) -> Response:
        """Create an invitation (organisers only)."""
        await run_in_threadpool(self._require_organiser, request)
        fields = await _read_json(request, "role", "uses")
        uses = int(fields["uses"]) if fields["uses"].isdigit() else 1
        invitation = await run_in_threadpool(accounts.invite, self.site.store, fields["role"] or "participant", uses)
        return JSONResponse({"invitation": invitation}, 201)

    def close(self, request: Request) -> Response:
        """Close a board (organisers only)."""
        self._require_organiser(request)
        leaderboard.close(self.site, request.path_params["board"])
        return JSONResponse({"state": "closed"})

    def reveal(self, request: Request) -> Response:
        """Request that the scorer reveals a closed board (organisers only)."""
        self._require_organiser(request)
        leaderboard.request_reveal(self.site, request.path_params["board"])
        return JSONResponse({"state": "requested"}, 202)

    def _require_organiser(self, request: Request) -> None:
        if not self.guard.bearer(request).is_organiser:
            raise HTTPException(403, "only organisers may do this")


async def _read_json(request: Request, *names: str) -> dict[str, str]:
    """Return fields of a JSON object as text; missing fields are empty."""
    try:
        record = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(422, "the request body is not JSON") from None
    if not isinstance(record, dict):
        raise HTTPException(422, "the request body must be a JSON object")
    return {name: str(record.get(name, "")) for name in names}
