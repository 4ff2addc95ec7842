"""What browsers send: log-in, registration, submissions; and what organisers do to boards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pippin.boards import accounts, standing
from pippin.boards.accounts import SESSION_DAYS, Account, NotAllowed, account_of
from pippin.boards.sending import state_of
from pippin.boards.site import Site
from pippin.errors import PippinError
from pippin.limits import in_words
from pippin.serve.guard import SESSION, Guard, own_path, set_cookie, status_of
from pippin.serve.pages import WORDS, Pages
from pippin.serve.uploads import CARD, receive, received_form

SEE_OTHER = 303


class Forms:
    """The forms of the site, and their answers."""

    def __init__(self, site: Site, guard: Guard, pages: Pages) -> None:
        self.site, self.guard, self.pages = site, guard, pages

    def routes(self) -> list[Route]:
        """Every address."""
        told: list[tuple[str, Callable[[Request], Any]]] = [
            ("/login", self.login), ("/join", self.join), ("/logout", self.logout), ("/account", self.account),
            ("/boards/{board}/submit", self.submit), ("/boards/{board}/close", self.close),
            ("/boards/{board}/reveal", self.reveal),
        ]  # fmt: skip
        asked = {"/login", "/join", "/account", "/boards/{board}/submit"}
        return [Route(path, answer, methods=["GET", "POST"] if path in asked else ["POST"]) for path, answer in told]

    async def _form(self, request: Request) -> Mapping[str, Any]:
        """The fields of a form of this site's own."""
        async with received_form(request) as form:
            await run_in_threadpool(self.guard.check_form, request, form)
            return dict(form)

    async def _asking(self, request: Request) -> Account:
        """Who is logged in."""
        account = await run_in_threadpool(self.guard.visitor, request)
        if account is None:
            raise HTTPException(401, "log in first")
        return account

    async def _show(self, request: Request, template: str, status: int = 200, **given: Any) -> Response:
        return await run_in_threadpool(lambda: self.pages.render(request, template, status, **given))

    async def login(self, request: Request) -> Response:
        """Log in by a token."""
        goal = own_path(request.query_params.get("next", "/"))
        if request.method == "GET":
            return await self._show(request, "login.html", goal=goal)
        form = await self._form(request)
        goal = own_path(str(form.get("next", "/")))
        self.guard.tries.check(request)
        try:
            account = await run_in_threadpool(account_of, self.site.store, str(form.get("token", "")))
        except NotAllowed as error:
            self.guard.tries.count(request)
            return await self._show(request, "login.html", 403, goal=goal, fault=str(error))
        return await self._enter(request, account, RedirectResponse(goal, SEE_OTHER))

    async def _enter(self, request: Request, account: Account, response: Response) -> Response:
        secret = await run_in_threadpool(accounts.begin_session, self.site.store, account)
        set_cookie(request, response, SESSION, secret, SESSION_DAYS)
        return response

    async def join(self, request: Request) -> Response:
        """Make an account; the token is shown once, on the page that follows."""
        opened = await run_in_threadpool(accounts.registration_open, self.site.store)
        if request.method == "GET":
            return await self._show(request, "join.html", opened=opened, name="")
        form = await self._form(request)
        self.guard.tries.check(request)
        name, invitation = str(form.get("name", "")), str(form.get("invitation", ""))
        try:
            account, token = await run_in_threadpool(accounts.join, self.site.store, name, invitation)
        except PippinError as error:
            self.guard.tries.count(request)
            return await self._show(request, "join.html", status_of(error), opened=opened, name=name, fault=str(error))
        page = await self._show(request, "token.html", token=token, account=account)
        return await self._enter(request, account, page)

    async def logout(self, request: Request) -> Response:
        """End the session."""
        await self._form(request)
        await run_in_threadpool(accounts.end_session, self.site.store, request.cookies.get(SESSION, ""))
        response = RedirectResponse("/", SEE_OTHER)
        response.delete_cookie(SESSION)
        return response

    async def account(self, request: Request) -> Response:
        """One's account: a new token; for organisers, invitations and registration."""
        account = await run_in_threadpool(self.guard.visitor, request)
        if account is None:
            return RedirectResponse("/login?next=/account", SEE_OTHER)
        made = ""
        if request.method == "POST":
            form = await self._form(request)
            action = str(form.get("action", ""))
            if action == "token":
                token = await run_in_threadpool(accounts.new_token, self.site.store, account)
                page = await self._show(request, "token.html", token=token, account=account)
                return await self._enter(request, account, page)
            made = await self._organise(account, action, form)
        opened = await run_in_threadpool(accounts.registration_open, self.site.store)
        return await self._show(request, "account.html", account=account, made=made, opened=opened)

    async def _organise(self, account: Account, action: str, form: Mapping[str, Any]) -> str:
        """What an organiser does by the page of his account; an invitation, where one was made."""
        if not account.organises:
            raise HTTPException(403, "this is for organisers")
        if action == "invite":
            uses = str(form.get("uses", "1"))
            number = int(uses) if uses.isdigit() and len(uses) < 6 else 1
            return await run_in_threadpool(accounts.invite, self.site.store, str(form.get("role")), max(1, number))
        if action in ("open", "invited"):
            await run_in_threadpool(accounts.open_registration, self.site.store, action == "open")
        return ""

    async def submit(self, request: Request) -> Response:
        """Send a submission."""
        account = await run_in_threadpool(self.guard.visitor, request)
        board = self.site.board(request.path_params["board"])
        if account is None:
            return RedirectResponse(f"/login?next=/boards/{board.name}/submit", SEE_OTHER)
        if request.method == "GET":
            return await self._submit_page(request, account, {})
        async with received_form(request) as form:
            await run_in_threadpool(self.guard.check_form, request, form)
            try:
                identity = await receive(self.site, account, board.name, form)
            except PippinError as error:
                given = {name: str(form.get(name, "")) for name in CARD}
                return await self._submit_page(request, account, given, status_of(error), str(error))
        return RedirectResponse(f"/submissions/{identity}", SEE_OTHER)

    async def _submit_page(
        self, request: Request, account: Account, given: Mapping[str, str], status: int = 200, fault: str = ""
    ) -> Response:
        board = self.site.board(request.path_params["board"])
        state = await run_in_threadpool(state_of, self.site, board.name)
        sent = await run_in_threadpool(standing.submissions_of, self.site, board.name, account.id)
        return await self._show(
            request, "submit.html", status, account=account, board=board, record=board.record, state=state, fault=fault,
            words=WORDS[state["state"]], sent=sent[:50], given={**dict.fromkeys(CARD, ""), **given},
            limit=in_words(board.limits.bytes), limits=board.limits,
        )  # fmt: skip

    async def close(self, request: Request) -> Response:
        """Close a board."""
        return await self._end(request, standing.close)

    async def reveal(self, request: Request) -> Response:
        """Ask the scorer to show the final half."""
        return await self._end(request, standing.ask_reveal)

    async def _end(self, request: Request, do: Callable[[Site, str], None]) -> Response:
        account = await self._asking(request)
        await self._form(request)
        if not account.organises:
            raise HTTPException(403, "this is for organisers")
        board = self.site.board(request.path_params["board"]).name
        await run_in_threadpool(do, self.site, board)
        return RedirectResponse(f"/boards/{board}", SEE_OTHER)
