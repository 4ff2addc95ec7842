"""Export to PMML 4.4: trees as the sum of a segmentation, a linear model as a regression; float64."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

from pippin.models.exporters.base import Exporter, ExportRequest, Files, read_back_as, register
from pippin.models.model import LinearModel, Tree

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
 <Header><Application name="Pippin"/></Header>
 <DataDictionary>
{fields}
 </DataDictionary>
"""
_SCHEMA = ' <MiningSchema><MiningField name="score" usageType="target"/>{fields}</MiningSchema>\n'
_TREE = """   <Segment id="{number}"><True/>
   <TreeModel functionName="regression" missingValueStrategy="defaultChild" splitCharacteristic="binarySplit">
{schema}{nodes}   </TreeModel>
   </Segment>
"""


def write(request: ExportRequest) -> Files:
    """Return the PMML document."""
    model = request.model
    names = [quoteattr(name) for name in model.names]
    fields = [f'  <DataField name={name} optype="continuous" dataType="double"/>' for name in ['"score"', *names]]
    schema = _SCHEMA.format(fields="".join(f"<MiningField name={name}/>" for name in names))
    attributes = f'modelName={quoteattr(request.name)} functionName="regression"'
    if isinstance(model, LinearModel):
        terms = "\n".join(
            f"   <NumericPredictor name={names[i]} coefficient={_number(model.weights[i])}/>"
            for i in model.used_features()
        )
        table = f"  <RegressionTable intercept={_number(model.bias)}>\n{terms}\n  </RegressionTable>\n"
        body = f" <RegressionModel {attributes}>\n{schema}{table} </RegressionModel>\n"
    else:
        segments = "".join(
            _TREE.format(number=i, schema=schema, nodes=_nodes(tree, names)) for i, tree in enumerate(model.flat(), 1)
        )
        segmentation = f'  <Segmentation multipleModelMethod="sum">\n{segments}  </Segmentation>\n'
        body = f" <MiningModel {attributes}>\n{schema}{segmentation} </MiningModel>\n"
    return {"": (_HEAD.format(fields="\n".join(fields)) + body + "</PMML>\n").encode("utf-8", "xmlcharrefreplace")}


def _number(value: Any) -> str:
    return f'"{float(value)!r}"'


def _nodes(tree: Tree, names: list[str]) -> str:
    """Return nested nodes: a child holds its predicate, its parent the child for missing values."""
    parts: list[str] = []
    stack: list[Any] = [(0 if len(tree) else -1, "<True/>")]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            parts.append(entry)
            continue
        child, predicate = entry
        if child < 0:
            parts.append(f'<Node id="l{-1 - child}" score={_number(tree.value[-1 - child])}>{predicate}</Node>\n')
            continue
        left, right = int(tree.left[child]), int(tree.right[child])
        default = left if tree.missing_left[child] else right
        test = f"field={names[int(tree.feature[child])]} value={_number(tree.threshold[child])}"
        default_id = f"n{default}" if default >= 0 else f"l{-1 - default}"
        parts.append(f'<Node id="n{child}" defaultChild="{default_id}">{predicate}\n')
        stack += ["</Node>\n", (right, f'<SimplePredicate operator="greaterThan" {test}/>'),
                  (left, f'<SimplePredicate operator="lessOrEqual" {test}/>')]  # fmt: skip
    return "".join(parts)


register(Exporter(
    "pmml", "PMML document", "PMML 4.4, TreeModel and RegressionModel", ("linear", "trees"), write,
    refused={"network": "only trees and linear models are written"}, read_back=read_back_as("pmml"),
))  # fmt: skip
