"""Untrusted text is escaped on terminals, and errors of the system are reported without a traceback."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pippin.cli.main import main
from pippin.display.tables import (
    FORMATS,
    BulletList,
    Heading,
    KeyValues,
    Paragraph,
    Renderable,
    Table,
    latex,
    render_all,
    spreadsheet,
)
from pippin.display.terminal import Terminal, display_width, use_terminal
from pippin.reports.paper import file_name, unique

EVIL = "a\x1b]0;x\x07\u202eb\x9b2J\r\nc\\input{x} %<script>|=1"
EVIL_NAME = "evil\x1b[31m.csv"
PIPPIN = [sys.executable, "-m", "pippin"]


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Qrels and runs whose ids and file names are full of control characters."""
    monkeypatch.chdir(tmp_path)
    query, document = "q\x1b[2J", "d\x9b\u202e\r\nx"
    (tmp_path / "judged.csv").write_text(
        f'query,document,label\n{query},"{document}",1\n{query},other,0\np,d,1\np,e,0\n', encoding="utf-8", newline=""
    )
    for name in (EVIL_NAME, "=1+1.csv"):
        (tmp_path / name).write_text(
            f'query,document,score\n{query},"{document}",1.0\n{query},other,0.5\np,e,2\np,d,1\n', encoding="utf-8",
            newline="",
        )  # fmt: skip
    return tmp_path


GOOD = (
    ("eval", "judged.csv", EVIL_NAME, "=1+1.csv"),
    ("eval", "judged.csv", EVIL_NAME, "--per-query"),
    ("compare", "judged.csv", EVIL_NAME, "=1+1.csv", "-t", "letor4", "--test", "sign"),
    ("compare", "judged.csv", EVIL_NAME, "=1+1.csv", "-t", "letor4", "--test", "sign", "--per-query"),
    ("reconcile", "judged.csv", EVIL_NAME, "-t", "yahoo,letor4", "--per-query"),
    ("audit", "judged.csv", "--run", EVIL_NAME),
)
BAD = (
    ("eval", "judged.csv", "nowhere\x1b[2J"),
    ("eval", "judged.csv", EVIL_NAME, "--tool", "\x1b[2J"),
    ("tools", "\x9b2J"),
    ("\x1b[2J",),
    ("rank", "\x1b[2J", "x"),
    ("features", "\x1b[2J"),
)


def strings(record: Any) -> list[str]:
    """Every text in a record, keys too."""
    if isinstance(record, dict):
        return [text for pair in record.items() for item in pair for text in strings(item)]
    if isinstance(record, list):
        return [text for item in record for text in strings(item)]
    return [record] if isinstance(record, str) else []


@pytest.mark.parametrize("command", [*GOOD, *BAD])
@pytest.mark.parametrize("form", ["table", "markdown", "latex", "json"])
def test_no_control_character_reaches_a_reader(
    hostile: Path, command: tuple[str, ...], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    has_format = command[0] in ("eval", "compare", "reconcile", "audit", "tools", "features")
    status = main([*command, *(["--format", form] if has_format else [])])
    captured = capsys.readouterr()
    assert status == (0 if command in GOOD else 2), captured.err
    for text in (captured.out, captured.err):
        assert not set(text) & {"\x1b", "\x9b", "\u202e", "\r", "\x07"}
    if status == 2:
        assert captured.err.count("\n") == 1
    elif form == "json":
        assert "\x1b" in "".join(strings(json.loads(captured.out)))


def test_csv_of_reports_computes_nothing_and_keeps_the_rest(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "judged.csv", EVIL_NAME, "=1+1.csv", "--format", "csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[0] for row in rows[1:]] == [EVIL_NAME, "'=1+1.csv"]


def test_data_are_converted_as_they_are(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hostile / "formulas.run").write_text("=1+1 Q0 @d 1 -0.5 t\n")
    assert main(["convert", "formulas.run", "formulas.csv"]) == 0
    assert "=1+1,@d," in Path("formulas.csv").read_text()
    assert main(["convert", "formulas.csv", "back.run"]) == 0
    assert Path("back.run").read_text().split()[0] == "=1+1"


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd", "@sum", "\tx", "\r=1"])
def test_formulas_get_an_apostrophe(cell: str) -> None:
    assert spreadsheet(cell) == f"'{cell}"
    assert next(csv.reader(io.StringIO(Table([cell], []).render("csv"), newline=""))) == [f"'{cell}"]


@pytest.mark.parametrize("cell", ["-0.5", "+1e3", "0.25", "−0.1", "x=1", ""])
def test_numbers_and_names_stay(cell: str) -> None:
    assert spreadsheet(cell) == cell


def test_every_part_of_a_page_for_people_is_escaped() -> None:
    parts: list[Renderable] = [
        Heading(EVIL),
        Paragraph(EVIL),
        KeyValues([(EVIL, EVIL)]),
        BulletList([EVIL]),
        Table([EVIL], [[EVIL]], notes=[EVIL]),
    ]
    for form in ("table", "markdown", "latex"):
        text = render_all(parts, form)
        assert not set(text) & {"\x1b", "\x9b", "\u202e", "\r", "\x07"}
        # a newline in a name never starts a line
        assert not any(line.startswith(("c\\", "c%")) for line in text.splitlines())
    assert "<script" not in render_all(parts, "markdown")
    body = [line for line in render_all(parts, "latex").splitlines() if not line.startswith("%")]
    assert r"\input" not in "\n".join(body)
    assert not any("%" in line.replace(r"\%", "") for line in body)


def test_latex_takes_no_cell_for_an_argument() -> None:
    text = Table(["a", "b"], [["[0, 1]", "x"], ["*", "y"]]).render("latex")
    assert r"{[}0, 1] & x \\" in text
    assert r"{*} & y \\" in text
    assert latex("\\ & % $ # _ { } ~ ^") == (
        r"\textbackslash{} \& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{}"
    )


def test_exported_files_have_names_of_their_own() -> None:
    names = ["a b", "a-b", "A-B", "a/b", "winning", "..", "x" * 300]
    files = [file for file, _ in unique((file_name(name), name) for name in names)]
    assert files[:4] == ["a-b", "a-b-2", "A-B-3", "a-b-4"]
    assert len({file.casefold() for file in files}) == len(names)
    assert max(map(len, files)) <= 90


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120])
def test_no_table_is_wider_than_the_screen(columns: int) -> None:
    rows = [["a name that is long" * 3, "0.123456", "words and more words " * 5, "語" * 40], ["b", "1", "", ""]]
    table = Table(
        ["name", "number", "a long heading of many words", "remark"],
        rows,
        trailing_text=2,
        notes=["note " * 40],
    )
    with use_terminal(Terminal(columns=columns, colour=False)):
        lines = table.render().splitlines()
    assert max(map(display_width, lines)) <= columns
    joined = "".join("".join(lines).split())
    assert joined.count("語") == 40
    assert "0.123456" in joined


def test_a_wide_table_is_cut_into_bands_under_its_names() -> None:
    table = Table(["ranker", *(f"NDCG@{k}" for k in range(1, 11))], [["ranksvm", *["0.1234"] * 10]])
    with use_terminal(Terminal(columns=50)):
        text = table.render()
    assert text.count("ranksvm") == text.count("ranker") == 2
    assert text.count("0.1234") == 10


def test_plain_tables_stay_aligned() -> None:
    table = Table(["τ", "≥"], [["–", "0.5"], ["語", "1×"]])
    with use_terminal(Terminal(encoding="ascii")):
        lines = table.render().splitlines()
    assert lines == ["tau      >=", "------  ---", "-       0.5", "\\u8a9e   1x"]


def test_colours_mark_headings_and_the_best() -> None:
    with use_terminal(Terminal(colour=True)):
        text = Table(["ranker", "MAP"], [["a", "0.5"]], highlighted={(0, 1)}, notes=["n"]).render()
    assert "\x1b[1mranker\x1b[0m" in text
    assert "\x1b[1;32m0.5\x1b[0m" in text
    assert "\x1b[2mn\x1b[0m" in text
    assert "\x1b" not in Table(["ranker"], [["a"]], highlighted={(0, 0)}).render()


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    line = command.replace("pippin", " ".join(PIPPIN))
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    lines = (f"{i % 3} qid:{i // 20} 1:0.{i} 2:0.{i * 7} #docid = d{i}\n" for i in range(40_000))
    (folder / "test.txt").write_text("".join(lines))
    (folder / "scores.txt").write_text("".join(f"{i * 37 % 1009}\n" for i in range(40_000)))
    return folder


@pytest.mark.parametrize(
    "command",
    ["pippin convert - - --to csv < test.txt", "pippin convert test.txt - --to letor",
     "pippin eval test.txt scores.txt --per-query", "pippin eval test.txt scores.txt --per-query -f json",
     "pippin tools -f json", "pippin features", "pippin --help", "pippin eval --help", "pippin completion zsh",
     "pippin as trec_eval"],
)  # fmt: skip
def test_a_reader_that_leaves_is_no_news(large: Path, command: str) -> None:
    done = shell(f"{command} | head -n 1 > /dev/null", large)
    assert "Traceback" not in done.stderr
    assert "roken" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
@pytest.mark.parametrize(
    "command",
    [
        "pippin tools",
        "pippin eval --help",
        "pippin --version",
        "pippin convert test.txt - --to csv",
        "pippin measures -f json",
    ],
)
def test_a_full_disk_is_reported(large: Path, command: str) -> None:
    done = shell(f"{command} > /dev/full", large)
    assert done.returncode == 2
    assert done.stderr.lower().count("no space left on device") == 1
    assert done.stderr.count("\n") == 1


def test_a_closed_output_is_no_traceback(large: Path) -> None:
    done = shell("pippin tools >&-", large)
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
@pytest.mark.parametrize("command", ["tools", "eval test.txt scores.txt -t all", "--help", "eval --help", "rankers"])
def test_output_that_is_not_utf8_is_plain(large: Path, command: str, encoding: str) -> None:
    done = subprocess.run(
        [*PIPPIN, *command.split()], cwd=large, capture_output=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"},
    )  # fmt: skip
    assert done.stderr == b""
    assert len(done.stdout.decode(encoding)) > 100


def test_system_errors_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("1 qid:1 1:1\n")
    for arguments in (
        ["index", str(tmp_path / "file"), "-o", str(tmp_path / "file" / "below")],
        ["eval", str(tmp_path / "folder"), str(tmp_path / "file")],
        ["rankers", "--out", str(tmp_path / "folder")],
        ["rankers", "--out", str(tmp_path / "nowhere" / "x")],
        ["synthetic", "--size", "5", "--out", str(tmp_path / "file")],
        ["links", "stdlib", "--save", "/proc/nothing"],
        ["bench", str(tmp_path / "file"), "--out", str(tmp_path / "file")],
        ["train", str(tmp_path / "file"), "-r", "regression", "-o", str(tmp_path / "folder")],
    ):
        assert main(arguments) == 2, arguments
        err = capsys.readouterr().err
        assert err.startswith("pippin: ")
        assert err.count("\n") == 1, err


def test_a_missing_system_library_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.txt").write_text("".join(f"{i % 3} qid:{i // 6} 1:{i % 3}\n" for i in range(60)))
    (tmp_path / "lightgbm.py").write_text(
        "raise OSError('libgomp.so.1: cannot open shared object file: No such file or directory')\n"
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "lightgbm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["train", str(tmp_path / "train.txt"), "-r", "mart", "-o", str(tmp_path / "model.json"), "-q"]) == 2
    sentence = "pippin: LightGBM needs the system library libgomp.so.1: apt install libgomp1 (Debian, Ubuntu)"
    assert sentence in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root is refused nothing")
def test_no_permission_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut").chmod(stat.S_IREAD | stat.S_IEXEC)
    assert main(["synthetic", "--size", "5", "--out", str(tmp_path / "shut" / "x")]) == 2
    assert "permission denied" in capsys.readouterr().err


def test_formats_are_those_of_every_command() -> None:
    assert FORMATS == ("table", "json", "csv", "markdown", "latex")
