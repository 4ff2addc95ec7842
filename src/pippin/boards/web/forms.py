"""HTML forms: log-in, registration, file upload, and the actions of organisers."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pippin.boards import accounts, leaderboard
from pippin.boards.accounts import SESSION_DAYS, Account, Forbidden, find_account
from pippin.boards.queue import accept, board_state, check_open, storage_error
from pippin.boards.site import Site
from pippin.boards.submissions import CARD_FIELDS, Card, make_card, parse_card
from pippin.boards.web.pages import STATES, Pages
from pippin.boards.web.security import FORM_BYTES, SESSION, Guard, http_status, local_path, set_cookie
from pippin.errors import DataError, PippinError
from pippin.system import format_bytes

_SEE_OTHER = 303


@asynccontextmanager
async def open_form(request: Request) -> AsyncIterator[FormData]:
    """Read the fields of a form and at most one file, which is deleted at the end."""
    try:
        async with request.form(max_files=1, max_fields=20, max_part_size=FORM_BYTES) as form:
            yield form
    except OSError as error:
        raise storage_error(error) from None


def _read_card_fields(form: Mapping[str, Any]) -> Card:
    """Return the card: TOML in the field `card`, or one field per line of it."""
    if form.get("card"):
        return parse_card(str(form["card"]))
    return make_card({name: str(form[name]) for name in CARD_FIELDS if form.get(name)})


async def queue_upload(site: Site, account: Account, board: str, form: FormData) -> str:
    """Queue the file of a form; return the submission's id."""
    upload = form.get("file")
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise DataError("choose a file to submit")
    card, kind = _read_card_fields(form), str(form.get("kind") or "auto")
    return await run_in_threadpool(_queue_file, site, account, board, upload, card, kind)


def _queue_file(site: Site, account: Account, board: str, upload: UploadFile, card: Card, kind: str) -> str:
    check_open(site, account, board)
    path = site.folder / "incoming" / secrets.token_hex(16)
    try:
        upload.file.seek(0)
        with path.open("xb") as file:
            path.chmod(0o600)
            shutil.copyfileobj(upload.file, file)
        return accept(site, account, board, path, str(upload.filename), card, kind)
    except OSError as error:
        raise storage_error(error) from None
    finally:
        path.unlink(missing_ok=True)


class Forms:
    """Handlers of the HTML forms."""

    def __init__(self, site: Site, guard: Guard, pages: Pages) -> None:
        self.site, self.guard, self.pages = site, guard, pages

    def routes(self) -> list[Route]:
        """Return the routes of the forms."""
        pages = {"/login": self.login, "/join": self.join, "/account": self.account,
                 "/boards/{board}/submit": self.submit}  # fmt: skip
        actions = {"/logout": self.logout, "/boards/{board}/close": self.close, "/boards/{board}/reveal": self.reveal}
        return [
            *(Route(path, handler, methods=["GET", "POST"]) for path, handler in pages.items()),
            *(Route(path, handler, methods=["POST"]) for path, handler in actions.items()),
        ]

    async def _read_form(self, request: Request) -> Mapping[str, Any]:
        """Read the fields of a form and check its token."""
        async with open_form(request) as form:
            await run_in_threadpool(self.guard.check_form, request, form)
            return dict(form)

    async def _show(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        return await run_in_threadpool(lambda: self.pages.render(request, template, status, **values))

    async def login(self, request: Request) -> Response:
        """Log in with a token."""
        goal = local_path(request.query_params.get("next", "/"))
        if request.method == "GET":
            return await self._show(request, "login.html", goal=goal)
        form = await self._read_form(request)
        goal = local_path(str(form.get("next", "/")))
        self.guard.rate_limiter.check(request)
        try:
            account = await run_in_threadpool(find_account, self.site.store, str(form.get("token", "")))
        except Forbidden as error:
            self.guard.rate_limiter.count(request)
            return await self._show(request, "login.html", 403, goal=goal, error=str(error))
        return await self._start_session(request, account, RedirectResponse(goal, _SEE_OTHER))

    async def _start_session(self, request: Request, account: Account, response: Response) -> Response:
        secret = await run_in_threadpool(accounts.start_session, self.site.store, account)
        set_cookie(request, response, SESSION, secret, SESSION_DAYS)
        return response

    async def join(self, request: Request) -> Response:
        """Create an account; its token is shown once, on the next page."""
        is_open = await run_in_threadpool(accounts.is_registration_open, self.site.store)
        if request.method == "GET":
            return await self._show(request, "join.html", is_open=is_open, name="")
        form = await self._read_form(request)
        self.guard.rate_limiter.check(request)
        name, invitation = str(form.get("name", "")), str(form.get("invitation", ""))
        try:
            account, token = await run_in_threadpool(accounts.join, self.site.store, name, invitation)
        except PippinError as error:
            self.guard.rate_limiter.count(request)
            return await self._show(
                request, "join.html", http_status(error), is_open=is_open, name=name, error=str(error)
            )
        page = await self._show(request, "token.html", token=token, account=account)
        return await self._start_session(request, account, page)

    async def logout(self, request: Request) -> Response:
        """End the session."""
        await self._read_form(request)
        await run_in_threadpool(accounts.end_session, self.site.store, request.cookies.get(SESSION, ""))
        response = RedirectResponse("/", _SEE_OTHER)
        response.delete_cookie(SESSION)
        return response

    async def account(self, request: Request) -> Response:
        """Show the account: a new token; for organisers, invitations and registration."""
        account = await run_in_threadpool(self.guard.visitor, request)
        if account is None:
            return RedirectResponse("/login?next=/account", _SEE_OTHER)
        invitation = ""
        if request.method == "POST":
            form = await self._read_form(request)
            action = str(form.get("action", ""))
            if action == "token":
                token = await run_in_threadpool(accounts.new_token, self.site.store, account)
                page = await self._show(request, "token.html", token=token, account=account)
                return await self._start_session(request, account, page)
            invitation = await self._organise(account, action, form)
        is_open = await run_in_threadpool(accounts.is_registration_open, self.site.store)
        return await self._show(request, "account.html", account=account, invitation=invitation, is_open=is_open)

    async def _organise(self, account: Account, action: str, form: Mapping[str, Any]) -> str:
        """Do what an organiser requests on the account page; return a new invitation, or an empty string."""
        if not account.is_organiser:
            raise HTTPException(403, "only organisers may do this")
        if action == "invite":
            uses = str(form.get("uses", "1"))
            number = int(uses) if uses.isdigit() and len(uses) < 6 else 1
            return await run_in_threadpool(accounts.invite, self.site.store, str(form.get("role")), max(1, number))
        if action in ("open", "invited"):
            await run_in_threadpool(accounts.set_registration, self.site.store, action == "open")
        return ""

    async def submit(self, request: Request) -> Response:
        """Submit a file to a board."""
        account = await run_in_threadpool(self.guard.visitor, request)
        board = self.site.board(request.path_params["board"])
        if account is None:
            return RedirectResponse(f"/login?next=/boards/{board.name}/submit", _SEE_OTHER)
        if request.method == "GET":
            return await self._submit_page(request, account, {})
        async with open_form(request) as form:
            await run_in_threadpool(self.guard.check_form, request, form)
            try:
                identity = await queue_upload(self.site, account, board.name, form)
            except PippinError as error:
                card = {name: str(form.get(name, "")) for name in CARD_FIELDS}
                return await self._submit_page(request, account, card, http_status(error), str(error))
        return RedirectResponse(f"/submissions/{identity}", _SEE_OTHER)

    async def _submit_page(
        self, request: Request, account: Account, card: Mapping[str, str], status: int = 200, error: str = ""
    ) -> Response:
        board = self.site.board(request.path_params["board"])
        state = await run_in_threadpool(board_state, self.site, board.name)
        submissions = await run_in_threadpool(leaderboard.submissions_of, self.site, board.name, account.id)
        return await self._show(
            request, "submit.html", status, account=account, board=board, record=board.record, state=state, error=error,
            state_text=STATES[state["state"]], submissions=submissions[:50],
            card={**dict.fromkeys(CARD_FIELDS, ""), **card},
            limit=format_bytes(board.limits.bytes), limits=board.limits,
        )  # fmt: skip

    async def close(self, request: Request) -> Response:
        """Close a board."""
        return await self._change_board(request, leaderboard.close)

    async def reveal(self, request: Request) -> Response:
        """Request that the scorer reveals a board."""
        return await self._change_board(request, leaderboard.request_reveal)

    async def _change_board(self, request: Request, change: Callable[[Site, str], None]) -> Response:
        account = await run_in_threadpool(self.guard.visitor, request)
        if account is None:
            raise HTTPException(401, "log in first")
        await self._read_form(request)
        if not account.is_organiser:
            raise HTTPException(403, "only organisers may do this")
        board = self.site.board(request.path_params["board"]).name
        await run_in_threadpool(change, self.site, board)
        return RedirectResponse(f"/boards/{board}", _SEE_OTHER)
