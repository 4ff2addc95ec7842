"""Boards: leaderboards with hidden labels that others submit to.

    site         the folder of boards: public files, submissions, database, hidden labels
    board        create a board from a data set: public files, hidden labels, public and final queries
    submissions  read scores, runs and models, and the card that describes them
    queue        accept a submission: limits, files, queue
    scoring      score submissions; runs in the scorer, the only process that opens the labels
    scorer       the scorer process
    ladder       decide which values are shown, to prevent overfitting to the test set
    leaderboard  rows of a board, ranks under other tools, export, reveal of the final queries
    audit_log    hash chain and signed receipts
    database     SQLite or PostgreSQL
    accounts     tokens, invitations, sessions
    client       HTTP client for submissions
    web          pages and REST interface

The functions of this module are the public interface. Only `client` and `web` use HTTP.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.boards.site import Site
from pippin.data.adapters import is_irds_id
from pippin.dependencies import require
from pippin.errors import ConventionError, DataError
from pippin.storage.files import atomic_write
from pippin.system import parse_size

if TYPE_CHECKING:
    from pippin.benchmarks.store import Results
    from pippin.boards.audit_log import LogCheck
    from pippin.boards.board import Board

__all__ = [
    "close",
    "create",
    "export",
    "export_results",
    "invite",
    "list_boards",
    "reveal",
    "serve",
    "set_registration",
    "show",
    "submit",
    "verify",
]
StrPath = str | os.PathLike[str]


def open_site(folder: StrPath, store: str | None = None) -> Site:
    """Open a folder of boards; `store` is the address of its PostgreSQL database, if it has one."""
    require("boards", "sqlalchemy", "cryptography")
    return Site(folder, store)


def create(
    folder: StrPath,
    name: str,
    data: Any,
    *,
    tool: str = "official",
    measure: str = "NDCG@10",
    title: str = "",
    about: str = "",
    fold: str | None = None,
    test_fraction: float | None = None,
    final_fraction: float = 0.5,
    seed: int | None = None,
    ladder: bool = True,
    per_day: int = 20,
    per_account: int = 500,
    bytes: int | str = "20M",
    seconds: int = 60,
    memory: int | str = "2G",
    store: str | None = None,
) -> Board:
    """Create a board: a public part for participants, and hidden labels for the scorer.

    Parameters
    ----------
    folder : path
        Folder of boards; created if it does not exist.
    name : str
        1 to 40 lower-case letters, digits or hyphens.
    data : path, Folds, Dataset or Qrels
        The labelled data. A board of qrels accepts runs; other boards accept scores, runs and models.
    tool, measure : str
        Evaluation tool and measure of the leaderboard.
    title, about : str, optional
        Title and description on the board's page.
    fold : str, optional
        Fold whose test part participants rank, by default the first. Its other parts are published with labels.
    test_fraction : float, optional
        Share of queries to rank if the data have a single part; the others are published with labels.
    final_fraction : float, default 0.5
        Share of the test queries whose values stay hidden until the board is revealed.
    seed : int, optional
        Seed of the splits. A random seed, the default, keeps them secret.
    ladder : bool, default True
        Show a value only if it improves on the account's best by more than chance.
    per_day, per_account : int
        Submissions per account in 24 hours, and in total.
    bytes : int or str, default "20M"
        Size limit of a submission.
    seconds : int, default 60
        Limit of processor time for scoring a submission.
    memory : int or str, default "2G"
        Memory limit for scoring a submission.
    store : str, optional
        Address of a PostgreSQL database for accounts and submissions; SQLite by default.

    Returns
    -------
    Board
        The public part of the board.

    Raises
    ------
    DataError
        If the name is invalid or taken, or `data` cannot be read.
    ConventionError
        If a fraction is not between 0 and 1, or there are too few test queries.

    Examples
    --------
    >>> import pippin
    >>> board = pippin.boards.create("boards", "cup", "MQ2008", test_fraction=0.5)  # doctest: +SKIP
    """
    from pippin.boards.board import Limits, check_name

    check_name(name)
    if isinstance(data, str | os.PathLike) and not Path(data).exists() and not is_irds_id(str(data)):
        raise DataError("no such file or folder", data)  # before a folder is created for the board
    size, memory = (value if isinstance(value, int) else parse_size(value) for value in (bytes, memory))
    limits = Limits(size, per_day, per_account, seconds, memory)
    site = Site.create(folder, store)
    from pippin.boards.scoring import create_board

    return create_board(
        site, name, data, tool=tool, measure=measure, title=title, about=about, fold=fold,
        test_fraction=test_fraction, final_fraction=final_fraction, seed=seed, ladder=ladder, limits=limits,
    )  # fmt: skip


def list_boards(folder: StrPath, *, store: str | None = None) -> list[dict[str, Any]]:
    """List the boards of a folder.

    Parameters
    ----------
    folder : path
        Folder of boards.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Returns
    -------
    list of dict
        Name, title, state, measure, tool and number of leaderboard rows of each board.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.list_boards("boards")  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards.leaderboard import board_summary

    return [board_summary(site, name) for name in site.names()]


def show(folder: StrPath, name: str, *, store: str | None = None) -> dict[str, Any]:
    """Return the public record of a board with its leaderboard.

    Parameters
    ----------
    folder : path
        Folder of boards.
    name : str
        Name of the board.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Returns
    -------
    dict
        The public record of the board with its leaderboard.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.show("boards", "cup")["leaderboard"]  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards.leaderboard import board_record

    return board_record(site, name)


def invite(folder: StrPath, *, role: str = "participant", uses: int = 1, store: str | None = None) -> str:
    """Create an invitation with which people can register.

    Parameters
    ----------
    folder : path
        Folder of boards.
    role : {"participant", "organiser"}, default "participant"
        Role of the new accounts.
    uses : int, default 1
        Number of accounts.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Returns
    -------
    str
        The invitation; only its hash is stored.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.invite("boards", uses=30)  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards import accounts

    return accounts.invite(site.store, role, uses)


def set_registration(folder: StrPath, *, is_open: bool, store: str | None = None) -> None:
    """Let anyone register, or only people with an invitation.

    Parameters
    ----------
    folder : path
        Folder of boards.
    is_open : bool
        Whether registration needs no invitation.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.set_registration("boards", is_open=True)  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards import accounts

    accounts.set_registration(site.store, is_open)


def close(folder: StrPath, name: str, *, store: str | None = None) -> None:
    """Close a board to new submissions; submissions in the queue are still scored.

    Parameters
    ----------
    folder : path
        Folder of boards.
    name : str
        Name of the board.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.close("boards", "cup")  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards import leaderboard

    leaderboard.close(site, name)


def reveal(folder: StrPath, name: str, *, store: str | None = None) -> dict[str, Any]:
    """Score what is in the queue, then publish the values of a closed board on the final queries.

    Parameters
    ----------
    folder : path
        Folder of boards.
    name : str
        Name of the board.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Returns
    -------
    dict
        The public record of the board with its leaderboard.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.reveal("boards", "cup")  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards import leaderboard
    from pippin.boards.scorer import score_waiting

    score_waiting(site)
    leaderboard.reveal(site, name)
    return leaderboard.board_record(site, name)


def export(folder: StrPath, name: str, *, store: str | None = None) -> dict[str, Any]:
    """Return a board with its leaderboard and audit log as one record, which `verify` accepts.

    Parameters
    ----------
    folder : path
        Folder of boards.
    name : str
        Name of the board.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Returns
    -------
    dict
        The record, for JSON.

    Examples
    --------
    >>> import pippin
    >>> record = pippin.boards.export("boards", "cup")  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards.leaderboard import export_json
    from pippin.boards.scoring import sign_heads

    with suppress(PermissionError):  # the key is readable for the owner of the folder only
        sign_heads(site)
    return export_json(site, name)


def export_results(folder: StrPath, name: str, out: StrPath, *, store: str | None = None) -> Results:
    """Write the final queries of a revealed board as a folder of benchmark results for `pippin.report`.

    Parameters
    ----------
    folder : path
        Folder of boards.
    name : str
        Name of the board.
    out : path
        Folder of results to write.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.

    Returns
    -------
    Results
        The results, with one ranker per row of the leaderboard.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.export_results("boards", "cup", "cup-results")  # doctest: +SKIP
    """
    site = open_site(folder, store)
    from pippin.boards import leaderboard

    return leaderboard.export_results(site, name, out)


def verify(paths: Sequence[StrPath], *, key: str | None = None) -> list[LogCheck]:
    """Verify audit logs, receipts and exports without a server.

    Parameters
    ----------
    paths : sequence of path
        Files to verify. When logs and receipts are given together, every receipt must be in its log.
    key : str, optional
        Public key that must have signed; by default the key in the first entry of the log.

    Returns
    -------
    list of LogCheck
        One per file; ``error`` is empty if the file is valid.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.verify(["cup.json", "receipt.json"])  # doctest: +SKIP
    """
    from pippin.boards import audit_log

    return audit_log.verify(paths, key)


def submit(
    url: str,
    board: str,
    file: StrPath,
    *,
    card: StrPath,
    token_file: StrPath | None = None,
    kind: str = "auto",
    receipt: StrPath | None = None,
    wait: bool = True,
) -> dict[str, Any]:
    """Submit scores, a run or a model to a board on a server.

    Parameters
    ----------
    url : str
        Address of the server, such as ``https://boards.example.org``.
    board : str
        Name of the board.
    file : path
        Scores (one per line), a TREC run, or a model written by `pippin.save`.
    card : path
        TOML file that describes the submission: name, authors, about, code, command, hardware, licence.
    token_file : path, optional
        File with the account's token, readable by its owner only; by default the variable PIPPIN_TOKEN.
    kind : {"auto", "scores", "run", "model"}, default "auto"
        Kind of the file; "auto" detects it from the first bytes.
    receipt : path, optional
        Where to write the signed receipt.
    wait : bool, default True
        Wait until the submission is scored.

    Returns
    -------
    dict
        The server's record of the submission: id, state, value, interval.

    Raises
    ------
    DataError
        If the server does not respond or the token cannot be read.
    SubmissionRejected
        If the server rejects the submission.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.submit("https://boards.example.org", "cup", "scores.txt", card="card.toml")  # doctest: +SKIP
    """
    from pippin.boards.client import Client, read_token
    from pippin.boards.submissions import read_card

    client = Client(url, read_token(token_file))
    record = client.submit(board, file, read_card(card), kind)
    if wait:
        record = client.wait(record["id"])
    if receipt is not None and record["state"] == "scored":
        with atomic_write(receipt) as out:
            out.write(json.dumps(client.receipt(record["id"]), indent=1).encode() + b"\n")
    return record


def serve(
    folder: StrPath | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    demo: bool = False,
    store: str | None = None,
    jobs: int | None = None,
    user: str | None = None,
    message: Callable[[str], None] = print,
) -> None:
    """Serve a folder of boards over HTTP until the process is interrupted.

    Parameters
    ----------
    folder : path, optional
        Folder of boards. With `demo`, a temporary folder by default.
    host, port : str, int
        Address to listen on; port 0 chooses a free port.
    demo : bool, default False
        Create a board from Python's standard library and submit every ranker to it.
    store : str, optional
        Address of the PostgreSQL database, if the boards use one.
    jobs : int, optional
        Number of submissions scored in parallel, by default one less than the number of cores.
    user : str, optional
        User that the web process switches to when started as root, by default "nobody".
    message : callable, default print
        Receives the address of the server and other messages.

    Examples
    --------
    >>> import pippin
    >>> pippin.boards.serve("boards", port=8000)  # doctest: +SKIP
    """
    require("serving boards", "starlette", "uvicorn", "python_multipart", "sqlalchemy", "cryptography")
    from pippin.boards.accounts import first_invitation
    from pippin.boards.web.demo import serve_demo
    from pippin.boards.web.processes import serve_folder

    if folder is None and not demo:
        raise ConventionError(
            "choose a folder to serve: create one with `pippin board new NAME --data PATH`, or use --demo"
        )
    options: dict[str, Any] = {"host": host, "port": port, "store": store, "jobs": jobs, "user": user}
    with _stop_signal() as is_stopped:
        if demo or folder is None:
            serve_demo(folder, message=message, is_stopped=is_stopped, **options)
            return

        def on_start(address: str) -> None:
            message(f"Serving boards at {address} (press Ctrl-C to stop)")
            if invitation := first_invitation(Site(folder, store).store):
                message(f"To become the first organiser, open {address}/join and enter {invitation}")

        serve_folder(folder, on_start=on_start, is_stopped=is_stopped, **options)


@contextmanager
def _stop_signal() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether SIGINT or SIGTERM has arrived."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: stopped
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
