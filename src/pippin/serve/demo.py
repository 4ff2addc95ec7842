"""`pippin serve --demo`: a board of this Python's standard library, with every ranker sent to it as anybody would.

The pages are open at once; the rankers are trained one after the other and sent by the REST interface, each from an
account of its own, so that one can watch them come in.
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
from pippin.boards.site import Site
from pippin.boards.submission import make_card
from pippin.errors import PippinError

BOARD, TASK, SAMPLE, TEST = "stdlib", "NP", 60, 0.67
TITLE = "Find the named page in Python's standard library"
ABOUT = ("A query names a module or a function, and one page of the standard library is the right answer. 64 features "
         "of 60 documents each, built from the Python that serves this page; a third of the queries is there to train "
         "on.")  # fmt: skip
LEFT_OUT = ("auto",)  # is a choice among the others
_DOES = "{about} Trained by `pippin train` with its default parameters, and sent as {what}."


def demo(
    folder: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] = print,
    ended: Callable[[], bool] = lambda: False,
    ready: Callable[[str, str], None] = lambda address, token: None,
    **asked: Any,
) -> None:
    """Make the board, serve it, and send every ranker; until interrupted.

    folder  where it is kept; else it is gone at the end
    ready   called with the address and an organiser's token when pages answer
    asked   what `serve` takes
    """
    with tempfile.TemporaryDirectory(prefix="pippin-boards-") as kept:
        Path(kept).chmod(0o755)  # the web's user must reach it
        site = Site.create(Path(folder) if folder else Path(kept) / "boards", asked.get("store"))
        if BOARD not in site.names():
            say("Building a data set from the standard library of this Python …")
            _make_board(site, Path(kept))
        _serve(site, say, ended, ready, asked)


def _serve(
    site: Site, say: Callable[[str], None], ended: Callable[[], bool], ready: Callable[[str, str], None],
    asked: dict[str, Any],
) -> None:  # fmt: skip
    from pippin.serve.running import serve

    _, token = make_account(site.store, f"Organiser {time.strftime('%H.%M.%S')}", "organiser")
    stopped = threading.Event()

    def started(address: str) -> None:
        say(f"The board: {address}/boards/{BOARD}")
        say(f"To organise it, log in at {address}/login with the token {token}")
        ready(address, token)
        threading.Thread(target=_send_all, args=(site, address, say, stopped), daemon=True).start()

    try:
        serve(site.folder, started=started, ended=ended, **asked)
    finally:
        stopped.set()


def _make_board(site: Site, folder: Path) -> None:
    from pippin.collection.built import build

    folds = build("stdlib", folder / "built", sample=SAMPLE).folds(task=TASK)
    site.new_board(BOARD, folds.data, test=TEST, title=TITLE, about=ABOUT, seed=1)


def _send_all(site: Site, address: str, say: Callable[[str], None], stopped: threading.Event) -> None:
    """Train and send every ranker that is not there yet."""
    from pippin.boards.standing import leaderboard
    from pippin.rankers import names

    there = {row.name for row in leaderboard(site, BOARD)}
    wanted = [name for name in names() if name not in LEFT_OUT and name not in there]
    invitation = invite(site.store, uses=max(1, len(wanted)))
    try:
        for name in wanted:
            if stopped.is_set():
                return
            _send(site, address, name, invitation)
        if wanted:
            say(f"{len(wanted)} rankers are sent; Ctrl-C ends.")
    except PippinError as error:
        if not stopped.is_set():
            say(f"pippin: {error}")


def _send(site: Site, address: str, name: str, invitation: str) -> None:
    """Train a ranker and send what it is, as a participant would: alternately as a model and as scores."""
    from pippin.data.letor import read_letor
    from pippin.data.scores import write_scores
    from pippin.rankers import ranker
    from pippin.rankers.models import save
    from pippin.rankers.training import rank, train

    board = site.board(BOARD)
    parts = {part: read_letor(board.folder / f"{part}.txt", features=len(board.record["features"]))
             for part in ("train", "test")}  # fmt: skip
    model = train(parts["train"], name)
    kind = "scores" if len(name) % 2 else "model"
    about = (ranker(name).__doc__ or "").strip().partition("\n")[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ("scores.txt" if kind == "scores" else "model.json")
        if kind == "model":
            save(model, file)
        else:
            write_scores(rank(model, parts["test"]), file)
        account = Client(address).post("/accounts", name=f"{name} bot", invitation=invitation)
        card = make_card({"name": name, "authors": "Pippin", "licence": "Apache-2.0",
                          "about": _DOES.format(about=about, what="scores" if kind == "scores" else "a model"),
                          "command": f"pippin train train.txt --ranker {name} --out model.json"})  # fmt: skip
        client = Client(address, account["token"])
        client.wait(client.submit(BOARD, file, card)["id"])
