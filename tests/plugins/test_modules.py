"""`--import`: modules by name or path, in any position, repeated or broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.packages import MEASURE, TOOL, pippin, query_tf, write

from pippin.cli.main import COMMANDS, main

MINE = MEASURE.format(name="Mine", factor=10)
EVAL = ("eval", "test.txt", "scores.txt", "-f", "csv")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "as"])
def test_every_command_takes_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "--import MODULE" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        (*EVAL, "-m", "Mine@1", "--import", "mine"),
        (*EVAL, "-m", "mine@1", "--import=mine.py"),
        ("--import", "./mine.py", *EVAL, "-m", "Mine@1"),
        ("--import", "mine", *EVAL, "-m", "Mine@1", "--import", "mine.py", "--import", "mine,mine"),
        ("--import", "inner/mine.py", *EVAL, "-m", "Mine@1", "--import", "inner.mine"),
        ("--import", "twin.py", *EVAL, "-m", "Mine@1", "--import", "twin"),
    ],
)
def test_a_measure_is_there(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    folder = write(tmp_path, mine=MINE, twin="import importlib.util as u\nimport sys\n" + MINE)
    write(folder / "inner", __init__="", mine=MINE)
    done = pippin(*arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5.0" in done.stdout  # P@1 is 1 and 0, times ten


def test_a_file_may_be_called_like_a_module_of_python(tmp_path: Path) -> None:
    done = pippin(*EVAL, "-m", "Mine@1", "--import", "json.py", cwd=write(tmp_path, json=MINE))
    assert done.returncode == 0
    assert "5.0" in done.stdout


def test_a_module_finds_its_neighbours(tmp_path: Path) -> None:
    folder = write(tmp_path / "else", mine="import helper", helper=MINE)
    done = pippin("measures", "Mine", "--import", str(folder / "mine.py"), cwd=tmp_path)
    assert done.stdout.startswith("Mine — 10 times precision")


def test_import_finder_does_not_recurse(tmp_path: Path) -> None:
    """`sysconfig` imports a module when it is first asked; asked by what finds modules, it began anew without end."""
    text = "import sysconfig\nsysconfig.get_path = sysconfig.get_paths = None\nimport helper"
    folder = write(tmp_path, mine=text, helper=MINE)
    done = pippin("measures", "Mine", "--import", str(folder / "mine.py"), cwd=tmp_path)
    assert done.stdout.startswith("Mine — 10 times precision")


def test_drop_ins_take_it_before_their_name(tmp_path: Path) -> None:
    drop_in = """
    from pippin.compat import register

    @register("mine")
    def main(arguments, out, err):
        out.write(" ".join(arguments))
        return 3
    """
    folder = write(tmp_path, mine=drop_in)
    for arguments in (("as", "--import", "mine"), ("--import", "mine", "as")):
        done = pippin(*arguments, "mine", "--import", "x", cwd=folder)
        assert (done.returncode, done.stdout) == (3, "--import x")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import no_such_thing", "No module named 'no_such_thing'"),
        ("x = 1 +", "invalid syntax (bad.py, line 1)"),
        ("\n\nunknown", "NameError: name 'unknown' is not defined (bad.py, line 3)"),
        ("raise SystemExit('enough')", "SystemExit: enough (bad.py, line 1)"),
        (MEASURE.format(name="NDCG", factor=1), "the measure 'NDCG' is registered twice: by bad"),
        (MINE + MINE, "the measure 'Mine' is registered twice: by bad"),
        ("from pippin.evaluation.measures import MEASURE_DEFINITIONS\nMEASURE_DEFINITIONS.register('Mine', 7)",
         "the measure 'Mine' must be a MeasureDefinition, got 7"),
        ("from pippin.rankers import register\n@register('mine')\nclass A:\n    pass",
         "the ranker 'mine' must be a subclass of Ranker"),
    ],
)  # fmt: skip
def test_a_broken_module_is_reported(tmp_path: Path, text: str, sentence: str) -> None:
    line = query_tf(pippin(*EVAL, "--import", "bad", cwd=write(tmp_path, bad=text)))
    assert line.startswith("pippin: the module bad cannot be imported: ")
    assert sentence in line


def test_no_such_module(tmp_path: Path) -> None:
    write(tmp_path)
    assert query_tf(pippin(*EVAL, "--import", "no.py", cwd=tmp_path)).endswith(
        "no.py cannot be imported: there is no such file"
    )
    assert query_tf(pippin("--import", cwd=tmp_path)).startswith("pippin: --import needs")


def test_two_files_cannot_have_one_name(tmp_path: Path) -> None:
    folder = write(tmp_path, one=TOOL.format(name="t", empty=0.0), two=TOOL.format(name="t", empty=1.0))
    line = query_tf(pippin("tools", "--import", "one", "--import", "two", cwd=folder))
    assert f"the tool 't' is registered twice: by one ({folder / 'one.py'}), two ({folder / 'two.py'})" in line


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("1 / 0", "the plugin mine.py failed: ZeroDivisionError: division by zero (mine.py, line 6)"),
        ("[1.0]", "Mine must return 2 numbers, one per query, got float64(1,)"),
        ("'many'", "Mine must return 2 numbers, one per query, got <U4()"),
    ],
)
def test_a_measure_that_fails_is_reported(tmp_path: Path, value: str, sentence: str) -> None:
    formula = '1 * ranking.compute("p", rules(ranking, convention, measure))'
    text = MEASURE.format(name="Mine", factor=1).replace(formula, value)
    line = query_tf(pippin(*EVAL, "-m", "Mine", "--import", "mine", cwd=write(tmp_path, mine=text)))
    assert sentence in line
