"""Emulator of trec_eval: version 9, or another with `--version 8.1`, `--version 9.0.8` or `--version 10` in front.

Two tags are named 9.0.8. The tag v9.0.8 (2020), which prints 9.0.7 as its version, has scores in single precision; it
is version 9 here. The tag trec_eval-9.0.8 (2023), which prints 9.0.8, has scores in double precision.
"""

from __future__ import annotations

from typing import TextIO

from pippin.compat.trec_eval import v8, v9
from pippin.compat.trec_eval.measures import VERSIONS
from pippin.compat.trec_eval.options import TrecError

_NAMES = {
    "8": "8.1", "8.1": "8.1", "9": "9", "9.0": "9", "9.0.7": "9", "9.0.8": "9.0.8", "10": "10", "10.0": "10",
}  # fmt: skip


def choose_version(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the version of a leading `--version`, and the arguments of the original.

    >>> choose_version(["--version", "10", "-q"]), choose_version(["--version=8.1"]), choose_version(["-q"])
    (('10', ['-q']), ('8.1', []), ('9', ['-q']))
    """
    if arguments and arguments[0].startswith("--version="):
        arguments = ["--version", arguments[0].partition("=")[2], *arguments[1:]]
    if len(arguments) > 1 and arguments[0] == "--version" and arguments[1] in _NAMES:
        return _NAMES[arguments[1]], arguments[2:]
    return "9", arguments


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Run trec_eval with these arguments and return its exit status."""
    version, arguments = choose_version(arguments)
    try:
        if version in VERSIONS:
            return v9.run(VERSIONS[version], arguments, out, err)
        return v8.run(arguments, out, err)
    except TrecError as error:
        out.flush()
        err.write("".join(f"{line}\n" for line in error.lines))
        return error.status
