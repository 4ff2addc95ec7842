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
 * {name}_score_batch(rows, count, scores) gives the same scores of many rows, one after the other in memory.
 * Written by Pippin. C99, needs only the standard library; compile with -O2 or -O3. */
#ifndef {NAME}_H
#define {NAME}_H

#include <math.h>
#include <stddef.h>

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

static inline double {name}_finish(double score)
{{
{ends}    return score;
}}

static inline double {name}_score(const double *x)
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
    return {name}_finish(score);
}}
"""
_LOOP = """
static inline void {name}_score_batch(const double *rows, size_t count, double *scores)
{{
    for (size_t i = 0; i < count; i++)
        scores[i] = {name}_score(rows + i * {NAME}_FEATURES);
}}
"""
# A block of documents goes through a tree at once, without branches: a value is replaced by its rank among the
# thresholds of its feature, and the nodes, last first, choose for each document between the leaves of their children.
_BATCH = """
/* Columns: a feature, the rank of a missing value, and the thresholds in ascending order. */
static const int {name}_column_feature[] = {{{column_feature}}};
static const {rank} {name}_column_null[] = {{{column_null}}};
static const int {name}_column_cut[] = {{{column_cut}}};
static const double {name}_cut[] = {{{cut}}};
/* Column and rank of the threshold of each node; first node and first leaf of each tree. */
static const short {name}_column[] = {{{column}}};
static const {rank} {name}_rank[] = {{{node_rank}}};
static const int {name}_first_node[] = {{{first_nodes}}};
static const int {name}_first_leaf[] = {{{first_leaves}}};

/* Replace the values of a block of documents by the number of thresholds of a column below them. */
static inline void {name}_rank_block(const double *rows, int count, int column, {rank} *ranks)
{{
    const double *cut = {name}_cut + {name}_column_cut[column];
    double value[{block}];
    int below[{block}];
    for (int i = 0; i < {block}; i++) {{
        value[i] = rows[(size_t)(i < count ? i : 0) * {NAME}_FEATURES + {name}_column_feature[column]];
        below[i] = 0;
    }}
    int size = {name}_column_cut[column + 1] - {name}_column_cut[column];
    for (; size > 1; size -= size / 2)
        for (int i = 0; i < {block}; i++)
            below[i] += -(cut[below[i] + size / 2 - 1] < value[i]) & (size / 2);
    for (int i = 0; i < {block}; i++)
        ranks[i] = isnan(value[i]) ? {name}_column_null[column] : ({rank})(below[i] + (cut[below[i]] < value[i]));
}}

static inline void {name}_choose({rank} *chosen, const {rank} *ranks, {rank} limit,
                                 const {rank} *left, const {rank} *right)
{{
    {rank} result[{block}];
    for (int i = 0; i < {block}; i++) {{
        const {rank} is_left = ranks[i] <= limit ? ({rank})~0 : 0;
        result[i] = (left[i] & is_left) | (right[i] & ~is_left);
    }}
    for (int i = 0; i < {block}; i++)
        chosen[i] = result[i];
}}

static inline void {name}_score_block(const double *rows, int count, double *scores)
{{
    {rank} ranks[{columns}][{block}];
    {rank} reached[2 * {leaves} - 1][{block}]; /* leaves by their number in the tree, then nodes */
    double score[{block}] = {{0}}, sum[{block}];
    for (int column = 0; column < {columns}; column++)
        {name}_rank_block(rows, count, column, ranks[column]);
    for (int leaf = 0; leaf < {leaves}; leaf++)
        for (int i = 0; i < {block}; i++)
            reached[leaf][i] = ({rank})leaf;
    for (int bag = 0; bag < {bag_count}; bag++) {{
        for (int i = 0; i < {block}; i++)
            sum[i] = {start};
        for (int tree = {name}_bag[bag]; tree < {name}_bag[bag + 1]; tree++) {{
            const int first = {name}_first_node[tree], end = {name}_first_node[tree + 1];
            const int first_leaf = {name}_first_leaf[tree];
            for (int node = end - 1; node >= first; node--) {{
                const int left = {name}_left[node], right = {name}_right[node];
                {name}_choose(reached[{leaves} + node - first], ranks[{name}_column[node]], {name}_rank[node],
                    reached[left < 0 ? ~left - first_leaf : {leaves} + left - first],
                    reached[right < 0 ? ~right - first_leaf : {leaves} + right - first]);
            }}
            const {rank} *leaf = reached[first < end ? {leaves} : 0];
            for (int i = 0; i < {block}; i++)
                sum[i] += {name}_leaf[first_leaf + leaf[i]];
        }}
        for (int i = 0; i < {block}; i++)
            score[i] += sum[i];
    }}
    for (int i = 0; i < count; i++)
        scores[i] = {name}_finish(score[i]);
}}

static inline void {name}_score_batch(const double *rows, size_t count, double *scores)
{{
    for (size_t done = 0; done < count;) {{
        const int part = count - done < {block} ? (int)(count - done) : {block};
        if (part < {few})
            for (int i = 0; i < part; i++)
                scores[done + i] = {name}_score(rows + (done + i) * {NAME}_FEATURES);
        else
            {name}_score_block(rows + done * {NAME}_FEATURES, part, scores + done);
        done += part;
    }}
}}
"""
_BLOCK = 128  # documents; their ranks and a tree fit the first cache
_FEW = 16  # documents: below, one at a time is faster
_MAX_LEAVES = 256  # of a tree; a larger one is faster from the root
_LINEAR = """static const double {name}_weight[{NAME}_FEATURES] = {{{weights}}};

static inline double {name}_score(const double *x)
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
        tables = {**_tables(model), **fields}
        body = _TREES.format(**tables) + _batch(model, tables)
    elif isinstance(model, LinearModel):
        body = _LINEAR.format(weights=_row(model.weights), bias=float(model.bias).hex(), **fields)
        body += _LOOP.format(**fields)
    else:
        body = _network(model, fields) + _LOOP.format(**fields)
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


def _ints(values: Iterable[Any]) -> str:
    return ", ".join(str(int(value)) for value in values) or "0"


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

    return {
        "feature": _ints(f for tree in trees for f in tree.feature),
        "threshold": _row(t for tree in trees for t in tree.threshold) or "0",
        "left": _ints(sides["left"]), "right": _ints(sides["right"]),
        "missing": _ints(m for tree in trees for m in tree.missing_left),
        "value": _row(v for tree in trees for v in tree.value) or "0",
        "roots": _ints(node if len(tree) else ~leaf for tree, node, leaf in positions),
        "bags": _ints(np.cumsum([0, *(len(bag) for bag in model.bags)])), "bag_count": len(model.bags),
        "start": model.start.hex(), "ends": ends, "first_nodes": _ints(nodes), "first_leaves": _ints(leaves),
    }  # fmt: skip


def _batch(model: TreeEnsemble, tables: dict[str, Any]) -> str:
    """Return the function for many documents: in blocks, or one by one where a tree is large or no tree splits."""
    trees = model.trees()
    feature = np.concatenate([np.empty(0, np.int32), *(tree.feature for tree in trees)])
    threshold = np.concatenate([np.empty(0), *(tree.threshold for tree in trees)])
    null_left = np.concatenate([np.empty(0, np.bool_), *(tree.missing_left for tree in trees)])
    leaves = max((len(tree.value) for tree in trees), default=1)
    columns: list[tuple[int, int, F64]] = []
    node_column, node_rank = np.zeros(len(feature), int), np.zeros(len(feature), int)
    for number in np.unique(feature):
        is_here = feature == number
        right, left = is_here & ~null_left, is_here & null_left
        # Where NULL goes left at the larger thresholds only, it is a value between two thresholds.
        is_value = not right.any() or not left.any() or threshold[right].max() < threshold[left].min()
        for nodes in [is_here] if is_value else [right, left]:
            cuts = np.unique(threshold[nodes])
            node_column[nodes] = len(columns)
            node_rank[nodes] = np.searchsorted(cuts, threshold[nodes])
            columns.append((int(number), len(np.unique(threshold[nodes & right])), cuts))
    most = max((len(cuts) for _, _, cuts in columns), default=0)
    if not columns or leaves > _MAX_LEAVES or most >= 2**16 or len(columns) >= 2**15:
        return _LOOP.format(**tables)
    return _BATCH.format(
        rank="unsigned char" if most < 2**8 else "unsigned short", block=_BLOCK, few=_FEW, leaves=leaves,
        columns=len(columns), column_feature=_ints(number for number, _, _ in columns),
        column_null=_ints(null for _, null, _ in columns),
        column_cut=_ints(np.cumsum([0, *(len(cuts) for _, _, cuts in columns)])),
        cut=_row(cut for _, _, cuts in columns for cut in cuts), column=_ints(node_column), node_rank=_ints(node_rank),
        **tables,
    )  # fmt: skip


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
    head = f"\nstatic inline double {name}_score(const double *x)\n{{\n"
    return f"{declarations}{head}{standardise}{steps}    return {source}[0];\n}}\n"


_MAIN = """#include <stdio.h>
#include <string.h>
#include "{header}"
int main(void)
{{
    static double rows[300 * {NAME}_FEATURES], scores[300];
    (void){name}_feature_names;
    for (size_t count; (count = fread(rows, sizeof *rows * {NAME}_FEATURES, 300, stdin)) > 0;) {{
        {name}_score_batch(rows, count, scores);
        for (size_t i = 0; i < count; i++) {{
            const double score = {name}_score(rows + i * {NAME}_FEATURES);
            if (memcmp(&score, scores + i, sizeof score))
                return 1;
        }}
        fwrite(scores, sizeof *scores, count, stdout);
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
