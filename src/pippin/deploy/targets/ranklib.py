"""RankLib's model text: an ensemble of trees as XML under a LambdaMART header, or a linear Coordinate Ascent model."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pippin.deploy.target import F64, Engine, Files, NotHere, Request, Target, register, rereader
from pippin.errors import ConventionError
from pippin.forms.form import Form, Linear, Scoring, Tree, Trees

# A sum is rounded to float32 after each tree; leaves are float32, the weights of trees are 1.
TREES = Scoring("float32", "float32", "float32", "float32", missing="zero")
LINEAR = Scoring("float32", "float64", "float64", "float64", missing="zero")
_JAR = "PIPPIN_RANKLIB"  # where RankLib's classes are, for the certificate


def scoring(options: Mapping[str, str], form: Form) -> Scoring:
    """Trees are float32; a linear model multiplies float32 features by doubles."""
    return TREES if isinstance(form, Trees) else LINEAR


def write(request: Request) -> Files:
    """The text; features by number from 1, in the order of the model."""
    form = request.form
    names = [f"## feature {i}: {' '.join(name.split())}" for i, name in enumerate(form.names, 1)]
    if isinstance(form, Linear):
        weights = [f"{i + 1}:{float(form.weights[i])!r}" for i in form.used()]
        kind = "Linear Regression" if form.bias else "Coordinate Ascent"
        weights += [f"0:{form.bias!r}"] if form.bias else []
        return {"": "\n".join([f"## {kind}", *names, " ".join(weights), ""]).encode()}
    trees = form.flat()
    leaves = max((len(one.value) for one in trees), default=1)
    head = ["## LambdaMART", f"## No. of trees = {len(trees)}", f"## No. of leaves = {leaves}",
            "## Learning rate = 1.0", *names]  # fmt: skip
    return {"": ("\n".join(head) + f"\n\n<ensemble>\n{_ensemble(trees)}</ensemble>\n").encode()}


def _ensemble(trees: list[Tree]) -> str:
    return "".join(f'\t<tree id="{i}" weight="1.0">\n{_split(one)}\t</tree>\n' for i, one in enumerate(trees, 1))


def _split(one: Tree) -> str:
    """A tree as nested splits."""
    parts = ["\t\t<split>\n"]
    todo: list[int | str] = ["\t\t</split>\n", 0 if len(one) else -1]
    while todo:
        at = todo.pop()
        if isinstance(at, str):
            parts.append(at)
        elif at < 0:
            parts.append(f"<output> {np.float32(one.value[-1 - at])!s} </output>\n")
        else:
            parts.append(f"<feature> {int(one.feature[at]) + 1} </feature>\n"
                         f"<threshold> {np.float32(one.threshold[at])!s} </threshold>\n")  # fmt: skip
            todo += ["</split>\n", int(one.right[at]), '<split pos="right">\n', "</split>\n", int(one.left[at]),
                     '<split pos="left">\n']  # fmt: skip
    return "".join(parts)


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """RankLib's own scores, where PIPPIN_RANKLIB names its jar or the folder of its classes."""
    jar = os.environ.get(_JAR)
    if jar is None:
        raise NotHere(f"{_JAR} does not say where its jar or its classes are")
    data, out = base.with_name("data.txt"), base.with_name("scores.txt")
    filled = np.nan_to_num(table, nan=0.0)
    with data.open("w") as sink:
        for row in filled:
            sink.write("0 qid:1 " + " ".join(f"{i}:{value!r}" for i, value in enumerate(row.tolist(), 1)) + "\n")
    command = ["java", "-cp", jar, "ciir.umass.edu.eval.Evaluator", "-load", str(base), "-rank", str(data), "-score",
               str(out)]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        raise NotHere("there is no java") from None
    if done.returncode or not out.exists():
        raise ConventionError(
            f"RankLib cannot read this: {done.stderr.strip().splitlines()[-1:] or done.stdout[-200:]}"
        )
    found = np.array([float(line.split()[-1]) for line in out.read_text().splitlines()], np.float64)
    return "RankLib", found


register(Target(
    "ranklib", "RankLib's model text", "RankLib 2.18, tree/Ensemble.java and tree/Split.java", ("trees", "linear"),
    write, engine=Engine("RankLib", run), by_option=scoring, refused={"network": "its networks have one fixed shape"},
    reread=rereader("ranklib"),
))  # fmt: skip
