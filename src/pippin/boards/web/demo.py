"""`pippin serve --demo`: a board on Python's standard library, with every ranker submitted to it.

The server starts at once; the rankers are trained one after the other and submitted over the REST interface, each from
its own account.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pippin.boards.accounts import invite, make_account
from pippin.boards.client import Client
from pippin.boards.scoring import create_board
from pippin.boards.site import Site
from pippin.boards.submissions import make_card
from pippin.errors import PippinError

BOARD, TASK, SAMPLE, TEST_FRACTION = "stdlib", "NP", 60, 0.67
TITLE = "Find the named page in Python's standard library"
ABOUT = ("A query is the name of a module or function, and one page of the standard library is relevant. There are 64 "
         "features of 60 documents per query, built from the Python that serves this page; a third of the queries is "
         "published for training.")  # fmt: skip
EXCLUDED = ("auto",)  # selects one of the other rankers


def serve_demo(
    folder: str | os.PathLike[str] | None = None,
    message: Callable[[str], None] = print,
    is_stopped: Callable[[], bool] = lambda: False,
    on_ready: Callable[[str, str], None] = lambda address, token: None,
    **options: Any,
) -> None:
    """Create the board, serve it, and submit every ranker, until `is_stopped` returns True.

    Parameters
    ----------
    folder : path, optional
        Folder of boards; by default a temporary folder.
    message : callable
        Receives addresses and other messages.
    is_stopped : callable
        Called repeatedly.
    on_ready : callable
        Called with the address of the server and an organiser's token.
    **options
        Options of `pippin.boards.web.processes.serve_folder`.
    """
    from pippin.boards.web.processes import serve_folder

    with tempfile.TemporaryDirectory(prefix="pippin-boards-") as temporary:
        Path(temporary).chmod(0o755)  # readable by the user of the web process
        site = Site.create(Path(folder) if folder else Path(temporary) / "boards", options.get("store"))
        if BOARD not in site.names():
            message("Building a data set from Python's standard library …")
            _create_board(site, Path(temporary))
        _, token = make_account(site.store, f"Organiser {time.strftime('%H.%M.%S')}", "organiser")
        stopped = threading.Event()

        def on_start(address: str) -> None:
            message(f"Board: {address}/boards/{BOARD}")
            message(f"To log in as organiser, open {address}/login and enter {token}")
            on_ready(address, token)
            threading.Thread(target=_submit_all, args=(site, address, message, stopped), daemon=True).start()

        try:
            serve_folder(site.folder, on_start=on_start, is_stopped=is_stopped, **options)
        finally:
            stopped.set()


def _create_board(site: Site, folder: Path) -> None:
    from pippin.collections.build import build

    folds = build("stdlib", folder / "built", sample=SAMPLE).folds(task=TASK)
    create_board(site, BOARD, folds.data, test_fraction=TEST_FRACTION, title=TITLE, about=ABOUT, seed=1)


def _submit_all(site: Site, address: str, message: Callable[[str], None], stopped: threading.Event) -> None:
    """Train and submit every ranker that is not on the leaderboard."""
    from pippin.boards.leaderboard import leaderboard_rows
    from pippin.rankers import names

    submitted = {row.name for row in leaderboard_rows(site, BOARD)}
    missing = [name for name in names() if name not in EXCLUDED and name not in submitted]
    invitation = invite(site.store, uses=max(1, len(missing)))
    try:
        for name in missing:
            if stopped.is_set():
                return
            _submit(site, address, name, invitation)
        if missing:
            message(f"Submitted {len(missing)} rankers (press Ctrl-C to stop)")
    except PippinError as error:
        if not stopped.is_set():
            message(f"pippin: {error}")


def _submit(site: Site, address: str, name: str, invitation: str) -> None:
    """Train a ranker and submit it as a participant would, as a model or as scores."""
    from pippin.data.letor import read_letor, write_scores
    from pippin.rankers import ranker
    from pippin.rankers.models import save
    from pippin.rankers.training import rank, train

    board = site.board(BOARD)
    data = {part: read_letor(board.folder / f"{part}.txt", features=len(board.record["features"]))
            for part in ("train", "test")}  # fmt: skip
    model = train(data["train"], name)
    about = (ranker(name).__doc__ or "").strip().partition("\n")[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "submission"
        if len(name) % 2:
            write_scores(rank(model, data["test"]), file)
        else:
            save(model, file)
        account = Client(address).post("/accounts", name=f"{name} bot", invitation=invitation)
        card = make_card({"name": name, "authors": "Pippin", "licence": "Apache-2.0",
                          "about": f"{about} Trained by `pippin train` with its default parameters.",
                          "command": f"pippin train train.txt --ranker {name} --out model.json"})  # fmt: skip
        client = Client(address, account["token"])
        client.wait(client.submit(BOARD, file, card)["id"])
