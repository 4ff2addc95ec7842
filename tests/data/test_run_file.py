"""A run that is ranked as it is read gives what its columns give: the same labels, ties, numbers and words."""

from __future__ import annotations

import gzip
import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pippin
from pippin.data import run_file, stretches
from pippin.data.run_file import Order, RankedRun, RunFile
from pippin.data.trec import Judgements
from pippin.data.trec_text import read_judgements
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.printers import trec_eval
from pippin.evaluation.ranking import order
from pippin.kernels.rank import TIES

MEASURES = ["NDCG@10", "MAP", "RR", "P@10"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Judgements and a run of queries of very different lengths, together longer than several pieces of the text.

    One query of four does not come sorted, and some scores are the same in single precision only.
    """
    folder, generator = tmp_path_factory.mktemp("run"), np.random.default_rng(3)
    qrels, run = folder / "qrels", folder / "run"
    sizes = [1, 2, 40_000, 3, *generator.integers(1, 900, 40).tolist(), 30_000]
    with run.open("w") as retrieved, qrels.open("w") as judged:
        for q, size in enumerate(sizes):
            scores = generator.integers(0, max(2, size // 2), size) / 8 + generator.integers(0, 2, size) * 1e-9
            scores = -np.sort(-scores) if q % 4 else scores
            lines = zip(generator.permutation(10 * size)[:size].tolist(), scores.tolist(), strict=True)
            retrieved.write("".join(f"q{q} Q0 d{d} 1 {s} tag\n" for d, s in lines))
            if q % 7 != 3:
                judged.write("".join(f"q{q} 0 d{d} {d % 4}\n" for d in range(0, 10 * size, 1 + size // 5)))
        judged.write("other 0 d1 1\n")
    return qrels, run


@pytest.fixture
def in_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is worth it, and windows are short."""
    monkeypatch.setattr(run_file, "LARGE", 0)
    monkeypatch.setattr(stretches.windows, "__defaults__", (1000,))


def same(found: RankedRun, judged: Judgements, convention: Convention) -> None:
    """The ranking of the windows is that of the columns."""
    ours, columns = (order(judged, run, convention) for run in (found, found.whole()))
    assert ours.query_ids == columns.query_ids
    for name in ("labels", "tied", "offsets", "pool"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(columns, name), err_msg=name)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("ties", sorted({*TIES} - {"topk-given", "argpartition"}))  # those are of whole catalogues
def test_windows_rank_as_columns_do(
    files: tuple[Path, Path], ties: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", threads)
    judged = read_judgements(files[0])
    for precision in ("float32", "float64"):
        convention = pippin.tools["trec_eval9"].convention.replace(ties=ties, precision=precision)
        found = RunFile(files[1]).ranked(judged, judged.labels, Order(ties, precision == "float32"))
        assert found is not None
        assert found.tag == "tag"
        same(found, judged, convention)


@pytest.mark.parametrize("size", [1, 5_000, 700_000])
def test_short_windows_plain_and_packed(files: tuple[Path, Path], tmp_path: Path, size: int) -> None:
    packed = tmp_path / "run.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes(), 1))
    for path in (files[1], packed):
        texts = [w.data.tobytes() for w in stretches.windows(path, stretches.Places(), size)]
        assert b"".join(texts) == files[1].read_bytes()
        ends = [(text.split(None, 1)[0], text.rstrip().rsplit(b"\n", 1)[-1].split(None, 1)[0]) for text in texts]
        assert all(last != first for (_, last), (first, _) in pairwise(ends))
        assert len(texts) > 1


@pytest.mark.usefixtures("in_file")
@pytest.mark.parametrize("tool", ["trec_eval9", "official", "gdeval"])
def test_a_large_file_is_evaluated_as_a_small_one(files: tuple[Path, Path], tool: str) -> None:
    judged = read_judgements(files[0])
    in_file = pippin.evaluate(judged, files[1], MEASURES, tool)
    columns = pippin.evaluate(judged, RunFile(files[1]).whole, MEASURES, tool)
    for ours, theirs in zip(in_file.columns, columns.columns, strict=True):
        assert ours.query_ids == theirs.query_ids
        np.testing.assert_array_equal(ours.values, theirs.values)
    several = pippin.evaluate(judged, files[1], MEASURES, ["trec_eval9", "gdeval"])
    assert several["trec_eval9"].mean == pippin.evaluate(judged, files[1], MEASURES, "trec_eval9").mean


@pytest.mark.usefixtures("in_file")
@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("a Q0 x 1 2 t\nb Q0 x 1 2 t\na Q0 y 1 1 t\n", r"query a comes back here after others; it began in line 1"),
        ("a Q0 x 1 2 t\na Q0 x 2 1 t\n", r"document x stands twice in query a; the first time in line 1"),
        ("a Q0 x 1 2 t\na Q0 y 2 nan t\n", "the score 'nan' is not a finite number"),
        ("a Q0 x 1 2 t\na Q0 y 2 inf t\n", "the score 'inf' is not a finite number"),
        ("a Q0 x 1 2 t\na Q0 y 2 1\n", "a run has 6 columns"),
        ("c Q0 x 1 2 t\n", "have no query in common"),
    ],
)
def test_what_is_wrong_is_told_as_ever(tmp_path: Path, lines: str, sentence: str) -> None:
    (tmp_path / "run").write_text(lines)
    with pytest.raises(DataError, match=sentence):
        pippin.evaluate({"a": {"x": 1}, "b": {"y": 1}}, tmp_path / "run", MEASURES)


@pytest.mark.usefixtures("in_file")
def test_infinite_scores_where_they_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a Q0 x 1 2 t\na Q0 y 2 inf t\n")
    found = pippin.evaluate({"a": {"x": 1, "y": 0}}, tmp_path / "run", "RR", allow_infinite=True)
    assert found.mean["RR"] == 1 / 2


def test_a_mark_within_the_text_is_part_of_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches.windows, "__defaults__", (1,))
    (tmp_path / "run").write_text("\ufeffa Q0 x 1 2 t\n\ufeffb Q0 x 1 2 t\nc Q0 x 1 2 t\n")
    judged = Judgements.of({"a": {"x": 1}})
    assert RunFile(tmp_path / "run").ranked(judged, judged.labels, Order("input", False)) is None
    assert RunFile(tmp_path / "run").whole.query_ids == ("a", "\ufeffb", "c")


@pytest.mark.parametrize("depth", ["1000", "5"])
def test_as_trec_eval_prints_the_same_bytes(
    files: tuple[Path, Path], depth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []
    for large in (1 << 40, 0):
        monkeypatch.setattr(run_file, "LARGE", large)
        out = io.StringIO()
        asked = ["-q", "-M", depth, "-m", "official", "-m", "ndcg_cut.10", *map(str, files)]
        assert trec_eval.main(asked, out, io.StringIO()) == 0
        printed.append(out.getvalue())
    assert printed[0] == printed[1]


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 1999), (700, 1300), (1998, 1999)])
def test_a_document_that_stands_twice_is_seen_wherever_it_stands(tmp_path: Path, first: int, second: int) -> None:
    documents = [f"d{7 * d}" for d in range(2000)]
    path, qrels = tmp_path / "run", tmp_path / "qrels"
    qrels.write_text("q 0 d7 1\n")
    judged = read_judgements(qrels)

    def ranked() -> RankedRun | None:
        path.write_text("".join(f"q Q0 {d} 1 {-rank}.5 tag\n" for rank, d in enumerate(documents)))
        return RunFile(path).ranked(judged, judged.labels, Order("id-descending", True))

    once = ranked()
    assert once is not None
    assert once.offsets.tolist() == [0, 2000]
    documents[second] = documents[first]
    assert ranked() is None
