"""Every export target with every kind of ranker against Pippin's scores."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.kinds import KINDS, blend, documents, train_ranker

import pippin
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.models.export import CERTIFICATE_SUFFIX
from pippin.models.exporters.base import EXPORTERS, ExportRequest, FeatureMapping
from pippin.models.exporters.c import write
from pippin.models.model import Tree, TreeEnsemble, make_tree
from pippin.models.scoring import score_reference
from pippin.rankers import names
from pippin.rankers.base import RANKERS
from pippin.rankers.export import export
from pippin.rankers.relational import Relational

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Optional package of a target's engine.
PACKAGES = {"onnx": "onnxruntime", "xgboost": "xgboost", "treelite": "treelite"}
# Targets with equal scores: the engine computes in float64 in our order.
BITS = {"c", "lightgbm", "sql", "treelite"}
# Targets whose engine sums float64 in an order of its own.
DOUBLES = {*BITS, "onnx", "elasticsearch", "vespa", "pmml"}
SINGLE = 2e-6  # of a score of about 1 in float32, after a few dozen additions


def need(target: str) -> None:
    if target in PACKAGES:
        pytest.importorskip(PACKAGES[target])


def export_kind(kind: str, target: str, folder: Path, null: bool = False, **more: Any) -> Any:
    return export(train_ranker(kind, null), target, folder / "model.out", check=documents(null), **more)


def reordered_beyond_ties(certificate: Any) -> list[Any]:
    """Return the queries whose order changes between documents with different float32 scores."""
    return [query for query in certificate.reordered_queries if not query["equal_in_float32"]]


def test_table_has_every_ranker() -> None:
    assert {name for name, _, _ in KINDS.values()} == {name for name in names() if RANKERS.origin(name) is None}


@pytest.mark.parametrize("kind", KINDS)
def test_model_of_a_ranker_scores_as_the_ranker(kind: str) -> None:
    model, data = train_ranker(kind), documents()
    converted = model.to_model()
    assert converted.kind == KINDS[kind][2]
    scores, expected = score_reference(converted, data.features), model.predict(data)
    exact = converted.kind == "trees" and kind != "blended trees"  # whose weights are in the leaves
    assert (scores == expected).all() if exact else np.allclose(scores, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind][2] == "trees" and kind != "blended trees"])
def test_trees_treat_missing_values_as_the_ranker(kind: str) -> None:
    model, data = train_ranker(kind, null=True), documents(null=True)
    assert np.isnan(data.features).any()
    assert (score_reference(model.to_model(), data.features) == model.predict(data)).all()


@pytest.mark.parametrize("target", sorted(EXPORTERS))
@pytest.mark.parametrize("kind", KINDS)
def test_engine_scores_as_pippin_or_export_fails(kind: str, target: str, tmp_path: Path) -> None:
    need(target)
    model_kind = KINDS[kind][2]
    if model_kind not in EXPORTERS[target].kinds:
        with pytest.raises(ConventionError, match=f"{target} does not support"):
            export_kind(kind, target, tmp_path)
        assert not list(tmp_path.iterdir())
        return
    certificate = export_kind(kind, target, tmp_path).certificate
    assert certificate.branch_changes == 0
    assert reordered_beyond_ties(certificate) == []
    is_here = EXPORTERS[target].engine is not None and (target != "ranklib" or "PIPPIN_RANKLIB" in os.environ)
    assert certificate.by_engine == is_here
    if target in BITS and model_kind == "trees" and kind not in ("bagged", "blended trees"):
        assert certificate.has_equal_scores
    # A division by three or a blend's weight in the trees' values, not after them, costs a last bit; so do products.
    assert certificate.largest_difference + certificate.rounding_bound <= (2e-13 if target in DOUBLES else SINGLE)
    record = json.loads((tmp_path / f"model.out{CERTIFICATE_SUFFIX}").read_text())
    assert record["format"] == "pippin-parity"
    assert record["reordered_queries"] or record["ndcg"]["before"] == record["ndcg"]["after"]
    assert record["data"]["documents"] == len(documents())


NULLS = ["c", "lightgbm", "onnx", "sql", "xgboost", "elasticsearch-ltr", "elasticsearch", "vespa", "treelite", "pmml"]


@pytest.mark.parametrize("target", [name for name in NULLS if name in EXPORTERS])
@pytest.mark.parametrize("kind", ["lambdamart", "rankboost"])
def test_missing_values_take_the_branch_of_training(kind: str, target: str, tmp_path: Path) -> None:
    need(target)
    certificate = export_kind(kind, target, tmp_path, null=True).certificate
    assert (certificate.branch_changes, reordered_beyond_ties(certificate)) == (0, [])


@pytest.mark.parametrize(("target", "options"), [("solr", {}), ("opensearch-ltr", {"version": "3.1"}), ("ranklib", {})])
def test_certificate_counts_branch_changes_where_null_is_zero(
    target: str, options: dict[str, str], tmp_path: Path
) -> None:
    certificate = export_kind("lambdamart", target, tmp_path, null=True, options=options, force=True).certificate
    assert certificate.scoring["missing"] == "zero"
    assert certificate.branch_changes > 0
    assert sum(threshold["decisions"] for threshold in certificate.thresholds) >= certificate.branch_changes
    assert "the data have missing values, which this engine treats as 0" in certificate.notes


@pytest.mark.parametrize("target", ["c", "onnx"])
def test_linear_model_has_no_score_for_missing_values(target: str, tmp_path: Path) -> None:
    need(target)
    with pytest.raises(ConventionError, match="returns no score for documents with missing values"):
        export_kind("best-feature", target, tmp_path, null=True)
    assert not list(tmp_path.iterdir())


def test_solr_keeps_the_direction_of_missing_values(tmp_path: Path) -> None:
    result = export_kind("lambdamart", "solr", tmp_path, null=True, options={"missing": "direction"})
    assert result.certificate.branch_changes == 0
    model = json.loads((tmp_path / "model.out").read_text())
    assert model["params"]["isNullSameAsZero"] is False
    assert model["params"]["trees"][0]["root"]["missing"] in ("left", "right")


@pytest.mark.parametrize(
    ("target", "options"),
    [("onnx", {"precision": "float"}), ("solr", {"missing": "direction"}), ("vespa", {"format": "xgboost"})],
)
@pytest.mark.parametrize("kind", ["lambdamart", "mart"])
def test_options_of_a_target(kind: str, target: str, options: dict[str, str], tmp_path: Path) -> None:
    need(target)
    certificate = export_kind(kind, target, tmp_path, options=options).certificate
    assert (certificate.branch_changes, reordered_beyond_ties(certificate)) == (0, [])
    assert certificate.largest_difference < SINGLE


@pytest.mark.parametrize("kind", ["ranksvm", "ranknet"])
def test_onnx_in_float32(kind: str, tmp_path: Path) -> None:
    need("onnx")
    certificate = export_kind(kind, "onnx", tmp_path, options={"precision": "float"}).certificate
    assert 0 < certificate.largest_difference < 1e-5


def test_hundreds_of_trees_fit_into_a_query(tmp_path: Path) -> None:
    data = documents()
    model = pippin.train(data, "lambdamart", rounds=300, num_leaves=8, min_data_in_leaf=1)
    certificate = export(model, "sql", tmp_path / "big.sql", check=data).certificate
    assert certificate.has_equal_scores


def test_model_with_relations_is_an_error(tmp_path: Path) -> None:
    model = pippin.load(_save(train_ranker("ranksvm"), tmp_path))
    model.relation_weight_ = 0.5
    for ranker in (model, Relational.around(model)):
        with pytest.raises(DataError, match="propagates scores along relations"):
            ranker.to_model()


def test_blend_of_several_kinds_is_an_error() -> None:
    with pytest.raises(DataError, match="this blend of linear and trees cannot be exported"):
        blend(("ranksvm", "mart")).to_model()


def _save(model: Any, folder: Path) -> str:
    model.save(folder / "model.json")
    return str(folder / "model.json")


def test_function_and_method_write_the_same_file(tmp_path: Path) -> None:
    file = _save(train_ranker("ranksvm"), tmp_path)
    pippin.export(file, "c", tmp_path / "one.h", check=documents(), name="x")
    train_ranker("ranksvm").export("c", tmp_path / "two.h", check=documents(), name="x")
    assert (tmp_path / "one.h").read_bytes() == (tmp_path / "two.h").read_bytes()


def test_unknown_names_and_options(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no target is called 'lightgmb'; did you mean lightgbm"):
        export_kind("lambdamart", "lightgmb", tmp_path)
    with pytest.raises(UnknownName, match="no option of solr is called 'stoer'"):
        export_kind("lambdamart", "solr", tmp_path, options={"stoer": "x"})
    with pytest.raises(ConventionError, match="precision of onnx must be double or float, got 'half'"):
        export_kind("lambdamart", "onnx", tmp_path, options={"precision": "half"})


def test_documented_targets_exist() -> None:
    assert set(EXPORTERS) >= {
        "elasticsearch-ltr", "opensearch-ltr", "elasticsearch", "solr", "vespa", "onnx", "lightgbm", "xgboost",
        "ranklib", "treelite", "pmml", "c", "sql",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["lambdamart", "mart", "ranksvm"])
def test_duckdb_scores_as_sqlite(kind: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    import pyarrow

    model, data = train_ranker(kind, null=kind != "ranksvm"), documents(null=kind != "ranksvm")
    export(model, "sql", tmp_path / "score.sql", check=data, options={"table": "my hits"})
    columns = {name: pyarrow.array(np.asarray(data.features)[:, i], from_pandas=True)
               for i, name in enumerate(data.feature_names)}  # fmt: skip
    connection = duckdb.connect()
    connection.register("given", pyarrow.table({"row": np.arange(len(data)), **columns}))
    connection.execute('CREATE TABLE "my hits" AS SELECT * FROM given')
    query = (tmp_path / "score.sql").read_text().rstrip().rstrip(";")
    scores = np.array(connection.execute(f"SELECT score FROM ({query}) ORDER BY row").fetchall())[:, 0]
    expected = model.predict(data)
    assert (scores == expected).all() if kind != "ranksvm" else np.allclose(scores, expected, rtol=0, atol=1e-14)


def random_tree(rng: np.random.Generator, leaves: int, thresholds: Any) -> Tree:
    """Return a tree of random shape over three features, with NULL on random sides of the third."""
    sides = np.zeros((leaves - 1, 2), int)
    free: list[tuple[int, int]] = []
    for node in range(leaves - 1):
        if node:
            sides[free.pop(rng.integers(len(free)))] = node
        free += [(node, 0), (node, 1)]
    for number, slot in enumerate(free):
        sides[slot] = ~number
    feature, chosen = rng.integers(0, 3, leaves - 1), rng.choice(thresholds, leaves - 1)
    null_left = np.choose(feature, [np.full(leaves - 1, True), chosen >= 0, rng.random(leaves - 1) < 0.5])
    return make_tree(feature, chosen, sides[:, 0], sides[:, 1], null_left, rng.normal(size=leaves))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(("leaves", "thresholds", "type"), [
    (31, np.arange(-40, 40) / 4, "unsigned char m_rank"),
    (256, np.arange(-40, 40) / 4, "unsigned char m_rank"),
    (31, np.arange(-2000, 2000) / 4, "unsigned short m_rank"),
    (257, np.arange(-40, 40) / 4, None),  # large trees are walked document by document
])  # fmt: skip
def test_c_scores_batches_of_any_size_as_one_document(
    leaves: int, thresholds: Any, type: str | None, tmp_path: Path
) -> None:
    rng = np.random.default_rng(leaves)
    sizes = [[leaves, 1, 2, leaves], [1], [*rng.integers(1, leaves + 1, 120)]]
    bags = tuple(tuple(random_tree(rng, n, [*thresholds, -0.0]) for n in bag) for bag in sizes)
    model = TreeEnsemble(("a", "b", "c"), bags, start=0.1, base=0.3, scale=0.7, divisor=3.0)
    header = write(ExportRequest(model, "m", "m.h", FeatureMapping(), {}))[""].decode()
    assert ("m_score_block" in header) == (type is not None)
    assert type is None or f"static const {type}[]" in header
    (tmp_path / "m.h").write_text(header)
    (tmp_path / "m.c").write_text(
        '#include "m.h"\nconst char *first(void) { return m_feature_names[0]; }\n'
        "void one(const double *row, double *score) { *score = m_score(row); }\n"
        "void batch(const double *rows, size_t count, double *scores) { m_score_batch(rows, count, scores); }\n"
    )
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "m.c", "-o", "m.so", "-lm"], check=True, cwd=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, *np.nextafter(thresholds, np.inf)]
    for count in (0, 1, 15, 16, 127, 128, 129, 143, 144, 700):
        table = rng.choice([*thresholds, *special, *[np.nan] * (len(thresholds) // 5)], (count, 3))
        scores, single = np.empty(count), np.empty(count)
        library.batch(ctypes.c_void_p(table.ctypes.data), ctypes.c_size_t(count), ctypes.c_void_p(scores.ctypes.data))
        for i in range(count):
            library.one(ctypes.c_void_p(table[i].ctypes.data), ctypes.c_void_p(single.ctypes.data + 8 * i))
        assert scores.tobytes() == single.tobytes() == score_reference(model, table).tobytes()
