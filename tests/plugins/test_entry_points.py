"""Entry points of installed packages are loaded on first use only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.packages import MEASURE, TOOL, install, pippin, query_tf, write

MINE = MEASURE.format(name="Mine", factor=10).replace(
    '("relevance_threshold",))', '("relevance_threshold",), aliases=("my_own",))'
)
EVAL = ("eval", "test.txt", "scores.txt", "-f", "csv")
PROMISES = {"pippin.measures": {"Mine": "measured"}, "pippin.tools": {"mine": "tooled"}}
MODULES = {"measured": MINE, "tooled": TOOL.format(name="mine", empty=1.0)}
# Loud when it is imported.
LOUD = {"pippin.measures": {"Loud": "loud"}, "pippin.tools": {"loud": "loud"}, "pippin.rankers": {"loud": "loud"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "here")


def test_names_are_known_and_listed(tmp_path: Path, folder: Path) -> None:
    path = install(tmp_path / "site", "bringer", PROMISES, **MODULES)
    for measure in ("Mine@1", "mine@1", "my_own@1"):
        done = pippin(*EVAL, "-m", measure, "-t", "mine", cwd=folder, path=path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "5.0" in done.stdout
    assert "mine" in pippin("tools", "-f", "csv", cwd=folder, path=path).stdout
    assert "Mine" in pippin("measures", "-f", "csv", cwd=folder, path=path).stdout
    assert "did you mean Mine@1" in query_tf(pippin(*EVAL, "-m", "Mien@1", cwd=folder, path=path))


def test_nothing_is_imported_for_names_that_are_known(tmp_path: Path, folder: Path) -> None:
    path = install(tmp_path / "site", "bringer", LOUD, loud="raise SystemExit('loud')")
    done = pippin(*EVAL, "-m", "NDCG@10", "-m", "MAP", "-t", "official", cwd=folder, path=path)
    assert (done.returncode, done.stderr) == (0, "")
    for command in (("tools",), ("measures",), ("rankers",), (*EVAL, "-t", "all"), (*EVAL, "-m", "Loud")):
        assert "of bringer 1.0 (pippin." in query_tf(pippin(*command, cwd=folder, path=path))


def test_both_ways_at_once(tmp_path: Path, folder: Path) -> None:
    path = install(tmp_path / "site", "bringer", PROMISES, **MODULES)
    ways = ("--import", "measured", "--import", str(path / "measured.py"), "--import", str(path / "tooled.py"))
    done = pippin(*ways, *EVAL, "-m", "Mine@1", "-t", "all", cwd=folder, path=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mine" in pippin(*ways, "tools", "-f", "csv", cwd=folder, path=path).stdout


@pytest.mark.parametrize(
    ("value", "text", "sentence"),
    [
        ("bad", "import no_such_thing", "cannot be loaded: No module named 'no_such_thing'"),
        ("bad:nothing", "", "cannot be loaded: AttributeError: module 'bad' has no attribute 'nothing'"),
        ("bad", "1 / 0", "cannot be loaded: ZeroDivisionError: division by zero (bad.py, line 1)"),
        ("bad", "", "does not register a measure of that name"),
        ("bad", MEASURE.format(name="NDCG", factor=1),
         "cannot be loaded: the measure 'NDCG' is registered twice: by bad (bringer 1.0)"),
    ],
)  # fmt: skip
def test_a_broken_plug_in_is_reported(tmp_path: Path, folder: Path, value: str, text: str, sentence: str) -> None:
    path = install(tmp_path / "site", "bringer", {"pippin.measures": {"Mine": value}}, bad=text)
    line = query_tf(pippin(*EVAL, "-m", "Mine", cwd=folder, path=path))
    assert line == f"pippin: the plugin 'Mine' of bringer 1.0 (pippin.measures: {value}) {sentence}"


def test_a_promise_of_a_name_that_pippin_has(tmp_path: Path, folder: Path) -> None:
    path = install(tmp_path / "site", "bringer", {"pippin.tools": {"letor4": "tooled"}}, tooled="")
    line = query_tf(pippin("tools", cwd=folder, path=path))
    assert line.endswith("of bringer 1.0 (pippin.tools: tooled) has the name of a built-in tool; rename it")


def test_two_packages_with_one_name(tmp_path: Path, folder: Path) -> None:
    path = install(tmp_path / "site", "bringer", PROMISES, **MODULES)
    install(path, "other", {"pippin.tools": {"mine": "else_where"}}, else_where="")
    line = query_tf(pippin("tools", cwd=folder, path=path))
    assert "bringer 1.0" in line
    assert "other 1.0" in line
    assert "uninstall one of them" in line


def test_a_set_of_features(tmp_path: Path, folder: Path) -> None:
    text = """
    from pippin.collections.features import SETS, FeatureSet

    SETS.register("few", FeatureSet("few", "two", "a test", ("title",), ("tf@title", "idf@title")))
    """
    path = install(tmp_path / "site", "bringer", {"pippin.feature_sets": {"few": "sets"}}, sets=text)
    assert "idf@title" in pippin("features", "few", cwd=folder, path=path).stdout
    assert "few" in pippin("features", "-f", "csv", cwd=folder, path=path).stdout
