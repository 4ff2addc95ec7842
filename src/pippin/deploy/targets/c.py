"""Plain C: one header without dependencies, tables of nodes and a loop; bit for bit what Pippin computes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pippin.deploy.target import F64, KINDS, Engine, Files, NotHere, Request, Target, register
from pippin.forms.form import Linear, Network, Trees

_HEAD = """/* {title}: score = {name}_score(features), features a row of {NAME}_FEATURES doubles, NaN for NULL.
 * Written by Pippin. C99, no library but <math.h>. */
#ifndef {NAME}_H
#define {NAME}_H

#include <math.h>

#define {NAME}_FEATURES {count}

/* What each place of the row holds. */
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
/* Where each tree begins (a leaf alone where it has no node), and where each bag of trees does. */
static const int {name}_root[] = {{{roots}}};
static const int {name}_bag[] = {{{bags}}};

static double {name}_score(const double *x)
{{
    double score = 0.0;
    for (int bag = 0; bag < {bag_count}; bag++) {{
        double sum = {start};
        for (int tree = {name}_bag[bag]; tree < {name}_bag[bag + 1]; tree++) {{
            int at = {name}_root[tree];
            while (at >= 0) {{
                const double v = x[{name}_feature[at]];
                const int left = isnan(v) ? {name}_null_left[at] : v <= {name}_threshold[at];
                at = left ? {name}_left[at] : {name}_right[at];
            }}
            sum += {name}_leaf[~at];
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
_ACTIVATED = {
    "identity": "sum", "tanh": "tanh(sum)", "relu": "sum > 0 ? sum : 0", "sigmoid": "1 / (1 + exp(-sum))",
    "leakyrelu": "sum < 0 ? 0.01 * sum : sum", "elu": "sum < 0 ? expm1(sum) : sum",
}  # fmt: skip


def write(request: Request) -> Files:
    """The header."""
    form, name = request.form, identifier(request.name)
    words = {"name": name, "NAME": name.upper(), "count": len(form.names)}
    names = ",\n".join(f"    {_quoted(one)}" for one in form.names)
    head = _HEAD.format(title=_comment(request.name), names=names, **words)
    if isinstance(form, Trees):
        body = _TREES.format(**_tables(form), **words)
    elif isinstance(form, Linear):
        body = _LINEAR.format(weights=_row(form.weights), bias=float(form.bias).hex(), **words)
    else:
        body = _network(form, words)
    return {"": (head + body + f"\n#endif /* {name.upper()}_H */\n").encode()}


def identifier(name: str) -> str:
    """A name that C takes.

    >>> identifier("7 days"), identifier("model")
    ('m_7_days', 'model')
    """
    found = re.sub(r"[^0-9A-Za-z_]+", "_", name)
    return found if re.match("[A-Za-z]", found) else f"m_{found}"


def _quoted(text: str) -> str:
    """A C string; what is not plain ASCII by its bytes."""
    bytes_ = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in bytes_) + '"'


def _comment(text: str) -> str:
    return text.replace("*/", "").replace("\\", "")


def _row(values: Iterable[float]) -> str:
    return ", ".join(float(value).hex() for value in values)


def _tables(form: Trees) -> dict[str, Any]:
    """The nodes of all trees behind one another, children and leaves counted through."""
    trees = form.trees()
    nodes = np.cumsum([0, *(len(one) for one in trees)])
    leaves = np.cumsum([0, *(len(one.value) for one in trees)])
    roots = [int(n) if len(one) else ~int(v) for one, n, v in zip(trees, nodes, leaves, strict=False)]
    sides = {side: [int(n + c) if c >= 0 else int(c - v) for one, n, v in zip(trees, nodes, leaves, strict=False)
                    for c in getattr(one, side)] for side in ("left", "right")}  # fmt: skip
    bags = np.cumsum([0, *(len(bag) for bag in form.bags)])
    ends = "".join(
        f"    score {sign}= {value.hex()};\n"
        for sign, value, idle in (("*", form.scale, 1.0), ("/", form.divisor, 1.0), ("+", form.base, 0.0))
        if value != idle
    )

    def ints(values: Iterable[Any]) -> str:
        return ", ".join(str(int(value)) for value in values) or "0"

    return {
        "feature": ints(f for one in trees for f in one.feature),
        "threshold": _row(t for one in trees for t in one.threshold) or "0",
        "left": ints(sides["left"]), "right": ints(sides["right"]),
        "missing": ints(m for one in trees for m in one.missing_left),
        "value": _row(v for one in trees for v in one.value) or "0", "roots": ints(roots), "bags": ints(bags),
        "bag_count": len(form.bags), "start": form.start.hex(), "ends": ends,
    }  # fmt: skip


def _network(form: Network, words: dict[str, Any]) -> str:
    width = len(form.names)
    declared, steps = "", ""
    source = "z"
    for i, layer in enumerate(form.layers):
        sizes = {"inputs": layer.matrix.shape[0], "outputs": layer.matrix.shape[1], "i": i}
        matrix = ", ".join(f"{{{_row(row)}}}" for row in layer.matrix)
        declared += _LAYER.format(matrix=matrix, bias=_row(layer.bias), **sizes, **words)
        steps += _STEP.format(source=source, activated=_ACTIVATED[layer.activation], **sizes, **words)
        source = f"h{i}"
    declared += f"static const double {words['name']}_mean[{width}] = {{{_row(form.mean)}}};\n"
    declared += f"static const double {words['name']}_factor[{width}] = {{{_row(form.factor)}}};\n"
    standard = (f"    double z[{width}];\n    for (int i = 0; i < {width}; i++)\n"
                f"        z[i] = (x[i] - {words['name']}_mean[i]) * {words['name']}_factor[i];\n")  # fmt: skip
    head = f"\nstatic double {words['name']}_score(const double *x)\n{{\n"
    return f"{declared}{head}{standard}{steps}    return {source}[0];\n}}\n"


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


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """The compiled header's scores."""
    name = identifier(request.name)
    program = base.parent / "score.c"
    program.write_text(_MAIN.format(header=base.name, name=name, NAME=name.upper()))
    compiled = base.parent / "score"
    command = ["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", str(program), "-o",
               str(compiled), "-lm"]  # fmt: skip
    try:
        version = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        raise NotHere("there is no C compiler called cc") from None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the header does not compile: {done.stderr}")
    answered = subprocess.run(
        [str(compiled)], input=np.ascontiguousarray(table).tobytes(), capture_output=True, check=True
    )
    return f"the header compiled by {version}", np.frombuffer(answered.stdout, np.float64)


register(Target("c", "a C header", "C99", KINDS, write, engine=Engine("cc", run)))
