"""Read linear models of svm_rank, SVM-light and LIBLINEAR."""

from __future__ import annotations

import numpy as np

from pippin.models.importers import Importer, default_feature_names
from pippin.models.model import LinearModel, ScoringRules, parse_float, parse_index

_SVMRANK = ScoringRules("float32", "float64", "float64", "float64", missing="zero")
_LIBLINEAR = ScoringRules(missing="zero")
_HEADER_LINES = 10  # lines before the threshold of svm_rank


def matches_svmrank(content: bytes) -> bool:
    """Return whether the file begins with a version of SVM-light."""
    return content.startswith((b"SVM-light Version", b"SVM-rank Version", b"SVM-struct Version"))


def read_svmrank(content: bytes) -> LinearModel:
    """Read a model: score = (Σ over support vectors α · v) · x − b."""
    lines = content.decode("latin-1").splitlines()
    header = {line.partition("#")[2].strip(): line.partition("#")[0].strip() for line in lines[1:_HEADER_LINES]}
    if parse_index(header["kernel type"]) != 0:
        raise ValueError("only linear kernels are supported")
    count = parse_index(header["highest feature index"], 1 << 20)
    start = next((i for i, line in enumerate(lines) if "threshold b" in line), None)
    if start is None:
        raise ValueError("the threshold b is missing")
    bias = parse_float(lines[start].partition("#")[0].strip())
    weights = np.zeros(count)
    for line in lines[start + 1 :]:
        words = line.partition("#")[0].split()
        if not words:
            continue
        alpha = parse_float(words[0])
        for word in words[1:]:
            feature, colon, value = word.partition(":")
            if not colon or feature in ("qid", "sid", "cost"):
                continue
            number = parse_index(feature)
            if not 1 <= number <= count:
                raise ValueError(f"feature {number} exceeds the highest feature index {count}")
            weights[number - 1] += alpha * float(np.float32(parse_float(value)))
    return LinearModel(default_feature_names(count), weights, bias=-bias if bias else 0.0, scoring=_SVMRANK)


def matches_liblinear(content: bytes) -> bool:
    """Return whether the file begins with a solver."""
    return content.startswith(b"solver_type ")


def read_liblinear(content: bytes) -> LinearModel:
    """Read a regression, a ranking SVM or a classifier of two classes: score = w · x (+ w₀ · bias)."""
    head, separator, body = content.decode("ascii").partition("\nw\n")
    if not separator:
        raise ValueError("the weights are missing")
    header = dict(line.strip().partition(" ")[::2] for line in head.splitlines())
    classes = parse_index(header.get("nr_class", "1"))
    labels = [parse_float(label) for label in header.get("label", "").split()]
    if classes > 2:
        raise ValueError(f"models of {classes} classes are not supported")
    count = parse_index(header["nr_feature"], 1 << 24)
    bias = parse_float(header.get("bias", "-1"))
    weights = [parse_float(word) for word in body.split()]
    if len(weights) != count + (bias >= 0):
        raise ValueError(f"{len(weights)} weights for {count} features")
    sign = -1.0 if len(labels) == 2 and labels[0] < labels[1] else 1.0
    constant = sign * weights[-1] * bias if bias >= 0 else 0.0
    names = default_feature_names(count)
    return LinearModel(names, sign * np.array(weights[:count]), bias=constant, scoring=_LIBLINEAR)


IMPORTERS = {
    "svmrank": Importer(matches_svmrank, read_svmrank),
    "liblinear": Importer(matches_liblinear, read_liblinear),
}
