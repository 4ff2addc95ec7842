"""Properties of every measure under every tool."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.definitions.registry import value
from tests.strategies import measure_variants, rule_of, values_of

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.errors import ConventionError
from pippin.evaluation.convention import AXES, SORT_DEPENDENT_TIES, Convention
from pippin.evaluation.evaluation import Evaluation, evaluate_tool
from pippin.evaluation.measures import MEASURE_DEFINITIONS, MeasureDefinition
from pippin.evaluation.measures.notation import names, parse
from pippin.evaluation.tools import TOOLS, Tool
from pippin.kernels.strings import StringColumn

Scores = NDArray[np.float64]
CUTOFFS = (1, 3, 10)
# trec_eval's geometric mean of AP and the like aggregate in another way, but are measures per query as any other
TEXTS = tuple(
    text
    for kind in MEASURE_DEFINITIONS.values()
    for text in (
        *([] if kind.cutoff == "required" else [kind.name]),
        *([] if kind.cutoff == "never" else [f"{kind.name}@{k}" for k in CUTOFFS]),
    )
)


@cache
def make_lists(most: int = 1, queries: int = 40) -> tuple[Dataset, Scores]:
    """Lists of 0 to 24 documents with labels up to `most`; many scores are tied, some only in single precision."""
    random = np.random.default_rng(most)
    sizes = random.integers(0, 25, queries)
    sizes[:3] = 0, 1, 24
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = int(offsets[-1])
    labels = random.integers(0, most + 1, rows) * (random.random(rows) < 0.6)
    labels[offsets[4] : offsets[6]] = 0  # two queries with nothing relevant
    scores = random.integers(-8, 9, rows) + random.integers(0, 2, rows) * 2.0**-30
    ids = StringColumn.of(f"d{i}" for i in random.permutation(rows))
    names = tuple(f"q{i}" for i in range(queries))
    return Dataset(np.zeros((rows, 1)), labels.astype(np.int32), offsets, names, ids), scores


@cache
def make_run_and_qrels() -> tuple[Qrels, Run]:
    """Return judgements and a run that each lack some documents and queries of the other."""
    data, scores = make_lists()
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    assert data.document_ids is not None
    for q, (first, last) in enumerate(itertools.pairwise(data.offsets.tolist())):
        rows = [(i, data.document_ids.at(i)) for i in range(first, last)]
        if q % 11 != 7:
            qrels[data.query_ids[q]] = {d: int(data.labels[i]) - (i % 13 == 0) for i, d in rows if i % 5}
        if q % 9 != 8:
            run[data.query_ids[q]] = {d: float(scores[i]) for i, d in rows if i % 4}
    return Qrels.from_dict(qrels), Run.from_dict(run)


def fits(tool: Tool, text: str) -> bool:
    """Return whether a measure has a value under a tool's rule for ties."""
    measure = parse(text)
    kind, ties = MEASURE_DEFINITIONS[measure.kind], tool.convention_for(measure).ties
    # A cutoff inside a group of ties that share a rank leaves all of them out, in the best ranking too.
    grouped = kind.supports_shared_ranks and measure.cutoff is None
    return (kind.supports_expected_ties or ties != "expected") and (grouped or ties != "shared-rank")


@cache
def texts_by_tool() -> dict[str, tuple[str, ...]]:
    """Measures with a value under each tool, without those that an earlier tool computes in the same way."""
    visited: set[tuple[Any, ...]] = set()
    new: dict[str, list[str]] = {name: [] for name in TOOLS}
    for name, tool in zip(TOOLS, TOOLS.values(), strict=True):
        for text in (text for text in TEXTS if fits(tool, text)):
            rule = rule_of(tool, text)
            if rule not in visited:
                visited.add(rule)
                new[name].append(text)
    return {name: tuple(texts) for name, texts in new.items()}


def run_tool(tool: Tool, data: Any, scored: Any, texts: tuple[str, ...] | None = None) -> Evaluation:
    """Evaluate under a tool; by default the measures in which it differs from earlier tools."""
    texts = texts_by_tool()[tool.name] if texts is None else tuple(t for t in texts if fits(tool, t))
    tool = replace(tool, label_limits=())  # a law is about the convention
    return evaluate_tool(data, scored, list(texts), tool, {}, "laws")


@cache
def evaluate_lists(name: str) -> Evaluation:
    """Evaluate the generated lists under a tool; most tests compare with this evaluation."""
    return run_tool(TOOLS[name], *make_lists())


def same(a: Evaluation, b: Evaluation) -> None:
    """Check that all values of all queries are equal to the bit."""
    for left, right in zip(a.columns, b.columns, strict=True):
        assert left.query_ids == right.query_ids
        assert left.values.tobytes() == right.values.tobytes(), left.requested_name


every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
every_rule = pytest.mark.parametrize(
    "tool", [TOOLS[name] for name, texts in texts_by_tool().items() if texts], ids=lambda tool: tool.name
)
# Where documents of all queries take part in each, a part of the queries is other data.
every_rule_by_query = pytest.mark.parametrize(
    "tool",
    [
        TOOLS[name]
        for name, texts in texts_by_tool().items()
        if texts and not TOOLS[name].convention.ties.endswith("-of-all")
    ],
    ids=lambda tool: tool.name,
)


@every_tool
def test_every_tool_computes_by_its_convention(tool: Tool) -> None:
    """What a tool says of a list is what the definitions say under the convention that it declares."""
    for text in (
        text for kind in map(MEASURE_DEFINITIONS.__getitem__, tool.measures) for text, *_ in measure_variants(kind)
    ):
        measure = tool.measure(text)  # a tool may take a name for other parameters: LensKit's RBP has p = 0.85
        convention = tool.convention_for(measure)
        data, scores = make_lists(1 if convention.err_max_grade == "probability" else 2)
        ties, offsets = convention.ties, data.offsets.tolist()
        # Over all orders `test_ties` has the law, and what an unstable sort leaves is its own.
        if ties in ("expected", "shared-rank", *SORT_DEPENDENT_TIES):
            ties, scores = "input", np.argsort(np.argsort(scores, kind="stable")).astype(np.float64)
        assert data.document_ids is not None
        ids = [data.document_ids.at(i) for i in range(len(data))]
        capped = np.where(data.labels > (convention.max_valid_label or 9), 0, data.labels).astype(np.int32)
        if convention.score_floor == "zero":  # which a definition does not know
            scores = scores - scores.min() + 1
        by = -np.arange(len(scores), dtype=np.float64) if convention.list_order == "given" else scores
        order = reference.order(by, capped, offsets, ids, ties, convention.score_precision == "float32")
        evaluation = evaluate_tool(data, scores, [text], tool, {}, "laws").columns[0]
        ours = dict(zip(evaluation.query_ids, evaluation.values.tolist(), strict=True))
        for query, (first, last) in zip(data.query_ids, itertools.pairwise(offsets), strict=True):
            ranked = [int(data.labels[row]) for row in order[first:last]]
            if convention.ties == "topk-of-all":  # documents of other queries fill up the list
                ranked += [0] * (convention.partial_sort_depth - len(ranked))
            qrels, own = data.labels[first:last].tolist(), dict(measure.parameters)
            expected = value(measure.kind, ranked, qrels, convention, measure.cutoff, int(data.labels.max()), **own)
            assert reference.near(ours.get(query, math.nan), expected), (text, query)


@every_rule
def test_a_perfect_ranking_is_best(tool: Tool) -> None:
    data, scores = make_lists()
    kinds = {text: MEASURE_DEFINITIONS[parse(text).kind] for text in texts_by_tool()[tool.name]}
    texts = tuple(t for t, kind in kinds.items() if kind.aggregate == "mean" and kind.better)
    perfect = run_tool(tool, data, data.labels.astype(np.float64), texts)
    for other in (scores, -data.labels.astype(np.float64), np.zeros(len(data))):
        for best, result in zip(perfect.columns, run_tool(tool, data, other, texts).columns, strict=True):
            defined = ~np.isnan(best.values) & ~np.isnan(result.values)
            sign = -1 if kinds[best.requested_name].better == "lower" else 1
            assert (sign * best.values[defined] >= sign * result.values[defined] - 1e-12).all(), best.requested_name


@cache
def make_graded_lists() -> tuple[Qrels, Run]:
    """Lists with labels up to 4, unjudged documents and judgements that nobody retrieved."""
    random = np.random.default_rng(9)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q in range(60):
        size = int(random.integers(0, 20))
        labels = random.choice([-1, 0, 0, 1, 1, 2, 3, 4] if q % 7 else [-1, 0], size + 4)
        qrels[f"q{q}"] = {f"d{i}": int(label) for i, label in enumerate(labels) if i % 5}
        run[f"q{q}"] = {f"d{i}": float(score) for i, score in enumerate(random.permutation(size))}
    return Qrels.from_dict(qrels), Run.from_dict(run)


@every_tool
def test_graded_labels_too(tool: Tool) -> None:
    data, scores = make_lists(2)
    texts = ("NDCG", "NDCG@3", "DCG@10", "MeanNDCG", "AP", "P@3", "RR@10")
    perfect, result = run_tool(tool, data, data.labels.astype(np.float64), texts), run_tool(tool, data, scores, texts)
    for best, other in zip(perfect.columns, result.columns, strict=True):
        defined = ~np.isnan(best.values) & ~np.isnan(other.values)
        assert (best.values[defined] >= other.values[defined] - 1e-12).all(), best.requested_name
        assert best.mean > other.mean or best.convention.list_order == "given", best.requested_name


@every_rule
def test_a_monotone_change_of_scores_changes_nothing(tool: Tool) -> None:
    data, scores = make_lists()
    scores = np.floor(scores)  # whole numbers: exact in single precision, and so are three times as many
    # A floor is an absolute score.
    floors = any(tool.convention_for(parse(t)).score_floor != "none" for t in texts_by_tool()[tool.name])
    same(run_tool(tool, data, scores), run_tool(tool, data, scores**3 if floors else 3 * scores**3 - 100))


@every_rule_by_query
def test_the_order_of_queries_changes_nothing(tool: Tool) -> None:
    data, scores = make_lists()
    order = np.random.default_rng(3).permutation(data.queries)
    rows = np.concatenate([np.arange(data.offsets[q], data.offsets[q + 1]) for q in order])
    straight, mixed = evaluate_lists(tool.name), run_tool(tool, data.select(order), scores[rows])
    for a, b in zip(straight.columns, mixed.columns, strict=True):
        assert straight.per_query[a.requested_name].keys() == mixed.per_query[b.requested_name].keys()
        assert all(
            mixed.per_query[b.requested_name][q] == v or np.isnan(v)
            for q, v in straight.per_query[a.requested_name].items()
        ), a.requested_name
        assert a.mean == pytest.approx(b.mean, rel=1e-12, nan_ok=True)


@every_rule_by_query
def test_any_cut_by_queries_changes_nothing(tool: Tool) -> None:
    data, scores = make_lists()
    parts = []
    for first, last in itertools.pairwise((0, 1, 5, 17, data.queries)):
        rows = slice(int(data.offsets[first]), int(data.offsets[last]))
        parts.append(run_tool(tool, data.select(slice(first, last)), scores[rows]).columns)
    for full, *several in zip(evaluate_lists(tool.name).columns, *parts, strict=True):
        assert full.query_ids == tuple(itertools.chain.from_iterable(part.query_ids for part in several))
        assert full.values.tobytes() == b"".join(part.values.tobytes() for part in several), full.asked


@every_rule_by_query
def test_any_cut_of_a_run_changes_nothing(tool: Tool) -> None:
    qrels, run = make_run_and_qrels()
    # What counts the queries of the run counts those that nobody judged in every part.
    texts = tuple(t for t in texts_by_tool()[tool.name] if tool.convention_for(parse(t)).query_selection != "run")
    if not texts:
        return
    full = run_tool(tool, qrels, run, texts)
    parts = []
    for keep in (slice(0, 13), slice(13, None)):
        queries = qrels.query_ids[keep]
        parts.append(run_tool(tool, part_of(qrels, queries), run, texts))
    for a, b, c in zip(full.columns, *(p.columns for p in parts), strict=True):
        assert a.query_ids == b.query_ids + c.query_ids
        assert a.values.tobytes() == b.values.tobytes() + c.values.tobytes(), a.asked


def part_of(judged: Qrels, queries: tuple[str, ...]) -> Qrels:
    selected = {}
    for q, query in enumerate(judged.query_ids):
        rows = range(int(judged.offsets[q]), int(judged.offsets[q + 1]))
        if query in queries:
            selected[query] = {judged.document_ids.at(i): int(judged.labels[i]) for i in rows}
    return Qrels.from_dict(selected)


@every_rule
def test_results_do_not_depend_on_threads_and_leave_the_input_alone(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, scores = make_lists(1, 300)  # enough for two threads to share, where kernels compute
    measures = {text: tool.measure(text) for text in texts_by_tool()[tool.name]}
    shared = tuple(t for t, m in measures.items() if MEASURE_DEFINITIONS[m.kind].native(tool.convention_for(m)))
    qrels, run = make_run_and_qrels()
    columns = (data.labels, data.offsets, scores, qrels.labels, qrels.offsets, run.scores, run.offsets)
    before = [c.tobytes() for c in columns]
    inputs = [(qrels, run, None), *([(data, scores, shared)] if shared else [])]
    evaluations = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        evaluations.append([run_tool(tool, *item) for item in inputs])
    for entry, two in zip(*evaluations, strict=True):
        same(entry, two)
    assert [c.tobytes() for c in columns] == before


@every_rule
def test_a_data_set_and_its_judgements_say_the_same(tool: Tool) -> None:
    data, scores = make_lists()
    assert data.document_ids is not None
    run = Run(data.query_ids, data.offsets, data.document_ids, scores)
    same(evaluate_lists(tool.name), run_tool(tool, data, run))


@every_rule
def test_values_stay_within_their_range(tool: Tool) -> None:
    for evaluation in (evaluate_lists(tool.name), run_tool(tool, *make_run_and_qrels())):
        for column in evaluation.columns:
            rules = column.convention.negative_labels, column.convention.bpref_negative_labels
            if {"label", "gain", "hit"} & {*rules}:  # labels below 0 leave any range
                continue
            least, most = MEASURE_DEFINITIONS[column.measure.kind].range
            counts = column.values[~np.isnan(column.values)]
            assert ((counts >= least) & (counts <= most + 1e-7)).all(), column.requested_name


@pytest.mark.parametrize("kind", MEASURE_DEFINITIONS.values(), ids=list(MEASURE_DEFINITIONS))
def test_a_range_is_not_wider_than_it_need_be(kind: MeasureDefinition) -> None:
    """What is said to leave 0 to 1 does so for some list."""
    if kind.range != (0.0, 1.0):
        text = f"{kind.name}@9" if kind.cutoff == "required" else kind.name
        values = run_tool(TOOLS["trec_eval9"], *make_graded_lists(), (text,)).columns[0].values
        assert values.max() > 1 or values.min() < 0


def test_labels_that_are_no_probabilities_are_refused() -> None:
    data, scores = make_lists(2)
    with pytest.raises(ConventionError, match="label 2 is not a probability"):
        evaluate_tool(data, scores, ["ERR"], TOOLS["catboost"], {}, "laws")


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_measure_is_its_identity(text: str) -> None:
    measure = parse(text)
    assert measure.text == text
    assert parse(measure.text) == measure


def test_every_alias_stands_for_its_kind() -> None:
    ranker_names = names()
    for kind in MEASURE_DEFINITIONS.values():
        for spelling in (kind.name, *kind.aliases):
            cutoff = "@5" if kind.cutoff == "required" else ""
            assert ranker_names[spelling.lower()] == kind.name
            for typed in (spelling, spelling.lower(), spelling.upper()):
                assert parse(typed + cutoff).kind == kind.name


def values_under(kind: MeasureDefinition, convention: Convention, judged: Qrels, run: Run) -> bytes:
    """Return values of a measure at every kind of cutoff, with default and other parameters."""
    texts = [text for text, *_ in measure_variants(kind)]
    tool = Tool("law", "law", "1", "tests", convention, ())
    return b"".join(column.values.tobytes() for column in evaluate_tool(judged, run, texts, tool, {}, "laws").columns)


@pytest.mark.parametrize("kind", MEASURE_DEFINITIONS.values(), ids=list(MEASURE_DEFINITIONS))
def test_a_measure_hears_the_axes_it_names_and_no_others(kind: MeasureDefinition) -> None:
    """An axis that a kind names changes its values somewhere; one that it does not name changes them nowhere."""
    qrels, run = make_graded_lists()
    starts = [Convention(ties="id-descending", err_max_grade="query"), Convention(ties="id-descending", empty=0.5,
    apply_cutoff=False),
              Convention(ties="id-descending", ap_undefined="cutoff", relevance_threshold=2),
              Convention(ties="id-descending", err_max_grade="gain")]  # fmt: skip
    before = [values_under(kind, start, qrels, run) for start in starts]
    # Where empty queries are left out, they are left out of every measure.
    others = {
        name: [v for v in values_of(name) if v is not None and (name, v) != ("err_max_grade", "probability")]
        for name, axis in AXES.items()
        if not axis.affects_all_measures and axis.stage != "mean"
    }
    for name in filter(kind.depends_on, others):
        tried = (
            values_under(kind, start.replace(**{name: value}), qrels, run) != unchanged
            for start, unchanged in zip(starts, before, strict=True)
            for value in others[name]
            if value != getattr(start, name)
        )
        assert any(tried), name
    unheard = {name: values for name, values in others.items() if not kind.depends_on(name)}
    for turn in range(max(map(len, others.values()))):  # all of them at once, each with its next value
        changes = {name: values[turn % len(values)] for name, values in unheard.items()}
        for start, unchanged in zip(starts, before, strict=True):
            assert values_under(kind, start.replace(**changes), qrels, run) == unchanged, changes
