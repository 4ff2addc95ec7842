"""Shared conventions of all commands: flags mean the same everywhere, and every output is available as JSON."""

from __future__ import annotations

import argparse
import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest

from pippin.cli.main import COMMANDS, GROUPS, build_parser, format_overview, load_command, main
from pippin.cli.options import OPTIONS, CommaList, require_single
from pippin.cli.parser import Parser
from pippin.display.tables import FORMATS
from pippin.display.terminal import Terminal
from pippin.errors import ConventionError
from pippin.registry import split_names

PARSED = [name for name in COMMANDS if name != "as"]
_EVERYWHERE = ("--help", "--no-color", "--import", "--max-bytes")
DOCS = Path(__file__).resolve().parents[2]


def actions(name: str) -> list[argparse.Action]:
    """Return the flags of a command that its help shows."""
    return [a for a in build_parser(name)[0]._actions if a.option_strings and a.help != argparse.SUPPRESS]


def test_a_flag_of_several_commands_is_declared_once_and_means_one_thing() -> None:
    uses: dict[str, dict[str, argparse.Action]] = defaultdict(dict)
    for name in PARSED:
        for action in actions(name):
            for flag in action.option_strings:
                uses[flag][name] = action
    everywhere = {a.option_strings[-1] for a in Parser("pippin x")._actions}
    declared = {names: flag for flag in OPTIONS.values() for names in flag.names}
    for flag, by_command in uses.items():
        if len(by_command) == 1 or flag in everywhere or flag == "-h":
            continue
        assert flag in declared, f"{flag} stands in {', '.join(by_command)}: declare it in cli/options.py"
        shapes = {(a.dest, type(a), a.nargs, a.type, tuple(a.option_strings)) for a in by_command.values()}
        assert len(shapes) == 1, f"{flag} is not the same in {', '.join(by_command)}"
        for name, action in by_command.items():
            assert (action.help or "").startswith(declared[flag].help), f"{flag} of {name} has another help"


def test_a_declared_flag_is_never_declared_by_hand() -> None:
    for name in PARSED:
        for action in actions(name):
            for flag in OPTIONS.values():
                if set(flag.names) & set(action.option_strings):
                    assert tuple(action.option_strings) == flag.names
                    assert (action.help or "").startswith(flag.help), f"{flag.names} of {name} is declared by hand"


@pytest.mark.parametrize("name", PARSED)
def test_every_format_is_offered_where_one_is(name: str) -> None:
    for action in actions(name):
        if action.dest == "format":
            assert tuple(action.choices or ())[: len(FORMATS)] == FORMATS
            assert action.default in (None, "table")  # none: what the ending of the file says, else a table


@pytest.mark.parametrize("name", PARSED)
def test_every_flag_says_what_it_does(name: str) -> None:
    for action in build_parser(name)[0]._actions:
        assert action.help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_a_purpose_and_ends_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command(name)
    purpose = command.help.split("\n\n")[0]
    assert "\n" not in purpose
    assert purpose.endswith(".")
    assert len(purpose) <= 120
    assert 1 <= len(command.examples) <= 3
    assert all(line.startswith(f"pippin {name}") for line in command.examples)
    parser = build_parser(name)[0]
    assert parser.format_help().rstrip().splitlines()[-1].strip() in " ".join(command.examples)


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_is_a_line_with_what_must_be_given(name: str) -> None:
    parser = build_parser(name)[0]
    usage, empty, *_ = parser.format_help().splitlines()
    assert not empty
    assert usage.startswith(f"usage: pippin {name} ")
    assert usage.endswith(" [OPTION …]")
    for action in parser._actions:
        if action.option_strings:
            assert (action.option_strings[-1] in usage.split()) == action.required


@pytest.mark.parametrize("name", PARSED)
def test_common_options_come_last_in_help(name: str) -> None:
    text = build_parser(name)[0].format_help()
    own, _, common = text.partition("common options:\n")
    for action in actions(name):
        assert f" {action.option_strings[-1]}" in (common if action.option_strings[-1] in _EVERYWHERE else own)


def test_help_names_the_axes_and_help_of_a_command_explains_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    short = capsys.readouterr().out
    assert main(["help", "eval"]) == 0
    full = capsys.readouterr().out
    assert "--ap-denominator" in short
    assert "`pippin help eval` explains them" in " ".join(short.split())
    assert "AP divides by" not in short
    assert "AP divides by" in full
    assert len(short.splitlines()) < 60 < len(full.splitlines())
    assert main(["help", "evl"]) == 2
    assert "no command is called 'evl'; did you mean eval" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = build_parser(name)[0].format_help().splitlines()
    usage = lines.index("")  # argparse breaks no flag with its alternatives
    assert not [line for line in lines[usage:] if len(line) > columns]


def test_the_overview_has_every_command_in_a_group() -> None:
    text = format_overview(Terminal(columns=80))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert len(text.splitlines()) <= 40, "the overview fits one screen"
    for group, commands in GROUPS.items():
        assert group in text
        for name, (_, what) in commands.items():
            assert re.search(rf"^  {name} |^{group} .*\b{name}\b", text, re.M)
            assert len(what) <= 64


def test_files_may_stand_on_both_sides_of_flags() -> None:
    parser, _ = build_parser("eval")
    scattered = parser.parse_args(["judged.txt", "-m", "MAP", "a.run", "--tool", "gdeval", "b.run"])
    assert scattered == parser.parse_args(["judged.txt", "a.run", "b.run", "-m", "MAP", "--tool", "gdeval"])


def test_names_are_joined_by_commas_or_repeated() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", action=CommaList, default=["MAP"])
    assert parser.parse_args([]).m == ["MAP"]
    assert parser.parse_args(["-m", "a,b", "-m", "P(rel=2,gain=exp2)@5"]).m == ["a", "b", "P(rel=2,gain=exp2)@5"]
    assert parser.parse_args([]).m == ["MAP"]
    assert split_names("gas(n_features=20,redundancy_weight=1) > ranksvm, mart") == [
        "gas(n_features=20,redundancy_weight=1) > ranksvm",
        "mart",
    ]
    assert require_single(["a"], "--x") == "a"
    assert require_single(None, "--x") is None
    with pytest.raises(ConventionError, match="--x takes one name here, got 2"):
        require_single(["a", "b"], "--x")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["eval", "q", "r", "--fromat", "csv"],
            "eval: unknown option --fromat; did you mean --format? (see pippin eval",
        ),
        (["tools", "--format", "yaml"], "invalid choice: 'yaml'"),
        (["eval"], "the following arguments are required: QRELS"),
        (["tools", "a", "b\x1b[2J"], r"unexpected argument b\x1b[2J"),
        (["train", "x", "-r", "a,b", "-o", "m"], "--ranker takes one name here, got 2"),
    ],
)
def test_wrong_arguments_are_reported(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.startswith("pippin: ")
    assert err.count("\n") == 1


def documented_commands() -> list[tuple[str, str]]:
    """Every command in the console blocks of the docs."""
    results = []
    for path in (DOCS / "README.md", *sorted((DOCS / "docs").glob("*.md"))):
        for block in re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), re.S):
            text = block.replace("\\\n", " ")
            results += [(path.name, line[2:]) for line in text.splitlines() if line.startswith("$ pippin ")]
    return results


@pytest.mark.parametrize(("file", "line"), documented_commands())
def test_documented_commands_are_of_this_grammar(file: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "#", True
    words = list(itertools.takewhile(lambda word: word not in {"|", ">", "&&", ";"}, lexer))[1:]
    while words and words[0] in ("--import", "--no-color"):
        words = words[2 if words[0] == "--import" else 1 :]
    if words[0] == "as" or words[0].startswith("-"):
        return
    build_parser(words[0])[0].parse_args([word for word in words[1:] if word != "…"])
    assert capsys.readouterr().err == "", f"{file} uses an old spelling: {line}"
