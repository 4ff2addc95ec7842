"""The commands `pippin board` and `pippin serve`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import pippin
from pippin.cli.options import Command, add_option, add_options, add_output_options, require_single
from pippin.cli.output import format_json, print_message, write_result, write_text
from pippin.cli.parser import Parser
from pippin.display.tables import Paragraph, Renderable, Table


def configure_board(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    actions.help = "what to do; see `pippin board ACTION --help`"
    for name, (configure_action, run_action, about) in ACTIONS.items():
        action = actions.add_parser(name, help=about)
        action.description = f"{about[0].upper()}{about[1:]}."
        configure_action(action)
        action.set_defaults(run_action=run_action)


def run_board(options: argparse.Namespace) -> int:
    """Run the action and return the exit status."""
    status: int = options.run_action(options)
    return status


def _on_site(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "store", folder="boards")


def _on_board(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the board")
    _on_site(parser)


def _print(options: argparse.Namespace, parts: Sequence[Renderable], record: Any) -> int:
    write_result(options.format, options.output, lambda: parts, lambda: record)
    return 0


def _configure_new(parser: argparse.ArgumentParser) -> None:
    _on_board(parser)
    add_option(parser, "data", "here one data set, folder of folds, or qrels file", metavar="PATH", required=True)
    add_options(parser, tool=["official"], measure=["NDCG@10"])
    add_option(parser, "title", default="")
    parser.add_argument("--about", default="", metavar="TEXT", help="description of the board")
    parser.add_argument("--fold", metavar="NAME", help="fold whose test part is ranked (default: the first)")
    parser.add_argument(
        "--test-fraction", type=float, metavar="SHARE",
        help="share of the queries to rank, for data without parts; the rest is published for training",
    )  # fmt: skip
    parser.add_argument(
        "--final-fraction", type=float, default=0.5, metavar="SHARE",
        help="share of the test queries that stays hidden until the board is revealed (default: 0.5)",
    )  # fmt: skip
    add_option(parser, "seed", "random and secret by default")
    parser.add_argument(
        "--no-ladder", dest="ladder", action="store_false",
        help="show every value exactly, which lets participants overfit the public queries",
    )  # fmt: skip
    parser.add_argument(
        "--per-day", type=int, default=20, metavar="N", help="submissions per account in 24 hours (default: 20)"
    )
    parser.add_argument(
        "--per-account", type=int, default=500, metavar="N", help="submissions per account in total (default: 500)"
    )
    parser.add_argument("--bytes", default="20M", metavar="SIZE", help="size limit of a submission (default: 20M)")
    parser.add_argument(
        "--seconds", type=int, default=60, metavar="N", help="time limit for scoring a submission (default: 60)"
    )
    add_option(parser, "memory", "for scoring a submission", default="2G")
    add_output_options(parser)


def _new(options: argparse.Namespace) -> int:
    board = pippin.boards.create(
        options.folder, options.name, str(require_single(options.data, "--data")),
        tool=str(require_single(options.tool, "--tool")), measure=str(require_single(options.measure, "--measure")),
        title=options.title, about=options.about, fold=options.fold,
        test_fraction=options.test_fraction, final_fraction=options.final_fraction, seed=options.seed,
        ladder=options.ladder, per_day=options.per_day, per_account=options.per_account, bytes=options.bytes,
        seconds=options.seconds, memory=options.memory, store=options.store,
    )  # fmt: skip
    record = {"name": board.name, "folder": str(board.folder), "data": board.record["data"],
              "counts": board.record["counts"], "files": board.files}  # fmt: skip
    rows = [[kind, f"{number:,}"] for kind, number in board.record["counts"].items()]
    parts: list[Renderable] = [
        Table(["part", "number"], rows, text_columns=1),
        Paragraph(f"The public files are in {board.folder}."),
        Paragraph(f"To serve the board: pippin serve {options.folder}"),
    ]
    return _print(options, parts, record)


def _configure_list(parser: argparse.ArgumentParser) -> None:
    _on_site(parser)
    add_output_options(parser)


def _list(options: argparse.Namespace) -> int:
    boards = pippin.boards.list_boards(options.folder, store=options.store)
    keys = ("name", "title", "state", "measure", "tool", "rows")
    rows = [[str(board[key]) for key in keys] for board in boards]
    return _print(
        options, [Table(["board", "title", "state", "measure", "tool", "rows"], rows, text_columns=5)], boards
    )


def _configure_show(parser: argparse.ArgumentParser) -> None:
    _on_board(parser)
    add_output_options(parser)


def _show(options: argparse.Namespace) -> int:
    record = pippin.boards.show(options.folder, options.name, store=options.store)
    return _print(options, _leaderboard(record), record)


def _leaderboard(record: dict[str, Any]) -> list[Renderable]:
    headers = ["rank", "name", "account", record["measure"], "low", "high", "vs. first", "other tools", "submissions",
               "date"]  # fmt: skip
    is_revealed = record["state"] == "revealed"
    differences = {None: "", True: "significantly worse", False: "not significant"}
    rows = []
    for row in record["leaderboard"]:
        ranks = row["other_tool_ranks"].values()
        rank_range = "" if not ranks else str(min(ranks)) if min(ranks) == max(ranks) else f"{min(ranks)}–{max(ranks)}"
        rows.append([
            str(row["rank"]), row["name"], row["account"], *(f"{row[key]:.4g}" for key in ("value", "low", "high")),
            differences[row["is_worse"]], rank_range, str(row["submissions"]),
            time.strftime("%Y-%m-%d", time.gmtime(row["received"])),
            *([f"{row['final']:.4f}"] if is_revealed else []),
        ])  # fmt: skip
    summary = (f"{record['title']} ({record['state']}): {record['measure']} under {record['tool']}, in steps of "
               f"{record['step']:g}; a random ranking has {record['baseline']:g}.")  # fmt: skip
    table = Table([*headers, "final"] if is_revealed else headers, rows, text_columns=3)
    return [Paragraph(summary), table, *([Paragraph(record["tools"])] if record["tools"] else [])]


def _configure_invite(parser: argparse.ArgumentParser) -> None:
    _on_site(parser)
    parser.add_argument(
        "--role", choices=("participant", "organiser"), default="participant",
        help="role of the new accounts: participant, organiser",
    )  # fmt: skip
    parser.add_argument("--uses", type=int, default=1, metavar="N", help="number of accounts (default: 1)")
    parser.add_argument(
        "--anyone", choices=("yes", "no"), help="open or close registration without an invitation: yes, no"
    )
    add_output_options(parser)


def _invite(options: argparse.Namespace) -> int:
    if options.anyone is not None:
        is_open = options.anyone == "yes"
        pippin.boards.set_registration(options.folder, is_open=is_open, store=options.store)
        sentence = "Anyone can register now." if is_open else "Registration now requires an invitation."
        return _print(options, [Paragraph(sentence)], {"registration": "open" if is_open else "invited"})
    invitation = pippin.boards.invite(options.folder, role=options.role, uses=options.uses, store=options.store)
    record = {"invitation": invitation, "role": options.role, "uses": options.uses}
    table = Table(["invitation", "role", "accounts"], [[str(value) for value in record.values()]], text_columns=2)
    return _print(options, [table, Paragraph("The invitation is not shown again. Invitees enter it at /join.")], record)


def _close(options: argparse.Namespace) -> int:
    pippin.boards.close(options.folder, options.name, store=options.store)
    sentence = f"Board {options.name} is closed. `pippin board reveal {options.name}` publishes the final values."
    return _print(options, [Paragraph(sentence)], {"name": options.name, "state": "closed"})


def _reveal(options: argparse.Namespace) -> int:
    record = pippin.boards.reveal(options.folder, options.name, store=options.store)
    return _print(options, _leaderboard(record), record)


def _configure_export(parser: argparse.ArgumentParser) -> None:
    _on_board(parser)
    parser.add_argument(
        "--results", action="store_true", help="write the final queries as a folder of benchmark results"
    )
    add_option(parser, "out", metavar="PATH", default="-")


def _export(options: argparse.Namespace) -> int:
    if not options.results:
        record = pippin.boards.export(options.folder, options.name, store=options.store)
        write_text(format_json(record), options.output, "json")
        return 0
    out = f"{options.name}-results" if options.output == "-" else options.output
    pippin.boards.export_results(options.folder, options.name, out, store=options.store)
    write_text(f"The results are in {out}. For a page: pippin report {out}", "-")
    return 0


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="FILE", help="logs, receipts or exports")
    parser.add_argument("--key", metavar="KEY", help="public key that must have signed")
    add_output_options(parser)


def _verify(options: argparse.Namespace) -> int:
    checks = pippin.boards.verify(options.paths, key=options.key)
    rows = [[check.path, check.kind, check.board, f"{check.entries:,}", f"{check.receipts:,}", check.key[:16],
             check.head[:16], check.error or "valid"] for check in checks]  # fmt: skip
    table = Table(
        ["path", "kind", "board", "entries", "receipts", "key", "head", "result"],
        rows,
        text_columns=3,
        trailing_text=3,
    )
    _print(options, [table], [{**vars(check), "error": check.error or None} for check in checks])
    return 2 if any(check.error for check in checks) else 0


def _configure_submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="address of the server, such as https://boards.example.org")
    parser.add_argument("board", metavar="BOARD", help="name of the board")
    parser.add_argument("file", metavar="FILE", help="scores (one per line), a TREC run, or a model of `pippin train`")
    parser.add_argument(
        "--card", metavar="FILE", required=True,
        help="TOML file that describes the submission: name, authors, about, code, command, hardware, licence",
    )  # fmt: skip
    parser.add_argument(
        "--token-file", metavar="FILE", help="file of mode 600 with your token (default: the variable PIPPIN_TOKEN)"
    )
    parser.add_argument(
        "--kind", choices=("auto", "scores", "run", "model"), default="auto",
        help="kind of FILE: auto (detected), scores, run, model",
    )  # fmt: skip
    parser.add_argument("--receipt", metavar="FILE", help="where to write the signed receipt")
    parser.add_argument("--no-wait", dest="wait", action="store_false", help="do not wait for the score")
    add_output_options(parser)


def _submit(options: argparse.Namespace) -> int:
    record = pippin.boards.submit(
        options.url, options.board, options.file, card=options.card, token_file=options.token_file, kind=options.kind,
        receipt=options.receipt, wait=options.wait,
    )  # fmt: skip
    value = "" if record["value"] is None else f"{record['value']:g}"
    cells = [record["id"], record["name"], record["state"], value]
    table = Table(["submission", "name", "state", "value"], [cells], text_columns=3)
    _print(options, [table, Paragraph(_outcome(record))], record)
    return 2 if record["state"] == "rejected" else 0


def _outcome(record: dict[str, Any]) -> str:
    if record["state"] == "rejected":
        return f"Submission rejected: {record['error']}"
    if record["state"] != "scored":
        return "The submission is in the queue."
    if record["is_shown"]:
        return f"95% confidence interval: {record['low']:g} to {record['high']:g}."
    return "The value is not shown: it does not improve on your best submission by more than chance."


def configure_serve(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin serve`."""
    parser.add_argument("site", nargs="?", metavar="FOLDER", help="folder of boards")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="port (default: 8000; 0: any free port)")
    parser.add_argument("--demo", action="store_true", help="serve a demo board with every ranker submitted to it")
    parser.add_argument("--user", metavar="NAME", help="user of the web process when started as root (default: nobody)")
    add_options(parser, "store", "jobs", "quiet")


def run_serve(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    pippin.boards.serve(
        options.site, host=options.host, port=options.port, demo=options.demo, store=options.store, jobs=options.jobs,
        user=options.user, message=print_message,
    )  # fmt: skip
    return 0


# Action → (declare its arguments, run it, summary).
ACTIONS = {
    "new": (_configure_new, _new, "create a board from a labelled data set"),
    "list": (_configure_list, _list, "list the boards of a folder"),
    "show": (_configure_show, _show, "print a leaderboard"),
    "invite": (_configure_invite, _invite, "print an invitation for new accounts"),
    "close": (_configure_show, _close, "close a board to new submissions"),
    "reveal": (_configure_show, _reveal, "publish the final values of a closed board"),
    "export": (_configure_export, _export, "write a board and its audit log as one JSON file"),
    "verify": (_configure_verify, _verify, "verify logs, receipts and exports without a server"),
    "submit": (_configure_submit, _submit, "submit scores, a run or a model to a board on a server"),
}

COMMANDS = {
    "board": Command(
        """Create and manage boards, and submit to them.

A board is a leaderboard with hidden labels: participants see test documents, and a scorer evaluates what they submit.
`pippin serve` opens a folder of boards to browsers and to `pippin board submit`.""",
        (
            "pippin board list",
            "pippin board new summer --data mine --measure NDCG@10 --title 'Summer school'",
            "pippin board show cup",
        ),
        configure_board,
        run_board,
    ),
    "serve": Command(
        """Serve a folder of boards to browsers and to `pippin board submit`.

The server listens on this machine only unless --host is given; docs/boards.md describes how to run it behind TLS. A
separate scorer process is the only one that opens the labels. When started as root, the web process switches to
another user.""",
        ("pippin serve boards --port 8000", "pippin serve --demo"),
        configure_serve,
        run_serve,
    ),
}
