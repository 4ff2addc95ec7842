"""The processes of `pippin serve`: a supervisor, a web process, a scorer.

The supervisor holds the lock of the folder and the listening socket, and restarts a process that was killed. Only the
scorer opens the hidden labels. When `serve` runs as root, the web process switches to another user, who cannot read the
hidden labels; otherwise the two are separated by their code alone (see docs/boards.md).
"""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pippin.boards.site import ADDRESS, Site
from pippin.dependencies import require
from pippin.errors import DataError
from pippin.system import cpu_count, die_with_parent, isolated_python

if TYPE_CHECKING:
    import uvicorn

WEB_FOLDERS = ("uploads", "incoming", "database")
MAX_RESTARTS, RESTART_WINDOW = 10, 60.0  # restarts of processes, and seconds
DEFAULT_USER = "nobody"
MODULES = {"web": "pippin.boards.web.processes", "scorer": "pippin.boards.scorer"}


def serve_folder(
    folder: str | os.PathLike[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    store: str | None = None,
    jobs: int | None = None,
    user: str | None = None,
    on_start: Callable[[str], None] = lambda _: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Serve a folder of boards until `is_stopped` returns True; call `on_start` with the address of the server."""
    require("serving boards", "starlette", "uvicorn", "python_multipart", "sqlalchemy", "cryptography")
    site = Site(folder, store)
    web_user = resolve_web_user(user)
    with site.lock("serve"):
        for name in site.names():
            site.board(name).verify()
        _ = site.store  # create the schema in one process
        if web_user is not None:
            grant_web_access(site, web_user)
        with _listen(host, port) as listener:
            supervisor = Supervisor(site, store, listener, jobs or max(1, cpu_count() - 1), web_user)
            try:
                supervisor.start()
                on_start(_address(host, listener))
                while not is_stopped():
                    supervisor.restart_dead()
                    time.sleep(0.1)
            finally:
                supervisor.stop()


def resolve_web_user(name: str | None) -> int | None:
    """Return the user id for the web process; None if this process does not run as root."""
    if os.getuid() != 0:
        if name is not None:
            raise DataError("--user requires that `pippin serve` runs as root")
        return None
    try:
        return pwd.getpwnam(name or DEFAULT_USER).pw_uid
    except KeyError:
        raise DataError(f"unknown user {name or DEFAULT_USER}; choose another with --user") from None


def grant_web_access(site: Site, user: int) -> None:
    """Give the user of the web process the folders that it writes to, and only these."""
    for name in WEB_FOLDERS:
        for path in (site.folder / name, *(site.folder / name).iterdir()):
            os.chown(path, user, -1, follow_symlinks=False)
    result = subprocess.run(
        [sys.executable, "-I", "-c", "import os, sys; os.setgroups([]); os.setgid(int(sys.argv[1])); "
         "os.setuid(int(sys.argv[1])); os.listdir(sys.argv[2])", str(user), str(site.folder.resolve() / "database")],
        check=False, capture_output=True,
    )  # fmt: skip
    if result.returncode:
        name = pwd.getpwuid(user).pw_name
        raise DataError(f"user {name} of the web process cannot read this folder; move it, for example to /srv, or "
                        "choose another user with --user", site.folder)  # fmt: skip


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        result = socket.socket(family, socket.SOCK_STREAM)
        result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        result.bind(address)
        result.listen(512)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(f"cannot listen on {host}, port {port}: {reason}; choose another with --port") from None
    return result


def _address(host: str, listener: socket.socket) -> str:
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{listener.getsockname()[1]}"


class Supervisor:
    """Starts the web process and the scorer, and restarts them when they end."""

    def __init__(self, site: Site, store: str | None, listener: socket.socket, jobs: int, user: int | None) -> None:
        number = "" if user is None else str(user)
        self._commands = {
            "web": [str(site.folder.resolve()), str(listener.fileno()), number],
            "scorer": [str(site.folder.resolve()), str(jobs), number],
        }
        self._environment = {**os.environ, **({ADDRESS: store} if store else {}), "OMP_NUM_THREADS": "1"}
        self._listener = listener.fileno()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._restarts: list[float] = []

    def start(self) -> None:
        """Start both processes."""
        for name in self._commands:
            self._start_process(name)

    def _start_process(self, name: str) -> None:
        command = [*isolated_python(MODULES[name]), *self._commands[name]]
        descriptors = [self._listener] if name == "web" else []
        self.processes[name] = subprocess.Popen(
            command, pass_fds=descriptors, env=self._environment, stdin=subprocess.DEVNULL
        )

    def restart_dead(self) -> None:
        """Restart processes that have ended; raise an error if they end too often."""
        for name, process in list(self.processes.items()):
            if process.poll() is None:
                continue
            now = time.monotonic()
            self._restarts = [when for when in self._restarts if when > now - RESTART_WINDOW] + [now]
            if len(self._restarts) > MAX_RESTARTS:
                raise DataError(f"the {name} process fails repeatedly (status {process.returncode})")
            self._start_process(name)

    def stop(self) -> None:
        """Stop both processes."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def drop_privileges(user: int) -> None:
    """Switch this process to another user for good."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def logging_config() -> dict[str, Any]:
    """Return the logging configuration: warnings and errors on standard error, without client data."""
    return {
        "version": 1, "disable_existing_loggers": False,
        "formatters": {"line": {"format": "pippin: %(message)s"}},
        "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {name: {"handlers": ["line"], "level": "WARNING"} for name in ("uvicorn", "pippin.boards.web")},
    }  # fmt: skip


def main() -> None:
    """Run the web process on the socket of the supervisor."""
    import uvicorn

    from pippin.boards.site import Site
    from pippin.boards.web.app import create_app

    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor stops this process
    folder, handle, user = sys.argv[2:]
    site = Site(folder)
    app = create_app(site)
    config = make_config(app)
    asyncio.run(warm(app))
    site.store.close()  # connections opened before the switch of users
    if user:
        drop_privileges(int(user))
        die_with_parent()  # again, because the system clears it when the user changes
        if os.getppid() == 1:
            return  # the supervisor was killed in between
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(handle))])


def make_config(app: Any) -> uvicorn.Config:
    """Return the loaded configuration of the HTTP server."""
    import uvicorn

    from pippin.boards.web.timeouts import TimeoutProtocol

    config = uvicorn.Config(
        app, http=TimeoutProtocol, access_log=False, log_config=logging_config(), server_header=False,
        proxy_headers=True, timeout_graceful_shutdown=3, lifespan="off",
    )  # fmt: skip
    config.load()
    config.get_loop_factory()  # imports a module, which this process may not have permission to read later
    return config


async def warm(app: Any) -> None:
    """Request a page and a file, so that everything is loaded before this process switches to another user."""
    for path in ("/", "/static/boards.css"):
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
                 "headers": [(b"host", b"localhost")], "scheme": "http", "server": ("localhost", 80),
                 "client": ("localhost", 1), "http_version": "1.1", "root_path": ""}  # fmt: skip
        await app(scope, _nothing, _ignore)


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(message: Any) -> None:
    return None


if __name__ == "__main__":
    main()
