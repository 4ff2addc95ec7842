"""XML of strangers: no declarations of entities, and whatever is not well formed is a ValueError."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from pippin.forms.form import Tree
from pippin.forms.growing import Split, grow, real, whole

Element = ElementTree.Element


def parse(content: bytes | str) -> Element:
    """The root of a document."""
    text = content if isinstance(content, str) else content.decode("utf-8")
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise ValueError("it declares entities, which a model has no need of")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"it is no well-formed XML: {error}") from None


def splits(root: Element, value: str, first: int = 1) -> Tree:
    """A tree of nested `split`s: feature, threshold (float32), left and right, or an output of a precision."""

    def look(at: Element) -> Split | float:
        output = at.find("output")
        if output is not None:
            found = real(_text(output))
            return float(np.float32(found)) if value == "float32" else found
        children = at.findall("split")
        if len(children) != 2:
            raise ValueError("a split has not two sides")
        left, right = children if children[0].get("pos") != "right" else (children[1], children[0])
        threshold = float(np.float32(real(_text(at.find("threshold")))))
        feature = whole(_text(at.find("feature")), 1 << 20) - first
        return Split(feature, threshold, left, right, threshold >= 0)

    return grow(root, look)


def _text(element: Element | None) -> str:
    if element is None or element.text is None:
        raise ValueError("a split lacks its feature, threshold or output")
    return element.text.strip()
