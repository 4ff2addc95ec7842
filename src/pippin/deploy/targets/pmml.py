"""PMML 4.4: trees as the sum of a segmentation, a weighted sum as a regression; doubles, NULL to the default child."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

from pippin.deploy.target import Files, Request, Target, register, rereader
from pippin.forms.form import DOUBLE, Linear, Tree

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
 <Header><Application name="Pippin"/></Header>
 <DataDictionary>
{fields}
 </DataDictionary>
"""
_SCHEMA = ' <MiningSchema><MiningField name="score" usageType="target"/>{fields}</MiningSchema>\n'


def write(request: Request) -> Files:
    """The document."""
    form = request.form
    names = [quoteattr(name) for name in form.names]
    fields = [f'  <DataField name={name} optype="continuous" dataType="double"/>' for name in ['"score"', *names]]
    schema = _SCHEMA.format(fields="".join(f"<MiningField name={name}/>" for name in names))
    name = quoteattr(request.name)
    if isinstance(form, Linear):
        terms = "\n".join(
            f"   <NumericPredictor name={names[i]} coefficient={_number(form.weights[i])}/>" for i in form.used()
        )
        table = f"  <RegressionTable intercept={_number(form.bias)}>\n{terms}\n  </RegressionTable>\n"
        head = f' <RegressionModel modelName={name} functionName="regression">\n'
        body = head + schema + table + " </RegressionModel>\n"
    else:
        segments = "".join(_segment(i, one, names, schema) for i, one in enumerate(form.flat(), 1))
        head = f' <MiningModel modelName={name} functionName="regression">\n{schema}'
        body = f'{head}  <Segmentation multipleModelMethod="sum">\n{segments}  </Segmentation>\n </MiningModel>\n'
    return {"": (_HEAD.format(fields="\n".join(fields)) + body + "</PMML>\n").encode("utf-8", "xmlcharrefreplace")}


def _number(value: Any) -> str:
    return f'"{float(value)!r}"'


def _segment(number: int, one: Tree, names: list[str], schema: str) -> str:
    head = ('   <TreeModel functionName="regression" missingValueStrategy="defaultChild" '
            'splitCharacteristic="binarySplit">\n')  # fmt: skip
    return f'   <Segment id="{number}"><True/>\n{head}{schema}{_nodes(one, names)}   </TreeModel>\n   </Segment>\n'


def _nodes(one: Tree, names: list[str]) -> str:
    """Nested nodes: a child says what is asked of it, its parent which child NULL goes to."""
    parts: list[str] = []
    todo: list[Any] = [(0 if len(one) else -1, "<True/>")]
    while todo:
        at = todo.pop()
        if isinstance(at, str):
            parts.append(at)
            continue
        child, predicate = at
        if child < 0:
            parts.append(f'<Node id="l{-1 - child}" score={_number(one.value[-1 - child])}>{predicate}</Node>\n')
            continue
        left, right = int(one.left[child]), int(one.right[child])
        default = left if one.missing_left[child] else right
        asked = f"field={names[int(one.feature[child])]} value={_number(one.threshold[child])}"
        parts.append(f'<Node id="n{child}" defaultChild="{_id(default)}">{predicate}\n')
        todo += ["</Node>\n", (right, f'<SimplePredicate operator="greaterThan" {asked}/>'),
                 (left, f'<SimplePredicate operator="lessOrEqual" {asked}/>')]  # fmt: skip
    return "".join(parts)


def _id(child: int) -> str:
    return f"n{child}" if child >= 0 else f"l{-1 - child}"


register(Target(
    "pmml", "a PMML document", "PMML 4.4, TreeModel and RegressionModel", ("linear", "trees"), write, DOUBLE,
    refused={"network": "trees and weighted sums are written alone"}, reread=rereader("pmml"),
))  # fmt: skip
