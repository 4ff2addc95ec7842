"""What browsers are shown: boards, a board with its leaderboard, a submission, how to take part, the log."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from pippin import __version__
from pippin.boards import standing
from pippin.boards.accounts import Account
from pippin.boards.export import export_json
from pippin.boards.sending import state_of
from pippin.boards.site import Site
from pippin.boards.store import Row
from pippin.boards.submission import card_of
from pippin.limits import in_words
from pippin.serve.drawn import axis, environment, number, statics
from pippin.serve.guard import SESSION, VISIT, Guard, set_cookie

ROWS, ENTRIES = 100, 200  # on one page
WORDS = {"open": "open for submissions", "closed": "closed", "revealed": "closed and revealed"}


class Pages:
    """The pages that anybody can look at."""

    def __init__(self, site: Site, guard: Guard) -> None:
        self.site, self.guard = site, guard
        environment(), statics()

    def routes(self) -> list[Route]:
        """Every address."""
        told = {
            "/": self.boards, "/boards/{board}": self.board, "/boards/{board}/take-part": self.take_part,
            "/boards/{board}/log": self.log, "/boards/{board}/log.jsonl": self.log_file,
            "/boards/{board}/leaderboard.csv": self.csv, "/boards/{board}/export.json": self.export,
            "/boards/{board}/files/{file}": self.file, "/submissions/{submission}": self.submission,
            "/submissions/{submission}/receipt.json": self.receipt, "/static/{file}": self.static,
        }  # fmt: skip
        return [Route(path, answer, methods=["GET"]) for path, answer in told.items()]

    def render(self, request: Request, template: str, status: int = 200, **given: Any) -> Response:
        """A page, with what every page knows; a guest gets the cookie that forms are bound to."""
        token, bound = self.guard.form_token(request)
        account = given.pop("account", None) or self.guard.visitor(request)
        text = environment().get_template(template).render(
            account=account, form_token=token, version=__version__, path=request.url.path, site_key=self.site.key,
            **{"board": None, "fault": "", **given},
        )  # fmt: skip
        response = HTMLResponse(text, status)
        if SESSION not in request.cookies and VISIT not in request.cookies:
            set_cookie(request, response, VISIT, bound)
        return response

    def fault(self, request: Request, status: int, sentence: str) -> Response:
        """A page that says what went wrong."""
        return self.render(request, "fault.html", status, sentence=sentence, number=status)

    def boards(self, request: Request) -> Response:
        """All boards."""
        told = []
        for name in self.site.names():
            state, rows = state_of(self.site, name), standing.leaderboard(self.site, name, 0, 1)
            told.append({"record": self.site.board(name).record, "state": state, "words": WORDS[state["state"]],
                         "size": standing.size(self.site, name), "first": rows[0] if rows else None})  # fmt: skip
        return self.render(request, "boards.html", boards=told)

    def _board(self, request: Request) -> tuple[str, dict[str, Any]]:
        """A board's name, and what all its pages know."""
        board = self.site.board(request.path_params["board"])
        state = state_of(self.site, board.name)
        return board.name, {"board": board, "record": board.record, "state": state, "words": WORDS[state["state"]],
                            "notes": json.loads(state["notes"] or "{}"),
                            "ended": json.loads(state["revealed"] or "{}")}  # fmt: skip

    def board(self, request: Request) -> Response:
        """The leaderboard."""
        name, known = self._board(request)
        size = standing.size(self.site, name)
        page = _page(request, size, ROWS)
        rows = standing.leaderboard(self.site, name, page * ROWS, ROWS)
        places = {one: n for n, one in enumerate(known["ended"].get("before", ()), 1)}
        return self.render(
            request, "board.html", rows=rows, size=size, page=page, pages=-(-size // ROWS) or 1, before=places,
            axis=axis(rows, known["state"]["baseline"] or 0.0), first=page * ROWS, **known,
        )  # fmt: skip

    def take_part(self, request: Request) -> Response:
        """How to take part."""
        name, known = self._board(request)
        files = {file: in_words(size) for file, size in self.site.board(name).files.items()}
        return self.render(request, "take_part.html", files=files, address=str(request.base_url).rstrip("/"), **known,
                           limits=self.site.board(name).limits, in_words=in_words)  # fmt: skip

    def log(self, request: Request) -> Response:
        """The log, the newest entries first."""
        name, known = self._board(request)
        size = self.site.store.log_length(name)
        page = _page(request, size, ENTRIES)
        last = size - page * ENTRIES
        entries = self.site.store.log(name, max(1, last - ENTRIES + 1), min(ENTRIES, last))[::-1] if last > 0 else []
        return self.render(request, "log.html", entries=entries, size=size, page=page,
                           pages=-(-size // ENTRIES) or 1, **known)  # fmt: skip

    def log_file(self, request: Request) -> Response:
        """The whole log, an entry a line."""
        name = self.site.board(request.path_params["board"]).name
        lines = "".join(json.dumps(entry) + "\n" for entry in self.site.store.log(name))
        return PlainTextResponse(lines, headers=_attached(f"{name}-log.jsonl"), media_type="application/jsonl")

    def csv(self, request: Request) -> Response:
        """The leaderboard as CSV, in which no cell is a formula."""
        name, known = self._board(request)
        out = io.StringIO()
        write = csv.writer(out)
        write.writerow(["rank", "name", "account", known["record"]["measure"], "low", "high", "sent", "final"])
        step = known["state"]["step"]
        for row in standing.leaderboard(self.site, name):
            values = [number(value, step) for value in (row.value, row.low, row.high)]
            write.writerow([row.rank, harmless(row.name), harmless(row.account), *values, row.sent,
                            "" if row.final is None else f"{row.final:.6f}"])  # fmt: skip
        return PlainTextResponse(out.getvalue(), headers=_attached(f"{name}.csv"), media_type="text/csv")

    def export(self, request: Request) -> Response:
        """The board, its leaderboard and its log as one JSON file."""
        name = self.site.board(request.path_params["board"]).name
        text = json.dumps(export_json(self.site, name), indent=1) + "\n"
        return Response(text, headers=_attached(f"{name}.json"), media_type="application/json")

    def file(self, request: Request) -> Response:
        """A file of the public part: those of the manifest, and no others."""
        board = self.site.board(request.path_params["board"])
        name = request.path_params["file"]
        if name not in board.files:
            raise HTTPException(404, "this board has no such file")
        return FileResponse(Path(board.folder) / name, media_type="text/plain; charset=utf-8", filename=name)

    def visible(self, request: Request) -> tuple[Row, Account | None]:
        """The submission that is asked for and who asks; what is not his to see is not there."""
        row = standing.submission(self.site, request.path_params["submission"])
        account = self.guard.visitor(request)
        mine = row is not None and account is not None and (row["account"] == account.id or account.organises)
        if row is None or not (mine or standing.is_public(self.site, row)):
            raise HTTPException(404, "there is no such submission, or it is not yours to see")
        return row, account

    def submission(self, request: Request) -> Response:
        """A submission with its card."""
        row, account = self.visible(request)
        board = self.site.board(row["board"])
        state = state_of(self.site, board.name)
        mine = account is not None and (row["account"] == account.id or account.organises)
        return self.render(
            request, "submission.html", row=row, card=card_of(row["card"]), mine=mine, state=state, board=board,
            record=board.record, words=WORDS[state["state"]], receipt=json.loads(row["receipt"] or "null"),
        )  # fmt: skip

    def receipt(self, request: Request) -> Response:
        """The signed receipt of a submission, as a file."""
        row, _ = self.visible(request)
        if not row["receipt"]:
            raise HTTPException(404, "this submission has no receipt")
        return Response(row["receipt"], headers=_attached(f"receipt-{row['id']}.json"), media_type="application/json")

    def static(self, request: Request) -> Response:
        """A style sheet or a script."""
        found = statics().get(request.path_params["file"])
        if found is None:
            raise HTTPException(404, "there is no such file")
        return Response(found[1], media_type=found[0], headers={"cache-control": "max-age=600"})


def harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("BM25")
    ("'=1+1", 'BM25')
    """
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def _page(request: Request, size: int, each: int) -> int:
    """The page that is asked for, from 0 on."""
    asked = request.query_params.get("page", "1")
    return min(int(asked) - 1 if asked.isdigit() and asked != "0" and len(asked) < 8 else 0, max(0, (size - 1) // each))
