"""HTML pages (boards, leaderboards, submissions, instructions, audit log) and static files."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from pippin._version import __version__
from pippin.boards import leaderboard
from pippin.boards.database import Row
from pippin.boards.leaderboard import LeaderboardRow, export_json
from pippin.boards.queue import board_state
from pippin.boards.site import Site
from pippin.boards.submissions import card_from_json
from pippin.boards.web.security import CSRF_COOKIE, SESSION, Guard, set_cookie
from pippin.system import format_bytes

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = (("pippin.reports", "pieces.css"), ("pippin.reports", "page.css"), ("pippin.boards.web", "boards.css"))
_SCRIPTS = {"theme.js": (("pippin.reports", "theme.js"),), "boards.js": (("pippin.boards.web", "boards.js"),)}
AXIS_WIDTH = 200  # of the interval plots of a leaderboard, in SVG units


@cache
def environment() -> Environment:
    """Return the templates; they escape all values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    result = Environment(
        loader=PackageLoader("pippin.boards.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    result.filters |= {"day": day, "moment": moment, "number": number}
    for name in result.list_templates():
        result.get_template(name)  # later this process may not have permission to read them
    return result


@cache
def statics() -> dict[str, tuple[str, bytes]]:
    """Return name → media type and content of the static files."""
    results = {"boards.css": ("text/css; charset=utf-8", _join_assets(_STYLES))}
    for name, parts in _SCRIPTS.items():
        results[name] = ("text/javascript; charset=utf-8", _join_assets(parts))
    return results


def _join_assets(parts: Sequence[tuple[str, str]]) -> bytes:
    return b"\n".join((files(package) / "assets" / name).read_bytes() for package, name in parts)


def day(seconds: int | None) -> str:
    """Format a date.

    >>> day(0), day(None)
    ('1970-01-01', '')
    """
    return "" if seconds is None else time.strftime("%Y-%m-%d", time.gmtime(seconds))


def moment(seconds: int | None) -> str:
    """Format a date with time, in UTC."""
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def number(value: float | None, step: float = 0.0001) -> str:
    """Format a value with as many digits as its step has.

    >>> number(0.5, 0.02), number(0.75, 0.005), number(None)
    ('0.50', '0.750', '')
    """
    digits = max(2, len(f"{step:.10f}".rstrip("0").partition(".")[2]))
    return "" if value is None else f"{value:.{digits}f}"


def axis(rows: Sequence[LeaderboardRow], baseline: float) -> dict[str, Any]:
    """Return the axis of a leaderboard's intervals: a scale function, ticks and width."""
    low = min([baseline, *(row.low for row in rows)], default=0.0)
    high = max([baseline, *(row.high for row in rows)], default=1.0)
    padding = (high - low) * 0.04 or 0.05
    low, high = max(0.0, low - padding), high + padding
    ticks = [low + (high - low) * part for part in (0.1, 0.5, 0.9)]

    def at(value: float) -> float:
        return round((value - low) / (high - low) * AXIS_WIDTH, 1)

    return {"at": at, "ticks": [(at(tick), f"{tick:.2f}") for tick in ticks], "width": AXIS_WIDTH}


ROWS_PER_PAGE, ENTRIES_PER_PAGE = 100, 200
STATES = {"open": "open for submissions", "closed": "closed", "revealed": "closed and revealed"}


class Pages:
    """Handlers of the public pages."""

    def __init__(self, site: Site, guard: Guard) -> None:
        self.site, self.guard = site, guard
        environment(), statics()

    def routes(self) -> list[Route]:
        """Return the routes of the pages."""
        handlers = {
            "/": self.boards, "/boards/{board}": self.board, "/boards/{board}/take-part": self.take_part,
            "/boards/{board}/log": self.log, "/boards/{board}/log.jsonl": self.log_file,
            "/boards/{board}/leaderboard.csv": self.csv, "/boards/{board}/export.json": self.export,
            "/boards/{board}/files/{file}": self.file, "/submissions/{submission}": self.submission,
            "/submissions/{submission}/receipt.json": self.receipt, "/static/{file}": self.static,
        }  # fmt: skip
        return [Route(path, handler, methods=["GET"]) for path, handler in handlers.items()]

    def render(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template; a visitor without a session gets the cookie that form tokens are bound to."""
        token, cookie = self.guard.form_token(request)
        account = values.pop("account", None) or self.guard.visitor(request)
        text = environment().get_template(template).render(
            account=account, form_token=token, version=__version__, path=request.url.path, site_key=self.site.key,
            **{"board": None, "error": "", **values},
        )  # fmt: skip
        response = HTMLResponse(text, status)
        if SESSION not in request.cookies and CSRF_COOKIE not in request.cookies:
            set_cookie(request, response, CSRF_COOKIE, cookie)
        return response

    def error(self, request: Request, status: int, sentence: str) -> Response:
        """Show an error."""
        return self.render(request, "error.html", status, sentence=sentence, number=status)

    def boards(self, request: Request) -> Response:
        """List the boards."""
        boards = []
        for name in self.site.names():
            state, rows = board_state(self.site, name), leaderboard.leaderboard_rows(self.site, name, 0, 1)
            boards.append({"record": self.site.board(name).record, "state": state,
                           "state_text": STATES[state["state"]], "size": leaderboard.count_rows(self.site, name),
                           "first": rows[0] if rows else None})  # fmt: skip
        return self.render(request, "boards.html", boards=boards)

    def _board_values(self, name: str) -> dict[str, Any]:
        """Return the template values of all pages of a board."""
        board, state = self.site.board(name), board_state(self.site, name)
        notes, final = json.loads(state["notes"] or "{}"), json.loads(state["revealed"] or "{}")
        return {"board": board, "record": board.record, "state": state, "state_text": STATES[state["state"]],
                "notes": notes, "final": final}  # fmt: skip

    def board(self, request: Request) -> Response:
        """Show a leaderboard."""
        name = request.path_params["board"]
        values = self._board_values(name)
        size = leaderboard.count_rows(self.site, name)
        page = _parse_page(request, size, ROWS_PER_PAGE)
        rows = leaderboard.leaderboard_rows(self.site, name, page * ROWS_PER_PAGE, ROWS_PER_PAGE)
        public_ranks = {submission: n for n, submission in enumerate(values["final"].get("before", ()), 1)}
        return self.render(
            request, "board.html", rows=rows, size=size, page=page, pages=-(-size // ROWS_PER_PAGE) or 1,
            public_ranks=public_ranks, axis=axis(rows, values["state"]["baseline"] or 0.0),
            first=page * ROWS_PER_PAGE, **values,
        )  # fmt: skip

    def take_part(self, request: Request) -> Response:
        """Show instructions for participants."""
        values = self._board_values(request.path_params["board"])
        board = values["board"]
        sizes = {file: format_bytes(size) for file, size in board.files.items()}
        return self.render(request, "take_part.html", files=sizes, address=str(request.base_url).rstrip("/"), **values,
                           limits=board.limits, format_bytes=format_bytes)  # fmt: skip

    def log(self, request: Request) -> Response:
        """Show the audit log, newest entries first."""
        name = request.path_params["board"]
        values = self._board_values(name)
        size = self.site.store.log_length(name)
        page = _parse_page(request, size, ENTRIES_PER_PAGE)
        last = size - page * ENTRIES_PER_PAGE
        first = max(1, last - ENTRIES_PER_PAGE + 1)
        entries = self.site.store.log(name, first, last - first + 1)[::-1] if last > 0 else []
        head = json.loads(values["state"]["head"] or "null")
        return self.render(request, "log.html", entries=entries, size=size, page=page, head=head,
                           pages=-(-size // ENTRIES_PER_PAGE) or 1, **values)  # fmt: skip

    def log_file(self, request: Request) -> Response:
        """Return the audit log as JSON lines."""
        name = self.site.board(request.path_params["board"]).name
        head = board_state(self.site, name)["head"]  # read first: entries that follow it are allowed
        lines = "".join(json.dumps(entry) + "\n" for entry in self.site.store.log(name)) + (f"{head}\n" if head else "")
        return _attachment(lines, f"{name}-log.jsonl", "application/jsonl")

    def csv(self, request: Request) -> Response:
        """Return the leaderboard as CSV without formulas."""
        name = request.path_params["board"]
        measure, step = self.site.board(name).measure, board_state(self.site, name)["step"]
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["rank", "name", "account", measure, "low", "high", "submissions", "final"])
        for row in leaderboard.leaderboard_rows(self.site, name):
            values = [number(value, step) for value in (row.value, row.low, row.high)]
            writer.writerow([row.rank, escape_formula(row.name), escape_formula(row.account), *values, row.submissions,
                             "" if row.final is None else f"{row.final:.6f}"])  # fmt: skip
        return _attachment(out.getvalue(), f"{name}.csv", "text/csv")

    def export(self, request: Request) -> Response:
        """Return the board, its leaderboard and its audit log as JSON."""
        name = self.site.board(request.path_params["board"]).name
        return _attachment(
            json.dumps(export_json(self.site, name), indent=1) + "\n", f"{name}.json", "application/json"
        )

    def file(self, request: Request) -> Response:
        """Return a file of the public part that is in its manifest."""
        board = self.site.board(request.path_params["board"])
        name = request.path_params["file"]
        if name not in board.files:
            raise HTTPException(404, "file not found")
        return FileResponse(Path(board.folder) / name, media_type="text/plain; charset=utf-8", filename=name)

    def _visible_submission(self, request: Request) -> tuple[Row, bool]:
        """Return the requested submission and whether the visitor may see its details."""
        row = leaderboard.submission(self.site, request.path_params["submission"])
        account = self.guard.visitor(request)
        is_owner = row is not None and account is not None and (row["account"] == account.id or account.is_organiser)
        if row is None or not (is_owner or leaderboard.is_public(self.site, row)):
            raise HTTPException(404, "submission not found, or not visible to you")
        return row, is_owner

    def submission(self, request: Request) -> Response:
        """Show a submission with its card."""
        row, is_owner = self._visible_submission(request)
        return self.render(
            request, "submission.html", row=row, card=card_from_json(row["card"]), is_owner=is_owner,
            receipt=json.loads(row["receipt"] or "null"), **self._board_values(row["board"]),
        )  # fmt: skip

    def receipt(self, request: Request) -> Response:
        """Return the signed receipt of a submission."""
        row, _ = self._visible_submission(request)
        if not row["receipt"]:
            raise HTTPException(404, "receipt not found: the submission is not scored")
        return _attachment(row["receipt"], f"receipt-{row['id']}.json", "application/json")

    def static(self, request: Request) -> Response:
        """Return a style sheet or a script."""
        name = request.path_params["file"]
        if name not in statics():
            raise HTTPException(404, "file not found")
        media_type, content = statics()[name]
        return Response(content, media_type=media_type, headers={"cache-control": "max-age=600"})


def escape_formula(text: str) -> str:
    """Escape a CSV cell that a spreadsheet would take for a formula.

    >>> escape_formula("=1+1"), escape_formula("BM25")
    ("'=1+1", 'BM25')
    """
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def _attachment(content: str, name: str, media_type: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=media_type)


def _parse_page(request: Request, size: int, page_size: int) -> int:
    """Return the page number in the query, from 0."""
    text = request.query_params.get("page", "1")
    page = int(text) - 1 if text.isdigit() and text != "0" and len(text) < 8 else 0
    return min(page, max(0, (size - 1) // page_size))
