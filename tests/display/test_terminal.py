"""Terminal output: control characters are escaped and unsupported characters replaced."""

from __future__ import annotations

import io
import itertools
import os
import pty
import re
import select
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.display import terminal
from pippin.display.terminal import (
    ProgressBar,
    SafeTextStream,
    Terminal,
    allow_colour,
    data_stream,
    disable_progress,
    display_width,
    escape_control,
    progress,
    safe_standard_streams,
    terminal_of,
    to_encoding,
    use_terminal,
)

SOURCE = Path(__file__).resolve().parent.parent / "src" / "pippin"
ANYTHING = st.text(st.characters(exclude_categories=()))


@given(ANYTHING)
def test_visible_text_moves_no_terminal(text: str) -> None:
    clean = escape_control(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in clean)
    assert not set(clean) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff\u200b")
    assert escape_control(clean) == clean


def test_described_choices() -> None:
    assert escape_control("\x1b]0;owned\x07") == r"\x1b]0;owned\x07"
    assert escape_control("a\r\nb\tc\x9b2J\x7f") == r"a\r\nb\tc\x9b2J\x7f"
    assert escape_control(b"caf\xe9".decode("utf-8", "surrogateescape")) == r"caf\xe9"
    assert escape_control("नमस्\u200dते 語 τ") == "नमस्\u200dते 語 τ"


@given(ANYTHING, st.sampled_from(["ascii", "cp1252", "latin-1", "cp437", "koi8-r"]))
def test_plain_text_can_be_encoded(text: str, encoding: str) -> None:
    visible = to_encoding(escape_control(text), encoding)
    assert visible.encode(encoding)[:0] == b""
    assert to_encoding(visible, encoding) == visible


def test_every_character_that_pippin_prints_has_a_plain_one() -> None:
    used = {c for path in SOURCE.rglob("*.py") for c in path.read_text(encoding="utf-8") if not c.isascii()}
    examples = set("語")  # in docstrings alone
    unknown = {c for c in used - examples if "\\" in to_encoding(c, "ascii")}
    assert not unknown, f"give these a place in pippin.display.terminal: {unknown}"


def test_a_guarded_stream_keeps_lines_and_own_colours_only() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream = SafeTextStream(out)
    stream.write(f"a\n{Terminal(colour=True).paint('b', 'best')}\x1b[2J\x1b]52;c;AAAA\x07\r")
    out.flush()
    assert out.buffer.getvalue().decode() == "a\n\x1b[1;32mb\x1b[0m\\x1b[2J\\x1b]52;c;AAAA\\x07\\r"


def test_data_pass_a_pipe_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    with safe_standard_streams():
        data_stream(sys.stdout).write("\x1b\udcff")
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\x1b\xff")
    assert sys.stdout is out
    assert out.errors == "strict"
    assert out.buffer.getvalue() == b"\x1b\xff\x1b\xff"


def on_a_terminal(write: bytes | str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return what a terminal receives for data written to standard output."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with safe_standard_streams():
            if isinstance(write, bytes):
                sys.stdout.buffer.write(write)
            else:
                data_stream(sys.stdout).write(write)
            sys.stdout.flush()
        received = os.read(master, 1000)
    os.close(master)
    return received


def test_on_a_terminal_data_are_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_a_terminal("id\x1b[2J\n", monkeypatch) == b"id\\x1b[2J\r\n"
    assert on_a_terminal("é\x1b\n".encode() + b"\xff\n", monkeypatch) == "é\\x1b\r\n\\xff\r\n".encode()


def test_a_closed_stream_swallows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with safe_standard_streams():
        print("nobody hears")
        sys.stdout.buffer.write(b"this")


@pytest.mark.parametrize(
    ("environment", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_on_a_terminal_alone(environment: dict[str, str], colour: bool) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        assert terminal_of(stream, environment=environment).colour is colour
        with allow_colour(False):
            assert not terminal_of(stream, environment=environment).colour
    os.close(master)
    assert not terminal_of(io.StringIO(), environment=environment).colour


def test_pipes_have_no_width_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal_of(io.StringIO()).columns is None
    monkeypatch.setenv("COLUMNS", "60")
    assert terminal_of(io.StringIO()).columns == 60


def test_the_screen_is_of_the_command_alone() -> None:
    with use_terminal(Terminal(columns=40)):
        assert terminal.current_terminal().columns == 40
    assert terminal.current_terminal() == Terminal()


def draw_bar(columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the progress bar drawn on a terminal of this width."""
    master, slave = pty.openpty()
    monkeypatch.setenv("COLUMNS", str(columns))
    with os.fdopen(slave, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stderr", out)
        with progress(2, "evil\x1b[2J") as bar:
            bar.step("語" * 100, 2)
        out.flush()
        received = bytearray()
        while select.select([master], [], [], 0.2)[0]:  # one read may return only a part
            received += os.read(master, 10_000)
    os.close(master)
    return received.decode()


@pytest.mark.parametrize("columns", [20, 60, 200])
def test_a_bar_stays_on_its_line_and_shows_names_safely(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    received = draw_bar(columns, monkeypatch)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", received))
    assert "\x1b" not in "".join(lines)
    assert "evil\\x1b[2J"[:3] in "".join(lines)
    assert max(map(display_width, lines)) <= columns


def test_the_time_left_is_guessed_after_some_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step brings what all need: what it takes, times all steps, would frighten."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    clock = itertools.count(step=100)
    monkeypatch.setattr("pippin.display.terminal.time.monotonic", lambda: next(clock))
    bar = ProgressBar(9, "x")
    for _ in range(3):
        bar.step("y")
    assert out.getvalue().splitlines() == ["x: 1 of 9; y", "x: 2 of 9; y", "x: 3 of 9, 10 min left; y"]


def test_quiet_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as out:
        monkeypatch.setattr(sys, "stderr", out)
        with disable_progress():
            bar = ProgressBar(2, "x")
        assert not bar.terminal
        bar.step()
        bar.close()
    os.set_blocking(master, False)
    with pytest.raises(OSError):  # noqa: PT011 - nothing to read, whatever the system calls it
        os.read(master, 1)
    os.close(master)
