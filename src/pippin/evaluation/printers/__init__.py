"""What each original tool prints, byte for byte.

A printer is a function `main(arguments, out, err) -> exit status` that takes the original's own arguments. It is found
by the name after `pippin as`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TextIO, cast

from pippin.frozen import Frozen
from pippin.registry import Registry

Main = Callable[[list[str], TextIO, TextIO], int]


class Printer(Frozen):
    """A drop-in for one original tool: what it does with the original's arguments; its exit status."""

    main: Main


PRINTERS: Registry[Printer] = Registry("original tool", "pippin.drop_ins", Printer)


def register(name: str) -> Callable[[Main], Main]:
    """Decorator: put the `main` of a drop-in on the shelf."""

    def put(main: Main) -> Main:
        PRINTERS.register(name, Printer(main))
        return main

    return put


def printer(name: str) -> Printer:
    """The printer of that name."""
    return PRINTERS[name]


def _imported(module: str) -> Main:
    """The `main` of a module of this room, which is imported when something is to be printed."""

    def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
        printer = cast(Printer, importlib.import_module(f"{__name__}.{module}"))
        return printer.main(arguments, out, err)

    return main


for _name, _module in {
    "eval-score-3.0": "letor3",
    "eval-score-4.0": "letor4",
    "eval-score-mslr": "mslr",
    "eval-ttest-3.0": "ttest3",
    "eval-ttest-4.0": "ttest4",
    "yahoo": "yahoo",
    "ranklib": "ranklib",
    "trec_eval": "trec_eval",
    "gdeval": "gdeval",
    "ndeval": "ndeval",
}.items():
    register(_name)(_imported(_module))
