"""Plugins are part of the identity of results: an edited plugin gives a new result."""

from __future__ import annotations

import json
import os
import py_compile
import re
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.small import write_folds
from tests.fork_server import python
from tests.plugins.packages import MEASURE, TOOL, pippin, query_tf

RANKER = """
import os
from pippin.rankers import Ranker, register


@register("mine")
class Mine(Ranker):
    \"\"\"Ranks by one feature.\"\"\"

    def __init__(self, column={column}):
        self.column = column  # which

    def _fit(self, train, valid):
        self.sign_ = {sign} * float(os.environ.get("SIGN", "1"))

    def _predict(self, features):
        return self.sign_ * features[:, self.column]

    def _state(self):
        return {{"sign": self.sign_}}

    def _restore(self, state):
        self.sign_ = state["sign"]
"""
FEATURE = """
import numpy as np
from pippin.collections.features import FEATURES, SETS, FeatureSet, feature


def boosted(k1):
    def compute(candidates, stream):
        return k1 * stream.tf.sum(0)
    return compute


feature("boost", kind="Q-D", formula="k1 tf", source="a test")(boosted({k1}))
SETS.register("mine", FeatureSet("mine", "two", "a test", ("text",), {texts}))
"""


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folds(tmp_path_factory.mktemp("data") / "small", folds=3)


def bench(
    folder: Path, folds: Path, *more: str, measure: str = "MAP", tool: str = "official", **environment: Any
) -> tuple[int, float]:
    """Return the number of newly computed cells and the mean of the plugin's ranker."""
    jobs = () if "--dask" in more else ("--jobs", "1")  # no processes for three small cells
    done = pippin(
        "bench", str(folds), "-o", "results", *jobs, "--ranker", "mine", "--tool", tool, "--measure", measure, *more,
        cwd=folder, **environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    (computed,) = re.findall(r"\((\d+) computed now\)", done.stdout)
    (row,) = [line for line in done.stdout.splitlines() if " mine " in line]
    return int(computed), float(row.split()[-1])


def test_edited_ranker_is_recomputed(tmp_path: Path, folds: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(RANKER.format(column=0, sign=1))
    first = bench(tmp_path, folds, "--import", "mine")
    assert first[0] == 3
    assert bench(tmp_path, folds, "--import", "mine") == (0, first[1])
    assert bench(tmp_path, folds, "--import", str(plugin)) == (0, first[1])  # however it was named
    plugin.write_text(RANKER.format(column=0, sign=-1))
    other = bench(tmp_path, folds, "--import", "mine")
    assert other[0] == 3
    assert other[1] != first[1]
    plugin.write_text(RANKER.format(column=0, sign=1))
    assert bench(tmp_path, folds, "--import", "mine") == (0, first[1])


def test_digest_covers_the_running_code(tmp_path: Path, folds: Path) -> None:
    """Bytecode of an edit within the same second, of the same length, is not taken for the source."""
    calls = []
    for column in (0, 1):
        (tmp_path / "helper.py").write_text(f"COLUMN = {column}\n")
        (tmp_path / "mine.py").write_text("from helper import COLUMN\n" + RANKER.format(column="COLUMN", sign=1))
        for name in ("helper.py", "mine.py"):
            os.utime(tmp_path / name, (1e9, 1e9))
            py_compile.compile(str(tmp_path / name)) if not column else None
        calls.append([bench(tmp_path, folds, "--import", name) for name in ("mine", "mine.py")])
    assert [computed for way in calls for computed, _ in way] == [3, 0, 3, 0]
    assert calls[0][0][1] != calls[1][0][1]
    stored = {path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")}
    assert stored == {"helper", "mine"}  # the tests' own


def test_a_helper_and_the_surroundings_count(tmp_path: Path, folds: Path) -> None:
    (tmp_path / "helper.py").write_text("import os\nCOLUMN = int(os.environ.get('COLUMN', '0'))\n")
    (tmp_path / "mine.py").write_text("from helper import COLUMN\n" + RANKER.format(column="COLUMN", sign=1))
    first = bench(tmp_path, folds, "--import", "mine.py")
    assert first[0] == 3
    other = bench(tmp_path, folds, "--import", "mine.py", COLUMN="1")
    assert (other[0], other[1] == first[1]) == (3, False)
    (tmp_path / "helper.py").write_text("COLUMN = 1\n")
    assert bench(tmp_path, folds, "--import", "mine.py") == (3, other[1])


def test_measures_and_tools_count(tmp_path: Path, folds: Path) -> None:
    (tmp_path / "mine.py").write_text(RANKER.format(column=0, sign=1))
    things = ("--import", "mine,measure", "--import", "tool")
    calls = []
    for factor, empty in ((1, 0.0), (2, 0.0), (2, 1.0), (2, 1.0)):
        (tmp_path / "measure.py").write_text(MEASURE.format(name="Mine", factor=factor))
        (tmp_path / "tool.py").write_text(TOOL.format(name="t", empty=empty))
        calls.append(bench(tmp_path, folds, *things, measure="Mine", tool="t,official"))
    assert [computed for computed, _ in calls] == [3, 3, 3, 0]
    assert calls[1][1] == pytest.approx(2 * calls[0][1], abs=2e-4)


def test_a_model_of_the_bench_ranks(tmp_path: Path, folds: Path) -> None:
    (tmp_path / "mine.py").write_text(RANKER.format(column=0, sign=1))
    bench(tmp_path, folds, "--import", "mine")
    model = next((tmp_path / "results" / "cells").rglob("model.json"))
    arguments = ("rank", str(model), str(folds / "Fold1" / "test.txt"))
    line = query_tf(pippin(*arguments, cwd=tmp_path))
    assert re.search(
        r"its ranker 'mine' comes from a plugin \(mine\.py \w{16}\): install it, or name its module with --import", line
    )
    done = pippin(*arguments, "--import", "mine", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(Path(arguments[2]).read_text().splitlines())


def test_a_worker_with_another_plug_in_refuses(tmp_path: Path, folds: Path) -> None:
    (tmp_path / "mine.py").write_text(RANKER.format(column="int(__import__('os').getpid())", sign=1))
    done = pippin("bench", str(folds), "--ranker", "mine", "--tool", "official", "--import", "mine", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"this worker has ranker mine \w{16}, but the plan was made with \w{16}", done.stderr)


def collection(folder: Path) -> Path:
    """Six documents, three queries with judgements."""
    rows = [{"id": f"d{i}", "text": f"apple pear {'apple ' * i} plum {'quince ' * (5 - i)}"} for i in range(6)]
    folder.mkdir()
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.tsv").write_text("1\tapple\n2\tpear quince\n3\tplum apple\n")
    (folder / "qrels.txt").write_text("".join(f"{q} 0 d{d} {(q + d) % 2}\n" for q in (1, 2, 3) for d in range(6)))
    return folder


def build(folder: Path, features: str) -> dict[str, Any]:
    done = pippin(
        "build", "fruits", "-o", "built", "--features", features, "--folds", "3", "--no-meta", "--resume", "-q",
        "--import", "mine.py", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest = json.loads((folder / "built" / "dataset.json").read_text())
    manifest["lines"] = (folder / "built" / "Feature-null" / "Fold1" / "trainingset.txt").read_text()
    return dict(manifest)


def test_an_edited_feature_is_another_data_set(tmp_path: Path) -> None:
    collection(tmp_path / "fruits")
    built, identities, plain = [], set(), set()
    for k1, texts in ((1, ("boost@text", "tf@text")), (2, ("boost@text", "tf@text")), (2, ("boost@text", "idf@text"))):
        (tmp_path / "mine.py").write_text(FEATURE.format(k1=k1, texts=texts))
        built.append(build(tmp_path, "mine"))
        identities.add(identity(tmp_path, "mine"))
        plain.add(identity(tmp_path, "tf@text"))
    assert set(built[0]["plugins"]) == {"feature boost", "feature set mine"}
    assert [len({json.dumps(item[what]) for item in built}) for what in ("plugins", "lines")] == [3, 3]
    assert len(identities) == 3
    assert len(plain) == 1  # where no stranger takes part, nothing changes
    assert "| feature boost |" in re.sub(" +", " ", (tmp_path / "built" / "README.md").read_text())


def identity(folder: Path, features: str) -> str:
    """Return the identity of the data set as the bench computes it."""
    code = (
        "from pippin.plugins import load_modules\nload_modules(['mine.py'])\n"
        "from pippin.collections.build import BuildOptions, identity\n"
        "from pippin.collections.sources import open_collection\n"
        f"print(identity(open_collection('fruits'), BuildOptions(features={features!r})))"
    )
    return python(code, folder).stdout


def test_a_build_is_not_resumed_with_other_features(tmp_path: Path) -> None:
    collection(tmp_path / "fruits")
    (tmp_path / "mine.py").write_text(FEATURE.format(k1=1, texts=("boost@text",)))
    before = build(tmp_path, "boost@text")["lines"]
    stopped = (
        "import sys, pippin.collections.build as room\nfrom pippin.cli.main import main\nroom._move = None\n"
        "main('build fruits -o built --features boost@text --folds 3 --no-meta -q --import mine.py'.split())"
    )
    assert "'NoneType' object is not callable" in python(stopped, tmp_path).stderr
    assert list((tmp_path / "built.building" / "parts").iterdir())
    (tmp_path / "mine.py").write_text(FEATURE.format(k1=7, texts=("boost@text",)))
    assert build(tmp_path, "boost@text")["lines"] != before


def test_a_cluster_has_the_plug_ins(tmp_path: Path, folds: Path) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "mine.py").write_text(RANKER.format(column=0, sign=1))
    (tmp_path / "measure.py").write_text(MEASURE.format(name="Mine", factor=2))
    brought = ("--import", "mine.py", "--import", "measure")
    first = bench(tmp_path, folds, "--dask", "local", *brought, measure="Mine")
    assert first[0] == 3
    assert bench(tmp_path, folds, *brought, measure="Mine") == (0, first[1])
    test, model = str(folds / "Fold1" / "test.txt"), next((tmp_path / "results" / "cells").rglob("model.json"))
    for arguments in (
        ("convert", test, "parts/", "--partitions", "40"),
        ("rank", str(model), "parts/", "-o", "scored/", "--dask", "local", *brought),
        ("eval", "scored/", "-m", "Mine@3", "--dask", "local", *brought),
    ):
        done = pippin(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "Mine@3" in done.stdout
