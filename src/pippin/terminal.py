"""What a terminal may be shown and what it can show: control characters, encodings, colours and widths.

Names, ids and messages come from files of strangers. Where text for people is written, everything in it that a terminal
would obey instead of show is spelled out (`visible`); what an encoding lacks is written plainly (`plain`). `Screen`
says how wide the place is and whether it has colours; `guarded` puts the last net under standard output and error.
Data (CSV, JSON, TREC text) pass that net untouched, except on a terminal.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO, cast

from pippin.frozen import Frozen

# C0, DEL and C1; invisible and bidirectional marks; separators of lines; tags; halves of surrogate pairs. The two
# joiners stay: Persian, Hindi and emoji are written with them.
_UNSAFE = (
    "\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_UNSAFE}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

STYLES = {"heading": "\x1b[1m", "best": "\x1b[1;32m", "faint": "\x1b[2m", "warning": "\x1b[33m", "error": "\x1b[1;31m"}
_END = "\x1b[0m"
_OWN = "|".join(map(re.escape, (*STYLES.values(), _END)))
_NET = re.compile(f"({_OWN})|[{_UNSAFE}]".replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))

_PLAIN = {
    "–": "-", "—": "-", "−": "-", "…": "...", "·": "*", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "≠": "!=", "±": "+-",
    "∓": "-+", "∈": "in", "∪": "or", "∩": "and", "≻": ">", "∝": "~", "∞": "inf", "∂": "d", "√": "sqrt", "½": "1/2",
    "‖": "||", "⌊": "[", "⌋": "]", "⌈": "[", "⌉": "]", "§": "section ", "©": "(c)", "†": "+", "‡": "++",
    "“": '"', "”": '"', "‘": "'", "’": "'", "─": "-", "═": "=", "├": "|", "└": "`", "█": "#", "▓": "+", "░": ".",
    "ℓ": "l", "\u0304": "", "\u0302": "", "ä": "a", "é": "e", "ü": "u",
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta", "λ": "lambda", "μ": "mu",
    "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Σ": "Sum",
    "κ": "kappa", "Π": "Product", "Φ": "Phi", "Ψ": "Psi",
}  # fmt: skip
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵀ", "0123456789+-nT", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢᵤ", "0123456789+-iu", strict=True))
_SCRIPTS = f"[{''.join(_RAISED)}]+|[{''.join(_LOWERED)}]+"  # compiled where it is needed, which is not often


def visible(text: str) -> str:
    r"""Text on one line, with every character that a terminal would obey spelled out.

    >>> visible("a\x1b[2Jb\nc\u202e")
    'a\\x1b[2Jb\\nc\\u202e'
    """
    return _CONTROL.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    character = match.group()
    if "\udc80" <= character <= "\udcff":  # a byte that was no UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return _SHORT.get(character) or _code(character)


def plain(text: str, encoding: str) -> str:
    r"""Text with what an encoding lacks written in ASCII.

    >>> plain("τ ≥ 10⁻³ – 語", "ascii"), plain("– ≥", "cp1252")
    ('tau >= 10^-3 - \\u8a9e', '– >=')
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = re.sub(_SCRIPTS, lambda match: _script(match.group(), encoding), text)
        return "".join(c if _holds(encoding, c) else _in_ascii(c) for c in text)
    return text


def _in_ascii(character: str) -> str:
    return _PLAIN[character] if character in _PLAIN else _code(character)


def _script(text: str, encoding: str) -> str:
    """Raised or lowered figures on the line: one mark for the whole of them."""
    if _holds(encoding, text):
        return text
    raised = text[0] in _RAISED
    return ("^" if raised else "_") + "".join((_RAISED if raised else _LOWERED)[c] for c in text)


def _holds(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _code(character: str) -> str:
    """A character by its number, as Python writes it."""
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def width(text: str) -> int:
    """Columns a text takes on a terminal.

    >>> width("ndcg"), width("語"), width("e\u0301")
    (4, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1
        for c in text
    )


class Screen(Frozen):
    """Where text for people goes: how many columns it has (None: as many as it takes), colours, and the encoding."""

    columns: int | None = None
    colour: bool = False
    encoding: str = "utf-8"

    def text(self, text: str) -> str:
        """A name or a cell as it can be shown here, on one line."""
        return plain(visible(text), self.encoding)

    def paint(self, text: str, style: str) -> str:
        """Text in a style where there are colours."""
        return f"{STYLES[style]}{text}{_END}" if self.colour and text else text


_UNBOUNDED = Screen()
_SCREEN: ContextVar[Screen] = ContextVar("screen", default=_UNBOUNDED)


def screen() -> Screen:
    """The screen of the running command; outside one, a place without bounds and colours."""
    return _SCREEN.get()


@contextmanager
def shown_on(place: Screen) -> Iterator[None]:
    """Tables inside are drawn for this screen."""
    token = _SCREEN.set(place)
    try:
        yield
    finally:
        _SCREEN.reset(token)


_COLOURED: ContextVar[bool] = ContextVar("coloured", default=True)


@contextmanager
def coloured(wanted: bool) -> Iterator[None]:
    """Whether screens inside may have colours."""
    token = _COLOURED.set(wanted)
    try:
        yield
    finally:
        _COLOURED.reset(token)


def screen_of(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Screen:
    """The screen behind a stream: bounded where it is a terminal or COLUMNS says so."""
    terminal = stream.isatty()
    bounded = terminal or environment.get("COLUMNS", "").isdigit()
    colour = _COLOURED.get() and terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(_columns() if bounded else None, colour, getattr(stream, "encoding", None) or "utf-8")


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


class Guarded:
    """A text stream that shows control characters instead of obeying them, and never fails for its encoding."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.terminal = stream.isatty()

    def write(self, text: str) -> int:
        """Write text for people: lines and own colours stay, anything else that a terminal obeys is spelled out."""
        safe = _NET.sub(lambda match: match.group(1) or _spelled(match), text)
        self.stream.write(plain(safe, self.stream.encoding or "utf-8"))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """Where bytes are written: as they are, but to a terminal as text for people."""
        return _GuardedBytes(self) if self.terminal else self.stream.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _GuardedBytes(io.BufferedIOBase):
    """Bytes on their way to a terminal."""

    def __init__(self, text: Guarded) -> None:
        self.text = text
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.text.write(self.decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self.text.flush()


def for_data(stream: TextIO) -> TextIO:
    """Where data are written as text: past the net, unless a terminal is behind it."""
    return stream.stream if isinstance(stream, Guarded) and not stream.terminal else stream


def past_the_net(stream: TextIO) -> TextIO:
    """The stream itself, for who moves the cursor (a progress bar) and shows nothing but `visible` text."""
    return stream.stream if isinstance(stream, Guarded) else stream


def _fall_back(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written in place of characters that an encoding lacks: bytes that came in as no UTF-8 go out again."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    if all("\udc80" <= c <= "\udcff" for c in part):
        return bytes(ord(c) - 0xDC00 for c in part), error.end
    return "".join(map(_in_ascii, part)), error.end


codecs.register_error("pippin", _fall_back)


@contextmanager
def guarded() -> Iterator[None]:
    """Standard output and error with the net under them; a closed one swallows what is written."""
    before = sys.stdout, sys.stderr
    errors = [(stream, stream.errors) for stream in before if isinstance(stream, io.TextIOWrapper)]
    with Path(os.devnull).open("w", encoding="utf-8") as nothing:
        try:
            for stream, _ in errors:
                stream.reconfigure(errors="pippin")
            sys.stdout, sys.stderr = (cast(TextIO, Guarded(stream or nothing)) for stream in before)
            yield
        finally:
            sys.stdout, sys.stderr = before
            for stream, handler in errors:
                stream.reconfigure(errors=handler)
