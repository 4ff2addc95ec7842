"""The processes of `pippin serve`: one that watches, one for the web, one that scores.

The watcher holds the folder and the listening socket, and starts a process again that was killed. The scorer alone
opens the hidden part. Where `serve` is run as root, the web's process becomes another user, to whom the hidden part is
closed; run as anybody else, the two are apart by their code alone (docs/boards.md says what that is worth).
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pippin.boards.site import ADDRESS, Site
from pippin.errors import DataError
from pippin.extras import need
from pippin.machine import cpu_count, die_with_parent, isolated_python

OPEN_TO_WEB = ("uploads", "incoming", "database")
AGAIN, WITHIN = 10, 60.0  # how often a process is started again, in so many seconds
USER = "nobody"


def serve(
    folder: str | os.PathLike[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    store: str | None = None,
    jobs: int | None = None,
    user: str | None = None,
    started: Callable[[str], None] = lambda _: None,
    ended: Callable[[], bool] = lambda: False,
) -> None:
    """Serve a folder of boards until interrupted, or until `ended` says so.

    jobs     how many submissions are scored at a time
    user     whom the web's process becomes where this is run as root (default: nobody)
    started  called with the address when it answers
    """
    need("serving boards", "starlette", "uvicorn", "python_multipart", "sqlalchemy", "cryptography")
    site = Site(folder, store)
    web_user = web_user_of(user)
    with site.alone("serve"):
        for name in site.names():
            site.board(name).verify()
        _ = site.store  # brought to this version by one process
        if web_user is not None:
            give_to_web(site, web_user)
        with _listening(host, port) as listening:
            address = _address(host, listening)
            watched = Watcher(site, store, listening, jobs or max(1, cpu_count() - 1), web_user)
            try:
                watched.start()
                started(address)
                while not ended():
                    watched.look()
                    time.sleep(0.1)
            finally:
                watched.stop()


def web_user_of(name: str | None) -> int | None:
    """The number of the user that the web's process becomes; None where this is not run as root."""
    if os.getuid() != 0:
        if name is not None:
            raise DataError("the web's process can become another user only where `pippin serve` is run as root")
        return None
    try:
        return pwd.getpwnam(name or USER).pw_uid
    except KeyError:
        raise DataError(f"this system has no user {name or USER}; name another with --user") from None


def give_to_web(site: Site, user: int) -> None:
    """Let the web's user write where it must, and nowhere else."""
    for name in OPEN_TO_WEB:
        for path in (site.folder / name, *(site.folder / name).iterdir()):
            os.chown(path, user, -1, follow_symlinks=False)
    reached = subprocess.run(
        [sys.executable, "-I", "-c", "import os, sys; os.setgroups([]); os.setgid(int(sys.argv[1])); "
         "os.setuid(int(sys.argv[1])); os.listdir(sys.argv[2])", str(user), str(site.folder.resolve() / "database")],
        check=False, capture_output=True,
    )  # fmt: skip
    if reached.returncode:
        name = pwd.getpwuid(user).pw_name
        raise DataError(f"the user {name}, whom the web's process becomes, cannot reach this folder; put it where "
                        "others may go, such as /srv, or name another user with --user", site.folder)  # fmt: skip


def _listening(host: str, port: int) -> socket.socket:
    """The socket that answers, opened before anything is started."""
    try:
        kind, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(kind, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(512)
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise DataError(f"cannot listen at {host}, port {port}: {words}; choose another with --port") from None
    return made


def _address(host: str, listening: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"


class Watcher:
    """Starts the two processes, and starts one again that has ended."""

    def __init__(self, site: Site, store: str | None, listening: socket.socket, jobs: int, user: int | None) -> None:
        number = "" if user is None else str(user)
        self._commands = {
            "web": [str(site.folder.resolve()), str(listening.fileno()), number],
            "scorer": [str(site.folder.resolve()), str(jobs), number],
        }
        self._environment = {**os.environ, **({ADDRESS: store} if store else {}), "OMP_NUM_THREADS": "1"}
        self._listening = listening.fileno()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._starts: list[float] = []

    def start(self) -> None:
        """Start both, and wait until the web answers."""
        for name in self._commands:
            self._begin(name)

    def _begin(self, name: str) -> None:
        command = [*isolated_python(f"pippin.serve.{name}"), *self._commands[name]]
        held = [self._listening] if name == "web" else []
        self.processes[name] = subprocess.Popen(command, pass_fds=held, env=self._environment, stdin=subprocess.DEVNULL)

    def look(self) -> None:
        """Start again what has ended; too often is an error."""
        for name, process in list(self.processes.items()):
            if process.poll() is None:
                continue
            now = time.monotonic()
            self._starts = [when for when in self._starts if when > now - WITHIN] + [now]
            if len(self._starts) > AGAIN:
                raise DataError(f"the process {name} ends again and again (status {process.returncode})")
            self._begin(name)

    def stop(self) -> None:
        """End both."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def become(user: int) -> None:
    """Be another user from now on, without a way back."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def begin_child() -> list[str]:
    """What both processes do first; their arguments."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the watcher ends them
    return sys.argv[2:]


def remove_site(folder: Path) -> None:
    """Take away a folder of boards with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def quiet_logging() -> dict[str, Any]:
    """Warnings and errors on standard error, one line each, without addresses, tokens or cookies."""
    return {
        "version": 1, "disable_existing_loggers": False,
        "formatters": {"line": {"format": "pippin: %(message)s"}},
        "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {name: {"handlers": ["line"], "level": "WARNING"} for name in ("uvicorn", "pippin.serve")},
    }  # fmt: skip
