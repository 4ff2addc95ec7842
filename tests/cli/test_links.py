"""`pippin links` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.cli.main import main

PAGES = {
    "index.html": "<title>Orchard</title><a href=apples/>apples</a> <a href=pears.html>pears</a> <a href=#x>here</a>",
    "apples/index.html": "<title>Apples</title><a href=../index.html>home</a> <a href=pippin.html>pippin</a>",
    "apples/pippin.html": "<title>Pippin</title><a href=./>apples</a> <a href=http://b.gov/>far</a>",
    "pears.html": "<title>Pears</title>",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        file = tmp_path / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "pages"


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["links", *arguments]) == 0
    return capsys.readouterr().out


def test_sizes_and_ranks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, str(folder), "--top", "2", "-f", "csv")
    for line in ("pages,4", "links between them,5", '"self-links, ignored",1', "links to other pages,1",
                 "depth of the sitemap,2", "hosts,1", "pages without out-links,1"):  # fmt: skip
        assert line in text
    # in-links: apples 2; the index, pippin and pears 1
    assert "0,,1,2,1\n1,3,1,1,2\n2–3,1,2,1,1" in text
    by_links = text.split("by in-links,value\n")[1].splitlines()
    assert by_links[0] == "apples/index.html  /apples/index.html,2".replace(
        "apples/index.html  /", "apples/index.html  /"
    )
    for rank in ("PageRank ×10⁵", "authority", "hub", "in-links", "out-links"):
        assert f"by {rank},value" in text


def test_a_pages_neighbours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, str(folder), "--around", "apples/")
    assert "in-links (2)" in text
    assert "out-links (2)" in text
    assert "children (1)" in text
    assert "siblings (1)" in text
    parent = next(line for line in text.splitlines() if line.startswith("parent"))
    assert parent.split()[1] == "index.html"


def test_files_and_kept_webs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, letor = tmp_path / "kept", tmp_path / "letor"
    first = output(capsys, str(folder), "--save", str(stored), "--files", str(letor))
    assert sorted(file.name for file in letor.iterdir()) == ["docmap.txt", "linkgraph.txt", "links.schema.json",
                                                             "sitemap.txt"]  # fmt: skip
    assert output(capsys, str(stored)) == first


def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["links", str(folder), "--around", "plums"]) == 2
    assert capsys.readouterr().err == "pippin: no page has the id or URL 'plums'\n"
    assert main(["links", str(folder / "nowhere")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
