"""The link index of a collection: build once, store, open."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.collections.six_pages import MICRO, PlainIndex, micro_web
from tests.tampering import forge

from pippin.collections.collection import Collection
from pippin.collections.links.graph import add_anchor_texts
from pippin.collections.links.link_index import FORMAT, LinkIndex
from pippin.errors import DataError
from pippin.storage.manifest import dump_with_checksum


def test_link_index_contents() -> None:
    web = LinkIndex.of(MICRO)
    assert repr(web) == "Web('micro': 6 pages, 8 links, 3 hosts, 1 topics)"
    assert list(web.host_names) == ["a.gov", "b.gov", "c.gov"]
    assert web.hosts.tolist() == [0, 0, 0, 1, 1, 2]
    assert web.proxies == ("topical_pagerank", "topical_authority", "topical_hub")
    assert web.convergence["pagerank"]["residual"] <= 1e-12
    assert web.convergence["pagerank"]["rounds"] > 1


@pytest.mark.parametrize(
    ("page", "number"),
    [("d4", 3), ("http://b.gov/", 3), ("b.gov/index.html", 3), ("http://b.gov", 3), ("a.gov/mars", 1)],
)  # fmt: skip
def test_pages_are_found_by_id_and_url(page: str, number: int) -> None:
    assert micro_web().find(page) == number


def test_a_page_that_is_not_there() -> None:
    with pytest.raises(DataError, match="no page has the id or URL 'd9'"):
        micro_web().find("d9")


def test_topics_given_for_some_are_learned_for_all() -> None:
    some = replace(add_anchor_texts(MICRO), topics={"d1": "space", "d4": "health"})
    index = PlainIndex(some)
    web = LinkIndex.of(some, index)
    assert web.topics.categories == ("health", "space")
    assert web.topics.pages[1, 1] > 0.5
    assert np.abs(web.topical.sum(axis=1) - web.pagerank).sum() <= 1e-10
    with pytest.raises(DataError, match="no topic; classifying them needs an index"):
        LinkIndex.of(some)


def test_an_index_of_another_collection_is_refused() -> None:
    fewer = PlainIndex(Collection("fewer", ("body",), lambda: iter(list(MICRO)[:3])))
    with pytest.raises(DataError, match="the index has other documents, or in another order"):
        LinkIndex.of(MICRO, fewer)


def test_saved_webs_open_as_they_were_and_are_the_same_bytes(tmp_path: Path) -> None:
    web = LinkIndex.of(replace(MICRO, topics={f"d{i}": "odd" if i % 2 else "even" for i in range(1, 7)}))
    for name in ("one", "two"):
        web.save(tmp_path / name)
    files = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)
    again = LinkIndex.open(tmp_path / "one", verify=True)
    assert repr(again) == repr(web)
    assert (list(again.ids), list(again.urls)) == (list(web.ids), list(web.urls))
    for name in ("hosts", "pagerank", "hostrank", "topical", "slashes", "url_lengths"):
        assert np.array_equal(getattr(again, name), getattr(web, name))
    assert np.array_equal(again.graph.in_sources, web.graph.in_sources)
    assert np.array_equal(again.sitemap.parent, web.sitemap.parent)
    assert (again.convergence, again.parameters) == (web.convergence, web.parameters)
    assert again.topics.categories == ("even", "odd")
    web.save(tmp_path / "one")  # replaces


def test_invalid_or_damaged_link_indexes_do_not_open(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no web: there is no manifest"):
        LinkIndex.open(tmp_path)
    micro_web().save(tmp_path / "web")
    (tmp_path / "web" / "hosts.npy").unlink()
    with pytest.raises(DataError, match=r"damaged: hosts\.npy is missing"):
        LinkIndex.open(tmp_path / "web")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("precious")
    with pytest.raises(DataError, match="choose another name"):
        micro_web().save(tmp_path / "mine")
    forge(tmp_path / "web", FORMAT, version=3)
    with pytest.raises(DataError, match="of version 3"):
        LinkIndex.open(tmp_path / "web")


def test_a_manifest_without_checksums_is_refused(tmp_path: Path) -> None:
    micro_web().save(tmp_path / "web")
    manifest = tmp_path / "web" / "manifest.json"
    record = json.loads(manifest.read_text())
    for checksums in ({}, {"block": 65536, "xxh3": "", "bytes": {"hosts.npy": "x"}}):
        manifest.write_bytes(dump_with_checksum({**record, "checksums": checksums}))
        with pytest.raises(DataError, match=r"damaged: its manifest.json does not describe it"):
            LinkIndex.open(tmp_path / "web")


FORGED = {
    "out_targets": 99, "in_sources": -1, "out_offsets": 50, "hosts": 7, "parent": 6, "outside_counts": None,
    "topical": None, "pagerank": None,
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_numbers_of_a_forged_web_lead_nowhere(name: str, tmp_path: Path) -> None:
    micro_web().save(tmp_path / "web")
    file = tmp_path / "web" / f"{name}.npy"
    column = np.load(file)
    manifest = json.loads((tmp_path / "web" / "manifest.json").read_text())
    if FORGED[name] is None:
        column = np.concatenate([column, column, np.ones((1, *column.shape[1:]), column.dtype)])
        manifest["columns"][name]["shape"] = list(column.shape)
    else:
        column[1] = FORGED[name]
    np.save(file, column)
    forge(tmp_path / "web", FORMAT, columns=manifest["columns"])
    with pytest.raises(DataError, match="this web is damaged"):
        LinkIndex.open(tmp_path / "web")


def test_an_empty_collection_has_a_web(tmp_path: Path) -> None:
    web = LinkIndex.of(Collection("nothing", ("body",), lambda: iter(())))
    web.save(tmp_path / "web")
    assert LinkIndex.open(tmp_path / "web", verify=True).pages == 0
