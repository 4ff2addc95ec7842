"""Export as a C99 header without dependencies: tables of nodes and a loop, with the same bits as Pippin."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pippin.models.exporters.base import F64, KINDS, Engine, EngineUnavailable, Exporter, ExportRequest, Files, register
from pippin.models.model import LinearModel, NeuralNetwork, TreeEnsemble

_HEAD = """/* {title}: score = {name}_score(features), features a row of {NAME}_FEATURES doubles, NaN for NULL.
 * Written by Pippin. C99, needs only <math.h>. */
#ifndef {NAME}_H
#define {NAME}_H

#include <math.h>

#define {NAME}_FEATURES {count}

/* Names of the features, in the order of the row. */
static const char *const {name}_feature_names[{NAME}_FEATURES] = {{
{names}
}};

"""
_TREES = """/* Nodes of all trees: x <= threshold goes left; a child below 0 is the leaf ~child. */
static const int {name}_feature[] = {{{feature}}};
static const double {name}_threshold[] = {{{threshold}}};
static const int {name}_left[] = {{{left}}};
static const int {name}_right[] = {{{right}}};
static const unsigned char {name}_null_left[] = {{{missing}}};
static const double {name}_leaf[] = {{{value}}};
/* First node (or only leaf) of each tree, and first tree of each bag. */
static const int {name}_root[] = {{{roots}}};
static const int {name}_bag[] = {{{bags}}};

static double {name}_score(const double *x)
{{
    double score = 0.0;
    for (int bag = 0; bag < {bag_count}; bag++) {{
        double sum = {start};
        for (int tree = {name}_bag[bag]; tree < {name}_bag[bag + 1]; tree++) {{
            int node = {name}_root[tree];
            while (node >= 0) {{
                const double v = x[{name}_feature[node]];
                const int left = isnan(v) ? {name}_null_left[node] : v <= {name}_threshold[node];
                node = left ? {name}_left[node] : {name}_right[node];
            }}
            sum += {name}_leaf[~node];
        }}
        score += sum;
    }}
{ends}    return score;
}}
"""
_LINEAR = """static const double {name}_weight[{NAME}_FEATURES] = {{{weights}}};

static double {name}_score(const double *x)
{{
    double score = 0.0;
    for (int i = 0; i < {NAME}_FEATURES; i++)
        score += {name}_weight[i] * x[i];
    return score + {bias};
}}
"""
_LAYER = """static const double {name}_weights_{i}[{inputs}][{outputs}] = {{{matrix}}};
static const double {name}_bias_{i}[{outputs}] = {{{bias}}};
"""
_STEP = """    double h{i}[{outputs}];
    for (int o = 0; o < {outputs}; o++) {{
        double sum = {name}_bias_{i}[o];
        for (int k = 0; k < {inputs}; k++)
            sum += {source}[k] * {name}_weights_{i}[k][o];
        h{i}[o] = {activated};
    }}
"""
_ACTIVATIONS = {
    "identity": "sum", "tanh": "tanh(sum)", "relu": "sum > 0 ? sum : 0", "sigmoid": "1 / (1 + exp(-sum))",
    "leakyrelu": "sum < 0 ? 0.01 * sum : sum", "elu": "sum < 0 ? expm1(sum) : sum",
}  # fmt: skip


def write(request: ExportRequest) -> Files:
    """Return the header."""
    model, name = request.model, identifier(request.name)
    fields = {"name": name, "NAME": name.upper(), "count": len(model.names)}
    names = ",\n".join(f"    {_c_string(feature)}" for feature in model.names)
    title = request.name.replace("*/", "").replace("\\", "")
    head = _HEAD.format(title=title, names=names, **fields)
    if isinstance(model, TreeEnsemble):
        body = _TREES.format(**_tables(model), **fields)
    elif isinstance(model, LinearModel):
        body = _LINEAR.format(weights=_row(model.weights), bias=float(model.bias).hex(), **fields)
    else:
        body = _network(model, fields)
    return {"": (head + body + f"\n#endif /* {name.upper()}_H */\n").encode()}


def identifier(name: str) -> str:
    """Return a valid C identifier.

    >>> identifier("7 days"), identifier("model")
    ('m_7_days', 'model')
    """
    safe = re.sub(r"[^0-9A-Za-z_]+", "_", name)
    return safe if re.match("[A-Za-z]", safe) else f"m_{safe}"


def _c_string(text: str) -> str:
    """Return a C string literal; bytes other than plain ASCII are octal escapes."""
    encoded = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in encoded) + '"'


def _row(values: Iterable[float]) -> str:
    return ", ".join(float(value).hex() for value in values)


def _tables(model: TreeEnsemble) -> dict[str, Any]:
    """Return the nodes of all trees, one tree after the other, with children and leaves numbered throughout."""
    trees = model.trees()
    nodes = np.cumsum([0, *(len(tree) for tree in trees)])
    leaves = np.cumsum([0, *(len(tree.value) for tree in trees)])
    positions = list(zip(trees, nodes.tolist(), leaves.tolist(), strict=False))
    sides = {
        side: [node + c if c >= 0 else c - leaf for tree, node, leaf in positions for c in getattr(tree, side)]
        for side in ("left", "right")
    }
    ends = "".join(
        f"    score {operator}= {value.hex()};\n"
        for operator, value, neutral in (("*", model.scale, 1.0), ("/", model.divisor, 1.0), ("+", model.base, 0.0))
        if value != neutral
    )

    def ints(values: Iterable[Any]) -> str:
        return ", ".join(str(int(value)) for value in values) or "0"

    return {
        "feature": ints(f for tree in trees for f in tree.feature),
        "threshold": _row(t for tree in trees for t in tree.threshold) or "0",
        "left": ints(sides["left"]), "right": ints(sides["right"]),
        "missing": ints(m for tree in trees for m in tree.missing_left),
        "value": _row(v for tree in trees for v in tree.value) or "0",
        "roots": ints(node if len(tree) else ~leaf for tree, node, leaf in positions),
        "bags": ints(np.cumsum([0, *(len(bag) for bag in model.bags)])), "bag_count": len(model.bags),
        "start": model.start.hex(), "ends": ends,
    }  # fmt: skip


def _network(model: NeuralNetwork, fields: dict[str, Any]) -> str:
    width, name = len(model.names), fields["name"]
    declarations, steps, source = "", "", "z"
    for i, layer in enumerate(model.layers):
        sizes = {"inputs": layer.matrix.shape[0], "outputs": layer.matrix.shape[1], "i": i}
        matrix = ", ".join(f"{{{_row(row)}}}" for row in layer.matrix)
        declarations += _LAYER.format(matrix=matrix, bias=_row(layer.bias), **sizes, **fields)
        steps += _STEP.format(source=source, activated=_ACTIVATIONS[layer.activation], **sizes, **fields)
        source = f"h{i}"
    declarations += f"static const double {name}_mean[{width}] = {{{_row(model.mean)}}};\n"
    declarations += f"static const double {name}_factor[{width}] = {{{_row(model.factor)}}};\n"
    standardise = (f"    double z[{width}];\n    for (int i = 0; i < {width}; i++)\n"
                   f"        z[i] = (x[i] - {name}_mean[i]) * {name}_factor[i];\n")  # fmt: skip
    head = f"\nstatic double {name}_score(const double *x)\n{{\n"
    return f"{declarations}{head}{standardise}{steps}    return {source}[0];\n}}\n"


_MAIN = """#include <stdio.h>
#include "{header}"
int main(void)
{{
    static double row[{NAME}_FEATURES];
    (void){name}_feature_names;
    while (fread(row, sizeof row, 1, stdin) == 1) {{
        const double score = {name}_score(row);
        fwrite(&score, sizeof score, 1, stdout);
    }}
    return 0;
}}
"""


def score(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Compile the header and score with it."""
    name = identifier(request.name)
    source, program = base.parent / "score.c", base.parent / "score"
    source.write_text(_MAIN.format(header=base.name, name=name, NAME=name.upper()))
    try:
        version = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        raise EngineUnavailable("C compiler `cc` not found; install one") from None
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    command = ["cc", *flags, str(source), "-o", str(program), "-lm"]
    compilation = subprocess.run(command, capture_output=True, text=True, check=False)
    if compilation.returncode:
        raise RuntimeError(f"the header does not compile: {compilation.stderr}")
    content = np.ascontiguousarray(table).tobytes()
    output = subprocess.run([str(program)], input=content, capture_output=True, check=True).stdout
    return f"header compiled by {version}", np.frombuffer(output, np.float64)


register(Exporter("c", "C header", "C99", KINDS, write, engine=Engine("cc", score)))
