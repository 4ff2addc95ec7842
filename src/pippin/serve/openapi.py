"""The description of the REST interface, in OpenAPI 3.1: every address of `api`, what it takes and what it gives."""

from __future__ import annotations

from typing import Any

from pippin import __version__

_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": ["number", "null"]}, {"type": "integer"}
_CARD = dict.fromkeys(("name", "authors", "about", "code", "command", "hardware", "licence"), _TEXT)
_SCHEMAS: dict[str, Any] = {
    "Card": {"type": "object", "properties": _CARD, "required": ["name"]},
    "Row": {"type": "object", "properties": {
        "rank": _COUNT, "submission": _TEXT, "account": _TEXT, "name": _TEXT, "kind": _TEXT, "value": _NUMBER,
        "low": _NUMBER, "high": _NUMBER, "received": _COUNT, "sent": _COUNT, "final": _NUMBER,
        "behind_the_first": {"type": ["boolean", "null"]}, "card": {"$ref": "#/components/schemas/Card"},
        "places": {"type": "object", "additionalProperties": _COUNT}}},
    "Board": {"type": "object", "properties": {
        "name": _TEXT, "title": _TEXT, "state": {"enum": ["open", "closed", "revealed"]}, "tool": _TEXT,
        "measure": _TEXT, "step": _NUMBER, "baseline": _NUMBER, "data": _TEXT, "commitment": _TEXT, "key": _TEXT,
        "leaderboard": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}}}},
    "Submission": {"type": "object", "properties": {
        "id": _TEXT, "board": _TEXT, "name": _TEXT, "state": {"enum": ["queued", "scoring", "scored", "refused"]},
        "released": {"type": ["boolean", "null"]}, "value": _NUMBER, "low": _NUMBER, "high": _NUMBER,
        "final": _NUMBER, "fault": {"type": ["string", "null"]}, "digest": _TEXT, "received": _COUNT}},
    "Entry": {"type": "object", "properties": {
        "board": _TEXT, "number": _COUNT, "at": _COUNT, "kind": _TEXT, "body": {"type": "object"},
        "previous": _TEXT, "hash": _TEXT}},
    "Receipt": {"type": "object", "properties": {"statement": {"type": "object"}, "key": _TEXT, "signature": _TEXT}},
    "Fault": {"type": "object", "properties": {"error": _TEXT}, "required": ["error"]},
}  # fmt: skip
_BETWEEN: list[dict[str, Any]] = [{"name": name, "in": "query", "schema": _COUNT} for name in ("first", "count")]
_BOARD: list[dict[str, Any]] = [{"name": "board", "in": "path", "required": True, "schema": _TEXT}]
_SUBMISSION: list[dict[str, Any]] = [{"name": "submission", "in": "path", "required": True, "schema": _TEXT}]

_PART: list[dict[str, Any]] = [*_BOARD, *_BETWEEN]


def _of(name: str, several: bool = False) -> dict[str, Any]:
    one = {"$ref": f"#/components/schemas/{name}"}
    return {"application/json": {"schema": {"type": "array", "items": one} if several else one}}


def _operation(
    what: str, status: int, content: dict[str, Any], *, asked: list[dict[str, Any]] | None = None, token: bool = False,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    made: dict[str, Any] = {
        "summary": what, "parameters": asked or [],
        "responses": {str(status): {"description": "done", "content": content},
                      "default": {"description": "one sentence that says what to do", "content": _of("Fault")}},
    }  # fmt: skip
    if token:
        made["security"] = [{"token": []}]
    if body is not None:
        made["requestBody"] = {"required": True, "content": body}
    return made


def _fields(**fields: Any) -> dict[str, Any]:
    return {"application/json": {"schema": {"type": "object", "properties": fields}}}


_SENT = {"multipart/form-data": {"schema": {"type": "object", "required": ["file"], "properties": {
    "file": {"type": "string", "format": "binary"}, "kind": {"enum": ["auto", "scores", "run", "model"]},
    "card": {"type": "string", "description": "the card as TOML, or its lines as fields"}, **_CARD}}}}  # fmt: skip
_ANY = {"application/json": {"schema": {"type": "object"}}}
_PATHS: dict[str, Any] = {
    "/openapi.json": {"get": _operation("this description", 200, _ANY)},
    "/boards": {"get": _operation("all boards", 200, _of("Board", True))},
    "/boards/{board}": {"get": _operation("a board with its leaderboard", 200, _of("Board"), asked=_PART)},
    "/boards/{board}/log": {"get": _operation("the log of a board", 200, _of("Entry", True), asked=_PART)},
    "/boards/{board}/submissions": {
        "get": _operation("what you have sent to a board", 200, _of("Submission", True), asked=_BOARD, token=True),
        "post": _operation("send a submission", 202, _of("Submission"), asked=_BOARD, token=True, body=_SENT),
    },
    "/boards/{board}/close": {"post": _operation("close a board (organisers)", 200, _ANY, asked=_BOARD, token=True)},
    "/boards/{board}/reveal": {
        "post": _operation("show the final half of a closed board (organisers)", 202, _ANY, asked=_BOARD, token=True)
    },
    "/submissions/{submission}": {"get": _operation("a submission", 200, _of("Submission"), asked=_SUBMISSION)},
    "/submissions/{submission}/receipt": {
        "get": _operation("the signed receipt of a submission", 200, _of("Receipt"), asked=_SUBMISSION)
    },
    "/submissions/{submission}/file": {
        "get": _operation("the file of your own submission", 200, {"application/octet-stream": {}}, asked=_SUBMISSION,
                          token=True)
    },
    "/accounts": {"post": _operation("a new account; its token is told this once", 201, _ANY,
                                     body=_fields(name=_TEXT, invitation=_TEXT))},
    "/invitations": {"post": _operation("a new invitation (organisers)", 201, _ANY, token=True,
                                        body=_fields(role=_TEXT, uses=_COUNT))},
}  # fmt: skip


def document(server: str) -> dict[str, Any]:
    """The whole description, for a server's address."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pippin boards", "version": __version__},
        "servers": [{"url": f"{server}/api/v1"}],
        "paths": _PATHS,
        "components": {
            "schemas": _SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip
