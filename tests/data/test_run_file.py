"""A run ranked while parsing equals a run ranked from columns: labels, ties, values and messages."""

from __future__ import annotations

import gzip
import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pippin
from pippin.compat import trec_eval
from pippin.data import streaming
from pippin.data.qrels import Qrels, parse_qrels
from pippin.data.streaming import LazyRun, RankedRun, SortRule
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.rank import sort_lists
from pippin.kernels.ranking import TIES

MEASURES = ["NDCG@10", "MAP", "RR", "P@10"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Qrels and a run of queries of very different lengths, together longer than several pieces of the text.

    One query of four does not come sorted, and some scores are the same in single precision only.
    """
    folder, generator = tmp_path_factory.mktemp("run"), np.random.default_rng(3)
    qrels, run = folder / "qrels", folder / "run"
    sizes = [1, 2, 40_000, 3, *generator.integers(1, 900, 40).tolist(), 30_000]
    with run.open("w") as retrieved, qrels.open("w") as qrels_file:
        for q, size in enumerate(sizes):
            scores = generator.integers(0, max(2, size // 2), size) / 8 + generator.integers(0, 2, size) * 1e-9
            scores = -np.sort(-scores) if q % 4 else scores
            lines = zip(generator.permutation(10 * size)[:size].tolist(), scores.tolist(), strict=True)
            retrieved.write("".join(f"q{q} Q0 d{d} 1 {s} tag\n" for d, s in lines))
            if q % 7 != 3:
                qrels_file.write("".join(f"q{q} 0 d{d} {d % 4}\n" for d in range(0, 10 * size, 1 + size // 5)))
        qrels_file.write("other 0 d1 1\n")
    return qrels, run


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is worth it, and windows are short."""
    monkeypatch.setattr(streaming, "MIN_LAZY_BYTES", 0)
    monkeypatch.setattr(streaming.iter_run_chunks, "__defaults__", (1000,))


def same(actual: RankedRun, judged: Qrels, convention: Convention) -> None:
    """The ranking of the windows is that of the columns."""
    ours, columns = (sort_lists(judged, run, convention) for run in (actual, actual.load()))
    assert ours.query_ids == columns.query_ids
    for name in ("labels", "tied", "offsets", "pool"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(columns, name), err_msg=name)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("ties", sorted({*TIES} - {"topk-given", "argpartition"}))  # those are of whole catalogues
def test_windows_rank_as_columns_do(
    files: tuple[Path, Path], ties: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", threads)
    qrels = parse_qrels(files[0])
    for precision in ("float32", "float64"):
        convention = pippin.tools["trec_eval9"].convention.replace(ties=ties, score_precision=precision)
        result = LazyRun(files[1]).rank(qrels, qrels.labels, SortRule(ties, precision == "float32"))
        assert result is not None
        assert result.tag == "tag"
        same(result, qrels, convention)


@pytest.mark.parametrize("size", [1, 5_000, 700_000])
def test_short_windows_plain_and_packed(files: tuple[Path, Path], tmp_path: Path, size: int) -> None:
    packed = tmp_path / "run.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes(), 1))
    for path in (files[1], packed):
        texts = [w.data.tobytes() for w in streaming.iter_run_chunks(path, streaming.LineOffsets(), size)]
        assert b"".join(texts) == files[1].read_bytes()
        ends = [(text.split(None, 1)[0], text.rstrip().rsplit(b"\n", 1)[-1].split(None, 1)[0]) for text in texts]
        assert all(last != first for (_, last), (first, _) in pairwise(ends))
        assert len(texts) > 1


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize("tool", ["trec_eval9", "official", "gdeval"])
def test_a_large_file_is_evaluated_as_a_small_one(files: tuple[Path, Path], tool: str) -> None:
    qrels = parse_qrels(files[0])
    lazy = pippin.evaluate(qrels, files[1], MEASURES, tool)
    columns = pippin.evaluate(qrels, LazyRun(files[1]).run, MEASURES, tool)
    for ours, theirs in zip(lazy.columns, columns.columns, strict=True):
        assert ours.query_ids == theirs.query_ids
        np.testing.assert_array_equal(ours.values, theirs.values)
    several = pippin.evaluate(qrels, files[1], MEASURES, ["trec_eval9", "gdeval"])
    assert several["trec_eval9"].mean == pippin.evaluate(qrels, files[1], MEASURES, "trec_eval9").mean


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("a Q0 x 1 2 t\nb Q0 x 1 2 t\na Q0 y 1 1 t\n", r"the rows of query a are not contiguous; it began in line 1"),
        ("a Q0 x 1 2 t\na Q0 x 2 1 t\n", r"document x is listed twice in query a, first in line 1"),
        ("a Q0 x 1 2 t\na Q0 y 2 nan t\n", "the score 'nan' is not a finite number"),
        ("a Q0 x 1 2 t\na Q0 y 2 inf t\n", "the score 'inf' is not a finite number"),
        ("a Q0 x 1 2 t\na Q0 y 2 1\n", "a run has 6 columns"),
        ("c Q0 x 1 2 t\n", "have no query in common"),
    ],
)
def test_errors_are_the_same(tmp_path: Path, lines: str, sentence: str) -> None:
    (tmp_path / "run").write_text(lines)
    with pytest.raises(DataError, match=sentence):
        pippin.evaluate({"a": {"x": 1}, "b": {"y": 1}}, tmp_path / "run", MEASURES)


@pytest.mark.usefixtures("lazy")
def test_infinite_scores_where_they_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a Q0 x 1 2 t\na Q0 y 2 inf t\n")
    evaluation = pippin.evaluate({"a": {"x": 1, "y": 0}}, tmp_path / "run", "RR", allow_infinite=True)
    assert evaluation.mean["RR"] == 1 / 2


def test_a_mark_within_the_text_is_part_of_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming.iter_run_chunks, "__defaults__", (1,))
    (tmp_path / "run").write_text("\ufeffa Q0 x 1 2 t\n\ufeffb Q0 x 1 2 t\nc Q0 x 1 2 t\n")
    qrels = Qrels.from_dict({"a": {"x": 1}})
    assert LazyRun(tmp_path / "run").rank(qrels, qrels.labels, SortRule("input", False)) is None
    assert LazyRun(tmp_path / "run").run.query_ids == ("a", "\ufeffb", "c")


@pytest.mark.parametrize("depth", ["1000", "5"])
def test_as_trec_eval_prints_the_same_bytes(
    files: tuple[Path, Path], depth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []
    for large in (1 << 40, 0):
        monkeypatch.setattr(streaming, "MIN_LAZY_BYTES", large)
        out = io.StringIO()
        arguments = ["-q", "-M", depth, "-m", "official", "-m", "ndcg_cut.10", *map(str, files)]
        assert trec_eval.main(arguments, out, io.StringIO()) == 0
        printed.append(out.getvalue())
    assert printed[0] == printed[1]


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 1999), (700, 1300), (1998, 1999)])
def test_duplicate_documents_are_detected_anywhere(tmp_path: Path, first: int, second: int) -> None:
    documents = [f"d{7 * d}" for d in range(2000)]
    path, qrels = tmp_path / "run", tmp_path / "qrels"
    qrels.write_text("q 0 d7 1\n")
    judgements = parse_qrels(qrels)

    def rank_lazily() -> RankedRun | None:
        path.write_text("".join(f"q Q0 {d} 1 {-rank}.5 tag\n" for rank, d in enumerate(documents)))
        return LazyRun(path).rank(judgements, judgements.labels, SortRule("id-descending", True))

    once = rank_lazily()
    assert once is not None
    assert once.offsets.tolist() == [0, 2000]
    documents[second] = documents[first]
    assert rank_lazily() is None
