"""`pippin serve`: open a folder of boards to browsers and programs."""

from __future__ import annotations

import argparse
import signal

from pippin.cli.options import shared
from pippin.cli.output import say
from pippin.errors import ConventionError
from pippin.extras import need

HELP = """Open a folder of boards to browsers and to `pippin submit`.

It listens on this machine alone unless --host says otherwise; docs/boards.md says how to put it behind TLS. Scoring is
done in a process of its own, the only one that opens the labels; run as root, the web's process becomes another user.
--demo makes a board of this Python's standard library, and sends every ranker to it by the same interface."""
EXAMPLES = ("pippin serve boards --port 8000", "pippin serve --demo")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("site", nargs="?", metavar="FOLDER", help="the folder of boards")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="the port (default: 8000; 0: any)")
    parser.add_argument("--demo", action="store_true", help="a board of the standard library with every ranker on it")
    parser.add_argument("--user", metavar="NAME", help="whom the web's process becomes, run as root (default: nobody)")
    shared(parser, "store", "jobs", "quiet")


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    need("serving boards", "starlette", "uvicorn", "python_multipart", "sqlalchemy", "cryptography")
    from pippin.serve.running import serve

    asked = {"host": options.host, "port": options.port, "store": options.store, "jobs": options.jobs,
             "user": options.user}  # fmt: skip
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    if options.demo:
        from pippin.serve.demo import demo

        need("the demo", "lightgbm", "scipy")
        demo(options.site, say=say, ended=lambda: ended, **asked)
        return 0
    if options.site is None:
        raise ConventionError(
            "say which folder to serve; `pippin board new NAME --data PATH` makes one, --demo another"
        )

    def started(address: str) -> None:
        from pippin.boards.accounts import first_invitation
        from pippin.boards.site import Site

        say(f"Boards at {address}; Ctrl-C ends.")
        if invitation := first_invitation(Site(options.site, options.store).store):
            say(f"Nobody organises here yet. To be the first, open {address}/join with {invitation}")

    serve(options.site, started=started, ended=lambda: ended, **asked)
    return 0
