"""The re-rankers in examples/ rank as the model, in Python and compiled from C."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.models.kinds import documents, train_ranker

import pippin

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rerank"


def hits(null: bool) -> str:
    data = documents(null)
    queries = np.asarray(data.query_ids, object)[data.qid()]
    rows = [
        "\t".join([str(query), f"d{i}", *("-" if np.isnan(value) else repr(float(value)) for value in row)])
        for i, (query, row) in enumerate(zip(queries, data.features, strict=True))
    ]
    return "\n".join(rows) + "\n"


def parse_ranking(text: str) -> list[tuple[str, str, float]]:
    lines = [line.split("\t") for line in text.splitlines()]
    return [(query, document, float(score)) for query, document, score in lines]


@pytest.mark.parametrize("null", [False, True])
def test_python_and_c_examples_have_the_same_order_and_bits(null: bool, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    model, data = train_ranker("lambdamart", null), documents(null)
    model.save(tmp_path / "model.json")
    command = [sys.executable, str(EXAMPLES / "rerank.py"), str(tmp_path / "model.json")]
    python = subprocess.run(command, input=hits(null), capture_output=True, text=True, check=True).stdout
    pippin.export(model, "c", tmp_path / "ranker.h", check=data)
    (tmp_path / "rerank.c").write_bytes((EXAMPLES / "rerank.c").read_bytes())
    build = ["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "rerank.c", "-o", "rerank", "-lm"]
    subprocess.run(build, cwd=tmp_path, check=True)
    c = subprocess.run([tmp_path / "rerank"], input=hits(null), capture_output=True, text=True, check=True).stdout
    assert parse_ranking(python) == parse_ranking(c)
    scores = model.predict(data)
    assert sorted(score for _, _, score in parse_ranking(c)) == sorted(scores.tolist())
    first = parse_ranking(c)[0]
    assert first[2] == scores[: data.offsets[1]].max()


def test_python_example_has_at_most_30_lines() -> None:
    code = (EXAMPLES / "rerank.py").read_text().split('"""', 2)[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 30
