"""Model files of programs without a Python package, written like these programs do and scored by hand."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pippin
from pippin.errors import DataError
from pippin.models.exporters.onnx import bytes_field, int_field
from pippin.models.importers import FORMATS, detect_format, importer, read_model

LAMBDAMART = """## LambdaMART
## No. of trees = 2
## No. of leaves = 3

<ensemble>
\t<tree id="1" weight="0.1">
\t\t<split>
\t\t\t<feature> 1 </feature>
\t\t\t<threshold> 0.5 </threshold>
\t\t\t<split pos="left">
\t\t\t\t<output> -1.25 </output>
\t\t\t</split>
\t\t\t<split pos="right">
\t\t\t\t<feature> 3 </feature>
\t\t\t\t<threshold> 0.1 </threshold>
\t\t\t\t<split pos="left">
\t\t\t\t\t<output> 0.3 </output>
\t\t\t\t</split>
\t\t\t\t<split pos="right">
\t\t\t\t\t<output> 2.0 </output>
\t\t\t\t</split>
\t\t\t</split>
\t\t</split>
\t</tree>
\t<tree id="2" weight="0.1">
\t\t<split>
\t\t\t<output> 0.7 </output>
\t\t</split>
\t</tree>
</ensemble>
"""
ONE = LAMBDAMART[LAMBDAMART.index("<ensemble>") :].replace('weight="0.1"', 'weight="1.0"')
FOREST = f"## Random Forests\n## No. of bags = 3\n\n{ONE}\n{ONE.replace('2.0', '0.9')}\n{ONE.replace('0.3', '0.6')}"
RANKBOOST = "## RankBoost\n## Iteration = 3\n## No. of threshold candidates = 10\n1:0.5:0.75 3:0.1:-0.2 1:0.25:1.5"
ADARANK = "## AdaRank\n## Iteration = 500\n1:0.3 3:-0.7 1:0.11"
ASCENT = "## Coordinate Ascent\n## Restart = 2\n3:0.25 1:0.6 2:-0.1"
REGRESSION = "## Linear Regression\n## Lambda = 1.0E-10\n0:0.125 1:0.3 2:0.5 3:-0.7"
RANKNET = """## RankNet
## Epochs = 100
1 2 3
1
2
0 0 0.5 -0.25
0 1 0.1 0.2
0 2 -0.3 0.4
0 3 0.05 -0.15 0.6
1 0 1.5
1 1 -0.75
"""
RANKLIB = {"lambdamart": LAMBDAMART, "forest": FOREST, "rankboost": RANKBOOST, "adarank": ADARANK, "ascent": ASCENT,
           "regression": REGRESSION, "ranknet": RANKNET}  # fmt: skip
X = np.round(np.random.default_rng(1).random((60, 3)), 2)
X[:4] = [[0.5, 0.1, 0.1], [0.51, 0.2, 0.1], [0.51, 0.2, 0.11], [0.0, 0.0, 0.0]]
X32 = X.astype(np.float32).astype(np.float64)


def read(content: str | bytes, format: str) -> pippin.Ranker:
    packed = content.encode() if isinstance(content, str) else content
    assert detect_format(packed) == format
    from pippin.rankers.models import read_foreign_model

    return read_foreign_model(packed, "model")


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def test_trees_of_ranklib_are_summed_in_float32() -> None:
    weight, f32 = np.float32(0.1), np.float32
    first = [f32(float(f32(v)) * float(weight)) for v in (-1.25, 0.3, 2.0)]
    last = float(f32(0.7)) * float(weight)
    expected = [float(f32(float(value) + last)) for value in first]
    assert read(LAMBDAMART, "ranklib").predict(X[:3]).tolist() == expected


def test_rankboost_adarank_and_linear_models_of_ranklib() -> None:
    x = X32[7]
    rules = 0.75 * (x[0] > 0.5) - 0.2 * (x[2] > 0.1) + 1.5 * (x[0] > 0.25)
    assert read(RANKBOOST, "ranklib").predict(X[7:8])[0] == rules
    assert read(ADARANK, "ranklib").predict(X[7:8])[0] == 0.3 * x[0] + -0.7 * x[2] + 0.11 * x[0]
    assert read(ASCENT, "ranklib").predict(X[7:8])[0] == 0.25 * x[2] + 0.6 * x[0] + -0.1 * x[1]
    assert read(REGRESSION, "ranklib").predict(X[7:8])[0] == 0.125 + 0.3 * x[0] + 0.5 * x[1] + -0.7 * x[2]


def test_a_network_of_ranklib() -> None:
    x = X32[7]
    first = sigmoid(0.5 * x[0] + 0.1 * x[1] - 0.3 * x[2] + 0.05)
    second = sigmoid(-0.25 * x[0] + 0.2 * x[1] + 0.4 * x[2] - 0.15)
    expected = sigmoid(1.5 * first - 0.75 * second + 0.6)
    assert read(RANKNET, "ranklib").predict(X[7:8])[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("kind", RANKLIB)
def test_ranklib_has_the_same_scores(kind: str, tmp_path: Path) -> None:
    classes = os.environ.get("PIPPIN_RANKLIB")
    if classes is None:
        pytest.skip("PIPPIN_RANKLIB does not hold RankLib's path")
    model, data, out = tmp_path / "model.txt", tmp_path / "data.txt", tmp_path / "scores.txt"
    model.write_text(RANKLIB[kind])
    data.write_text("".join(f"0 qid:1 1:{a!r} 2:{b!r} 3:{c!r}\n" for a, b, c in X.tolist()))
    command = ["java", "-cp", classes, "ciir.umass.edu.eval.Evaluator", "-load", str(model), "-rank", str(data),
               "-score", str(out)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    expected = np.array([float(line.split()[-1]) for line in out.read_text().splitlines()])
    scores = pippin.load(model).predict(X)
    if kind == "ranknet":
        assert np.allclose(scores, expected, rtol=0, atol=1e-15)
    else:
        assert (scores == expected).all()


QUICKRANK = """<ranker>
 <info><type>LAMBDAMART</type><trees>1</trees></info>
 <ensemble>
  <tree id="1" weight="0.1">
   <split><feature>2</feature><threshold>0.10000000149011612</threshold>
    <split pos="left"><output>-1.5</output></split>
    <split pos="right"><output>0.75</output></split>
   </split>
  </tree>
 </ensemble>
</ranker>
"""
JFORESTS = """<Ensemble>
\t<Tree leaves="3" weight="0.5">
\t\t<SplitFeatures>0 2</SplitFeatures>
\t\t<LeftChildren>1 -1</LeftChildren>
\t\t<RightChildren>-2 -3</RightChildren>
\t\t<Thresholds>7 3</Thresholds>
\t\t<OriginalThresholds>0.5 0.1</OriginalThresholds>
\t\t<LeafOutputs>1.0 2.0 3.0</LeafOutputs>
\t</Tree>
</Ensemble>"""
SVMRANK = """SVM-light Version V6.20
0 # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
3 # highest feature index
30 # number of training documents
2 # number of support vectors plus 1
0.25 # threshold b, each following line is a SV (starting with alpha*y)
2 1:0.3 3:-0.7 #
"""
LIBLINEAR = "solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 0 1\nnr_feature 3\nbias 2\nw\n0.5 \n-0.25 \n0.1 \n0.3 \n"


def test_quickrank() -> None:
    model = read(QUICKRANK, "quickrank")
    assert model.predict([[0.0, 0.1], [0.0, 0.11]]).tolist() == [-1.5 * 0.1, 0.75 * 0.1]


def test_jforests() -> None:
    model = read(JFORESTS, "jforests")
    assert model.predict([[0.5, 0, 0.1], [0.5, 0, 0.2], [0.6, 0, 0]]).tolist() == [0.5, 1.5, 1.0]


def test_svmrank() -> None:
    x = X32[7]
    expected = 2 * float(np.float32(0.3)) * x[0] + 2 * float(np.float32(-0.7)) * x[2] - 0.25
    assert read(SVMRANK, "svmrank").predict(X[7:8])[0] == expected
    with pytest.raises(DataError, match="only linear kernels are supported"):
        read(SVMRANK.replace("0 # kernel type", "2 # kernel type"), "svmrank")


def test_liblinear_score_increases_towards_the_larger_label() -> None:
    x = X[7]
    assert read(LIBLINEAR, "liblinear").predict(X[7:8])[0] == -0.5 * x[0] + 0.25 * x[1] + -0.1 * x[2] + -0.3 * 2
    swapped = LIBLINEAR.replace("label 0 1", "label 1 0")
    assert read(swapped, "liblinear").predict(X[7:8])[0] == 0.5 * x[0] + -0.25 * x[1] + 0.1 * x[2] + 0.3 * 2


def test_plugin_linear_model_with_normalisers() -> None:
    body = {"model": {"name": "m", "model": {
        "type": "model/linear", "definition": json.dumps({"a": 0.5, "b": -2.0}),
        "feature_normalizers": {"a": {"min_max": {"minimum": 1.0, "maximum": 5.0}},
                                "b": {"standard": {"mean": 0.5, "standard_deviation": 0.25}}},
    }}}  # fmt: skip
    model = read(json.dumps(body), "elasticsearch")
    assert model.feature_names_ == ("a", "b")
    assert model.predict([[3.0, 1.0]]).tolist() == [0.5 * 0.5 + -2.0 * 2.0]


def test_solr_with_normalisers() -> None:
    norm = {"class": "org.apache.solr.ltr.norm.MinMaxNormalizer", "params": {"min": "1", "max": "3"}}
    body = {"class": "org.apache.solr.ltr.model.LinearModel", "name": "m", "params": {"weights": {"a": 1.0, "b": 3.0}},
            "features": [{"name": "a"}, {"name": "b", "norm": norm}]}  # fmt: skip
    assert read(json.dumps(body), "solr").predict([[0.5, 2.0]]).tolist() == [0.5 + 3 * 0.5]


def test_elasticsearch_native_trees() -> None:
    nodes = [{"node_index": 0, "split_feature": 1, "threshold": 0.1, "decision_type": "lt", "left_child": 1,
              "right_child": 2, "default_left": True},
             {"node_index": 1, "leaf_value": 1.0}, {"node_index": 2, "leaf_value": 2.0}]  # fmt: skip
    tree = {"tree": {"feature_names": ["a", "b"], "tree_structure": nodes}}
    weighted = {"weighted_sum": {"weights": [1, 0.5]}}
    definition = {"trained_model": {"ensemble": {"feature_names": ["a", "b"], "trained_models": [tree, tree],
                                                 "aggregate_output": weighted}}}  # fmt: skip
    packed = base64.b64encode(gzip.compress(json.dumps(definition).encode())).decode()
    model = read(json.dumps({"compressed_definition": packed}), "elasticsearch")
    # float32(0.1) lies above the double 0.1.
    assert model.predict([[0, 0.09], [0, 0.1], [0, np.nan]]).tolist() == [1.5, 3.0, 1.5]


@pytest.mark.parametrize(("content", "format", "why"), [
    (QUICKRANK.replace("<ranker>", '<?xml version="1.0"?><!DOCTYPE ranker [<!ENTITY a "b">]><ranker>', 1), "quickrank",
     "declares entities"),
    (QUICKRANK.replace("</ranker>", ""), "quickrank", "malformed XML"),
    (JFORESTS.replace("1 -1<", "0 -1<"), "jforests", "unknown child"),
    (RANKNET.replace("0 0 0.5 -0.25", "0 0 0.5"), "ranklib", "unit 0 of layer 0 has 1 weights"),
    (LAMBDAMART.replace("0.7", "nan"), "ranklib", "not a finite number"),
    (ASCENT.replace("3:0.25", "3000000000:0.25"), "ranklib", "not a valid number of a node or feature"),
    (LIBLINEAR.replace("nr_feature 3", "nr_feature 300000000"), "liblinear", "not a valid number of a node or feature"),
])  # fmt: skip
def test_malformed_files_are_errors(content: str, format: str, why: str) -> None:
    with pytest.raises(DataError, match=f"^model.x: cannot read this {format} model: .*{why}") as caught:
        read_model(content.encode(), "model.x")
    assert "\n" not in str(caught.value)


def test_cyclic_tree_is_an_error() -> None:
    body = {"learner": {"learner_model_param": {"num_feature": "2", "base_score": "0"},
                        "objective": {"name": "rank:ndcg"},
                        "gradient_booster": {"name": "gbtree", "model": {"trees": [{
                            "left_children": [1, 0, -1], "right_children": [2, 2, -1], "split_conditions": [0.5, 1, 2],
                            "split_indices": [0, 0, 0], "default_left": [0, 0, 0]}]}}}}  # fmt: skip
    with pytest.raises(DataError, match="reached twice"):
        read_model(json.dumps(body).encode(), "model")


def test_decompression_bomb_is_an_error() -> None:
    bomb = base64.b64encode(gzip.compress(bytes(1 << 26))).decode()
    with pytest.raises(DataError, match="truncated or too large"):
        read_model(json.dumps({"compressed_definition": bomb}).encode(), "model")


def test_tensor_larger_than_the_file_is_an_error() -> None:
    tensor = int_field(1, 1 << 40) + int_field(2, 11) + bytes_field(8, "w") + bytes_field(9, bytes(8))
    graph = bytes_field(1, b"") + bytes_field(5, tensor) + bytes_field(11, b"") + bytes_field(12, b"")
    content = int_field(1, 9) + bytes_field(7, graph) + bytes_field(8, b"") + bytes([8, 1]) * 10
    with pytest.raises(DataError, match="the size of a tensor differs from its shape"):
        read_model(content, "model")


def test_importers_do_not_match_other_files() -> None:
    for name in FORMATS:
        assert importer(name).__doc__
        assert not importer(name).matches(b"")
        assert not importer(name).matches(b'{"format": "pippin-model"}')
