"""Fuzz text, tables and packed files of ranking data."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pytest
from pyarrow import ipc, parquet
from tests.fuzz.cases import Case, fuzz
from tests.fuzz.harness import COUNT

from pippin.benchmarks.plan import read_plan
from pippin.benchmarks.published import read_published
from pippin.data import frames
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.inputs import coerce_judgements, coerce_scores
from pippin.data.letor import read_letor, read_scores, write_letor
from pippin.data.qrels import parse_qrels, parse_run
from pippin.data.streaming import LineOffsets, iter_letor_chunks
from pippin.data.synthetic import make_dataset
from pippin.errors import PippinError

DATA = make_dataset(6, documents=5, features=5)
QRELS = "".join(f"q{i // 4} 0 d{i} {i % 3}\n" for i in range(20))
RUN = "".join(f"q{i // 4} Q0 d{i} {i % 4 + 1} {20 - i}.5 mine\n" for i in range(20))
LETOR = "".join(f"{i % 3} qid:{i // 5} 1:{i}.5 2:NULL 4:-3e{i % 5} #docid = d{i} inc = 1\n" for i in range(20))
FRAME = {"qid": ["a", "a", "b"], "docno": ["x", "y", "z"], "label": [0, 2, 1], "bm25": [1.5, None, 2.0]}
PLAN = """data = ["mq2008"]
rankers = ["ranksvm", "lambdamart"]
tools = ["official", "letor4"]
measures = ["NDCG@10", "MAP"]
seeds = 2
[parameters.ranksvm]
C = 1.0
[grids.lambdamart]
num_leaves = [4, 8]
"""
PUBLISHED = "dataset,ranker,measure,value,source\nMQ2008,RankSVM,MAP,0.4696,LETOR\nMQ2008,AdaRank-MAP,NDCG@10,0.2,x\n"


def text(name: str, content: str | bytes, read: object) -> Case:
    data = content if isinstance(content, bytes) else content.encode()
    return Case(lambda folder: (folder / name).write_bytes(data), lambda folder: read(folder / name))  # type: ignore[operator]


def frame() -> pyarrow.Table:
    return pyarrow.table(FRAME)


def letor(path: Path) -> object:
    """Read LETOR text in every way, and write it back."""
    full = read_letor(path, missing_value="null", merge_queries=True)
    write_letor(full, path.with_suffix(".again"))
    rows = sum(map(len, iter_letor_chunks(path, LineOffsets(), 200)))
    return digest(full), rows


def table(path: Path) -> object:
    """Read a table as judgements and as scores."""
    results: list[object] = []
    for want in ("judgements", "scores"):
        try:
            data = frames.read_frame(path, want=want)
            results.append(data.tobytes() if isinstance(data, np.ndarray) else digest(data))
        except PippinError as error:
            results.append(type(error).__name__)
    if results == ["DataError", "DataError"]:
        coerce_judgements(path)
    return results


def arrow(path: Path, *, stream: bool = False, packed: bool = False) -> None:
    options = ipc.IpcWriteOptions(compression="zstd" if packed else None)
    with (ipc.new_stream if stream else ipc.new_file)(path, frame().schema, options=options) as writer:
        writer.write_table(frame())


def read_scores_file(path: Path) -> object:
    qrels = coerce_judgements({"q0": {"d0": 1}})
    run = coerce_scores(path, qrels)
    return run if isinstance(run, np.ndarray) else digest(run)


CASES = {
    "letor": text("d.txt", LETOR, letor),
    "qrels": text("qrels", QRELS, lambda path: digest(parse_qrels(path))),
    "run": text("run", RUN, lambda path: (digest(parse_run(path)), read_scores_file(path))),
    "scores": text("scores", "1\n2.5\n-3e-7\n12345678.12345678\n", lambda path: read_scores(path).tobytes()),
    "any text": text("text", LETOR, lambda path: digest(coerce_judgements(path))),
    "letor.gz": text("d.gz", gzip.compress(LETOR.encode(), mtime=0), letor),
    "letor.bz2": text("d.bz2", bz2.compress(LETOR.encode()), letor),
    "letor.xz": text("d.xz", lzma.compress(LETOR.encode()), letor),
    "letor.zst": text("d.zst", pyarrow.Codec("zstd").compress(LETOR.encode(), asbytes=True), letor),
    "csv": text("d.csv", "qid,docno,label,score,bm25\na,x,1,0.5,2\na,y,0,,NULL\nb,\"z,\",2,1e3,\n", table),
    "parquet of others": Case(
        lambda f: parquet.write_table(frame(), f / "d.parquet"), lambda f: table(f / "d.parquet")
    ),
    "parquet with page checksums": Case(
        lambda f: parquet.write_table(frame(), f / "d.parquet", write_page_checksum=True, compression="none"),
        lambda f: table(f / "d.parquet"),
    ),
    "arrow of others": Case(lambda f: arrow(f / "d.arrow"), lambda f: table(f / "d.arrow")),
    "arrow, packed": Case(lambda f: arrow(f / "d.arrow", packed=True), lambda f: table(f / "d.arrow")),
    "arrow stream": Case(lambda f: arrow(f / "d.arrow", stream=True), lambda f: table(f / "d.arrow")),
    "parquet": Case(lambda f: frames.write_frame(DATA, f / "d.parquet"), lambda f: table(f / "d.parquet"), own=True),
    "arrow": Case(lambda f: frames.write_frame(DATA, f / "d.arrow"), lambda f: table(f / "d.arrow"), own=True),
    "plan": text("plan.toml", PLAN, lambda path: read_plan(path).to_dict()),
    "published": text("published.csv", PUBLISHED, read_published),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_data(name: str) -> None:
    counts = fuzz(CASES[name], COUNT // 50)
    assert counts["refused"], "nothing was damaged"


def test_fuzzer_detects_a_planted_error() -> None:
    """A reader that believes what it reads is found out."""
    believing = Case(
        lambda f: (f / "it").write_bytes(bytes(range(100))), lambda f: sum((f / "it").read_bytes()), own=True
    )
    with pytest.raises(AssertionError, match="other output than what was written"):
        fuzz(believing, 50)
    with pytest.raises(AssertionError, match="gives ZeroDivisionError"):
        fuzz(Case(believing.make, lambda f: 1 / ((f / "it").read_bytes()[:1] == b"\0")), 500)
    assert isinstance(DATA, Dataset)
