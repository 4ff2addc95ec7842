"""The process that answers browsers and programs; it becomes another user before it answers, and never reads labels."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from pippin.serve.running import become, begin_child, quiet_logging

if TYPE_CHECKING:
    import uvicorn


def main() -> None:
    """Answer on the socket that the watcher holds."""
    import uvicorn

    from pippin.boards.site import Site
    from pippin.serve.app import make_app

    folder, handle, user = begin_child()
    site = Site(folder)
    app = make_app(site)
    config = configured(app)
    asyncio.run(warm(app))
    site.store.close()  # connections of whom this process was
    if user:
        become(int(user))
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(handle))])


def configured(app: Any) -> uvicorn.Config:
    """How the application is served, loaded."""
    import uvicorn

    from pippin.serve.patience import Timed

    config = uvicorn.Config(
        app, http=Timed, access_log=False, log_config=quiet_logging(), server_header=False, proxy_headers=True,
        timeout_graceful_shutdown=3, lifespan="off",
    )  # fmt: skip
    config.load()
    config.get_loop_factory()  # a module of its own, which may be out of reach later
    return config


async def warm(app: Any) -> None:
    """Ask for the first page and a file: everything is loaded that this process may not be allowed to read later."""
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
