"""Pages, forms and the REST interface."""

from __future__ import annotations

import json
import re
import time

import pytest
from starlette.routing import Route
from tests.boards.web.conftest import Client

from pippin.boards import accounts, leaderboard, queue
from pippin.boards.web.api import BASE, Api, openapi_document
from pippin.boards.web.security import Guard


def test_join_submit_close_and_reveal_in_the_browser(web: Client) -> None:
    invitation = accounts.invite(web.site.site.store)
    token = web.form_token("/join")
    page = web.post("/join", {"name": "Ann", "invitation": invitation, "form_token": token})
    assert page.status == 200
    assert re.search(r"pippin_[0-9a-f]{16}_", page.text)
    assert ">Ann</a>" in web.get("/").text
    token = web.form_token("/boards/cup/submit")
    response = web.upload("/boards/cup/submit", {"name": "good", "form_token": token}, web.good_scores())
    assert response.status == 303
    location = response.headers["location"]
    assert "waiting to be scored" in web.get(location).text
    web.site.score()
    assert (
        "the account&#39;s row on the leaderboard" in web.get(location).text
        or "row on the leaderboard" in web.get(location).text
    )
    assert web.get(f"{location}/receipt.json").json["statement"]["name"] == "good"
    assert "good" in web.new_client().get("/boards/cup").text
    log = web.get("/boards/cup/log")
    assert "accepted" in log.text
    *entries, head = map(json.loads, web.get("/boards/cup/log.jsonl").text.splitlines())
    assert [entry["kind"] for entry in entries] == ["created", "accepted", "scored"]
    assert head["statement"]["hash"] == entries[-1]["hash"]
    assert head["statement"]["hash"] in web.get("/boards/cup/log").text
    boss = web.new_client()
    boss.log_in("Boss", "organiser")
    assert "Close the board" in boss.get("/boards/cup").text
    assert "Close the board" not in web.get("/boards/cup").text
    assert boss.post("/boards/cup/close", {"form_token": boss.form_token("/account")}).status == 303
    late = web.upload("/boards/cup/submit", {"name": "late", "form_token": token}, web.good_scores())
    assert late.status == 409
    assert "no longer accepted" in late.text
    assert boss.post("/boards/cup/reveal", {"form_token": boss.form_token("/account")}).status == 303
    web.site.score()
    assert "on the final queries" in web.get("/boards/cup").text
    assert "pippin board verify" in web.get("/boards/cup").text


def test_the_rest_interface(web: Client) -> None:
    assert [board["name"] for board in web.get("/api/v1/boards").json] == ["cup"]
    invitation = web.request("POST", "/api/v1/invitations", b'{"uses": 2}', {**web.bearer("Ann")})
    assert invitation.status == 403
    web.site.account("Boss", "organiser")
    invitation = web.request("POST", "/api/v1/invitations", b'{"uses": 2}', {**web.bearer("Boss")})
    body = json.dumps({"name": "Eve", "invitation": invitation.json["invitation"]}).encode()
    account = web.request("POST", "/api/v1/accounts", body)
    assert account.status == 201
    mine = {"authorization": f"Bearer {account.json['token']}"}
    response = web.upload(
        "/api/v1/boards/cup/submissions", {"card": 'name = "é"\nauthors = ["A", "B"]'}, web.good_scores(), **mine
    )
    assert response.status == 202
    assert response.json["card"]["authors"] == "A, B"
    web.site.score()
    record = web.get(f"/api/v1/submissions/{response.json['id']}", **mine).json
    assert record["state"] == "scored"
    assert web.get(f"/api/v1/submissions/{response.json['id']}/file", **mine).body == web.good_scores()
    assert web.get("/api/v1/boards/cup/submissions", **mine).json[0]["id"] == record["id"]
    rows = web.get("/api/v1/boards/cup").json["leaderboard"]
    assert [(row["rank"], row["name"], row["account"]) for row in rows] == [(1, "é", "Eve")]
    assert len(web.get("/api/v1/boards/cup/log?first=1&count=1").json) == 1


def test_the_openapi_document_describes_every_route(web: Client) -> None:
    routes = {(route.path.removeprefix(BASE), method.lower())
              for route in Api(web.site.site, Guard(web.site.site)).routes() if isinstance(route, Route)
              for method in (route.methods or set()) - {"HEAD"}}  # fmt: skip
    described = {(path, method) for path, methods in openapi_document("x")["paths"].items() for method in methods}
    assert routes == described
    assert web.get("/api/v1/openapi.json").json["openapi"] == "3.1.0"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/nowhere", 404), ("/boards/none", 404), ("/api/v1/boards/none", 404), ("/submissions/0123456789abcdef", 404),
     ("/api/v1/boards/cup/submissions", 401), ("/boards/cup/files/labels.npy", 404), ("/static/x", 404),
     ("/api/v1/boards/cup?first=x", 422), ("/boards/cup?page=99999999999", 200), ("/login?next=/a", 200)],
)  # fmt: skip
def test_errors_are_reported_with_the_right_status(web: Client, path: str, status: int) -> None:
    answer = web.get(path)
    assert answer.status == status
    if status >= 400 and path.startswith("/api"):
        assert set(answer.json) == {"error"}
    assert "Traceback" not in answer.text


def test_invalid_requests_are_rejected_at_once(web: Client) -> None:
    assert web.submit("Ann", b"1\n", card={}).status == 422
    assert "the card has no name" in web.submit("Ann", b"1\n", card={}).text
    assert "invalid TOML" in web.submit("Ann", b"1\n", card={"card": "name = "}).text
    assert "the file is empty" in web.submit("Ann", b"").text
    without_file = web.upload("/api/v1/boards/cup/submissions", {"name": "a"}, None, **web.bearer("Ann"))
    assert (without_file.status, without_file.json["error"]) == (422, "choose a file to submit")
    assert list((web.site.site.folder / "incoming").iterdir()) == []
    assert list((web.site.site.folder / "uploads").iterdir()) == []
    leaderboard.close(web.site.site, "cup")
    closed = web.submit("Ann", b"1\n")
    assert (closed.status, closed.json["error"]) == (409, "board 'cup' is closed: submissions are no longer accepted")


def test_tokens_and_sessions_expire(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    web.log_in("Ann")
    assert ">Ann</a>" in web.get("/").text
    later = int(time.time()) + 400 * accounts.DAY
    monkeypatch.setattr(accounts, "now", lambda: later)
    assert ">Ann</a>" not in web.get("/").text
    answer = web.submit("Ann", b"1\n")
    assert (answer.status, answer.json["error"]) == (401, "the token has expired; ask the organiser for a new one")


def test_a_full_disk_stores_nothing(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(queue, "_move_durably", full)
    answer = web.submit("Ann", b"1\n")
    assert answer.status == 507
    assert "disk is full" in answer.json["error"]
    assert web.get("/api/v1/boards/cup/submissions", **web.bearer("Ann")).json == []
    assert list((web.site.site.folder / "incoming").iterdir()) == []


def test_long_leaderboards_have_pages(web: Client) -> None:
    from sqlalchemy import insert

    from pippin.boards.database import ACCOUNTS, SUBMISSIONS

    row = {"board": "cup", "card": '{"name": "x"}', "kind": "scores", "file": "s", "digest": "d", "bytes": 1,
           "received": 1, "state": "scored", "is_shown": True, "low": 0.1, "high": 0.9,
           "is_on_leaderboard": True}  # fmt: skip
    with web.site.site.store.writing() as connection:
        connection.execute(
            insert(ACCOUNTS), [{"name": f"n{n}", "role": "participant", "created": 1} for n in range(250)]
        )
        connection.execute(insert(SUBMISSIONS), [{**row, "id": f"s{n}", "account": n + 1, "name": f"name{n}",
                                                  "value": n / 1000} for n in range(250)])  # fmt: skip
    page = web.get("/boards/cup?page=3").text
    assert "Page 3 of 3, 250 rows" in page
    assert page.count("<tr class=") == 50
    assert "name49<" in page
    assert web.get("/api/v1/boards/cup?first=248&count=9").json["leaderboard"][1]["rank"] == 250
