"""LETOR's link files: writing, reading and contradictions."""

from __future__ import annotations

import json
from pathlib import Path

from tests.collections.six_pages import micro_web

from pippin.collections.letor.link_files import write_link_files


def test_the_files_of_the_worked_example(tmp_path: Path) -> None:
    write_link_files(micro_web(), tmp_path / "letor")
    folder = tmp_path / "letor"
    assert (folder / "linkgraph.txt").read_text() == (
        "# page in-links source …\n0 2 1 3\n1 2 0 2\n2 2 0 1\n3 1 4\n4 1 0\n5 0\n"
    )
    assert (folder / "sitemap.txt").read_text() == (
        "# page depth url-length children parent\n0 0 6 1 -1\n1 1 11 1 0\n2 1 21 0 1\n3 0 16 1 -1\n4 1 20 0 3\n"
        "5 0 12 0 -1\n"
    )
    assert (folder / "docmap.txt").read_text() == "# page document\n0 d1\n1 d2\n2 d3\n3 d4\n4 d5\n5 d6\n"
    schema = json.loads((folder / "links.schema.json").read_text())
    assert [f["name"] for f in schema["sitemap.txt"]["fields"]] == ["page", "depth", "url-length", "children", "parent"]
