"""`pippin as TOOL ARGS…`: take an original tool's own arguments and print its own bytes."""

from __future__ import annotations

import io
import sys

from pippin.evaluation.printers import PRINTERS, printer

HELP = "Be a drop-in for an original evaluation tool."


def run_as(arguments: list[str]) -> int:
    """Hand the arguments to the drop-in; its exit status is the original's."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"usage: pippin as TOOL ARGS…\n\nTOOL is one of {', '.join(PRINTERS)};\nARGS are the original's own.")
        return 0 if arguments else 2
    chosen = printer(arguments[0])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="")  # bytes come out as they came in
    status = chosen.main(arguments[1:], sys.stdout, sys.stderr)
    sys.stdout.flush()
    return status
