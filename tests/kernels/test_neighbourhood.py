"""Page sets against Python sets, and links among them against the full matrix."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.collections.links.graph import Graph
from pippin.kernels.graph import PageSet, inner_links


def _set(pages: int, members: np.ndarray) -> PageSet:
    some = PageSet(pages)
    some.add(members)
    some.number()
    return some


@pytest.mark.parametrize("pages", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_a_set_of_pages_is_a_set(pages: int, seed: int) -> None:
    rng, some, twin = np.random.default_rng(seed), PageSet(pages), set[int]()
    for size in (0, 1, pages // 2, pages):
        sample = rng.integers(0, pages, size)
        fresh = list(dict.fromkeys(page for page in sample.tolist() if page not in twin))
        assert some.add(sample).tolist() == fresh
        twin.update(fresh)
    assert some.number().tolist() == sorted(twin)
    place = {page: i for i, page in enumerate(sorted(twin))}
    assert some.slots(np.arange(pages)).tolist() == [place.get(page, -1) for page in range(pages)]


def test_sets_without_pages_and_members() -> None:
    assert PageSet(0).number().tolist() == []
    some = PageSet(5)
    assert some.slots(np.arange(5)).tolist() == [-1] * 5
    assert some.number().tolist() == []


def test_pages_that_are_not_there_and_slots_before_numbering_are_errors() -> None:
    some = PageSet(64)
    for page in (-1, 64):
        with pytest.raises(ValueError, match="a page that is not there"):
            some.add(np.array([page]))
        with pytest.raises(ValueError, match="a page that is not there"):
            _set(64, np.array([3])).slots(np.array([page]))
    some.add(np.array([3]))
    with pytest.raises(ValueError, match="have not been numbered"):
        some.slots(np.array([3]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_links_inside_and_their_weights(seed: int, share: float) -> None:
    rng, n = np.random.default_rng(seed), 120
    graph = Graph.of(n, rng.integers(0, n // 2, 900), rng.integers(0, n, 900))  # half of the pages have no links
    pages = np.flatnonzero(rng.random(n) < share)
    with_score = np.flatnonzero(rng.random(n) < 0.4)
    scores = rng.normal(1, 1, len(with_score))  # some are negative
    plain, weighted = inner_links(
        graph.out_offsets, graph.out_targets, _set(n, pages), pages, _set(n, with_score), scores
    )
    everywhere = np.zeros(n)
    everywhere[with_score] = np.maximum(scores, 0.0)
    for row, page in enumerate(pages.tolist()):
        targets = graph.targets(page)
        inside = targets[np.isin(targets, pages)]
        assert pages[plain[1][plain[0][row] : plain[0][row + 1]]].tolist() == inside.tolist()
        here = slice(weighted[0][row], weighted[0][row + 1])
        good = inside[everywhere[inside] > 0]
        assert pages[weighted[1][here]].tolist() == good.tolist()
        assert weighted[2][here] == pytest.approx(everywhere[good] / max(everywhere[targets].sum(), 1e-300), rel=1e-14)
    assert plain[0][-1] == len(plain[1])
    assert weighted[0][-1] == len(weighted[1]) == len(weighted[2])


def test_any_number_of_threads_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(4), 20_000
    graph = Graph.of(n, rng.integers(0, n, 6 * n), rng.integers(0, n, 6 * n))
    pages, with_score = np.flatnonzero(rng.random(n) < 0.7), np.flatnonzero(rng.random(n) < 0.2)
    scores, result = rng.normal(1, 1, len(with_score)), []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        links = inner_links(graph.out_offsets, graph.out_targets, _set(n, pages), pages, _set(n, with_score), scores)
        result.append([part.tobytes() for part in (*links[0], *links[1])])
    assert result[0] == result[1] == result[2]
    where = np.full(n, -1)
    where[pages] = np.arange(len(pages))
    twin = np.concatenate([where[graph.targets(page)] for page in pages.tolist()])
    assert result[0][1] == twin[twin >= 0].astype(np.int32).tobytes()


def test_links_to_oneself_and_repeated_links_count_as_they_stand() -> None:
    offsets, columns = np.array([0, 3, 3]), np.array([0, 1, 1], np.int32)
    both = _set(2, np.arange(2))
    plain, weighted = inner_links(offsets, columns, both, np.arange(2), both, np.array([2.0, 1.0]))
    assert [part.tolist() for part in plain] == [[0, 3, 3], [0, 1, 1]]
    assert weighted[2].tolist() == [2 / 4, 1 / 4, 1 / 4]


def test_damaged_graphs_and_sets_that_do_not_fit_are_errors() -> None:
    offsets, columns = np.array([0, 1, 1]), np.array([1], np.int32)
    both, all_pages, ones = _set(2, np.arange(2)), np.arange(2), np.ones(2)
    for column in (-1, 2):
        with pytest.raises(ValueError, match="leads to a page that is not there"):
            inner_links(offsets, np.array([column], np.int32), both, all_pages, both, ones)
    with pytest.raises(ValueError, match="offsets that ascend"):
        inner_links(np.array([0, 9, 1]), columns, both, all_pages, both, ones)
    with pytest.raises(ValueError, match="a page that is not there"):
        inner_links(offsets, columns, both, np.array([0, 2]), both, ones)
    with pytest.raises(ValueError, match="sets of the graph's pages"):
        inner_links(offsets, columns, _set(3, np.arange(2)), all_pages, both, ones)
    with pytest.raises(ValueError, match="all members, and a score"):
        inner_links(offsets, columns, both, all_pages[:1], both, ones)
    with pytest.raises(ValueError, match="all members, and a score"):
        inner_links(offsets, columns, both, all_pages, both, ones[:1])
