"""What each original tool prints, byte for byte.

A printer is a module with `main(arguments, out, err) -> exit status` that takes the original's own arguments. It is
found by the name after `pippin as`.
"""

from __future__ import annotations

import importlib
from typing import Protocol, TextIO, cast

from pippin.errors import UnknownName

PRINTERS = {
    "eval-score-3.0": "letor3",
    "eval-score-4.0": "letor4",
    "eval-score-mslr": "mslr",
    "eval-ttest-3.0": "ttest3",
    "eval-ttest-4.0": "ttest4",
    "yahoo": "yahoo",
    "ranklib": "ranklib",
    "trec_eval": "trec_eval",
    "gdeval": "gdeval",
}


class Printer(Protocol):
    """A drop-in for one original tool."""

    def main(self, arguments: list[str], out: TextIO, err: TextIO) -> int:
        """Do what the original does with these arguments; its exit status."""


def printer(name: str) -> Printer:
    """The printer of that name."""
    if name not in PRINTERS:
        raise UnknownName("original tool", name, PRINTERS)
    return cast(Printer, importlib.import_module(f"pippin.evaluation.printers.{PRINTERS[name]}"))
