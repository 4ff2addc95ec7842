"""`pippin board`: boards that others submit to, from the first day to the last."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pippin.cli.options import flag, only, printing, shared
from pippin.cli.output import as_json, write, write_text
from pippin.data.irds import is_id
from pippin.errors import ConventionError, DataError
from pippin.extras import need
from pippin.tables import Part, Prose, Table

HELP = """Make and keep boards that others submit to, whose labels stay hidden and whose order can be trusted.

new makes a board of any data that Pippin reads: the public part for participants, the hidden part for the scorer. list
and show print boards and leaderboards; invite prints an invitation, once. close ends submissions, and reveal then shows
the final half of the queries. export writes a board as one JSON file, or with --results as a folder of results; verify
checks logs, receipts and exports without a server. `pippin serve` opens the folder to all."""
EXAMPLES = (
    "pippin board list",
    "pippin board new summer --data mine --measure NDCG@10 --title 'Summer school'",
    "pippin board show cup",
)
ACTIONS = ("new", "list", "show", "invite", "close", "reveal", "export", "verify")
Result = tuple[Sequence[Part], Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("names", nargs="*", metavar="NAME", help="the board; for verify, files of logs and receipts")
    shared(parser, "store", folder="boards")
    new = parser.add_argument_group("new")
    flag(new, "data", "here one data set, folder of folds, or file of judgements (qrels)", metavar="PATH")
    shared(new, tool=["official"], measure=["NDCG@10"])
    flag(new, "title", default="")
    new.add_argument("--about", default="", metavar="TEXT", help="what it is about, in a few sentences")
    new.add_argument("--fold", metavar="NAME", help="the fold whose test part is asked for (default: the first)")
    new.add_argument("--test-share", type=float, metavar="SHARE", help="of data without parts: the share of queries "
                     "that is asked for; the rest is published to train on")  # fmt: skip
    new.add_argument("--final", type=float, default=0.5, metavar="SHARE", help="the share of the test queries that is "
                     "kept for the end (default: 0.5)")  # fmt: skip
    flag(new, "seed", "drawn and kept secret unless given")
    new.add_argument("--no-ladder", action="store_true", help="show every value in full, which can be climbed")
    new.add_argument("--per-day", type=int, metavar="N", help="submissions of an account in 24 hours (default: 20)")
    new.add_argument("--per-account", type=int, metavar="N", help="submissions of an account in all (default: 500)")
    new.add_argument("--bytes", metavar="SIZE", help="of a submission at most (default: 20M)")
    new.add_argument("--seconds", type=int, metavar="N", help="to score a submission at most (default: 60)")
    flag(new, "memory", "to score a submission (default: 2G)")
    invite = parser.add_argument_group("invite")
    invite.add_argument("--role", choices=("participant", "organiser"), default="participant", help="what those who "
                        "are invited may do: participant, organiser")  # fmt: skip
    invite.add_argument("--uses", type=int, default=1, metavar="N", help="for how many accounts (default: 1)")
    invite.add_argument("--anyone", choices=("yes", "no"), help="whether anybody may register without an invitation")
    others = parser.add_argument_group("export and verify")
    others.add_argument("--results", action="store_true", help="export the final half as a folder of results")
    others.add_argument("--key", metavar="KEY", help="verify: the public key that must have signed")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Do what was asked for; the exit status."""
    if options.action == "verify":
        return _verify(options)
    need("boards", "sqlalchemy", "cryptography")
    if options.action == "export":
        return _export(options)
    parts, record = _DOING[options.action](options)
    write(options.format, options.output, lambda: parts, lambda: record)
    return 0


def _site(options: argparse.Namespace) -> Any:
    from pippin.boards.site import Site

    return Site(options.folder, options.store)


def _name(options: argparse.Namespace) -> str:
    if len(options.names) != 1:
        raise ConventionError(f"`pippin board {options.action}` takes the name of one board")
    return str(options.names[0])


def _new(options: argparse.Namespace) -> Result:
    from dataclasses import replace

    from pippin.boards.board import Limits, check_name
    from pippin.boards.site import Site
    from pippin.machine import parse_size

    check_name(_name(options))
    if not options.data:
        raise ConventionError("say what the board is made of: --data PATH")
    data = str(only(options.data, "--data"))
    if not Path(data).exists() and not is_id(data):  # before a site is made for it
        raise DataError("there is no such file or folder", data)
    given = {"per_day": options.per_day, "per_account": options.per_account, "seconds": options.seconds,
             "bytes": options.bytes and parse_size(options.bytes),
             "memory": options.memory and parse_size(options.memory)}  # fmt: skip
    limits = replace(Limits(), **{name: value for name, value in given.items() if value is not None})
    site = Site.create(options.folder, options.store)
    board = site.new_board(
        _name(options), data, tool=only(options.tool, "--tool"),
        measure=only(options.measure, "--measure"),
        title=options.title, about=options.about, fold=options.fold, test=options.test_share, final=options.final,
        seed=options.seed, ladder=not options.no_ladder, limits=limits,
    )  # fmt: skip
    record = {"name": board.name, "folder": str(board.folder), "data": board.record["data"],
              "counts": board.record["counts"], "files": board.files}  # fmt: skip
    rows = [[what, f"{number:,}"] for what, number in board.record["counts"].items()]
    return [Table(["in the board", ""], rows, names=1),
            Prose(f"The public part is in {board.folder}, the hidden part in {site.hidden(board.name)}."),
            Prose(f"To open it: pippin serve {options.folder}")], record  # fmt: skip


def _list(options: argparse.Namespace) -> Result:
    from pippin.boards.sending import state_of
    from pippin.boards.standing import size

    site, rows = _site(options), []
    for name in site.names():
        board, state = site.board(name), state_of(site, name)
        rows.append({"name": name, "title": board.record["title"], "state": state["state"],
                     "measure": board.measure, "tool": board.tool.name, "rows": size(site, name)})  # fmt: skip
    cells = [[r["name"], r["title"], r["state"], r["measure"], r["tool"], str(r["rows"])] for r in rows]
    return [Table(["board", "title", "state", "measure", "tool", "on the leaderboard"], cells, names=5)], rows


def _show(options: argparse.Namespace) -> Result:
    from pippin.boards.export import board_record
    from pippin.boards.standing import leaderboard

    site, name = _site(options), _name(options)
    record = board_record(site, name)
    head = ["rank", "name", "by", record["measure"], "from", "to", "against the first", "other tools", "sent", "date"]
    ended = record["state"] == "revealed"
    rows = []
    for row in leaderboard(site, name):
        behind = {None: "", True: "behind", False: "not surely behind"}[row.behind]
        cells = [str(row.rank), row.name, row.account, f"{row.value:.4g}", f"{row.low:.4g}", f"{row.high:.4g}", behind,
                 row.places_words, str(row.sent), time.strftime("%Y-%m-%d", time.gmtime(row.received))]  # fmt: skip
        rows.append([*cells, f"{row.final:.4f}"] if ended else cells)
    words = f"{record['title']}: {record['state']}; {record['measure']} as {record['tool']} computes it; values in " \
            f"steps of {record['step']:g}; the random order has {record['baseline']:g}."  # fmt: skip
    table = Table([*head, "final"] if ended else head, rows, names=3)
    return [Prose(words), table, *([Prose(record["tools"])] if record["tools"] else [])], record


def _invite(options: argparse.Namespace) -> Result:
    from pippin.boards.accounts import invite, open_registration

    site = _site(options)
    if options.anyone is not None:
        open_registration(site.store, options.anyone == "yes")
        words = "Anybody may register now." if options.anyone == "yes" else "An account needs an invitation now."
        return [Prose(words)], {"registration": "open" if options.anyone == "yes" else "invited"}
    made = invite(site.store, options.role, options.uses)
    table = Table(["invitation", "role", "accounts"], [[made, options.role, str(options.uses)]], names=2)
    return [table, Prose("It is shown this once; hand it to those you invite, who open /join with it.")], {
        "invitation": made, "role": options.role, "uses": options.uses,
    }  # fmt: skip


def _close(options: argparse.Namespace) -> Result:
    from pippin.boards.standing import close

    close(_site(options), _name(options))
    return [Prose(f"The board {options.names[0]} is closed; `pippin board reveal {options.names[0]}` shows the final "
                  "half.")], {"name": options.names[0], "state": "closed"}  # fmt: skip


def _reveal(options: argparse.Namespace) -> Result:
    from pippin.boards.scorer import score_waiting
    from pippin.boards.standing import reveal

    site, name = _site(options), _name(options)
    score_waiting(site)
    reveal(site, name)
    return _show(options)


def _export(options: argparse.Namespace) -> int:
    from pippin.boards.export import export_json, export_results

    site, name = _site(options), _name(options)
    if not options.results:
        write_text(as_json(export_json(site, name)), options.output, "json")
        return 0
    folder = f"{name}-results" if options.output == "-" else options.output
    export_results(site, name, folder)
    write_text(f"The results are in {folder}; pippin report {folder} draws them.", "-")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from pippin.boards.log import verify

    if not options.names:
        raise ConventionError("say what to verify: the files of logs, receipts or exports")
    checked = verify(options.names, options.key)
    rows = [[one.path, one.what, one.board, f"{one.entries:,}", f"{one.receipts:,}", one.key[:16], one.head[:16],
             one.fault or "whole"] for one in checked]  # fmt: skip
    table = Table(["path", "what", "board", "entries", "receipts", "key", "head", ""], rows, names=3, remarks=3)
    record = [{"path": one.path, "what": one.what, "board": one.board, "entries": one.entries,
               "receipts": one.receipts, "key": one.key, "head": one.head, "fault": one.fault or None}
              for one in checked]  # fmt: skip
    write(options.format, options.output, lambda: [table], lambda: record)
    return 2 if any(one.fault for one in checked) else 0


_DOING: dict[str, Callable[[argparse.Namespace], Result]] = {
    "new": _new, "list": _list, "show": _show, "invite": _invite, "close": _close, "reveal": _reveal,
}  # fmt: skip
