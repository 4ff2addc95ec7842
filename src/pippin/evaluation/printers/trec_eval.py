"""`pippin as trec_eval`: version 9, or with `--version 8.1`, `--version 9.0.8` or `--version 10` in front another one.

There are two 9.0.8. The tag v9.0.8 (2020) holds scores in single precision and calls itself 9.0.7: that is version 9
here. The tag trec_eval-9.0.8 (2023) holds them in double precision and calls itself 9.0.8.
"""

from __future__ import annotations

from typing import TextIO

from pippin.evaluation.printers.trec import modern, v8
from pippin.evaluation.printers.trec.columns import TrecError
from pippin.evaluation.printers.trec.table import VERSIONS

_NAMES = {
    "8": "8.1", "8.1": "8.1", "9": "9", "9.0": "9", "9.0.7": "9", "9.0.8": "9.0.8", "10": "10", "10.0": "10",
}  # fmt: skip


def choose_version(arguments: list[str]) -> tuple[str, list[str]]:
    """The version named in front of the original's own arguments, and those.

    >>> choose_version(["--version", "10", "-q"]), choose_version(["--version=8.1"]), choose_version(["-q"])
    (('10', ['-q']), ('8.1', []), ('9', ['-q']))
    """
    if arguments and arguments[0].startswith("--version="):
        arguments = ["--version", arguments[0].partition("=")[2], *arguments[1:]]
    if len(arguments) > 1 and arguments[0] == "--version" and arguments[1] in _NAMES:
        return _NAMES[arguments[1]], arguments[2:]
    return "9", arguments


def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
    """Do what trec_eval does with these arguments; its exit status."""
    version, arguments = choose_version(arguments)
    try:
        if version in VERSIONS:
            return modern.run(VERSIONS[version], arguments, out, err)
        return v8.run(arguments, out, err)
    except TrecError as error:
        out.flush()
        err.write("".join(f"{line}\n" for line in error.lines))
        return error.status
