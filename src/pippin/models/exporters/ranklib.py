"""Export as RankLib model text: trees as XML under a LambdaMART header, or a linear Coordinate Ascent model."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from pippin.errors import ConventionError, DataError
from pippin.models.exporters.base import (
    F64,
    Engine,
    EngineUnavailable,
    Exporter,
    ExportRequest,
    Files,
    read_back_as,
    register,
)
from pippin.models.model import FLOAT32_ZERO, LinearModel, Model, ScoringRules, Tree, TreeEnsemble

# A sum is rounded to float32 after each tree; leaves are float32, the weights of trees are 1.
TREES = replace(FLOAT32_ZERO, totals="float64")
LINEAR = ScoringRules("float32", "float64", "float64", "float64", missing="zero")
_JAR = "PIPPIN_RANKLIB"  # environment variable: path of RankLib's jar or classes, for the certificate


def rules(options: Mapping[str, str], model: Model) -> ScoringRules:
    """Return the rules: float32 for trees; a linear model multiplies float32 features by float64 weights."""
    return TREES if isinstance(model, TreeEnsemble) else LINEAR


def write(request: ExportRequest) -> Files:
    """Return the model text; features are numbered from 1 in the order of the model."""
    model = request.model
    names = [f"## feature {i}: {' '.join(name.split())}" for i, name in enumerate(model.names, 1)]
    if isinstance(model, LinearModel):
        weights = [f"{i + 1}:{float(model.weights[i])!r}" for i in model.used_features()]
        kind = "Linear Regression" if model.bias else "Coordinate Ascent"
        weights += [f"0:{model.bias!r}"] if model.bias else []
        return {"": "\n".join([f"## {kind}", *names, " ".join(weights), ""]).encode()}
    trees = model.flat()
    leaves = max((len(tree.value) for tree in trees), default=1)
    header = ["## LambdaMART", f"## No. of trees = {len(trees)}", f"## No. of leaves = {leaves}",
              "## Learning rate = 1.0", *names]  # fmt: skip
    body = "".join(f'\t<tree id="{i}" weight="1.0">\n{_split(tree)}\t</tree>\n' for i, tree in enumerate(trees, 1))
    return {"": ("\n".join(header) + f"\n\n<ensemble>\n{body}</ensemble>\n").encode()}


def _split(tree: Tree) -> str:
    """Return a tree as nested splits."""
    parts = ["\t\t<split>\n"]
    stack: list[int | str] = ["\t\t</split>\n", 0 if len(tree) else -1]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            parts.append(entry)
        elif entry < 0:
            parts.append(f"<output> {np.float32(tree.value[-1 - entry])!s} </output>\n")
        else:
            parts.append(f"<feature> {int(tree.feature[entry]) + 1} </feature>\n"
                         f"<threshold> {np.float32(tree.threshold[entry])!s} </threshold>\n")  # fmt: skip
            stack += ["</split>\n", int(tree.right[entry]), '<split pos="right">\n', "</split>\n",
                      int(tree.left[entry]), '<split pos="left">\n']  # fmt: skip
    return "".join(parts)


def score(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Score with RankLib, if PIPPIN_RANKLIB holds the path of its jar or classes."""
    jar = os.environ.get(_JAR)
    if jar is None:
        raise EngineUnavailable(f"{_JAR} does not hold the path of its jar or classes")
    for path in jar.split(os.pathsep):
        if not Path(path.removesuffix("*")).exists():
            raise DataError(f"{_JAR} names a file that does not exist", path)
    data, out = base.with_name("data.txt"), base.with_name("scores.txt")
    # RankLib would round the shortest decimal of a float64, which may lie on the other side of a tie.
    single = np.nan_to_num(table, nan=0.0).astype(np.float32).astype(np.float64)
    with data.open("w") as sink:
        for row in single.tolist():
            sink.write("0 qid:1 " + " ".join(f"{i}:{value!r}" for i, value in enumerate(row, 1)) + "\n")
    files = ["-load", str(base), "-rank", str(data), "-score", str(out)]
    command = ["java", "-cp", jar, "ciir.umass.edu.eval.Evaluator", *files]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        raise EngineUnavailable("java is not installed") from None
    if process.returncode or not out.exists():
        lines = (process.stderr or process.stdout).strip().splitlines() or ["no output"]
        if "ClassNotFoundException" in process.stderr:
            raise DataError(f"{_JAR} names a file without RankLib's classes", jar)
        raise ConventionError(f"RankLib cannot read the exported model: {lines[-1]}")
    return "RankLib", np.array([float(line.split()[-1]) for line in out.read_text().splitlines()], np.float64)


register(Exporter(
    "ranklib", "RankLib model text", "RankLib 2.18, tree/Ensemble.java and tree/Split.java", ("trees", "linear"),
    write, rules, Engine("RankLib", score), refused={"network": "its networks have one fixed shape"},
    read_back=read_back_as("ranklib"),
))  # fmt: skip
