"""Emulators of the original evaluation tools: same arguments, same output bytes, same exit status.

An emulator is a function `main(arguments, out, err) -> exit status`. `pippin as NAME` runs it.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable
from typing import TextIO, cast

from pippin.display.terminal import data_stream
from pippin.records import FrozenRecord
from pippin.registry import Registry

Main = Callable[[list[str], TextIO, TextIO], int]


class Emulator(FrozenRecord):
    """An emulator of one original tool."""

    main: Main


EMULATORS: Registry[Emulator] = Registry("original tool", "pippin.emulators", Emulator)


def register(name: str) -> Callable[[Main], Main]:
    """Register the decorated `main` as an emulator."""

    def decorate(main: Main) -> Main:
        EMULATORS.register(name, Emulator(main))
        return main

    return decorate


def run(name: str, arguments: list[str]) -> int:
    """Run an emulator on standard output and standard error, and return its exit status."""
    emulator = EMULATORS[name]
    streams = data_stream(sys.stdout), data_stream(sys.stderr)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            # Bytes that are not UTF-8 stay unchanged.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="")
    status = emulator.main(arguments, *streams)
    sys.stdout.flush()
    return status


def _lazy_main(module: str, function: str) -> Main:
    """Return a `main` that imports its module when it is called."""

    def main(arguments: list[str], out: TextIO, err: TextIO) -> int:
        emulate = cast(Main, getattr(importlib.import_module(f"{__name__}.{module}"), function))
        return emulate(arguments, out, err)

    return main


for _name, _module, _function in (
    ("eval-score-3.0", "letor", "main_letor3"),
    ("eval-score-4.0", "letor", "main_letor4"),
    ("eval-score-mslr", "letor", "main_mslr"),
    ("eval-ttest-3.0", "letor_ttest", "main_letor3"),
    ("eval-ttest-4.0", "letor_ttest", "main_letor4"),
    ("yahoo", "yahoo", "main"),
    ("ranklib", "ranklib", "main"),
    ("trec_eval", "trec_eval", "main"),
    ("gdeval", "gdeval", "main"),
    ("ndeval", "ndeval", "main"),
):
    register(_name)(_lazy_main(_module, _function))
