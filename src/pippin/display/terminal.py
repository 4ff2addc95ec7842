"""Safe text output: control characters, encodings, colours, widths and progress bars."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from pathlib import Path
from typing import Any, TextIO, cast

from pippin.records import FrozenRecord

# C0, DEL and C1; invisible and bidirectional marks; separators of lines; tags; halves of surrogate pairs. The two
# joiners stay: Persian, Hindi and emoji are written with them.
_UNSAFE = (
    "\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_UNSAFE}]")
_SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

STYLES = {"heading": "\x1b[1m", "best": "\x1b[1;32m", "faint": "\x1b[2m", "warning": "\x1b[33m", "error": "\x1b[1;31m"}
_END = "\x1b[0m"
_OUR_CODES = "|".join(map(re.escape, (*STYLES.values(), _END)))
_UNSAFE_OUTPUT = re.compile(f"({_OUR_CODES})|[{_UNSAFE}]".replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))

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
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵀ", "0123456789+-nT", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢᵤ", "0123456789+-iu", strict=True))
_SCRIPTS = f"[{''.join(_SUPERSCRIPTS)}]+|[{''.join(_SUBSCRIPTS)}]+"  # compiled where it is needed, which is not often


def escape_control(text: str) -> str:
    r"""Return text on one line, with control characters escaped.

    >>> escape_control("a\x1b[2Jb\nc\u202e")
    'a\\x1b[2Jb\\nc\\u202e'
    """
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if "\udc80" <= character <= "\udcff":  # a byte that is not valid UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return _SHORT_ESCAPES.get(character) or _code(character)


def to_encoding(text: str, encoding: str) -> str:
    r"""Return text with characters that an encoding lacks written in ASCII.

    >>> to_encoding("τ ≥ 10⁻³ – 語", "ascii"), to_encoding("– ≥", "cp1252")
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
    """Return superscripts or subscripts with one `^` or `_` for all of them."""
    if _holds(encoding, text):
        return text
    is_superscript = text[0] in _SUPERSCRIPTS
    return ("^" if is_superscript else "_") + "".join(
        (_SUPERSCRIPTS if is_superscript else _SUBSCRIPTS)[c] for c in text
    )


def _holds(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _code(character: str) -> str:
    """Return a character as Python escapes it."""
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def display_width(text: str) -> int:
    """Return the number of columns of a text on a terminal.

    >>> display_width("ndcg"), display_width("語"), display_width("e\u0301")
    (4, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1
        for c in text
    )


class Terminal(FrozenRecord):
    """A terminal: its columns (None: unlimited), colours and encoding."""

    columns: int | None = None
    colour: bool = False
    encoding: str = "utf-8"

    def text(self, text: str) -> str:
        """Return text on one line, escaped for this terminal."""
        return to_encoding(escape_control(text), self.encoding)

    def paint(self, text: str, style: str) -> str:
        """Return text in a style if the terminal has colours."""
        return f"{STYLES[style]}{text}{_END}" if self.colour and text else text


_UNBOUNDED = Terminal()
_SCREEN: ContextVar[Terminal] = ContextVar("screen", default=_UNBOUNDED)


def current_terminal() -> Terminal:
    """Return the terminal of the running command; by default unlimited and without colours."""
    return _SCREEN.get()


@contextmanager
def use_terminal(place: Terminal) -> Iterator[None]:
    """Render for this terminal inside the context."""
    token = _SCREEN.set(place)
    try:
        yield
    finally:
        _SCREEN.reset(token)


_COLOURED: ContextVar[bool] = ContextVar("coloured", default=True)


@contextmanager
def allow_colour(enabled: bool) -> Iterator[None]:
    """Enable or disable colours inside the context."""
    token = _COLOURED.set(enabled)
    try:
        yield
    finally:
        _COLOURED.reset(token)


def terminal_of(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Terminal:
    """Return the terminal of a stream; its width is known for a terminal or from COLUMNS."""
    terminal = stream.isatty()
    bounded = terminal or environment.get("COLUMNS", "").isdigit()
    colour = _COLOURED.get() and terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Terminal(_columns() if bounded else None, colour, getattr(stream, "encoding", None) or "utf-8")


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


class SafeTextStream:
    """A text stream that escapes control characters and characters that its encoding lacks."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.terminal = stream.isatty()

    def write(self, text: str) -> int:
        """Write text; newlines and Pippin's colours stay, other control characters are escaped."""
        safe = _UNSAFE_OUTPUT.sub(lambda match: match.group(1) or _escape(match), text)
        self.stream.write(to_encoding(safe, self.stream.encoding or "utf-8"))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The binary stream; on a terminal, bytes are escaped like text."""
        return _SafeByteStream(self) if self.terminal else self.stream.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _SafeByteStream(io.BufferedIOBase):
    """A binary stream that escapes what it writes to a terminal."""

    def __init__(self, text: SafeTextStream) -> None:
        self.text = text
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.text.write(self.decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self.text.flush()


def data_stream(stream: TextIO) -> TextIO:
    """Return the stream for data: unescaped, unless it is a terminal."""
    return stream.stream if isinstance(stream, SafeTextStream) and not stream.terminal else stream


def raw_stream(stream: TextIO) -> TextIO:
    """Return the unescaped stream, for progress bars that move the cursor and escape their text."""
    return stream.stream if isinstance(stream, SafeTextStream) else stream


def _fall_back(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks; undecodable input bytes are written unchanged."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    if all("\udc80" <= c <= "\udcff" for c in part):
        return bytes(ord(c) - 0xDC00 for c in part), error.end
    return "".join(map(_in_ascii, part)), error.end


codecs.register_error("pippin", _fall_back)


@contextmanager
def safe_standard_streams() -> Iterator[None]:
    """Escape standard output and error inside the context; a closed stream discards its text."""
    before = sys.stdout, sys.stderr
    errors = [(stream, stream.errors) for stream in before if isinstance(stream, io.TextIOWrapper)]
    with Path(os.devnull).open("w", encoding="utf-8") as nothing:
        try:
            for stream, _ in errors:
                stream.reconfigure(errors="pippin")
            sys.stdout, sys.stderr = (cast(TextIO, SafeTextStream(stream or nothing)) for stream in before)
            yield
        finally:
            sys.stdout, sys.stderr = before
            for stream, handler in errors:
                stream.reconfigure(errors=handler)


_SECONDS_BETWEEN_LINES = 10.0  # seconds between plain lines
_STEPS_BEFORE_ESTIMATE = 3  # steps after which a guess of the time left is worth saying
_PROGRESS_DISABLED: ContextVar[bool] = ContextVar("silent", default=False)


class ProgressBar:
    """Show the progress of long work: a bar on a terminal or in a notebook, elsewhere a line every ten seconds."""

    def __init__(self, total: int, title: str) -> None:
        self.total, self.title, self.done = total, title, 0
        self.stream = raw_stream(sys.stderr)
        self.silent = _PROGRESS_DISABLED.get()
        self.terminal = self.stream.isatty() and not self.silent and os.environ.get("TERM") != "dumb"
        self.start_time = self.last_update = time.monotonic()
        self._display = self._start_display() if self.terminal else None
        self._notebook = None if self.silent else _start_notebook_display()

    def _start_display(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        column = Column(no_wrap=True, overflow="ellipsis")
        display = Progress(
            TextColumn("{task.description}", markup=False, table_column=column),
            BarColumn(28),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[item]}", markup=False, table_column=column.copy()),
            console=Console(file=self.stream),
            transient=True,
            auto_refresh=False,
        )
        display.add_task(terminal_of(self.stream).text(self.title), total=self.total, item="")
        display.start()
        return display

    def step(self, item: str = "", steps: int = 1) -> None:
        """Advance by one step or several; `item` is what was done."""
        self.done += steps
        self.total = max(self.total, self.done)  # work may turn up on the way
        now = time.monotonic()
        if self._display is not None:
            task = self._display.task_ids[0]
            text = terminal_of(self.stream).text(item)
            refresh = now - self.last_update >= 0.05 or self.done == self.total
            self._display.update(task, completed=self.done, total=self.total, item=text, refresh=refresh)
            self.last_update = now if refresh else self.last_update
        elif self._notebook is not None:
            if now - self.last_update >= 0.2 or self.done == self.total:
                self._notebook.update(_NotebookBar(self.title, self.done, self.total, self._estimate(now), item))
                self.last_update = now
        elif now - self.last_update >= _SECONDS_BETWEEN_LINES and not self.silent:
            line = f"{self.title}: {self.done} of {self.total}{self._estimate(now)}{item and f'; {item}'}"
            self.stream.write(terminal_of(self.stream).text(line) + "\n")
            self.last_update = now

    def _estimate(self, now: float) -> str:
        """Estimate the time left; the first steps say little, because they include set-up that all steps share."""
        if self.done < min(_STEPS_BEFORE_ESTIMATE, self.total):
            return ""
        seconds = (now - self.start_time) / max(1, self.done) * (self.total - self.done)
        if seconds < 100:
            return f", {seconds:.0f} s left"
        return f", {seconds / 60:.0f} min left" if seconds < 6000 else f", {seconds / 3600:.1f} h left"

    def close(self) -> None:
        """Remove the bar."""
        if self._display is not None:
            self._display.stop()
        if self._notebook is not None:
            self._notebook.update(_NotebookBar("", 0, 0, "", ""))


class _NotebookBar:
    """The state of a progress bar, as HTML for a notebook; nothing if the work has no steps."""

    def __init__(self, title: str, done: int, total: int, estimate: str, item: str) -> None:
        self.html = f'<progress value="{done}" max="{total}"></progress> ' if total else ""
        text = f"{title}: {done} of {total}{estimate}{item and f'; {item}'}" if total else ""
        self.html, self.text = self.html + escape(text), text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def _start_notebook_display() -> Any:
    """Return the handle of an output of the running notebook cell, or None outside notebooks."""
    shell = sys.modules.get("IPython")
    if shell is None or type(shell.get_ipython()).__name__ != "ZMQInteractiveShell":
        return None
    return shell.display.display(_NotebookBar("", 0, 0, "", ""), display_id=True)


@contextmanager
def progress(total: int, title: str, enabled: bool = True) -> Iterator[ProgressBar]:
    """Show a progress bar during the work inside, if it is enabled."""
    with disable_progress(not enabled):
        bar = ProgressBar(total, title)
    try:
        yield bar
    finally:
        bar.close()


@contextmanager
def disable_progress(silent: bool = True) -> Iterator[None]:
    """Show no progress during the work inside."""
    token = _PROGRESS_DISABLED.set(silent or _PROGRESS_DISABLED.get())
    try:
        yield
    finally:
        _PROGRESS_DISABLED.reset(token)
