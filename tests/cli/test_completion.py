"""Completion, sourced by a real bash; the scripts for other shells name the same things."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pippin.cli.completion import completed
from pippin.cli.main import COMMANDS, main

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    found = {}
    for shell in ("bash", "zsh", "fish"):
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w", encoding="utf-8") as out:
            patch.setattr("sys.stdout", out)
            assert main(["completion", shell]) == 0
        found[shell] = folder / shell
    return found


def bash(script: Path, program: str) -> str:
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", f"source {script}\n{program}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
    )
    assert done.stderr == ""
    return done.stdout


def replies(script: Path, *words: str) -> list[str]:
    """What bash offers after these words; the last is being typed."""
    typed = " ".join(f"'{word}'" for word in words)
    program = f"COMP_WORDS=(pippin {typed}); COMP_CWORD={len(words)}; _pippin; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return bash(script, program).split()


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ev"], ["eval"]),
        (["eval", "--to"], ["--tool", "--top-label", "--topic-ids"]),
        (["eval", "--tool", "letor"], ["letor3", "letor4"]),
        (["eval", "-t", "yahoo,lett"], []),
        (["eval", "-t", "yahoo,letor"], ["yahoo,letor3", "yahoo,letor4"]),
        (["eval", "--measure", "ND"], ["NDCG"]),
        (["eval", "--format", "mark"], ["markdown"]),
        (["eval", "--ties", "exp"], ["expected"]),
        (["train", "-r", "lambdam"], ["lambdamart"]),
        (["features", "ohs"], ["ohsumed"]),
        (["tools", "trec_eval1"], ["trec_eval10"]),
        (["as", "gd"], ["gdeval"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["--import", "mine", "leaderb"], ["leaderboard"]),
        (["convert", "ba"], []),
        (["rank", "--out", "ba"], ["bash"]),
    ],
)
def test_bash_offers(scripts: dict[str, Path], words: list[str], offered: list[str]) -> None:
    assert replies(scripts["bash"], *words) == offered


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
def test_bash_registers_and_names_every_command(scripts: dict[str, Path]) -> None:
    assert "-F _pippin pippin" in bash(scripts["bash"], "complete -p pippin")
    assert set(replies(scripts["bash"], "")) == {"--help", "--version", *COMMANDS}
    for command in completed():
        if command.flags:
            flags = {name for flag in command.flags for name in flag.names}
            assert set(replies(scripts["bash"], command.name, "-")) == flags


def test_other_shells_name_the_same(scripts: dict[str, Path]) -> None:
    zsh, fish = scripts["zsh"].read_text("utf-8"), scripts["fish"].read_text("utf-8")
    assert zsh.startswith("#compdef pippin\n")
    for command in completed():
        assert f"_pippin_{command.name}() {{" in zsh
        assert f"-f -a {command.name} -d " in fish
        own = zsh.split(f"_pippin_{command.name}() {{")[1].split("\n}")[0]
        lines = [line for line in fish.splitlines() if f"__fish_seen_subcommand_from {command.name}'" in line]
        for flag in command.flags:
            spelled = flag.names[-1]
            assert spelled in own
            assert any(f"-l {spelled[2:]} " in line for line in lines)
            assert all(word in own for word in flag.words)
    # every text in quotes that a quote inside does not end
    assert zsh.replace("'\\''", "").count("'") % 2 == 0
    assert fish.replace("\\'", "").count("'") % 2 == 0
