"""The examples at the end of each command's help run in every output format."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.example_files import furnish, make_things

from pippin.cli.main import COMMANDS, build_parser, load_command, main
from pippin.display.terminal import display_width

# What a program can rely on in the JSON of each command: the keys at the top, or those of every element of a list.
KEYS = {
    "eval": {"tool", "version", "run", "overrides", "convention", "departures", "counts", "mean", "per_query"},
    "compare": {"measure", "verdict", "boards", "intervals", "pairs", "agreement"},
    "reconcile": {"measure", "from", "to", "before", "after", "difference", "sentence", "parts"},
    "correlate": {"items", "best", "coefficients"},
    "bounds": {"measure", "tool", "runs", "unjudged", "value", "low", "high", "exact", "verdict", "per_query",
               "judge_next"},
    "agree": {"labels", "documents", "alone", "grades", "confusion", "kappa", "alpha", "by_grade", "per_query",
              "measure", "queries", "correlations", "systems", "estimates"},
    "interleave": {"names", "method", "sessions", "wins", "queries", "difference", "low", "high", "p", "test",
                   "verdict", "per_query"},
    "propensities": {"log", "method", "ranks"},
    "audit": {"name", "about", "basis", "findings", "clean"},
    "bench": {"results", "cells", "done", "computed", "tool", "measures", "rankers", "failures", "ceilings"},
    "leaderboard": {"boards", "tools", "winning", "published", "ceilings", "missing"},
    "study": {"data", "rankers", "conventions", "tools", "alike", "conclusions", "points"},
    "search": {"index", "field", "words", "hits"},
    "links": {"name", "sizes", "convergence", "degrees", "hosts", "pages"},
    "synthetic": {"data", "counts", "results"},
    "tools": {"name", "title", "version", "source", "measures", "convention", "departures", "caveats"},
    "measures": {"name", "aliases", "description", "formula", "source", "cutoff", "aggregate", "expected", "parameters",
                 "changed_by", "tools"},
    "rankers": {"name", "kind", "class", "about", "source", "uses_measure", "allow_nan", "parameters", "grid"},
    "features": {"features", "sets"},
    "datasets": {"datasets", "collections"},
    "export": {"name", "title", "takes", "scoring", "source", "checked_by", "options"},
    "demo": {"results", "page", "boards"},
    "board": {"name", "title", "state", "measure", "tool", "rows"},
    "verify": {"path", "files", "bytes", "state", "damage"},
}  # fmt: skip
DATA = ("as", "convert", "diversify", "rank", "rerank", "completion")  # what they print is for programs
SLOW = ("demo", "serve")  # their examples are run by test_demo, and in tests/boards/web


def examples(name: str) -> list[str]:
    return list(load_command(name).examples)


EXAMPLES = [(name, line) for name in COMMANDS if name not in SLOW and name != "engine" for line in examples(name)]


def has_format(parser: argparse.ArgumentParser) -> bool:
    """Tell whether a command, or an action of it, takes --format."""
    below = [p for a in parser._actions if isinstance(a, argparse._SubParsersAction) for p in a.choices.values()]
    return any(a.dest == "format" for a in parser._actions) or any(map(has_format, below))


PRINTING = [name for name in COMMANDS if name != "as" and has_format(build_parser(name)[0])]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = furnish(tmp_path_factory.mktemp("workshop"))
        patch.chdir(folder)
        make_things()
        yield folder


def arguments(line: str) -> list[str]:
    """Return the arguments that a shell would pass, without redirections."""
    return shlex.split(line.partition(" > ")[0])[1:]


def without(words: list[str], *flags: str) -> list[str]:
    """Return the arguments without some flags and their values."""
    results, skipped = [], False
    for word in words:
        if not skipped and word not in flags:
            results.append(word)
        skipped = not skipped and word in flags
    return results


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_an_example_does_what_it_says(
    workshop: Path, name: str, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(arguments(line)) == 0
    captured = capsys.readouterr()
    assert "is now" not in captured.err
    if re.search("^──", captured.out, re.M):
        assert name in PRINTING, f"{name} prints a table and takes no --format"
    if name not in DATA and not {"--format", "-f"} & set(arguments(line)):
        paths = str(workshop.parent)  # which no screen can break
        assert max(map(display_width, captured.out.splitlines()), default=0) <= 60 or paths in captured.out


def run_example(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of a command's first example in a format."""
    words = without(arguments(examples(name)[0]), "--format", "-f", "--out" if name != "bench" else "")
    assert main([*words, "--format", form]) == 0
    return capsys.readouterr().out


def forbid(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("name", [name for name in PRINTING if name not in SLOW])
def test_everything_can_be_had_in_every_form(
    workshop: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.loads(run_example(name, "json", capsys), parse_constant=forbid)
    for item in record if isinstance(record, list) else [record]:
        assert set(item) >= KEYS[name]
    assert "," in run_example(name, "csv", capsys).splitlines()[0]
    assert "| --" in run_example(name, "markdown", capsys)
    latex = run_example(name, "latex", capsys)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") > 0
    for encoding in ("ascii", "cp1252"):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            words = without(arguments(examples(name)[0]), "--format", "-f", "--out" if name != "bench" else "")
            for form in ("table", "json"):
                assert main([*words, "--format", form]) == 0
        out.flush()
        assert len(out.buffer.getvalue().decode(encoding)) > 40


def test_every_command_that_prints_has_promised_keys() -> None:
    assert set(KEYS) == set(PRINTING)
