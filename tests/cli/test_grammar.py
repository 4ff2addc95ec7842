"""One grammar for all commands: the same flag is the same thing everywhere, and everything can be had as JSON."""

from __future__ import annotations

import argparse
import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest

from pippin.cli.main import COMMANDS, GROUPS, main, overview, parser_of
from pippin.cli.options import FLAGS, Former, Old, Several, only
from pippin.cli.parser import Parser
from pippin.errors import ConventionError
from pippin.registry import between_commas
from pippin.tables import FORMATS
from pippin.terminal import Screen

PARSED = [name for name in COMMANDS if name != "as"]
_EVERYWHERE = ("--help", "--no-color", "--import", "--max-bytes")
DOCS = Path(__file__).resolve().parents[2]


def actions(name: str, hidden: bool = False) -> list[argparse.Action]:
    """The flags of a command: those that help shows, or those that it hides."""
    found = parser_of(name)[0]._actions
    return [a for a in found if a.option_strings and (a.help == argparse.SUPPRESS) == hidden]


def test_a_flag_of_several_commands_is_declared_once_and_means_one_thing() -> None:
    uses: dict[str, dict[str, argparse.Action]] = defaultdict(dict)
    for name in PARSED:
        for action in actions(name):
            for flag in action.option_strings:
                uses[flag][name] = action
    everywhere = {a.option_strings[-1] for a in Parser("pippin x")._actions}
    declared = {names: flag for flag in FLAGS.values() for names in flag.names}
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
            for flag in FLAGS.values():
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
    for action in parser_of(name)[0]._actions:
        assert action.help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_a_purpose_and_ends_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    import importlib

    command = importlib.import_module(f"pippin.cli.{COMMANDS[name][0]}")
    purpose = command.HELP.split("\n\n")[0]
    assert "\n" not in purpose
    assert purpose.endswith(".")
    assert len(purpose) <= 120
    assert 1 <= len(command.EXAMPLES) <= 3
    assert all(line.startswith(f"pippin {name}") for line in command.EXAMPLES)
    parser = parser_of(name)[0]
    assert parser.format_help().rstrip().splitlines()[-1].strip() in " ".join(command.EXAMPLES)


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_is_a_line_with_what_must_be_given(name: str) -> None:
    parser = parser_of(name)[0]
    usage, empty, *_ = parser.format_help().splitlines()
    assert not empty
    assert usage.startswith(f"usage: pippin {name} ")
    assert usage.endswith(" [OPTION …]")
    for action in parser._actions:
        if action.option_strings:
            assert (action.option_strings[-1] in usage.split()) == action.required


@pytest.mark.parametrize("name", PARSED)
def test_what_every_command_takes_comes_last_in_its_help(name: str) -> None:
    text = parser_of(name)[0].format_help()
    own, _, common = text.partition("of every command:\n")
    for action in actions(name):
        assert f" {action.option_strings[-1]}" in (common if action.option_strings[-1] in _EVERYWHERE else own)


def test_help_names_the_axes_and_help_of_a_command_explains_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    short = capsys.readouterr().out
    assert main(["help", "eval"]) == 0
    full = capsys.readouterr().out
    assert "--ap-denominator" in short
    assert "`pippin help eval` tells what each does" in short
    assert "AP divides by" not in short
    assert "AP divides by" in full
    assert len(short.splitlines()) < 60 < len(full.splitlines())
    assert main(["help", "evl"]) == 2
    assert "no command is called 'evl'; did you mean eval" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = parser_of(name)[0].format_help().splitlines()
    usage = lines.index("")  # argparse breaks no flag with its alternatives
    assert not [line for line in lines[usage:] if len(line) > columns]


def test_the_overview_has_every_command_in_a_group() -> None:
    text = overview(Screen(columns=80))
    assert all(len(line) <= 80 for line in text.splitlines())
    for group, commands in GROUPS.items():
        assert group in text
        for name, (_, what) in commands.items():
            assert re.search(rf"^  {name} ", text, re.M)
            assert len(what) <= 80


OLD = [(name, action) for name in PARSED for action in actions(name, hidden=True)]


@pytest.mark.parametrize(("name", "action"), OLD, ids=[f"{n} {a.option_strings[0]}" for n, a in OLD])
def test_old_spellings_go_on_working_with_a_hint(
    name: str, action: argparse.Action, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = parser_of(name)[0]
    for each in parser._actions:
        each.required = False
        each.nargs = "?" if not each.option_strings and each.nargs is None else each.nargs
        each.nargs = "*" if each.nargs == "+" else each.nargs
    value = [] if action.nargs == 0 else [str(next(iter(action.choices))) if action.choices else "3"]
    options = parser.parse_args([action.option_strings[0], *value])
    assert f"{action.option_strings[0]} is now " in capsys.readouterr().err
    if isinstance(action, Old):
        modern = parser.parse_args([action.new.option_strings[-1], *value])
        assert getattr(options, action.dest) == getattr(modern, action.dest)
        assert capsys.readouterr().err == ""
    else:
        assert isinstance(action, Former)


def test_files_may_stand_on_both_sides_of_flags() -> None:
    parser, _ = parser_of("eval")
    scattered = parser.parse_args(["judged.txt", "-m", "MAP", "a.run", "--tool", "gdeval", "b.run"])
    assert scattered == parser.parse_args(["judged.txt", "a.run", "b.run", "-m", "MAP", "--tool", "gdeval"])


def test_names_are_joined_by_commas_or_repeated() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", action=Several, default=["MAP"])
    assert parser.parse_args([]).m == ["MAP"]
    assert parser.parse_args(["-m", "a,b", "-m", "P(rel=2,gain=exp2)@5"]).m == ["a", "b", "P(rel=2,gain=exp2)@5"]
    assert parser.parse_args([]).m == ["MAP"]
    assert between_commas("gas(k=20,c=1) > ranksvm, mart") == ["gas(k=20,c=1) > ranksvm", "mart"]
    assert only(["a"], "--x") == "a"
    assert only(None, "--x") is None
    with pytest.raises(ConventionError, match="--x takes one name here, not 2"):
        only(["a", "b"], "--x")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["eval", "q", "r", "--fromat", "csv"],
            "eval: it takes no --fromat; did you mean --format? (see pippin eval",
        ),
        (["tools", "--format", "yaml"], "invalid choice: 'yaml'"),
        (["eval"], "the following arguments are required: JUDGED"),
        (["tools", "a", "b\x1b[2J"], r"it takes no b\x1b[2J"),
        (["train", "x", "-r", "a,b", "-o", "m"], "--ranker takes one name here, not 2"),
    ],
)
def test_wrong_arguments_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.startswith("pippin: ")
    assert err.count("\n") == 1


def documented() -> list[tuple[str, str]]:
    """Every command in the console blocks of the docs."""
    found = []
    for path in (DOCS / "README.md", *sorted((DOCS / "docs").glob("*.md"))):
        for block in re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), re.S):
            text = block.replace("\\\n", " ")
            found += [(path.name, line[2:]) for line in text.splitlines() if line.startswith("$ pippin ")]
    return found


@pytest.mark.parametrize(("file", "line"), documented())
def test_documented_commands_are_of_this_grammar(file: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "#", True
    words = list(itertools.takewhile(lambda word: word not in {"|", ">", "&&", ";"}, lexer))[1:]
    while words and words[0] in ("--import", "--no-color"):
        words = words[2 if words[0] == "--import" else 1 :]
    if words[0] == "as" or words[0].startswith("-"):
        return
    parser_of(words[0])[0].parse_args([word for word in words[1:] if word != "…"])
    assert capsys.readouterr().err == "", f"{file} uses an old spelling: {line}"


def test_an_old_spelling_is_told_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    results = str(tmp_path / "results")
    assert main(["bench", "nowhere", "--rankers", "ranksvm", "--rankers", "regression", "-o", results]) == 2
    assert capsys.readouterr().err.count("--rankers is now --ranker") == 1
