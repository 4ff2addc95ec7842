"""Every target by every kind of ranker: the engine's own scores, or an interpreter's, against Pippin's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.deploy.kinds import KINDS, blended, documents, trained

import pippin
from pippin.deploy.exporting import PARITY, export
from pippin.deploy.target import TARGETS, targets
from pippin.deploy.turning import form_of
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.forms.arithmetic import score
from pippin.rankers import names
from pippin.rankers.base import RANKERS
from pippin.rankers.relational import Relational

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

targets()
# The package of a target's engine, where it is no part of Pippin.
PACKAGES = {"onnx": "onnxruntime", "xgboost": "xgboost", "treelite": "treelite"}
# How far scores may be apart: 0 where the engine computes in doubles in our order.
BITS = {"c", "lightgbm", "onnx", "sql", "treelite", "elasticsearch", "vespa", "pmml"}
SINGLE = 2e-6  # of a score of about 1 in float32, after a few dozen additions


def need(target: str) -> None:
    if target in PACKAGES:
        pytest.importorskip(PACKAGES[target])


def exported(kind: str, target: str, folder: Path, null: bool = False, **more: Any) -> Any:
    return export(trained(kind, null), target, folder / "model.out", check=documents(null), **more)


def told_apart(certificate: Any) -> list[Any]:
    """Queries that change their order between documents that float32 tells apart."""
    return [one for one in certificate.order if not one["equal_in_float32"]]


def test_no_ranker_is_missing_in_the_table() -> None:
    assert {name for name, _, _ in KINDS.values()} == {name for name in names() if RANKERS.origin(name) is None}


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_of_a_ranker_scores_as_the_ranker_does(kind: str) -> None:
    model, data = trained(kind), documents()
    form = form_of(model)
    assert form.kind == KINDS[kind][2]
    found, wanted = score(form, data.features), model.predict(data)
    exact = form.kind == "trees" and kind != "blended trees"  # whose weights are in the leaves
    assert (found == wanted).all() if exact else np.allclose(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind][2] == "trees" and kind != "blended trees"])
def test_trees_take_null_as_the_ranker_does(kind: str) -> None:
    model, data = trained(kind, null=True), documents(null=True)
    assert np.isnan(data.features).any()
    assert (score(form_of(model), data.features) == model.predict(data)).all()


@pytest.mark.parametrize("target", sorted(TARGETS.known))
@pytest.mark.parametrize("kind", KINDS)
def test_a_target_scores_as_pippin_does_or_refuses(kind: str, target: str, tmp_path: Path) -> None:
    need(target)
    form = KINDS[kind][2]
    if form not in TARGETS[target].kinds:
        with pytest.raises(ConventionError, match=f"{target} cannot take"):
            exported(kind, target, tmp_path)
        assert not list(tmp_path.iterdir())
        return
    certificate = exported(kind, target, tmp_path).certificate
    assert certificate.sides == 0
    assert told_apart(certificate) == []
    is_here = TARGETS[target].engine is not None and (target != "ranklib" or "PIPPIN_RANKLIB" in os.environ)
    assert certificate.by_engine == is_here
    if target in BITS and form == "trees" and kind not in ("bagged", "blended trees"):
        assert certificate.equal_bits
    # A division by three or a blend's weight in the trees' values, not after them, costs a last bit; so do products.
    assert certificate.largest_difference <= (1e-14 if target in BITS else SINGLE)
    record = json.loads((tmp_path / f"model.out{PARITY}").read_text())
    assert record["format"] == "pippin-parity"
    assert record["order"] or record["ndcg"]["before"] == record["ndcg"]["after"]
    assert record["data"]["documents"] == len(documents())


NULLS = ["c", "lightgbm", "onnx", "sql", "xgboost", "elasticsearch-ltr", "elasticsearch", "vespa", "treelite", "pmml"]


@pytest.mark.parametrize("target", [name for name in NULLS if name in TARGETS.known])
@pytest.mark.parametrize("kind", ["lambdamart", "rankboost"])
def test_null_goes_where_training_sent_it(kind: str, target: str, tmp_path: Path) -> None:
    need(target)
    certificate = exported(kind, target, tmp_path, null=True).certificate
    assert (certificate.sides, told_apart(certificate)) == (0, [])


@pytest.mark.parametrize("target", ["solr", "opensearch-ltr", "ranklib"])
def test_engines_that_take_null_for_zero_are_certified_to_change_sides(target: str, tmp_path: Path) -> None:
    certificate = exported("lambdamart", target, tmp_path, null=True).certificate
    assert certificate.scoring["missing"] == "zero"
    assert certificate.sides > 0
    assert sum(place["decisions"] for place in certificate.thresholds) >= certificate.sides
    assert "the data have NULL, which this engine takes for 0" in certificate.notes


@pytest.mark.parametrize("target", ["c", "onnx"])
def test_a_weighted_sum_gives_no_score_to_null(target: str, tmp_path: Path) -> None:
    need(target)
    with pytest.raises(ConventionError, match="gives no score to a document with NULL"):
        exported("best-feature", target, tmp_path, null=True)
    assert not list(tmp_path.iterdir())


def test_solr_can_keep_the_direction(tmp_path: Path) -> None:
    found = exported("lambdamart", "solr", tmp_path, null=True, options={"missing": "direction"})
    assert found.certificate.sides == 0
    model = json.loads((tmp_path / "model.out").read_text())
    assert model["params"]["isNullSameAsZero"] is False
    assert model["params"]["trees"][0]["root"]["missing"] in ("left", "right")


@pytest.mark.parametrize(("target", "options"), [("onnx", {"precision": "float"}), ("xgboost", {"format": "ubj"}),
                                                 ("vespa", {"format": "xgboost"})])  # fmt: skip
@pytest.mark.parametrize("kind", ["lambdamart", "mart"])
def test_the_other_form_of_a_target(kind: str, target: str, options: dict[str, str], tmp_path: Path) -> None:
    need(target)
    certificate = exported(kind, target, tmp_path, options=options).certificate
    assert (certificate.sides, told_apart(certificate)) == (0, [])
    assert certificate.largest_difference < SINGLE


@pytest.mark.parametrize("kind", ["ranksvm", "ranknet"])
def test_onnx_in_float32(kind: str, tmp_path: Path) -> None:
    need("onnx")
    certificate = exported(kind, "onnx", tmp_path, options={"precision": "float"}).certificate
    assert 0 < certificate.largest_difference < 1e-5


def test_a_thousand_trees_fit_into_a_query(tmp_path: Path) -> None:
    data = documents()
    model = pippin.train(data, "lambdamart", rounds=300, leaves=8, min_leaf=1)
    certificate = export(model, "sql", tmp_path / "big.sql", check=data).certificate
    assert certificate.equal_bits


def test_a_model_with_relations_is_refused(tmp_path: Path) -> None:
    model = pippin.load(_saved(trained("ranksvm"), tmp_path))
    model.relation_weight_ = 0.5
    for one in (model, Relational.around(model)):
        with pytest.raises(DataError, match="spreads scores along relations"):
            form_of(one)


def test_a_blend_of_several_kinds_is_refused() -> None:
    with pytest.raises(DataError, match="auto blended linear and trees here"):
        form_of(blended(("ranksvm", "mart")))


def _saved(model: Any, folder: Path) -> str:
    model.save(folder / "model.json")
    return str(folder / "model.json")


def test_the_verb_and_the_method_are_one(tmp_path: Path) -> None:
    file = _saved(trained("ranksvm"), tmp_path)
    pippin.export(file, "c", tmp_path / "one.h", check=documents(), name="x")
    trained("ranksvm").export("c", tmp_path / "two.h", check=documents(), name="x")
    assert (tmp_path / "one.h").read_bytes() == (tmp_path / "two.h").read_bytes()


def test_unknown_names_and_options(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no target is called 'lightgmb'; did you mean lightgbm"):
        exported("lambdamart", "lightgmb", tmp_path)
    with pytest.raises(UnknownName, match="no option of solr is called 'stoer'"):
        exported("lambdamart", "solr", tmp_path, options={"stoer": "x"})
    with pytest.raises(ConventionError, match="precision of onnx is double or float, not 'half'"):
        exported("lambdamart", "onnx", tmp_path, options={"precision": "half"})


def test_the_table_of_targets_is_what_is_promised() -> None:
    assert set(TARGETS.known) >= {
        "elasticsearch-ltr", "opensearch-ltr", "elasticsearch", "solr", "vespa", "onnx", "lightgbm", "xgboost",
        "ranklib", "treelite", "pmml", "c", "sql",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["lambdamart", "mart", "ranksvm"])
def test_duckdb_answers_the_query_as_sqlite_does(kind: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    import pyarrow

    model, data = trained(kind, null=kind != "ranksvm"), documents(null=kind != "ranksvm")
    export(model, "sql", tmp_path / "score.sql", check=data, options={"table": "my hits"})
    columns = {name: pyarrow.array(np.asarray(data.features)[:, i], from_pandas=True)
               for i, name in enumerate(data.feature_names)}  # fmt: skip
    connection = duckdb.connect()
    connection.register("given", pyarrow.table({"row": np.arange(len(data)), **columns}))
    connection.execute('CREATE TABLE "my hits" AS SELECT * FROM given')
    query = (tmp_path / "score.sql").read_text().rstrip().rstrip(";")
    found = np.array(connection.execute(f"SELECT score FROM ({query}) ORDER BY row").fetchall())[:, 0]
    wanted = model.predict(data)
    assert (found == wanted).all() if kind != "ranksvm" else np.allclose(found, wanted, rtol=0, atol=1e-14)
