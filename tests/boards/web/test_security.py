"""Hostile names, cards and files, curious accounts, and forged forms."""

from __future__ import annotations

import hmac
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from tests.boards.conftest import make_site
from tests.boards.web.conftest import Client

from pippin.boards import accounts
from pippin.boards.audit_log import sha256
from pippin.boards.scoring import load_scores
from pippin.boards.submissions import make_card
from pippin.boards.web.processes import grant_web_access, resolve_web_user, serve_folder
from pippin.boards.web.security import FORM_BYTES, MAX_ATTEMPTS
from pippin.cli.main import main

OPEN_AS_USER = (
    "import os, sys; user = int(sys.argv[1]); os.setgroups([]); os.setgid(user); os.setuid(user); open(sys.argv[2])"
)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def test_hostile_cards_are_escaped(sqlite_web: Client, capsys: pytest.CaptureFixture[str]) -> None:
    card = {"name": f"=1+1 {EVIL}", "about": EVIL, "authors": "\x1b[2J\u202eevil", "command": EVIL}
    response = sqlite_web.submit("Ann", sqlite_web.good_scores(), card, file='../../etc/"><b>x.txt')
    assert response.status == 202
    sqlite_web.site.score()
    for path in ("/", "/boards/cup", "/boards/cup/log", f"/submissions/{response.json['id']}"):
        page = sqlite_web.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "\x1b" not in page
    assert "'=1+1" in sqlite_web.get("/boards/cup/leaderboard.csv").text
    assert main(["board", "show", "cup", "--folder", str(sqlite_web.site.site.folder)]) == 0
    assert "\x1b[2J" not in capsys.readouterr().out
    assert make_card(card).authors == r"\x1b[2J\u202eevil"
    assert "javascript" not in sqlite_web.submit("Ann", b"1\n", {"name": "a", "code": "javascript:alert(1)"}).text
    assert sorted(p.name for p in (sqlite_web.site.site.folder / "uploads").iterdir()) == [response.json["id"]]


def test_responses_have_security_headers_and_no_inline_script(web: Client) -> None:
    web.log_in("Boss", "organiser")
    for path in ("/", "/boards/cup", "/boards/cup/submit", "/boards/cup/take-part", "/account", "/login", "/nowhere"):
        answer = web.get(path)
        assert answer.status == (404 if path == "/nowhere" else 200)
        assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=", answer.text)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "strict-transport-security" not in answer.headers
    web.scheme = "https"
    assert "max-age" in web.get("/").headers["strict-transport-security"]
    assert web.get("/api/v1/boards").headers["x-content-type-options"] == "nosniff"


def test_internal_errors_have_headers_and_reveal_nothing(
    web: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(f"label 3 of {web.site.tokens}")

    web.site.account("Ann")
    monkeypatch.setattr("pippin.boards.web.api.board_record", fail)
    with caplog.at_level(logging.ERROR):
        answer = web.get("/api/v1/boards/cup", **web.bearer("Ann"))
    assert answer.status == 500
    assert "content-security-policy" in answer.headers
    assert "label" not in answer.text + caplog.text
    assert web.site.tokens["Ann"] not in caplog.text
    assert "RuntimeError" in caplog.text


def test_responses_contain_no_labels_and_no_exact_values(web: Client) -> None:
    submitted = web.submit("Ann", web.good_scores(1.0)).json["id"]
    web.submit("Ann", b"1\n2\n")
    web.site.score()
    scores = load_scores(web.site.site, "cup", submitted)
    mine = web.bearer("Ann")
    web.log_in("Ann")
    texts = [web.get(path, **mine).text for path in (
        "/boards/cup", "/boards/cup/log.jsonl", "/boards/cup/export.json", "/boards/cup/submit",
        "/boards/cup/files/test.txt", f"/submissions/{submitted}", "/api/v1/boards/cup",
        f"/api/v1/submissions/{submitted}", f"/api/v1/submissions/{submitted}/receipt",
        "/api/v1/boards/cup/submissions",
    )]  # fmt: skip
    secrets = [*scores.means.values(), *(v for values in scores.values.values() for v in values.tolist() if 0 < v < 1)]
    text = "\n".join(texts)
    assert not [value for value in secrets if f"{value:.6f}"[:8] in text]
    assert web.site.labels.salt not in text
    assert len(web.get("/boards/cup/files/test.txt").text.splitlines()) == len(web.site.board.test)
    assert all(line.startswith("0 ") for line in web.get("/boards/cup/files/test.txt").text.splitlines())


def test_submissions_are_private(web: Client) -> None:
    submitted = web.submit("Ann", b"1\n").json["id"]
    eve = web.new_client()
    eve.log_in("Eve")
    assert eve.get(f"/submissions/{submitted}").status == 404
    for path in (f"/api/v1/submissions/{submitted}", f"/api/v1/submissions/{submitted}/file"):
        assert eve.get(path, **eve.bearer("Eve")).status == 404
    assert eve.get("/api/v1/boards/cup/submissions", **eve.bearer("Eve")).json == []
    web.site.score()
    assert "ends after 1 scores" not in eve.get("/boards/cup/log.jsonl").text
    assert web.get(f"/api/v1/submissions/{submitted}", **web.bearer("Ann")).json["error"].startswith("s.txt:1: ")


@pytest.mark.parametrize("path", ["/boards/cup/files/../board.json", "/boards/cup/files/..%2f..%2fhidden%2fkey.bin",
                                  "/boards/../hidden/key.bin", "/static/../pages.py"])  # fmt: skip
def test_path_traversal_is_rejected(web: Client, path: str) -> None:
    answer = web.get(path)
    assert answer.status == 404
    assert web.site.site.private_key() not in answer.body


def test_large_bodies_are_rejected_while_they_arrive(web: Client) -> None:
    chunks = [b"x" * 10_000] * 20
    answer = web.request("POST", "/login", chunks, {"content-type": "application/x-www-form-urlencoded"})
    assert answer.status == 413
    assert FORM_BYTES < 20 * 10_000
    limit = web.site.board.limits.bytes
    large = {
        "content-length": str(limit + 10**6),
        "content-type": "multipart/form-data; boundary=b",
        **web.bearer("Ann"),
    }
    assert web.request("POST", "/api/v1/boards/cup/submissions", b"--b", large).status == 413


def test_a_decompression_bomb_is_rejected(web: Client) -> None:
    import gzip

    bomb = gzip.compress(b"0\n" * 30_000_000, 9)
    assert len(bomb) < 200_000
    submitted = web.submit("Ann", bomb).json["id"]
    web.site.score()
    record = web.get(f"/api/v1/submissions/{submitted}", **web.bearer("Ann")).json
    assert record["state"] == "rejected"
    assert "unpacks to more than" in record["error"]


def test_pickles_are_not_opened(web: Client, tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "run"),)

    web.submit("Ann", pickle.dumps(Evil()))
    web.submit("Ann", b"pippin-model" + pickle.dumps(Evil()))
    web.site.score()
    assert not (tmp_path / "run").exists()
    assert {row["state"] for row in web.site.submissions("Ann").values()} == {"rejected"}


def test_forged_forms_are_rejected(web: Client) -> None:
    web.log_in("Boss", "organiser")
    token = web.form_token("/account")
    assert web.post("/boards/cup/close", {}).status == 403
    assert web.post("/boards/cup/close", {"form_token": "0" * 64}).status == 403
    assert web.post("/boards/cup/close", {"form_token": web.new_client().form_token()}).status == 403
    assert web.post("/boards/cup/close", {"form_token": token}, origin="https://evil.org").status == 403
    assert web.post("/boards/cup/close", {"form_token": token}, origin="http://boards.test").status == 303


def test_cookies_are_http_only_same_site_and_secure(web: Client) -> None:
    cookies = web.log_in("Ann").cookies
    assert cookies
    assert all("HttpOnly" in cookie and "SameSite=lax" in cookie and "Path=/" in cookie for cookie in cookies)
    web.scheme = "https"
    assert all("Secure" in cookie for cookie in web.log_in("Ann").cookies)


def test_attempts_are_limited_and_compared_in_constant_time(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons = []

    def compare(first: str, second: str) -> bool:
        comparisons.append(first)
        return hmac.compare_digest(first, second)

    monkeypatch.setattr(accounts, "hmac", SimpleNamespace(compare_digest=compare))
    wrong = "pippin_0123456789abcdef_" + "A" * 43
    token = web.form_token()
    for _ in range(MAX_ATTEMPTS):
        assert web.post("/login", {"token": wrong, "form_token": token}).status == 403
    assert len(comparisons) >= MAX_ATTEMPTS, "unknown tokens are compared, too"
    assert web.post("/login", {"token": wrong, "form_token": token}).status == 429
    assert web.get("/api/v1/boards/cup/submissions", **web.bearer("Ann")).status == 429
    web.client = "192.0.2.2"
    assert web.log_in("Ann").status == 303


def test_tokens_and_sessions_are_stored_hashed(web: Client) -> None:
    web.log_in("Ann")
    token = web.site.tokens["Ann"]
    with web.site.site.store.reading() as connection:
        hashes = [
            row[0] for row in connection.exec_driver_sql("SELECT hash FROM tokens UNION SELECT hash FROM sessions")
        ]
    assert sha256(token.split("_", 2)[2].encode()) in hashes
    content = b"".join(file.read_bytes() for file in (web.site.site.folder / "database").iterdir())
    assert token.split("_", 2)[2].encode() not in content
    assert web.cookies["pippin_session"].encode() not in content


@pytest.mark.parametrize("goal", ["//evil.org", "https://evil.org", "/\\evil.org", "/%0d%0aevil", "javascript:x"])
def test_no_open_redirect(web: Client, goal: str) -> None:
    web.site.account("Ann")
    fields = {"token": web.site.tokens["Ann"], "form_token": web.form_token(), "next": goal}
    answer = web.post("/login", fields)
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_a_second_server_of_a_folder_is_rejected(web: Client) -> None:
    from pippin.errors import DataError

    with web.site.site.lock("serve"), pytest.raises(DataError, match="another `pippin serve`"):
        serve_folder(web.site.site.folder, port=0, is_stopped=lambda: True)


def test_a_board_whose_data_changed_is_not_served(web: Client) -> None:
    from pippin.errors import DataError

    file = web.site.board.folder / "test.txt"
    file.write_bytes(file.read_bytes()[:-1] + b" ")
    with pytest.raises(DataError, match="damaged"):
        serve_folder(web.site.site.folder, store=web.site.store, port=0, is_stopped=lambda: True)


def test_only_the_owner_can_read_the_hidden_part(web: Client) -> None:
    hidden = web.site.site.folder / "hidden"
    assert hidden.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (hidden / "key.bin", *(hidden / "cup").iterdir()))


@pytest.mark.skipif(os.getuid() != 0, reason="requires root")
def test_the_user_of_the_web_process_cannot_read_labels() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        board_site = make_site(Path(folder) / "boards")
        user = resolve_web_user(None)
        assert user
        grant_web_access(board_site.site, user)
        folder_of_boards = board_site.site.folder
        errors = {
            file: subprocess.run([sys.executable, "-I", "-c", OPEN_AS_USER, str(user), str(folder_of_boards / file)],
                                 check=False, capture_output=True, text=True).stderr.rpartition("\n")[0][-200:]
            for file in ("hidden/cup/labels.npy", "hidden/key.bin", "boards/cup/test.txt", "database/boards.sqlite")
        }  # fmt: skip
        assert "PermissionError" in errors["hidden/cup/labels.npy"]
        assert "PermissionError" in errors["hidden/key.bin"]
        assert errors["boards/cup/test.txt"] == errors["database/boards.sqlite"] == ""


SERVE = """
import sys
from pippin.boards.web.processes import serve_folder
serve_folder(sys.argv[1], port=0, on_start=lambda address: print(address, flush=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="requires prctl")
def test_no_request_is_answered_after_the_supervisor_was_killed() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        board_site = make_site(Path(folder) / "boards")
        command = [sys.executable, "-c", SERVE, str(board_site.site.folder)]
        supervisor = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert supervisor.stdout is not None
        with supervisor, supervisor.stdout as output:
            address = output.readline().strip()
            assert httpx.get(address, timeout=60).status_code == 200
            supervisor.kill()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                httpx.get(address, timeout=5)
            except httpx.TransportError:
                return
            time.sleep(0.1)
        raise AssertionError("the web process still answers")


def test_the_web_package_never_opens_the_hidden_part() -> None:
    web_package = Path(sys.modules["pippin.boards.web.app"].__file__ or "").parent
    for file in web_package.glob("*.py"):
        if file.name != "demo.py":
            names = set(re.findall(r"\b(HiddenLabels|load_scores\(|private_key|hidden_folder\()", file.read_text()))
            assert not names, file.name


def test_the_log_contains_no_secrets(web: Client) -> None:
    web.submit("Ann", web.good_scores())
    web.site.score()
    entries = [json.dumps(entry) for entry in web.site.site.store.log("cup")]
    assert not [entry for entry in entries if web.site.tokens["Ann"] in entry or "split" in entry]


def test_the_server_is_loaded_before_it_switches_users() -> None:
    """After the switch the process may not have permission to read its modules."""
    code = (
        "import sys; from pippin.boards.web.processes import make_config; "
        "config = make_config(print); known = {*sys.modules}; config.get_loop_factory(); print(*{*sys.modules} - known)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
