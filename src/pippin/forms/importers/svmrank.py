"""svm_rank's and SVM-light's model text with a linear kernel: float32 features and vectors, doubles in sums."""

from __future__ import annotations

import numpy as np

from pippin.forms.form import Linear, Scoring
from pippin.forms.growing import real, whole
from pippin.forms.importers import numbered

SCORING = Scoring("float32", "float64", "float64", "float64", missing="zero")
_HEAD = 10  # lines before the threshold


def recognises(content: bytes) -> bool:
    """Whether SVM-light's version comes first."""
    return content.startswith((b"SVM-light Version", b"SVM-rank Version", b"SVM-struct Version"))


def read(content: bytes) -> Linear:
    """score = (Σ over support vectors α · v) · x − b."""
    lines = content.decode("latin-1").splitlines()
    values = {line.partition("#")[2].strip(): line.partition("#")[0].strip() for line in lines[1:_HEAD]}
    if whole(values["kernel type"]) != 0:
        raise ValueError("its kernel is not linear")
    count = whole(values["highest feature index"], 1 << 20)
    at = next((i for i, line in enumerate(lines) if "threshold b" in line), None)
    if at is None:
        raise ValueError("it has no threshold b")
    bias = real(lines[at].partition("#")[0].strip())
    weights = np.zeros(count)
    for line in lines[at + 1 :]:
        words = line.partition("#")[0].split()
        if not words:
            continue
        alpha = real(words[0])
        for word in words[1:]:
            place, colon, value = word.partition(":")
            if not colon or place in ("qid", "sid", "cost"):
                continue
            number = whole(place)
            if not 1 <= number <= count:
                raise ValueError(f"feature {number} is beyond the highest of {count}")
            weights[number - 1] += alpha * float(np.float32(real(value)))
    return Linear(numbered(count), weights, bias=-bias if bias else 0.0, scoring=SCORING)
