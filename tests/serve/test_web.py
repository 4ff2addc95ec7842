"""Pages, forms and REST: what each answers, to whom, and with which status."""

from __future__ import annotations

import json
import re
import time

import pytest
from starlette.routing import Route
from tests.serve.conftest import Web

from pippin.boards import accounts, sending, standing
from pippin.serve.api import BASE, Api
from pippin.serve.guard import Guard
from pippin.serve.openapi import document


def test_the_whole_way_by_the_page(web: Web) -> None:
    invitation = accounts.invite(web.fair.site.store)
    token = web.form_token("/join")
    page = web.post("/join", {"name": "Ann", "invitation": invitation, "form_token": token})
    assert page.status == 200
    assert re.search(r"pippin_[0-9a-f]{16}_", page.text)
    assert ">Ann</a>" in web.get("/").text
    token = web.form_token("/boards/cup/submit")
    sent = web.send("/boards/cup/submit", {"name": "good", "form_token": token}, web.good())
    assert sent.status == 303
    place = sent.headers["location"]
    assert "waiting to be scored" in web.get(place).text
    web.fair.score()
    assert (
        "the account&#39;s row on the leaderboard" in web.get(place).text
        or "row on the leaderboard" in web.get(place).text
    )
    assert web.get(f"{place}/receipt.json").json["statement"]["name"] == "good"
    assert "good" in web.other().get("/boards/cup").text
    log = web.get("/boards/cup/log")
    assert "accepted" in log.text
    assert [json.loads(line)["kind"] for line in web.get("/boards/cup/log.jsonl").text.splitlines()] == [
        "made", "accepted", "scored",
    ]  # fmt: skip
    boss = web.other()
    boss.log_in("Boss", "organiser")
    assert "Close the board" in boss.get("/boards/cup").text
    assert "Close the board" not in web.get("/boards/cup").text
    assert boss.post("/boards/cup/close", {"form_token": boss.form_token("/account")}).status == 303
    late = web.send("/boards/cup/submit", {"name": "late", "form_token": token}, web.good())
    assert late.status == 409
    assert "closed and takes no submissions" in late.text
    assert boss.post("/boards/cup/reveal", {"form_token": boss.form_token("/account")}).status == 303
    web.fair.score()
    assert "on the final queries" in web.get("/boards/cup").text
    assert "pippin board verify" in web.get("/boards/cup").text


def test_the_rest_interface(web: Web) -> None:
    assert [board["name"] for board in web.get("/api/v1/boards").json] == ["cup"]
    invitation = web.ask("POST", "/api/v1/invitations", b'{"uses": 2}', {**web.bearer("Ann")})
    assert invitation.status == 403
    web.fair.person("Boss", "organiser")
    invitation = web.ask("POST", "/api/v1/invitations", b'{"uses": 2}', {**web.bearer("Boss")})
    asked = json.dumps({"name": "Eve", "invitation": invitation.json["invitation"]}).encode()
    made = web.ask("POST", "/api/v1/accounts", asked)
    assert made.status == 201
    mine = {"authorization": f"Bearer {made.json['token']}"}
    sent = web.send("/api/v1/boards/cup/submissions", {"card": 'name = "é"\nauthors = ["A", "B"]'}, web.good(), **mine)
    assert sent.status == 202
    assert sent.json["card"]["authors"] == "A, B"
    web.fair.score()
    told = web.get(f"/api/v1/submissions/{sent.json['id']}", **mine).json
    assert told["state"] == "scored"
    assert web.get(f"/api/v1/submissions/{sent.json['id']}/file", **mine).body == web.good()
    assert web.get("/api/v1/boards/cup/submissions", **mine).json[0]["id"] == told["id"]
    rows = web.get("/api/v1/boards/cup").json["leaderboard"]
    assert [(row["rank"], row["name"], row["account"]) for row in rows] == [(1, "é", "Eve")]
    assert len(web.get("/api/v1/boards/cup/log?first=1&count=1").json) == 1


def test_the_description_has_every_address(web: Web) -> None:
    routes = {(route.path.removeprefix(BASE), method.lower())
              for route in Api(web.fair.site, Guard(web.fair.site)).routes() if isinstance(route, Route)
              for method in (route.methods or set()) - {"HEAD"}}  # fmt: skip
    described = {(path, method) for path, ways in document("x")["paths"].items() for method in ways}
    assert routes == described
    assert web.get("/api/v1/openapi.json").json["openapi"] == "3.1.0"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/nowhere", 404), ("/boards/nobody", 404), ("/api/v1/boards/nobody", 404), ("/submissions/0123456789abcdef", 404),
     ("/api/v1/boards/cup/submissions", 401), ("/boards/cup/files/labels.npy", 404), ("/static/x", 404),
     ("/api/v1/boards/cup?first=x", 422), ("/boards/cup?page=99999999999", 200), ("/login?next=/a", 200)],
)  # fmt: skip
def test_errors_are_one_sentence_with_the_right_status(web: Web, path: str, status: int) -> None:
    answer = web.get(path)
    assert answer.status == status
    if status >= 400 and path.startswith("/api"):
        assert set(answer.json) == {"error"}
    assert "Traceback" not in answer.text


def test_bad_submissions_are_told_at_once(web: Web) -> None:
    assert web.submit("Ann", b"1\n", card={}).status == 422
    assert "a card needs a name" in web.submit("Ann", b"1\n", card={}).text
    assert "no TOML" in web.submit("Ann", b"1\n", card={"card": "name = "}).text
    assert "this file is empty" in web.submit("Ann", b"").text
    none = web.send("/api/v1/boards/cup/submissions", {"name": "a"}, None, **web.bearer("Ann"))
    assert (none.status, none.json["error"]) == (422, "choose the file to send")
    assert list((web.fair.site.folder / "incoming").iterdir()) == []
    assert list((web.fair.site.folder / "uploads").iterdir()) == []
    standing.close(web.fair.site, "cup")
    closed = web.submit("Ann", b"1\n")
    assert (closed.status, closed.json["error"]) == (409, "the board cup is closed and takes no submissions any more")


def test_an_expired_token_and_session_are_nobodys(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.log_in("Ann")
    assert ">Ann</a>" in web.get("/").text
    later = int(time.time()) + 400 * accounts.DAY
    monkeypatch.setattr(accounts, "now", lambda: later)
    assert ">Ann</a>" not in web.get("/").text
    answer = web.submit("Ann", b"1\n")
    assert (answer.status, answer.json["error"]) == (401, "this token has expired; ask the organiser for a new one")


def test_a_full_disk_stores_nothing(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sending, "_put", full)
    answer = web.submit("Ann", b"1\n")
    assert answer.status == 507
    assert "disk of the server is full; nothing was stored" in answer.json["error"]
    assert web.get("/api/v1/boards/cup/submissions", **web.bearer("Ann")).json == []
    assert list((web.fair.site.folder / "incoming").iterdir()) == []


def test_many_rows_come_in_pages(web: Web) -> None:
    from sqlalchemy import insert

    from pippin.boards.tables import ACCOUNTS, SUBMISSIONS

    row = {"board": "cup", "card": '{"name": "x"}', "kind": "scores", "file": "s", "digest": "d", "bytes": 1,
           "received": 1, "state": "scored", "released": True, "low": 0.1, "high": 0.9, "standing": True}  # fmt: skip
    with web.fair.site.store.writing() as connection:
        connection.execute(insert(ACCOUNTS), [{"name": f"n{n}", "role": "participant", "made": 1} for n in range(250)])
        connection.execute(insert(SUBMISSIONS), [{**row, "id": f"s{n}", "account": n + 1, "name": f"name{n}",
                                                  "value": n / 1000} for n in range(250)])  # fmt: skip
    page = web.get("/boards/cup?page=3").text
    assert "Page 3 of 3, 250 rows" in page
    assert page.count("<tr class=") == 50
    assert "name49<" in page
    assert web.get("/api/v1/boards/cup?first=248&count=9").json["leaderboard"][1]["rank"] == 250
