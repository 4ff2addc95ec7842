"""`pippin submit`: send scores, a run or a model to a board."""

from __future__ import annotations

import argparse
import json

from pippin.cli.options import printing
from pippin.cli.output import write
from pippin.tables import Prose, Table

HELP = """Send scores, a run or a model to a board, and wait for what it is worth.

URL is the server's address. The token is taken from PIPPIN_TOKEN, or from a file that nobody else can read. The card
says what is sent, in TOML: name, authors, about, code, command, hardware, licence. The signed receipt can be kept."""
EXAMPLES = ("pippin submit https://boards.example.org cup scores.txt --card card.toml",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("url", metavar="URL", help="the server, such as https://boards.example.org")
    parser.add_argument("board", metavar="BOARD", help="the name of the board")
    parser.add_argument("file", metavar="FILE", help="scores (one a line), a TREC run, or a model of `pippin train`")
    parser.add_argument("--card", metavar="FILE", required=True, help="what it is, in TOML")
    parser.add_argument("--token-file", metavar="FILE", help="a file of mode 600 with the token (else: PIPPIN_TOKEN)")
    parser.add_argument("--kind", choices=("auto", "scores", "run", "model"), default="auto", help="what the file is, "
                        "where its first line does not tell")  # fmt: skip
    parser.add_argument("--receipt", metavar="FILE", help="where to keep the signed receipt")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the value")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Send, wait, tell; status 2 where it was refused."""
    from pippin.boards.client import Client, read_token
    from pippin.boards.submission import read_card
    from pippin.files import atomic_write

    client = Client(options.url, read_token(options.token_file))
    told = client.submit(options.board, options.file, read_card(options.card), options.kind)
    if not options.no_wait:
        told = client.wait(told["id"])
    if options.receipt and told["state"] == "scored":
        with atomic_write(options.receipt) as file:
            file.write(json.dumps(client.receipt(told["id"]), indent=1).encode() + b"\n")
    value = "" if told["value"] is None else f"{told['value']:g}"
    table = Table(["submission", "name", "state", "value"], [[told["id"], told["name"], told["state"], value]], names=3)
    words = _words(told)
    write(options.format, options.output, lambda: [table, Prose(words)], lambda: told)
    return 2 if told["state"] == "refused" else 0


def _words(told: dict[str, object]) -> str:
    """What became of it, in a sentence."""
    if told["state"] == "refused":
        return f"It was refused: {told['fault']}"
    if told["state"] != "scored":
        return "It is in the queue."
    if told["released"]:
        return f"With 95% confidence between {told['low']:g} and {told['high']:g}."
    return "It is not better than your best by more than noise, so its value is not shown."
