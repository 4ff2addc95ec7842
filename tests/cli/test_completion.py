"""Shell completion scripts: bash runs its script; the other scripts list the same commands and words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pippin.cli.main import COMMANDS, main

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    results = {}
    for shell in ("bash", "zsh", "fish", "tcsh"):
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w", encoding="utf-8") as out:
            patch.setattr("sys.stdout", out)
            assert main(["completion", shell]) == 0
        results[shell] = folder / shell
    return results


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
    """Return what bash offers for these words; the last is incomplete."""
    typed = " ".join(f"'{word}'" for word in words)
    program = (
        f"COMP_WORDS=(pippin {typed}); COMP_CWORD={len(words)}; _shtab_pippin; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return bash(script, program).split()


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ev"], ["eval"]),
        (["eval", "--to"], ["--tool"]),
        (["eval", "--tool", "letor"], ["letor3", "letor4"]),
        (["eval", "--measure", "ND"], ["NDCG"]),
        (["eval", "--format", "mark"], ["markdown"]),
        (["eval", "--ties", "exp"], ["expected"]),
        (["train", "-r", "lambdam"], ["lambdamart"]),
        (["features", "ohs"], ["ohsumed"]),
        (["tools", "trec_eval1"], ["trec_eval10"]),
        (["as", "gd"], ["gdeval"]),
        (["completion", ""], ["bash", "zsh", "fish", "tcsh"]),
        (["convert", "ba"], ["bash"]),
        (["rank", "--out", "ba"], ["bash"]),
    ],
)
def test_bash_offers(scripts: dict[str, Path], words: list[str], offered: list[str]) -> None:
    assert replies(scripts["bash"], *words) == offered


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
def test_bash_registers_and_names_every_command(scripts: dict[str, Path]) -> None:
    assert "-F _shtab_pippin pippin" in bash(scripts["bash"], "complete -p pippin")
    assert set(replies(scripts["bash"], "")) == set(COMMANDS)
    assert {"--measure", "--tool", "--format", "--no-color"} <= set(replies(scripts["bash"], "eval", "-"))


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh"])
def test_the_script_of_every_shell_names_commands_and_registered_words(scripts: dict[str, Path], shell: str) -> None:
    script = scripts[shell].read_text("utf-8")
    for word in (*COMMANDS, "trec_eval10", "lambdamart", "per-query"):
        assert word in script
