"""What must hold for every measure under every tool."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import Evaluation, evaluate_tool
from pippin.evaluation.measures import KINDS
from pippin.evaluation.notation import names, parse
from pippin.evaluation.tools import TOOLS, Tool

Scores = NDArray[np.float64]
CUTOFFS = (1, 3, 10)
# trec_eval's geometric mean of AP and the like aggregate in another way, but are measures per query as any other
TEXTS = tuple(
    text
    for kind in KINDS.values()
    for text in (
        *([] if kind.cutoff == "required" else [kind.name]),
        *([] if kind.cutoff == "never" else [f"{kind.name}@{k}" for k in CUTOFFS]),
    )
)


@cache
def made(most: int = 1, queries: int = 40) -> tuple[Dataset, Scores]:
    """Lists of 0 to 24 documents with labels up to `most`; many scores are tied, some only in single precision."""
    random = np.random.default_rng(most)
    sizes = random.integers(0, 25, queries)
    sizes[:3] = 0, 1, 24
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = int(offsets[-1])
    labels = random.integers(0, most + 1, rows) * (random.random(rows) < 0.6)
    labels[offsets[4] : offsets[6]] = 0  # two queries with nothing relevant
    scores = random.integers(-8, 9, rows) + random.integers(0, 2, rows) * 2.0**-30
    ids = Texts.of(f"d{i}" for i in random.permutation(rows))
    names = tuple(f"q{i}" for i in range(queries))
    return Dataset(np.zeros((rows, 1)), labels.astype(np.int32), offsets, names, ids), scores


@cache
def retrieved() -> tuple[Judgements, Run]:
    """The same documents as judgements and a run, each without some of the other's documents and queries."""
    data, scores = made()
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    assert data.document_ids is not None
    for q, (first, last) in enumerate(itertools.pairwise(data.offsets.tolist())):
        rows = [(i, data.document_ids.at(i)) for i in range(first, last)]
        if q % 11 != 7:
            judged[data.query_ids[q]] = {d: int(data.labels[i]) - (i % 13 == 0) for i, d in rows if i % 5}
        if q % 9 != 8:
            run[data.query_ids[q]] = {d: float(scores[i]) for i, d in rows if i % 4}
    return Judgements.of(judged), Run.of(run)


def fits(tool: Tool, text: str) -> bool:
    """Whether a measure has a value under a tool's rule for ties."""
    measure = parse(text)
    return KINDS[measure.kind].expected or tool.convention_for(measure).ties != "expected"


def run_tool(tool: Tool, data: Any, scored: Any, texts: tuple[str, ...] = TEXTS) -> Evaluation:
    return evaluate_tool(data, scored, [t for t in texts if fits(tool, t)], tool, {}, "laws")


def same(a: Evaluation, b: Evaluation) -> None:
    """Every value of every query, to the bit."""
    for left, right in zip(a.columns, b.columns, strict=True):
        assert left.query_ids == right.query_ids
        assert left.values.tobytes() == right.values.tobytes(), left.asked


every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))


@every_tool
def test_a_perfect_ranking_is_best(tool: Tool) -> None:
    data, scores = made()
    texts = tuple(t for t in TEXTS if KINDS[parse(t).kind].aggregate == "mean")
    perfect = run_tool(tool, data, data.labels.astype(np.float64), texts)
    for other in (scores, -data.labels.astype(np.float64), np.zeros(len(data))):
        for best, found in zip(perfect.columns, run_tool(tool, data, other, texts).columns, strict=True):
            defined = ~np.isnan(best.values)
            assert (best.values[defined] >= found.values[defined] - 1e-12).all(), best.asked


@every_tool
def test_graded_labels_too(tool: Tool) -> None:
    data, scores = made(2)
    texts = ("NDCG", "NDCG@3", "DCG@10", "MeanNDCG", "AP", "P@3", "RR@10")
    perfect, found = run_tool(tool, data, data.labels.astype(np.float64), texts), run_tool(tool, data, scores, texts)
    for best, other in zip(perfect.columns, found.columns, strict=True):
        defined = ~np.isnan(best.values)
        assert (best.values[defined] >= other.values[defined] - 1e-12).all(), best.asked
        assert best.mean > other.mean, best.asked


@every_tool
def test_a_monotone_change_of_scores_changes_nothing(tool: Tool) -> None:
    data, scores = made()
    scores = np.floor(scores)  # whole numbers: exact in single precision, and so are three times as many
    same(run_tool(tool, data, scores), run_tool(tool, data, 3 * scores - 100))
    same(run_tool(tool, data, scores), run_tool(tool, data, scores**3))


@every_tool
def test_the_order_of_queries_changes_nothing(tool: Tool) -> None:
    data, scores = made()
    order = np.random.default_rng(3).permutation(data.queries)
    rows = np.concatenate([np.arange(data.offsets[q], data.offsets[q + 1]) for q in order])
    straight, mixed = run_tool(tool, data, scores), run_tool(tool, data.select(order), scores[rows])
    for a, b in zip(straight.columns, mixed.columns, strict=True):
        assert straight.per_query[a.asked].keys() == mixed.per_query[b.asked].keys()
        assert all(mixed.per_query[b.asked][q] == v or np.isnan(v) for q, v in straight.per_query[a.asked].items()), (
            a.asked
        )
        assert a.mean == pytest.approx(b.mean, rel=1e-12, nan_ok=True)


@every_tool
@pytest.mark.parametrize("cut", [1, 5, 17])
def test_any_cut_by_queries_changes_nothing(tool: Tool, cut: int) -> None:
    data, scores = made()
    middle = int(data.offsets[cut])
    whole = run_tool(tool, data, scores)
    head = run_tool(tool, data.select(slice(0, cut)), scores[:middle])
    tail = run_tool(tool, data.select(slice(cut, None)), scores[middle:])
    for a, b, c in zip(whole.columns, head.columns, tail.columns, strict=True):
        assert a.query_ids == b.query_ids + c.query_ids
        assert a.values.tobytes() == b.values.tobytes() + c.values.tobytes(), a.asked


@every_tool
def test_any_cut_of_a_run_changes_nothing(tool: Tool) -> None:
    judged, run = retrieved()
    whole = run_tool(tool, judged, run)
    parts = []
    for keep in (slice(0, 13), slice(13, None)):
        queries = judged.query_ids[keep]
        parts.append(run_tool(tool, part_of(judged, queries), run))
    for a, b, c in zip(whole.columns, *(p.columns for p in parts), strict=True):
        assert a.query_ids == b.query_ids + c.query_ids
        assert a.values.tobytes() == b.values.tobytes() + c.values.tobytes(), a.asked


def part_of(judged: Judgements, queries: tuple[str, ...]) -> Judgements:
    chosen = {}
    for q, query in enumerate(judged.query_ids):
        rows = range(int(judged.offsets[q]), int(judged.offsets[q + 1]))
        if query in queries:
            chosen[query] = {judged.document_ids.at(i): int(judged.labels[i]) for i in rows}
    return Judgements.of(chosen)


@every_tool
def test_one_and_two_threads_give_the_same_bits_and_leave_the_input_alone(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, scores = made(1, 300)
    judged, run = retrieved()
    columns = (data.labels, data.offsets, scores, judged.labels, judged.offsets, run.scores, run.offsets)
    before = [c.tobytes() for c in columns]
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        found.append((run_tool(tool, data, scores), run_tool(tool, judged, run)))
    same(found[0][0], found[1][0])
    same(found[0][1], found[1][1])
    assert [c.tobytes() for c in columns] == before


@every_tool
def test_a_data_set_and_its_judgements_say_the_same(tool: Tool) -> None:
    data, scores = made()
    assert data.document_ids is not None
    run = Run(data.query_ids, data.offsets, data.document_ids, scores)
    same(run_tool(tool, data, scores), run_tool(tool, data, run))


@every_tool
def test_values_stay_within_their_range(tool: Tool) -> None:
    shares = [t for t in TEXTS if KINDS[parse(t).kind].name in RANGED]
    for data, scored in (made(), retrieved()):
        for column in run_tool(tool, data, scored, tuple(shares)).columns:
            counted = column.values[~np.isnan(column.values)]
            assert ((counted >= 0) & (counted <= 1 + 1e-12)).all(), column.asked


RANGED = (
    "NDCG", "MeanNDCG", "AP", "P", "Recall", "Rprec", "RR", "ERR", "RBP", "Bpref", "Success", "F1",
)  # fmt: skip


def test_labels_that_are_no_probabilities_are_refused() -> None:
    data, scores = made(2)
    with pytest.raises(ConventionError, match="label 2 is none"):
        evaluate_tool(data, scores, ["ERR"], TOOLS["catboost"], {}, "laws")


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_measure_is_its_identity(text: str) -> None:
    measure = parse(text)
    assert measure.text == text
    assert parse(measure.text) == measure


def test_every_alias_stands_for_its_kind() -> None:
    known = names()
    for kind in KINDS.values():
        for spelling in (kind.name, *kind.aliases):
            cutoff = "@5" if kind.cutoff == "required" else ""
            assert known[spelling.lower()] == kind.name
            for typed in (spelling, spelling.lower(), spelling.upper()):
                assert parse(typed + cutoff).kind == kind.name


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_measure_hears_only_the_axes_it_names(kind: Any) -> None:
    """Changing an axis that a kind does not name leaves its values as they are."""
    judged, run = retrieved()
    start = Convention(ties="id-descending", queries="judged")
    changes: dict[str, Any] = {
        "gain": "label", "gain_at": 2, "discount": "letor", "ideal": "list", "short": "zero",
        "short_precision": "list", "relevant_at": 2, "ap_denominator": "cutoff", "ap_undefined": "cutoff",
        "err_top": 3, "cut": False, "empty": 1.0,
    }  # fmt: skip
    text = kind.name if kind.cutoff == "never" else f"{kind.name}@10"
    for axis, value in changes.items():
        tools = [Tool("law", "law", "1", "tests", c, ()) for c in (start, start.replace(**{axis: value}))]
        a, b = (evaluate_tool(judged, run, [text], tool, {}, "laws").columns[0].values for tool in tools)
        if axis not in kind.axes:
            assert a.tobytes() == b.tobytes(), (text, axis)
