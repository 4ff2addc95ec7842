"""The example package is installed like a third-party plugin, and its components appear in every command."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.fork_server import Done
from tests.plugins.packages import pippin

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pippin-plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example is installed."""
    pytest.importorskip("pip")
    pytest.importorskip("flit_core")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    done = subprocess.run([*command, str(target), str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def own() -> ModuleType:
    """The example's own tests, for the data that they make."""
    spec = importlib.util.spec_from_file_location("plugin_tests", EXAMPLE / "tests" / "test_plugin.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(site: Path, folder: Path, *arguments: str) -> Done:
    done = pippin(*arguments, cwd=folder, path=site)
    assert done.returncode == 0, done.stderr
    return done


def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import pytest; sys.exit(pytest.main(sys.argv[2:]))"
    arguments = [
        str(site),
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        "--rootdir",
        str(tmp_path),
        str(EXAMPLE / "tests"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_list_has_its_names(site: Path, tmp_path: Path) -> None:
    for command, name in (
        ("measures", "PairAccuracy"),
        ("tools", "shop"),
        ("rankers", "rocchio"),
        ("features", "idf_coverage"),
        ("datasets", "fruits"),
    ):
        assert name in run(site, tmp_path, command, "-f", "csv").stdout
        assert run(site, tmp_path, command, name).stdout.startswith(name)
    assert "gamma" in run(site, tmp_path, "rankers", "rocchio").stdout
    assert "mbox" in run(site, tmp_path, "datasets").stdout
    assert "msmarco_mrr" in run(site, tmp_path, "as", "--help").stdout


def test_evaluate_reconcile_and_compare(site: Path, own: ModuleType, tmp_path: Path) -> None:
    test = own.fruits(tmp_path) / "Fold1" / "test.txt"
    for name, scores in (("a", (4, 3, 2, 1)), ("b", (1, 2, 3, 4))):
        (tmp_path / name).write_text("".join(f"{score}\n" for _ in range(10) for score in scores))
    output = run(site, tmp_path, "eval", str(test), "a", "-m", "PairAccuracy", "-t", "all", "-f", "csv").stdout
    assert "shop" in output
    assert "trec_eval9" in output
    printed = run(site, tmp_path, "reconcile", str(test), "a", "-m", "P@2", "-t", "official,shop").stdout
    assert "relevance level" in printed
    compared = run(site, tmp_path, "compare", str(test), "a", "b", "-m", "PairAccuracy", "-t", "shop").stdout
    assert "PairAccuracy" in compared


def test_bench_leaderboard_page_and_rank(site: Path, own: ModuleType, tmp_path: Path) -> None:
    fruits = own.fruits(tmp_path)
    measures = ("--measure", "PairAccuracy,NDCG@10", "--tool", "official,shop", "--select", "PairAccuracy")
    done = run(site, tmp_path, "bench", str(fruits), "--ranker", "rocchio,best-feature", *measures)
    assert "rocchio" in done.stdout
    cell = next((tmp_path / "results" / "cells").rglob("cell.json"))
    record = json.loads(cell.read_text())
    assert record["data"] == "fruits"
    versions = {key for cell in (tmp_path / "results" / "cells").rglob("cell.json")
                for key in json.loads(cell.read_text())["versions"]}  # fmt: skip
    assert {"ranker rocchio", "measure PairAccuracy", "tool shop"} <= versions
    assert "rocchio" in run(site, tmp_path, "leaderboard", "results", "-t", "shop").stdout
    run(site, tmp_path, "report", "results", "-o", "page")
    (page,) = (tmp_path / "page").rglob("index.html")
    for name in ("rocchio", "PairAccuracy", "shop"):
        assert name in page.read_text()
    model = next(path for path in (tmp_path / "results" / "cells").rglob("model.json") if "rocchio" in path.read_text())
    scores = run(site, tmp_path, "rank", str(model), str(fruits / "Fold1" / "test.txt")).stdout
    assert len(scores.splitlines()) == 40


def test_train(site: Path, own: ModuleType, tmp_path: Path) -> None:
    fold = own.fruits(tmp_path) / "Fold1"
    files = (str(fold / "train.txt"), "--valid", str(fold / "vali.txt"), "--select", "PairAccuracy")
    run(site, tmp_path, "train", "-r", "rocchio", *files, "-o", "model.json")
    assert "gamma" in run(site, tmp_path, "rankers", "model.json").stdout


def test_build_index_and_the_drop_in(site: Path, own: ModuleType, tmp_path: Path) -> None:
    own.mail(tmp_path)
    (tmp_path / "queries.tsv").write_text("1\tapple plum\n2\tpear\n3\tpie\n")
    (tmp_path / "qrels.txt").write_text("1 0 <1@x> 1\n2 0 <2@x> 1\n3 0 <0@x> 1\n")
    features = "idf_coverage@body idf_coverage(power=2)@body bm25@body"
    run(site, tmp_path, "build", "mail.mbox", "-o", "mail", "--features", features, "--folds", "3", "-q")
    manifest = json.loads((tmp_path / "mail" / "dataset.json").read_text())
    assert set(manifest["plugins"]) == {"feature idf_coverage", "collection format mbox"}
    assert "3 documents" in run(site, tmp_path, "index", "mail.mbox", "-o", "mail.index").stdout
    (tmp_path / "reference").write_text("1\t0\t7\t1\n")
    (tmp_path / "candidates").write_text("1\t9\t1\n1\t7\t2\n")
    printed = run(site, tmp_path, "as", "msmarco_mrr", "reference", "candidates").stdout
    assert "MRR @10: 0.5" in printed
