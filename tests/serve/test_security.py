"""Names, cards and files are hostile; accounts are curious; other sites forge forms."""

from __future__ import annotations

import hmac
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.boards.conftest import fair
from tests.serve.conftest import Web

from pippin.boards import accounts
from pippin.boards.log import sha256
from pippin.boards.submission import make_card
from pippin.cli.main import main
from pippin.serve.guard import FORM_BYTES, TRIES
from pippin.serve.running import give_to_web, serve, web_user_of

HASHES = "SELECT hash FROM tokens UNION SELECT hash FROM sessions"
BECOME = (
    "import os, sys; user = int(sys.argv[1]); os.setgroups([]); os.setgid(user); os.setuid(user); open(sys.argv[2])"
)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def test_nothing_hostile_becomes_html_or_a_formula(plain_web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    card = {"name": f"=1+1 {EVIL}", "about": EVIL, "authors": "\x1b[2J\u202eevil", "command": EVIL}
    sent = plain_web.submit("Ann", plain_web.good(), card, file='../../etc/"><b>x.txt')
    assert sent.status == 202
    plain_web.fair.score()
    for path in ("/", "/boards/cup", "/boards/cup/log", f"/submissions/{sent.json['id']}"):
        page = plain_web.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "\x1b" not in page
    assert "'=1+1" in plain_web.get("/boards/cup/leaderboard.csv").text
    assert main(["board", "show", "cup", "--folder", str(plain_web.fair.site.folder)]) == 0
    assert "\x1b[2J" not in capsys.readouterr().out
    assert make_card(card).authors == r"\x1b[2J\u202eevil"
    assert "javascript" not in plain_web.submit("Ann", b"1\n", {"name": "a", "code": "javascript:alert(1)"}).text
    assert sorted(p.name for p in (plain_web.fair.site.folder / "uploads").iterdir()) == [sent.json["id"]]


def test_no_inline_script_or_style_and_all_headers(web: Web) -> None:
    web.log_in("Boss", "organiser")
    for path in ("/", "/boards/cup", "/boards/cup/submit", "/boards/cup/take-part", "/account", "/login", "/nowhere"):
        answer = web.get(path)
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


def test_a_mistake_of_ours_has_the_headers_and_tells_nothing(
    web: Web, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(*_: object) -> None:
        raise RuntimeError(f"label 3 of {web.fair.tokens}")

    web.fair.person("Ann")
    monkeypatch.setattr("pippin.serve.api.board_record", wrong)
    with caplog.at_level(logging.ERROR):
        answer = web.get("/api/v1/boards/cup", **web.bearer("Ann"))
    assert answer.status == 500
    assert "content-security-policy" in answer.headers
    assert "label" not in answer.text + caplog.text
    assert web.fair.tokens["Ann"] not in caplog.text
    assert "RuntimeError" in caplog.text


def test_no_label_and_no_value_per_query_in_any_answer(web: Web) -> None:
    """All answers of a board whose exact values are known: none of them stands anywhere."""
    from pippin.boards.scoring import kept

    sent = web.submit("Ann", web.good(1.0)).json["id"]
    web.submit("Ann", b"1\n2\n")
    web.fair.score()
    worth = kept(web.fair.site, "cup", sent)
    mine = web.bearer("Ann")
    web.log_in("Ann")
    answers = [web.get(path, **mine).text for path in (
        "/boards/cup", "/boards/cup/log.jsonl", "/boards/cup/export.json", "/boards/cup/submit",
        "/boards/cup/files/test.txt", f"/submissions/{sent}", "/api/v1/boards/cup",
        f"/api/v1/submissions/{sent}", f"/api/v1/submissions/{sent}/receipt", "/api/v1/boards/cup/submissions",
    )]  # fmt: skip
    secret = [*worth.means.values(), *(v for half in worth.values.values() for v in half.tolist() if 0 < v < 1)]
    whole = "\n".join(answers)
    assert not [value for value in secret if f"{value:.6f}"[:8] in whole]
    assert web.fair.hidden.salt not in whole
    assert len(web.get("/boards/cup/files/test.txt").text.splitlines()) == len(web.fair.board.test)
    assert all(line.startswith("0 ") for line in web.get("/boards/cup/files/test.txt").text.splitlines())


def test_nobody_reads_what_another_sent(web: Web) -> None:
    sent = web.submit("Ann", b"1\n").json["id"]
    eve = web.other()
    eve.log_in("Eve")
    assert eve.get(f"/submissions/{sent}").status == 404
    for path in (f"/api/v1/submissions/{sent}", f"/api/v1/submissions/{sent}/file"):
        assert eve.get(path, **eve.bearer("Eve")).status == 404
    assert eve.get("/api/v1/boards/cup/submissions", **eve.bearer("Eve")).json == []
    web.fair.score()
    assert "ends after 1 scores" not in eve.get("/boards/cup/log.jsonl").text
    assert web.get(f"/api/v1/submissions/{sent}", **web.bearer("Ann")).json["fault"].startswith("s.txt:1: ")


@pytest.mark.parametrize("path", ["/boards/cup/files/../board.json", "/boards/cup/files/..%2f..%2fhidden%2fkey.bin",
                                  "/boards/../hidden/key.bin", "/static/../pages.py"])  # fmt: skip
def test_no_path_leads_out_of_the_folder(web: Web, path: str) -> None:
    answer = web.get(path)
    assert answer.status == 404
    assert web.fair.site.private_key() not in answer.body


def test_bodies_are_stopped_while_they_stream(web: Web) -> None:
    piece, sent = b"x" * 10_000, []

    def pieces() -> list[bytes]:
        sent.append(1)
        return [piece] * 20

    answer = web.ask("POST", "/login", pieces(), {"content-type": "application/x-www-form-urlencoded"})
    assert answer.status == 413
    assert 20 * len(piece) > FORM_BYTES
    limit = web.fair.board.limits.bytes
    large = {
        "content-length": str(limit + 10**6),
        "content-type": "multipart/form-data; boundary=b",
        **web.bearer("Ann"),
    }
    assert web.ask("POST", "/api/v1/boards/cup/submissions", b"--b", large).status == 413


def test_a_decompression_bomb_is_refused(web: Web) -> None:
    import gzip

    bomb = gzip.compress(b"0\n" * 30_000_000, 9)
    assert len(bomb) < 200_000
    sent = web.submit("Ann", bomb).json["id"]
    web.fair.score()
    told = web.get(f"/api/v1/submissions/{sent}", **web.bearer("Ann")).json
    assert told["state"] == "refused"
    assert "unpacks to more than" in told["fault"]


def test_pickles_are_not_opened(web: Web, tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "run"),)

    web.submit("Ann", pickle.dumps(Evil()))
    web.submit("Ann", b"pippin-model" + pickle.dumps(Evil()))
    web.fair.score()
    assert not (tmp_path / "run").exists()
    assert {row["state"] for row in web.fair.sent("Ann").values()} == {"refused"}


def test_forged_forms_are_refused(web: Web) -> None:
    web.log_in("Boss", "organiser")
    right = web.form_token("/account")
    assert web.post("/boards/cup/close", {}).status == 403
    assert web.post("/boards/cup/close", {"form_token": "0" * 64}).status == 403
    assert web.post("/boards/cup/close", {"form_token": web.other().form_token()}).status == 403
    assert web.post("/boards/cup/close", {"form_token": right}, origin="https://evil.org").status == 403
    assert web.post("/boards/cup/close", {"form_token": right}, origin="http://boards.test").status == 303


def test_cookies_are_closed_to_scripts_and_other_sites(web: Web) -> None:
    cookies = web.log_in("Ann").cookies
    assert cookies
    assert all("HttpOnly" in cookie and "SameSite=lax" in cookie and "Path=/" in cookie for cookie in cookies)
    web.scheme = "https"
    assert all("Secure" in cookie for cookie in web.log_in("Ann").cookies)


def test_guessing_is_slowed_and_comparison_is_constant(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(one: str, other: str) -> bool:
        compared.append(one)
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(accounts, "hmac", SimpleNamespace(compare_digest=compare))
    wrong = "pippin_0123456789abcdef_" + "A" * 43
    token = web.form_token()
    for _ in range(TRIES):
        assert web.post("/login", {"token": wrong, "form_token": token}).status == 403
    assert len(compared) >= TRIES, "compared though nobody has such a token"
    assert web.post("/login", {"token": wrong, "form_token": token}).status == 429
    assert web.get("/api/v1/boards/cup/submissions", **web.bearer("Ann")).status == 429
    web.client = "192.0.2.2"
    assert web.log_in("Ann").status == 303


def test_tokens_and_sessions_are_stored_hashed(web: Web) -> None:
    web.log_in("Ann")
    token = web.fair.tokens["Ann"]
    with web.fair.site.store.reading() as connection:
        found = [
            row[0] for row in connection.exec_driver_sql("SELECT hash FROM tokens UNION SELECT hash FROM sessions")
        ]
    assert sha256(token.split("_", 2)[2].encode()) in found
    whole = b"".join(file.read_bytes() for file in (web.fair.site.folder / "database").iterdir())
    assert token.split("_", 2)[2].encode() not in whole
    assert web.cookies["pippin_session"].encode() not in whole


@pytest.mark.parametrize("goal", ["//evil.org", "https://evil.org", "/\\evil.org", "/%0d%0aevil", "javascript:x"])
def test_no_open_redirect(web: Web, goal: str) -> None:
    web.fair.person("Ann")
    fields = {"token": web.fair.tokens["Ann"], "form_token": web.form_token(), "next": goal}
    answer = web.post("/login", fields)
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_a_second_server_of_the_folder_is_refused(web: Web) -> None:
    from pippin.errors import DataError

    with web.fair.site.alone("serve"), pytest.raises(DataError, match="another `pippin serve` has this folder"):
        serve(web.fair.site.folder, port=0, ended=lambda: True)


def test_a_board_whose_data_changed_is_not_served(web: Web) -> None:
    from pippin.errors import DataError

    file = web.fair.board.folder / "test.txt"
    file.write_bytes(file.read_bytes()[:-1] + b" ")
    with pytest.raises(DataError, match="damaged"):
        serve(web.fair.site.folder, port=0, ended=lambda: True)


def test_the_hidden_part_is_for_its_owner_alone(web: Web) -> None:
    hidden = web.fair.site.folder / "hidden"
    assert hidden.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (hidden / "key.bin", *(hidden / "cup").iterdir()))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_run_as_root_the_web_cannot_open_the_labels() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = fair(Path(folder) / "boards")
        user = web_user_of(None)
        assert user
        give_to_web(made.site, user)
        reached = {
            file: subprocess.run([sys.executable, "-I", "-c", BECOME, str(user), str(made.site.folder / file)],
                                 check=False, capture_output=True, text=True).stderr.rpartition("\n")[0][-200:]
            for file in ("hidden/cup/labels.npy", "hidden/key.bin", "boards/cup/test.txt", "database/boards.sqlite")
        }  # fmt: skip
        assert "PermissionError" in reached["hidden/cup/labels.npy"]
        assert "PermissionError" in reached["hidden/key.bin"]
        assert reached["boards/cup/test.txt"] == reached["database/boards.sqlite"] == ""


def test_the_webs_code_never_names_the_hidden_part() -> None:
    """Of the rooms that the web's process runs: none opens what only the scorer may."""
    serve_room = Path(sys.modules["pippin.serve.app"].__file__ or "").parent
    for file in serve_room.glob("*.py"):
        if file.name not in ("scorer.py", "demo.py"):
            names = set(re.findall(r"\b(Hidden|kept\(|private_key|hidden\()", file.read_text()))
            assert not names, file.name


def test_a_statement_is_json_without_secrets(web: Web) -> None:
    web.submit("Ann", web.good())
    web.fair.score()
    entries = [json.dumps(entry) for entry in web.fair.site.store.log("cup")]
    assert not [entry for entry in entries if web.fair.tokens["Ann"] in entry or "split" in entry]


def test_what_serves_is_loaded_before_it_becomes_another_user() -> None:
    """Whoever serves as root from a home that is closed to others cannot load a module of it any more."""
    code = (
        "import sys; from pippin.serve.web import configured; config = configured(print); known = {*sys.modules}; "
        "config.get_loop_factory(); print(*{*sys.modules} - known)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
