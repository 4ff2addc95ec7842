"""Train models with other programs on synthetic documents, and store them with their scores.

    python -m tests.golden.models.record RANKLIB=classes SVMRANK=folder LIBLINEAR=liblinear/python \
        JFORESTS=jforests-0.3.jar QUICKRANK=quickrank_scores

RANKLIB names RankLib's jar or classes, SVMRANK the folder of `svm_rank_learn` and `svm_rank_classify`, LIBLINEAR the
folder of its Python package, JFORESTS its jar, QUICKRANK the program of `quickrank_scores.cc`. All of them are needed;
Pippin holds none.
"""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.golden.models import HERE, pack

FEATURES = 6
RANKLIB = {
    "mart": ("0", "-tree", "20", "-leaf", "6"), "ranknet": ("1", "-epoch", "5", "-layer", "1", "-node", "4"),
    "rankboost": ("2", "-round", "15"), "adarank": ("3", "-round", "20"), "ascent": ("4", "-r", "1", "-i", "5"),
    "lambdarank": ("5", "-epoch", "5", "-layer", "1", "-node", "4"), "lambdamart": ("6", "-tree", "20", "-leaf", "6"),
    "listnet": ("7", "-epoch", "5"), "forest": ("8", "-bag", "5", "-leaf", "8", "-rtype", "0"), "regression": ("9",),
}  # fmt: skip
JFORESTS = """trees.num-leaves=8
trees.min-instance-percentage-per-leaf=0.01
boosting.learning-rate=0.1
boosting.sub-sampling=1
trees.feature-sampling=1
boosting.num-trees=20
learning.algorithm=LambdaMART-RegressionTree
learning.evaluation-metric=NDCG
params.print-intermediate-valid-measurements=false
"""
QUICKRANK = ("mart", "lambdamart", "oblivious", "forest", "rankboost", "ascent", "linesearch")
# Solver, bias, and the labels of documents above 1 and of the others; regression has the documents' own.
LIBLINEAR: dict[str, tuple[str, tuple[float, float] | None]] = {
    "svr": ("-s 11", None), "svr-bias": ("-s 11 -B 1", None), "svc": ("-s 1", (1.0, 0.0)),
    "svc-bias": ("-s 2 -B 2.5", (-1.0, 1.0)), "logistic": ("-s 0", (2.0, 1.0)),
}  # fmt: skip


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=True)


def documents(folder: Path) -> None:
    """Draw values with two digits, so that many equal a threshold; zeros are omitted."""
    random = np.random.default_rng(7)
    for name, queries in (("train", 30), ("test", 12)):
        plain, full = [], []
        for query in range(1, queries + 1):
            count = int(random.integers(5, 12))
            table = np.round(random.normal(size=(count, FEATURES)), 2)
            table[:, 3] = np.maximum(table[:, 3], 0)
            table[:, 4] = random.integers(0, 4, count)
            signal = table[:, 0] + table[:, 1] * table[:, 2] + 0.3 * random.normal(size=count) + 1
            for row, label in zip(table.tolist(), np.clip(np.round(signal), 0, 4).astype(int), strict=True):
                words = [f"{i + 1}:{value!r}" for i, value in enumerate(row)]
                full.append(" ".join([f"{label} qid:{query}", *words]))
                plain.append(" ".join([f"{label} qid:{query}", *(w for w, v in zip(words, row, strict=True) if v)]))
        (folder / f"{name}.txt").write_text("\n".join(plain) + "\n")
        (folder / f"{name}-full.txt").write_text("\n".join(full) + "\n")


def ranklib(program: str, folder: Path) -> None:
    """RankLib wants every feature on every line."""
    java = ["java", "-cp", program, "ciir.umass.edu.eval.Evaluator"]
    for kind, (number, *settings) in RANKLIB.items():
        model = f"ranklib-{kind}.model"
        run(*java, "-train", "train-full.txt", "-ranker", number, *settings, "-metric2t", "NDCG@10", "-save", model,
            folder=folder)  # fmt: skip
        run(*java, "-load", model, "-rank", "test-full.txt", "-score", "raw", folder=folder)
        lines = (folder / "raw").read_text().splitlines()
        (folder / f"ranklib-{kind}.scores").write_text("".join(f"{line.split()[2]}\n" for line in lines))


def svmrank(program: str, folder: Path) -> None:
    place = Path(program).resolve()
    run(place / "svm_rank_learn", "-v", "0", "-c", "3", "train.txt", "svmrank-linear.model", folder=folder)
    run(place / "svm_rank_classify", "test.txt", "svmrank-linear.model", "svmrank-linear.scores", folder=folder)


def jforests(program: str, folder: Path) -> None:
    jar = Path(program).resolve()
    (folder / "ranking.properties").write_text(JFORESTS)
    (folder / "valid.txt").write_bytes((folder / "train.txt").read_bytes())
    files = [word for name in ("train", "valid", "test") for word in ("--file", f"{name}.txt")]
    run("java", "-jar", jar, "--cmd=generate-bin", "--ranking", "--folder", ".", *files, folder=folder)
    trained = ["--train-file", "train.bin", "--validation-file", "valid.bin", "--output-model"]
    run("java", "-jar", jar, "--cmd=train", "--ranking", "--config-file", "ranking.properties", *trained,
        "jforests-lambdamart.model", folder=folder)  # fmt: skip
    run("javac", "-cp", jar, "-d", folder, HERE / "JforestsScores.java", folder=folder)
    done = run("java", "-cp", f"{jar}:{folder}", "JforestsScores", "jforests-lambdamart.model", "test.txt",
               str(FEATURES), folder=folder)  # fmt: skip
    (folder / "jforests-lambdamart.scores").write_text(done.stdout)


def quickrank(program: str, folder: Path) -> None:
    for kind in QUICKRANK:
        done = run(Path(program).resolve(), kind, "train.txt", "test.txt", f"quickrank-{kind}.model", folder=folder)
        scores = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("score ")]
        (folder / f"quickrank-{kind}.scores").write_text("".join(f"{score}\n" for score in scores))


def liblinear(program: str, folder: Path) -> None:
    sys.path.insert(0, program)
    library: Any = importlib.import_module("liblinear.liblinear")
    tools: Any = importlib.import_module("liblinear.liblinearutil")
    labels, train = read(folder / "train.txt")
    _, test = read(folder / "test.txt")
    for kind, (settings, classes) in LIBLINEAR.items():
        expected = labels if classes is None else [classes[0] if label > 1 else classes[1] for label in labels]
        model = tools.train(expected, train, f"{settings} -q")
        file = str(folder / f"liblinear-{kind}.model")
        tools.save_model(file, model)
        again = tools.load_model(file)
        scores = []
        for row in test:
            beyond = {again.get_nr_feature() + 1: again.bias} if again.bias >= 0 else {}
            nodes, _ = library.gen_feature_nodearray({**row, **beyond})
            result = (ctypes.c_double * 2)()
            library.liblinear.predict_values(again, nodes, result)
            scores.append(result[0])
        (folder / f"liblinear-{kind}.scores").write_text("".join(f"{score!r}\n" for score in scores))


def read(path: Path) -> tuple[list[float], list[dict[int, float]]]:
    lines = [line.split() for line in path.read_text().splitlines()]
    rows = [{int(f): float(v) for f, v in (word.split(":") for word in line[2:])} for line in lines]
    return [float(line[0]) for line in lines], rows


RECORDERS = {"RANKLIB": ranklib, "SVMRANK": svmrank, "LIBLINEAR": liblinear, "JFORESTS": jforests,
             "QUICKRANK": quickrank}  # fmt: skip


def main() -> None:
    programs = dict(word.split("=", 1) for word in sys.argv[1:])
    if set(programs) != set(RECORDERS):
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        documents(Path(name))
        for program, recorder in RECORDERS.items():
            recorder(programs[program], Path(name))
        pack(Path(name))


if __name__ == "__main__":
    main()
