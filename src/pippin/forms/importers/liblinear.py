"""LIBLINEAR's model text: one weight a feature in doubles; of two classes, a score rises towards the greater label."""

from __future__ import annotations

import numpy as np

from pippin.forms.form import Linear, Scoring
from pippin.forms.growing import real, whole
from pippin.forms.importers import numbered

SCORING = Scoring(missing="zero")


def recognises(content: bytes) -> bool:
    """Whether a solver is named first."""
    return content.startswith(b"solver_type ")


def read(content: bytes) -> Linear:
    """score = w · x (+ w₀ · bias): a regression's, a ranking SVM's, or a decision between two classes."""
    head, mark, body = content.decode("ascii").partition("\nw\n")
    if not mark:
        raise ValueError("it has no weights")
    values = dict(line.strip().partition(" ")[::2] for line in head.splitlines())
    classes = whole(values.get("nr_class", "1"))
    labels = [real(label) for label in values.get("label", "").split()]
    if classes > 2:
        raise ValueError(f"it tells {classes} classes apart, and a ranking has one score")
    count = whole(values["nr_feature"], 1 << 24)
    bias = real(values.get("bias", "-1"))
    weights = [real(word) for word in body.split()]
    if len(weights) != count + (bias >= 0):
        raise ValueError(f"{len(weights)} weights are not those of {count} features")
    sign = -1.0 if len(labels) == 2 and labels[0] < labels[1] else 1.0
    constant = sign * weights[-1] * bias if bias >= 0 else 0.0
    return Linear(numbered(count), sign * np.array(weights[:count]), bias=constant, scoring=SCORING)
